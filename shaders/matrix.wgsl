// Applies curves of R, G and B to luma and chroma, and blends patches in.
//
// A sample of luma has the chroma of its site, a sample of chroma the mean luma of its site. How samples lie in words, and what a curve makes of a code, is in overlay_bytes.wgsl and overlay_words.wgsl, one of which belongs to this.

@group(0) @binding(0) var<uniform> stream: Stream;
// The curves of R, G and B, their entries as wide as samples.
@group(0) @binding(2) var<storage, read> curves: array<u32>;

const LUMA = 0u;
const CB = 1u;

// What becomes of the sample `x` of a row, in luma's, Cb's or Cr's lane.
fn mixed(lane: u32, code: u32, x: u32, y: u32) -> u32 {
    if lane == LUMA {
        return mixed_luma(0u, code, chroma_at(vec2((x / step0) >> shift_x, y >> shift_y)));
    }
    let site = vec2(x / step1, y);
    let chroma = mixed_chroma(0u, mean_at(site), chroma_at(site));
    return select(chroma.y, chroma.x, lane == CB);
}

// The output of the texel `x` of row `y`, given as four codes.
fn overlay_texel(plane: u32, x: u32, y: u32, codes: vec4<u32>) -> vec4<u32> {
    var texel = codes;
    if !is_kept(plane, x) {
        let unit = stream.lanes[plane];
        let lanes = unpack(unit[x % unit.w]);
        for (var i = 0u; i < 4u; i++) {
            texel[i] = mixed(lanes[i], texel[i], 4u * x + i, y);
        }
    }
    return drawn(plane, x, y, texel);
}

@compute @workgroup_size(8, 4)
fn matrix(@builtin(global_invocation_id) id: vec3<u32>) {
    let plane = id.z;
    if id.x >= quads(plane) || id.y >= stream.planes[plane].rows {
        return;
    }
    let quad = texel_at(plane, id.xy);
    write_quad(plane, id.x, id.y, overlay_quad(plane, id.x, id.y, quad));
}

// Applies curves of R, G and B to luma and chroma, and blends patches in.
//
// What the curves change in R, G and B is brought back to luma and chroma and added to them: identity curves change
// nothing. A sample of luma has the chroma of its site, a sample of chroma the mean luma of its site. How samples lie in
// words, and what a curve makes of a code, is in overlay_bytes.wgsl and overlay_words.wgsl, one of which belongs to this.

@group(0) @binding(0) var<uniform> stream: Stream;
// The curves of R, G and B, their entries as wide as samples.
@group(0) @binding(4) var<storage, read> curves: array<u32>;

// Factors in 1/65536: of R, G and B in luma, Cb and Cr.
override red_in_luma: i32 = 0;
override green_in_luma: i32 = 0;
override blue_in_luma: i32 = 0;
override red_in_cb: i32 = 0;
override green_in_cb: i32 = 0;
override blue_in_cb: i32 = 0;
override red_in_cr: i32 = 0;
override green_in_cr: i32 = 0;
override blue_in_cr: i32 = 0;

const LUMA = 0u;
const CB = 1u;

// What a curve changes at a value, which counts as the nearest code.
fn change(curve: u32, value: i32) -> i32 {
    let code = clamp(value, 0, most);
    return i32(look_up(curve, u32(code))) - code;
}

// What becomes of the sample `x` of a row, in luma's, Cb's or Cr's lane.
fn mixed(lane: u32, code: u32, x: u32, y: u32) -> u32 {
    var site: vec2<u32>;
    var luma = code;
    if lane == LUMA {
        site = vec2((x / step0) >> shift_x, y >> shift_y);
    } else {
        site = vec2(x / step1, y);
        luma = mean_at(site);
    }
    let channels = channels_of(luma, chroma_at(site));
    let changes = vec3(change(0u, channels.x), change(1u, channels.y), change(2u, channels.z));
    var factors = vec3(red_in_cr, green_in_cr, blue_in_cr);
    if lane == LUMA {
        factors = vec3(red_in_luma, green_in_luma, blue_in_luma);
    } else if lane == CB {
        factors = vec3(red_in_cb, green_in_cb, blue_in_cb);
    }
    return u32(clamp(i32(code) + ((dot(factors, changes) + 32768) >> 16u), 0, most));
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

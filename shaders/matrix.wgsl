// Applies curves of R, G and B to luma and chroma, and blends patches in.
//
// A sample of luma has the chroma of its site, a sample of chroma the mean luma of its site. How samples lie in words, and
// what a curve makes of a code, is in overlay_bytes.wgsl and overlay_words.wgsl, one of which belongs to this.

@group(0) @binding(0) var<uniform> stream: Stream;
// The curves of R, G and B, their entries as wide as samples.
@group(0) @binding(2) var<storage, read> curves: array<u32>;

const LUMA = 0u;
const CB = 1u;

// What becomes of the sample `x` of a row, in luma's, Cb's or Cr's lane.
fn changed(lane: u32, code: u32, x: u32, y: u32) -> u32 {
    if lane == LUMA {
        return mixed_luma(0u, code, chroma_at(vec2((x / step0) >> shift_x, y >> shift_y)));
    }
    let site = vec2(x / step1, y);
    let chroma = mixed_chroma(0u, mean_at(site), chroma_at(site));
    return select(chroma.y, chroma.x, lane == CB);
}

@compute @workgroup_size(8, 4)
fn matrix(@builtin(global_invocation_id) id: vec3<u32>) {
    overlay_at(id);
}

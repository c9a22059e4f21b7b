// Draws on samples of 8 bits, for overlay.wgsl, matrix.wgsl and tone.wgsl: a word is a texel.

fn look_up(curve: u32, code: u32) -> u32 {
    return (curves[curve * 64u + code / 4u] >> (8u * (code % 4u))) & 255u;
}

// The output of a code at the sample `x` of row `y`.
fn look_up_at(curve: u32, code: u32, x: u32, y: u32) -> u32 {
    if curve < dithered_curves() {
        return dithered(curve, code, x, y);
    }
    return look_up(curve, code);
}

fn overlay_word(plane: u32, x: u32, y: u32, word: u32) -> u32 {
    let texel = overlay_texel(plane, x, y, unpack(word));
    return texel.x | (texel.y << 8u) | (texel.z << 16u) | (texel.w << 24u);
}

// The output of the quad `x` of row `y`.
fn overlay_quad(plane: u32, x: u32, y: u32, quad: vec4<u32>) -> vec4<u32> {
    return vec4(
        overlay_word(plane, 4u * x, y, quad.x),
        overlay_word(plane, 4u * x + 1u, y, quad.y),
        overlay_word(plane, 4u * x + 2u, y, quad.z),
        overlay_word(plane, 4u * x + 3u, y, quad.w),
    );
}

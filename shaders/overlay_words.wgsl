// Draws on samples of 16 bits, for overlay.wgsl, matrix.wgsl and tone.wgsl: two words are a texel.

fn entry(curve: u32, at: u32) -> u32 {
    return (curves[curve * CURVE + at / 2u] >> (16u * (at % 2u))) & 0xffffu;
}

// The output of a code, wherever it is: there are codes enough without dither.
fn look_up_at(curve: u32, code: u32, x: u32, y: u32) -> u32 {
    return look_up(curve, code);
}

fn overlay_words(plane: u32, x: u32, y: u32, words: vec2<u32>) -> vec2<u32> {
    var samples = vec4(words.x & 0xffffu, words.x >> 16u, words.y & 0xffffu, words.y >> 16u);
    let codes = vec4(code_in(samples.x), code_in(samples.y), code_in(samples.z), code_in(samples.w));
    let texel = overlay_texel(plane, x, y, codes);
    for (var i = 0u; i < 4u; i++) {
        samples[i] = with_code(samples[i], texel[i]);
    }
    return vec2(samples.x | (samples.y << 16u), samples.z | (samples.w << 16u));
}

// The output of the quad `x` of row `y`.
fn overlay_quad(plane: u32, x: u32, y: u32, quad: vec4<u32>) -> vec4<u32> {
    return vec4(overlay_words(plane, 2u * x, y, quad.xy), overlay_words(plane, 2u * x + 1u, y, quad.zw));
}

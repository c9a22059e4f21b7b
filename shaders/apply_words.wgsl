// Applies to samples of 16 bits.

// The three curves.
const TABLES = 3u * CURVE;
var<workgroup> tables: array<u32, TABLES>;

fn prepare(index: u32) {
    for (var i = index; i < TABLES; i += threads) {
        tables[i] = curves[i];
    }
}

fn entry(curve: u32, at: u32) -> u32 {
    return (tables[curve * CURVE + at / 2u] >> (16u * (at % 2u))) & 0xffffu;
}

fn apply_sample(curve: u32, sample: u32) -> u32 {
    // The fourth curve copies.
    if curve < 3u {
        return with_code(sample, look_up(curve, code_in(sample)));
    }
    return sample;
}

fn apply_word(lanes: u32, word: u32) -> u32 {
    return apply_sample(lanes & 3u, word & 0xffffu) | (apply_sample((lanes >> 8u) & 3u, word >> 16u) << 16u);
}

// The output of the quad `x` of row `y`: of two texels.
fn apply_quad(plane: u32, x: u32, y: u32, quad: vec4<u32>) -> vec4<u32> {
    let lanes = lanes_of(plane);
    let more = lanes >> 16u;
    return vec4(
        apply_word(lanes, quad.x), apply_word(more, quad.y), apply_word(lanes, quad.z), apply_word(more, quad.w),
    );
}

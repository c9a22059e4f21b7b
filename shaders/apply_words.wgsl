// Applies to samples of 16 bits.

// Words of the three curves.
const TABLES = 3u * CURVE;

fn table_word(i: u32) -> u32 {
    return curves[i];
}

fn entry(curve: u32, at: u32) -> u32 {
    return (tables[curve * CURVE + at / 2u] >> (16u * (at % 2u))) & 0xffffu;
}

fn apply_sample(lanes: u32, word: u32, index: u32) -> u32 {
    let curve = (lanes >> (8u * index)) & 3u;
    var sample = (word >> (16u * index)) & 0xffffu;
    // The fourth curve copies.
    if curve < 3u {
        sample = with_code(sample, look_up(curve, code_in(sample)));
    }
    return sample << (16u * index);
}

// The output of the word `x` of row `y`: half of a texel.
fn apply_word(plane: u32, x: u32, y: u32, word: u32) -> u32 {
    let lanes = stream.lanes[plane].x >> (16u * (x % 2u));
    return apply_sample(lanes, word, 0u) | apply_sample(lanes, word, 1u);
}

// What tone.wgsl knows of samples of 8 bits.

// Where the gains begin, two to a word: behind what dither needs; and that of the straight line.
const GAINS = PLACES + 768u;
const PLAIN_GAIN = GAINS + 128u;

// The entry of a curve that a code has.
fn entry_of(code: u32) -> u32 {
    return code;
}

// Luma with noise in it, if there is to be any, at the sample `x` of row `y`.
fn dithered_at(tone: Toned, level: u32, x: u32, y: u32) -> i32 {
    if dithered_curves() == 0u {
        return tone.luma;
    }
    let code = level >> fine;
    let place = place_of(LUMA, code);
    let here = i32(place & 0xffffu);
    let next = i32(place_of(LUMA, next_code(code)) & 0xffffu);
    let noisy = (here + (between(level, here, next) >> fine) + noise_at(place, x, y) + rounded()) >> (8u - fine);
    return tone.luma + noisy - tone.alone;
}

// What rounds luma that is not added to and rounded afterwards.
fn rounded() -> i32 {
    return select(0, 128, fine == 0u);
}

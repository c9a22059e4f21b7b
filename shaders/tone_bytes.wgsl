// What tone.wgsl knows of samples of 8 bits.

// Where the gains begin, two to a word: behind what dither needs.
const GAINS = PLACES + 768u;

// The entry of a curve that a code has.
fn entry_of(code: u32) -> u32 {
    return code;
}

// Where luma of a level goes at the sample `x` of row `y`, as fine as the level.
fn toned_at(level: u32, x: u32, y: u32) -> i32 {
    if dithered_curves() == 0u {
        return toned(level);
    }
    let code = level >> fine;
    let place = place_of(0u, code);
    let here = i32(place & 0xffffu);
    let next = i32(place_of(0u, next_code(code)) & 0xffffu);
    return (here + (between(level, here, next) >> fine) + noise_at(place, x, y)) >> (8u - fine);
}

// What tone.wgsl knows of samples of 16 bits.

// Where the gains begin, two to a word: behind the three curves.
const GAINS = 3u * CURVE;

// The entry of a curve that a code has, or the one before it.
fn entry_of(code: u32) -> u32 {
    return code >> (depth - 10u);
}

// Where luma of a level goes, wherever it is: there are codes enough without dither.
fn toned_at(level: u32, x: u32, y: u32) -> i32 {
    return toned(level);
}

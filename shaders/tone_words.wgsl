// What tone.wgsl knows of samples of 16 bits.

// Where the gains begin, two to a word: behind the curves; and that of the straight line.
const GAINS = 6u * CURVE;
const PLAIN_GAIN = 7u * CURVE;

// The entry of a curve that a code has, or the one before it.
fn entry_of(code: u32) -> u32 {
    return code >> (depth - 10u);
}

// Luma as it is: there are codes enough without dither.
fn dithered_at(tone: Toned, level: u32, x: u32, y: u32) -> i32 {
    return tone.luma;
}

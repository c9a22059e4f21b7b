// Noise that hides the gaps between codes of 8 bits. As in src/levels/dither.rs.

// Behind the curves, six of 64 words: the seed of the frame's pattern, how many curves are dithered, and the samples of
// a pixel in its row; then a word for each code of each curve: its place in 1/256, and above that the gap around it.
const DITHER = 384u;
const PLACES = 388u;

fn dithered_curves() -> u32 {
    return curves[DITHER + 1u];
}

fn place_of(curve: u32, code: u32) -> u32 {
    return curves[PLACES + 256u * curve + code];
}

// The noise around a place at the sample `x` of row `y`, in 1/256.
fn noise_at(place: u32, x: u32, y: u32) -> i32 {
    let turn = curves[DITHER] + (x / curves[DITHER + 2u]) * 0xC13FA9A9u + y * 0x91E10DA6u;
    let level = select(turn, ~turn, turn >= 0x80000000u) >> 26u;
    return (i32(place >> 16u) * (i32(8u * level) - 124)) >> 8u;
}

// The output of a code at the sample `x` of row `y`.
fn dithered(curve: u32, code: u32, x: u32, y: u32) -> u32 {
    let place = place_of(curve, code);
    return u32(clamp((i32(place & 0xffffu) + noise_at(place, x, y) + 128) >> 8u, 0, 255));
}

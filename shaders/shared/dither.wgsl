// Noise that hides the gaps between codes of 8 bits. As in src/levels/dither.rs.

// Behind the three curves of 64 words: the seed of the frame's pattern, how many curves are dithered, and the samples of
// a pixel in its row; then a word for each code of each curve: its place in 1/256, and above that the gap around it.
const DITHER = 192u;
const PLACES = 196u;

fn dithered_curves() -> u32 {
    return curves[DITHER + 1u];
}

// The output of a code at the sample `x` of row `y`.
fn dithered(curve: u32, code: u32, x: u32, y: u32) -> u32 {
    let place = curves[PLACES + 256u * curve + code];
    let turn = curves[DITHER] + (x / curves[DITHER + 2u]) * 0xC13FA9A9u + y * 0x91E10DA6u;
    let level = select(turn, ~turn, turn >= 0x80000000u) >> 26u;
    let noise = i32(8u * level) - 124;
    let fine = i32(place & 0xffffu) + ((i32(place >> 16u) * noise) >> 8u);
    return u32(clamp((fine + 128) >> 8u, 0, 255));
}

// Where a frame lies in memory. It is read and written in quads of four words, 16 bytes, wherever it can be: the
// wider the requests, the busier the bus.

struct Memory {
    // For each plane: its first word, and the words from one row to the next.
    places: array<vec4<u32>, 3>,
    // Whether all of these are whole quads.
    whole: u32,
}

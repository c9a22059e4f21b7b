// What stays the same for all frames of a stream, and where a frame lies in memory.

// Invocations of a workgroup: 32 along a row, this many rows.
override thread_rows: u32 = 8u;

const ACROSS = 32u;
// Rows that each invocation of a block works on, thread_rows apart.
const ROWS_EACH = 4u;

struct Plane {
    // Words of a row that hold samples, the last one perhaps in part.
    words: u32,
    rows: u32,
    // Samples of a row.
    samples: u32,
    // The first of this plane's blocks, counted down all planes.
    first_block: u32,
}

struct Stream {
    // Luma weights of R, G and B in 1/65536.
    weights: vec4<u32>,
    planes: array<Plane, 3>,
    // For each plane: the curve of each sample of a texel, a byte each, for the texels of a unit in turn
    // (x, y, z), and how many texels a unit has (w: 1 or 3).
    lanes: array<vec4<u32>, 3>,
    // Pixels of a row of the picture.
    width: u32,
    // Columns of chunks, and how many adjacent ones a workgroup takes.
    across: u32,
    run: u32,
    chunks: u32,
    // Edges of the grid: 33 of columns, in units, then 19 of rows.
    edges: array<vec4<u32>, 13>,
}

// For each plane: its first word, and the words from one row to the next.
struct Memory {
    places: array<vec4<u32>, 3>,
}

// What stays the same for all frames of a stream.

// Invocations of a workgroup.
override threads: u32 = 256u;

struct Plane {
    // Words of a row that hold samples, the last one perhaps in part.
    words: u32,
    rows: u32,
    // Samples of a row.
    samples: u32,
    // The first of this plane's quads, counted down all planes.
    first: u32,
}

struct Stream {
    // Luma weights of R, G and B in 1/65536.
    weights: vec4<u32>,
    planes: array<Plane, 3>,
    // For each plane: the curve of each sample of a word, a byte each, for the words of a unit in turn
    // (x, y, z), and how many words a unit has (w: 1 or 3).
    lanes: array<vec4<u32>, 3>,
    // Pixels of a row of the picture.
    width: u32,
    // Columns of chunks.
    across: u32,
    // All chunks.
    chunks: u32,
    // Workgroups that share a row of chunks.
    bands: u32,
    // Edges of the grid: 33 of columns, in units, then 19 of rows.
    edges: array<vec4<u32>, 13>,
    // Quads of all planes.
    end: u32,
    // Rows of chunks.
    down: u32,
    // The pixels that are counted: units from x to before y, rows from z to before w.
    window: vec4<u32>,
}

// Quads of a row.
fn quads(plane: u32) -> u32 {
    return (stream.planes[plane].words + 3u) / 4u;
}

@group(1) @binding(0) var<uniform> memory: Memory;
@group(1) @binding(1) var<storage, read_write> output: array<vec4<u32>>;

fn put(at: u32, word: u32) {
    output[at / 4u][at % 4u] = word;
}

// Writes a quad of the output, but nothing past the last word of the row.
fn write_quad(plane: u32, x: u32, y: u32, quad: vec4<u32>) {
    let place = memory.places[plane];
    let at = place.x + y * place.y + 4u * x;
    let left = stream.planes[plane].words - 4u * x;
    if memory.whole != 0u && left >= 4u {
        output[at / 4u] = quad;
    } else {
        put(at, quad.x);
        if left > 1u { put(at + 1u, quad.y); }
        if left > 2u { put(at + 2u, quad.z); }
        if left > 3u { put(at + 3u, quad.w); }
    }
}

@group(1) @binding(0) var<uniform> memory: Memory;
@group(1) @binding(1) var<storage, read> input: array<vec4<u32>>;

fn word(at: u32) -> u32 {
    return input[at / 4u][at % 4u];
}

// A quad of the input; what it has past the end of the row is anything.
fn read_quad(plane: u32, x: u32, y: u32) -> vec4<u32> {
    let place = memory.places[plane];
    let at = place.x + y * place.y + 4u * x;
    if memory.whole != 0u {
        return input[at / 4u];
    }
    // Past the end of the memory, the last word again.
    let last = 4u * arrayLength(&input) - 1u;
    return vec4(word(at), word(min(at + 1u, last)), word(min(at + 2u, last)), word(min(at + 3u, last)));
}

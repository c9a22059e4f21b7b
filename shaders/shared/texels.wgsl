// The frame as it was brought in: the quads of its planes, all that there are of a row after those of the one above.

@group(0) @binding(1) var<storage, read> texels: array<vec4<u32>>;

fn texel_at(plane: u32, at: vec2<u32>) -> vec4<u32> {
    return texels[stream.planes[plane].first + at.y * quads(plane) + at.x];
}

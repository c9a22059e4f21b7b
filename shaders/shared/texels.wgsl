// The frame as it was brought in: the texels of its planes, four words each.

@group(0) @binding(1) var first: texture_2d<u32>;
@group(0) @binding(2) var second: texture_2d<u32>;
@group(0) @binding(3) var third: texture_2d<u32>;

fn texel_at(plane: u32, at: vec2<u32>) -> vec4<u32> {
    switch plane {
        case 0u: { return textureLoad(first, at, 0); }
        case 1u: { return textureLoad(second, at, 0); }
        default: { return textureLoad(third, at, 0); }
    }
}

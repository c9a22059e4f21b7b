// Applies as apply.wgsl does, but leaves what is kept as it came, and blends patches in.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var first: texture_2d<u32>;
@group(0) @binding(2) var second: texture_2d<u32>;
@group(0) @binding(3) var third: texture_2d<u32>;
// Three curves of 256 codes, four to a word.
@group(0) @binding(4) var<storage, read> curves: array<u32>;

fn look_up(lanes: vec4<u32>, texel: vec4<u32>) -> vec4<u32> {
    var found = texel;
    for (var i = 0u; i < 4u; i++) {
        // The fourth curve copies.
        if lanes[i] < 3u {
            found[i] = (curves[lanes[i] * 64u + texel[i] / 4u] >> (8u * (texel[i] % 4u))) & 255u;
        }
    }
    return found;
}

// The output of the word `x` of row `y`.
fn overlay_word(plane: u32, x: u32, y: u32, word: u32) -> u32 {
    var texel = unpack(word);
    if !is_kept(plane, x) {
        let unit = stream.lanes[plane];
        texel = look_up(unpack(unit[x % unit.w]), texel);
    }
    return marked(plane, x, y, texel);
}

@compute @workgroup_size(8, 4)
fn overlay(@builtin(global_invocation_id) id: vec3<u32>) {
    let plane = id.z;
    if id.x >= quads(plane) || id.y >= stream.planes[plane].rows {
        return;
    }
    var quad: vec4<u32>;
    switch plane {
        case 0u: { quad = textureLoad(first, id.xy, 0); }
        case 1u: { quad = textureLoad(second, id.xy, 0); }
        default: { quad = textureLoad(third, id.xy, 0); }
    }
    let x = 4u * id.x;
    write_quad(plane, id.x, id.y, vec4(
        overlay_word(plane, x, id.y, quad.x),
        overlay_word(plane, x + 1u, id.y, quad.y),
        overlay_word(plane, x + 2u, id.y, quad.z),
        overlay_word(plane, x + 3u, id.y, quad.w),
    ));
}

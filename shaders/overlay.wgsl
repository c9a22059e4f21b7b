// Applies as apply.wgsl does, but leaves what is kept as it came, and blends patches in. How samples lie in words is in
// overlay_bytes.wgsl and overlay_words.wgsl, one of which belongs to this.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var first: texture_2d<u32>;
@group(0) @binding(2) var second: texture_2d<u32>;
@group(0) @binding(3) var third: texture_2d<u32>;
// The three curves, their entries as wide as samples.
@group(0) @binding(4) var<storage, read> curves: array<u32>;
// For each plane 13 words: the texels of a row that are kept; of two patches the first texel and row, the texels of
// a row and the rows, the texels from one row to the next, and the word at which its texels begin, two words each.
@group(0) @binding(5) var<storage, read> marks: array<u32>;

const OF_PLANE = 13u;
const OF_PATCH = 6u;
// The weight of a value that replaces what is there.
const FULL = 128u;

fn unpack(word: u32) -> vec4<u32> {
    return vec4(word, word >> 8u, word >> 16u, word >> 24u) & vec4(255u);
}

fn blend(texel: vec4<u32>, patch_at: u32, x: u32, y: u32) -> vec4<u32> {
    // What lies left of or above the patch becomes a large number.
    let column = x - marks[patch_at];
    let row = y - marks[patch_at + 1u];
    if column >= marks[patch_at + 2u] || row >= marks[patch_at + 3u] {
        return texel;
    }
    let at = marks[patch_at + 5u] + 2u * (row * marks[patch_at + 4u] + column);
    let weights = unpack(marks[at + 1u]);
    return (texel * (vec4(FULL) - weights) + deepen(unpack(marks[at])) * weights + vec4(FULL / 2u)) / vec4(FULL);
}

// The output of the texel `x` of row `y`, given as four codes.
fn overlay_texel(plane: u32, x: u32, y: u32, codes: vec4<u32>) -> vec4<u32> {
    var texel = codes;
    let mark = plane * OF_PLANE;
    if x >= marks[mark] {
        let unit = stream.lanes[plane];
        let lanes = unpack(unit[x % unit.w]);
        for (var i = 0u; i < 4u; i++) {
            // The fourth curve copies.
            if lanes[i] < 3u {
                texel[i] = look_up(lanes[i], texel[i]);
            }
        }
    }
    texel = blend(texel, mark + 1u, x, y);
    return blend(texel, mark + 1u + OF_PATCH, x, y);
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
    write_quad(plane, id.x, id.y, overlay_quad(plane, id.x, id.y, quad));
}

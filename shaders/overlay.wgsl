// Applies as apply.wgsl does, but leaves what is kept as it came, and blends patches in.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var first: texture_2d<u32>;
@group(0) @binding(2) var second: texture_2d<u32>;
@group(0) @binding(3) var third: texture_2d<u32>;
// Three curves of 256 codes, four to a word.
@group(0) @binding(4) var<storage, read> curves: array<u32>;
// For each plane 13 words: the texels of a row that are kept; of two patches the first texel and row, the texels of
// a row and the rows, the texels from one row to the next, and the word at which its texels begin, two words each.
@group(0) @binding(5) var<storage, read> marks: array<u32>;
@group(1) @binding(0) var<uniform> memory: Memory;
@group(1) @binding(1) var<storage, read_write> words: array<u32>;

const OF_PLANE = 13u;
const OF_PATCH = 6u;
// The weight of a value that replaces what is there.
const FULL = 128u;

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
    return (texel * (vec4(FULL) - weights) + unpack(marks[at]) * weights + vec4(FULL / 2u)) / vec4(FULL);
}

@compute @workgroup_size(8, 4)
fn overlay(@builtin(global_invocation_id) id: vec3<u32>) {
    let plane = id.z;
    let shape = stream.planes[plane];
    if id.x >= shape.words || id.y >= shape.rows {
        return;
    }
    var texel: vec4<u32>;
    switch plane {
        case 0u: { texel = textureLoad(first, id.xy, 0); }
        case 1u: { texel = textureLoad(second, id.xy, 0); }
        default: { texel = textureLoad(third, id.xy, 0); }
    }
    let mark = plane * OF_PLANE;
    if id.x >= marks[mark] {
        let unit = stream.lanes[plane];
        texel = look_up(unpack(unit[id.x % unit.w]), texel);
    }
    texel = blend(texel, mark + 1u, id.x, id.y);
    texel = blend(texel, mark + 1u + OF_PATCH, id.x, id.y);
    let place = memory.places[plane];
    words[place.x + id.y * place.y + id.x] = texel.x | (texel.y << 8u) | (texel.z << 16u) | (texel.w << 24u);
}

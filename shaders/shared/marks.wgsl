// For each plane 13 words: the texels of a row that are kept; of two patches the first texel and row, the texels of
// a row and the rows, the texels from one row to the next, and the word at which its texels begin, two words each.
@group(0) @binding(3) var<storage, read> marks: array<u32>;

// How a value, which has 8 bits, becomes a code.
override up: u32 = 0u;
override down: u32 = 8u;

// The lane of samples that no curve is for.
const COPIED = 3u;

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
    let value = unpack(marks[at]);
    let deep = (value << vec4(up)) | (value >> vec4(down));
    let weights = unpack(marks[at + 1u]);
    return (texel * (vec4(FULL) - weights) + deep * weights + vec4(FULL / 2u)) / vec4(FULL);
}

fn is_kept(plane: u32, x: u32) -> bool {
    return x < marks[plane * OF_PLANE];
}

// The codes of a texel with the patches blended in.
fn drawn(plane: u32, x: u32, y: u32, texel: vec4<u32>) -> vec4<u32> {
    let patches = plane * OF_PLANE + 1u;
    return blend(blend(texel, patches, x, y), patches + OF_PATCH, x, y);
}

// The output of the texel `x` of row `y`, given as four codes: what is kept stays, and of the other samples but those
// that are copied the shader that this belongs to says what is `changed`.
fn overlay_texel(plane: u32, x: u32, y: u32, codes: vec4<u32>) -> vec4<u32> {
    var texel = codes;
    if !is_kept(plane, x) {
        let unit = stream.lanes[plane];
        let lanes = unpack(unit[x % unit.w]);
        for (var i = 0u; i < 4u; i++) {
            if lanes[i] != COPIED {
                texel[i] = changed(lanes[i], texel[i], 4u * x + i, y);
            }
        }
    }
    return drawn(plane, x, y, texel);
}

// Writes the quad of an invocation, if its plane has it.
fn overlay_at(id: vec3<u32>) {
    let plane = id.z;
    if id.x < quads(plane) && id.y < stream.planes[plane].rows {
        write_quad(plane, id.x, id.y, overlay_quad(plane, id.x, id.y, texel_at(plane, id.xy)));
    }
}

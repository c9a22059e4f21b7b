// Applies: looks every sample of every plane up in its lane's curve and writes whole words to the output.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var first: texture_2d<u32>;
@group(0) @binding(2) var second: texture_2d<u32>;
@group(0) @binding(3) var third: texture_2d<u32>;
// Three curves of 256 codes, four to a word.
@group(0) @binding(4) var<storage, read> curves: array<u32>;
@group(1) @binding(0) var<uniform> memory: Memory;
@group(1) @binding(1) var<storage, read_write> words: array<u32>;

// Words of one curve, and of the three that are given; a fourth copies.
const CURVE = 64u;
const GIVEN = 192u;

var<workgroup> tables: array<u32, 256>;

fn look_up(lanes: u32, texel: vec4<u32>, index: u32) -> u32 {
    let curve = (lanes >> (8u * index)) & 3u;
    let code = texel[index];
    return (tables[curve * CURVE + code / 4u] >> (8u * (code % 4u))) & 255u;
}

@compute @workgroup_size(ACROSS, thread_rows)
fn apply(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    for (var i = index; i < GIVEN + CURVE; i += ACROSS * thread_rows) {
        if i < GIVEN {
            tables[i] = curves[i];
        } else {
            tables[i] = 0x03020100u + (i - GIVEN) * 0x04040404u;
        }
    }
    workgroupBarrier();

    let plane = plane_of(group.y);
    let shape = stream.planes[plane];
    let place = memory.places[plane];
    let x = group.x * ACROSS + local.x;
    let top = (group.y - shape.first_block) * ROWS_EACH * thread_rows + local.y;
    let unit = stream.lanes[plane];
    let lanes = unit[x % unit.w];
    for (var i = 0u; i < ROWS_EACH; i++) {
        let y = top + i * thread_rows;
        if x < shape.words && y < shape.rows {
            var texel: vec4<u32>;
            switch plane {
                case 0u: { texel = textureLoad(first, vec2(x, y), 0); }
                case 1u: { texel = textureLoad(second, vec2(x, y), 0); }
                default: { texel = textureLoad(third, vec2(x, y), 0); }
            }
            words[place.x + y * place.y + x] = look_up(lanes, texel, 0u)
                | (look_up(lanes, texel, 1u) << 8u)
                | (look_up(lanes, texel, 2u) << 16u)
                | (look_up(lanes, texel, 3u) << 24u);
        }
    }
}

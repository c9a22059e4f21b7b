// Applies: looks every sample of every plane up in its lane's curve and writes the output.
//
// There are no more workgroups than run at a time, so that those of the other passes run beside them.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var first: texture_2d<u32>;
@group(0) @binding(2) var second: texture_2d<u32>;
@group(0) @binding(3) var third: texture_2d<u32>;
// Three curves of 256 codes, four to a word.
@group(0) @binding(4) var<storage, read> curves: array<u32>;

// Words of one curve, and of the three that are given; a fourth copies.
const CURVE = 64u;
const GIVEN = 192u;

var<workgroup> tables: array<u32, 256>;

fn look_up(lanes: u32, word: u32, index: u32) -> u32 {
    let curve = (lanes >> (8u * index)) & 3u;
    let code = (word >> (8u * index)) & 255u;
    return ((tables[curve * CURVE + code / 4u] >> (8u * (code % 4u))) & 255u) << (8u * index);
}

// The output of the word `x` of a row.
fn apply_word(plane: u32, x: u32, word: u32) -> u32 {
    let unit = stream.lanes[plane];
    let lanes = unit[x % unit.w];
    return look_up(lanes, word, 0u) | look_up(lanes, word, 1u) | look_up(lanes, word, 2u) | look_up(lanes, word, 3u);
}

@compute @workgroup_size(threads)
fn apply(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    for (var i = index; i < GIVEN + CURVE; i += threads) {
        if i < GIVEN {
            tables[i] = curves[i];
        } else {
            tables[i] = 0x03020100u + (i - GIVEN) * 0x04040404u;
        }
    }
    workgroupBarrier();

    let step = groups.x * threads;
    for (var quad = invocation.x; quad < stream.end; quad += step) {
        let plane = plane_of(quad);
        let at = position(plane, quad);
        var texel: vec4<u32>;
        switch plane {
            case 0u: { texel = textureLoad(first, at, 0); }
            case 1u: { texel = textureLoad(second, at, 0); }
            default: { texel = textureLoad(third, at, 0); }
        }
        let x = 4u * at.x;
        write_quad(plane, at.x, at.y, vec4(
            apply_word(plane, x, texel.x),
            apply_word(plane, x + 1u, texel.y),
            apply_word(plane, x + 2u, texel.z),
            apply_word(plane, x + 3u, texel.w),
        ));
    }
}

// Applies to samples of 8 bits.

// The three curves that are given, and a fourth that copies. An entry has its output in all four bytes: a sample takes
// one load, and one mask says where it goes.
const CURVE = 256u;
var<workgroup> tables: array<u32, 4u * CURVE>;

// Whether curves may be dithered. If not, the loops know nothing of it: to ask there takes time, too.
override dither: u32 = 0u;

fn prepare(index: u32) {
    for (var i = index; i < CURVE; i += threads) {
        // Four entries.
        var word = 0x03020100u + (i % 64u) * 0x04040404u;
        if i < 192u {
            word = curves[i];
        }
        for (var k = 0u; k < 4u; k++) {
            tables[4u * i + k] = ((word >> (8u * k)) & 255u) * 0x01010101u;
        }
    }
}

fn look_up(lanes: u32, word: u32) -> u32 {
    let shifts = vec4(0u, 8u, 16u, 24u);
    let at = CURVE * ((vec4(lanes) >> shifts) & vec4(3u)) + ((vec4(word) >> shifts) & vec4(255u));
    return (tables[at.x] & 0xffu) | (tables[at.y] & 0xff00u) | (tables[at.z] & 0xff0000u) | (tables[at.w] & 0xff000000u);
}

fn look_up_dithered(lanes: u32, word: u32, index: u32, x: u32, y: u32) -> u32 {
    let curve = (lanes >> (8u * index)) & 3u;
    let code = (word >> (8u * index)) & 255u;
    var out = tables[CURVE * curve + code] & 255u;
    if curve < dithered_curves() {
        out = dithered(curve, code, 4u * x + index, y);
    }
    return out << (8u * index);
}

// The output of the word `x` of row `y`.
fn apply_word(lanes: u32, x: u32, y: u32, word: u32) -> u32 {
    if dither != 0u {
        return look_up_dithered(lanes, word, 0u, x, y) | look_up_dithered(lanes, word, 1u, x, y)
            | look_up_dithered(lanes, word, 2u, x, y) | look_up_dithered(lanes, word, 3u, x, y);
    }
    return look_up(lanes, word);
}

// The output of the quad `x` of row `y`.
fn apply_quad(plane: u32, x: u32, y: u32, quad: vec4<u32>) -> vec4<u32> {
    var lanes = vec4(lanes_of(plane));
    if words_of_unit == 3u {
        let unit = stream.lanes[plane];
        // 4 * x is as far into a unit as x.
        lanes = vec4(unit[x % 3u], unit[(x + 1u) % 3u], unit[(x + 2u) % 3u], unit[x % 3u]);
    }
    return vec4(
        apply_word(lanes.x, 4u * x, y, quad.x),
        apply_word(lanes.y, 4u * x + 1u, y, quad.y),
        apply_word(lanes.z, 4u * x + 2u, y, quad.z),
        apply_word(lanes.w, 4u * x + 3u, y, quad.w),
    );
}

// Applies to samples of 8 bits.

// Words of one curve, four codes to a word, and of the three that are given; a fourth copies. Behind them, how many
// curves are dithered.
const CURVE = 64u;
const GIVEN = 192u;
const DITHERED = 256u;
const TABLES = 257u;

fn table_word(i: u32) -> u32 {
    if i < GIVEN {
        return curves[i];
    } else if i == DITHERED {
        return dithered_curves();
    }
    return 0x03020100u + (i - GIVEN) * 0x04040404u;
}

fn look_up(lanes: u32, word: u32, index: u32) -> u32 {
    let curve = (lanes >> (8u * index)) & 3u;
    let code = (word >> (8u * index)) & 255u;
    return ((tables[curve * CURVE + code / 4u] >> (8u * (code % 4u))) & 255u) << (8u * index);
}

fn look_up_dithered(lanes: u32, word: u32, index: u32, x: u32, y: u32) -> u32 {
    let curve = (lanes >> (8u * index)) & 3u;
    if curve >= tables[DITHERED] {
        return look_up(lanes, word, index);
    }
    let code = (word >> (8u * index)) & 255u;
    return dithered(curve, code, 4u * x + index, y) << (8u * index);
}

// The output of the word `x` of row `y`.
fn apply_word(plane: u32, x: u32, y: u32, word: u32) -> u32 {
    let unit = stream.lanes[plane];
    var lanes = unit.x;
    if unit.w > 1u {
        lanes = unit[x % 3u];
    }
    if tables[DITHERED] > 0u {
        return look_up_dithered(lanes, word, 0u, x, y) | look_up_dithered(lanes, word, 1u, x, y)
            | look_up_dithered(lanes, word, 2u, x, y) | look_up_dithered(lanes, word, 3u, x, y);
    }
    return look_up(lanes, word, 0u) | look_up(lanes, word, 1u) | look_up(lanes, word, 2u) | look_up(lanes, word, 3u);
}

// What codes of more than 8 bits become. A curve has 1024 entries; codes between two of them lie on the line between.

// Words of one curve, two entries to a word.
const CURVE = 512u;

fn look_up(curve: u32, code: u32) -> u32 {
    let fine = depth - 10u;
    let at = code >> fine;
    let before = i32(entry(curve, at));
    if fine == 0u {
        return u32(before);
    }
    var after: i32;
    if at + 1u < 2u * CURVE {
        after = i32(entry(curve, at + 1u));
    } else {
        // Past the last entry the curve goes on as it came.
        after = clamp(2 * before - i32(entry(curve, at - 1u)), 0, 1i << depth);
    }
    let past = i32(code & ((1u << fine) - 1u));
    let code_there = before + (((after - before) * past + ((1i << fine) >> 1u)) >> fine);
    return u32(min(code_there, (1i << depth) - 1));
}

// What curves of R, G and B change in luma and chroma. As in src/cpu/matrix.rs.
//
// What they change is brought back to luma and chroma and added to them: identity curves change nothing.

// Factors in 1/65536: of R, G and B in luma, Cb and Cr.
override red_in_luma: i32 = 0;
override green_in_luma: i32 = 0;
override blue_in_luma: i32 = 0;
override red_in_cb: i32 = 0;
override green_in_cb: i32 = 0;
override blue_in_cb: i32 = 0;
override red_in_cr: i32 = 0;
override green_in_cr: i32 = 0;
override blue_in_cr: i32 = 0;

// What a curve changes at a value, which counts as the nearest code.
fn change(curve: u32, value: i32) -> i32 {
    let code = clamp(value, 0, most);
    return i32(look_up(curve, u32(code))) - code;
}

// What three curves, from one on, change in R, G and B of luma and chroma.
fn changes_of(curve: u32, luma: u32, chroma: vec2<u32>) -> vec3<i32> {
    let channels = channels_of(luma, chroma);
    return vec3(change(curve, channels.x), change(curve + 1u, channels.y), change(curve + 2u, channels.z));
}

// A code and a sum in 1/65536.
fn added(code: u32, sum: i32) -> u32 {
    return u32(clamp(i32(code) + ((sum + 32768) >> 16u), 0, most));
}

fn mixed_luma(curve: u32, luma: u32, chroma: vec2<u32>) -> u32 {
    return added(luma, dot(vec3(red_in_luma, green_in_luma, blue_in_luma), changes_of(curve, luma, chroma)));
}

// Cb and Cr of a site whose mean luma is given.
fn mixed_chroma(curve: u32, luma: u32, chroma: vec2<u32>) -> vec2<u32> {
    let changes = changes_of(curve, luma, chroma);
    return vec2(
        added(chroma.x, dot(vec3(red_in_cb, green_in_cb, blue_in_cb), changes)),
        added(chroma.y, dot(vec3(red_in_cr, green_in_cr, blue_in_cr), changes)),
    );
}

// Sites: what one sample of chroma stands for, 2 × 2 pixels at 4:2:0, one pixel in RGB formats; and the matrix between
// luma and chroma and R, G and B. As in src/colour.rs.

// Where the samples of a row's lanes lie (R, G and B, or luma, Cb and Cr): their plane, from one to the next, and the first.
override step0: u32 = 1u;
override first0: u32 = 0u;
override plane1: u32 = 1u;
override step1: u32 = 1u;
override first1: u32 = 0u;
override plane2: u32 = 2u;
override step2: u32 = 1u;
override first2: u32 = 0u;
// Exponents of two of a site's pixels across and down.
override shift_x: u32 = 0u;
override shift_y: u32 = 0u;
// Factors in 1/65536: of Cr in red, of Cb and Cr in green, of Cb in blue.
override cr_in_red: i32 = 0;
override cb_in_green: i32 = 0;
override cr_in_green: i32 = 0;
override cb_in_blue: i32 = 0;
// The code of neutral chroma, and the largest code.
override neutral: i32 = 128;
override most: i32 = 255;

// The word `x` of a row; what is in it is in sites_bytes.wgsl and sites_words.wgsl, one of which belongs to this.
fn sample_word(plane: u32, x: u32, y: u32) -> u32 {
    let texel = texel_at(plane, vec2(x / 4u, y));
    return texel[x % 4u];
}

fn luma_at(x: u32, y: u32) -> u32 {
    return sample(0u, x * step0 + first0, y);
}

// Cb and Cr of a site.
fn chroma_at(site: vec2<u32>) -> vec2<u32> {
    return vec2(sample(plane1, site.x * step1 + first1, site.y), sample(plane2, site.x * step2 + first2, site.y));
}

// The mean luma of a site. Where it sticks out of the picture, its outermost pixels count twice.
fn mean_at(site: vec2<u32>) -> u32 {
    if shift_x == 0u {
        return luma_at(site.x, site.y);
    }
    let left = 2u * site.x;
    let right = min(left + 1u, stream.width - 1u);
    let top = site.y << shift_y;
    let above = luma_at(left, top) + luma_at(right, top);
    if shift_y == 0u {
        return (above + 1u) >> 1u;
    }
    let bottom = min(top + 1u, stream.planes[0].rows - 1u);
    return (above + luma_at(left, bottom) + luma_at(right, bottom) + 2u) >> 2u;
}

// What R, G and B of a chroma have more than luma.
fn offsets_of(chroma: vec2<u32>) -> vec3<i32> {
    let cb = i32(chroma.x) - neutral;
    let cr = i32(chroma.y) - neutral;
    let sums = vec3(cr_in_red * cr, cb_in_green * cb + cr_in_green * cr, cb_in_blue * cb);
    return (sums + vec3(32768)) >> vec3(16u);
}

// R, G and B of luma and chroma, which may lie beyond the codes.
fn channels_of(luma: u32, chroma: vec2<u32>) -> vec3<i32> {
    return vec3(i32(luma)) + offsets_of(chroma);
}

// The samples that sites are made of, of 16 bits: two to a word, of which the codes are looked at.

fn sample(plane: u32, x: u32, y: u32) -> u32 {
    return code_in((sample_word(plane, x / 2u, y) >> (16u * (x % 2u))) & 0xffffu);
}

// The samples that sites are made of, of 8 bits: four to a word.

fn sample(plane: u32, x: u32, y: u32) -> u32 {
    return (sample_word(plane, x / 4u, y) >> (8u * (x % 4u))) & 255u;
}

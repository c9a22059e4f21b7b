// How samples of 16 bits hold codes.

// Bits of a code, and bits of a sample below it.
override depth: u32 = 10u;
override shift: u32 = 0u;

// The code in a sample.
fn code_in(sample: u32) -> u32 {
    return (sample >> shift) & ((1u << depth) - 1u);
}

// The sample with another code in it; its other bits stay.
fn with_code(sample: u32, code: u32) -> u32 {
    return (sample & ~(((1u << depth) - 1u) << shift)) | (code << shift);
}

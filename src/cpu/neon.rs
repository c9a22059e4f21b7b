//! The inner loops for NEON, which every 64-bit ARM processor has. What the compiler does well for it is done in plain
//! Rust; the others are written out, each with the same results as its namesake in [`kernels`], which also does what is
//! left at the end of a row. One instruction looks 16 samples up in 64 entries, and leaves those of other entries alone:
//! four take them through any curve. Loads that take lanes apart spare all other shuffling.

use std::arch::aarch64::*;

use super::kernels::{self, Lookup, RgbPixel, Tables, compiled_for};

/// Samples of a vector.
const WIDTH: usize = 16;

compiled_for!("neon");

#[target_feature(enable = "neon")]
fn load(bytes: &[u8; WIDTH]) -> uint8x16_t {
    // SAFETY: the array has the vector's size, and any address will do for this load.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[target_feature(enable = "neon")]
fn store(bytes: &mut [u8; WIDTH], vector: uint8x16_t) {
    // SAFETY: the array has the vector's size, and any address will do for this store.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), vector) }
}

#[target_feature(enable = "neon")]
pub fn every_second(row: &[u8], first: usize, luma: &mut [u8]) {
    let (pairs, _) = row.as_chunks::<{ 2 * WIDTH }>();
    let (blocks, rest) = luma.as_chunks_mut::<WIDTH>();
    let done = pairs.len().min(blocks.len()) * 2 * WIDTH;
    for (luma, pairs) in blocks.iter_mut().zip(pairs) {
        // SAFETY: the array has the size of two vectors, and any address will do for this load.
        let pair = unsafe { vld2q_u8(pairs.as_ptr()) };
        store(luma, if first == 0 { pair.0 } else { pair.1 });
    }
    kernels::every_second(&row[done..], first, rest);
}

/// Adds the products of 16 samples and a weight to their sums.
#[target_feature(enable = "neon")]
fn add_products(sums: [uint32x4_t; 4], samples: uint8x16_t, weight: u16) -> [uint32x4_t; 4] {
    let low = vmovl_u8(vget_low_u8(samples));
    let high = vmovl_high_u8(samples);
    [
        vmlal_n_u16(sums[0], vget_low_u16(low), weight),
        vmlal_high_n_u16(sums[1], low, weight),
        vmlal_n_u16(sums[2], vget_low_u16(high), weight),
        vmlal_high_n_u16(sums[3], high, weight),
    ]
}

/// 16 sums over 65536, rounded.
#[target_feature(enable = "neon")]
fn rounded(sums: [uint32x4_t; 4]) -> uint8x16_t {
    let low = vrshrn_high_n_u32::<16>(vrshrn_n_u32::<16>(sums[0]), sums[1]);
    let high = vrshrn_high_n_u32::<16>(vrshrn_n_u32::<16>(sums[2]), sums[3]);
    vmovn_high_u16(vmovn_u16(low), high)
}

/// The weight of each sample of a pixel, if 16 bits hold them.
fn weights_by_place<const SAMPLES: usize>(pixel: &RgbPixel) -> Option<[u16; SAMPLES]> {
    let mut weights = [0; SAMPLES];
    for (place, weight) in pixel.places.iter().zip(pixel.weights) {
        *weights.get_mut(*place)? = u16::try_from(weight).ok()?;
    }
    Some(weights)
}

/// Luma of pixels of so many samples, which one load takes apart.
macro_rules! weigh {
    ($name:ident, $samples:literal, $load:ident, $($place:tt),+) => {
        #[target_feature(enable = "neon")]
        pub fn $name(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
            let Some(weights) = weights_by_place::<$samples>(pixel) else { return kernels::$name(row, pixel, luma) };
            let (pixels, _) = row.as_chunks::<{ $samples * WIDTH }>();
            let (blocks, rest) = luma.as_chunks_mut::<WIDTH>();
            let done = pixels.len().min(blocks.len()) * $samples * WIDTH;
            for (luma, pixels) in blocks.iter_mut().zip(pixels) {
                // SAFETY: the array has the size of as many vectors, and any address will do for this load.
                let samples = unsafe { $load(pixels.as_ptr()) };
                let mut sums = [vdupq_n_u32(0); 4];
                $(sums = add_products(sums, samples.$place, weights[$place]);)+
                store(luma, rounded(sums));
            }
            kernels::$name(&row[done..], pixel, rest);
        }
    };
}
weigh!(weigh3, 3, vld3q_u8, 0, 1, 2);
weigh!(weigh4, 4, vld4q_u8, 0, 1, 2, 3);

#[target_feature(enable = "neon")]
pub fn find_blind(row: &[u8], alpha: usize, luma: &mut [u8], blind: &mut [u8]) -> u32 {
    let mask = std::array::from_fn(|place| if place == alpha { 0xFF } else { 0 });
    let mask = vdupq_n_u32(u32::from_ne_bytes(mask));
    let one = vdupq_n_u8(1);
    // All bits of the pixels that vote.
    let voters = |pixels: &[u8; WIDTH]| vtstq_u32(vreinterpretq_u32_u8(load(pixels)), mask);
    let (blocks, rest) = row.as_chunks::<{ 4 * WIDTH }>();
    let (luma_blocks, luma_rest) = luma.as_chunks_mut::<WIDTH>();
    let (blind_blocks, blind_rest) = blind.as_chunks_mut::<WIDTH>();
    let mut found = 0;
    for ((pixels, luma), blind) in blocks.iter().zip(luma_blocks).zip(blind_blocks) {
        let (pixels, _) = pixels.as_chunks::<WIDTH>();
        let low = vmovn_high_u32(vmovn_u32(voters(&pixels[0])), voters(&pixels[1]));
        let high = vmovn_high_u32(vmovn_u32(voters(&pixels[2])), voters(&pixels[3]));
        let voters = vmovn_high_u16(vmovn_u16(low), high);
        let marks = vbicq_u8(one, voters);
        store(blind, marks);
        store(luma, vandq_u8(load(luma), voters));
        found += u32::from(vaddvq_u8(marks));
    }
    found + kernels::find_blind(rest, alpha, luma_rest, blind_rest)
}

/// A table, 64 entries to four vectors.
#[derive(Clone, Copy)]
struct TableVectors([uint8x16x4_t; 4]);

impl TableVectors {
    #[target_feature(enable = "neon")]
    fn new(table: &[u8; 256]) -> TableVectors {
        let (rows, _) = table.as_chunks::<{ 4 * WIDTH }>();
        // SAFETY: the array has the size of four vectors, and any address will do for this load.
        TableVectors(std::array::from_fn(|i| unsafe { vld1q_u8_x4(rows[i].as_ptr()) }))
    }

    /// Looks every sample up in each quarter; where it lies in another, what was found there stays.
    #[target_feature(enable = "neon")]
    fn at(&self, x: uint8x16_t) -> uint8x16_t {
        let past = |entries: u8| vsubq_u8(x, vdupq_n_u8(entries));
        let out = vqtbl4q_u8(self.0[0], x);
        let out = vqtbx4q_u8(out, self.0[1], past(64));
        let out = vqtbx4q_u8(out, self.0[2], past(128));
        vqtbx4q_u8(out, self.0[3], past(192))
    }
}

#[target_feature(enable = "neon")]
pub fn table(row: &mut [u8], table: &[u8; 256]) {
    let vectors = TableVectors::new(table);
    let (blocks, rest) = row.as_chunks_mut::<WIDTH>();
    for block in blocks {
        store(block, vectors.at(load(block)));
    }
    kernels::table(rest, table);
}

#[target_feature(enable = "neon")]
pub fn tables(row: &mut [u8], lookup: &Lookup) {
    // There is none for the identity.
    let vectors = [0, 1, 2].map(|table| TableVectors::new(&lookup.tables[table]));
    let lanes = lookup.lanes.map(|lane| vectors.get(lane));
    let repeats_after = |period: usize| lookup.lanes.iter().zip(&lookup.lanes[period..]).all(|(a, b)| a == b);
    let done = match lanes {
        [a, b, ..] if repeats_after(2) => change2(row, [a, b]),
        [a, b, c, ..] if repeats_after(3) => change3(row, [a, b, c]),
        [a, b, c, d, ..] if repeats_after(4) => change4(row, [a, b, c, d]),
        _ => 0,
    };
    // As many as the lanes repeat after, or a multiple: the next sample has the first lane.
    kernels::tables(&mut row[done..], lookup);
}

/// Looks the samples of each of so many lanes up in its table, if it has one. Says how many are done.
macro_rules! change {
    ($name:ident, $lanes:literal, $load:ident, $store:ident, $($lane:tt),+) => {
        #[target_feature(enable = "neon")]
        fn $name(row: &mut [u8], tables: [Option<&TableVectors>; $lanes]) -> usize {
            let (blocks, _) = row.as_chunks_mut::<{ $lanes * WIDTH }>();
            let done = blocks.len() * $lanes * WIDTH;
            for block in blocks {
                // SAFETY: the array has the size of as many vectors, and any address will do for this load.
                let mut samples = unsafe { $load(block.as_ptr()) };
                $(
                    if let Some(table) = tables[$lane] {
                        samples.$lane = table.at(samples.$lane);
                    }
                )+
                // SAFETY: as above.
                unsafe { $store(block.as_mut_ptr(), samples) };
            }
            done
        }
    };
}
change!(change2, 2, vld2q_u8, vst2q_u8, 0, 1);
change!(change3, 3, vld3q_u8, vst3q_u8, 0, 1, 2);
change!(change4, 4, vld4q_u8, vst4q_u8, 0, 1, 2, 3);

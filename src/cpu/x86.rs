//! The inner loops for AVX2. Those that the compiler does well are only compiled for it; the others are
//! written out, each with the same results as its namesake in [`kernels`], which also does what is left at
//! the end of a row. Table lookups take 16 shuffles and 15 blends for 32 samples: no longer than the
//! arithmetic of a line with exact rounding, so there is no such arithmetic.

use std::arch::x86_64::*;

use arrayvec::ArrayVec;

use super::kernels::{self, LANES, Lookup, RgbPixel, Tables, compiled_for};

/// Samples of a vector.
const WIDTH: usize = 32;

compiled_for!("avx2");

#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; WIDTH]) -> __m256i {
    // SAFETY: the array has the vector's size, and any address will do for this load.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn load_twice(bytes: &[u8; WIDTH / 2]) -> __m256i {
    // SAFETY: the array has the half vector's size, and any address will do for this load.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
fn store(bytes: &mut [u8; WIDTH], vector: __m256i) {
    // SAFETY: the array has the vector's size, and any address will do for this store.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) }
}

/// A vector of what repeats every 4 samples.
#[target_feature(enable = "avx2")]
fn repeat(lanes: [u8; 4]) -> __m256i {
    _mm256_set1_epi32(i32::from_le_bytes(lanes))
}

#[target_feature(enable = "avx2")]
pub fn every_second(row: &[u8], first: usize, luma: &mut [u8]) {
    let shift = _mm_cvtsi32_si128(if first == 0 { 0 } else { 8 });
    let low = _mm256_set1_epi16(0xFF);
    let take = |samples: &[u8; WIDTH]| _mm256_and_si256(_mm256_srl_epi16(load(samples), shift), low);
    let (pairs, _) = row.as_chunks::<{ 2 * WIDTH }>();
    let (blocks, rest) = luma.as_chunks_mut::<WIDTH>();
    let done = pairs.len().min(blocks.len()) * 2 * WIDTH;
    for (luma, pairs) in blocks.iter_mut().zip(pairs) {
        let [left, right] = halves(pairs);
        let packed = _mm256_packus_epi16(take(left), take(right));
        store(luma, _mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
    }
    kernels::every_second(&row[done..], first, rest);
}

fn halves(block: &[u8; 2 * WIDTH]) -> [&[u8; WIDTH]; 2] {
    let (halves, _) = block.as_chunks::<WIDTH>();
    [&halves[0], &halves[1]]
}

/// Packs four vectors of eight 32-bit numbers, −1 to 127 or 0 to 255, to bytes in their order.
#[target_feature(enable = "avx2")]
fn pack<const SIGNED: bool>(numbers: [__m256i; 4]) -> __m256i {
    let words = [_mm256_packs_epi32(numbers[0], numbers[1]), _mm256_packs_epi32(numbers[2], numbers[3])];
    let packed = if SIGNED { _mm256_packs_epi16(words[0], words[1]) } else { _mm256_packus_epi16(words[0], words[1]) };
    _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

#[target_feature(enable = "avx2")]
pub fn weigh3(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
    weigh::<3>(row, pixel, luma);
}

#[target_feature(enable = "avx2")]
pub fn weigh4(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
    weigh::<4>(row, pixel, luma);
}

/// Multiplies red and half of green, then the rest of green and blue, in pairs.
#[target_feature(enable = "avx2")]
fn weigh<const SAMPLES: usize>(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
    let [red, green, blue] = pixel.weights;
    let parts = [red, green / 2, green - green / 2, blue].map(i16::try_from);
    let [Ok(red), Ok(some_green), Ok(more_green), Ok(blue)] = parts else {
        return kernels::weigh::<SAMPLES>(row, pixel, luma);
    };
    let pair = |low: i16, high: i16| _mm256_set1_epi32(i32::from(high) << 16 | i32::from(low));
    let weights = [pair(red, some_green), pair(more_green, blue)];
    // Four pixels in each half of a vector: two samples of each, as 16 bits.
    let places = |first: usize, second: usize| {
        let place = |i: usize| match i % 4 {
            0 => (i / 4 * SAMPLES + first) as u8,
            2 => (i / 4 * SAMPLES + second) as u8,
            _ => 0x80,
        };
        load_twice(&std::array::from_fn(place))
    };
    let [red, green, blue] = pixel.places;
    let places = [places(red, green), places(green, blue)];
    let round = _mm256_set1_epi32(32768);
    let weigh_eight = |samples: &[u8; WIDTH]| {
        let [left, right] = [&samples[..16], &samples[4 * SAMPLES..4 * SAMPLES + 16]];
        // SAFETY: both slices are 16 samples long, and any address will do for these loads.
        let pixels = unsafe { _mm256_loadu2_m128i(right.as_ptr().cast(), left.as_ptr().cast()) };
        let products = |i: usize| _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, places[i]), weights[i]);
        _mm256_srli_epi32::<16>(_mm256_add_epi32(_mm256_add_epi32(products(0), products(1)), round))
    };
    let mut done = 0;
    // Loads of three samples a pixel reach beyond the last pixel, so the end of the row is left out.
    for (luma, at) in luma.as_chunks_mut::<WIDTH>().0.iter_mut().zip((0..).step_by(WIDTH * SAMPLES)) {
        let Some(samples) = row.get(at..at + 3 * 8 * SAMPLES + WIDTH) else { break };
        let eight = |i: usize| match samples[i * 8 * SAMPLES..].first_chunk() {
            Some(samples) => weigh_eight(samples),
            None => _mm256_setzero_si256(),
        };
        store(luma, pack::<false>([eight(0), eight(1), eight(2), eight(3)]));
        done += WIDTH;
    }
    kernels::weigh::<SAMPLES>(&row[done * SAMPLES..], pixel, &mut luma[done..]);
}

#[target_feature(enable = "avx2")]
pub fn find_blind(row: &[u8], alpha: usize, luma: &mut [u8], blind: &mut [u8]) -> u32 {
    let mask = repeat(std::array::from_fn(|place| if place == alpha { 0xFF } else { 0 }));
    let zero = _mm256_setzero_si256();
    let one = _mm256_set1_epi8(1);
    let is_blind = |pixels: &[u8; WIDTH]| _mm256_cmpeq_epi32(_mm256_and_si256(load(pixels), mask), zero);
    let (blocks, rest) = row.as_chunks::<{ 4 * WIDTH }>();
    let (luma_blocks, luma_rest) = luma.as_chunks_mut::<WIDTH>();
    let (blind_blocks, blind_rest) = blind.as_chunks_mut::<WIDTH>();
    let mut found = 0;
    for ((pixels, luma), blind) in blocks.iter().zip(luma_blocks).zip(blind_blocks) {
        let (pixels, _) = pixels.as_chunks::<WIDTH>();
        let marks = pack::<true>(std::array::from_fn(|i| is_blind(&pixels[i])));
        store(blind, _mm256_and_si256(marks, one));
        let bits = _mm256_movemask_epi8(marks);
        if bits != 0 {
            found += bits.count_ones();
            store(luma, _mm256_andnot_si256(marks, load(luma)));
        }
    }
    found + kernels::find_blind(rest, alpha, luma_rest, blind_rest)
}

/// A table, 16 entries to a half vector, each twice.
struct TableVectors([__m256i; 16]);

impl TableVectors {
    #[target_feature(enable = "avx2")]
    fn new(table: &[u8; 256]) -> TableVectors {
        let (rows, _) = table.as_chunks();
        TableVectors(std::array::from_fn(|i| load_twice(&rows[i])))
    }

    /// Looks every sample up in all rows by its low bits, and chooses among the rows by its high bits.
    #[target_feature(enable = "avx2")]
    fn at(&self, x: __m256i) -> __m256i {
        let column = _mm256_and_si256(x, _mm256_set1_epi8(0x0F));
        // The topmost bit of each byte chooses; what the shifts carry over from the next byte is below it.
        let bits = [_mm256_slli_epi16::<3>(x), _mm256_slli_epi16::<2>(x), _mm256_slli_epi16::<1>(x), x];
        let one = |i: usize| _mm256_shuffle_epi8(self.0[i], column);
        let two = |i: usize| _mm256_blendv_epi8(one(2 * i), one(2 * i + 1), bits[0]);
        let four = |i: usize| _mm256_blendv_epi8(two(2 * i), two(2 * i + 1), bits[1]);
        let eight = |i: usize| _mm256_blendv_epi8(four(2 * i), four(2 * i + 1), bits[2]);
        _mm256_blendv_epi8(eight(0), eight(1), bits[3])
    }
}

#[target_feature(enable = "avx2")]
pub fn table(row: &mut [u8], table: &[u8; 256]) {
    let vectors = TableVectors::new(table);
    let (blocks, rest) = row.as_chunks_mut::<WIDTH>();
    for block in blocks {
        store(block, vectors.at(load(block)));
    }
    kernels::table(rest, table);
}

#[target_feature(enable = "avx2")]
pub fn tables(row: &mut [u8], lookup: &Lookup) {
    let pair = [lookup.lanes[0], lookup.lanes[1]];
    let done = if lookup.lanes.chunks(2).all(|lanes| lanes == pair) {
        two_tables(row, pair.map(|table| &lookup.tables[table]))
    } else {
        masked_tables(row, lookup)
    };
    // Whole repetitions of the lanes are done.
    kernels::tables(&mut row[done..], lookup);
}

/// Looks even samples up in one table, odd ones in another. Says how many are done.
#[target_feature(enable = "avx2")]
fn two_tables(row: &mut [u8], tables: [&[u8; 256]; 2]) -> usize {
    let [even, odd] = [TableVectors::new(tables[0]), TableVectors::new(tables[1])];
    let low = _mm256_set1_epi16(0xFF);
    let mut done = 0;
    for block in row.as_chunks_mut::<{ 2 * WIDTH }>().0 {
        let (pair, _) = block.as_chunks_mut::<WIDTH>();
        let [left, right] = [load(&pair[0]), load(&pair[1])];
        let evens = even.at(_mm256_packus_epi16(_mm256_and_si256(left, low), _mm256_and_si256(right, low)));
        let odds = odd.at(_mm256_packus_epi16(_mm256_srli_epi16::<8>(left), _mm256_srli_epi16::<8>(right)));
        store(&mut pair[0], _mm256_unpacklo_epi8(evens, odds));
        store(&mut pair[1], _mm256_unpackhi_epi8(evens, odds));
        done += 2 * WIDTH;
    }
    done
}

/// Looks every sample up in each of the tables, and chooses by lane. Says how many are done.
#[target_feature(enable = "avx2")]
fn masked_tables(row: &mut [u8], lookup: &Lookup) -> usize {
    // Lanes repeat after 12 samples, and vectors with them after 96.
    let mask = |table: usize, vector: usize| {
        let is_its = |i: usize| lookup.lanes[(vector * WIDTH + i) % LANES] == table;
        load(&std::array::from_fn(|i| if is_its(i) { 0xFF } else { 0 }))
    };
    let mut tables = ArrayVec::<(TableVectors, [__m256i; 3]), 3>::new();
    for table in (0..Lookup::IDENTITY).filter(|table| lookup.lanes.contains(table)) {
        tables.push((TableVectors::new(&lookup.tables[table]), [mask(table, 0), mask(table, 1), mask(table, 2)]));
    }
    let (groups, _) = row.as_chunks_mut::<{ 3 * WIDTH }>();
    let done = groups.len() * 3 * WIDTH;
    for group in groups {
        for (i, block) in group.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            let x = load(block);
            let choose =
                |out, (table, masks): &(TableVectors, [__m256i; 3])| _mm256_blendv_epi8(out, table.at(x), masks[i]);
            store(block, tables.iter().fold(x, choose));
        }
    }
    done
}

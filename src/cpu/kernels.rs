//! The inner loops, in plain Rust, over rows that lie in the cache.
//!
//! They are written so that the compiler turns them into SIMD, and inlined into functions that are compiled
//! for what a processor has beyond the least of its architecture ([`super::x86`]). So there is one source
//! for what a loop computes; only table lookups by shuffles are written out.

use super::line::Line;

/// What the inner loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Any processor of the architecture (NEON on ARM, SSE2 on x86).
    Plain,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Path {
    /// All paths of this architecture, the slowest first.
    pub const ALL: &'static [Path] = &[
        Path::Plain,
        #[cfg(target_arch = "x86_64")]
        Path::Avx2,
    ];

    /// Whether this processor has what the path needs.
    pub fn is_available(self) -> bool {
        match self {
            Path::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => is_x86_feature_detected!("avx2"),
        }
    }

    /// The fastest path that this processor has.
    pub fn best() -> Path {
        Path::ALL.iter().copied().rfind(|path| path.is_available()).unwrap_or(Path::Plain)
    }

    /// What the path is called.
    pub fn name(self) -> &'static str {
        match self {
            Path::Plain => "CPU",
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => "CPU (AVX2)",
        }
    }
}

/// Counts by code, in eight tables, so that equal neighbours do not wait for each other's count to be stored.
pub type Tables = [[u32; 256]; 8];

/// Counts a row of luma into `tables`, and adds each sample to the sum of its column.
/// A column's sum holds 257 rows.
#[inline(always)]
pub fn count(luma: &[u8], tables: &mut Tables, columns: &mut [u16]) {
    for (column, code) in columns.iter_mut().zip(luma) {
        *column = column.wrapping_add(u16::from(*code));
    }
    let (blocks, rest) = luma.as_chunks::<32>();
    for block in blocks {
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|byte| block[8 * i + byte]));
        let words: [u64; 4] = std::array::from_fn(word);
        let first = words[0];
        let is_flat =
            first == first.rotate_left(8) && words.iter().fold(0, |unlike, word| unlike | (word ^ first)) == 0;
        if is_flat {
            tables[0][usize::from(first as u8)] += 32;
            continue;
        }
        for word in words {
            for (i, table) in tables.iter_mut().enumerate() {
                table[usize::from((word >> (8 * i)) as u8)] += 1;
            }
        }
    }
    for (code, table) in rest.iter().zip((0..8).cycle()) {
        tables[table][usize::from(*code)] += 1;
    }
}

/// Takes every second sample, from `first` on.
#[inline(always)]
pub fn every_second(row: &[u8], first: usize, luma: &mut [u8]) {
    for (luma, pair) in luma.iter_mut().zip(row.as_chunks::<2>().0) {
        *luma = pair[first];
    }
}

/// Where a pixel's samples lie, and what they weigh.
#[derive(Clone, Copy, Debug)]
pub struct RgbPixel {
    /// Places of red, green and blue.
    pub places: [usize; 3],
    /// Place of alpha.
    pub alpha: Option<usize>,
    /// Weights of red, green and blue in 1/65536.
    pub weights: [u32; 3],
}

#[inline(always)]
fn weigh<const SAMPLES: usize>(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
    let [red, green, blue] = pixel.places.map(|place| place.min(SAMPLES - 1));
    let [wr, wg, wb] = pixel.weights;
    for (luma, samples) in luma.iter_mut().zip(row.as_chunks::<SAMPLES>().0) {
        let sum = wr * u32::from(samples[red]) + wg * u32::from(samples[green]) + wb * u32::from(samples[blue]);
        *luma = ((sum + 32768) >> 16) as u8;
    }
}

/// Luma of pixels of three samples.
#[inline(always)]
pub fn weigh3(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
    weigh::<3>(row, pixel, luma);
}

/// Luma of pixels of four samples.
#[inline(always)]
pub fn weigh4(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
    weigh::<4>(row, pixel, luma);
}

/// Finds the pixels of four samples with an alpha of 0: writes 1 to `blind` for each, sets its luma to 0, and
/// says how many there are.
#[inline(always)]
pub fn find_blind(row: &[u8], alpha: usize, luma: &mut [u8], blind: &mut [u8]) -> u32 {
    let mut found = 0;
    for ((luma, blind), samples) in luma.iter_mut().zip(blind.iter_mut()).zip(row.as_chunks::<4>().0) {
        *blind = u8::from(samples[alpha & 3] == 0);
        *luma &= blind.wrapping_sub(1);
        found += u32::from(*blind);
    }
    found
}

/// Adds a row of marks to the sums of their columns.
#[inline(always)]
pub fn add(marks: &[u8], columns: &mut [u16]) {
    for (column, mark) in columns.iter_mut().zip(marks) {
        *column = column.wrapping_add(u16::from(*mark));
    }
}

/// Samples after which lanes of every format repeat: whole units of 4 and of 12, and whole vectors.
pub const PERIOD: usize = 96;

/// A line for each of [`PERIOD`] samples, apart by parameter.
pub struct Lines {
    low: [u8; PERIOD],
    high: [u8; PERIOD],
    start: [u8; PERIOD],
    span: [u8; PERIOD],
    nudge: [u8; PERIOD],
    whole: [u16; PERIOD],
    part: [u16; PERIOD],
    offset: [u16; PERIOD],
}

impl Lines {
    /// The lines of a row in which sample i goes through `line(i)`.
    pub fn new(line: impl Fn(usize) -> Line) -> Lines {
        let line = &line;
        Lines {
            low: std::array::from_fn(|i| line(i).low),
            high: std::array::from_fn(|i| line(i).high),
            start: std::array::from_fn(|i| line(i).start),
            span: std::array::from_fn(|i| line(i).span),
            nudge: std::array::from_fn(|i| line(i).nudge),
            whole: std::array::from_fn(|i| line(i).whole),
            part: std::array::from_fn(|i| line(i).part),
            offset: std::array::from_fn(|i| line(i).offset),
        }
    }
}

/// Sends each sample through the same line.
#[inline(always)]
pub fn line(row: &mut [u8], line: &Line) {
    for sample in row {
        *sample = line.at(*sample);
    }
}

/// Sends each sample through its line.
#[inline(always)]
pub fn lines(row: &mut [u8], lines: &Lines) {
    for block in row.chunks_mut(PERIOD) {
        for (i, sample) in block.iter_mut().enumerate() {
            let line = Line {
                low: lines.low[i],
                high: lines.high[i],
                start: lines.start[i],
                span: lines.span[i],
                nudge: lines.nudge[i],
                whole: lines.whole[i],
                part: lines.part[i],
                offset: lines.offset[i],
            };
            *sample = line.at(*sample);
        }
    }
}

/// Looks each sample up in the same table.
#[inline(always)]
pub fn table(row: &mut [u8], table: &[u8; 256]) {
    for sample in row {
        *sample = table[usize::from(*sample)];
    }
}

/// Looks sample i up in `tables[i % 12]`.
pub fn tables(row: &mut [u8], tables: &[&[u8; 256]; 12]) {
    for block in row.chunks_mut(12) {
        for (sample, table) in block.iter_mut().zip(tables) {
            *sample = table[usize::from(*sample)];
        }
    }
}

/// Chooses, at each call, the loop that was compiled for the path.
macro_rules! on_path {
    ($path:expr, $name:ident($($argument:expr),*)) => {
        match $path {
            Path::Plain => $crate::cpu::kernels::$name($($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a backend is only made with a path that this processor has, see Cpu::with.
            Path::Avx2 => unsafe { $crate::cpu::x86::$name($($argument),*) },
        }
    };
}
pub(super) use on_path;

//! The inner loops, in plain Rust, over rows that lie in the cache.
//!
//! They say what each loop computes, and are the fallback everywhere. For what a processor has, those that gain by it
//! are compiled anew, or written out with the same results (in `x86`, `vbmi` and `neon`).

pub use super::deep::{deep_add, deep_count, deep_find_blind, deep_tables, deep_weigh};
pub use super::matrix::mix;
pub use super::sites::read_sites;
pub use super::tone::pixels::tone_pixels;
pub use super::tone::sites::tone_sites;

/// What the inner loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Any processor of the architecture.
    Plain,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with VBMI.
    #[cfg(target_arch = "x86_64")]
    Vbmi,
}

impl Path {
    /// All paths of this architecture, the slowest first.
    pub const ALL: &'static [Path] = &[
        Path::Plain,
        #[cfg(target_arch = "aarch64")]
        Path::Neon,
        #[cfg(target_arch = "x86_64")]
        Path::Avx2,
        #[cfg(target_arch = "x86_64")]
        Path::Vbmi,
    ];

    /// Whether this processor has what the path needs.
    pub fn is_available(self) -> bool {
        match self {
            Path::Plain => true,
            #[cfg(target_arch = "aarch64")]
            Path::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Path::Vbmi => {
                Path::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi")
            }
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
            #[cfg(target_arch = "aarch64")]
            Path::Neon => "CPU (NEON)",
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => "CPU (AVX2)",
            #[cfg(target_arch = "x86_64")]
            Path::Vbmi => "CPU (AVX-512)",
        }
    }
}

/// Counts by code, in eight tables, so that equal neighbours do not wait for each other's count to be stored.
pub type Tables = [[u32; 256]; 8];

/// Counts a row of luma into `tables`, and adds each sample to the sum of its column, of which there are as many.
/// A column's sum holds 257 rows.
#[inline(always)]
pub fn count(luma: &[u8], tables: &mut Tables, columns: &mut [u16]) {
    let (blocks, rest) = luma.as_chunks::<32>();
    let (column_blocks, column_rest) = columns.as_chunks_mut::<32>();
    // Both in one loop, so that memory is fetched ahead while the tables keep the processor busy.
    for (block, columns) in blocks.iter().zip(column_blocks) {
        add(block, columns);
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
    add(rest, column_rest);
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
pub fn weigh<const SAMPLES: usize>(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]) {
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

/// Adds each sample of a row to the sum of its column.
#[inline(always)]
pub fn add(row: &[u8], columns: &mut [u16]) {
    for (column, sample) in columns.iter_mut().zip(row) {
        *column = column.wrapping_add(u16::from(*sample));
    }
}

/// Looks each sample up in the same table.
#[inline(always)]
pub fn table(row: &mut [u8], table: &[u8; 256]) {
    for sample in row {
        *sample = table[usize::from(*sample)];
    }
}

/// Lanes after which those of every format repeat.
pub const LANES: usize = 12;

/// The table of each lane, by index; the last of the tables is the identity.
#[derive(Clone, Copy)]
pub struct Lookup<'a> {
    pub tables: &'a [[u8; 256]; 4],
    pub lanes: [usize; LANES],
}

impl Lookup<'_> {
    /// The table of lanes that stay as they are.
    pub const IDENTITY: usize = 3;
}

/// Looks each sample up in its lane's table.
#[inline(always)]
pub fn tables(row: &mut [u8], lookup: &Lookup) {
    let tables = lookup.lanes.map(|lane| &lookup.tables[lane]);
    for block in row.chunks_mut(tables.len()) {
        for (sample, table) in block.iter_mut().zip(tables) {
            *sample = table[usize::from(*sample)];
        }
    }
}

/// The loops that the compiler does well, compiled for what a processor has.
macro_rules! compiled_for {
    ($feature:literal: $(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)+) => {
        $(
            #[target_feature(enable = $feature)]
            pub fn $name($($argument: $kind),*) $(-> $result)? {
                $crate::cpu::kernels::$name($($argument),*)
            }
        )+
    };
    // Those of every processor that has more than the least.
    ($feature:literal) => {
        use $crate::cpu::deep::{DeepLookup, DeepTables, SAMPLE};
        use $crate::cpu::matrix::{Mixer, Offsets};
        use $crate::colour::Places;
        use $crate::cpu::sites::{Code, Rows};
        use $crate::frame::{FrameInfo, Plane};
        use $crate::cpu::tone::{Toner, sites::Scratch};

        compiled_for! { $feature:
            fn count(luma: &[u8], tables: &mut Tables, columns: &mut [u16]);
            fn add(row: &[u8], columns: &mut [u16]);
            fn deep_add(row: &[u8], shift: u32, columns: &mut [u16]);
            fn deep_weigh(row: &[u8], pixel: &RgbPixel, bins: &mut [[u8; SAMPLE]]);
            fn deep_find_blind(row: &[u8], alpha: usize, bins: &mut [[u8; SAMPLE]], blind: &mut [u8]) -> u32;
            fn deep_count(row: &[u8], shift: u32, tables: &mut DeepTables, columns: &mut [u16]);
            fn deep_tables(row: &mut [u8], lookup: &DeepLookup);
        }

        #[target_feature(enable = $feature)]
        pub fn mix<C: Code, const ENTRIES: usize>(mixer: &Mixer<ENTRIES>, rows: &mut Rows<C>, offsets: &mut Offsets) {
            $crate::cpu::kernels::mix(mixer, rows, offsets);
        }

        #[target_feature(enable = $feature)]
        pub fn read_sites<C: Code>(rows: &mut Rows<C>, places: &Places, info: &FrameInfo, planes: &[Plane], y: usize) {
            $crate::cpu::kernels::read_sites(rows, places, info, planes, y);
        }

        #[target_feature(enable = $feature)]
        pub fn tone_sites<C: Code>(toner: &Toner<C>, rows: &mut Rows<C>, scratch: &mut Scratch<C>, y: usize) {
            $crate::cpu::kernels::tone_sites(toner, rows, scratch, y);
        }

        #[target_feature(enable = $feature)]
        pub fn tone_pixels<C: Code>(toner: &Toner<C>, rows: &mut Rows<C>, y: usize) {
            $crate::cpu::kernels::tone_pixels(toner, rows, y);
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use compiled_for;

/// Chooses, at each call, the loop that was compiled for the path.
macro_rules! on_path {
    ($path:expr, $name:ident($($argument:expr),*)) => {
        match $path {
            Path::Plain => $crate::cpu::kernels::$name($($argument),*),
            #[cfg(target_arch = "aarch64")]
            // SAFETY: a backend is only made with a path that this processor has, see Cpu::with.
            Path::Neon => unsafe { $crate::cpu::neon::$name($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Path::Avx2 => unsafe { $crate::cpu::x86::$name($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Path::Vbmi => unsafe { $crate::cpu::vbmi::$name($($argument),*) },
        }
    };
}
pub(super) use on_path;

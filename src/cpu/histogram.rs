//! Measure: the luma histogram, and the luma sum and count of every chunk of the grid.
//!
//! Rows become rows of luma, one byte a pixel (those of a luma plane are it already), and are counted into
//! several tables. Chunks cost next to nothing: a band of rows is summed column by column, and at its end the
//! columns of each chunk are added up. A stripe of the band, no wider than the cache allows, goes first.

use crate::frame::{Format, FrameInfo, Lane, MOST_BINS, Plane};
use crate::grid::Grid;
use crate::levels::statistics::{Chunk, Statistics};
use crate::window::Window;

use super::deep::{DeepTables, SAMPLE};
use super::kernels::{Path, RgbPixel, Tables, on_path};
use super::pool;

type Span = std::ops::Range<usize>;

/// Pixels of a row that are worked on together. Even, so that a stripe starts with a YUYV pair.
const STRIPE: usize = 4096;
/// Rows whose samples a 16-bit sum of a column can hold, and rows whose bins it can.
const MOST_ROWS: usize = 256;
const MOST_DEEP_ROWS: usize = 64;

/// How a row becomes luma.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// It is luma.
    Luma,
    /// Every second sample is luma, from this one on.
    EverySecond(usize),
    /// Pixels of three or of four samples.
    Rgb3(RgbPixel),
    Rgb4(RgbPixel),
    /// Samples of 16 bits are luma, of which the bits from this one on are the bin.
    Deep(u32),
    /// Pixels of four samples of 16 bits.
    DeepRgb4(RgbPixel),
}

impl Source {
    fn of(info: &FrameInfo) -> Source {
        let lanes = info.measured().lanes;
        let place = |lane: Lane| lanes.iter().position(|other| *other == lane);
        let packing = info.format.packing();
        let is_deep = packing.bytes() > 1;
        match [Lane::Red, Lane::Green, Lane::Blue].map(place) {
            [Some(red), Some(green), Some(blue)] => {
                let pixel = RgbPixel { places: [red, green, blue], alpha: info.alpha(), weights: info.weights.0 };
                match lanes.len() {
                    4 if is_deep => Source::DeepRgb4(pixel),
                    4 => Source::Rgb4(pixel),
                    _ => Source::Rgb3(pixel),
                }
            }
            _ if is_deep => Source::Deep(packing.shift + packing.depth - MOST_BINS.ilog2()),
            _ if matches!(info.format, Format::Yuy2 | Format::Uyvy) => {
                Source::EverySecond(usize::from(lanes[0] != Lane::Luma))
            }
            _ => Source::Luma,
        }
    }

    /// Bytes of one pixel.
    fn bytes(&self) -> usize {
        match self {
            Source::Luma => 1,
            Source::EverySecond(_) | Source::Deep(_) => 2,
            Source::Rgb3(_) => 3,
            Source::Rgb4(_) => 4,
            Source::DeepRgb4(_) => 8,
        }
    }

    fn is_deep(&self) -> bool {
        matches!(self, Source::Deep(_) | Source::DeepRgb4(_))
    }
}

/// What a thread counts into.
struct Counts {
    tables: Tables,
    /// Sums of the stripe's columns: luma, and pixels that do not vote.
    columns: [u16; STRIPE],
    blind_columns: [u16; STRIPE],
    /// One row of the stripe: luma, 0 where a pixel does not vote, and 1 there.
    luma: [u8; STRIPE],
    blind: [u8; STRIPE],
    /// Pixels of the window that do not vote; they were counted at code 0.
    blind_pixels: u32,
    /// What takes the place of `tables` and `luma` where samples have 16 bits.
    deep: Option<Box<Deep>>,
}

struct Deep {
    tables: DeepTables,
    /// Samples of RGB become bins first.
    bins: [[u8; SAMPLE]; STRIPE],
}

/// Measures frames of one kind.
pub struct Measure {
    path: Path,
    source: Source,
    width: usize,
    /// Edges of the columns of chunks in pixels, and of their rows.
    columns: Vec<usize>,
    rows: Vec<usize>,
    /// The window, in pixels.
    window: (Span, Span),
    counts: Vec<Box<Counts>>,
}

impl Measure {
    pub fn new(info: &FrameInfo, grid: Grid, path: Path, threads: usize) -> Measure {
        let pixels = |unit: &usize| (unit * info.measured().unit_pixels).min(info.width);
        let source = Source::of(info);
        let deep =
            || source.is_deep().then(|| Box::new(Deep { tables: [[0; MOST_BINS]; 4], bins: [[0; SAMPLE]; STRIPE] }));
        let counts = || {
            Box::new(Counts {
                tables: [[0; 256]; 8],
                columns: [0; STRIPE],
                blind_columns: [0; STRIPE],
                luma: [0; STRIPE],
                blind: [0; STRIPE],
                blind_pixels: 0,
                deep: deep(),
            })
        };
        Measure {
            path,
            width: info.width,
            columns: grid.columns.iter().map(pixels).collect(),
            rows: grid.rows,
            window: (0..info.width, 0..info.height),
            counts: (0..threads).map(|_| counts()).collect(),
            source,
        }
    }

    /// Counts the pixels of `window`, which lies within the picture, and no others, from now on.
    pub fn set_window(&mut self, window: &Window, info: &FrameInfo) {
        self.window = (window.pixels(info), window.top..window.bottom);
    }

    /// Measures a plane, which holds all rows, into `statistics` of the right shape.
    pub fn run(&mut self, plane: Plane, statistics: &mut Statistics) {
        let Measure { path, source, width, columns, rows, window, counts } = self;
        let bands = rows.windows(2).zip(statistics.chunks.chunks_mut(columns.len() - 1));
        pool::share_first(counts, bands, |counts, (rows, chunks)| {
            let band = Band { path: *path, source, width: *width, columns, window, plane, rows: (rows[0], rows[1]) };
            band.measure(counts, chunks);
        });
        statistics.luma.fill(0);
        for counts in counts {
            for (code, sum) in statistics.luma.iter_mut().enumerate() {
                *sum += match &counts.deep {
                    Some(deep) => deep.tables.iter().map(|table| table[code]).sum::<u32>(),
                    None => counts.tables.iter().map(|table| table[code]).sum::<u32>(),
                };
            }
            statistics.luma[0] -= counts.blind_pixels;
            counts.blind_pixels = 0;
            match &mut counts.deep {
                Some(deep) => deep.tables = [[0; MOST_BINS]; 4],
                None => counts.tables = [[0; 256]; 8],
            }
        }
    }
}

/// One row of chunks.
struct Band<'a> {
    path: Path,
    source: &'a Source,
    width: usize,
    columns: &'a [usize],
    window: &'a (Span, Span),
    plane: Plane<'a>,
    rows: (usize, usize),
}

impl Band<'_> {
    fn measure(&self, counts: &mut Counts, chunks: &mut [Chunk]) {
        chunks.fill(Chunk::default());
        let most_rows = if self.source.is_deep() { MOST_DEEP_ROWS } else { MOST_ROWS };
        for left in (0..self.width).step_by(STRIPE) {
            let right = (left + STRIPE).min(self.width);
            let within = |x: usize| x.clamp(left, right) - left;
            let inside = within(self.window.0.start)..within(self.window.0.end);
            for top in (self.rows.0..self.rows.1).step_by(most_rows) {
                let bottom = (top + most_rows).min(self.rows.1);
                let mut has_blind = false;
                for y in top..bottom {
                    let bytes = self.source.bytes();
                    let row = &self.plane.data[y * self.plane.stride..][left * bytes..right * bytes];
                    let voters = if self.window.1.contains(&y) { inside.clone() } else { 0..0 };
                    has_blind |= self.count_row(row, right - left, voters, counts);
                }
                self.add_up(left, right, bottom - top, has_blind, counts, chunks);
            }
        }
    }

    /// Counts the `voters` of a row of so many pixels, and sums all. Tells whether there were blind ones.
    fn count_row(&self, row: &[u8], pixels: usize, voters: Span, counts: &mut Counts) -> bool {
        let Counts { tables, columns, blind_columns, luma, blind, blind_pixels, deep } = counts;
        let (columns, luma, blind) = (&mut columns[..pixels], &mut luma[..pixels], &mut blind[..pixels]);
        let (deep_tables, bins) = match deep {
            Some(deep) => (Some(&mut deep.tables), &mut deep.bins[..pixels]),
            None => (None, &mut [][..]),
        };
        let Span { start, end } = voters;
        let mut tally = |luma: &[u8]| {
            on_path!(self.path, add(&luma[..start], &mut columns[..start]));
            on_path!(self.path, count(&luma[start..end], tables, &mut columns[start..end]));
            on_path!(self.path, add(&luma[end..], &mut columns[end..]));
        };
        let mut found = 0;
        // Samples of 16 bits, and where their bin begins.
        let mut samples = (row, 0);
        match self.source {
            Source::Luma => {
                tally(&row[..pixels]);
                return false;
            }
            Source::EverySecond(first) => on_path!(self.path, every_second(row, *first, luma)),
            Source::Rgb3(pixel) => on_path!(self.path, weigh3(row, pixel, luma)),
            Source::Rgb4(pixel) => {
                on_path!(self.path, weigh4(row, pixel, luma));
                if let Some(alpha) = pixel.alpha {
                    found = on_path!(self.path, find_blind(row, alpha, luma, blind));
                }
            }
            Source::Deep(shift) => samples.1 = *shift,
            Source::DeepRgb4(pixel) => {
                on_path!(self.path, deep_weigh(row, pixel, bins));
                if let Some(alpha) = pixel.alpha {
                    found = on_path!(self.path, deep_find_blind(row, alpha, bins, blind));
                }
                samples.0 = bins.as_flattened();
            }
        }
        if found > 0 {
            *blind_pixels += blind[start..end].iter().map(|blind| u32::from(*blind)).sum::<u32>();
            on_path!(self.path, add(blind, &mut blind_columns[..pixels]));
        }
        match deep_tables {
            Some(tables) => {
                let (row, shift) = samples;
                let [left, right] = [SAMPLE * start, SAMPLE * end];
                on_path!(self.path, deep_add(&row[..left], shift, &mut columns[..start]));
                on_path!(self.path, deep_count(&row[left..right], shift, tables, &mut columns[start..end]));
                on_path!(self.path, deep_add(&row[right..], shift, &mut columns[end..]));
            }
            None => tally(luma),
        }
        found > 0
    }

    /// Adds the columns of a stripe, of so many rows, to their chunks, and clears them.
    fn add_up(
        &self,
        left: usize,
        right: usize,
        rows: usize,
        has_blind: bool,
        counts: &mut Counts,
        chunks: &mut [Chunk],
    ) {
        let sum = |columns: &[u16]| columns.iter().map(|column| u32::from(*column)).sum::<u32>();
        for (edges, chunk) in self.columns.windows(2).zip(chunks) {
            let (from, to) = (edges[0].max(left), edges[1].min(right));
            if from >= to {
                continue;
            }
            chunk.sum += sum(&counts.columns[from - left..to - left]);
            chunk.count += (rows * (to - from)) as u32;
            if has_blind {
                chunk.count -= sum(&counts.blind_columns[from - left..to - left]);
            }
        }
        counts.columns[..right - left].fill(0);
        if has_blind {
            counts.blind_columns[..right - left].fill(0);
        }
    }
}

//! Counts R, G and B at the sites of a frame, and luma beside them, when levels of their own are asked for.

use std::ops::Range;

use crate::colour::{Matrix, Places};
use crate::frame::{FrameInfo, MOST_BINS, Packing, Plane, Planes};
use crate::levels::statistics::{CHANNELS, Statistics};
use crate::window::Window;

use super::apply::used;
use super::kernels::{Path, on_path};
use super::pool;
use super::sites::{Code, Rows};

/// About how many sites a band holds.
const BAND: usize = 1 << 16;

/// What a thread counts into.
struct Counts {
    tables: Tables,
    /// Of samples of 8 bits, and of 16.
    bytes: Rows<u8>,
    words: Rows<u16>,
}

/// What is counted by bin.
struct Tables {
    /// Of R, G and B.
    channels: [[u32; MOST_BINS]; 3],
    /// Of luma, and the sums of R, G and B at it.
    colours: [[u32; CHANNELS]; MOST_BINS],
}

impl Tables {
    const EMPTY: Tables = Tables { channels: [[0; MOST_BINS]; 3], colours: [[0; CHANNELS]; MOST_BINS] };

    #[inline(always)]
    fn count(&mut self, luma: usize, channels: [usize; 3]) {
        // The masks change nothing, and spare the checks.
        for (table, bin) in self.channels.iter_mut().zip(channels) {
            table[bin & (MOST_BINS - 1)] += 1;
        }
        let [r, g, b] = channels.map(|bin| bin as u32);
        let sums = &mut self.colours[luma & (MOST_BINS - 1)];
        sums.iter_mut().zip([1, r, g, b]).for_each(|(sum, value)| *sum += value);
    }
}

/// Counts the channels of frames of one kind.
pub struct Channels {
    path: Path,
    places: Option<Places>,
    matrix: Matrix,
    info: FrameInfo,
    /// The sites that are counted, across and down.
    window: [Range<usize>; 2],
    counts: Vec<Box<Counts>>,
}

impl Channels {
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Channels {
        let places = Places::find(info);
        let counts = || Box::new(Counts { tables: Tables::EMPTY, bytes: Rows::default(), words: Rows::default() });
        let window = places.map_or([0..0, 0..0], |places| places.within(&Window::whole(info), info));
        Channels {
            path,
            window,
            places,
            matrix: Matrix::new(info),
            info: info.clone(),
            counts: (0..if places.is_some() { threads } else { 0 }).map(|_| counts()).collect(),
        }
    }

    /// Counts only what lies in a window within the picture from now on.
    pub fn set_window(&mut self, window: &Window) {
        if let Some(places) = &self.places {
            self.window = places.within(window, &self.info);
        }
    }

    /// Counts a frame whose planes hold all that its description says into `statistics`; nothing of grey formats.
    pub fn run(&mut self, planes: &Planes, statistics: &mut Statistics) {
        let Channels { path, places: Some(places), matrix, info, window: [across, down], counts } = self else {
            return;
        };
        let planes: Planes = planes
            .iter()
            .zip(&info.planes)
            .map(|(plane, shape)| Plane { data: used(plane, shape), stride: plane.stride })
            .collect();
        let counted = places.counted(info);
        let rows = (BAND / across.len().max(1)).max(1) * counted;
        let bands = down.clone().step_by(rows).map(|top| (top, (top + rows).min(down.end)));
        let job = Job { path: *path, places, matrix, info, planes: &planes, across: across.clone() };
        pool::share_first(counts, bands, |counts, (top, bottom)| {
            let Counts { tables, bytes, words } = &mut **counts;
            for y in (top..bottom).step_by(counted) {
                match (info.format.is_rgb(), info.format.packing()) {
                    (true, Packing::BYTE) => job.count_pixels::<u8>(y, tables),
                    (true, _) => job.count_pixels::<u16>(y, tables),
                    (false, Packing::BYTE) => job.count_sites(y, tables, bytes),
                    (false, _) => job.count_sites(y, tables, words),
                }
            }
        });
        let sum = |table: &mut Vec<u32>, of: &dyn Fn(&Tables, usize) -> u32| {
            table.clear();
            table.extend(
                (0..info.range.bins()).map(|bin| counts.iter().map(|counts| of(&counts.tables, bin)).sum::<u32>()),
            );
        };
        let [luma, channels @ ..] = &mut statistics.channels;
        sum(luma, &|tables, bin| tables.colours[bin][0]);
        for (index, (channel, colours)) in channels.iter_mut().zip(&mut statistics.colours).enumerate() {
            sum(channel, &|tables, bin| tables.channels[index][bin]);
            sum(colours, &|tables, bin| tables.colours[bin][index + 1]);
        }
        counts.iter_mut().for_each(|counts| counts.tables = Tables::EMPTY);
    }
}

/// What is counted of each row of sites.
struct Job<'a> {
    path: Path,
    places: &'a Places,
    matrix: &'a Matrix,
    info: &'a FrameInfo,
    planes: &'a Planes<'a>,
    across: Range<usize>,
}

impl Job<'_> {
    /// Counts row `y` of an RGB format.
    fn count_pixels<C: Code>(&self, y: usize, tables: &mut Tables) {
        let (plane, bytes) = (&self.planes[0], self.places.lanes[0].step * C::BYTES);
        let row = &plane.data[y * plane.stride..][self.across.start * bytes..self.across.end * bytes];
        let [red, green, blue] = self.places.lanes.map(|place| place.first);
        let [wr, wg, wb] = self.info.weights.0;
        let (packing, shift) = (self.info.format.packing(), self.info.range.bin_shift());
        for pixel in row.chunks_exact(bytes) {
            let sample = |place: usize| C::load(&pixel[place * C::BYTES..], packing).get() as u32;
            if self.places.alpha.is_some_and(|alpha| sample(alpha.first) == 0) {
                continue;
            }
            let [r, g, b] = [red, green, blue].map(sample);
            // The weights sum to 65536, so this fits.
            let luma = (wr * r + wg * g + wb * b + 32768) >> 16;
            tables.count((luma >> shift) as usize, [r, g, b].map(|code| (code >> shift) as usize));
        }
    }

    /// Counts row `y` of a format with chroma.
    fn count_sites<C: Code>(&self, y: usize, tables: &mut Tables, rows: &mut Rows<C>) {
        on_path!(self.path, read_sites(rows, self.places, self.info, self.planes, y));
        let shift = self.info.range.bin_shift();
        let [means, cb, cr] = [&rows.means, &rows.cb, &rows.cr].map(|samples| &samples[self.across.clone()]);
        for ((mean, cb), cr) in means.iter().zip(cb).zip(cr) {
            let luma = mean.get();
            let [r, g, b] = self.matrix.channels(luma, cb.get(), cr.get());
            tables.count(luma as usize >> shift, [r, g, b].map(|code| code >> shift));
        }
    }
}

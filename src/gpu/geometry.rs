//! How the work on a frame is cut into workgroups, and the constants of a stream that tell the shaders.

use crate::frame::{FrameInfo, Lane, TEXEL};
use crate::grid::{COLUMNS, Grid, ROWS};
use crate::window::Window;

use super::memory::Places;
use super::passes::MOST_PLANES;

/// What a frame's bytes pass while the GPU works on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// The bus, while those of another frame pass it the other way.
    BothWays,
    /// The bus, by themselves.
    OneWay,
    /// Nothing: they are in the GPU's memory.
    OnDevice,
}

impl Traffic {
    /// Workgroups that read frames, and those that write them, at a time.
    fn workgroups(self) -> (u32, u32) {
        match self {
            // Just enough to keep both directions of the bus busy. With more, every request waits longer, and those of
            // the other direction suffer.
            Traffic::BothWays => (104, 44),
            Traffic::OneWay => (416, 256),
            // Three workgroups that read and six that write to each of 132 processors.
            Traffic::OnDevice => (396, 792),
        }
    }

    /// Quads that an invocation asks for, at least, before it does anything with the first.
    fn quads_at_once(self) -> usize {
        match self {
            // Workgroups are few, and each answer takes long.
            Traffic::BothWays => 2,
            Traffic::OneWay | Traffic::OnDevice => 1,
        }
    }
}

/// Bytes of a word.
pub const WORD: usize = 4;
/// Words of a quad.
pub const QUAD: usize = 4;
/// Most invocations of a workgroup that are of use.
const MOST_THREADS: u32 = 256;
/// Fewest invocations along a row.
const FEWEST_ACROSS: u32 = 32;

/// Workgroups of the measuring pass, across and down.
pub type Workgroups = [u32; 2];

/// The workgroups of each pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Invocations of a workgroup.
    pub threads: u32,
    /// Those along a row where measuring.
    pub across: u32,
    /// Workgroups that share a row of chunks, and rows of chunks: those that count.
    pub measure: Workgroups,
    /// Further rows of workgroups that bring the other planes in.
    pub load: u32,
    pub apply: u32,
    /// Rows, or quads, that an invocation asks for before it does anything with the first.
    pub ahead: u32,
    pub chunks: u32,
    /// The first quad of each plane, the first after the last plane at the end.
    quads: [u32; MOST_PLANES + 1],
}

impl Geometry {
    /// The geometry for workgroups of up to `threads` invocations. `None` if numbers do not fit 32 bits.
    pub fn new(info: &FrameInfo, grid: &Grid, threads: u32, traffic: Traffic) -> Option<Geometry> {
        let threads = 1 << threads.clamp(FEWEST_ACROSS, MOST_THREADS).ilog2();
        let mut quads = [0u32; MOST_PLANES + 1];
        for plane in 0..MOST_PLANES {
            let shape = info.planes.get(plane);
            let all = shape.map_or(Some(0), |shape| shape.bytes.div_ceil(WORD * QUAD).checked_mul(shape.rows))?;
            quads[plane + 1] = quads[plane].checked_add(u32::try_from(all).ok()?)?;
        }
        let end = quads[MOST_PLANES];
        let groups = |quads: u32, most: u32| quads.div_ceil(threads).min(most.max(1));
        // Those that read share the planes so that all are done at the same time.
        let (reading, writing) = traffic.workgroups();
        let share = |quads: u32| (u64::from(reading) * u64::from(quads)).div_ceil(u64::from(end)) as u32;
        let units = u32::try_from(info.measured().units()).ok()?;
        // Where four units are several quads, all of them are asked for at once anyway.
        let quads_of_units = (info.measured().lanes.len() * info.format.packing().bytes() / WORD).max(1);
        let across = across(units.div_ceil(QUAD as u32), threads);
        let down = u32::try_from(grid.down()).ok()?;
        let rows = u32::try_from(info.measured().rows).ok()?.div_ceil(down);
        let bands = bands(rows, threads / across, (share(quads[1]) + down / 2) / down);
        let others = end - quads[1];
        Some(Geometry {
            threads,
            across,
            measure: [bands, down],
            load: if others > 0 { groups(others, share(others)).div_ceil(bands) } else { 0 },
            apply: groups(end, writing),
            ahead: traffic.quads_at_once().div_ceil(quads_of_units) as u32,
            chunks: u32::try_from(grid.chunks()).ok()?,
            quads,
        })
    }

    /// All workgroups of the measuring pass.
    pub fn bring(&self) -> Workgroups {
        let [across, down] = self.measure;
        [across, down + self.load]
    }

    /// The words of `Stream` in `stream.wgsl`.
    pub fn stream(&self, info: &FrameInfo, grid: &Grid) -> Vec<u32> {
        let [red, green, blue] = info.weights.0;
        let mut words = vec![red, green, blue, 0];
        for plane in 0..MOST_PLANES {
            let first = if plane < info.planes.len() { self.quads[plane] } else { u32::MAX };
            let (bytes, samples, rows) =
                info.planes.get(plane).map_or((0, 0, 0), |shape| (shape.bytes, shape.samples, shape.rows));
            words.extend([bytes.div_ceil(WORD) as u32, rows as u32, samples as u32, first]);
        }
        for plane in 0..MOST_PLANES {
            words.extend(info.planes.get(plane).map_or([0, 0, 0, 1], |shape| lanes(shape.lanes)));
        }
        words.extend([info.width as u32, grid.across() as u32, self.chunks, self.measure[0]]);
        let edges = |edges: &[usize], room: usize| {
            let mut words = vec![0; room];
            words.iter_mut().zip(edges).for_each(|(word, edge)| *word = *edge as u32);
            words
        };
        words.extend(edges(&grid.columns, COLUMNS + 1));
        words.extend(edges(&grid.rows, ROWS + 1));
        words.extend([self.quads[MOST_PLANES], self.measure[1], 0, 0]);
        debug_assert_eq!(4 * words.len() as u64, WINDOW_OFFSET);
        words.extend(window(&Window::whole(info)));
        words
    }
}

/// Where the window lies in `Stream`, in bytes.
pub const WINDOW_OFFSET: u64 = 4 * 88;

/// The words of the window in `Stream`.
pub fn window(window: &Window) -> [u32; 4] {
    [window.left, window.right, window.top, window.bottom].map(|edge| edge as u32)
}

/// Invocations along rows of `quads` quads: the power of two that leaves fewest idle, the largest of equals.
fn across(quads: u32, threads: u32) -> u32 {
    let all = (FEWEST_ACROSS.ilog2()..=threads.ilog2()).map(|bit| 1 << bit);
    all.min_by_key(|across| (quads.next_multiple_of(*across), u32::MAX - across)).unwrap_or(threads)
}

/// Workgroups that share a row of chunks `rows` high, of which each takes `at_once` at a time: as many as may be
/// so that all take equally often.
fn bands(rows: u32, at_once: u32, most: u32) -> u32 {
    let turns = rows.div_ceil(at_once * most.max(1));
    rows.div_ceil(at_once * turns.max(1))
}

/// The words of `Memory` in `stream.wgsl`.
pub fn memory(places: &Places) -> Vec<u32> {
    let whole = places.iter().flatten().all(|words| words % QUAD as u32 == 0);
    let places = places.iter().flat_map(|[first, stride]| [*first, *stride, 0, 0]);
    places.chain([u32::from(whole), 0, 0, 0]).collect()
}

/// The curve of each sample of a unit, a byte each whatever the samples have, a word for each texel, and the number of
/// texels.
fn lanes(unit: &[Lane]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, texel) in words.iter_mut().zip(unit.chunks(TEXEL)) {
        // The fourth curve copies.
        *word = u32::from_le_bytes(std::array::from_fn(|i| texel[i].curve().unwrap_or(3) as u8));
    }
    words[3] = (unit.len() / TEXEL) as u32;
    words
}

/// The curves of each plane's samples: the constants that `apply.wgsl` is compiled with.
pub fn lane_constants(info: &FrameInfo) -> Vec<(&'static str, f64)> {
    let units = info.planes.iter().map(|shape| lanes(shape.lanes));
    let names = ["lanes0", "lanes1", "lanes2"];
    let mut constants: Vec<_> =
        names.into_iter().zip(units).map(|(name, [first, ..])| (name, f64::from(first))).collect();
    let words = info.measured().lanes.len() / TEXEL;
    constants.push(("words_of_unit", words as f64));
    constants
}

/// How the luma of the measured plane lies in its lanes: the constants that `histogram.wgsl` is compiled with.
pub fn luma_constants(info: &FrameInfo) -> Vec<(&'static str, f64)> {
    let lanes = info.measured().lanes;
    let position = |wanted: Lane| lanes.iter().position(|lane| *lane == wanted);
    let at = |wanted: Lane| position(wanted).map_or(TEXEL as f64, |index| index as f64);
    let packing = info.format.packing();
    let is_deep = packing.bytes() > 1;
    if info.format.is_rgb() {
        let sort = match lanes.len() {
            TEXEL if is_deep => 5.0,
            TEXEL => 2.0,
            _ => 3.0,
        };
        let (red, green, blue) = (at(Lane::Red), at(Lane::Green), at(Lane::Blue));
        let mut constants =
            vec![("sort", sort), ("red", red), ("green", green), ("blue", blue), ("alpha", at(Lane::Alpha))];
        if is_deep {
            constants.push(("bin", f64::from(info.range.bin_shift())));
        }
        constants
    } else if is_deep {
        vec![("sort", 4.0), ("bin", f64::from(packing.shift + info.range.bin_shift()))]
    } else if lanes.iter().all(|lane| *lane == Lane::Luma) {
        vec![("sort", 0.0)]
    } else {
        vec![("sort", 1.0), ("luma", at(Lane::Luma))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Format, LumaWeights, Range};

    fn info(format: Format, width: usize, height: usize) -> FrameInfo {
        FrameInfo::new(format, width, height, Range::LIMITED, LumaWeights::BT709)
    }

    #[test]
    fn measuring_takes_36_to_108_workgroups_at_usual_sizes() {
        for format in Format::ALL {
            for (width, height) in [(1920, 1080), (3840, 2160), (7680, 4320)] {
                let info = info(*format, width, height);
                let grid = Grid::new(&info);
                let geometry = Geometry::new(&info, &grid, 256, Traffic::BothWays).expect("fits");
                let workgroups: u32 = geometry.measure.iter().product();
                assert!((36..=108).contains(&workgroups), "{info}: {workgroups}");
                assert_eq!(geometry.measure[1] as usize, grid.down());
            }
        }
    }

    #[test]
    fn over_the_bus_two_quads_or_more_are_asked_for_at_once() {
        let ahead = |format, traffic| {
            let info = info(format, 1920, 1080);
            Geometry::new(&info, &Grid::new(&info), 256, traffic).expect("fits").ahead
        };
        for (format, expected) in [(Format::Nv12, 2), (Format::Rgba, 2), (Format::Rgb, 1), (Format::P010, 1)] {
            assert_eq!(ahead(format, Traffic::BothWays), expected, "{format:?}");
            assert_eq!(ahead(format, Traffic::OnDevice), 1, "{format:?}");
        }
    }

    #[test]
    fn constants_have_the_size_of_the_struct() {
        for (width, height) in [(1, 1), (1920, 1080)] {
            let info = info(Format::I420, width, height);
            let grid = Grid::new(&info);
            let geometry = Geometry::new(&info, &grid, 256, Traffic::BothWays).expect("fits");
            assert_eq!(geometry.stream(&info, &grid).len(), 92);
        }
    }

    #[test]
    fn every_format_has_its_luma() {
        let constants = |format| luma_constants(&info(format, 8, 8));
        assert_eq!(constants(Format::Nv12), [("sort", 0.0)]);
        assert_eq!(constants(Format::Uyvy), [("sort", 1.0), ("luma", 1.0)]);
        let bgr = [("sort", 3.0), ("red", 2.0), ("green", 1.0), ("blue", 0.0), ("alpha", 4.0)];
        assert_eq!(constants(Format::Bgr), bgr);
        let argb = [("sort", 2.0), ("red", 1.0), ("green", 2.0), ("blue", 3.0), ("alpha", 0.0)];
        assert_eq!(constants(Format::Argb), argb);
        assert_eq!(constants(Format::P010), [("sort", 4.0), ("bin", 6.0)]);
        assert_eq!(constants(Format::I420p12), [("sort", 4.0), ("bin", 2.0)]);
        assert_eq!(constants(Format::Argb64)[..2], [("sort", 5.0), ("red", 1.0)]);
    }
}

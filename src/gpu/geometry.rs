//! How the work on a frame is cut into workgroups, and the constants of a stream that tell the shaders.

use crate::frame::{FrameInfo, Lane, TEXEL};
use crate::grid::{COLUMNS, Grid, ROWS};

use super::memory::Places;
use super::passes::MOST_PLANES;

/// Words of a row that a workgroup covers: its invocations in x. As in `stream.wgsl`.
const ACROSS: u32 = 32;
/// Rows that an invocation of a block works on. As in `stream.wgsl`.
const ROWS_EACH: u32 = 4;
/// Most workgroups that measure.
const MOST_WORKGROUPS: usize = 256;
/// Most chunks of a workgroup. As in `histogram.wgsl`.
const LONGEST_RUN: usize = 8;

/// Workgroups of a pass, across and down.
pub type Workgroups = [u32; 2];

/// The workgroups of each pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Rows of 32 invocations in a workgroup.
    pub thread_rows: u32,
    pub measure: Workgroups,
    /// None if the measured plane is the only one.
    pub load: Option<Workgroups>,
    pub apply: Workgroups,
    run: u32,
    /// The first block of each plane, the first after the last plane at the end.
    blocks: [u32; MOST_PLANES + 1],
}

impl Geometry {
    /// The geometry for workgroups of up to `threads` invocations. `None` if numbers do not fit 32 bits.
    pub fn new(info: &FrameInfo, grid: &Grid, threads: u32) -> Option<Geometry> {
        let thread_rows = (threads / ACROSS).clamp(1, 8);
        let run = grid.chunks().div_ceil(MOST_WORKGROUPS);
        debug_assert!(run <= LONGEST_RUN);
        let mut blocks = [0; MOST_PLANES + 1];
        let mut across = [0; MOST_PLANES];
        for plane in 0..MOST_PLANES {
            let shape = info.planes.get(plane);
            let rows = u32::try_from(shape.map_or(0, |shape| shape.rows)).ok()?;
            let words = u32::try_from(shape.map_or(0, |shape| shape.samples.div_ceil(TEXEL))).ok()?;
            blocks[plane + 1] = blocks[plane] + rows.div_ceil(ROWS_EACH * thread_rows);
            across[plane] = words.div_ceil(ACROSS);
        }
        let end = blocks[MOST_PLANES];
        let widest = across[1..].iter().copied().max().unwrap_or(0);
        Some(Geometry {
            thread_rows,
            measure: [u32::try_from(grid.across().div_ceil(run)).ok()?, u32::try_from(grid.down()).ok()?],
            load: (end > blocks[1]).then_some([widest, end - blocks[1]]),
            apply: [widest.max(across[0]), end],
            run: u32::try_from(run).ok()?,
            blocks,
        })
    }

    /// Workgroups that measure, each with its table.
    pub fn tables(&self) -> u64 {
        u64::from(self.measure[0]) * u64::from(self.measure[1])
    }

    /// Most workgroups along one dimension.
    pub fn longest(&self) -> u32 {
        let all = [self.measure, self.load.unwrap_or_default(), self.apply];
        all.into_iter().flatten().max().unwrap_or(0)
    }

    /// The words of `Stream` in `stream.wgsl`.
    pub fn stream(&self, info: &FrameInfo, grid: &Grid) -> Vec<u32> {
        let [red, green, blue] = info.weights.0;
        let mut words = vec![red, green, blue, 0];
        for plane in 0..MOST_PLANES {
            let first_block = if plane < info.planes.len() { self.blocks[plane] } else { u32::MAX };
            let (samples, rows) = info.planes.get(plane).map_or((0, 0), |shape| (shape.samples, shape.rows));
            words.extend([samples.div_ceil(TEXEL) as u32, rows as u32, samples as u32, first_block]);
        }
        for plane in 0..MOST_PLANES {
            words.extend(info.planes.get(plane).map_or([0, 0, 0, 1], |shape| lanes(shape.lanes)));
        }
        words.extend([info.width as u32, grid.across() as u32, self.run, grid.chunks() as u32]);
        let edges = |edges: &[usize], room: usize| {
            let mut words = vec![0; room];
            words.iter_mut().zip(edges).for_each(|(word, edge)| *word = *edge as u32);
            words
        };
        words.extend(edges(&grid.columns, COLUMNS + 1));
        words.extend(edges(&grid.rows, ROWS + 1));
        words
    }
}

/// The words of `Memory` in `stream.wgsl`.
pub fn memory(places: &Places) -> Vec<u32> {
    places.iter().flat_map(|[first, stride]| [*first, *stride, 0, 0]).collect()
}

/// The curve of each sample of a unit, a byte each, a word for each texel, and the number of texels.
fn lanes(unit: &[Lane]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, texel) in words.iter_mut().zip(unit.chunks(TEXEL)) {
        // The fourth curve copies.
        *word = u32::from_le_bytes(std::array::from_fn(|i| texel[i].curve().unwrap_or(3) as u8));
    }
    words[3] = (unit.len() / TEXEL) as u32;
    words
}

/// How the luma of the measured plane lies in its lanes: the constants that `histogram.wgsl` is compiled with.
pub fn luma_constants(info: &FrameInfo) -> Vec<(&'static str, f64)> {
    let lanes = info.measured().lanes;
    let position = |wanted: Lane| lanes.iter().position(|lane| *lane == wanted);
    let at = |wanted: Lane| position(wanted).map_or(TEXEL as f64, |index| index as f64);
    if info.format.is_rgb() {
        let sort = if lanes.len() == TEXEL { 2.0 } else { 3.0 };
        let (red, green, blue) = (at(Lane::Red), at(Lane::Green), at(Lane::Blue));
        vec![("sort", sort), ("red", red), ("green", green), ("blue", blue), ("alpha", at(Lane::Alpha))]
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
    fn measuring_takes_64_to_256_workgroups_at_usual_sizes() {
        for format in Format::ALL {
            for (width, height) in [(640, 272), (1920, 1080), (3840, 2160), (7680, 4320)] {
                let info = info(*format, width, height);
                let grid = Grid::new(&info);
                let geometry = Geometry::new(&info, &grid, 256).expect("fits");
                assert!((64..=256).contains(&geometry.tables()), "{info}: {}", geometry.tables());
                assert!(geometry.run as usize * geometry.measure[0] as usize >= grid.across());
                assert_eq!(geometry.measure[1] as usize, grid.down());
            }
        }
    }

    #[test]
    fn constants_have_the_size_of_the_struct() {
        for (width, height) in [(1, 1), (1920, 1080)] {
            let info = info(Format::I420, width, height);
            let grid = Grid::new(&info);
            let geometry = Geometry::new(&info, &grid, 256).expect("fits");
            assert_eq!(geometry.stream(&info, &grid).len(), 84);
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
    }
}

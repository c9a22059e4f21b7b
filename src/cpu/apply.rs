//! Apply: every sample of a lane with a curve goes through its table.
//!
//! Rows are changed where they are; if the output lies beside the input, a row is copied there first, and
//! is still in the cache. Planes whose tables are all the identity are left alone, or only copied.

use crate::frame::{Access, FrameError, FrameInfo, Plane, PlaneMut, PlaneShape, Planes, TEXEL};
use crate::levels::curves::Curves;
use crate::overlay::marks::Marks;

use super::kernels::{LANES, Lookup, Path, on_path};
use super::{overlay, pool};

/// Samples of a row that are copied and changed together: whole vectors of whole units, well within the cache.
const PIECE: usize = 128 * 96;
/// About how many samples a band holds.
const BAND: usize = 1 << 17;

/// What is done to the samples of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Nothing: all tables are the identity.
    Keep,
    /// All are looked up in the same table.
    One,
    /// Those of each lane are looked up in its own.
    Several,
}

/// How a plane is changed: the table of each lane.
#[derive(Clone, Copy, Debug)]
struct Plan {
    work: Work,
    lanes: [usize; LANES],
    /// Samples at the left of each row that stay as they are: whole units, or the row.
    kept: usize,
}

/// Applies curves to frames of one kind.
pub struct Apply {
    path: Path,
    /// One place for each thread; there is nothing to keep in it.
    threads: Vec<()>,
    /// Those of the three curves, and the identity.
    tables: [[u8; 256]; 4],
    plans: Vec<Plan>,
}

impl Apply {
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Apply {
        let identity = std::array::from_fn(|code| code as u8);
        let plan = Plan { work: Work::Keep, lanes: [Lookup::IDENTITY; LANES], kept: 0 };
        Apply { path, threads: vec![(); threads], tables: [identity; 4], plans: vec![plan; info.planes.len()] }
    }

    pub fn path(&self) -> Path {
        self.path
    }

    /// Sends every sample of a frame through its curve, but those that `marks` keep, and draws the marks.
    ///
    /// # Errors
    /// If the memory does not hold what `info` describes; nothing is written then.
    pub fn run(
        &mut self,
        info: &FrameInfo,
        access: Access,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), FrameError> {
        self.plan(info, curves, marks);
        let Apply { path, threads, tables, plans } = self;
        let job = |plan: &Plan| Job {
            path: *path,
            work: plan.work,
            kept: plan.kept,
            lookup: Lookup { tables, lanes: plan.lanes },
        };
        let parts = || plans.iter().zip(&info.planes);
        match access {
            Access::InPlace(mut planes) => {
                check(info, &planes)?;
                let bands = parts().zip(&mut planes).filter(|((plan, _), _)| plan.work != Work::Keep);
                let bands = bands.flat_map(|((plan, shape), plane)| {
                    let rows = band_rows(shape);
                    let stride = plane.stride;
                    let bands = used_mut(plane, shape).chunks_mut(stride * rows);
                    bands.map(move |band| (job(plan), shape.samples, stride, band))
                });
                pool::share(threads, bands, |_, (job, samples, stride, band)| {
                    band.chunks_mut(stride).for_each(|row| job.change(&mut row[job.kept..samples]));
                });
                overlay::draw(info, &mut planes, marks);
            }
            Access::Copy { input, mut output } => {
                info.check(&input)?;
                check(info, &output)?;
                let bands = parts().zip(input.iter().zip(&mut output)).flat_map(|((plan, shape), (from, to))| {
                    let rows = band_rows(shape);
                    let strides = (from.stride, to.stride);
                    let from = used(from, shape).chunks(strides.0 * rows);
                    let bands = from.zip(used_mut(to, shape).chunks_mut(strides.1 * rows));
                    bands.map(move |bands| (job(plan), shape.samples, strides, bands))
                });
                pool::share(threads, bands, |_, (job, samples, strides, (from, to))| {
                    for (from, to) in from.chunks(strides.0).zip(to.chunks_mut(strides.1)) {
                        job.copy(&from[..samples], &mut to[..samples]);
                    }
                });
                overlay::draw(info, &mut output, marks);
            }
        }
        Ok(())
    }

    /// Finds out what `curves` and `marks` mean for each plane.
    fn plan(&mut self, info: &FrameInfo, curves: &Curves, marks: Option<&Marks>) {
        // The first of equal tables stands for all of them.
        let mut first = [Lookup::IDENTITY; 3];
        for (index, curve) in curves.tables.iter().enumerate() {
            let table = std::array::from_fn(|code| curve[code] as u8);
            self.tables[index] = table;
            let mut others = [Lookup::IDENTITY, 0, 1, 2].into_iter();
            first[index] = others.find(|other| self.tables[*other] == table).unwrap_or(index);
        }
        for (index, (plan, shape)) in self.plans.iter_mut().zip(&info.planes).enumerate() {
            let kept = marks.and_then(|marks| marks.planes.get(index)).map_or(0, |plane| plane.kept * TEXEL);
            plan.kept = kept.min(shape.samples);
            let lane = |i: usize| shape.lanes[i % shape.lanes.len()];
            plan.lanes = std::array::from_fn(|i| lane(i).curve().map_or(Lookup::IDENTITY, |curve| first[curve]));
            plan.work = match plan.lanes {
                [Lookup::IDENTITY, ..] if plan.lanes == [Lookup::IDENTITY; LANES] => Work::Keep,
                [table, ..] if plan.lanes == [table; LANES] => Work::One,
                _ => Work::Several,
            };
        }
    }
}

/// What is done to the rows of a plane, and how.
#[derive(Clone, Copy)]
struct Job<'a> {
    path: Path,
    work: Work,
    kept: usize,
    lookup: Lookup<'a>,
}

impl Job<'_> {
    /// Changes samples from the first lane on.
    fn change(&self, row: &mut [u8]) {
        match self.work {
            Work::Keep => {}
            Work::One => on_path!(self.path, table(row, &self.lookup.tables[self.lookup.lanes[0]])),
            Work::Several => on_path!(self.path, tables(row, &self.lookup)),
        }
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) {
        to[..self.kept].copy_from_slice(&from[..self.kept]);
        let (from, to) = (&from[self.kept..], &mut to[self.kept..]);
        for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
            to.copy_from_slice(from);
            self.change(to);
        }
    }
}

pub(super) fn check(info: &FrameInfo, planes: &[PlaneMut]) -> Result<(), FrameError> {
    let planes: Planes = planes.iter().map(|plane| Plane { data: plane.data, stride: plane.stride }).collect();
    info.check(&planes)
}

fn band_rows(shape: &PlaneShape) -> usize {
    (BAND / shape.samples).max(1)
}

/// A plane's memory from its first sample to its last.
pub(super) fn used<'a>(plane: &Plane<'a>, shape: &PlaneShape) -> &'a [u8] {
    &plane.data[..plane.stride * (shape.rows - 1) + shape.samples]
}

pub(super) fn used_mut<'a>(plane: &'a mut PlaneMut, shape: &PlaneShape) -> &'a mut [u8] {
    &mut plane.data[..plane.stride * (shape.rows - 1) + shape.samples]
}

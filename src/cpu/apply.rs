//! Apply: every sample of a lane with a curve goes through its table.
//!
//! Rows are changed where they are; if the output lies beside the input, a row is copied there first, and
//! is still in the cache. Planes whose tables are all the identity are left alone, or only copied.

use crate::frame::{Access, FrameError, FrameInfo, Plane, PlaneMut, PlaneShape, Planes, TEXEL};
use crate::levels::curves::Curves;
use crate::overlay::marks::Marks;

use super::deep::{DeepCurves, DeepLookup};
use super::dither::Dithering;
use super::kernels::{LANES, Lookup, Path, on_path};
use super::{overlay, pool};

/// Bytes of a row that are copied and changed together: whole vectors of whole units, well within the cache.
const PIECE: usize = 128 * 96;
/// About how many bytes a band holds, at least and at most. Within these, each thread gets some bands, so that all end at
/// about the same time.
const BAND: (usize, usize) = (1 << 14, 1 << 17);
const BANDS: usize = 8;

/// What is done to the samples of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Nothing: all tables are the identity.
    Keep,
    /// All are looked up in the same table.
    One,
    /// Those of each lane are looked up in its own.
    Several,
    /// Those of each lane are looked up in its own for their level of noise.
    Dither,
}

/// How a plane is changed: the table of each lane.
#[derive(Clone, Copy, Debug)]
struct Plan {
    work: Work,
    lanes: [usize; LANES],
    /// Bytes at the left of each row that stay as they are: whole units, or the row.
    kept: usize,
}

/// Applies curves to frames of one kind.
pub struct Apply {
    path: Path,
    /// One place for each thread; there is nothing to keep in it.
    threads: Vec<()>,
    /// About how many bytes a band holds.
    band: usize,
    /// Those of the three curves, and the identity.
    tables: [[u8; 256]; 4],
    /// What takes their place where samples have 16 bits.
    deep: Option<DeepCurves>,
    /// What takes their place in planes that are dithered, once it was needed.
    dithering: Option<Dithering>,
    plans: Vec<Plan>,
}

impl Apply {
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Apply {
        let identity = std::array::from_fn(|code| code as u8);
        let plan = Plan { work: Work::Keep, lanes: [Lookup::IDENTITY; LANES], kept: 0 };
        let packing = info.format.packing();
        let bytes: usize = info.planes.iter().map(|shape| shape.bytes * shape.rows).sum();
        Apply {
            path,
            threads: vec![(); threads],
            band: (bytes / (BANDS * threads)).clamp(BAND.0, BAND.1),
            tables: [identity; 4],
            deep: (packing.bytes() > 1).then(|| DeepCurves::new(packing)),
            dithering: None,
            plans: vec![plan; info.planes.len()],
        }
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
        let Apply { path, threads, band, tables, deep, dithering, plans } = self;
        let band_rows = |shape: &PlaneShape| (*band / shape.bytes).max(1);
        let job = |plan: &Plan| Job {
            path: *path,
            work: plan.work,
            kept: plan.kept,
            lookup: Lookup { tables, lanes: plan.lanes },
            deep: deep.as_ref(),
            dithering: dithering.as_ref(),
        };
        let parts = || plans.iter().zip(&info.planes);
        match access {
            Access::InPlace(mut planes) => {
                check(info, &planes)?;
                let bands = parts().zip(&mut planes).filter(|((plan, _), _)| plan.work != Work::Keep);
                let bands = bands.flat_map(|((plan, shape), plane)| {
                    let rows = band_rows(shape);
                    let stride = plane.stride;
                    let bands = used_mut(plane, shape).chunks_mut(stride * rows).zip((0..).step_by(rows));
                    bands.map(move |band| (job(plan), shape.bytes, stride, band))
                });
                pool::share_often(threads, bands, |_, (job, bytes, stride, (band, top))| {
                    for (row, y) in band.chunks_mut(stride).zip(top..) {
                        job.change(&mut row[job.kept..bytes], y, job.kept);
                    }
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
                    let bands = from.zip(used_mut(to, shape).chunks_mut(strides.1 * rows)).zip((0..).step_by(rows));
                    bands.map(move |bands| (job(plan), shape.bytes, strides, bands))
                });
                pool::share_often(threads, bands, |_, (job, bytes, strides, ((from, to), top))| {
                    for ((from, to), y) in from.chunks(strides.0).zip(to.chunks_mut(strides.1)).zip(top..) {
                        job.copy(&from[..bytes], &mut to[..bytes], y);
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
        let dither = curves.dither.as_ref().filter(|_| self.deep.is_none());
        let fine = |curve: usize| dither.and_then(|dither| dither.fine(curve));
        if let Some(dither) = dither {
            self.dithering.get_or_insert_with(|| Dithering::new(info)).begin(dither);
        }
        for (index, curve) in curves.tables.iter().enumerate() {
            let is = |other: &usize| match curves.tables[..index].get(*other) {
                Some(table) => table == curve && fine(*other) == fine(index),
                None => *other == index || curves.is_identity_at(index),
            };
            let found = [Lookup::IDENTITY, 0, 1, 2].into_iter().find(is).unwrap_or(index);
            first[index] = found;
            match &mut self.deep {
                Some(deep) if found == index => deep.fill(curves, index),
                Some(_) => {}
                None => self.tables[index] = std::array::from_fn(|code| curve[code] as u8),
            }
            if let (Some(dithering), Some(dither), true) = (&mut self.dithering, dither, found == index) {
                dithering.fill(dither, index, &self.tables[index]);
            }
        }
        for (index, (plan, shape)) in self.plans.iter_mut().zip(&info.planes).enumerate() {
            let kept = marks.and_then(|marks| marks.planes.get(index)).map_or(0, |plane| plane.kept * TEXEL);
            plan.kept = kept.min(shape.samples) * info.format.packing().bytes();
            let lane = |i: usize| shape.lanes[i % shape.lanes.len()];
            plan.lanes = std::array::from_fn(|i| lane(i).curve().map_or(Lookup::IDENTITY, |curve| first[curve]));
            let is_dithered = shape.lanes.iter().filter_map(|lane| lane.curve()).any(|curve| fine(curve).is_some());
            plan.work = match plan.lanes {
                [Lookup::IDENTITY, ..] if plan.lanes == [Lookup::IDENTITY; LANES] => Work::Keep,
                _ if is_dithered => Work::Dither,
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
    deep: Option<&'a DeepCurves>,
    dithering: Option<&'a Dithering>,
}

impl Job<'_> {
    /// Changes samples of row `y`, from the first lane on, behind so many bytes.
    fn change(&self, row: &mut [u8], y: usize, before: usize) {
        if let Some(curves) = self.deep.filter(|_| self.work != Work::Keep) {
            let [a, b, c, d, ..] = self.lookup.lanes;
            let lookup = DeepLookup { curves, lanes: [a, b, c, d] };
            return on_path!(self.path, deep_tables(row, &lookup));
        }
        match self.work {
            Work::Keep => {}
            Work::One => on_path!(self.path, table(row, &self.lookup.tables[self.lookup.lanes[0]])),
            Work::Several => on_path!(self.path, tables(row, &self.lookup)),
            Work::Dither => {
                if let Some(dithering) = self.dithering {
                    dithering.change(row, &self.lookup.lanes, y, before);
                }
            }
        }
    }

    fn copy(&self, from: &[u8], to: &mut [u8], y: usize) {
        to[..self.kept].copy_from_slice(&from[..self.kept]);
        let (from, to) = (&from[self.kept..], &mut to[self.kept..]);
        for ((from, to), before) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)).zip((self.kept..).step_by(PIECE)) {
            to.copy_from_slice(from);
            self.change(to, y, before);
        }
    }
}

pub(super) fn check(info: &FrameInfo, planes: &[PlaneMut]) -> Result<(), FrameError> {
    let planes: Planes = planes.iter().map(|plane| Plane { data: plane.data, stride: plane.stride }).collect();
    info.check(&planes)
}

/// A plane's memory from its first sample to its last.
pub(super) fn used<'a>(plane: &Plane<'a>, shape: &PlaneShape) -> &'a [u8] {
    &plane.data[..plane.stride * (shape.rows - 1) + shape.bytes]
}

pub(super) fn used_mut<'a>(plane: &'a mut PlaneMut, shape: &PlaneShape) -> &'a mut [u8] {
    &mut plane.data[..plane.stride * (shape.rows - 1) + shape.bytes]
}

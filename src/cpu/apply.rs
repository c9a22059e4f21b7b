//! Apply: every sample of a lane with a curve goes through its table.
//!
//! Rows are changed where they are; if the output lies beside the input, a row is copied there first, and
//! is still in the cache. Tables that are lines become arithmetic ([`super::line`]), the others lookups.

use crate::frame::{Access, FrameError, FrameInfo, Plane, PlaneMut, PlaneShape, Planes};
use crate::levels::curves::Curves;

use super::kernels::{self, Lines, PERIOD, Path, on_path};
use super::line::Line;
use super::pool;

/// Samples of a row that are copied and changed together: whole periods, well within the cache.
const PIECE: usize = 128 * PERIOD;
/// About how many samples a band holds.
const BAND: usize = 1 << 17;
/// Lanes after which those of every format repeat.
const LANES: usize = 12;
/// The table of lanes without a curve, after those of the three curves.
const IDENTITY: usize = 3;

/// What is done to the samples of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Nothing: all tables are the identity.
    Keep,
    /// All go through the same line, or each lane through its own.
    Line,
    Lines,
    /// All are looked up in the same table, or those of each lane in its own.
    Table,
    Tables,
}

/// How one plane is changed.
struct Plan {
    work: Work,
    /// The table of each lane.
    tables: [usize; LANES],
    /// For [`Work::Lines`].
    lines: Lines,
}

/// Applies curves to frames of one kind.
pub struct Apply {
    path: Path,
    threads: Vec<()>,
    /// The curves that the tables, lines and plans are made from.
    curves: Curves,
    tables: [[u8; 256]; 4],
    /// The tables that are lines.
    lines: [Option<Line>; 4],
    plans: Vec<Plan>,
}

impl Apply {
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Apply {
        let identity = std::array::from_fn(|code| code as u8);
        let plan = |_: &PlaneShape| Plan {
            work: Work::Keep,
            tables: [IDENTITY; LANES],
            lines: Lines::new(|_| Line::IDENTITY),
        };
        Apply {
            path,
            threads: vec![(); threads],
            curves: Curves::identity(info.range.codes()),
            tables: [identity; 4],
            lines: [Some(Line::IDENTITY); 4],
            plans: info.planes.iter().map(plan).collect(),
        }
    }

    pub fn path(&self) -> Path {
        self.path
    }

    /// Sends every sample of a frame through its curve.
    ///
    /// # Errors
    /// If the memory does not hold what `info` describes; nothing is written then.
    pub fn run(&mut self, info: &FrameInfo, access: Access, curves: &Curves) -> Result<(), FrameError> {
        if self.curves != *curves {
            self.plan(info, curves);
        }
        let Apply { path, threads, tables, lines, plans, .. } = self;
        let job = |plan| Job { path: *path, tables, lines, plan };
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
                    band.chunks_mut(stride).for_each(|row| job.change(&mut row[..samples]));
                });
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
            }
        }
        Ok(())
    }

    /// Finds out what `curves` mean for each plane.
    fn plan(&mut self, info: &FrameInfo, curves: &Curves) {
        self.curves.clone_from(curves);
        // The first of equal tables stands for all of them.
        let mut first = [IDENTITY; 4];
        for (index, curve) in curves.tables.iter().enumerate() {
            self.tables[index] = std::array::from_fn(|code| curve[code] as u8);
            let table = self.tables[index];
            first[index] = [IDENTITY, 0, 1, 2].into_iter().find(|other| self.tables[*other] == table).unwrap_or(index);
            self.lines[index] = if first[index] == index { Line::find(&table) } else { self.lines[first[index]] };
        }
        for (plan, shape) in self.plans.iter_mut().zip(&info.planes) {
            plan.tables = std::array::from_fn(|i| {
                shape.lanes[i % shape.lanes.len()].curve().map_or(IDENTITY, |curve| first[curve])
            });
            let lines = plan.tables.map(|table| self.lines[table]);
            let is_same = plan.tables == [plan.tables[0]; LANES];
            plan.work = match (is_same, lines.iter().all(Option::is_some)) {
                (true, _) if plan.tables[0] == IDENTITY => Work::Keep,
                (true, true) => Work::Line,
                (true, false) => Work::Table,
                (false, true) => Work::Lines,
                (false, false) => Work::Tables,
            };
            if plan.work == Work::Lines {
                plan.lines = Lines::new(|i| lines[i % LANES].unwrap_or(Line::IDENTITY));
            }
        }
    }
}

/// One plane's plan and what it refers to.
#[derive(Clone, Copy)]
struct Job<'a> {
    path: Path,
    tables: &'a [[u8; 256]; 4],
    lines: &'a [Option<Line>; 4],
    plan: &'a Plan,
}

impl Job<'_> {
    /// Changes whole units, from the first lane on.
    fn change(&self, row: &mut [u8]) {
        let Plan { work, tables, lines } = self.plan;
        match work {
            Work::Keep => {}
            Work::Line => {
                let line = self.lines[tables[0]].unwrap_or(Line::IDENTITY);
                on_path!(self.path, line(row, &line));
            }
            Work::Lines => on_path!(self.path, lines(row, lines)),
            Work::Table => on_path!(self.path, table(row, &self.tables[tables[0]])),
            Work::Tables => kernels::tables(row, &tables.map(|table| &self.tables[table])),
        }
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) {
        for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
            to.copy_from_slice(from);
            self.change(to);
        }
    }
}

fn check(info: &FrameInfo, planes: &[PlaneMut]) -> Result<(), FrameError> {
    let planes: Planes = planes.iter().map(|plane| Plane { data: plane.data, stride: plane.stride }).collect();
    info.check(&planes)
}

fn band_rows(shape: &PlaneShape) -> usize {
    (BAND / shape.samples).max(1)
}

/// A plane's memory from its first sample to its last.
fn used<'a>(plane: &Plane<'a>, shape: &PlaneShape) -> &'a [u8] {
    &plane.data[..plane.stride * (shape.rows - 1) + shape.samples]
}

fn used_mut<'a>(plane: &'a mut PlaneMut, shape: &PlaneShape) -> &'a mut [u8] {
    &mut plane.data[..plane.stride * (shape.rows - 1) + shape.samples]
}

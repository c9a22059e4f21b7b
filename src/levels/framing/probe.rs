//! Looks at single lines of a frame, in its own memory: are they black?

use std::ops::Range;

use arrayvec::ArrayVec;

use crate::frame::{FrameInfo, Lane, Plane, PlaneShape};

/// Samples that are looked at on a line, at most.
const SAMPLES: usize = 32;
/// Codes above black, of 256, that a black bar may have: a codec leaves a little noise.
const NOISE: usize = 3;
/// What is above black in a line that is mixed with black is less than this share of what it is elsewhere.
const DIMMED: f64 = 0.6;

/// Which way lines run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Lines are rows, and bars lie at top and bottom.
    Rows,
    /// Lines are columns of units, and bars lie at the sides.
    Columns,
}

/// A frame's measured plane, seen line by line.
pub struct Probe<'a> {
    plane: Plane<'a>,
    shape: &'a PlaneShape,
    /// Codes up to this one are black.
    black: u8,
    /// Where the first pixel of a unit has luma, or red, green and blue, and alpha.
    lights: ArrayVec<usize, 3>,
    alpha: Option<usize>,
}

impl<'a> Probe<'a> {
    /// `plane` holds all that `info` says of the measured plane.
    pub fn new(info: &'a FrameInfo, plane: Plane<'a>) -> Probe<'a> {
        let black = usize::from(info.range.black) + NOISE * info.range.codes() / 256;
        let find = |lane: Lane| info.measured().lanes.iter().position(|other| *other == lane);
        let lights = [Lane::Luma, Lane::Red, Lane::Green, Lane::Blue].into_iter().filter_map(find).take(3);
        Probe {
            plane,
            shape: info.measured(),
            black: black.min(usize::from(u8::MAX)) as u8,
            lights: lights.collect(),
            alpha: info.alpha(),
        }
    }

    /// Lines from end to end.
    pub fn lines(&self, axis: Axis) -> usize {
        match axis {
            Axis::Rows => self.shape.rows,
            Axis::Columns => self.shape.units(),
        }
    }

    /// The share of a line, between the places `along` on it, that is not black.
    pub fn filled(&self, axis: Axis, line: usize, along: &Range<usize>) -> f64 {
        share(along, |place| self.light(axis, line, place) > self.black)
    }

    /// The share of a line that is much darker than another one, and so may be mixed with black.
    pub fn dimmed(&self, axis: Axis, line: usize, other: usize, along: &Range<usize>) -> f64 {
        let above = |line, place| f64::from(self.light(axis, line, place)) - f64::from(self.black);
        share(along, |place| above(line, place) < DIMMED * above(other, place))
    }

    /// The largest code of a pixel: luma, or red, green or blue. A transparent pixel has none.
    fn light(&self, axis: Axis, line: usize, place: usize) -> u8 {
        let (unit, row) = match axis {
            Axis::Rows => (place, line),
            Axis::Columns => (line, place),
        };
        let samples = self.plane.data.get(row * self.plane.stride + unit * self.shape.lanes.len()..);
        let code = |index: usize| samples.and_then(|samples| samples.get(index)).copied().unwrap_or(0);
        if self.alpha.is_some_and(|alpha| code(alpha) == 0) {
            return 0;
        }
        self.lights.iter().map(|index| code(*index)).max().unwrap_or(0)
    }
}

/// The share of places for which something holds.
fn share(along: &Range<usize>, holds: impl Fn(usize) -> bool) -> f64 {
    let samples = along.len().min(SAMPLES);
    let place = |i: usize| along.start + (2 * i + 1) * along.len() / (2 * samples);
    (0..samples).filter(|i| holds(place(*i))).count() as f64 / samples.max(1) as f64
}

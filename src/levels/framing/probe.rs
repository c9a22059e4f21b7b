//! Looks at single lines of a frame, in its own memory: are they black?

use std::ops::Range;

use crate::frame::{FrameInfo, Lane, Plane, PlaneShape};

/// Samples that are looked at on a line, at most.
const SAMPLES: usize = 48;
/// Codes above black, of 256, that a black bar may have: a codec leaves a little noise.
const NOISE: usize = 3;

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
}

impl<'a> Probe<'a> {
    /// `plane` holds all that `info` says of the measured plane.
    pub fn new(info: &'a FrameInfo, plane: Plane<'a>) -> Probe<'a> {
        let black = usize::from(info.range.black) + NOISE * info.range.codes() / 256;
        Probe { plane, shape: info.measured(), black: black.min(usize::from(u8::MAX)) as u8 }
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
        let samples = along.len().min(SAMPLES);
        let place = |i: usize| along.start + (2 * i + 1) * along.len() / (2 * samples);
        let is_filled = |i: &usize| match axis {
            Axis::Rows => self.is_filled(place(*i), line),
            Axis::Columns => self.is_filled(line, place(*i)),
        };
        (0..samples).filter(is_filled).count() as f64 / samples.max(1) as f64
    }

    /// Whether a unit has light in any of its pixels. Pixels that are transparent throughout do not count.
    fn is_filled(&self, unit: usize, row: usize) -> bool {
        let length = self.shape.lanes.len();
        let start = row * self.plane.stride + unit * length;
        let end = row * self.plane.stride + self.shape.samples.min((unit + 1) * length);
        let Some(samples) = self.plane.data.get(start..end) else { return false };
        let lanes = samples.iter().zip(self.shape.lanes);
        let is_light = |(sample, lane): (&u8, &Lane)| match lane {
            Lane::Luma | Lane::Red | Lane::Green | Lane::Blue => *sample > self.black,
            Lane::Cb | Lane::Cr | Lane::Alpha | Lane::Unused => false,
        };
        let is_blind = lanes.clone().any(|(sample, lane)| *lane == Lane::Alpha && *sample == 0);
        !is_blind && lanes.into_iter().any(is_light)
    }
}

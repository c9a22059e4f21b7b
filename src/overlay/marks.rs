//! Marks: what a backend does to a frame beside its curves.

use arrayvec::ArrayVec;

use crate::frame::{FrameInfo, TEXEL};

/// Weight of a value that replaces what is there.
pub const FULL: u32 = 128;

/// A rectangle of texels of one plane to blend into what was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The first texel of a row, and the first row.
    pub left: usize,
    pub top: usize,
    /// Texels of a row, and rows.
    pub across: usize,
    pub down: usize,
    /// Texels from one row to the next; 0 if all rows are the same.
    pub stride: usize,
    /// For each texel four values and four weights from 0 to [`FULL`], a byte each, the first sample lowest. Values
    /// have 8 bits in every format, see [`Deepen`].
    pub texels: Vec<[u32; 2]>,
}

impl Patch {
    /// The texels of a row of the plane, if the patch reaches it.
    pub fn row(&self, y: usize) -> Option<&[[u32; 2]]> {
        let row = y.checked_sub(self.top).filter(|row| *row < self.down)?;
        self.texels.get(row * self.stride..)?.get(..self.across)
    }

    fn clear(&mut self) {
        (self.left, self.top, self.across, self.down, self.stride) = (0, 0, 0, 0, 0);
        self.texels.clear();
    }
}

/// The marks of one plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaneMarks {
    /// Texels at the left of each row that stay as they came.
    pub kept: usize,
    /// Blended in one after the other: first the line at the edge of the split view.
    pub line: Patch,
    pub panel: Patch,
}

impl PlaneMarks {
    /// The patches, in the order in which they are blended in.
    pub fn patches(&self) -> [&Patch; 2] {
        [&self.line, &self.panel]
    }
}

/// The marks of a frame. Reused from frame to frame, so that nothing is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub planes: ArrayVec<PlaneMarks, 4>,
}

impl Marks {
    /// No marks, for frames of so many planes.
    pub fn none(planes: usize) -> Marks {
        Marks { planes: (0..planes).map(|_| PlaneMarks::default()).collect() }
    }

    /// Removes all marks.
    pub fn clear(&mut self) {
        for plane in &mut self.planes {
            plane.kept = 0;
            plane.line.clear();
            plane.panel.clear();
        }
    }

    /// Whether something is drawn.
    pub fn draw(&self) -> bool {
        self.planes.iter().any(|plane| plane.patches().iter().any(|patch| patch.across > 0))
    }

    /// Whether every sample of a frame as described by `info` stays as it came, but for what is drawn.
    pub fn keep_all(&self, info: &FrameInfo) -> bool {
        self.planes.iter().zip(&info.planes).all(|(plane, shape)| plane.kept * TEXEL >= shape.samples)
    }

    /// Whether there is nothing to do beside the curves.
    pub fn is_empty(&self) -> bool {
        !self.draw() && self.planes.iter().all(|plane| plane.kept == 0)
    }
}

/// What a code becomes under a value with a weight from 0 to [`FULL`].
pub fn blend(code: u16, value: u32, weight: u32) -> u16 {
    ((u32::from(code) * (FULL - weight) + value * weight + FULL / 2) / FULL) as u16
}

/// How values, which have 8 bits in every format, become codes: `value << up | value >> down`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deepen {
    pub up: u32,
    pub down: u32,
}

impl Deepen {
    /// For frames as described by `info`.
    pub fn new(info: &FrameInfo) -> Deepen {
        let depth = info.format.packing().depth;
        // The largest value becomes the largest code where that is white.
        let down = if info.range.white == info.range.max { 16 - depth } else { 8 };
        Deepen { up: depth - 8, down }
    }

    /// The code of a value from 0 to 255.
    pub fn value(self, value: u32) -> u32 {
        value << self.up | value >> self.down
    }
}

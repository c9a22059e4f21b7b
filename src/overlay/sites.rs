//! Where the samples of each plane lie in the picture.

use crate::frame::{FrameInfo, Lane, TEXEL};

use super::marks::Patch;

/// Most samples of a unit.
pub const LONGEST_UNIT: usize = 12;

/// Where a sample of a unit lies: the pixels of the unit that it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    pub lane: Lane,
    pub first: usize,
    pub pixels: usize,
}

/// The sites of a plane.
#[derive(Clone, Debug)]
pub struct PlaneSites {
    /// Those of a unit, in the order of its samples.
    pub samples: Vec<Site>,
    /// Pixels that a unit covers in its row, and rows of the picture that a row stands for.
    pub pixels: usize,
    pub rows: usize,
}

/// A rectangle of a plane's texels.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    left: usize,
    top: usize,
    pub across: usize,
    pub down: usize,
}

impl Rectangle {
    pub fn texels(&self) -> usize {
        self.across * self.down
    }

    /// Makes `patch` one of this place, without texels yet.
    pub fn put(&self, patch: &mut Patch) {
        (patch.left, patch.top) = (self.left, self.top);
        (patch.across, patch.down, patch.stride) = (self.across, self.down, self.across);
        patch.texels.clear();
    }
}

/// The sites of all planes.
#[derive(Clone, Debug)]
pub struct Sites {
    planes: Vec<PlaneSites>,
}

impl Sites {
    pub fn new(info: &FrameInfo) -> Sites {
        let planes = info.planes.iter().map(|shape| {
            let sample = |index: usize| {
                let lane = shape.lanes[index];
                let alike = |lanes: &[Lane]| lanes.iter().filter(|other| **other == lane).count();
                let pixels = shape.unit_pixels / alike(shape.lanes);
                Site { lane, first: alike(&shape.lanes[..index]) * pixels, pixels }
            };
            PlaneSites {
                samples: (0..shape.lanes.len()).map(sample).collect(),
                pixels: shape.unit_pixels,
                rows: info.height.div_ceil(shape.rows),
            }
        });
        Sites { planes: planes.collect() }
    }

    pub fn plane(&self, plane: usize) -> &PlaneSites {
        &self.planes[plane]
    }

    /// Pixels across and down that hold whole units of every plane.
    pub fn unit(&self) -> (usize, usize) {
        // They are powers of two, so the greatest is a multiple of the others.
        let most = |of: fn(&PlaneSites) -> usize| self.planes.iter().map(of).max().unwrap_or(1);
        (most(|plane| plane.pixels), most(|plane| plane.rows))
    }

    /// The texels of a plane for a rectangle of pixels that lies on whole units.
    pub fn rectangle(&self, plane: usize, corner: (usize, usize), size: (usize, usize)) -> Rectangle {
        let PlaneSites { samples, pixels, rows } = &self.planes[plane];
        let texels = |across: usize| across / pixels * (samples.len() / TEXEL);
        Rectangle { left: texels(corner.0), top: corner.1 / rows, across: texels(size.0), down: size.1 / rows }
    }
}

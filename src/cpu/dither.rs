//! Dither: every sample of a lane with a fine curve goes through the table of its level of noise.

use crate::frame::FrameInfo;
use crate::levels::dither::{ACROSS, Dither, LEVELS, level, pattern};

use super::kernels::{LANES, Lookup};

type Levels = [[u8; 256]; LEVELS];

/// The tables of a frame that is dithered.
pub struct Dithering {
    /// Those of the three curves, and the identity, as in [`Lookup`].
    tables: Box<[Levels; 4]>,
    seed: u32,
    /// Samples of a pixel in its row.
    step: usize,
}

impl Dithering {
    pub fn new(info: &FrameInfo) -> Dithering {
        let shape = info.measured();
        let identity = std::array::from_fn(|code| code as u8);
        let step = shape.lanes.len() / shape.unit_pixels;
        Dithering { tables: Box::new([[identity; LEVELS]; 4]), seed: 0, step }
    }

    /// Takes the pattern of a frame.
    pub fn begin(&mut self, dither: &Dither) {
        self.seed = dither.seed();
    }

    /// Takes a curve of the frame, which is `table` if it is not dithered.
    pub fn fill(&mut self, dither: &Dither, curve: usize, table: &[u8; 256]) {
        if dither.fine(curve).is_none() {
            return self.tables[curve].fill(*table);
        }
        let places = dither.places(curve);
        for (number, outputs) in self.tables[curve].iter_mut().enumerate() {
            outputs.iter_mut().zip(&places).for_each(|(out, place)| *out = place.out(number));
        }
    }

    /// Changes the samples of row `y` that come after the first `before`, which are whole units.
    pub fn change(&self, row: &mut [u8], lanes: &[usize; LANES], y: usize, before: usize) {
        let skipped = ((before / self.step) as u32).wrapping_mul(ACROSS);
        let mut pattern = pattern(self.seed, y).wrapping_add(skipped);
        if self.step == 1 && *lanes == [lanes[0]; LANES] {
            let tables = &self.tables[lanes[0].min(Lookup::IDENTITY)];
            for sample in row {
                *sample = tables[level(pattern)][usize::from(*sample)];
                pattern = pattern.wrapping_add(ACROSS);
            }
            return;
        }
        let tables = lanes.map(|lane| &self.tables[lane]);
        let offsets: [u32; LANES] = std::array::from_fn(|i| ((i / self.step) as u32).wrapping_mul(ACROSS));
        let onward = ((LANES / self.step) as u32).wrapping_mul(ACROSS);
        for block in row.chunks_mut(LANES) {
            for ((sample, tables), offset) in block.iter_mut().zip(tables).zip(offsets) {
                *sample = tables[level(pattern.wrapping_add(offset))][usize::from(*sample)];
            }
            pattern = pattern.wrapping_add(onward);
        }
    }
}

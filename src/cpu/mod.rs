//! Measure and apply on the CPU.

use crate::backend::{Backend, BackendError};
use crate::frame::{Access, FrameInfo, FrameMemory, Lane};
use crate::grid::Grid;
use crate::levels::curves::Curves;
use crate::levels::statistics::Statistics;

/// The CPU backend.
pub struct Cpu {
    info: FrameInfo,
    grid: Grid,
    slots: Vec<(Statistics, Option<Curves>)>,
}

impl Cpu {
    /// A backend for frames as described by `info`, with `slots` of them at a time.
    pub fn new(info: &FrameInfo, slots: usize) -> Cpu {
        let grid = Grid::new(info);
        let empty = Statistics::empty(info.range.codes(), grid.chunks());
        Cpu { info: info.clone(), grid, slots: vec![(empty, None); slots] }
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn adapter(&self) -> &str {
        "CPU"
    }

    fn slots(&self) -> usize {
        self.slots.len()
    }

    fn measure(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        let planes = memory.input();
        self.info.check(&planes)?;
        let statistics = &mut self.slots[slot].0;
        *statistics = Statistics::empty(self.info.range.codes(), self.grid.chunks());
        let shape = self.info.measured();
        let lanes = shape.lanes.len();
        for (down, rows) in self.grid.rows.windows(2).enumerate() {
            for (across, columns) in self.grid.columns.windows(2).enumerate() {
                let chunk = &mut statistics.chunks[down * self.grid.across() + across];
                for y in rows[0]..rows[1] {
                    let row = &planes[0].data[y * planes[0].stride..][..shape.samples];
                    for unit in columns[0]..columns[1] {
                        let mut pixel = unit * shape.unit_pixels;
                        for (lane, sample) in shape.lanes.iter().zip(&row[unit * lanes..]) {
                            if *lane == Lane::Luma && pixel < self.info.width {
                                statistics.luma[usize::from(*sample)] += 1;
                                chunk.sum += u32::from(*sample);
                                chunk.count += 1;
                                pixel += 1;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn statistics(&mut self, slot: usize, statistics: &mut Statistics) -> Result<(), BackendError> {
        statistics.clone_from(&self.slots[slot].0);
        Ok(())
    }

    fn apply(&mut self, slot: usize, _memory: &mut dyn FrameMemory, curves: &Curves) -> Result<(), BackendError> {
        self.slots[slot].1 = Some(curves.clone());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn finish(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        let curves = self.slots[slot].1.take().expect("apply was called for this slot");
        let mut output = match memory.access()? {
            Access::InPlace(planes) => planes,
            Access::Copy { input, mut output } => {
                for ((from, to), shape) in input.iter().zip(&mut output).zip(&self.info.planes) {
                    for y in 0..shape.rows {
                        to.data[y * to.stride..][..shape.samples]
                            .copy_from_slice(&from.data[y * from.stride..][..shape.samples]);
                    }
                }
                output
            }
        };
        for (plane, shape) in output.iter_mut().zip(&self.info.planes) {
            for y in 0..shape.rows {
                let row = &mut plane.data[y * plane.stride..][..shape.samples];
                for (sample, lane) in row.iter_mut().zip(shape.lanes.iter().cycle()) {
                    if let Some(curve) = lane.curve() {
                        *sample = curves.tables[curve][usize::from(*sample)] as u8;
                    }
                }
            }
        }
        Ok(())
    }
}

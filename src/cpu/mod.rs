//! Measure and apply on the CPU: the same results as on the GPU, bit for bit.
//!
//! [`histogram`], [`apply`] and [`overlay`] are named like the shaders, and so are [`channels`] and [`matrix`], which take
//! the place of the usual where R, G and B have levels of their own, and [`tone`], where colours gain level by level. They go through the frame in bands of rows, which
//! [`pool`] shares out to threads; in a band they go row by row with the inner loops of [`kernels`], or their
//! faster likes for what the processor has (see [`Path`]). Nothing is allocated per frame.

mod apply;
mod channels;
mod deep;
mod dither;
mod histogram;
mod kernels;
mod line;
mod matrix;
#[cfg(target_arch = "aarch64")]
mod neon;
mod overlay;
pub(crate) mod pool;
mod rows;
mod sites;
mod tone;
#[cfg(target_arch = "x86_64")]
mod vbmi;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::backend::{Backend, BackendError};
use crate::frame::{FrameInfo, FrameMemory};
use crate::grid::Grid;
use crate::levels::curves::{Curves, Of};
use crate::levels::statistics::Statistics;
use crate::overlay::marks::Marks;
use crate::window::Window;
use apply::Apply;
use channels::Channels;
use histogram::Measure;
pub use kernels::Path;
use matrix::Mix;
use tone::Tone;

/// The CPU backend. Measures when told to measure, applies when told to apply, and puts nothing off.
pub struct Cpu {
    info: FrameInfo,
    measure: Measure,
    channels: Channels,
    counts_channels: bool,
    apply: Apply,
    /// None for formats without chroma.
    mix: Option<Mix>,
    /// None for grey formats.
    tone: Option<Tone>,
    slots: Vec<Statistics>,
}

impl Cpu {
    /// A backend for frames as described by `info`, with `slots` of them at a time, as fast as this machine can.
    pub fn new(info: &FrameInfo, slots: usize) -> Cpu {
        // Below this many samples a thread has not begun before the others are done.
        const SAMPLES_PER_THREAD: usize = 80_000;
        // More threads than this only wait for memory.
        const MOST_THREADS: usize = 8;
        let samples: usize = info.planes.iter().map(|plane| plane.samples * plane.rows).sum();
        let threads = (samples / SAMPLES_PER_THREAD).clamp(1, pool::threads().min(MOST_THREADS));
        Cpu::with(info, slots, Path::best(), threads)
    }

    /// A backend that runs the inner loops of `path` on `threads` threads.
    ///
    /// # Panics
    /// If this machine does not have `path`, or without a thread.
    pub fn with(info: &FrameInfo, slots: usize, path: Path, threads: usize) -> Cpu {
        assert!(path.is_available(), "this processor does not have {}", path.name());
        assert!(threads > 0, "the CPU backend works on one thread at least");
        let grid = Grid::new(info);
        let empty = Statistics::empty(info.range.bins(), grid.chunks());
        Cpu {
            info: info.clone(),
            measure: Measure::new(info, grid, path, threads),
            channels: Channels::new(info, path, threads),
            counts_channels: false,
            apply: Apply::new(info, path, threads),
            mix: Mix::new(info, path, threads),
            tone: Tone::new(info, path, threads),
            slots: vec![empty; slots],
        }
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn adapter(&self) -> &str {
        self.apply.path().name()
    }

    fn slots(&self) -> usize {
        self.slots.len()
    }

    fn set_window(&mut self, window: Window) -> Result<(), BackendError> {
        let window = window.within(&self.info);
        self.measure.set_window(&window, &self.info);
        self.channels.set_window(&window);
        Ok(())
    }

    fn count_channels(&mut self, count: bool) {
        self.counts_channels = count;
    }

    fn measure(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        let planes = memory.input();
        self.info.check(&planes)?;
        let statistics = &mut self.slots[slot];
        self.measure.run(planes[0], statistics);
        statistics.forget_channels();
        if self.counts_channels {
            self.channels.run(&planes, statistics);
        }
        Ok(())
    }

    fn statistics(&mut self, slot: usize, statistics: &mut Statistics) -> Result<(), BackendError> {
        statistics.clone_from(&self.slots[slot]);
        Ok(())
    }

    fn apply_marked(
        &mut self,
        _slot: usize,
        memory: &mut dyn FrameMemory,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), BackendError> {
        let access = memory.access(true)?;
        let Cpu { info, apply, mix, tone, .. } = self;
        match (curves.of, mix, tone) {
            (Of::Channels, Some(mix), _) => mix.run(info, access, curves, marks)?,
            (Of::Tone, mix, Some(tone)) => tone.run(info, access, curves, marks, mix.as_mut())?,
            _ => apply.run(info, access, curves, marks)?,
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn finish(&mut self, _slot: usize, _memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        Ok(())
    }
}

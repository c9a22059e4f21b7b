//! GPUs that fail when they are told to, under names of their own.

use std::sync::atomic::{AtomicUsize, Ordering};

use autolevels::backend::{Backend, BackendError};
use autolevels::cpu::Cpu;
use autolevels::frame::{Access, FrameError, FrameInfo, FrameMemory, Planes};
use autolevels::gpu::{self, Tampering};
use autolevels::levels::curves::Curves;
use autolevels::levels::statistics::Statistics;
use autolevels::overlay::marks::Marks;
use autolevels::window::Window;

/// Everything that a backend is asked to do.
pub const STAGES: [&str; 5] = ["measure", "statistics", "apply", "flush", "finish"];

/// The CPU under a GPU's name, which fails from the n-th call of some kind on.
struct Failing {
    cpu: Cpu,
    stage: &'static str,
    calls_left: usize,
}

/// A frame that is never written in place, as a GPU has it.
struct Beside<'a>(&'a mut dyn FrameMemory);

impl FrameMemory for Beside<'_> {
    fn input(&self) -> Planes<'_> {
        self.0.input()
    }

    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        self.0.access(false)
    }
}

pub fn error(stage: &'static str, reason: &str) -> BackendError {
    BackendError::Gpu { adapter: "pretended".into(), stage, reason: reason.into() }
}

impl Failing {
    fn call(&mut self, stage: &'static str) -> Result<(), BackendError> {
        if stage == self.stage {
            self.calls_left = self.calls_left.saturating_sub(1);
        }
        if self.calls_left == 0 { Err(error(stage, "told to fail")) } else { Ok(()) }
    }
}

impl Backend for Failing {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn adapter(&self) -> &str {
        "pretended"
    }

    fn slots(&self) -> usize {
        self.cpu.slots()
    }

    fn set_window(&mut self, window: Window) -> Result<(), BackendError> {
        self.cpu.set_window(window)
    }

    fn count_channels(&mut self, count: bool) {
        self.cpu.count_channels(count);
    }

    fn measure(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        self.call("measure")?;
        self.cpu.measure(slot, memory)
    }

    fn statistics(&mut self, slot: usize, statistics: &mut Statistics) -> Result<(), BackendError> {
        self.call("statistics")?;
        self.cpu.statistics(slot, statistics)
    }

    fn apply_marked(
        &mut self,
        slot: usize,
        memory: &mut dyn FrameMemory,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), BackendError> {
        self.call("apply")?;
        self.cpu.apply_marked(slot, &mut Beside(memory), curves, marks)
    }

    fn flush(&mut self) -> Result<(), BackendError> {
        self.call("flush")
    }

    fn finish(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        self.call("finish")?;
        self.cpu.finish(slot, memory)
    }
}

/// Pretends an adapter, and gives its name, which is new each time.
pub fn pretend(
    open: impl Fn(&FrameInfo, usize) -> Result<Box<dyn Backend>, BackendError> + Send + Sync + 'static,
) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("pretended {}", NUMBER.fetch_add(1, Ordering::Relaxed));
    gpu::pretend(&name, open);
    name
}

/// A GPU that fails for good at the `at`-th call of `stage`, counted from 1.
pub fn failing(stage: &'static str, at: usize) -> String {
    pretend(move |info, slots| Ok(Box::new(Failing { cpu: Cpu::new(info, slots), stage, calls_left: at })))
}

/// A GPU that works.
pub fn working(info: &FrameInfo, slots: usize) -> Box<dyn Backend> {
    Box::new(Failing { cpu: Cpu::new(info, slots), stage: "none", calls_left: usize::MAX })
}

/// Any true adapter of this machine, tampered with.
pub fn tampered(how: Tampering) -> String {
    pretend(move |info, slots| gpu::open_tampered(info, slots, &how))
}

//! The two halves of the per-pixel work, behind one trait: measure and apply, on the GPU or on the CPU.
//!
//! A backend holds several frames at once, each in a *slot*. The leveler gives each frame a free slot and
//! calls, in this order and with the same memory: [`measure`](Backend::measure),
//! [`statistics`](Backend::statistics), then either [`apply`](Backend::apply) and [`finish`](Backend::finish),
//! or nothing more (a frame that is not applied; its slot is simply used again).
//! Calls for different slots may be interleaved: `measure` of later frames before `apply` of earlier ones.

use crate::frame::{FrameError, FrameMemory};
use crate::levels::curves::Curves;
use crate::levels::statistics::Statistics;
use crate::overlay::marks::Marks;
use crate::window::Window;

/// Work on pixels. Both backends give the same statistics and the same output, bit for bit.
pub trait Backend: Send {
    /// `"gpu"` or `"cpu"`.
    fn name(&self) -> &'static str;

    /// The name of the GPU adapter, or of what the CPU does.
    fn adapter(&self) -> &str;

    /// Whether frames on [`Pages`](crate::gpu::pages::Pages) are read and written where they lie, so that it pays
    /// to have them there.
    fn uses_pages(&self) -> bool {
        false
    }

    /// How many slots there are: frames that can be worked on at a time.
    fn slots(&self) -> usize;

    /// Chooses the pixels that vote in the histograms of frames that are measured from now on; at first all do.
    /// What lies beyond the picture is left out, and one unit is left at least.
    fn set_window(&mut self, window: Window) -> Result<(), BackendError>;

    /// Whether R, G and B are counted, too, of the frames that are measured from now on (those that have colours).
    fn count_channels(&mut self, count: bool);

    /// Starts to measure the frame in `slot`. A GPU may put the work off until something waits for it, so
    /// that it goes together with an earlier frame's `apply`.
    fn measure(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError>;

    /// Waits for the measurement of `slot` and writes it to `statistics`, which has the right shape.
    fn statistics(&mut self, slot: usize, statistics: &mut Statistics) -> Result<(), BackendError>;

    /// Starts to apply `curves` to the frame in `slot`.
    fn apply(&mut self, slot: usize, memory: &mut dyn FrameMemory, curves: &Curves) -> Result<(), BackendError> {
        self.apply_marked(slot, memory, curves, None)
    }

    /// Starts to apply `curves` to the frame in `slot`, but to what `marks` keep, and to blend in what they draw.
    fn apply_marked(
        &mut self,
        slot: usize,
        memory: &mut dyn FrameMemory,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), BackendError>;

    /// Sends off what was put off, so that it runs while the caller does something else.
    fn flush(&mut self) -> Result<(), BackendError>;

    /// Waits until the output of `slot` is complete in its memory.
    fn finish(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError>;
}

/// Why a backend could not do its work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BackendError {
    /// There is no adapter that fits what was asked for; lists those that were seen.
    #[error("no GPU for backend=gpu: {reason}; use backend=cpu, or install a Vulkan driver (adapters seen: {seen})")]
    NoAdapter { reason: String, seen: String },
    /// The GPU was lost, ran out of memory, refused a command, or did not answer in time.
    #[error("the GPU {adapter} failed at {stage}: {reason}")]
    Gpu { adapter: String, stage: &'static str, reason: String },
    /// The frames do not fit the adapter's limits.
    #[error("{info} frames are too large for the GPU {adapter}: {reason}")]
    TooLarge { info: String, adapter: String, reason: String },
    /// The frame's memory cannot be used. Another backend would not help.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

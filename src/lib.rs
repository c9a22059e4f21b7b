//! Real-time auto levels for video: measure, decide, apply.
//!
//! Every frame is **measured** (a histogram of luma, the mean luma of chunks of the picture), it is **decided** which
//! curve it gets, from that and from the memory of past frames, and the curve is **applied**: on the GPU or on the
//! CPU, with the same bytes as the outcome.
//!
//! There are three ways in:
//!
//! - [`leveler::Leveler`] takes frames in memory and gives them back levelled, in order.
//! - [`bridge::Bridge`] does so between an `appsink` and an `appsrc` of a program's own pipeline.
//! - [`element`] is the GStreamer element `autolevels`, for launch lines; [`plugin_register_static`] registers it in a
//!   Rust program.
//!
//! ```
//! use autolevels::frame::{Access, Format, FrameError, FrameInfo, FrameMemory, LumaWeights, Plane, PlaneMut, Planes, Range};
//! use autolevels::leveler::{Leveler, Timing};
//! use autolevels::settings::{BackendChoice, Settings};
//!
//! /// A grey picture whose rows follow each other without padding, levelled in place.
//! struct Grey { width: usize, pixels: Vec<u8> }
//!
//! impl FrameMemory for Grey {
//!     fn input(&self) -> Planes<'_> {
//!         [Plane { data: &self.pixels, stride: self.width }].into_iter().collect()
//!     }
//!     fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
//!         let plane = PlaneMut { data: &mut self.pixels, stride: self.width };
//!         Ok(Access::InPlace([plane].into_iter().collect()))
//!     }
//! }
//!
//! let info = FrameInfo::new(Format::Gray8, 64, 48, Range::FULL, LumaWeights::BT709);
//! let settings = Settings { backend: BackendChoice::Cpu, ..Settings::default() };
//! let mut leveler = Leveler::new(&info, &settings, true)?;
//! let hazy = Grey { width: 64, pixels: (0..64 * 48).map(|i| 80 + 2 * (i % 64) as u8).collect() };
//! leveler.submit(hazy, Timing { time: None, votes: true });
//! let done = leveler.receive().expect("nothing is held back when live");
//! assert!(done.outcome?.changed);
//! assert_eq!((done.memory.pixels[0], done.memory.pixels[63]), (0, 255));
//! # Ok::<(), autolevels::backend::BackendError>(())
//! ```

// Module docs name private modules for those who read the code.
#![allow(rustdoc::private_intra_doc_links)]

use gst::glib;

pub mod backend;
pub mod bridge;
mod colour;
pub mod cpu;
pub mod element;
pub mod frame;
pub mod gpu;
pub mod grid;
pub mod leveler;
pub mod levels;
pub mod overlay;
pub mod pool;
pub mod settings;
pub mod video;
pub mod window;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    // A program that links the plugin in decides for itself where its log goes.
    if plugin.filename().is_some() {
        element::log_to_gstreamer();
    }
    element::register(plugin)
}

gst::plugin_define!(
    autolevels,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    concat!(env!("CARGO_PKG_VERSION"), "-", env!("COMMIT_ID")),
    "MIT/X11",
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    env!("BUILD_REL_DATE")
);

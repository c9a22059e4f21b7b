//! The GStreamer element `autolevels`.
//!
//! ```text
//! gst-launch-1.0 v4l2src ! videoconvert ! autolevels ! videoconvert ! autovideosink
//! gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! autolevels strength=0.8 smoothing=2 ! x264enc ! mp4mux ! filesink location=out.mp4
//! ```
//!
//! It is a synchronous filter: one buffer in, one buffer out, nothing held back and no latency added. A `queue`
//! before or after it lets it work beside its neighbours. Its properties are the settings of
//! [`settings`](crate::settings), by the same names, and two more:
//!
//! * `stats`, read only: a structure `autolevels-stats` with `frames`, `cuts`, `late`, `untouched`, `failovers` (counts),
//!   `backend`, `adapter` (text, empty before the first caps), and `measure-time`, `decide-time`, `apply-time`
//!   (mean nanoseconds a frame), all since the element was last started.
//! * `qos` of the base class, on by default: frames that are too late are dropped before work is done on them.
//!
//! Those marked as controllable follow a `GstController` in stream time.
//!
//! In a Rust program:
//!
//! ```
//! use gst::prelude::*;
//!
//! gst::init()?;
//! autolevels::plugin_register_static()?;
//! let line = "videotestsrc num-buffers=25 ! autolevels name=levels max-gain=6 ! fakesink";
//! let pipeline = gst::parse::launch(line)?.downcast::<gst::Pipeline>().expect("the line is a pipeline");
//! let levels = pipeline.by_name("levels").expect("it is in the line");
//! levels.set_property("strength", 0.8);
//! pipeline.set_state(gst::State::Playing)?;
//! let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
//! let end = pipeline.bus().and_then(|bus| bus.timed_pop_filtered(gst::ClockTime::NONE, &kinds));
//! assert_eq!(end.map(|message| message.type_()), Some(gst::MessageType::Eos));
//! let stats = levels.property::<gst::Structure>("stats");
//! assert_eq!(stats.get::<u64>("frames")?, 25);
//! pipeline.set_state(gst::State::Null)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What happens to frames
//!
//! * With strength 0, mode off, or when the curve changes nothing, the very buffer that came goes on; it is
//!   measured all the same. Otherwise a buffer that nobody else holds is written in place, any other is left
//!   alone and written to a buffer from the negotiated pool, with timestamps, flags and metas copied.
//! * Buffers with the flags GAP or CORRUPTED are levelled by the present curve and not measured: they look like
//!   their neighbours, and do not sway them.
//! * A buffer whose memory cannot be used (too short for the caps, planes or strides that do not fit, no mapping) goes
//!   on as it came and is counted as `untouched`; a warning is posted for the first, unless it is a gap or damaged.
//! * Alpha is straight, not premultiplied: its bytes stay, colours are levelled as they are, and pixels with an alpha
//!   of 0 do not vote.
//! * The levels start afresh after a flush, a change of caps, or a new stream; also when timestamps go back or
//!   jump. A discontinuity alone changes nothing, as dropped late frames mark one.
//! * `black` must lie below `white`: the element does not start otherwise. While it runs, a pair in the wrong
//!   order (as happens between setting one and the other) is passed over: the last good pair stays in force, and
//!   a warning is posted if a frame was levelled meanwhile.
//!
//! # Messages
//!
//! With `post-messages` an element message named `autolevels` is posted for each frame before it goes on:
//! `running-time` (guint64 nanoseconds, the maximum if unknown), `black`, `white` (codes), `gain`, `exposure`
//! (factor), `cut` (0 to 1), `mean` (code), all doubles, `changed` (boolean), and on request `histogram`, a
//! `GValueArray` of guint, one for each luma code. It is left out for frames that are not measured.
//! Warnings are posted once when the GPU is given up for the CPU.
//!
//! # Log
//!
//! Debug category `autolevels`; what wgpu logs comes under `autolevels-wgpu` when the plugin was loaded from a
//! file, or after [`log_to_gstreamer`].

mod imp;
mod log_bridge;
mod messages;
mod properties;
mod stats;

use std::sync::LazyLock;

use gst::glib;
use gst::prelude::*;

pub use log_bridge::log_to_gstreamer;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("autolevels", gst::DebugColorFlags::empty(), Some("Auto levels for video"))
});

glib::wrapper! {
    /// The element `autolevels`: see the [module](self).
    pub struct AutoLevels(ObjectSubclass<imp::AutoLevels>)
        @extends gst_video::VideoFilter, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with a plugin of this name. `autolevels::plugin_register_static()` does it for programs.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "autolevels", gst::Rank::NONE, AutoLevels::static_type())
}

//! Real-time auto levels for video.

use gst::glib;

pub mod backend;
pub mod bridge;
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

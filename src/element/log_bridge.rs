//! What this crate and wgpu say through the `log` crate, in GStreamer's debug log.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gst::DebugLevel;
use log::{Level, LevelFilter, Log, Metadata, Record};

use super::CAT;

static WGPU: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("autolevels-wgpu", gst::DebugColorFlags::empty(), Some("Log of wgpu in autolevels"))
});

struct Bridge;

/// Whether the `log` crate's logger is our bridge.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// The category and level of GStreamer's for a record's.
fn place(metadata: &Metadata) -> (&'static gst::DebugCategory, DebugLevel) {
    let category = if metadata.target().starts_with("autolevels") { &*CAT } else { &*WGPU };
    let level = match metadata.level() {
        Level::Error => DebugLevel::Error,
        Level::Warn => DebugLevel::Warning,
        Level::Info => DebugLevel::Info,
        Level::Debug => DebugLevel::Debug,
        Level::Trace => DebugLevel::Trace,
    };
    (category, level)
}

impl Log for Bridge {
    fn enabled(&self, metadata: &Metadata) -> bool {
        let (category, level) = place(metadata);
        level <= category.threshold()
    }

    fn log(&self, record: &Record) {
        let (category, level) = place(record.metadata());
        gst::log_with_level!(*category, level, "{}: {}", record.target(), record.args());
    }

    fn flush(&self) {}
}

/// Sends the `log` crate's records to GStreamer's debug log, unless the program has a logger already.
///
/// Done by itself when the plugin is loaded from a file, which has a `log` crate of its own; a program that
/// registers the element statically may call it after `gst::init`, or set a logger of its own.
pub fn log_to_gstreamer() {
    if log::set_logger(&Bridge).is_ok() {
        INSTALLED.store(true, Ordering::Relaxed);
        follow_thresholds();
    }
}

/// Lets the `log` crate drop at once what neither category would show. Thresholds may change at any time, so
/// elements call this when they start.
pub(super) fn follow_thresholds() {
    if !INSTALLED.load(Ordering::Relaxed) {
        return;
    }
    let filter = match CAT.threshold().max(WGPU.threshold()) {
        DebugLevel::None => LevelFilter::Off,
        DebugLevel::Error => LevelFilter::Error,
        DebugLevel::Warning => LevelFilter::Warn,
        DebugLevel::Fixme | DebugLevel::Info => LevelFilter::Info,
        DebugLevel::Debug => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    };
    log::set_max_level(filter);
}

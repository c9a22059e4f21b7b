//! What has reached the muxer, so that a loss does not pass for success.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gst::prelude::*;

/// Counts frames, and notes how far all streams have come.
#[derive(Clone, Default)]
pub struct Written {
    frames: Arc<AtomicU64>,
    /// Running time in nanoseconds at which the last packet ends.
    end: Arc<AtomicU64>,
    whole: Arc<AtomicBool>,
}

impl Written {
    /// Counts the frames that pass the pad.
    pub fn count(&self, pad: &gst::Pad) {
        self.note_end(pad);
        let (frames, whole) = (self.frames.clone(), self.whole.clone());
        pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
            match info.event().map(|event| event.type_()) {
                None => {
                    frames.fetch_add(1, Ordering::Relaxed);
                }
                Some(gst::EventType::Eos) => whole.store(true, Ordering::Relaxed),
                Some(_) => {}
            }
            gst::PadProbeReturn::Ok
        });
    }

    /// Notes how far the stream comes that passes the pad.
    pub fn note_end(&self, pad: &gst::Pad) {
        let end = self.end.clone();
        pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
            if let Some(time) = info.buffer().and_then(|buffer| end_of(pad, buffer)) {
                end.fetch_max(time.nseconds(), Ordering::Relaxed);
            }
            gst::PadProbeReturn::Ok
        });
    }

    /// Frames that were written.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Whether no frame will come any more.
    pub fn is_whole(&self) -> bool {
        self.whole.load(Ordering::Relaxed)
    }

    /// Running time at which the longest stream ends.
    pub fn end(&self) -> Duration {
        Duration::from_nanos(self.end.load(Ordering::Relaxed))
    }
}

fn end_of(pad: &gst::Pad, buffer: &gst::BufferRef) -> Option<gst::ClockTime> {
    let event = pad.sticky_event::<gst::event::Segment>(0)?;
    let segment = event.segment().downcast_ref::<gst::ClockTime>()?;
    let start = segment.to_running_time(buffer.pts()?)?;
    Some(start + buffer.duration().unwrap_or_default())
}

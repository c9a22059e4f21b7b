//! Where an interrupted file ends: sound is cut where the pictures end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gst::prelude::*;

const NONE: u64 = u64::MAX;

/// The running time, in nanoseconds, at which all streams end.
#[derive(Clone)]
pub struct Cut(Arc<AtomicU64>);

impl Default for Cut {
    fn default() -> Self {
        Cut(Arc::new(AtomicU64::new(NONE)))
    }
}

impl Cut {
    /// Ends all streams at `end`, or where they were to end already if that is earlier.
    pub fn set(&self, end: Option<Duration>) {
        let end = end.and_then(|end| u64::try_from(end.as_nanos()).ok()).unwrap_or(0);
        self.0.fetch_min(end, Ordering::SeqCst);
    }

    /// Whether the streams are to end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst) != NONE
    }

    /// Drops what comes to the muxer's `pad` after the cut, and ends the stream there.
    pub fn apply_to(&self, pad: &gst::Pad) {
        let cut = self.clone();
        let ended = AtomicBool::new(false);
        // Where there is little to say, as between subtitles, gaps tell how far the stream is.
        pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |pad, info| {
            let end = cut.0.load(Ordering::SeqCst);
            let time = match &info.data {
                Some(gst::PadProbeData::Buffer(buffer)) => buffer.dts_or_pts(),
                Some(gst::PadProbeData::Event(event)) => match event.view() {
                    gst::EventView::Gap(gap) => Some(gap.get().0),
                    _ => return gst::PadProbeReturn::Ok,
                },
                _ => None,
            };
            if end == NONE {
                return gst::PadProbeReturn::Ok;
            }
            let time = time.and_then(|time| running_time(pad, time));
            if time.is_some_and(|time| time.nseconds() < end) {
                return gst::PadProbeReturn::Ok;
            }
            if !ended.swap(true, Ordering::SeqCst) {
                end_stream(pad);
            }
            // Dropped. (The bindings' own way to say so makes GStreamer free it twice.)
            gst::PadProbeReturn::Handled
        });
    }
}

/// Ends the stream that comes to the muxer's pad, from another thread: this one may be amid a push to it.
pub fn end_stream(pad: &gst::Pad) {
    if let Some(muxer) = pad.parent_element() {
        let pad = pad.clone();
        muxer.call_async(move |_| {
            pad.send_event(gst::event::Eos::new());
        });
    }
}

/// Running time of a timestamp on the pad.
pub fn running_time(pad: &gst::Pad, time: gst::ClockTime) -> Option<gst::ClockTime> {
    let event = pad.sticky_event::<gst::event::Segment>(0)?;
    event.segment().downcast_ref::<gst::ClockTime>()?.to_running_time(time)
}

//! What the encoder still holds back when a file is to end.
//!
//! An encoder that looks ahead holds back dozens of frames, and a slow one needs many seconds for them: longer than
//! anybody waits who has interrupted a job. So it is given a moment, and then the pictures end with the next frame before
//! which none is missing. (Frames leave an encoder in the order of decoding, some before others that are shown earlier.)

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gst::glib::WeakRef;
use gst::prelude::*;

use super::cut::{Cut, running_time};

/// How long the encoder may go on with all that it holds back.
const PATIENCE: Duration = Duration::from_millis(900);
/// How long it may go on until no frame is missing before the last one.
const MOST_PATIENCE: Duration = Duration::from_millis(1500);
/// Frames that are this much older than the newest one were left out by the encoder.
const OLD: u64 = 10_000_000_000;

/// Frames between an encoder's input and the muxer.
#[derive(Clone)]
pub struct Backlog {
    state: Arc<Mutex<State>>,
    /// The muxer's pad.
    pad: WeakRef<gst::Pad>,
    cut: Cut,
}

#[derive(Default)]
struct State {
    /// Running times of the frames that have not come out yet.
    waiting: BTreeSet<u64>,
    /// The latest frame that has come out: its running time, and where it ends.
    newest: u64,
    end: u64,
    /// When the file was told to end.
    asked: Option<Instant>,
    /// The pictures have ended.
    whole: bool,
    /// They ended before the encoder had given all.
    short: bool,
}

impl Backlog {
    /// Watches the frames that go into an encoder by the pad `into`, and come to the muxer's `pad`.
    pub fn watch(into: &gst::Pad, pad: &gst::Pad, cut: &Cut) -> Backlog {
        let backlog = Backlog { state: Arc::default(), pad: pad.downgrade(), cut: cut.clone() };
        let state = backlog.state.clone();
        into.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
            if let Some(time) = info.buffer().and_then(|buffer| running_time(pad, buffer.pts()?)) {
                lock(&state).waiting.insert(time.nseconds());
            }
            gst::PadProbeReturn::Ok
        });
        let watching = backlog.clone();
        pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |pad, info| {
            watching.pass(pad, info)
        });
        backlog
    }

    /// The encoder is to give what it has: its time runs from now on.
    pub fn hurry(&self) {
        lock(&self.state).asked = Some(Instant::now());
    }

    /// Ends the pictures if the encoder has had all the time there is.
    pub fn look(&self) {
        let mut state = lock(&self.state);
        if !state.whole && state.asked.is_some_and(|asked| asked.elapsed() > MOST_PATIENCE) {
            self.end(&mut state);
        }
    }

    /// Whether the pictures ended before the encoder had given all.
    pub fn is_short(&self) -> bool {
        lock(&self.state).short
    }

    /// Something comes to the muxer.
    fn pass(&self, pad: &gst::Pad, info: &mut gst::PadProbeInfo) -> gst::PadProbeReturn {
        let mut state = lock(&self.state);
        let Some(buffer) = info.buffer() else {
            state.whole |= info.event().is_some_and(|event| event.type_() == gst::EventType::Eos);
            return gst::PadProbeReturn::Ok;
        };
        if state.short {
            // The encoder is not to go on with the rest either.
            info.flow_res = Err(gst::FlowError::Eos);
            return gst::PadProbeReturn::Handled;
        }
        let Some(start) = buffer.pts().and_then(|time| running_time(pad, time)) else {
            return gst::PadProbeReturn::Ok;
        };
        let end = (start + buffer.duration().unwrap_or_default()).nseconds();
        let start = start.nseconds();
        state.waiting.remove(&start);
        state.newest = state.newest.max(start);
        state.end = state.end.max(end);
        while let Some(first) = state.waiting.first().filter(|first| **first + OLD < start).copied() {
            state.waiting.remove(&first);
        }
        let complete = state.waiting.first().is_none_or(|first| *first > state.newest);
        if complete && state.asked.is_some_and(|asked| asked.elapsed() > PATIENCE) {
            self.end(&mut state);
        }
        gst::PadProbeReturn::Ok
    }

    /// Ends the pictures with what has come out.
    fn end(&self, state: &mut State) {
        (state.whole, state.short) = (true, true);
        self.cut.set(Some(Duration::from_nanos(state.end)));
        // Not from here, which may be amid a push to this very pad.
        if let Some(pad) = self.pad.upgrade()
            && let Some(muxer) = pad.parent_element()
        {
            muxer.call_async(move |_| {
                pad.send_event(gst::event::Eos::new());
            });
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Each change leaves the state whole.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

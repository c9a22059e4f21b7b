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

use super::cut::{Cut, end_stream, running_time};
use super::written::Written;

/// How long the encoder may go on with all that it holds back.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long it may go on until no frame is missing before the last one. Players show little of an end with holes.
const MOST_PATIENCE: Duration = Duration::from_secs(3);
/// How far sound that is written already may reach beyond the pictures.
const BEYOND: Duration = Duration::from_millis(60);
/// Frames that are this much older than the newest one were left out by the encoder.
const OLD: u64 = 10_000_000_000;

/// Frames between an encoder's input and the muxer.
#[derive(Clone)]
pub struct Backlog {
    state: Arc<Mutex<State>>,
    /// The muxer's pad.
    pad: WeakRef<gst::Pad>,
    cut: Cut,
    written: Written,
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

impl State {
    /// A frame has come out. Whether all that are shown before it have, too.
    fn came_out(&mut self, start: u64, end: u64) -> bool {
        self.waiting.remove(&start);
        self.newest = self.newest.max(start);
        self.end = self.end.max(end);
        while self.waiting.first().is_some_and(|first| *first + OLD < start) {
            self.waiting.pop_first();
        }
        self.waiting.first().is_none_or(|first| *first > self.newest)
    }

    /// Whether the file was told to end longer than that ago.
    fn is_due(&self, patience: Duration) -> bool {
        self.asked.is_some_and(|asked| asked.elapsed() > patience)
    }
}

impl Backlog {
    /// Watches the frames that go into an encoder by the pad `into`, and come to the muxer's `pad`.
    pub fn watch(into: &gst::Pad, pad: &gst::Pad, cut: &Cut, written: &Written) -> Backlog {
        let (cut, written) = (cut.clone(), written.clone());
        let backlog = Backlog { state: Arc::default(), pad: pad.downgrade(), cut, written };
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
        if !state.whole && state.is_due(MOST_PATIENCE) && self.has_caught_up(&state) {
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
        if state.came_out(start.nseconds(), end) && state.is_due(PATIENCE) && self.has_caught_up(&state) {
            self.end(&mut state);
        }
        gst::PadProbeReturn::Ok
    }

    /// Whether there are pictures, to where there is sound.
    fn has_caught_up(&self, state: &State) -> bool {
        state.end > 0 && Duration::from_nanos(state.end) + BEYOND >= self.written.end()
    }

    /// Ends the pictures with what has come out.
    fn end(&self, state: &mut State) {
        (state.whole, state.short) = (true, true);
        self.cut.set(Some(Duration::from_nanos(state.end)));
        if let Some(pad) = self.pad.upgrade() {
            end_stream(&pad);
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Each change leaves the state whole.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_the_last_one_only_if_none_is_missing_before_it() {
        let mut state = State { waiting: (0..10).collect(), ..State::default() };
        // In the order of decoding: a frame that others are shown before comes first.
        let complete = [0, 4, 2, 1, 3, 8, 6].map(|start| state.came_out(start, start + 1));
        assert_eq!(complete, [true, false, false, false, true, false, false]);
        assert_eq!((state.newest, state.end), (8, 9));
    }

    #[test]
    fn frames_that_the_encoder_leaves_out_are_not_waited_for() {
        let second = 1_000_000_000;
        let mut state = State { waiting: (0..20).map(|i| i * second).collect(), ..State::default() };
        // The one of the first second never comes.
        let complete: Vec<bool> =
            (0..20).filter(|i| *i != 1).map(|i| state.came_out(i * second, (i + 1) * second)).collect();
        assert_eq!(complete, [vec![true], vec![false; 10], vec![true; 8]].concat());
        assert!(state.waiting.is_empty());
    }
}

//! Frames that were in the file and did not come out of the decoder.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gst::prelude::*;

/// Packets that are remembered: more than any decoder holds back.
const REMEMBERED: usize = 256;

/// Counts packets from which no frame came, where that leaves a hole. Some packets rightly give none of their own:
/// second fields, and frames that are only referred to.
#[derive(Clone, Default)]
pub struct Losses(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Timestamps of packets that have given no frame yet.
    waiting: BTreeSet<gst::ClockTime>,
    last: Option<gst::ClockTime>,
    lost: u64,
}

impl Losses {
    /// Watches the video decoders that `decoder`, a decodebin, puts in.
    pub fn watch(&self, decoder: &gst::Element) {
        let Some(decoder) = decoder.downcast_ref::<gst::Bin>() else { return };
        let losses = self.clone();
        decoder.connect_deep_element_added(move |_, _, element| {
            let class = element.metadata(gst::ELEMENT_METADATA_KLASS).unwrap_or_default();
            if class.contains("Decoder")
                && class.contains("Video")
                && let (Some(sink), Some(source)) = (element.static_pad("sink"), element.static_pad("src"))
            {
                // Of several videos the first is levelled, and each has its own count, of which that one's is right.
                losses.count(&sink, &source);
            }
        });
    }

    fn count(&self, sink: &gst::Pad, source: &gst::Pad) {
        let packets = self.clone();
        sink.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            if let Some(time) = info.buffer().and_then(|buffer| buffer.pts()) {
                let mut state = packets.lock();
                state.waiting.insert(time);
                if state.waiting.len() > REMEMBERED {
                    state.waiting.pop_first();
                }
            }
            gst::PadProbeReturn::Ok
        });
        let frames = self.clone();
        source.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
            if let Some(time) = info.buffer().and_then(|buffer| buffer.pts()) {
                frames.lock().came_out(time, usual_distance(pad));
            }
            gst::PadProbeReturn::Ok
        });
    }

    /// Frames that were lost.
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn came_out(&mut self, time: gst::ClockTime, usual: Option<gst::ClockTime>) {
        let later = self.waiting.split_off(&time);
        let earlier = std::mem::replace(&mut self.waiting, later);
        self.waiting.remove(&time);
        let hole = self.last.zip(usual).is_some_and(|(last, usual)| time > last + usual + usual / 2);
        if hole {
            self.lost += earlier.len() as u64;
        }
        self.last = Some(time);
    }
}

/// Time from frame to frame, where the rate is known.
fn usual_distance(pad: &gst::Pad) -> Option<gst::ClockTime> {
    let rate = pad.current_caps()?.structure(0)?.get::<gst::Fraction>("framerate").ok()?;
    let (numerator, denominator) = (u64::try_from(rate.numer()).ok()?, u64::try_from(rate.denom()).ok()?);
    gst::ClockTime::SECOND.mul_div_floor(denominator, numerator)
}

#[cfg(test)]
mod tests {
    use super::State;

    fn lost(packets: &[u64], frames: &[u64]) -> u64 {
        let mut state =
            State { waiting: packets.iter().copied().map(gst::ClockTime::from_mseconds).collect(), ..State::default() };
        for frame in frames {
            state.came_out(gst::ClockTime::from_mseconds(*frame), Some(gst::ClockTime::from_mseconds(40)));
        }
        state.lost
    }

    #[test]
    fn only_holes_are_losses() {
        assert_eq!(lost(&[0, 40, 80, 120], &[0, 40, 80, 120]), 0);
        assert_eq!(lost(&[0, 40, 80, 120, 160], &[0, 120, 160]), 2);
        assert_eq!(lost(&[0, 20, 40, 60, 80], &[0, 40, 80]), 0, "fields have packets of their own");
        assert_eq!(lost(&[0, 40, 400], &[0, 40, 400]), 0, "a variable rate");
    }
}

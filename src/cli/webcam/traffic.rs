//! Counts the frames on their way from the camera to the far end, and those that were dropped between.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// More frames than can be on their way at a time.
const MOST: usize = 256;

/// What has passed.
#[derive(Default)]
pub struct Traffic(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// Timestamps of the frames that are on their way.
    underway: VecDeque<Option<gst::ClockTime>>,
    /// When the last one came.
    last: Option<Instant>,
    dropped: u64,
}

impl Traffic {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A frame came from the camera.
    pub fn arrived(&self, time: Option<gst::ClockTime>) {
        let mut counts = self.lock();
        if counts.underway.len() == MOST {
            counts.underway.pop_front();
            counts.dropped += 1;
        }
        counts.underway.push_back(time);
        counts.last = Some(Instant::now());
    }

    /// A frame is at the far end; those before it that are not were dropped.
    pub fn delivered(&self, time: Option<gst::ClockTime>) {
        let mut counts = self.lock();
        let Some(index) = counts.underway.iter().position(|frame| *frame == time) else { return };
        counts.dropped += index as u64;
        counts.underway.drain(..=index);
    }

    /// Frames that were dropped.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Whether a frame came after that time.
    pub fn arrived_after(&self, time: Instant) -> bool {
        self.lock().last.is_some_and(|last| last > time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_do_not_arrive_are_counted() {
        let traffic = Traffic::default();
        let time = |n| Some(gst::ClockTime::from_mseconds(n));
        let start = Instant::now();
        (0..10).for_each(|n| traffic.arrived(time(n)));
        traffic.delivered(time(0));
        assert_eq!(traffic.dropped(), 0);
        traffic.delivered(time(4));
        assert_eq!((traffic.dropped(), traffic.lock().underway.len()), (3, 5));
        traffic.delivered(time(99));
        assert_eq!(traffic.dropped(), 3, "a frame that nobody sent");
        (10..1000).for_each(|n| traffic.arrived(time(n)));
        assert!(traffic.lock().underway.len() <= MOST && traffic.dropped() > 700);
        assert!(traffic.arrived_after(start) && !traffic.arrived_after(Instant::now()));
    }
}

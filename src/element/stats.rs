//! The element's `stats`: a copy of the counts, so that reading them never waits for a frame.

use std::time::Duration;

use crate::leveler::Counters;

/// Counts since the element started; a stream that changes its caps goes through several levelers.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Of levelers that are gone.
    past: Counters,
    /// Of the leveler at work.
    present: Counters,
    backend: &'static str,
    adapter: String,
    /// Frames dropped because they came too late.
    pub late: u64,
    /// Frames whose memory could not be used, which went on as they came.
    pub untouched: u64,
}

impl Stats {
    /// A new leveler begins, on this backend and adapter.
    pub fn begin(&mut self, (backend, adapter): (&'static str, &str)) {
        self.past = self.total();
        self.present = Counters::default();
        self.runs_on((backend, adapter));
    }

    /// The leveler runs on another backend than before.
    pub fn runs_on(&mut self, (backend, adapter): (&'static str, &str)) {
        self.backend = backend;
        adapter.clone_into(&mut self.adapter);
    }

    /// What the leveler has counted by now.
    pub fn update(&mut self, counters: Counters) {
        self.present = counters;
    }

    fn total(&self) -> Counters {
        let (past, present) = (&self.past, &self.present);
        Counters {
            frames: past.frames + present.frames,
            cuts: past.cuts + present.cuts,
            failovers: past.failovers + present.failovers,
            measure: past.measure + present.measure,
            decide: past.decide + present.decide,
            apply: past.apply + present.apply,
        }
    }

    /// As the property gives it.
    pub fn structure(&self) -> gst::Structure {
        let total = self.total();
        let mean =
            |time: Duration| u64::try_from(time.as_nanos() / u128::from(total.frames.max(1))).unwrap_or(u64::MAX);
        gst::Structure::builder("autolevels-stats")
            .field("frames", total.frames)
            .field("backend", self.backend)
            .field("adapter", self.adapter.as_str())
            .field("cuts", total.cuts)
            .field("late", self.late)
            .field("untouched", self.untouched)
            .field("failovers", total.failovers)
            .field("measure-time", mean(total.measure))
            .field("decide-time", mean(total.decide))
            .field("apply-time", mean(total.apply))
            .build()
    }
}

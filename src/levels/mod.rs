//! Decide: from the statistics of a frame and the memory of those before it to the curves.
//!
//! Pure and deterministic: no GPU, no pipeline, no clock of its own.

pub mod curves;
pub mod statistics;

use crate::frame::FrameInfo;
use crate::settings::Settings;
use curves::Curves;
use statistics::Statistics;

/// What was decided on a frame, for people and programs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Code that goes to the `black` setting, the remembered black point.
    pub black: f64,
    /// Code that goes to the `white` setting, the remembered white point.
    pub white: f64,
    /// Contrast gain between the two, after the gain limit.
    pub gain: f64,
    /// Factor by which the exposure changed from the last frame to this one, as far as it was followed.
    pub exposure: f64,
    /// How surely a new scene starts with this frame, 0 to 1.
    pub cut: f64,
    /// Mean luma code of the frame.
    pub mean: f64,
}

/// The curves for a frame and how they came about.
#[derive(Clone, Debug)]
pub struct Decision {
    pub curves: Curves,
    pub report: Report,
}

/// Decides on the levels of the frames of one stream, in order; holds all memory of past frames.
pub struct Levels {
    info: FrameInfo,
    decision: Decision,
}

impl Levels {
    /// Fresh levels for frames as described by `info`.
    pub fn new(info: &FrameInfo) -> Levels {
        let decision = Decision { curves: Curves::identity(info.range.codes()), report: Report::default() };
        Levels { info: info.clone(), decision }
    }

    /// Decides on the next frame from its `statistics`. `time` is its running time in seconds, if it has one.
    pub fn decide(&mut self, statistics: &Statistics, settings: &Settings, time: Option<f64>) -> &Decision {
        let _ = (time, settings);
        let first = statistics.luma.iter().position(|n| *n > 0).unwrap_or(0) as f64;
        let last = statistics.luma.iter().rposition(|n| *n > 0).unwrap_or(0) as f64;
        let (low, high) = (f64::from(self.info.range.black), f64::from(self.info.range.white));
        let gain = (high - low) / (last - first).max((high - low) / 4.0);
        for (code, out) in self.decision.curves.tables[0].iter_mut().enumerate() {
            *out = (low + gain * (code as f64 - first)).round().clamp(0.0, f64::from(self.info.range.max)) as u16;
        }
        &self.decision
    }

    /// The present curves, for a frame that does not vote (a gap, a damaged frame). Identity at first.
    pub fn hold(&self) -> &Decision {
        &self.decision
    }

    /// Forgets all frames so far: the next one starts afresh.
    pub fn reset(&mut self) {
        *self = Levels::new(&self.info);
    }
}

//! What came of a file.

use std::path::Path;
use std::time::Duration;

use autolevels::bridge::Progress;

use super::super::progress::{self, Reporter};

/// What came of a file.
pub struct Summary {
    progress: Progress,
    elapsed: Duration,
    rate: f64,
    /// It was cut short by an interrupt.
    pub interrupted: bool,
}

impl Summary {
    pub fn new(progress: Progress, reporter: &Reporter, interrupted: bool) -> Summary {
        Summary { elapsed: reporter.elapsed(), rate: reporter.rate(progress.frames), progress, interrupted }
    }

    /// Tells it to people and programs.
    pub fn tell(&self, input: &Path, output: &Path, reporter: &mut Reporter) {
        let format = self.progress.caps.as_ref().and_then(|caps| caps.structure(0)?.get::<String>("format").ok());
        let (backend, adapter) = self.progress.backend.clone().unwrap_or_default();
        reporter.done(&progress::Summary {
            input: &input.display().to_string(),
            output: &output.display().to_string(),
            frames: self.progress.frames,
            length: self.progress.position.map(|length| length.as_secs_f64()),
            seconds: self.elapsed.as_secs_f64(),
            frames_per_second: self.rate,
            backend,
            adapter: &adapter,
            format: &format.unwrap_or_default(),
            interrupted: self.interrupted,
        });
    }
}

//! The line on the terminal that says how it goes.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use super::keys::terminal::say;

/// How often the line is written.
const EVERY: Duration = Duration::from_millis(250);
/// How long an answer to a key is shown.
const NOTE: Duration = Duration::from_secs(2);

/// What the line shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// `gpu` or `cpu`, and which one.
    pub backend: String,
    pub adapter: String,
    /// Frames so far.
    pub frames: u64,
    /// Frames dropped since they came too late.
    pub late: u64,
    /// Black point, white point (codes) and gain.
    pub levels: Option<(f64, f64, f64)>,
    /// Mean time spent on a frame.
    pub busy: Duration,
}

/// A line on stderr that is written over and over. Shows nothing if stderr is no terminal.
pub struct StatusLine {
    shown: bool,
    last: Instant,
    /// Time and frames when the rate was last taken.
    since: (Instant, u64),
    rate: f64,
    note: Option<(String, Instant)>,
}

impl StatusLine {
    pub fn new(quiet: bool) -> StatusLine {
        let now = Instant::now();
        let shown = !quiet && io::stderr().is_terminal();
        StatusLine { shown, last: now, since: (now, 0), rate: 0.0, note: None }
    }

    /// Whether anybody sees it.
    pub fn shown(&self) -> bool {
        self.shown
    }

    /// Shows a few words for a moment.
    pub fn note(&mut self, text: impl Into<String>) {
        self.note = Some((text.into(), Instant::now()));
        self.last = Instant::now().checked_sub(EVERY).unwrap_or(self.last);
    }

    /// Writes lines that stay, above the status.
    pub fn print(&mut self, text: &str) {
        if self.shown {
            say(&format!("\r\x1b[K{}\n", text.trim_end()));
        } else {
            say(&format!("{}\n", text.trim_end()));
        }
    }

    /// Writes the status, if it is time to.
    pub fn update(&mut self, status: impl FnOnce() -> Status) {
        if !self.shown || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        let status = status();
        let elapsed = self.since.0.elapsed();
        if elapsed >= Duration::from_secs(1) {
            self.rate = status.frames.saturating_sub(self.since.1) as f64 / elapsed.as_secs_f64();
            self.since = (self.last, status.frames);
        }
        let note = self.note.take_if(|note| note.1.elapsed() < NOTE);
        let mut line = line(&status, self.rate, note.as_ref().map(|note| note.0.as_str()));
        self.note = note;
        let width = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns).max(20));
        if let Some((end, _)) = line.char_indices().nth(width - 1) {
            line.truncate(end);
        }
        say(&format!("\r\x1b[K{line}"));
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.shown {
            say("\r\x1b[K");
        }
    }
}

fn line(status: &Status, rate: f64, note: Option<&str>) -> String {
    let mut parts = Vec::new();
    parts.extend(note.map(|note| format!("[{note}]")));
    match (status.backend.as_str(), status.adapter.as_str()) {
        ("", _) => parts.push("waiting for frames".into()),
        (backend, adapter) => parts.push(format!("{backend} {adapter}").trim_end().into()),
    }
    parts.push(format!("{rate:.1} fps"));
    parts.push(format!("{} late", status.late));
    if let Some((black, white, gain)) = status.levels {
        parts.push(format!("black {black:.0} white {white:.0} gain {gain:.2}"));
    }
    parts.push(format!("{:.1} ms", status.busy.as_secs_f64() * 1000.0));
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_it_all() {
        let status = Status {
            backend: "gpu".into(),
            adapter: "Radeon".into(),
            frames: 90,
            late: 2,
            levels: Some((16.2, 234.8, 1.0004)),
            busy: Duration::from_micros(1240),
        };
        let text = "[mode off]  gpu Radeon  29.9 fps  2 late  black 16 white 235 gain 1.00  1.2 ms";
        assert_eq!(line(&status, 29.94, Some("mode off")), text);
        assert!(line(&Status::default(), 0.0, None).starts_with("waiting for frames  0.0 fps"));
    }
}

//! What a job tells while it runs: a bar for people, one JSON object a line for programs.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

/// Where a job's words go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A bar on the terminal, notes and a summary on stderr.
    People,
    /// One JSON object a line on stdout.
    Json,
    /// Errors only.
    Quiet,
}

/// One line of `--json`. Times are seconds.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Line<'a> {
    Start {
        input: &'a str,
        output: &'a str,
        duration: Option<f64>,
    },
    Progress {
        frames: u64,
        position: Option<f64>,
        duration: Option<f64>,
        frames_per_second: f64,
    },
    Note {
        text: &'a str,
    },
    Done(Summary<'a>),
    Skipped {
        input: &'a str,
        output: &'a str,
    },
    Failed {
        input: &'a str,
        error: &'a str,
    },
    /// After several files.
    Summary {
        files: usize,
        done: usize,
        skipped: usize,
        failed: usize,
        interrupted: bool,
    },
}

/// What came of a file.
#[derive(Serialize)]
pub struct Summary<'a> {
    pub input: &'a str,
    pub output: &'a str,
    pub frames: u64,
    /// Length of the output.
    pub length: Option<f64>,
    /// Time that it took.
    pub seconds: f64,
    pub frames_per_second: f64,
    pub backend: &'a str,
    pub adapter: &'a str,
    pub format: &'a str,
    pub interrupted: bool,
}

/// Tells how a job goes.
pub struct Reporter {
    style: Style,
    bar: Option<ProgressBar>,
    /// Which of several files it is, and of how many.
    place: Option<(usize, usize)>,
    started: Instant,
    last_line: Option<Instant>,
}

impl Reporter {
    pub fn new(style: Style) -> Reporter {
        Reporter { style, bar: None, place: None, started: Instant::now(), last_line: None }
    }

    /// The next file is one of several.
    pub fn set_place(&mut self, number: usize, all: usize) {
        self.place = Some((number, all));
    }

    /// A file was there already.
    pub fn skipped(&self, input: &str, output: &str) {
        if self.style == Style::People {
            eprintln!("{output}: exists, skipped");
        }
        self.line(&Line::Skipped { input, output });
    }

    /// All files are dealt with.
    pub fn sum_up(&self, summary: &Line) {
        if let (Style::People, Line::Summary { files, done, skipped, failed, .. }) = (self.style, summary) {
            eprintln!("{files} files: {done} done, {skipped} skipped, {failed} failed");
        }
        self.line(summary);
    }

    /// A file begins. `title` leads the bar.
    pub fn start(&mut self, title: &str, input: &str, output: &str) {
        self.started = Instant::now();
        self.last_line = None;
        self.line(&Line::Start { input, output, duration: None });
        if self.style == Style::People {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
            bar.set_prefix(match self.place {
                Some((number, all)) => format!("{number}/{all} {title}"),
                None => title.to_owned(),
            });
            bar.set_style(style("{prefix} {spinner} {elapsed} {msg}"));
            self.bar = Some(bar);
        }
    }

    /// How far it is. Called often; shown a few times a second.
    pub fn progress(&mut self, frames: u64, position: Option<Duration>, duration: Option<Duration>) {
        let rate = self.rate(frames);
        if let Some(bar) = &self.bar {
            if let Some(duration) = duration.filter(|_| bar.length().is_none()) {
                bar.set_length(duration.as_millis() as u64);
                bar.set_style(style("{prefix} {wide_bar} {percent}% {msg}, {eta} left"));
            }
            bar.set_message(format!("{rate:.0} frames/s"));
            bar.set_position(position.unwrap_or_default().as_millis() as u64);
        }
        if self.style == Style::Json && self.last_line.is_none_or(|last| last.elapsed() > Duration::from_millis(500)) {
            self.last_line = Some(Instant::now());
            let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
            self.line(&Line::Progress {
                frames,
                position: seconds(position),
                duration: seconds(duration),
                frames_per_second: rate,
            });
        }
    }

    /// Something that people should know, and no failure.
    pub fn note(&self, text: &str) {
        match (self.style, &self.bar) {
            (Style::People, Some(bar)) => bar.suspend(|| eprintln!("note: {text}")),
            (Style::People, None) => eprintln!("note: {text}"),
            (Style::Json, _) => self.line(&Line::Note { text }),
            (Style::Quiet, _) => {}
        }
    }

    /// A file is done.
    pub fn done(&mut self, summary: &Summary) {
        self.clear();
        if self.style == Style::People {
            let Summary { output, frames, frames_per_second, backend, adapter, .. } = summary;
            let cut = if summary.interrupted { ", cut short" } else { "" };
            eprintln!("{output}: {frames} frames, {frames_per_second:.0} frames/s on {backend} ({adapter}){cut}");
        }
        self.line(&Line::Done(Summary { ..*summary }));
    }

    /// A file failed. The error itself is printed by the caller.
    pub fn failed(&mut self, input: &str, error: &str) {
        self.clear();
        self.line(&Line::Failed { input, error });
    }

    /// Time since the file began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Frames a second since the file began.
    pub fn rate(&self, frames: u64) -> f64 {
        frames as f64 / self.started.elapsed().as_secs_f64().max(1e-3)
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn line(&self, line: &Line) {
        if self.style == Style::Json {
            let text = serde_json::to_string(line).expect("strings and numbers become JSON");
            // Who closed stdout does not want to know.
            let _ = writeln!(std::io::stdout().lock(), "{text}");
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are well-formed")
}

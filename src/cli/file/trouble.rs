//! What went wrong, in one line: what, which file, why, and what to do.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use gst::prelude::*;

/// Collects what the pipeline says about its troubles.
pub struct Trouble {
    input: PathBuf,
    output: PathBuf,
    /// Descriptions of decoders that are missing.
    missing: Vec<String>,
}

impl Trouble {
    pub fn new(input: &Path, output: &Path) -> Trouble {
        Trouble { input: input.to_owned(), output: output.to_owned(), missing: Vec::new() }
    }

    /// Remembers which decoder was not there.
    pub fn notice(&mut self, element: &gst::message::Element) {
        if let Ok(message) = gst_pbutils::MissingPluginMessage::parse(element) {
            self.missing.push(message.description().to_string());
        }
    }

    /// An error of our own.
    pub fn told(&self, error: anyhow::Error) -> anyhow::Error {
        match self.hint() {
            Some(hint) => anyhow!("cannot level {}: {error:#}; {hint}", self.input.display()),
            None => anyhow!("cannot level {}: {error:#}", self.input.display()),
        }
    }

    fn hint(&self) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let missing = self.missing.join(", ");
        Some(format!("missing: {missing} (gstreamer1.0-libav or gstreamer1.0-plugins-bad may have it)"))
    }

    /// An error of an element.
    pub fn explain(&self, error: &gst::message::Error) -> anyhow::Error {
        let (input, output) = (self.input.display(), self.output.display());
        let source = error.src().map(|source| source.name().to_string()).unwrap_or_default();
        let cause = error.error();
        let reason = cause.to_string();
        let reason = reason.trim_end_matches('.');
        if source.starts_with("fdsink") {
            if cause.matches(gst::ResourceError::NoSpaceLeft) {
                return anyhow!("cannot write to stdout: the disk is full");
            }
            // Most likely nobody reads any more.
            return anyhow::Error::new(std::io::Error::from(std::io::ErrorKind::BrokenPipe))
                .context("cannot write to stdout");
        }
        if source.starts_with("filesink") {
            if cause.matches(gst::ResourceError::NoSpaceLeft) {
                return anyhow!("cannot write {output}: the disk is full; make room or write elsewhere");
            }
            return anyhow!("cannot write {output}: {reason}");
        }
        if let Some(hint) = self.hint() {
            return anyhow!("cannot decode {input}: {hint}");
        }
        if cause.matches(gst::StreamError::TypeNotFound) || cause.matches(gst::StreamError::WrongType) {
            return anyhow!("{input} is not a video file that GStreamer knows");
        }
        if source.starts_with("appsink") {
            return anyhow!("cannot level {input}: {reason}");
        }
        match error.debug().as_deref().and_then(last_words) {
            Some(detail) => anyhow!("cannot level {input}: {reason} ({source}: {detail})"),
            None => anyhow!("cannot level {input}: {reason} ({source})"),
        }
    }
}

/// What an element adds to its error after the place in its source.
fn last_words(debug: &str) -> Option<&str> {
    debug.lines().skip(1).map(str::trim).find(|line| !line.is_empty())
}

//! `autolevels launch`: plays a launch line or a `.launch` file with the element built in, with keys and status.

mod file;
mod player;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use gst::prelude::*;

use super::interrupt::Interrupts;
use super::{Ending, Usage};
use file::launch_line;
pub use player::closed_window;

/// Plays a launch line or a .launch file, with keys that change the settings of its first autolevels
///
/// The element is built in. Ctrl-C once ends the stream, so that files are complete, twice stops at once.
///
/// A launch line is code: it can read, write and send whatever you can. Play only lines and values that you trust.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  autolevels launch 'v4l2src ! videoconvert ! autolevels ! videoconvert ! autovideosink'\n  autolevels launch pipelines/play-file.launch uri=file:///tmp/holiday.mp4"
)]
pub struct Arguments {
    /// A launch line as for gst-launch-1.0 (in quotes), or a .launch file
    #[arg(value_name = "LINE|FILE.launch")]
    line: String,
    /// Values for the placeholders ${name} in it
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,
    /// Leave the keyboard alone
    #[arg(long)]
    no_keys: bool,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
}

/// Plays the line to its end.
pub fn run(arguments: &Arguments) -> Result<Ending> {
    super::start_gstreamer()?;
    autolevels::plugin_register_static().context("the element cannot be registered")?;
    let interrupts = Interrupts::install()?;
    let text = read(&arguments.line)?;
    let values = arguments.values.iter().map(|value| pair(value)).collect::<Result<BTreeMap<_, _>>>()?;
    let name = name(&arguments.line);
    let line = launch_line(&text, &values).map_err(|error| Usage(format!("{name}: {error}")))?;
    let pipeline = parse(&line).with_context(|| format!("cannot play {name}"))?;
    player::play(&pipeline, arguments.no_keys, arguments.quiet, &interrupts)
}

/// How errors name the line.
fn name(line: &str) -> &str {
    if is_file(line) { line } else { "the line" }
}

fn is_file(line: &str) -> bool {
    line.ends_with(".launch") && !line.contains('!') || Path::new(line).is_file()
}

fn read(line: &str) -> Result<String> {
    if is_file(line) {
        return std::fs::read_to_string(line).with_context(|| format!("cannot read {line}"));
    }
    Ok(line.to_owned())
}

fn pair(text: &str) -> Result<(String, String)> {
    let (name, value) = text.split_once('=').ok_or_else(|| {
        Usage(format!(
            "'{text}' is not NAME=VALUE; put a launch line in quotes, as in autolevels launch 'videotestsrc ! …'"
        ))
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Makes a pipeline of a line.
pub fn parse(line: &str) -> Result<gst::Pipeline> {
    let mut context = gst::ParseContext::new();
    let parsed = gst::parse::launch_full(line, Some(&mut context), gst::ParseFlags::FATAL_ERRORS);
    let element = parsed.map_err(|error| match context.missing_elements().first() {
        Some(missing) if error.matches(gst::ParseError::NoSuchElement) => {
            anyhow!("GStreamer has no element {missing}; {}", package(missing))
        }
        _ => anyhow!("{}", error.message()),
    })?;
    match element.downcast::<gst::Pipeline>() {
        Ok(pipeline) => Ok(pipeline),
        Err(element) => {
            let pipeline = gst::Pipeline::new();
            pipeline.add(&element)?;
            Ok(pipeline)
        }
    }
}

/// Where an element that is missing may come from.
fn package(element: &str) -> String {
    let set = match element {
        name if name.starts_with("avdec_") || name.starts_with("avenc_") => "gstreamer1.0-libav",
        name if name.starts_with("x264") => "gstreamer1.0-plugins-ugly",
        name if name.starts_with("x265") || name.starts_with("srt") || name.starts_with("y4mdec") => {
            "gstreamer1.0-plugins-bad"
        }
        "ximagesink" | "xvimagesink" => "gstreamer1.0-x",
        "v4l2src" | "v4l2sink" | "rtspsrc" | "pngenc" | "pngdec" | "jpegdec" | "ximagesrc" | "matroskamux" => {
            "gstreamer1.0-plugins-good"
        }
        _ => return "gst-inspect-1.0 lists those that are installed".into(),
    };
    format!("install the package {set}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_files_are_told_apart() {
        assert!(is_file("webcam.launch") && is_file("a b/c.launch"));
        assert!(!is_file("videotestsrc ! filesink location=x.launch"));
        assert_eq!(pair("sink=fakesink sync=true").unwrap(), ("sink".into(), "fakesink sync=true".into()));
        assert!(pair("fakesink").unwrap_err().to_string().contains("in quotes"));
    }

    #[test]
    fn mistakes_in_a_line_say_what_to_do() {
        gst::init().unwrap();
        let error = |line| parse(line).unwrap_err().to_string();
        assert!(error("fakesrc ! avdec_nothing ! fakesink").contains("install the package gstreamer1.0-libav"));
        assert!(error("fakesrc ! nothingsink").contains("no element nothingsink"));
        assert!(error("fakesrc nothing=1 ! fakesink").contains("nothing"));
        assert!(parse("fakesrc").is_ok(), "a single element is a pipeline too");
    }
}

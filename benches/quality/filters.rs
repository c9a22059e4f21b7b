//! The filters to compare: ours, and the peers that are installed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use gst::prelude::*;

use crate::clip::{FRAME, HEIGHT, PIXELS, RATE, WIDTH};

pub struct Filter {
    pub name: String,
    how: How,
    /// The settings it runs with.
    pub line: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Nothing,
    /// An FFmpeg filter.
    Ffmpeg,
    /// A GStreamer element that takes frames as they are here.
    Element,
    /// One that wants RGBA.
    Rgba,
    /// One that wants grey; the input's colours are put back beside its luma.
    Grey,
}

/// Every filter; the ones of others with the settings that come closest to what ours does by default.
pub fn all() -> Vec<Filter> {
    let filter = |name: &str, how, line: &str| Filter { name: name.to_owned(), how, line: line.to_owned() };
    vec![
        filter("none", How::Nothing, "the input as it is"),
        filter("autolevels", How::Element, "autolevels"),
        filter("autolevels equalize", How::Element, "autolevels mode=equalize"),
        filter("normalize", How::Ffmpeg, "normalize=independence=0"),
        filter("normalize smoothing", How::Ffmpeg, "normalize=independence=0:smoothing=25"),
        filter("normaliz0r", How::Rgba, "frei0r-filter-normaliz0r independence=0 smoothing=0.2"),
        filter("histeq", How::Ffmpeg, "histeq"),
        filter("equaliz0r", How::Rgba, "frei0r-filter-equaliz0r"),
        filter("cvequalizehist", How::Grey, "cvequalizehist"),
    ]
}

impl Filter {
    /// A GStreamer element with settings of the caller's choice, named by them.
    pub fn element(line: &str) -> Filter {
        Filter { name: line.to_owned(), how: How::Element, line: line.to_owned() }
    }

    /// Whether it can be run here; if not, an error that says what is missing.
    pub fn check(&self) -> Result<()> {
        let name = self.line.split([' ', '=']).next().unwrap_or_default();
        match self.how {
            How::Nothing => Ok(()),
            How::Ffmpeg => {
                let known = FFMPEG.lines().any(|known| known.split_whitespace().nth(1) == Some(name));
                ensure!(known, "FFmpeg with its filter {name} is not installed");
                Ok(())
            }
            How::Element | How::Rgba | How::Grey => {
                ensure!(gst::ElementFactory::find(name).is_some(), "the GStreamer element {name} is not installed");
                Ok(())
            }
        }
    }

    /// Runs it over the file `input` of raw frames, by way of the file `output`, and returns what it made.
    pub fn run(&self, input: &Path, output: &Path) -> Result<Vec<u8>> {
        let given = fs::read(input)?;
        let line = &self.line;
        let converted = |format: &str| {
            let back = "videoconvert ! video/x-raw,format=I420,colorimetry=bt709";
            format!("videoconvert ! video/x-raw,format={format} ! {line} ! {back}")
        };
        match self.how {
            How::Nothing => return Ok(given),
            How::Ffmpeg => ffmpeg(line, input, output)?,
            How::Element => gstreamer(line, input, output)?,
            How::Rgba => gstreamer(&converted("RGBA"), input, output)?,
            How::Grey => gstreamer(&converted("GRAY8"), input, output)?,
        }
        let mut made = fs::read(output)?;
        ensure!(made.len() == given.len(), "{} bytes came out, {} were expected", made.len(), given.len());
        if self.how == How::Grey {
            for (frame, own) in made.chunks_exact_mut(FRAME).zip(given.chunks_exact(FRAME)) {
                frame[PIXELS..].copy_from_slice(&own[PIXELS..]);
            }
        }
        Ok(made)
    }
}

/// What `ffmpeg -filters` prints; empty without FFmpeg.
static FFMPEG: LazyLock<String> = LazyLock::new(|| ffmpeg_prints("-filters"));

fn ffmpeg_prints(option: &str) -> String {
    let output = Command::new("ffmpeg").args(["-hide_banner", option]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// The versions that the figures were measured with.
pub fn versions() -> String {
    let ffmpeg = ffmpeg_prints("-version");
    let ffmpeg = ffmpeg.split_whitespace().nth(2).map(|version| format!(", FFmpeg {version}"));
    let (major, minor, micro, _) = gst::version();
    format!("GStreamer {major}.{minor}.{micro}{}", ffmpeg.unwrap_or_default())
}

fn ffmpeg(filter: &str, input: &Path, output: &Path) -> Result<()> {
    let size = format!("{WIDTH}x{HEIGHT}");
    let rate = RATE.to_string();
    let raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p"];
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-y"]);
    command.args(raw).args(["-s", &size, "-r", &rate, "-color_range", "tv", "-colorspace", "bt709", "-i"]).arg(input);
    command.args(["-vf", filter]).args(raw).arg(output);
    let done = command.output()?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr).trim());
    Ok(())
}

fn gstreamer(elements: &str, input: &Path, output: &Path) -> Result<()> {
    let line = format!(
        "filesrc name=in blocksize={FRAME} ! \
         rawvideoparse format=i420 width={WIDTH} height={HEIGHT} framerate={RATE}/1 colorimetry=bt709 ! \
         {elements} ! filesink name=out"
    );
    let pipeline = gst::parse::launch(&line)?.downcast::<gst::Pipeline>().ok().context("the line is a pipeline")?;
    for (name, path) in [("in", input), ("out", output)] {
        pipeline.by_name(name).context("both files are in the line")?.set_property("location", path);
    }
    let bus = pipeline.bus().context("a pipeline has a bus")?;
    pipeline.set_state(gst::State::Playing)?;
    let patience = gst::ClockTime::from_seconds(120);
    let end = bus.timed_pop_filtered(patience, &[gst::MessageType::Eos, gst::MessageType::Error]);
    pipeline.set_state(gst::State::Null)?;
    match end.as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Error(error)) => bail!("{}", error.error()),
        Some(_) => Ok(()),
        None => bail!("no end after {} s", patience.seconds()),
    }
}

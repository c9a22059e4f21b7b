//! The filters to compare: ours, and the peers that are installed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use gst::prelude::*;

use crate::clip::{FRAME, HEIGHT, PIXELS, RATE, WIDTH};

pub struct Filter {
    pub name: &'static str,
    how: How,
}

enum How {
    Nothing,
    /// An FFmpeg filter with its settings.
    Ffmpeg(&'static str),
    /// An element, with its settings, that takes this module's frames as they are.
    Element(&'static str),
    /// An element that wants RGBA.
    Rgba(&'static str),
    /// An element that wants grey; the input's colours are put back beside its luma.
    Grey(&'static str),
}

/// Every filter; the ones of others with the settings that come closest to what ours does by default.
pub static FILTERS: [Filter; 9] = [
    Filter { name: "none", how: How::Nothing },
    Filter { name: "autolevels", how: How::Element("autolevels") },
    Filter { name: "autolevels equalize", how: How::Element("autolevels mode=equalize") },
    Filter { name: "normalize", how: How::Ffmpeg("normalize=independence=0") },
    Filter { name: "normalize smoothing", how: How::Ffmpeg("normalize=independence=0:smoothing=25") },
    Filter { name: "normaliz0r", how: How::Rgba("frei0r-filter-normaliz0r independence=0 smoothing=0.2") },
    Filter { name: "histeq", how: How::Ffmpeg("histeq") },
    Filter { name: "equaliz0r", how: How::Rgba("frei0r-filter-equaliz0r") },
    Filter { name: "cvequalizehist", how: How::Grey("cvequalizehist") },
];

impl Filter {
    /// The settings it runs with.
    pub fn line(&self) -> &'static str {
        match self.how {
            How::Nothing => "the input as it is",
            How::Ffmpeg(line) | How::Element(line) | How::Rgba(line) | How::Grey(line) => line,
        }
    }

    /// Whether it can be run here; if not, an error that says what is missing.
    pub fn check(&self) -> Result<()> {
        match self.how {
            How::Nothing => Ok(()),
            How::Ffmpeg(line) => {
                let name = line.split('=').next().unwrap_or(line);
                let known = FFMPEG.lines().any(|known| known.split_whitespace().nth(1) == Some(name));
                ensure!(known, "FFmpeg with its filter {name} is not installed");
                Ok(())
            }
            How::Element(line) | How::Rgba(line) | How::Grey(line) => {
                let name = line.split(' ').next().unwrap_or(line);
                ensure!(gst::ElementFactory::find(name).is_some(), "the GStreamer element {name} is not installed");
                Ok(())
            }
        }
    }

    /// Runs it over the file `input` of raw frames, by way of the file `output`, and returns what it made.
    pub fn run(&self, input: &Path, output: &Path) -> Result<Vec<u8>> {
        const BACK: &str = "videoconvert ! video/x-raw,format=I420,colorimetry=bt709";
        let given = fs::read(input)?;
        match self.how {
            How::Nothing => return Ok(given),
            How::Ffmpeg(line) => ffmpeg(line, input, output)?,
            How::Element(line) => gstreamer(line, input, output)?,
            How::Rgba(line) => {
                gstreamer(&format!("videoconvert ! video/x-raw,format=RGBA ! {line} ! {BACK}"), input, output)?;
            }
            How::Grey(line) => {
                gstreamer(&format!("videoconvert ! video/x-raw,format=GRAY8 ! {line} ! {BACK}"), input, output)?;
            }
        }
        let mut made = fs::read(output)?;
        ensure!(made.len() == given.len(), "{} bytes came out, {} were expected", made.len(), given.len());
        if matches!(self.how, How::Grey(_)) {
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

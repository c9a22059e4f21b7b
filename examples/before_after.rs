//! One frame of two files side by side, as a PNG.
//!
//!     cargo run --release --example before_after -- BEFORE AFTER OUT.png [SECONDS]
//!
//! SECONDS says which frame: the first one at or after that time, by default in the middle of the file.

use std::env;
use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result, bail};
use gst::prelude::*;
use gst_video::prelude::*;

struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [before, after, out, rest @ ..] = arguments.as_slice() else {
        bail!("usage: before_after BEFORE AFTER OUT.png [SECONDS]");
    };
    let seconds = rest.first().map(|text| text.parse::<f64>()).transpose().context("SECONDS is a number")?;
    gst::init()?;
    let before = frame_of(before, seconds).with_context(|| before.clone())?;
    let after = frame_of(after, seconds).with_context(|| after.clone())?;
    let (width, height) = (before.width + after.width, before.height.max(after.height));
    let mut rgb = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for picture in [&before, &after] {
            let row = picture.rgb.chunks_exact(picture.width * 3).nth(y);
            rgb.extend_from_slice(row.unwrap_or(&vec![0; picture.width * 3]));
        }
    }
    let file = File::create(out).with_context(|| out.clone())?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&rgb)?;
    Ok(())
}

/// Decodes the file up to the wanted frame.
fn frame_of(path: &str, seconds: Option<f64>) -> Result<Picture> {
    let line = "filesrc name=file ! decodebin ! videoconvert ! appsink name=sink sync=false max-buffers=2 caps=video/x-raw,format=RGB,pixel-aspect-ratio=1/1";
    let pipeline = gst::parse::launch(line)?.downcast::<gst::Pipeline>().ok().context("the line is a pipeline")?;
    pipeline.by_name("file").context("the source is in the line")?.set_property("location", path);
    let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().context("the sink is in the line")?;
    pipeline.set_state(gst::State::Playing)?;
    let picture = pull(&sink, &pipeline, seconds);
    pipeline.set_state(gst::State::Null)?;
    picture
}

fn pull(sink: &gst_app::AppSink, pipeline: &gst::Pipeline, seconds: Option<f64>) -> Result<Picture> {
    let mut wanted = seconds.map(gst::ClockTime::from_seconds_f64);
    let mut last = None;
    while let Ok(sample) = sink.pull_sample() {
        let wanted = *wanted.get_or_insert_with(|| pipeline.query_duration::<gst::ClockTime>().unwrap_or_default() / 2);
        let reached = sample.buffer().and_then(|buffer| buffer.pts()) >= Some(wanted);
        last = Some(sample);
        if reached {
            break;
        }
    }
    let sample = last.context("there is no video that can be decoded")?;
    let info = gst_video::VideoInfo::from_caps(sample.caps().context("a sample has caps")?)?;
    let buffer = sample.buffer_owned().context("a sample has a buffer")?;
    let frame =
        gst_video::VideoFrame::from_buffer_readable(buffer, &info).ok().context("the frame cannot be mapped")?;
    let (width, height) = (info.width() as usize, info.height() as usize);
    let stride = usize::try_from(frame.plane_stride()[0])?;
    let rows = frame.plane_data(0)?.chunks(stride).take(height);
    Ok(Picture { width, height, rgb: rows.flat_map(|row| &row[..width * 3]).copied().collect() })
}

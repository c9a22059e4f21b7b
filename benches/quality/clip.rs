//! What a clip is here: frames of one size as raw I420, limited range, BT.709.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use gst::prelude::*;

pub const WIDTH: usize = 320;
pub const HEIGHT: usize = 180;
pub const RATE: usize = 25;
/// Pixels, and so bytes of luma, in a frame.
pub const PIXELS: usize = WIDTH * HEIGHT;
/// Bytes in a frame: luma, then two chroma planes of half the width and height.
pub const FRAME: usize = PIXELS * 3 / 2;

pub struct Clip {
    pub name: String,
    /// Whole frames, one after the other.
    pub frames: Vec<u8>,
}

/// The clip's frames, each as luma and chroma.
pub fn planes(frames: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    frames.chunks_exact(FRAME).map(|frame| frame.split_at(PIXELS))
}

/// Decodes at most `count` frames of a file and brings them to this module's size and format. They are taken to
/// follow each other at [`RATE`], whatever the file says.
pub fn decode(path: &Path, count: usize) -> Result<Clip> {
    let line = format!(
        "filesrc name=file ! decodebin ! videoconvert ! videoscale method=4-tap add-borders=false ! \
         video/x-raw,format=I420,width={WIDTH},height={HEIGHT},colorimetry=bt709 ! appsink name=sink sync=false max-buffers=4"
    );
    let pipeline = gst::parse::launch(&line)?.downcast::<gst::Pipeline>().ok().context("the line is a pipeline")?;
    pipeline.by_name("file").context("the source is in the line")?.set_property("location", path);
    let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().context("the sink is in the line")?;
    pipeline.set_state(gst::State::Playing).context("cannot be opened")?;
    let mut frames = Vec::with_capacity(count * FRAME);
    while frames.len() < count * FRAME {
        let Ok(sample) = sink.pull_sample() else { break };
        let buffer = sample.buffer().context("a sample has a buffer")?;
        let map = buffer.map_readable()?;
        ensure!(map.len() == FRAME, "a frame of {} bytes came, {FRAME} were expected", map.len());
        frames.extend_from_slice(&map);
    }
    let error = pipeline.bus().and_then(|bus| bus.pop_filtered(&[gst::MessageType::Error]));
    pipeline.set_state(gst::State::Null)?;
    if let Some(gst::MessageView::Error(error)) = error.as_ref().map(|message| message.view()) {
        bail!("{}", error.error());
    }
    ensure!(frames.len() >= 2 * FRAME, "fewer than two frames of video");
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Clip { name, frames })
}

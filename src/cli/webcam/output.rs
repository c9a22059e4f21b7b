//! The half of the job that is behind the filter: window, recording, virtual camera.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use gst::prelude::*;

use super::super::Usage;
use super::super::launch::parse;
use super::traffic::Traffic;

/// Where the picture goes.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// A launch line for the window, `None` for none.
    pub window: Option<String>,
    /// Turns the picture in the window left to right.
    pub mirror: bool,
    pub record: Option<PathBuf>,
    pub virtual_camera: Option<String>,
}

/// The pipeline behind the filter.
pub struct Output {
    pipeline: gst::Pipeline,
    recorded: Arc<AtomicBool>,
    records: bool,
}

/// Encoder, parser and muxer, by the extension of the file.
fn format(path: &Path) -> Result<String> {
    const H264: &str =
        "x264enc tune=zerolatency speed-preset=veryfast pass=quant quantizer=21 key-int-max=120 ! h264parse";
    const VP8: &str = "vp8enc deadline=1 cpu-used=8 end-usage=cq cq-level=12 max-quantizer=40 target-bitrate=8000000 keyframe-max-dist=120 threads=4";
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let (encoder, muxer) = match extension.as_str() {
        "mkv" => (H264, "matroskamux"),
        "mp4" => (H264, "mp4mux"),
        "mov" => (H264, "qtmux"),
        "webm" => (VP8, "webmmux"),
        _ => bail!(Usage(format!("{}: the name of a recording ends in .mkv, .mp4, .mov or .webm", path.display()))),
    };
    Ok(format!("{encoder} ! {muxer}"))
}

/// A queue that keeps the newest frame only.
const NEWEST: &str = "queue max-size-buffers=1 max-size-bytes=0 max-size-time=0 leaky=downstream";
/// A queue for an encoder that is slow now and then. If it stays slow, old frames are dropped.
const SECOND: &str =
    "queue name=recording max-size-buffers=0 max-size-bytes=0 max-size-time=1000000000 leaky=downstream";

fn line(targets: &Targets) -> Result<String> {
    let mut line = String::from("tee name=levelled allow-not-linked=true");
    if let Some(window) = &targets.window {
        // Flipping knows few formats.
        let flip = if targets.mirror { "videoconvert ! videoflip video-direction=horiz ! " } else { "" };
        let _ = write!(line, " levelled. ! {NEWEST} ! identity name=window ! {flip}videoconvert ! {window}");
    }
    if let Some(device) = &targets.virtual_camera {
        let _ = write!(
            line,
            " levelled. ! {NEWEST} ! identity name=camera ! videoconvert ! video/x-raw,format=YUY2 \
             ! v4l2sink device=\"{device}\" sync=false async=false"
        );
    }
    if let Some(path) = &targets.record {
        let _ = write!(
            line,
            " levelled. ! {SECOND} ! videoconvert ! videoscale ! capsfilter name=size ! {} ! filesink name=file async=false",
            format(path)?
        );
    }
    Ok(line)
}

impl Output {
    /// A pipeline from `appsrc` to the targets, not started.
    ///
    /// # Errors
    /// If an element for it is missing, or the recording has no format.
    pub fn new(targets: &Targets, appsrc: &gst_app::AppSrc, traffic: &Arc<Traffic>) -> Result<Output> {
        let pipeline = parse(&line(targets)?)?;
        pipeline.add(appsrc)?;
        let tee = pipeline.by_name("levelled").context("the tee is in the line")?;
        appsrc.link(&tee)?;
        tee.src_pads().iter().filter_map(|branch| branch.peer()).for_each(|queue| refuse_to_wait(&queue));
        let recorded = Arc::new(AtomicBool::new(false));
        if let (Some(path), Some(file)) = (&targets.record, pipeline.by_name("file")) {
            file.set_property("location", path);
            watch_end(&file, &recorded)?;
            let size = pipeline.by_name("size").context("the capsfilter is in the line")?;
            keep_size(&pipeline.by_name("recording").context("the queue is in the line")?, &size)?;
        }
        let far = ["window", "camera", "size"].iter().find_map(|name| pipeline.by_name(name));
        if let Some(pad) = far.and_then(|far| far.static_pad("src")) {
            let traffic = traffic.clone();
            pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                traffic.delivered(info.buffer().and_then(|buffer| buffer.pts()));
                gst::PadProbeReturn::Ok
            });
        }
        Ok(Output { pipeline, recorded, records: targets.record.is_some() })
    }

    pub fn pipeline(&self) -> &gst::Pipeline {
        &self.pipeline
    }

    /// Whether the recording, if there is one, has got its end.
    pub fn is_recorded(&self) -> bool {
        !self.records || self.recorded.load(Ordering::SeqCst)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

/// Answers the queries that would wait in the queue of a branch until its frames are gone: one branch that is
/// stuck would hold up the others.
fn refuse_to_wait(queue: &gst::Pad) {
    queue.add_probe(gst::PadProbeType::QUERY_DOWNSTREAM, |_, info| {
        match info.query().is_some_and(|query| query.is_serialized()) {
            true => gst::PadProbeReturn::Drop,
            false => gst::PadProbeReturn::Ok,
        }
    });
}

/// Notices when the end of the stream gets to the file.
fn watch_end(file: &gst::Element, recorded: &Arc<AtomicBool>) -> Result<()> {
    let recorded = recorded.clone();
    let pad = file.static_pad("sink").context("a filesink has a sink pad")?;
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        if info.event().is_some_and(|event| event.type_() == gst::EventType::Eos) {
            recorded.store(true, Ordering::SeqCst);
        }
        gst::PadProbeReturn::Ok
    });
    Ok(())
}

/// Fixes the size of the recording at that of the first frame: a camera that comes back may come back
/// otherwise, which files cannot hold.
fn keep_size(queue: &gst::Element, filter: &gst::Element) -> Result<()> {
    let filter = filter.clone();
    let pad = queue.static_pad("src").context("a queue has a source pad")?;
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        let Some(gst::EventView::Caps(event)) = info.event().map(|event| event.view()) else {
            return gst::PadProbeReturn::Ok;
        };
        if let Ok(video) = gst_video::VideoInfo::from_caps(event.caps()) {
            let caps = gst::Caps::builder("video/x-raw")
                .field("width", video.width() as i32)
                .field("height", video.height() as i32)
                .field("pixel-aspect-ratio", video.par())
                .build();
            filter.set_property("caps", &caps);
        }
        gst::PadProbeReturn::Remove
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_is_a_branch() {
        let mut targets = Targets { window: Some("fakesink".into()), ..Targets::default() };
        assert!(!line(&targets).unwrap().contains("videoflip"));
        targets.mirror = true;
        targets.record = Some("a.MP4".into());
        targets.virtual_camera = Some("/dev/video10".into());
        let line = line(&targets).unwrap();
        for part in ["videoflip", "mp4mux", "v4l2sink device=\"/dev/video10\""] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert_eq!(line.matches("levelled. !").count(), 3);
        assert!(format(Path::new("a.avi")).unwrap_err().to_string().contains(".webm"));
    }
}

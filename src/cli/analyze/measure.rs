//! Decodes a file and measures every frame of it; nothing is written or encoded.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use gst::prelude::*;
use gst_video::VideoInfo;

use autolevels::backend::Backend;
use autolevels::cpu::Cpu;
use autolevels::frame::{Access, Format, FrameError, FrameInfo, FrameMemory, Planes};
use autolevels::gpu;
use autolevels::grid::Grid;
use autolevels::levels::curves::Curves;
use autolevels::levels::framing::Framing;
use autolevels::levels::statistics::Statistics;
use autolevels::levels::{Levels, Report};
use autolevels::settings::{BackendChoice, Settings};
use autolevels::video::{GstFrame, frame_info};

/// How long the pipeline may give neither a frame nor a message before the interrupt is looked at.
const PATIENCE: gst::ClockTime = gst::ClockTime::from_mseconds(200);

/// One measured frame.
pub struct Measured<'a> {
    /// Its running time.
    pub time: Duration,
    /// Frame number from 0.
    pub number: u64,
    pub info: &'a FrameInfo,
    /// Pixels at each luma code.
    pub histogram: &'a [u32],
    pub report: Report,
    /// What would be applied to it.
    pub curves: &'a Curves,
}

/// A frame that is only read.
struct ReadOnly(GstFrame);

impl FrameMemory for ReadOnly {
    fn input(&self) -> Planes<'_> {
        self.0.input()
    }
    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        Err(FrameError::Memory("this frame is only measured".into()))
    }
}

/// The measuring half of the filter for one format and size.
struct Meter {
    video: VideoInfo,
    info: FrameInfo,
    backend: Box<dyn Backend>,
    framing: Framing,
    levels: Levels,
    statistics: Statistics,
}

impl Meter {
    fn new(video: VideoInfo, info: FrameInfo, settings: &Settings) -> Result<Meter> {
        // Decoded frames lie in the memory of the CPU, which counts them faster than they could be sent on.
        let backend: Box<dyn Backend> = match settings.backend {
            BackendChoice::Gpu => gpu::open(&info, 1, &settings.adapter, true)?,
            BackendChoice::Auto | BackendChoice::Cpu => Box::new(Cpu::new(&info, 1)),
        };
        let statistics = Statistics::empty(info.range.codes(), Grid::new(&info).chunks());
        Ok(Meter { video, framing: Framing::new(&info), levels: Levels::new(&info), info, backend, statistics })
    }

    /// Measures a frame; `false` if it has no vote.
    fn measure(&mut self, buffer: gst::Buffer, settings: &Settings, time: Option<f64>) -> Result<bool> {
        if buffer.flags().intersects(gst::BufferFlags::GAP | gst::BufferFlags::CORRUPTED) {
            return Ok(false);
        }
        let nothing = std::sync::Arc::new(|_: &gst::BufferRef| Err(FrameError::Memory(String::new())));
        let frame = GstFrame::new(buffer, &self.video, nothing).map_err(|(_, error)| error)?;
        let mut frame = ReadOnly(frame);
        let window = self.framing.window(&frame.input(), settings, time);
        self.levels.set_window(window);
        self.backend.set_window(window)?;
        self.backend.measure(0, &mut frame)?;
        self.backend.flush()?;
        self.backend.statistics(0, &mut self.statistics)?;
        Ok(true)
    }
}

/// Calls `each` with every frame of the video in `path`, in order. Returns early, with `Ok`, when `stop` says so.
///
/// # Errors
/// If there is no video that can be decoded, or `each` fails.
pub fn measure_file(
    path: &Path,
    settings: &Settings,
    stop: impl Fn() -> bool,
    mut each: impl FnMut(Measured) -> Result<()>,
) -> Result<()> {
    let line = "filesrc name=file ! decodebin ! videoconvert n-threads=0 ! appsink name=sink sync=false max-buffers=4 enable-last-sample=false";
    let pipeline = gst::parse::launch(line)?.downcast::<gst::Pipeline>().map_err(|_| anyhow!("no pipeline"))?;
    pipeline.by_name("file").context("the source is in the line")?.set_property("location", path);
    let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().context("the sink is in the line")?;
    let formats = Format::ALL.iter().map(|format| format.name());
    sink.set_caps(Some(&gst::Caps::builder("video/x-raw").field("format", gst::List::new(formats)).build()));
    let result = play(&pipeline, &sink, settings, stop, &mut each);
    pipeline.set_state(gst::State::Null)?;
    result
}

fn play(
    pipeline: &gst::Pipeline,
    sink: &gst_app::AppSink,
    settings: &Settings,
    stop: impl Fn() -> bool,
    each: &mut impl FnMut(Measured) -> Result<()>,
) -> Result<()> {
    let bus = pipeline.bus().context("a pipeline has a bus")?;
    // Why it could not start is on the bus.
    let _ = pipeline.set_state(gst::State::Playing);
    let mut meter: Option<Meter> = None;
    let mut number = 0;
    while !stop() {
        let Some(sample) = sink.try_pull_sample(PATIENCE) else {
            match ending(&bus)? {
                Some(()) => break,
                None => continue,
            }
        };
        let (Some(caps), Some(buffer)) = (sample.caps(), sample.buffer_owned()) else { continue };
        let (video, info) = frame_info(caps).with_context(|| format!("frames of {caps} cannot be measured"))?;
        let pts = buffer.pts();
        let time = sample.segment().and_then(|segment| {
            segment.downcast_ref::<gst::ClockTime>().and_then(|segment| segment.to_running_time(pts))
        });
        let time = time.map(Duration::from);
        drop(sample);
        if meter.as_ref().is_none_or(|meter| (&meter.video, &meter.info) != (&video, &info)) {
            meter = Some(Meter::new(video, info, settings)?);
        }
        let Some(meter) = &mut meter else { continue };
        let seconds = time.map(|time| time.as_secs_f64());
        let decision = if meter.measure(buffer, settings, seconds)? {
            meter.levels.decide(&meter.statistics, settings, seconds)
        } else {
            meter.levels.hold()
        };
        each(Measured {
            time: time.unwrap_or_default(),
            number,
            info: &meter.info,
            histogram: &meter.statistics.luma,
            report: decision.report,
            curves: &decision.curves,
        })?;
        number += 1;
    }
    if number == 0 && !stop() {
        bail!("there is no video in it");
    }
    Ok(())
}

/// Whether the stream ended, by what is on the bus.
fn ending(bus: &gst::Bus) -> Result<Option<()>> {
    let mut missing = None;
    while let Some(message) =
        bus.pop_filtered(&[gst::MessageType::Eos, gst::MessageType::Error, gst::MessageType::Element])
    {
        match message.view() {
            gst::MessageView::Eos(_) => return Ok(Some(())),
            gst::MessageView::Element(_) => {
                if let Ok(message) = gst_pbutils::MissingPluginMessage::parse(&message) {
                    missing = Some(message.description());
                }
            }
            gst::MessageView::Error(error) => match missing {
                Some(missing) => bail!("GStreamer lacks a {missing}"),
                None => bail!("{}", error.error()),
            },
            _ => {}
        }
    }
    Ok(None)
}

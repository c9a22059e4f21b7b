//! The half of the job that is before the filter. It is started anew whenever the camera is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use gst::prelude::*;

use super::camera::{self, Wish};
use super::traffic::Traffic;

/// How long to wait between two tries to get the camera back.
const RETRY: Duration = Duration::from_secs(1);

/// Where frames come from.
pub enum Source {
    Camera(Wish),
    /// A launch line.
    Line(String),
}

impl Source {
    fn make(&self) -> Result<gst::Bin> {
        match self {
            Source::Camera(wish) => camera::source(&camera::find(wish)?, wish),
            Source::Line(line) => {
                // Pads are shown by hand: those that decodebin is still to be linked to look free.
                let whole = format!("{line} ! decodebin ! identity name=autolevels-source-end");
                let bin = gst::parse::bin_from_description(&whole, false)
                    .map_err(|error| anyhow!("the source '{line}' is wrong: {}", error.message()))?;
                let end = bin.by_name("autolevels-source-end").and_then(|end| end.static_pad("src"));
                bin.add_pad(&gst::GhostPad::with_target(&end.context("the end is in the line")?)?)?;
                Ok(bin)
            }
        }
    }
}

/// What has become of the input.
pub enum Event {
    /// It is gone; this is why. It is tried again from time to time.
    Lost(String),
    /// It is there again.
    Back,
    /// The source has come to its end.
    Ended,
    Warning(String),
}

/// The pipeline before the filter.
pub struct Input {
    pipeline: gst::Pipeline,
    convert: gst::Element,
    source: Source,
    bin: Option<gst::Bin>,
    /// The present source sent its end of stream, which does not go on to the filter.
    ended: Arc<AtomicBool>,
    lost: Option<Instant>,
    traffic: Arc<Traffic>,
}

impl Input {
    /// A pipeline from `source` to `appsink`, not started.
    pub fn new(source: Source, appsink: &gst_app::AppSink, traffic: Arc<Traffic>) -> Result<Input> {
        let pipeline = gst::Pipeline::with_name("input");
        let convert = gst::ElementFactory::make("videoconvert").build()?;
        pipeline.add_many([&convert, appsink.upcast_ref()])?;
        convert.link(appsink)?;
        let arriving = traffic.clone();
        let pad = appsink.static_pad("sink").context("an appsink has a sink pad")?;
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            arriving.arrived(info.buffer().and_then(|buffer| buffer.pts()));
            gst::PadProbeReturn::Ok
        });
        let ended = Arc::default();
        Ok(Input { pipeline, convert, source, bin: None, ended, lost: None, traffic })
    }

    pub fn pipeline(&self) -> &gst::Pipeline {
        &self.pipeline
    }

    /// Makes the source and starts it.
    ///
    /// # Errors
    /// If there is no such source.
    pub fn start(&mut self) -> Result<()> {
        self.stop()?;
        let bin = self.source.make()?;
        let ended = Arc::new(AtomicBool::new(false));
        self.ended = ended.clone();
        let pad = bin.static_pad("src").context("the source has no output")?;
        pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
            if info.event().is_some_and(|event| event.type_() == gst::EventType::Eos) {
                ended.store(true, Ordering::SeqCst);
                return gst::PadProbeReturn::Handled;
            }
            gst::PadProbeReturn::Ok
        });
        self.pipeline.add(&bin)?;
        self.bin = Some(bin.clone());
        bin.link(&self.convert)?;
        if self.pipeline.set_state(gst::State::Playing).is_err() {
            let reason = self.error_on_bus().unwrap_or_else(|| "it does not start".into());
            bail!("{reason}");
        }
        Ok(())
    }

    /// Stops and forgets the source.
    pub fn stop(&mut self) -> Result<()> {
        self.pipeline.set_state(gst::State::Null)?;
        if let Some(bin) = self.bin.take() {
            bin.unlink(&self.convert);
            self.pipeline.remove(&bin)?;
        }
        Ok(())
    }

    /// Looks after the input; to be called again and again.
    pub fn look_after(&mut self) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        let bus = self.pipeline.bus().context("a pipeline has a bus")?;
        while let Some(message) = bus.pop() {
            match message.view() {
                gst::MessageView::Error(error) if self.lost.is_none() => {
                    events.push(Event::Lost(error.error().message().to_owned()));
                    self.lose()?;
                    return Ok(events);
                }
                gst::MessageView::Warning(warning) => {
                    events.push(Event::Warning(warning.error().message().to_owned()));
                }
                gst::MessageView::Latency(_) => {
                    let _ = self.pipeline.recalculate_latency();
                }
                _ => {}
            }
        }
        if let Some(since) = self.lost {
            if since.elapsed() < RETRY {
                return Ok(events);
            }
            // A source that is started is not yet one that gives frames.
            if self.bin.is_none() {
                if self.start().is_err() {
                    self.lose()?;
                }
            } else if self.traffic.arrived_after(since) {
                self.lost = None;
                events.push(Event::Back);
            }
            if let Some(reason) = self.lost.and_then(|_| self.error_on_bus()) {
                log::debug!("still no camera: {reason}");
                self.lose()?;
            }
        } else if self.ended.load(Ordering::SeqCst) {
            events.push(Event::Ended);
        }
        Ok(events)
    }

    fn lose(&mut self) -> Result<()> {
        self.lost = Some(Instant::now());
        self.stop()
    }

    fn error_on_bus(&self) -> Option<String> {
        let message = self.pipeline.bus()?.pop_filtered(&[gst::MessageType::Error])?;
        match message.view() {
            gst::MessageView::Error(error) => Some(error.error().message().to_owned()),
            _ => None,
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

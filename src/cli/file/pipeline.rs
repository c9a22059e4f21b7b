//! The pipeline of a file job.
//!
//! ```text
//! filesrc ─▶ decodebin ─▶ queue ─▶ videoconvert ─▶ videoflip ─▶ appsink ··▶ bridge ··▶ appsrc ─▶ encoder ─▶ muxer ─▶ filesink
//!                    └──▶ queue ─▶ (convert, resample, encode) ───────────────────────────────────────────────▶┘
//! ```
//!
//! `decodebin` stops decoding at what the muxer takes, so that sound is copied. All branches are linked in its
//! `no-more-pads` signal: no data flows before that, and the muxer's pads must be there when it does.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context, anyhow};
use autolevels::bridge::{Bridge, Options};
use autolevels::settings::Settings;
use gst::prelude::*;

use super::super::interrupt::Interrupts;
use super::super::progress::Reporter;
use super::caps;
use super::containers::Container;
use super::cut::Cut;
use super::encoders::VideoEncoder;
use super::streams::{Streams, Word};
use super::summary::Summary;
use super::trouble::Trouble;

/// How often the bus, the interrupts and the progress are looked at.
const TICK: gst::ClockTime = gst::ClockTime::from_mseconds(50);

/// What is done with one file.
pub struct Job<'a> {
    pub input: &'a Path,
    pub output: &'a Path,
    pub container: Container,
    pub encoder: VideoEncoder,
    pub audio_encoder: Option<&'a str>,
    pub settings: &'a Settings,
}

/// How a pipeline ended, if it did not fail.
pub enum Ended {
    /// The file is complete, perhaps cut short.
    Complete(Summary),
    /// It was stopped in the middle; the file is of no use.
    Stopped,
}

/// Makes an element of GStreamer's own.
pub fn make(name: &str) -> anyhow::Result<gst::Element> {
    gst::ElementFactory::make(name)
        .build()
        .with_context(|| format!("the GStreamer element {name} is missing (gst-plugins-base or -good has it)"))
}

struct Running {
    pipeline: gst::Pipeline,
    bridge: Bridge,
    streams: Arc<Streams>,
    words: Receiver<Word>,
    cut: Cut,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing can be done about a pipeline that does not stop.
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

/// Runs the job, writing to `temporary`.
pub fn run(job: &Job, temporary: &Path, reporter: &mut Reporter, interrupts: &Interrupts) -> anyhow::Result<Ended> {
    let (input, output) = (job.input.display().to_string(), job.output.display().to_string());
    reporter.start(&job.input.file_name().unwrap_or_default().to_string_lossy(), &input, &output);
    let running = Running::start(job, temporary)?;
    running.wait(job, reporter, interrupts)
}

impl Running {
    fn start(job: &Job, temporary: &Path) -> anyhow::Result<Running> {
        let bridge = Bridge::new(job.settings, Options::default())?;
        // Only what can be levelled and encoded as it is; the rest is converted before.
        bridge.appsink().set_caps(Some(&Bridge::caps().intersect(&job.encoder.takes())));

        let pipeline = gst::Pipeline::new();
        pipeline.set_auto_flush_bus(false);
        // The end of the file is told by the filesink, whatever other branches still do.
        pipeline.set_property("message-forward", true);
        let source = make("filesrc")?;
        source.set_property("location", job.input);
        let decoder = make("decodebin")?;
        let sink = make("filesink")?;
        sink.set_property("location", temporary);
        // An encoder that looks ahead gives nothing to preroll with.
        sink.set_property("async", false);
        let muxer = job.container.muxer()?;
        pipeline.add_many([&source, &decoder, &muxer, &sink])?;
        source.link(&decoder)?;
        muxer.link(&sink)?;

        let pictures = make("queue")?;
        pictures.set_property("max-size-buffers", 2_u32);
        pictures.set_property("max-size-bytes", 0_u32);
        pictures.set_property("max-size-time", 0_u64);
        caps::complete_colorimetry(&pictures.static_pad("sink").context("a queue has a sink pad")?);
        let convert = make("videoconvert")?;
        // Files that carry their rotation as a tag come out upright: the muxers drop the tag.
        let flip = make("videoflip")?;
        flip.set_property_from_str("video-direction", "auto");
        let front = [&pictures, &convert, &flip, bridge.appsink().upcast_ref()];
        pipeline.add_many(front)?;
        gst::Element::link_many(front)?;

        let encoder = job.encoder.make()?;
        pipeline.add(bridge.appsrc())?;
        pipeline.add_many(&encoder)?;
        bridge.appsrc().link(&encoder[0])?;
        gst::Element::link_many(&encoder)?;
        let last = encoder.last().expect("there is an encoder at least");
        let pad = muxer.request_pad_simple("video_%u").context("the muxer takes no video")?;
        last.static_pad("src").context("the encoder has no output")?.link(&pad)?;
        caps::refine_timescale(&pad);

        let (sender, words): (Sender<Word>, _) = channel();
        let cut = Cut::default();
        let streams = Arc::new(Streams {
            pipeline: pipeline.downgrade(),
            muxer: muxer.downgrade(),
            pictures: pictures.static_pad("sink").context("a queue has a sink pad")?.downgrade(),
            container: job.container,
            audio_encoder: job.audio_encoder.map(str::to_owned),
            cut: cut.clone(),
            words: sender,
        });
        decoder.set_property("caps", streams.wanted());
        caps::prefer_stream_colorimetry(&decoder);
        let linker = streams.clone();
        decoder.connect_no_more_pads(move |decoder| linker.link(decoder));
        let running = Running { pipeline, bridge, streams, words, cut };
        // Why it fails is on the bus.
        let _ = running.pipeline.set_state(gst::State::Playing);
        Ok(running)
    }

    /// Watches the pipeline to its end.
    fn wait(&self, job: &Job, reporter: &mut Reporter, interrupts: &Interrupts) -> anyhow::Result<Ended> {
        let bus = self.pipeline.bus().context("a pipeline has a bus")?;
        let mut trouble = Trouble::new(job.input, job.output);
        let mut finishing = false;
        let mut told_format = false;
        loop {
            let message = bus.timed_pop(TICK);
            for word in self.words.try_iter() {
                match word {
                    Word::Note(text) => reporter.note(&text),
                    Word::Failed(error) => return Err(trouble.told(error)),
                }
            }
            match message.as_ref().map(|message| message.view()) {
                Some(gst::MessageView::Error(error)) => return Err(trouble.explain(error)),
                Some(gst::MessageView::Warning(warning)) => reporter.note(&warning.error().to_string()),
                Some(gst::MessageView::Element(element)) if is_end_of_file(element) => break,
                Some(gst::MessageView::Element(element)) => trouble.notice(element),
                Some(gst::MessageView::Latency(_)) => {
                    // Nothing here is live: a failure changes nothing.
                    let _ = self.pipeline.recalculate_latency();
                }
                _ => {}
            }
            let progress = self.bridge.progress();
            if let Some(caps) = progress.caps.as_ref().filter(|_| !told_format) {
                told_format = true;
                self.streams.tell_conversion(caps);
            }
            match interrupts.count() {
                0 => {}
                1 if progress.frames > 0 || finishing => {
                    if !finishing {
                        finishing = true;
                        reporter.note("finishing the file; interrupt again to stop at once");
                        let cut = self.cut.clone();
                        self.bridge.finish(move |end| cut.set(end));
                    }
                }
                _ => return Ok(Ended::Stopped),
            }
            reporter.progress(progress.frames, progress.position, self.streams.duration());
        }
        self.pipeline.set_state(gst::State::Null).context("the pipeline does not stop")?;
        // The last bytes are written when the file is closed.
        while let Some(message) = bus.pop() {
            if let gst::MessageView::Error(error) = message.view() {
                return Err(trouble.explain(error));
            }
        }
        let progress = self.bridge.progress();
        if progress.frames == 0 {
            return Err(anyhow!("no frame of {} could be decoded: the file is damaged", job.input.display()));
        }
        Ok(Ended::Complete(Summary::new(progress, reporter, finishing)))
    }
}

/// Whether this is the filesink's word, forwarded by the pipeline, that everything is written.
fn is_end_of_file(element: &gst::message::Element) -> bool {
    let Some(structure) = element.structure().filter(|structure| structure.name() == "GstBinForwarded") else {
        return false;
    };
    structure.get::<gst::Message>("message").is_ok_and(|message| {
        let sink = message.src().and_then(|source| source.downcast_ref::<gst::Element>()).and_then(|e| e.factory());
        message.type_() == gst::MessageType::Eos && sink.is_some_and(|factory| factory.name() == "filesink")
    })
}

/// A duration of GStreamer's as one of Rust's.
pub fn to_duration(time: gst::ClockTime) -> Duration {
    time.into()
}

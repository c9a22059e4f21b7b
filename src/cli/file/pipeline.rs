//! The pipeline of a file job.
//!
//! ```text
//! filesrc ─▶ decodebin ─▶ queue ─▶ (convert, turn, scale) ─▶ appsink ··▶ bridge ··▶ appsrc ─▶ (convert) ─▶ encoder ─▶ muxer ─▶ filesink
//!                    └──▶ queue ─▶ (convert, resample, encode) ────────────────────────────────────────────▶┘
//! ```
//!
//! `decodebin` stops decoding at what the muxer takes, so that sound is copied. All branches are linked in its
//! `no-more-pads` signal: no data flows before that, and the muxer's pads must be there when it does.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context, bail};
use autolevels::bridge::{Bridge, Options};
use autolevels::settings::Settings;
use gst::prelude::*;

use super::super::interrupt::Interrupts;
use super::super::progress::Reporter;
use super::backlog::Backlog;
use super::caps;
use super::containers::Container;
use super::cut::Cut;
use super::encoders::VideoEncoder;
use super::losses::Losses;
use super::matroska::Mended;
use super::pictures::{self, Pictures};
use super::raw::{self, RawVideo};
use super::streams::{Streams, Word};
use super::summary::Summary;
use super::trouble::Trouble;
use super::watchdog::Watchdog;
use super::written::Written;
use super::y4m;

/// How often the bus, the interrupts and the progress are looked at.
const TICK: gst::ClockTime = gst::ClockTime::from_mseconds(50);

/// Seconds of the input that may be missing at its end before that is said. Containers do not say their length
/// exactly.
const MISSING: f64 = 1.0;

/// Warnings of GStreamer's that are told: a damaged file may give thousands.
const WARNINGS: usize = 5;

/// What is done with one file.
pub struct Job<'a> {
    pub input: &'a Path,
    pub output: &'a Path,
    /// The file that is written; stdout if there is none.
    pub temporary: Option<&'a Path>,
    /// None for stdout.
    pub container: Option<Container>,
    pub encoder: VideoEncoder,
    pub audio_encoder: Option<&'a str>,
    /// Raw video on stdin or stdout.
    pub raw: Option<RawVideo>,
    pub settings: &'a Settings,
}

impl Job<'_> {
    /// Whether another program has a say in how fast it goes.
    fn is_piped(&self) -> bool {
        is_pipe(self.input) || is_pipe(self.output)
    }

    /// Whether the muxer takes the chapters that come to it with the streams.
    fn keeps_chapters(&self) -> bool {
        matches!(self.container, Some(Container::Matroska | Container::WebM))
    }
}

/// How a pipeline ended, if it did not fail.
pub enum Ended {
    /// The file is complete, perhaps cut short.
    Complete(Box<Summary>),
    /// It was stopped in the middle; the file is of no use.
    Stopped,
}

/// Makes an element of GStreamer's own.
pub fn make(name: &str) -> anyhow::Result<gst::Element> {
    gst::ElementFactory::make(name)
        .build()
        .with_context(|| format!("the GStreamer element {name} is missing (gst-plugins-base or -good has it)"))
}

fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Where the result goes.
fn sink(job: &Job) -> anyhow::Result<gst::Element> {
    let sink = match job.temporary {
        Some(path) => {
            let sink = make("filesink")?;
            sink.set_property("location", path);
            sink
        }
        None => {
            let sink = make("fdsink")?;
            sink.set_property("fd", 1);
            sink
        }
    };
    // An encoder that looks ahead gives nothing to preroll with.
    sink.set_property("async", false);
    sink.set_property("sync", false);
    Ok(sink)
}

/// Reads and decodes the input, and links what is found.
fn attach_source(
    job: &Job,
    pipeline: &gst::Pipeline,
    streams: &Arc<Streams>,
    losses: &Losses,
) -> anyhow::Result<Option<Mended>> {
    let source = if is_pipe(job.input) {
        make("fdsrc")?
    } else {
        let source = make("filesrc")?;
        source.set_property("location", job.input);
        source
    };
    pipeline.add(&source)?;
    if let Some(raw) = job.raw.filter(|_| is_pipe(job.input)) {
        let parser = raw.parser()?;
        pipeline.add(&parser)?;
        source.link(&parser)?;
        let pictures = streams.pictures.upgrade().context("the pipeline is gone")?;
        parser.static_pad("src").context("a parser has an output")?.link(&pictures)?;
        return Ok(None);
    }
    let pictures = streams.pictures.upgrade().context("the pipeline is gone")?;
    let output = source.static_pad("src").context("a source has an output")?;
    let mended = if is_pipe(job.input) {
        y4m::read_stream(&output, &pictures);
        None
    } else {
        y4m::read_file(job.input, &pictures);
        Mended::watch(job.input, &output)
    };
    let decoder = make("decodebin")?;
    pipeline.add(&decoder)?;
    source.link(&decoder)?;
    decoder.set_property("caps", streams.wanted());
    caps::prefer_stream_colorimetry(&decoder);
    losses.watch(&decoder);
    let linker = streams.clone();
    decoder.connect_no_more_pads(move |decoder| linker.link(decoder));
    Ok(mended)
}

struct Running {
    pipeline: gst::Pipeline,
    bridge: Bridge,
    pictures: Pictures,
    streams: Arc<Streams>,
    losses: Losses,
    mended: Option<Mended>,
    written: Written,
    words: Receiver<Word>,
    cut: Cut,
    backlog: Backlog,
    /// Length of the input, once it is known.
    duration: Cell<Option<Duration>>,
    /// It is not to be taken down: nothing happens in it any more, or too much does.
    left: Cell<bool>,
    sink: gst::Element,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing can be done about a pipeline that does not stop.
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

/// Runs the job.
pub fn run(job: &Job, reporter: &mut Reporter, interrupts: &Interrupts) -> anyhow::Result<Ended> {
    let (input, output) = (job.input.display().to_string(), job.output.display().to_string());
    reporter.start(&job.input.file_name().unwrap_or_default().to_string_lossy(), &input, &output);
    let running = Running::start(job)?;
    let ended = running.wait(job, reporter, interrupts);
    if running.left.get() {
        // It would not stop either, and nothing is lost with a process that goes on or ends.
        std::mem::forget(running);
    }
    ended
}

impl Running {
    fn start(job: &Job) -> anyhow::Result<Running> {
        let bridge = Bridge::new(job.settings, Options::default())?;
        let pipeline = gst::Pipeline::new();
        pipeline.set_auto_flush_bus(false);
        // The end of the file is told by its sink, whatever other branches still do.
        pipeline.set_property("message-forward", true);

        let (sender, words): (Sender<Word>, _) = channel();
        let pictures = Pictures::build(&pipeline, &bridge, &job.encoder, &sender)?;
        let converter = pictures::converter(&job.encoder, &sender)?;
        let mut encoder = converter.to_vec();
        encoder.extend(job.encoder.make()?);
        pipeline.add(bridge.appsrc())?;
        pipeline.add_many(&encoder)?;
        bridge.appsrc().link(&encoder[0])?;
        gst::Element::link_many(&encoder)?;
        let last = encoder.last().and_then(|last| last.static_pad("src")).context("the encoder has no output")?;

        let sink = sink(job)?;
        pipeline.add(&sink)?;
        let into_sink = sink.static_pad("sink").context("a sink has a sink pad")?;
        let (pad, muxer) = match job.container {
            Some(container) => {
                let muxer = container.muxer()?;
                pipeline.add(&muxer)?;
                muxer.link(&sink)?;
                let pad = muxer.request_pad_simple("video_%u").context("the muxer takes no video")?;
                caps::refine_timescale(&pad);
                (pad, Some((container, muxer.downgrade())))
            }
            None => (into_sink, None),
        };
        last.link(&pad)?;
        match (job.container, job.raw) {
            (None, Some(_)) => raw::pack(&pad),
            (None, None) => y4m::write(&pad, &encoder[converter.len()]),
            _ => {}
        }
        let cut = Cut::default();
        let into_encoder = encoder[converter.len()].static_pad("sink").context("the encoder has no input")?;
        let written = Written::default();
        let backlog = Backlog::watch(&into_encoder, &pad, &cut, &written);
        written.count(&pad);
        let streams = Arc::new(Streams {
            pipeline: pipeline.downgrade(),
            muxer,
            pictures: pictures.input.downgrade(),
            audio_encoder: job.audio_encoder.map(str::to_owned),
            cut: cut.clone(),
            written: written.clone(),
            words: sender,
        });
        let losses = Losses::default();
        let mended = attach_source(job, &pipeline, &streams, &losses)?;
        let (duration, left) = (Cell::new(None), Cell::new(false));
        let running = Running {
            pipeline,
            bridge,
            pictures,
            streams,
            losses,
            mended,
            written,
            words,
            cut,
            backlog,
            duration,
            left,
            sink,
        };
        // Why it fails is on the bus.
        let _ = running.pipeline.set_state(gst::State::Playing);
        Ok(running)
    }

    /// Watches the pipeline to its end.
    fn wait(&self, job: &Job, reporter: &mut Reporter, interrupts: &Interrupts) -> anyhow::Result<Ended> {
        let bus = self.pipeline.bus().context("a pipeline has a bus")?;
        let mut trouble = Trouble::new(job.input, job.output);
        let mut finishing = false;
        let mut warnings = 0;
        let mut watchdog = Watchdog::new();
        let (mut told_format, mut told_chapters, mut told_demuxer) = (false, false, false);
        loop {
            let message = bus.timed_pop(TICK);
            for word in self.words.try_iter() {
                match word {
                    Word::Note(text) => reporter.note(&text),
                    Word::Failed(error) => return Err(trouble.told(error)),
                }
            }
            match message.as_ref().map(|message| message.view()) {
                // A demuxer that gives up says so, perhaps twice, and ends its streams.
                Some(gst::MessageView::Error(error)) if is_of_demuxer(error) && self.bridge.progress().frames > 0 => {
                    let (input, reason) = (job.input.display(), error.error());
                    if !std::mem::replace(&mut told_demuxer, true) {
                        reporter.note(&format!("{input} is damaged: {reason} What came before is kept."));
                    }
                }
                Some(gst::MessageView::Error(error)) => return Err(trouble.explain(error)),
                Some(gst::MessageView::Warning(warning)) if warnings < WARNINGS => {
                    warnings += 1;
                    reporter.note(&warning.error().to_string());
                }
                Some(gst::MessageView::Element(element)) if is_end_of_file(element) => break,
                Some(gst::MessageView::Element(element)) => trouble.notice(element),
                Some(gst::MessageView::Toc(_)) if !told_chapters && !job.keeps_chapters() => {
                    told_chapters = true;
                    reporter.note("chapters are left out: only mkv and webm keep them");
                }
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
                        self.backlog.hurry();
                        let cut = self.cut.clone();
                        self.bridge.finish(move |end| cut.set(end));
                    }
                }
                _ => return Ok(Ended::Stopped),
            }
            self.backlog.look();
            let activity = [progress.frames, self.written.frames(), self.written.end().as_nanos() as u64];
            if let Some(idle) = watchdog.look(activity, to_duration(TICK)).filter(|_| !job.is_piped()) {
                self.left.set(true);
                let (input, idle) = (job.input.display(), idle.as_secs());
                bail!("cannot level {input}: nothing has come out of it for {idle} s; the file may be damaged");
            }
            if self.duration.get().is_none() {
                self.duration.set(self.streams.duration());
            }
            reporter.progress(progress.frames, progress.position, self.duration.get());
        }
        self.close()?;
        // The last bytes are written when the file is closed.
        while let Some(message) = bus.pop() {
            if let gst::MessageView::Error(error) = message.view() {
                return Err(trouble.explain(error));
            }
        }
        self.check(job, reporter, finishing)?;
        let mut progress = self.bridge.progress();
        if self.backlog.is_short() {
            (progress.frames, progress.position) = (self.written.frames(), Some(self.written.end()));
        }
        Ok(Ended::Complete(Box::new(Summary::new(progress, reporter, finishing))))
    }

    /// Closes the file.
    fn close(&self) -> anyhow::Result<()> {
        if self.backlog.is_short() {
            // An encoder is not to be stopped before it has encoded all that it holds back: only the file is closed.
            self.left.set(true);
            self.sink.set_locked_state(true);
            self.sink.set_state(gst::State::Null).context("the file cannot be closed")?;
        } else {
            self.pipeline.set_state(gst::State::Null).context("the pipeline does not stop")?;
        }
        Ok(())
    }

    /// Whether all that went in came out, and whether all of the input could be read.
    fn check(&self, job: &Job, reporter: &Reporter, interrupted: bool) -> anyhow::Result<()> {
        let input = job.input.display();
        let frames = self.bridge.progress().frames;
        if frames == 0 {
            bail!("no frame of {input} could be decoded: the file is damaged");
        }
        let written = self.written.frames();
        if written < frames && !self.backlog.is_short() {
            let encoder = job.encoder.name();
            bail!("{encoder} lost {} of {frames} frames of {input}; choose another --encoder", frames - written);
        }
        match (self.losses.lost(), self.pictures.damaged()) {
            (0, 0) => {}
            (0, n) => reporter.note(&format!("{input} is damaged: {n} frames could not be decoded whole")),
            (lost, 0) => reporter.note(&format!("{input} is damaged: {lost} frames could not be decoded")),
            (lost, n) => {
                reporter.note(&format!("{input} is damaged: {lost} frames could not be decoded, {n} others not whole"));
            }
        }
        if let Some((bytes, share)) = self.mended.as_ref().and_then(Mended::lost) {
            let time = self.duration.get().map(|whole| format!(", about {:.1} s", whole.as_secs_f64() * share));
            let time = time.unwrap_or_default();
            reporter.note(&format!("{input} is damaged: {bytes} bytes of it{time}, are no video and were passed over"));
        }
        let (reached, whole) = (self.written.end().as_secs_f64(), self.duration.get());
        if let Some(whole) = whole.filter(|_| !interrupted).map(|whole| whole.as_secs_f64())
            && whole - reached > MISSING
        {
            reporter.note(&format!("{input} is damaged: only {reached:.1} s of {whole:.1} s could be read"));
        }
        Ok(())
    }
}

/// Whether a file's container is what is wrong.
fn is_of_demuxer(error: &gst::message::Error) -> bool {
    let element = error.src().and_then(|source| source.downcast_ref::<gst::Element>());
    let class = element.and_then(|element| element.metadata(gst::ELEMENT_METADATA_KLASS));
    class.is_some_and(|class| class.contains("Demux"))
}

/// Whether this is the sink's word, forwarded by the pipeline, that everything is written.
fn is_end_of_file(element: &gst::message::Element) -> bool {
    let Some(structure) = element.structure().filter(|structure| structure.name() == "GstBinForwarded") else {
        return false;
    };
    structure.get::<gst::Message>("message").is_ok_and(|message| {
        let sink = message.src().and_then(|source| source.downcast_ref::<gst::Element>()).and_then(|e| e.factory());
        message.type_() == gst::MessageType::Eos
            && sink.is_some_and(|factory| ["filesink", "fdsink"].contains(&factory.name().as_str()))
    })
}

/// A duration of GStreamer's as one of Rust's.
pub fn to_duration(time: gst::ClockTime) -> Duration {
    time.into()
}

//! The thread between the two elements.

use std::sync::Arc;
use std::time::Duration;

use gst::prelude::*;
use gst_app::{AppSink, AppSrc};
use gst_video::VideoInfo;

use super::outlet::{Interrupt, Outlet};
use super::{Options, Shared, State, output};
use crate::backend::BackendError;
use crate::frame::{Access, FrameError, FrameMemory, Planes};
use crate::leveler::{Done, Leveler, Timing};
use crate::settings::BackendChoice;
use crate::video::{GstFrame, OutputProvider, frame_info};

/// A frame inside the leveler, and what is needed to send it on.
struct InFlight {
    frame: GstFrame,
    segment: gst::Segment,
}

impl FrameMemory for InFlight {
    fn input(&self) -> Planes<'_> {
        self.frame.input()
    }

    fn access(&mut self, in_place: bool) -> Result<Access<'_>, FrameError> {
        self.frame.access(in_place)
    }
}

/// What came out of the `appsink`.
enum Pulled {
    Frame(Arrived),
    Event(gst::Event),
    Other,
}

/// A sample taken apart, so that the buffer may be ours alone, and levelled in place.
struct Arrived {
    buffer: Option<gst::Buffer>,
    caps: Option<gst::Caps>,
    segment: Option<gst::Segment>,
}

impl From<gst::Sample> for Arrived {
    fn from(sample: gst::Sample) -> Arrived {
        Arrived { buffer: sample.buffer_owned(), caps: sample.caps_owned(), segment: sample.segment().cloned() }
    }
}

/// What belongs to one run of equal caps.
struct Stream {
    caps: gst::Caps,
    info: VideoInfo,
    leveler: Leveler<InFlight>,
    provider: OutputProvider,
}

/// What became of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Open,
    /// End of stream was sent, or there was an error: what still arrives is dropped.
    Closed,
}

pub struct Worker {
    appsink: AppSink,
    appsrc: AppSrc,
    shared: Arc<Shared>,
    options: Options,
    stream: Option<Stream>,
    segment: Option<gst::Segment>,
    /// The frame that was levelled while the pipeline was paused; it comes again when it plays.
    prerolled: Option<gst::Buffer>,
    outlet: Outlet,
    output: Output,
    /// Whether a warning about a frame that cannot be levelled was posted.
    warned: bool,
}

impl Worker {
    pub fn new(appsink: &AppSink, appsrc: &AppSrc, shared: Arc<Shared>, options: Options) -> Worker {
        let outlet = Outlet::new(appsrc, shared.clone(), options.live);
        Worker {
            appsink: appsink.clone(),
            appsrc: appsrc.clone(),
            shared,
            options,
            stream: None,
            segment: None,
            prerolled: None,
            outlet,
            output: Output::Open,
            warned: false,
        }
    }

    pub fn run(mut self) {
        loop {
            let Some(epoch) = self.wait_for_work() else { return };
            if epoch != self.outlet.epoch {
                self.outlet.restart(epoch);
                self.forget();
            }
            match self.work() {
                Ok(()) => {}
                Err(Interrupt::Stopped) => return,
                // The new epoch is found when waiting for work.
                Err(Interrupt::Stale) => {}
                Err(Interrupt::Refused(flow)) => self.close(flow),
                Err(Interrupt::Failed(error)) => {
                    self.report(&error);
                    self.close(gst::FlowError::Error);
                }
            }
        }
    }

    /// Sleeps until there may be something to do; returns the epoch, or nothing if the bridge is dropped.
    fn wait_for_work(&self) -> Option<u64> {
        let idle = |state: &mut State| {
            let woken = state.signalled || state.eos || state.epoch != self.outlet.epoch;
            !state.stop && (state.flushing || !woken)
        };
        let mut state = self.shared.wait_while(self.shared.lock(), idle);
        state.signalled = false;
        (!state.stop).then_some(state.epoch)
    }

    /// Everything that is there to be done now.
    fn work(&mut self) -> Result<(), Interrupt> {
        // The end comes behind everything that can be pulled once it was seen.
        let ended = std::mem::take(&mut self.shared.lock().eos);
        let mut preroll = self.shared.lock().preroll.take();
        loop {
            if self.shared.lock().finishing && self.output == Output::Open {
                self.end()?;
            }
            match self.pull()? {
                None => {
                    // Events that came before the preroll frame have been pulled by now.
                    let Some(sample) = preroll.take() else { break };
                    if self.is_prerolled(sample.buffer()) {
                        // On the way to PLAYING a sink may preroll the same frame again.
                        continue;
                    }
                    self.prerolled = sample.buffer_owned();
                    self.frame(sample.into())?;
                    // The output waits for this one frame before it plays.
                    self.drain()?;
                }
                Some(Pulled::Frame(arrived)) => {
                    let buffer = arrived.buffer.as_deref();
                    preroll.take_if(|preroll| preroll.buffer().map(address) == buffer.map(address));
                    let seen = self.is_prerolled(buffer);
                    // Held until now, so that no other buffer can be at its address.
                    self.prerolled = None;
                    if !seen {
                        self.frame(arrived)?;
                    }
                }
                Some(Pulled::Event(event)) => self.event(event)?,
                Some(Pulled::Other) => {}
            }
        }
        if ended && self.output == Output::Open {
            self.end()?;
        }
        Ok(())
    }

    fn is_prerolled(&self, buffer: Option<&gst::BufferRef>) -> bool {
        self.prerolled.as_deref().is_some_and(|prerolled| buffer.map(address) == Some(address(prerolled)))
    }

    /// Pulls a frame or event of the present epoch; none of a later one, which would be taken for stale.
    fn pull(&self) -> Result<Option<Pulled>, Interrupt> {
        let _gate = self.shared.gate();
        self.outlet.check_epoch()?;
        let Some(object) = self.appsink.try_pull_object(gst::ClockTime::ZERO) else { return Ok(None) };
        match object.downcast::<gst::Sample>() {
            Ok(sample) => {
                let mut state = self.shared.lock();
                state.queued = state.queued.saturating_sub(1);
                self.shared.wake.notify_all();
                drop(state);
                // The sample goes while the gate is held: it is the appsink's own, which a fresh start writes to.
                Ok(Some(Pulled::Frame(sample.into())))
            }
            Err(object) => Ok(Some(object.downcast::<gst::Event>().map_or(Pulled::Other, Pulled::Event))),
        }
    }

    /// Levels a frame, and sends on what comes out.
    fn frame(&mut self, Arrived { buffer, caps, segment }: Arrived) -> Result<(), Interrupt> {
        if self.output == Output::Closed {
            return Ok(());
        }
        let (Some(caps), Some(segment)) = (caps, segment) else {
            return Err(FrameError::Memory("a frame came without caps or segment".into()).into());
        };
        let Some(buffer) = buffer else { return Ok(()) };
        if self.stream.as_ref().is_none_or(|stream| stream.caps != caps) {
            self.drain()?;
            self.stream = Some(self.open(caps)?);
        }
        if self.segment.as_ref() != Some(&segment) {
            self.drain()?;
            self.segment = Some(segment.clone());
        }
        let stream = self.stream.as_mut().expect("opened above");
        let mut state = self.shared.lock();
        if std::mem::take(&mut state.settings_changed) {
            stream.leveler.set_settings(&state.settings);
        }
        drop(state);
        let timing = Timing { time: running_time(&segment, buffer.pts()), votes: is_whole(&buffer) };
        let frame = match GstFrame::new(buffer, &stream.info, stream.provider.clone()) {
            Ok(frame) => frame,
            Err((buffer, error)) => {
                self.drain()?;
                self.pass(&buffer, &error);
                return self.push(buffer, segment);
            }
        };
        stream.leveler.submit(InFlight { frame, segment }, timing);
        while let Some(done) = self.stream.as_mut().and_then(|stream| stream.leveler.receive()) {
            self.send(done)?;
        }
        Ok(())
    }

    /// Opens a leveler for frames of `caps`.
    fn open(&self, caps: gst::Caps) -> Result<Stream, Interrupt> {
        let Some((info, frames)) = frame_info(&caps) else {
            return Err(FrameError::Memory(format!("frames of {caps} cannot be levelled")).into());
        };
        let settings = {
            let mut state = self.shared.lock();
            state.settings_changed = false;
            state.settings.clone()
        };
        let leveler = Leveler::new(&frames, &settings, self.options.live).map_err(Interrupt::Failed)?;
        let provider = output::pooled(&caps, &info, leveler.uses_pages())?;
        if self.options.live {
            self.announce_latency(&info, leveler.depth());
        }
        let (backend, adapter) = leveler.backend();
        let mut state = self.shared.lock();
        state.progress.backend = Some((backend, adapter.into()));
        state.progress.caps = Some(caps.clone());
        drop(state);
        let named = settings.backend == BackendChoice::Auto && !settings.adapter.is_empty();
        // A GPU of that name that fails is told of otherwise.
        if named && leveler.backend().0 == "cpu" && leveler.counters().failovers == 0 {
            let text = format!("no GPU is called '{}' (adapter); levelling on the CPU", settings.adapter);
            gst::element_warning!(self.appsink, gst::ResourceError::NotFound, ("{}", text));
        }
        Ok(Stream { caps, info, leveler, provider })
    }

    /// Adds the frames held back to the latency that upstream has.
    fn announce_latency(&self, info: &VideoInfo, depth: usize) {
        let mut query = gst::query::Latency::new();
        if !super::ends::sink_pad(&self.appsink).peer_query(&mut query) {
            return;
        }
        let (_, min, max) = query.result();
        let fps = info.fps();
        let duration = match (u64::try_from(fps.denom()), u64::try_from(fps.numer())) {
            (Ok(denom), Ok(numer)) => gst::ClockTime::SECOND.mul_div_floor(denom, numer).unwrap_or_default(),
            _ => gst::ClockTime::ZERO,
        };
        let ours = duration * depth as u64;
        self.appsrc.set_latency(min + ours, max.map(|max| max + ours));
    }

    /// Sends on all frames that are inside.
    fn drain(&mut self) -> Result<(), Interrupt> {
        while let Some(done) = self.stream.as_mut().and_then(|stream| stream.leveler.drain()) {
            self.send(done)?;
        }
        Ok(())
    }

    fn send(&mut self, done: Done<InFlight>) -> Result<(), Interrupt> {
        let Done { memory: InFlight { frame, segment }, outcome } = done;
        self.tell_failure();
        let (input, output) = frame.into_buffers();
        let (buffer, report) = match (outcome, output) {
            (Ok(outcome), Some(output)) if outcome.changed => (output, Some(outcome.report)),
            (Ok(outcome), _) => (input, Some(outcome.report)),
            (Err(BackendError::Frame(error)), _) => {
                self.pass(&input, &error);
                (input, None)
            }
            (Err(error), _) => return Err(Interrupt::Failed(error)),
        };
        if report.is_some() {
            self.shared.lock().progress.report = report;
        }
        self.push(buffer, segment)
    }

    /// Warns if the GPU was given up since the last frame.
    fn tell_failure(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let Some(failure) = stream.leveler.take_failure() else { return };
        let text = format!("{failure}; going on with the CPU");
        gst::element_warning!(self.appsink, gst::ResourceError::Failed, ("{}", text));
        let (backend, adapter) = stream.leveler.backend();
        self.shared.lock().progress.backend = Some((backend, adapter.into()));
    }

    /// Lets a frame go on as it came, since its memory cannot be used; warns of the first, unless it is a gap or
    /// damaged.
    fn pass(&mut self, buffer: &gst::BufferRef, error: &FrameError) {
        self.shared.lock().progress.untouched += 1;
        if is_whole(buffer) && !std::mem::replace(&mut self.warned, true) {
            let text = format!("a frame passes untouched, as may later ones: {error}");
            gst::element_warning!(self.appsink, gst::StreamError::Format, ("{}", text));
        }
    }

    /// Sends a frame on.
    fn push(&mut self, buffer: gst::Buffer, segment: gst::Segment) -> Result<(), Interrupt> {
        let Some(stream) = &self.stream else { return Ok(()) };
        let counters = stream.leveler.counters();
        let end = match (buffer.pts(), buffer.duration()) {
            (Some(pts), Some(duration)) => Some(pts + duration),
            (pts, _) => pts,
        };
        let position = running_time(&segment, end);
        self.outlet.push(buffer, &stream.caps, segment)?;
        let mut state = self.shared.lock();
        let progress = &mut state.progress;
        progress.frames += 1;
        progress.position = position.or(progress.position);
        progress.counters = counters;
        Ok(())
    }

    /// An event in its place among the frames.
    fn event(&mut self, event: gst::Event) -> Result<(), Interrupt> {
        use gst::EventType::{Caps, FlushStop, Segment, StreamStart};
        if self.output == Output::Closed {
            return Ok(());
        }
        self.drain()?;
        match event.type_() {
            // Caps and segments travel with the frames, the appsrc starts its own stream, and flushes went ahead.
            Caps | Segment | StreamStart | FlushStop => Ok(()),
            _ => self.outlet.event(event),
        }
    }

    /// Sends what is inside and then the end of the stream.
    fn end(&mut self) -> Result<(), Interrupt> {
        self.drain()?;
        let mut state = self.shared.lock();
        let before_end = state.before_end.take();
        let position = state.progress.position;
        drop(state);
        if let Some(before_end) = before_end {
            before_end(position);
        }
        self.output = Output::Closed;
        self.outlet.end()
    }

    /// Drops everything from before a flush or a restart.
    fn forget(&mut self) {
        if let Some(stream) = &mut self.stream {
            while stream.leveler.drain().is_some() {}
            stream.leveler.reset();
        }
        self.segment = None;
        self.prerolled = None;
        self.output = Output::Open;
    }

    /// Stops the stream: upstream learns it with its next frame.
    fn close(&mut self, flow: gst::FlowError) {
        if let Some(stream) = &mut self.stream {
            while stream.leveler.drain().is_some() {}
        }
        self.output = Output::Closed;
        self.shared.lock().flow = Err(flow);
    }

    fn report(&self, error: &BackendError) {
        let source = error.to_string();
        match error {
            BackendError::NoAdapter { .. } => {
                gst::element_error!(self.appsink, gst::ResourceError::NotFound, ("{}", source));
            }
            _ => gst::element_error!(self.appsink, gst::StreamError::Failed, ("{}", source)),
        }
    }
}

/// Whether a frame is neither a gap nor damaged.
fn is_whole(buffer: &gst::BufferRef) -> bool {
    !buffer.flags().intersects(gst::BufferFlags::GAP | gst::BufferFlags::CORRUPTED)
}

fn address(buffer: &gst::BufferRef) -> usize {
    buffer.as_ptr().addr()
}

fn running_time(segment: &gst::Segment, time: Option<gst::ClockTime>) -> Option<Duration> {
    let segment = segment.downcast_ref::<gst::ClockTime>()?;
    segment.to_running_time(time?).map(Duration::from)
}

//! `appsink` → [`Leveler`](crate::leveler::Leveler) → `appsrc`, for programs that own their pipeline.
//!
//! A worker thread pulls frames from the `appsink`, levels them and pushes them into the `appsrc`. The two may
//! sit in one pipeline (a file job) or in two (a webcam that may be unplugged while its recording goes on):
//!
//! ```text
//!  decoder ─▶ appsink ··▶ worker: pull ─▶ level ─▶ push ··▶ appsrc ─▶ encoder
//! ```
//!
//! Caps, segments, timestamps, durations, flags, metas, tags, gaps, custom events and the end of the stream
//! come out in the order in which they went in. A frame whose memory cannot be used goes on as it came, with a warning
//! for the first, unless it is a gap or damaged. Both ends are bounded, so that a slow encoder slows the decoder.
//! The worker never blocks inside GStreamer: it sleeps on one condition that the callbacks of both elements
//! signal, and so stops at once from any state. It also takes the preroll frame, without which a pipeline that
//! holds both ends never leaves PAUSED. Upstream is held back before the `appsink`, never in it: an `appsink` that
//! waits for room holds a lock that its own change to PLAYING needs.
//!
//! ```
//! use autolevels::bridge::{Bridge, Options};
//! use autolevels::settings::{BackendChoice, Settings};
//! use gst::prelude::*;
//!
//! gst::init()?;
//! let settings = Settings { backend: BackendChoice::Cpu, strength: 0.8, ..Settings::default() };
//! let bridge = Bridge::new(&settings, Options::default())?;
//!
//! let pipeline = gst::Pipeline::new();
//! let source = gst::ElementFactory::make("videotestsrc").property("num-buffers", 25).build()?;
//! let sink = gst::ElementFactory::make("fakesink").build()?;
//! let (appsink, appsrc) = (bridge.appsink().upcast_ref(), bridge.appsrc().upcast_ref());
//! pipeline.add_many([&source, appsink, appsrc, &sink])?;
//! source.link(appsink)?;
//! appsrc.link(&sink)?;
//!
//! pipeline.set_state(gst::State::Playing)?;
//! let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
//! let end = pipeline.bus().and_then(|bus| bus.timed_pop_filtered(gst::ClockTime::NONE, &kinds));
//! assert_eq!(end.map(|message| message.type_()), Some(gst::MessageType::Eos));
//! assert_eq!(bridge.progress().frames, 25);
//! pipeline.set_state(gst::State::Null)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ends;
mod outlet;
mod output;
mod worker;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use gst_app::{AppSink, AppSrc};
use gst_video::VideoCapsBuilder;

use crate::frame::Format;
use crate::leveler::Counters;
use crate::levels::Report;
use crate::settings::{SettingError, Settings};
use worker::Worker;

/// Frames that wait at either end.
const QUEUED: u32 = 2;

/// How a bridge behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Frames come from a live source: rather than wait, old frames are dropped.
    pub live: bool,
}

/// What a bridge has done so far.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Frames that were pushed into the `appsrc`.
    pub frames: u64,
    /// Those of them whose memory could not be used, and which went on as they came.
    pub untouched: u64,
    /// Running time at which the last of them ends (begins, if it has no duration).
    pub position: Option<Duration>,
    /// Name of the backend and of its adapter, once the first frame was seen.
    pub backend: Option<(&'static str, String)>,
    /// Caps of the frames.
    pub caps: Option<gst::Caps>,
    /// The leveler's counts and times, since the caps last changed.
    pub counters: Counters,
    /// What was decided on the last frame.
    pub report: Option<Report>,
}

/// Levels what arrives at an [`AppSink`] and sends it on from an [`AppSrc`]. Stops when it is dropped.
pub struct Bridge {
    appsink: AppSink,
    appsrc: AppSrc,
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Makes the two elements, not yet in a pipeline, and starts the worker.
    ///
    /// # Errors
    /// If the settings are out of range or do not fit together.
    pub fn new(settings: &Settings, options: Options) -> Result<Bridge, SettingError> {
        settings.check()?;
        let shared = Arc::new(Shared::new(settings));
        let appsink = ends::appsink(&shared, options);
        let appsrc = ends::appsrc(&shared, options);
        ends::forward_flushes(&appsink, &appsrc, &shared);
        ends::forward_upstream(&appsrc, &appsink);
        let worker = Worker::new(&appsink, &appsrc, shared.clone(), options);
        let worker = std::thread::Builder::new()
            .name("autolevels".into())
            .spawn(move || worker.run())
            .expect("a thread can be started when a pipeline can");
        Ok(Bridge { appsink, appsrc, shared, worker: Some(worker) })
    }

    /// Where frames go in.
    pub fn appsink(&self) -> &AppSink {
        &self.appsink
    }

    /// Where frames come out.
    pub fn appsrc(&self) -> &AppSrc {
        &self.appsrc
    }

    /// The formats that can be levelled, as the caps that the `appsink` takes.
    pub fn caps() -> gst::Caps {
        let formats = Format::ALL.iter().filter_map(|format| format.name().parse::<gst_video::VideoFormat>().ok());
        VideoCapsBuilder::new().format_list(formats).build()
    }

    /// Changes the settings for the frames to come, from any thread. Backend, adapter and frames in flight stay
    /// what they were at the start.
    ///
    /// # Errors
    /// If the settings are out of range or do not fit together; the old ones then stay.
    pub fn set_settings(&self, settings: &Settings) -> Result<(), SettingError> {
        settings.check()?;
        let mut state = self.shared.lock();
        state.settings = settings.clone();
        state.settings_changed = true;
        Ok(())
    }

    /// What was done so far.
    pub fn progress(&self) -> Progress {
        self.shared.lock().progress.clone()
    }

    /// Ends the output after the frames that are inside, while the input goes on and is dropped.
    ///
    /// `before_end` is called on the worker's thread, just before the `appsrc` gets its end of stream, with the
    /// running time at which the last frame ends; other streams can be cut there.
    pub fn finish(&self, before_end: impl FnOnce(Option<Duration>) + Send + 'static) {
        let mut state = self.shared.lock();
        if !state.finishing {
            state.finishing = true;
            state.before_end = Some(Box::new(before_end));
        }
        drop(state);
        self.shared.signal();
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.signal();
        if let Some(worker) = self.worker.take() {
            // A panic in the worker was already reported on stderr.
            let _ = worker.join();
        }
    }
}

type BeforeEnd = Box<dyn FnOnce(Option<Duration>) + Send>;

/// What the worker, the callbacks and the owner of the bridge share.
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// Held while something is pulled or pushed, so that no flush or restart comes in between.
    gate: Mutex<()>,
}

struct State {
    /// Something happened since the worker last looked.
    signalled: bool,
    stop: bool,
    /// How often the `appsrc` has asked for data, which it does when it runs.
    asked: u64,
    /// The `appsink` has reached the end of its stream.
    eos: bool,
    /// Frames that wait in the `appsink`.
    queued: u32,
    /// The frame that is on its way into an `appsink` that does not play.
    arriving: Option<gst::Buffer>,
    /// The frame that the `appsink` holds until it plays.
    preroll: Option<gst::Sample>,
    /// Between the start of a flush and the segment that follows it.
    flushing: bool,
    /// Counts flushes and starts: frames from an earlier epoch are stale.
    epoch: u64,
    finishing: bool,
    before_end: Option<BeforeEnd>,
    /// What the `appsink` answers upstream.
    flow: Result<gst::FlowSuccess, gst::FlowError>,
    settings: Settings,
    settings_changed: bool,
    progress: Progress,
}

impl Shared {
    fn new(settings: &Settings) -> Shared {
        let state = State {
            signalled: false,
            stop: false,
            asked: 0,
            eos: false,
            queued: 0,
            arriving: None,
            preroll: None,
            flushing: false,
            epoch: 0,
            finishing: false,
            before_end: None,
            flow: Ok(gst::FlowSuccess::Ok),
            settings: settings.clone(),
            settings_changed: false,
            progress: Progress::default(),
        };
        Shared { state: Mutex::new(state), wake: Condvar::new(), gate: Mutex::new(()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No invariant spans a panic: every field is good on its own.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gate(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self) {
        self.lock().signalled = true;
        self.wake.notify_all();
    }

    /// A frame arrived at the `appsink`: one that was rendered, or a preroll frame.
    fn arrived(&self, preroll: Option<gst::Sample>) -> Result<gst::FlowSuccess, gst::FlowError> {
        let mut state = self.lock();
        state.arriving = None;
        state.queued += u32::from(preroll.is_none());
        state.preroll = preroll;
        state.signalled = true;
        self.wake.notify_all();
        state.flow
    }

    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, State>,
        condition: impl FnMut(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.wake.wait_while(state, condition).unwrap_or_else(PoisonError::into_inner)
    }

    /// A new epoch: what is inside is stale.
    fn restart(&self, flushing: bool) {
        let mut state = self.lock();
        state.epoch += 1;
        state.flushing = flushing;
        state.eos = false;
        state.preroll = None;
        state.queued = 0;
        state.flow = Ok(gst::FlowSuccess::Ok);
        drop(state);
        self.signal();
    }
}

//! The element itself: a `VideoFilter` that takes each buffer from the base class and runs it through a
//! [`Leveler`].
//!
//! The base class negotiates, finds the pool, drops late frames and handles events. `generate_output` is ours,
//! since the output may be the input buffer (nothing changed, or written in place) or one from the pool.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gst::glib;
use gst::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_transform::{GenerateOutputSuccess, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;
use gst_video::subclass::prelude::*;
use gst_video::{VideoCapsBuilder, VideoFormat, VideoInfo};

use super::stats::Stats;
use super::{CAT, log_bridge, messages, properties};
use crate::backend::BackendError;
use crate::frame::{Format, FrameError, FrameInfo, LumaWeights, Range};
use crate::leveler::{Done, Leveler, Outcome, Timing};
use crate::pool::PagePool;
use crate::settings::{BackendChoice, PostMessages, SettingError, Settings};
use crate::video::{GstFrame, OutputProvider, frame_info};

/// What the properties say.
#[derive(Default)]
struct Wanted {
    settings: Settings,
    /// Whether they have changed since the streaming thread looked.
    changed: bool,
}

/// What the streaming thread works with, from start to stop.
struct Streaming {
    leveler: Leveler<GstFrame>,
    /// The settings in force: those wanted, with the last good pair of black and white.
    settings: Settings,
    /// Whether a warning about black and white was posted since they last were right.
    warned: bool,
    /// Whether a warning about a frame that cannot be levelled was posted.
    warned_of_frame: bool,
    /// The caps; none before the first.
    info: Option<VideoInfo>,
    provider: OutputProvider,
}

#[derive(Default)]
pub struct AutoLevels {
    wanted: Mutex<Wanted>,
    /// Held while a frame is levelled, never while anything is pushed or posted. Taken after no other lock.
    streaming: Mutex<Option<Streaming>>,
    stats: Mutex<Stats>,
    /// Why the base class had no output buffer for the present frame.
    no_buffer: Mutex<Option<gst::FlowError>>,
}

/// A panic of another thread does not make what is behind our locks any worse: each change is whole in itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[glib::object_subclass]
impl ObjectSubclass for AutoLevels {
    const NAME: &'static str = "GstAutoLevels";
    type Type = super::AutoLevels;
    type ParentType = gst_video::VideoFilter;
}

/// What came of one buffer.
struct Levelled {
    buffer: gst::Buffer,
    time: Option<gst::ClockTime>,
    outcome: Result<Outcome, BackendError>,
    /// Why the GPU was given up, if that happened with this frame.
    failure: Option<BackendError>,
    /// Black and white are the wrong way round, said for the first time.
    misordered: Option<SettingError>,
    /// The first frame whose memory cannot be used, other than a gap or a damaged one.
    first_unusable: bool,
    post: bool,
}

impl AutoLevels {
    /// A leveler that holds nothing back.
    fn leveler(info: &FrameInfo, settings: &Settings) -> Result<Leveler<GstFrame>, BackendError> {
        let live = true;
        Leveler::new(info, settings, live)
    }

    /// Memory for the output of `input`, from the base class: the negotiated pool, with the metadata copied.
    fn output_buffer(&self, input: &gst::BufferRef) -> Result<gst::Buffer, FrameError> {
        match self.parent_prepare_output_buffer(InputBuffer::Readable(input)) {
            Ok(PrepareOutputBufferSuccess::Buffer(buffer)) => Ok(buffer),
            Ok(PrepareOutputBufferSuccess::InputBuffer) => {
                Err(FrameError::Memory("the base class is in passthrough mode".into()))
            }
            Err(flow) => {
                *lock(&self.no_buffer) = Some(flow);
                Err(FrameError::Memory(format!("no output buffer: {flow}")))
            }
        }
    }

    /// Takes over changed properties; says so the first time that black and white are the wrong way round.
    fn follow_settings(&self, streaming: &mut Streaming) -> Option<SettingError> {
        let wanted = {
            let mut wanted = lock(&self.wanted);
            if !std::mem::take(&mut wanted.changed) {
                return None;
            }
            wanted.settings.clone()
        };
        let last = std::mem::replace(&mut streaming.settings, wanted);
        let misordered = streaming.settings.check().err();
        if misordered.is_some() {
            (streaming.settings.black, streaming.settings.white) = (last.black, last.white);
        }
        let first = !std::mem::replace(&mut streaming.warned, misordered.is_some());
        // These stay what they were at the start, even if a change of caps makes a new leveler.
        streaming.settings.backend = last.backend;
        streaming.settings.adapter = last.adapter;
        streaming.settings.frames_in_flight = last.frames_in_flight;
        streaming.leveler.set_settings(&streaming.settings);
        streaming.leveler.keep_histograms(streaming.settings.post_messages == PostMessages::Histogram);
        misordered.filter(|_| first)
    }

    /// Runs one buffer through the leveler.
    fn level(&self, buffer: gst::Buffer) -> Result<Levelled, gst::FlowError> {
        let timestamp = buffer.pts();
        let segment = self.obj().segment().downcast::<gst::ClockTime>().ok();
        if let Some(time) = segment.as_ref().and_then(|segment| segment.to_stream_time(timestamp)) {
            // Fails if nothing is controlled, which is the usual case.
            let _ = self.obj().sync_values(time);
        }
        let time = segment.as_ref().and_then(|segment| segment.to_running_time(timestamp));
        let votes = !buffer.flags().intersects(gst::BufferFlags::GAP | gst::BufferFlags::CORRUPTED);

        let mut streaming = lock(&self.streaming);
        let streaming = streaming.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let misordered = self.follow_settings(streaming);
        let post = streaming.settings.post_messages != PostMessages::None;
        let info = streaming.info.as_ref().ok_or(gst::FlowError::NotNegotiated)?;
        let (buffer, outcome) = match GstFrame::new(buffer, info, streaming.provider.clone()) {
            Ok(frame) => {
                streaming.leveler.submit(frame, Timing { time: time.map(Duration::from), votes });
                let Some(Done { memory, outcome }) = streaming.leveler.drain() else {
                    return Err(gst::FlowError::Error);
                };
                let (input, output) = memory.into_buffers();
                let changed = outcome.as_ref().is_ok_and(|outcome| outcome.changed);
                (output.filter(|_| changed).unwrap_or(input), outcome)
            }
            Err((buffer, error)) => (buffer, Err(BackendError::Frame(error))),
        };
        let unusable = votes && matches!(outcome, Err(BackendError::Frame(_)));
        let first_unusable = unusable && !std::mem::replace(&mut streaming.warned_of_frame, true);

        let failure = streaming.leveler.take_failure();
        let mut stats = lock(&self.stats);
        stats.update(streaming.leveler.counters());
        stats.untouched += u64::from(matches!(outcome, Err(BackendError::Frame(_))));
        if failure.is_some() {
            stats.runs_on(streaming.leveler.backend());
        }
        Ok(Levelled { buffer, time, outcome, failure, misordered, first_unusable, post })
    }

    /// Tells the application what is to be told about a frame, and whether its buffer can go on.
    fn report(&self, levelled: &Levelled) -> Result<(), gst::FlowError> {
        if let Some(error) = &levelled.misordered {
            gst::element_imp_warning!(
                self,
                gst::LibraryError::Settings,
                ("{error}; the last good pair stays in force")
            );
        }
        if let Some(error) = &levelled.failure {
            gst::element_imp_warning!(self, gst::ResourceError::Failed, ("{error}; going on with the CPU"));
        }
        match &levelled.outcome {
            Ok(outcome) if levelled.post => {
                let structure = messages::structure(levelled.time, outcome);
                let message = gst::message::Element::builder(structure).src(&*self.obj()).build();
                // Fails if there is no bus: then nobody wants it.
                let _ = self.obj().post_message(message);
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) => {
                if let Some(flow) = lock(&self.no_buffer).take() {
                    gst::debug!(CAT, imp = self, "{error}");
                    return Err(flow);
                }
                if matches!(error, BackendError::Frame(_)) {
                    if levelled.first_unusable {
                        gst::element_imp_warning!(
                            self,
                            gst::StreamError::Format,
                            ("A frame passes untouched, as may later ones: {error}")
                        );
                    }
                    gst::debug!(CAT, imp = self, "passes untouched: {error}");
                    return Ok(());
                }
                gst::element_imp_error!(self, gst::StreamError::Failed, ("Cannot level a frame: {error}"));
                Err(gst::FlowError::Error)
            }
        }
    }

    /// A pool of memory that the GPU uses in place, and the size of its buffers, if that is how it works.
    fn page_pool(&self) -> Option<(PagePool, u32)> {
        let streaming = lock(&self.streaming);
        let streaming = streaming.as_ref().filter(|streaming| streaming.leveler.uses_pages())?;
        let info = streaming.info.as_ref()?;
        Some((PagePool::new(info, 0)?, u32::try_from(info.size()).ok()?))
    }

    /// Forgets past frames: what comes next is unrelated to them.
    fn reset(&self, why: &str) {
        if let Some(streaming) = lock(&self.streaming).as_mut() {
            gst::debug!(CAT, imp = self, "starts afresh: {why}");
            streaming.leveler.reset();
        }
    }
}

impl ObjectImpl for AutoLevels {
    fn constructed(&self) {
        self.parent_constructed();
        // A frame that stands in for a missing one is still that when it is levelled: the flag stays.
        self.obj().set_gap_aware(true);
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(properties::specs);
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        let mut wanted = lock(&self.wanted);
        match properties::set(&mut wanted.settings, spec, value) {
            Ok(()) => wanted.changed = true,
            Err(error) => gst::warning!(CAT, imp = self, "{error}"),
        }
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        let setting = properties::get(&lock(&self.wanted).settings, spec);
        setting.unwrap_or_else(|| lock(&self.stats).structure().to_value())
    }
}

impl GstObjectImpl for AutoLevels {}

impl ElementImpl for AutoLevels {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Auto levels",
                "Filter/Effect/Video",
                "Stretches or equalizes the levels of video, steadily over time, on the GPU or the CPU",
                env!("CARGO_PKG_NAME"),
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let formats = Format::ALL.iter().map(|format| VideoFormat::from_string(format.name()));
            let caps = VideoCapsBuilder::new().format_list(formats).build();
            let template = |name, direction| {
                gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &caps)
                    .expect("always-pads with caps make a template")
            };
            vec![template("src", gst::PadDirection::Src), template("sink", gst::PadDirection::Sink)]
        });
        &TEMPLATES
    }
}

impl BaseTransformImpl for AutoLevels {
    // Frames are written in place where that can be, but by us: the base class must negotiate a pool.
    const MODE: gst_base::subclass::BaseTransformMode = gst_base::subclass::BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        log_bridge::follow_thresholds();
        let mut settings = {
            let mut wanted = lock(&self.wanted);
            wanted.changed = true;
            wanted.settings.clone()
        };
        settings.frames_in_flight = 0;
        settings.check().map_err(|error| gst::error_msg!(gst::LibraryError::Settings, ("{error}")))?;

        // The caps are not known yet. A leveler for tiny frames finds out now whether the GPU that was asked for
        // is there, and keeps it open until one for the true caps takes over.
        let tiny = FrameInfo::new(Format::Gray8, 1, 1, Range::FULL, LumaWeights::BT709);
        let now = match settings.backend {
            BackendChoice::Gpu => settings.clone(),
            BackendChoice::Auto | BackendChoice::Cpu => Settings { backend: BackendChoice::Cpu, ..settings.clone() },
        };
        let leveler = AutoLevels::leveler(&tiny, &now)
            .map_err(|error| gst::error_msg!(gst::ResourceError::NotFound, ("{error}")))?;

        let element = self.obj().downgrade();
        let provider: OutputProvider = Arc::new(move |input| match element.upgrade() {
            Some(element) => element.imp().output_buffer(input),
            None => Err(FrameError::Memory("the element is gone".into())),
        });
        *lock(&self.stats) = Stats::default();
        *lock(&self.streaming) =
            Some(Streaming { leveler, settings, warned: false, warned_of_frame: false, info: None, provider });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.streaming) = None;
        Ok(())
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        if let Some((pool, size)) = self.page_pool() {
            query.add_allocation_pool(Some(&pool), size, 0, 0);
        }
        self.parent_propose_allocation(decide_query, query)
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        // What downstream offers is what it can use best; else the GPU's own memory saves a copy.
        let offered = query.allocation_pools().next().is_some_and(|(pool, ..)| pool.is_some());
        if let Some((pool, size)) = self.page_pool().filter(|_| !offered) {
            let first = query.allocation_pools().next();
            let (min, max) = first.as_ref().map_or((0, 0), |(_, _, min, max)| (*min, *max));
            if first.is_some() {
                query.set_nth_allocation_pool(0, Some(&pool), size, min, max);
            } else {
                query.add_allocation_pool(Some(&pool), size, min, max);
            }
        }
        self.parent_decide_allocation(query)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::StreamStart => self.reset("a new stream"),
            gst::EventType::FlushStop => self.reset("a flush"),
            _ => {}
        }
        self.parent_sink_event(event)
    }

    fn transform_meta<'a>(
        &self,
        outbuf: &mut gst::BufferRef,
        meta: gst::MetaRef<'a, gst::Meta>,
        inbuf: &'a gst::BufferRef,
    ) -> bool {
        // Size and orientation stay, so what is said about them stays true. The base class copies only metas
        // without tags.
        meta.tags_contain_only(&["video", "size", "orientation"]) || self.parent_transform_meta(outbuf, meta, inbuf)
    }

    fn submit_input_buffer(&self, is_discont: bool, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let flow = self.parent_submit_input_buffer(is_discont, buffer)?;
        if flow == gst_base::BASE_TRANSFORM_FLOW_DROPPED {
            lock(&self.stats).late += 1;
        }
        Ok(flow)
    }

    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        let Some(buffer) = self.take_queued_buffer() else {
            return Ok(GenerateOutputSuccess::NoOutput);
        };
        let levelled = self.level(buffer)?;
        self.report(&levelled)?;
        Ok(GenerateOutputSuccess::Buffer(levelled.buffer))
    }
}

impl VideoFilterImpl for AutoLevels {
    fn set_info(
        &self,
        incaps: &gst::Caps,
        _in_info: &VideoInfo,
        _outcaps: &gst::Caps,
        _out_info: &VideoInfo,
    ) -> Result<(), gst::LoggableError> {
        let (video_info, info) =
            frame_info(incaps).ok_or_else(|| gst::loggable_error!(CAT, "cannot level {incaps}"))?;
        let mut failure = None;
        let mut guard = lock(&self.streaming);
        let streaming = guard.as_mut().ok_or_else(|| gst::loggable_error!(CAT, "not started"))?;
        if streaming.info.is_some() && *streaming.leveler.info() == info {
            // Only the frame rate or the like has changed.
            streaming.leveler.reset();
        } else {
            match AutoLevels::leveler(&info, &streaming.settings) {
                Ok(leveler) => streaming.leveler = leveler,
                Err(error) => {
                    drop(guard);
                    gst::element_imp_error!(self, gst::ResourceError::Failed, ("{error}"));
                    return Err(gst::loggable_error!(CAT, "{error}"));
                }
            }
            let mut stats = lock(&self.stats);
            stats.begin(streaming.leveler.backend());
            stats.update(streaming.leveler.counters());
            drop(stats);
            failure = streaming.leveler.take_failure();
            let (backend, adapter) = streaming.leveler.backend();
            gst::info!(CAT, imp = self, "levels {info} on {backend} ({adapter})");
        }
        streaming.info = Some(video_info);
        // The leveler may be new, and has to be told all settings.
        lock(&self.wanted).changed = true;
        let (on, settings) = (streaming.leveler.backend().0, &streaming.settings);
        let named = settings.backend == BackendChoice::Auto && !settings.adapter.is_empty();
        let adapter = settings.adapter.clone();
        drop(guard);
        if let Some(error) = failure {
            gst::element_imp_warning!(self, gst::ResourceError::Failed, ("{error}; going on with the CPU"));
        } else if named && on == "cpu" {
            gst::element_imp_warning!(
                self,
                gst::ResourceError::NotFound,
                ("No GPU is called '{adapter}' (adapter); levelling on the CPU")
            );
        }
        Ok(())
    }
}

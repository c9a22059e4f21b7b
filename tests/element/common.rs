//! What the tests share: which backends, elements in harnesses, frames, and what a leveler makes of them.

use std::sync::Once;
use std::time::Duration;

use autolevels::frame::{
    Access, Format, FrameError, FrameInfo, FrameMemory, LumaWeights, Plane, PlaneMut, Planes, PlanesMut, Range,
};
use autolevels::leveler::{Leveler, Timing};
use autolevels::settings::{BackendChoice, Settings};
use autolevels::video::frame_info;
use gst::glib;
use gst::prelude::*;
use gst_check::Harness;
use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

/// Duration of a frame at 25 frames a second.
pub const FRAME: gst::ClockTime = gst::ClockTime::from_mseconds(40);

/// Starts GStreamer with the element built in; from then on a critical warning of GLib's ends the process.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        gst::init().unwrap();
        autolevels::plugin_register_static().unwrap();
        glib::log_set_always_fatal(glib::LogLevels::LEVEL_ERROR | glib::LogLevels::LEVEL_CRITICAL);
    });
}

/// The backends that every test runs on: the CPU, and any GPU adapter, lavapipe too. Without one the tests fail,
/// unless `AUTOLEVELS_TEST_GPU=skip` says that this is meant.
pub fn backends() -> Vec<BackendChoice> {
    if std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip") {
        return vec![BackendChoice::Cpu];
    }
    let tiny = FrameInfo::new(Format::Gray8, 1, 1, Range::FULL, LumaWeights::BT709);
    autolevels::gpu::open(&tiny, 1, "", true).unwrap_or_else(|error| panic!("{error} (AUTOLEVELS_TEST_GPU=skip)"));
    vec![BackendChoice::Cpu, BackendChoice::Gpu]
}

/// Settings that level each frame on its own, so that what comes out depends on nothing else.
pub fn settings(backend: BackendChoice) -> Settings {
    Settings { backend, smoothing: 0.0, frames_in_flight: 0, ..Settings::default() }
}

/// An element with the properties that [`settings`] has as fields.
pub fn element(backend: BackendChoice) -> gst::Element {
    init();
    gst::ElementFactory::make("autolevels").property("backend", backend).property("smoothing", 0.0).build().unwrap()
}

/// A harness around an element of ours.
pub fn harness(element: &gst::Element, info: &VideoInfo) -> Harness {
    let mut harness = Harness::with_element(element, Some("sink"), Some("src"));
    harness.set_src_caps(info.to_caps().unwrap());
    harness
}

pub fn video_info(format: &str, width: u32, height: u32) -> VideoInfo {
    init();
    let format = VideoFormat::from_string(format);
    VideoInfo::builder(format, width, height).fps(gst::Fraction::new(25, 1)).build().unwrap()
}

/// Frame `number` of a dull picture: its codes span from about 60 to 180, and change from frame to frame.
pub fn picture(info: &VideoInfo, number: usize) -> Vec<u8> {
    (0..info.size()).map(|i| (60 + (i * 7 + i / 61 + number * 13) % 121) as u8).collect()
}

/// The picture as a buffer, `number` frames after the start.
pub fn buffer(info: &VideoInfo, number: usize) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_mut_slice(picture(info, number));
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(FRAME * number as u64);
    writable.set_duration(FRAME);
    buffer
}

/// A frame in plain memory, laid out as caps say; it is levelled in place.
pub struct Plain {
    pub bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl FrameMemory for Plain {
    fn input(&self) -> Planes<'_> {
        self.places.iter().map(|&(offset, stride)| Plane { data: &self.bytes[offset..], stride }).collect()
    }

    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        let mut planes: Vec<PlaneMut> = Vec::new();
        let mut bytes = self.bytes.as_mut_slice();
        for &(offset, stride) in self.places.iter().rev() {
            let (before, data) = bytes.split_at_mut(offset);
            planes.insert(0, PlaneMut { data, stride });
            bytes = before;
        }
        Ok(Access::InPlace(planes.into_iter().collect::<PlanesMut>()))
    }
}

/// A leveler for comparison, outside of GStreamer.
pub struct Reference {
    pub leveler: Leveler<Plain>,
    info: VideoInfo,
}

impl Reference {
    pub fn new(info: &VideoInfo, settings: &Settings) -> Reference {
        let frame = frame_info(&info.to_caps().unwrap()).unwrap().1;
        Reference { leveler: Leveler::new(&frame, settings, true).unwrap(), info: info.clone() }
    }

    /// What comes out for these bytes at this time.
    pub fn level(&mut self, bytes: Vec<u8>, time: gst::ClockTime, votes: bool) -> Vec<u8> {
        let planes = self.info.n_planes() as usize;
        let strides = self.info.stride().iter().map(|stride| *stride as usize);
        let places = self.info.offset().iter().copied().zip(strides).take(planes).collect();
        self.leveler.submit(Plain { bytes, places }, Timing { time: Some(Duration::from(time)), votes });
        let done = self.leveler.drain().unwrap();
        done.outcome.unwrap();
        done.memory.bytes
    }

    /// What comes out for frame `number` of the picture, the frames before having been levelled.
    pub fn picture(&mut self, number: usize) -> Vec<u8> {
        self.level(picture(&self.info, number), FRAME * number as u64, true)
    }
}

/// The samples of a frame without the padding, row by row, plane by plane.
pub fn samples(buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<u8> {
    let frame = frame_info(&info.to_caps().unwrap()).unwrap().1;
    let view = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, info).unwrap();
    let mut samples = Vec::new();
    for (plane, shape) in frame.planes.iter().enumerate() {
        let stride = view.plane_stride()[plane] as usize;
        let data = view.plane_data(plane as u32).unwrap();
        for row in 0..shape.rows {
            samples.extend_from_slice(&data[row * stride..][..shape.bytes]);
        }
    }
    samples
}

/// The same of a frame in plain memory.
pub fn plain_samples(bytes: Vec<u8>, info: &VideoInfo) -> Vec<u8> {
    samples(&gst::Buffer::from_slice(bytes), info)
}

/// The `stats` of an element.
pub fn stat<T>(element: &gst::Element, name: &str) -> T
where
    T: for<'a> glib::value::FromValue<'a> + 'static,
{
    let stats: gst::Structure = element.property("stats");
    stats.value(name).unwrap().get().unwrap_or_else(|_| panic!("{name} is of another type"))
}

/// Plays a launch line to its end.
///
/// # Panics
/// On an error message, or if it has not ended after 20 s.
pub fn play(line: &str) -> gst::Pipeline {
    init();
    let pipeline = gst::parse::launch(line).unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    wait_for_end(&pipeline);
    pipeline
}

/// Waits for the end of the stream of a playing pipeline.
pub fn wait_for_end(pipeline: &gst::Pipeline) {
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::from_seconds(20), &kinds);
    match message.as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Eos(_)) => {}
        Some(other) => panic!("{other:?}"),
        None => panic!("no end after 20 s"),
    }
}

/// Counts the buffers that leave an element's source pad.
pub fn count_buffers(element: &gst::Element) -> std::sync::Arc<std::sync::atomic::AtomicUsize> {
    let count = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
    let counted = count.clone();
    element.static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        gst::PadProbeReturn::Ok
    });
    count
}

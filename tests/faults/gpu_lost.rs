//! The GPU fails under way: the CPU does the frames in flight again, and nobody sees it.

use std::sync::mpsc;

use autolevels::bridge::{Bridge, Options};
use autolevels::gpu::{Tampering, Trouble};
use autolevels::settings::{BackendChoice, Settings};
use gst::prelude::*;
use gst_video::VideoInfo;

use crate::common::{self, *};
use crate::gpus::{self, STAGES, failing, pretend, tampered, working};
use crate::warnings_until_the_end;

/// A frame as it comes out.
type Frame = (Option<gst::ClockTime>, Option<gst::ClockTime>, Vec<u8>);

/// What came of a stream: its frames, the warnings, the backend at the end, failovers.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    frames: Vec<Frame>,
    warnings: Vec<String>,
    backend: String,
    failovers: u64,
}

impl Outcome {
    /// Panics unless the frames are those of `truth`, and the GPU was given up once and told of once.
    fn check(&self, truth: &Outcome, words: &[&str], what: &str) {
        assert_eq!(self.frames.len(), truth.frames.len(), "{what}: frames");
        for (number, (got, wanted)) in self.frames.iter().zip(&truth.frames).enumerate() {
            assert_eq!((got.0, got.1), (wanted.0, wanted.1), "{what}: times of frame {number}");
            assert!(got.2 == wanted.2, "{what}: the picture jumps at frame {number}");
        }
        assert_eq!(self.warnings.len(), 1, "{what}: {:?}", self.warnings);
        for word in words {
            assert!(self.warnings[0].contains(word), "{what}: {}", self.warnings[0]);
        }
        assert_eq!((self.backend.as_str(), self.failovers), ("cpu", 1), "{what}");
    }
}

fn texts(bus: &gst::Bus) -> Vec<String> {
    let kinds = [gst::MessageType::Warning, gst::MessageType::Error];
    std::iter::from_fn(|| bus.pop_filtered(&kinds))
        .map(|message| match message.view() {
            gst::MessageView::Warning(warning) => warning.error().to_string(),
            gst::MessageView::Error(error) => panic!("{error:?}"),
            _ => unreachable!("filtered"),
        })
        .collect()
}

/// Frames through an element that remembers levels, some of them held by somebody else; in the middle the caps may
/// change.
fn element(backend: BackendChoice, adapter: &str, streams: &[(VideoInfo, usize)]) -> Outcome {
    let element = common::element(backend);
    element.set_property("smoothing", 0.5);
    element.set_property("adapter", adapter);
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harness = harness(&element, &streams[0].0);
    let mut outcome = Outcome::default();
    let mut number = 0;
    for (info, frames) in streams {
        if number > 0 {
            harness.set_src_caps(info.to_caps().unwrap());
        }
        for _ in 0..*frames {
            let input = buffer(info, number);
            let _held = (number % 2 == 0).then(|| input.clone());
            harness.push(input).unwrap();
            let output = harness.pull().unwrap();
            assert!(harness.try_pull().is_none(), "a frame came twice");
            outcome.frames.push((output.pts(), output.duration(), samples(&output, info)));
            number += 1;
        }
    }
    outcome.warnings = texts(&bus);
    outcome.backend = stat(&element, "backend");
    outcome.failovers = stat(&element, "failovers");
    assert_eq!(stat::<u64>(&element, "frames"), number as u64);
    outcome
}

const FRAMES: usize = 10;

/// Frames through a bridge, with so many in flight.
fn bridge(backend: BackendChoice, adapter: &str, depth: i64) -> Outcome {
    init();
    let settings = Settings { backend, adapter: adapter.into(), frames_in_flight: depth, ..Settings::default() };
    let bridge = Bridge::new(&settings, Options::default()).unwrap();
    let pipeline = gst::parse::launch(&format!(
        "videotestsrc num-buffers={FRAMES} pattern=ball background-color=0xff404040 foreground-color=0xff909090 \
         ! video/x-raw,format=NV12,width=64,height=48,framerate=25/1 ! identity name=last  fakesink name=sink"
    ));
    let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.add_many([bridge.appsink().upcast_ref::<gst::Element>(), bridge.appsrc().upcast_ref()]).unwrap();
    pipeline.by_name("last").unwrap().link(bridge.appsink()).unwrap();
    bridge.appsrc().link(&pipeline.by_name("sink").unwrap()).unwrap();
    let (sender, frames) = mpsc::channel();
    bridge.appsrc().static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let buffer = info.buffer().unwrap();
        sender.send((buffer.pts(), buffer.duration(), samples(buffer, &video_info("NV12", 64, 48)))).unwrap();
        gst::PadProbeReturn::Ok
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    let warnings = warnings_until_the_end(&pipeline);
    let progress = bridge.progress();
    pipeline.set_state(gst::State::Null).unwrap();
    assert_eq!(progress.frames, FRAMES as u64);
    let (backend, _) = progress.backend.unwrap();
    Outcome {
        frames: frames.try_iter().collect(),
        warnings,
        backend: backend.into(),
        failovers: progress.counters.failovers,
    }
}

#[test]
fn at_any_stage_of_any_frame_the_element_goes_on_as_if_nothing_had_happened() {
    let streams = [(video_info("NV12", 64, 48), FRAMES)];
    let truth = element(BackendChoice::Cpu, "", &streams);
    assert!(truth.frames.windows(2).all(|pair| pair[0].2 != pair[1].2) && truth.warnings.is_empty());
    for stage in STAGES {
        for at in [1, 2, 6, FRAMES] {
            let outcome = element(BackendChoice::Auto, &failing(stage, at), &streams);
            outcome.check(&truth, &["failed at", "told to fail", "the CPU"], &format!("{stage} {at}"));
        }
    }
}

#[test]
fn at_any_stage_of_any_frame_the_bridge_goes_on_with_what_is_in_flight() {
    let truth = bridge(BackendChoice::Cpu, "", 0);
    for stage in STAGES {
        for (at, depth) in [(1, 3), (4, 0), (4, 3), (5, 16), (FRAMES, 3)] {
            let outcome = bridge(BackendChoice::Auto, &failing(stage, at), depth);
            outcome.check(&truth, &["told to fail", "the CPU"], &format!("{stage} {at}, {depth} in flight"));
        }
    }
}

#[test]
fn a_true_device_that_is_lost_or_misused_or_silent_is_replaced() {
    if backends().len() < 2 {
        return;
    }
    let streams = [(video_info("NV12", 64, 48), FRAMES)];
    let (truth, bridge_truth) = (element(BackendChoice::Cpu, "", &streams), bridge(BackendChoice::Cpu, "", 0));
    let troubles = [(Trouble::Lost, "lost"), (Trouble::Invalid, "nvalid"), (Trouble::Silent, "timed out")];
    for (trouble, word) in troubles {
        for at in [0, 5] {
            let adapter = || tampered(Tampering { trouble: Some((at, trouble)), ..Tampering::default() });
            let what = format!("{trouble:?} at submission {at}");
            element(BackendChoice::Auto, &adapter(), &streams).check(&truth, &[word], &what);
            bridge(BackendChoice::Auto, &adapter(), 3).check(&bridge_truth, &[word], &what);
        }
    }
}

#[test]
fn a_gpu_that_cannot_be_had_after_a_change_of_caps_is_replaced() {
    let streams = [(video_info("NV12", 64, 48), 4), (video_info("NV12", 32, 48), 4)];
    let truth = element(BackendChoice::Cpu, "", &streams);
    let adapter = pretend(|info, slots| match info.width {
        64 => Ok(working(info, slots)),
        _ => Err(gpus::error("preparing", "out of memory")),
    });
    element(BackendChoice::Auto, &adapter, &streams).check(&truth, &["preparing", "out of memory"], "the second caps");
    let never = pretend(|_, _| Err(gpus::error("opening", "it is in use")));
    let truth = element(BackendChoice::Cpu, "", &streams[..1]);
    element(BackendChoice::Auto, &never, &streams[..1]).check(&truth, &["opening", "in use"], "the first caps");
    let truth = bridge(BackendChoice::Cpu, "", 0);
    bridge(BackendChoice::Auto, &never, 3).check(&truth, &["opening", "in use"], "the bridge");
}

#[test]
fn a_shader_that_a_driver_refuses_is_no_reason_to_stop() {
    if backends().len() < 2 {
        return;
    }
    let streams = [(video_info("NV12", 64, 48), 4)];
    let truth = element(BackendChoice::Cpu, "", &streams);
    let adapter = tampered(Tampering { edit: Some(("workgroupBarrier", "noSuchThing")), ..Tampering::default() });
    element(BackendChoice::Auto, &adapter, &streams).check(&truth, &["preparing", "noSuchThing"], "the shader");
}

#[test]
fn after_a_failure_a_change_of_caps_tries_the_gpu_again() {
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let adapter = pretend(move |info, slots| match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Err(gpus::error("opening", "not yet")),
        _ => Ok(working(info, slots)),
    });
    let streams = [(video_info("NV12", 64, 48), 3), (video_info("NV12", 32, 48), 3)];
    let outcome = element(BackendChoice::Auto, &adapter, &streams);
    assert_eq!((outcome.backend.as_str(), outcome.failovers, outcome.warnings.len()), ("gpu", 1, 1));
    assert!(outcome.frames == element(BackendChoice::Cpu, "", &streams).frames);
}

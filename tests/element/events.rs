//! What flows beside the frames: ends, segments, flushes, tags, late frames.

use std::sync::{Arc, Mutex};

use autolevels::settings::{BackendChoice, Settings};
use gst::prelude::*;
use gst_check::Harness;
use gst_video::VideoInfo;

use crate::common::*;

/// Notes what leaves the element, in order: buffers as their timestamps in ms, events by name.
fn log(element: &gst::Element) -> Arc<Mutex<Vec<String>>> {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let noted = log.clone();
    let kinds = gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
    element.static_pad("src").unwrap().add_probe(kinds, move |_, info| {
        let entry = match &info.data {
            Some(gst::PadProbeData::Buffer(buffer)) => buffer.pts().unwrap().mseconds().to_string(),
            Some(gst::PadProbeData::Event(event)) => match event.view() {
                gst::EventView::Segment(segment) => {
                    let segment = segment.segment().downcast_ref::<gst::ClockTime>().unwrap();
                    format!("segment {}", segment.start().unwrap().mseconds())
                }
                gst::EventView::CustomDownstream(custom) => custom.structure().unwrap().name().to_string(),
                _ => event.type_().name().to_string(),
            },
            _ => return gst::PadProbeReturn::Ok,
        };
        noted.lock().unwrap().push(entry);
        gst::PadProbeReturn::Ok
    });
    log
}

fn segment(start: u64) -> gst::Event {
    let mut segment = gst::FormattedSegment::<gst::ClockTime>::new();
    segment.set_start(gst::ClockTime::from_mseconds(start));
    segment.set_time(gst::ClockTime::from_mseconds(start));
    gst::event::Segment::new(&segment)
}

#[test]
fn as_many_frames_come_out_before_the_end_as_went_in() {
    for backend in backends() {
        for frames in [0, 1, 2, 50] {
            let line = format!(
                "appsrc name=in format=time caps=video/x-raw,format=NV12,width=64,height=48,framerate=25/1 \
                 ! autolevels name=l backend={} ! fakesink async=false",
                backend.name()
            );
            init();
            let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
            let count = count_buffers(&pipeline.by_name("l").unwrap());
            pipeline.set_state(gst::State::Playing).unwrap();
            let source = pipeline.by_name("in").unwrap().downcast::<gst_app::AppSrc>().unwrap();
            let info = video_info("NV12", 64, 48);
            for number in 0..frames {
                source.push_buffer(buffer(&info, number)).unwrap();
            }
            source.end_of_stream().unwrap();
            wait_for_end(&pipeline);
            assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), frames, "{backend:?}");
            pipeline.set_state(gst::State::Null).unwrap();
        }
    }
}

#[test]
fn segments_tags_and_custom_events_keep_their_place_among_the_frames() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = element(backend);
        let mut harness = harness(&element, &info);
        let log = log(&element);
        harness.push(buffer(&info, 0)).unwrap();
        assert!(harness.push_event(segment(1000)));
        harness.push(buffer(&info, 26)).unwrap();
        let mut tags = gst::TagList::new();
        tags.get_mut().unwrap().add::<gst::tags::Title>(&"title", gst::TagMergeMode::Append);
        assert!(harness.push_event(gst::event::Tag::new(tags)));
        harness.push(buffer(&info, 27)).unwrap();
        let custom = gst::event::CustomDownstream::new(gst::Structure::new_empty("custom"));
        assert!(harness.push_event(custom));
        harness.push(buffer(&info, 28)).unwrap();
        assert!(harness.push_event(gst::event::Eos::new()));
        let expected = ["0", "segment 1000", "1040", "tag", "1080", "custom", "1120", "eos"];
        assert_eq!(*log.lock().unwrap(), expected);
    }
}

/// Pushes a frame of one brightness range and gives its samples as they come out.
fn level_codes(harness: &mut Harness, info: &VideoInfo, codes: (u8, u8), time: gst::ClockTime) -> Vec<u8> {
    harness.push(frame_of(info, codes, time)).unwrap();
    samples(&harness.pull().unwrap(), info)
}

/// A frame whose samples run from `low` to `high`, every time anew.
fn frame_of(info: &VideoInfo, (low, high): (u8, u8), time: gst::ClockTime) -> gst::Buffer {
    let span = usize::from(high - low) + 1;
    let mut buffer = gst::Buffer::from_mut_slice((0..info.size()).map(|i| low + (i % span) as u8).collect::<Vec<_>>());
    buffer.get_mut().unwrap().set_pts(time);
    buffer
}

/// What the first frame of a stream looks like: a fresh leveler's output.
fn afresh(info: &VideoInfo, backend: BackendChoice, codes: (u8, u8)) -> Vec<u8> {
    // The settings of `smooth`.
    let settings = Settings { backend, smoothing: 10.0, cut: 0.0, frames_in_flight: 0, ..Settings::default() };
    let mut reference = Reference::new(info, &settings);
    let bytes = frame_of(info, codes, gst::ClockTime::ZERO).map_readable().unwrap().to_vec();
    plain_samples(reference.level(bytes, gst::ClockTime::ZERO, true), info)
}

/// An element that keeps its levels for seconds, even over cuts.
fn smooth(backend: BackendChoice) -> gst::Element {
    let element = element(backend);
    element.set_property("smoothing", 10.0);
    element.set_property("cut", 0.0);
    element
}

const DARK: (u8, u8) = (30, 120);
const BRIGHT: (u8, u8) = (90, 200);

#[test]
fn levels_start_afresh_after_a_flush_and_no_old_frame_comes_out() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = smooth(backend);
        let mut harness = harness(&element, &info);
        for number in 0..5 {
            level_codes(&mut harness, &info, DARK, FRAME * number);
        }
        assert!(harness.push_event(gst::event::FlushStart::new()));
        assert!(harness.push_event(gst::event::FlushStop::new(true)));
        assert!(harness.push_event(segment(0)));
        assert!(harness.try_pull().is_none(), "an old frame came out after the flush");
        let after = level_codes(&mut harness, &info, BRIGHT, FRAME * 5);
        assert!(after == afresh(&info, backend, BRIGHT), "levels from before the flush");
    }
}

#[test]
fn levels_start_afresh_with_a_new_stream_and_new_caps_and_a_jump_in_time() {
    for backend in backends() {
        for change in ["stream", "caps", "forward", "back"] {
            let info = video_info("NV12", 64, 48);
            let element = smooth(backend);
            let mut harness = harness(&element, &info);
            let mut time = gst::ClockTime::from_seconds(20);
            for _ in 0..5 {
                level_codes(&mut harness, &info, DARK, time);
                time += FRAME;
            }
            match change {
                "stream" => {
                    assert!(harness.push_event(gst::event::StreamStart::new("another")));
                    let caps = info.to_caps().unwrap();
                    assert!(harness.push_event(gst::event::Caps::new(&caps)));
                    assert!(harness.push_event(segment(0)));
                }
                "caps" => {
                    let mut caps = info.to_caps().unwrap();
                    caps.get_mut().unwrap().set("framerate", gst::Fraction::new(50, 1));
                    harness.set_src_caps(caps);
                }
                "forward" => time += gst::ClockTime::from_seconds(10),
                _ => time -= gst::ClockTime::from_seconds(10),
            }
            let after = level_codes(&mut harness, &info, BRIGHT, time);
            assert!(after == afresh(&info, backend, BRIGHT), "levels from before: {change}, {backend:?}");
        }
    }
}

#[test]
fn levels_go_on_over_a_discontinuity() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let output = |flags| {
            let mut harness = harness(&smooth(backend), &info);
            for number in 0..5 {
                level_codes(&mut harness, &info, DARK, FRAME * number);
            }
            let mut buffer = frame_of(&info, BRIGHT, FRAME * 5);
            buffer.get_mut().unwrap().set_flags(flags);
            harness.push(buffer).unwrap();
            samples(&harness.pull().unwrap(), &info)
        };
        assert!(output(gst::BufferFlags::DISCONT) == output(gst::BufferFlags::empty()), "{backend:?}");
    }
}

#[test]
fn late_frames_are_dropped_before_work_is_done_on_them() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = element(backend);
        let mut harness = harness(&element, &info);
        let qos = |late: u64| gst::event::Qos::new(gst::QOSType::Underflow, 1.5, 0, FRAME * late);
        harness.push(buffer(&info, 0)).unwrap();
        // All up to frame 4 is too late.
        assert!(harness.push_upstream_event(qos(4)));
        for number in 1..8 {
            harness.push(buffer(&info, number)).unwrap();
        }
        let out: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
        let times: Vec<_> = out.iter().map(|buffer| buffer.pts().unwrap().mseconds() / 40).collect();
        assert_eq!(times, [0, 5, 6, 7]);
        assert!(out[1].flags().contains(gst::BufferFlags::DISCONT));
        assert_eq!(stat::<u64>(&element, "late"), 4);
        assert_eq!(stat::<u64>(&element, "frames"), 4);
    }
}

#[test]
fn a_seek_with_flush_goes_on_at_the_new_place() {
    for backend in backends() {
        let line = format!(
            "videotestsrc ! video/x-raw,format=NV12,width=64,height=48,framerate=25/1 \
             ! autolevels name=l backend={} ! fakesink name=out sync=true",
            backend.name()
        );
        init();
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        let log = log(&pipeline.by_name("l").unwrap());
        pipeline.set_state(gst::State::Paused).unwrap();
        pipeline.state(gst::ClockTime::from_seconds(10)).0.unwrap();
        pipeline.seek_simple(gst::SeekFlags::FLUSH, gst::ClockTime::from_seconds(5)).unwrap();
        pipeline.state(gst::ClockTime::from_seconds(10)).0.unwrap();
        pipeline.set_state(gst::State::Null).unwrap();
        let log = log.lock().unwrap();
        let flush = log.iter().position(|entry| entry == "flush-stop").expect("no flush");
        let rest: Vec<_> = log[flush + 1..].iter().filter(|entry| *entry != "caps").take(2).collect();
        assert_eq!(rest, ["segment 5000", "5000"], "{log:?}");
    }
}

//! Buffers that are broken go on as they came, with one warning, and the frames around them are levelled as ever.

use std::sync::mpsc;

use autolevels::bridge::{Bridge, Options};
use autolevels::settings::{BackendChoice, Settings};
use gst::prelude::*;
use gst_video::{VideoFrameFlags, VideoInfo, VideoMeta};

use crate::common::*;
use crate::warnings_until_the_end;

/// Adds a video meta without any check.
fn add_meta(buffer: &mut gst::BufferRef, info: &VideoInfo, offsets: &[usize], strides: &[i32]) {
    let (format, width, height) = (info.format(), info.width(), info.height());
    VideoMeta::add_full(buffer, VideoFrameFlags::empty(), format, width, height, offsets, strides).unwrap();
}

/// Overwrites the number of planes of a buffer's meta.
fn set_planes(buffer: &mut gst::BufferRef, planes: u32) {
    // SAFETY: the buffer is writable and has a video meta, whose number of planes may be set to anything: that a
    // reader trusts no such number is what is tested.
    unsafe {
        let meta = gst_video::ffi::gst_buffer_get_video_meta(buffer.as_mut_ptr());
        (*meta).n_planes = planes;
    }
}

/// A way to break a frame of 64 × 48 in NV12: what is done to its memory of 4608 bytes and its meta.
type Break = fn(&mut gst::BufferRef, &VideoInfo);

/// Memory that somebody else has mapped for writing, so that nobody can map it now.
fn unmappable(buffer: &mut gst::BufferRef) {
    let memory = gst::Memory::from_mut_slice(vec![100_u8; 4608]);
    // SAFETY: the memory is live, and the map is never used: it only keeps the memory locked for writing. A
    // reference is left behind, since locked memory must not be freed.
    unsafe {
        let mut map = std::mem::zeroed();
        assert_ne!(gst::ffi::gst_memory_map(memory.as_mut_ptr(), &mut map, gst::ffi::GST_MAP_WRITE), 0);
    }
    std::mem::forget(memory.clone());
    buffer.remove_all_memory();
    buffer.append_memory(memory);
}

const BROKEN: &[(&str, Break)] = &[
    ("empty", |buffer, _| buffer.remove_all_memory()),
    ("one byte", |buffer, _| buffer.set_size(1)),
    ("no chroma", |buffer, _| buffer.set_size(64 * 48)),
    ("a byte short", |buffer, _| buffer.set_size(4607)),
    ("no mapping", |buffer, _| unmappable(buffer)),
    ("no planes", |buffer, info| {
        add_meta(buffer, info, info.offset(), info.stride());
        set_planes(buffer, 0);
    }),
    ("one plane", |buffer, info| add_meta(buffer, info, &[0], &[64])),
    ("three planes", |buffer, info| add_meta(buffer, info, &[0, 3072, 3840], &[64, 32, 32])),
    ("many planes", |buffer, info| {
        add_meta(buffer, info, info.offset(), info.stride());
        set_planes(buffer, u32::MAX);
    }),
    ("another size", |buffer, _| {
        let other = video_info("NV12", 32, 48);
        add_meta(buffer, &other, other.offset(), other.stride());
    }),
    ("another format", |buffer, _| {
        let other = video_info("GRAY8", 64, 48);
        add_meta(buffer, &other, other.offset(), other.stride());
    }),
    ("rows that overlap", |buffer, info| add_meta(buffer, info, &[0, 3072], &[63, 64])),
    ("no stride", |buffer, info| add_meta(buffer, info, &[0, 3072], &[0, 0])),
    ("a negative stride", |buffer, info| add_meta(buffer, info, &[3072, 4608], &[-64, -64])),
    ("a huge stride", |buffer, info| add_meta(buffer, info, &[0, 3072], &[i32::MAX, i32::MAX])),
    ("an offset behind the end", |buffer, info| add_meta(buffer, info, &[0, 4609], &[64, 64])),
    ("a huge offset", |buffer, info| add_meta(buffer, info, &[usize::MAX, 3072], &[64, 64])),
];

/// Frame `number` of a stream in which frames 3 and 5 are broken.
fn frame(info: &VideoInfo, number: usize, broken: Break) -> gst::Buffer {
    let mut buffer = buffer(info, number);
    if matches!(number, 3 | 5) {
        broken(buffer.get_mut().unwrap(), info);
    }
    buffer
}

#[test]
fn the_element_lets_broken_frames_pass_warns_once_and_levels_the_others() {
    for backend in backends() {
        for (what, broken) in BROKEN {
            let info = video_info("NV12", 64, 48);
            let element = element(backend);
            let bus = gst::Bus::new();
            element.set_bus(Some(&bus));
            let mut harness = harness(&element, &info);
            let mut reference = Reference::new(&info, &settings(backend));
            for number in 0..8 {
                let input = frame(&info, number, *broken);
                let size = input.size();
                harness.push(input).unwrap_or_else(|flow| panic!("{what}: {flow:?}"));
                let output = harness.pull().unwrap();
                assert_eq!((output.pts(), output.duration()), (Some(FRAME * number as u64), Some(FRAME)), "{what}");
                if matches!(number, 3 | 5) {
                    assert_eq!(output.size(), size, "{what}");
                } else {
                    let expected = plain_samples(reference.picture(number), &info);
                    assert!(samples(&output, &info) == expected, "{what}: frame {number}, {backend:?}");
                }
            }
            let messages = [gst::MessageType::Warning, gst::MessageType::Error];
            let messages: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&messages)).collect();
            assert_eq!(messages.len(), 1, "{what}: {messages:?}");
            let gst::MessageView::Warning(warning) = messages[0].view() else { panic!("{what}: {messages:?}") };
            assert!(warning.error().to_string().contains("passes untouched"), "{what}: {}", warning.error());
            assert_eq!((stat::<u64>(&element, "untouched"), stat::<u64>(&element, "failovers")), (2, 0), "{what}");
        }
    }
}

#[test]
fn the_bridge_lets_broken_frames_pass_in_their_places() {
    init();
    for depth in [0, 3] {
        for (what, broken) in BROKEN {
            let info = video_info("NV12", 64, 48);
            let settings = Settings { frames_in_flight: depth, ..settings(BackendChoice::Cpu) };
            let bridge = Bridge::new(&settings, Options::default()).unwrap();
            let (pipeline, source, output) = fed(&bridge, &info);
            for number in 0..8 {
                source.push_buffer(frame(&info, number, *broken)).unwrap();
            }
            source.end_of_stream().unwrap();
            let warnings = warnings_until_the_end(&pipeline).len();
            let untouched = bridge.progress().untouched;
            pipeline.set_state(gst::State::Null).unwrap();
            assert_eq!((warnings, untouched), (1, 2), "{what}");
            let outputs: Vec<gst::Buffer> = output.try_iter().collect();
            let times: Vec<_> = outputs.iter().map(|buffer| buffer.pts().unwrap()).collect();
            assert_eq!(times, (0..8).map(|number| FRAME * number).collect::<Vec<_>>(), "{what}");
            let mut reference = Reference::new(&info, &settings);
            for number in [0, 1, 2, 4, 6, 7] {
                let expected = plain_samples(reference.picture(number), &info);
                assert!(samples(&outputs[number], &info) == expected, "{what}: frame {number}");
            }
        }
    }
}

/// A pipeline `appsrc ! appsink … appsrc ! fakesink` around a bridge, and what comes out of it.
fn fed(bridge: &Bridge, info: &VideoInfo) -> (gst::Pipeline, gst_app::AppSrc, mpsc::Receiver<gst::Buffer>) {
    let source = gst_app::AppSrc::builder().format(gst::Format::Time).caps(&info.to_caps().unwrap()).build();
    let sink = gst::ElementFactory::make("fakesink").build().unwrap();
    let pipeline = gst::Pipeline::new();
    pipeline.add_many([source.upcast_ref::<gst::Element>(), bridge.appsink().upcast_ref()]).unwrap();
    pipeline.add_many([bridge.appsrc().upcast_ref::<gst::Element>(), &sink]).unwrap();
    source.link(bridge.appsink()).unwrap();
    bridge.appsrc().link(&sink).unwrap();
    let (sender, output) = mpsc::channel();
    bridge.appsrc().static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        sender.send(info.buffer().unwrap().clone()).unwrap();
        gst::PadProbeReturn::Ok
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    (pipeline, source, output)
}

#[test]
fn gaps_and_damaged_frames_without_memory_pass_without_a_word() {
    init();
    let info = video_info("NV12", 64, 48);
    for flag in [gst::BufferFlags::GAP, gst::BufferFlags::CORRUPTED] {
        let empty = |number: u64| {
            let mut buffer = gst::Buffer::new();
            buffer.get_mut().unwrap().set_flags(flag);
            buffer.get_mut().unwrap().set_pts(FRAME * number);
            buffer
        };
        let bridge = Bridge::new(&settings(BackendChoice::Cpu), Options::default()).unwrap();
        let (pipeline, source, output) = fed(&bridge, &info);
        source.push_buffer(buffer(&info, 0)).unwrap();
        source.push_buffer(empty(1)).unwrap();
        source.push_buffer(buffer(&info, 2)).unwrap();
        source.end_of_stream().unwrap();
        let warnings = warnings_until_the_end(&pipeline);
        pipeline.set_state(gst::State::Null).unwrap();
        assert_eq!(warnings, [""; 0]);
        let sizes: Vec<usize> = output.try_iter().map(|buffer| buffer.size()).collect();
        assert_eq!(sizes, [info.size(), 0, info.size()]);
    }
}

#[test]
fn times_that_are_missing_or_go_back_or_are_absurd_stay_as_they_are() {
    let info = video_info("NV12", 64, 48);
    let times = [Some(0), None, Some(40), Some(20), Some(0), None, Some(u64::MAX - 1), Some(80), Some(80)];
    for backend in backends() {
        let element = element(backend);
        element.set_property("smoothing", 0.5);
        let mut harness = harness(&element, &info);
        for (number, time) in times.into_iter().enumerate() {
            let time = time.map(gst::ClockTime::from_nseconds);
            let mut input = gst::Buffer::from_mut_slice(picture(&info, number));
            input.get_mut().unwrap().set_pts(time);
            // A duration on some only, and one that reaches past the end of time.
            let duration = [None, Some(FRAME), Some(gst::ClockTime::from_nseconds(u64::MAX - 1))][number % 3];
            input.get_mut().unwrap().set_duration(duration);
            harness.push(input).unwrap();
            if time.is_some_and(|time| time.nseconds() == u64::MAX - 1) {
                // Outside of every segment; the base class drops it or lets it pass.
                harness.try_pull();
                continue;
            }
            let output = harness.pull().unwrap();
            assert_eq!((output.pts(), output.duration()), (time, duration), "frame {number}");
        }
    }
}

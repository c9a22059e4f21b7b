//! Caps that are missing, say too little, or ask for frames of unusual sizes.

use autolevels::backend::BackendError;
use autolevels::settings::BackendChoice;
use gst::prelude::*;
use gst_check::Harness;

use crate::common::*;
use crate::gpus::{pretend, working};

#[test]
fn frames_before_any_caps_are_refused() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = element(backend);
        let mut harness = Harness::with_element(&element, Some("sink"), Some("src"));
        harness.play();
        harness.push_event(gst::event::StreamStart::new("test"));
        assert_eq!(harness.push(buffer(&info, 0)), Err(gst::FlowError::NotNegotiated));
        assert!(harness.try_pull().is_none());
        // It is none the worse for it.
        harness.push_event(gst::event::Caps::new(&info.to_caps().unwrap()));
        harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
        harness.push(buffer(&info, 0)).unwrap();
        assert!(harness.try_pull().is_some());
    }
}

#[test]
fn caps_that_say_too_little_or_nonsense_are_refused() {
    for backend in backends() {
        for caps in [
            "video/x-raw,format=NV12",
            "video/x-raw,format=NV12,width=64",
            "video/x-raw,format=NV12,width=64,height=0,framerate=25/1",
            "video/x-raw,format=NV12,width=-64,height=48,framerate=25/1",
            "video/x-raw,format=NV12,width=2147483647,height=2147483647,framerate=25/1",
            "video/x-raw,width=64,height=48,framerate=25/1",
            "video/x-raw,format=NV21_64Z32,width=64,height=48,framerate=25/1",
            "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved",
        ] {
            let info = video_info("NV12", 64, 48);
            let mut harness = harness(&element(backend), &info);
            harness.push(buffer(&info, 0)).unwrap();
            let caps: gst::Caps = caps.parse().unwrap();
            harness.push_event(gst::event::Caps::new(&caps));
            let flow = harness.push(buffer(&info, 1));
            assert!(matches!(flow, Err(gst::FlowError::NotNegotiated)), "{caps}: {flow:?}");
            // Good caps heal it.
            harness.push_event(gst::event::Caps::new(&info.to_caps().unwrap()));
            harness.push(buffer(&info, 2)).unwrap();
        }
    }
}

#[test]
fn a_frame_rate_of_nothing_or_a_great_deal_is_fine() {
    for backend in backends() {
        for rate in [(0, 1), (1, i32::MAX), (i32::MAX, 1)] {
            let info = video_info("NV12", 64, 48);
            let mut caps = info.to_caps().unwrap();
            caps.get_mut().unwrap().set("framerate", gst::Fraction::new(rate.0, rate.1));
            let mut harness = harness(&element(backend), &info);
            harness.set_src_caps(caps);
            let mut reference = Reference::new(&info, &settings(backend));
            for number in 0..3 {
                harness.push(buffer(&info, number)).unwrap();
                let expected = plain_samples(reference.picture(number), &info);
                assert!(samples(&harness.pull().unwrap(), &info) == expected, "{rate:?}");
            }
            assert_eq!(harness.query_latency(), Some(gst::ClockTime::ZERO));
        }
    }
}

#[test]
fn a_frame_of_one_pixel_comes_out_as_it_came() {
    for backend in backends() {
        for format in autolevels::frame::Format::ALL {
            let info = video_info(format.name(), 1, 1);
            let mut harness = harness(&element(backend), &info);
            for number in 0..3 {
                let input = buffer(&info, number);
                let before = samples(&input, &info);
                harness.push(input).unwrap();
                assert!(samples(&harness.pull().unwrap(), &info) == before, "{}", format.name());
            }
        }
    }
}

#[test]
fn a_frame_of_a_quarter_of_a_gigabyte_is_levelled() {
    const SIDE: u32 = 16384;
    let info = video_info("GRAY8", SIDE, SIDE);
    let mut harness = harness(&element(BackendChoice::Cpu), &info);
    let mut bytes = vec![100_u8; info.size()];
    let half = bytes.len() / 2;
    bytes[half..].fill(160);
    harness.push(gst::Buffer::from_mut_slice(bytes)).unwrap();
    let output = harness.pull().unwrap();
    let map = output.map_readable().unwrap();
    let (dark, bright) = map.split_at(half);
    assert!(dark.iter().all(|code| *code == dark[0]) && bright.iter().all(|code| *code == bright[0]));
    assert!(dark[0] < 100 && bright[0] > 160, "{} {}", dark[0], bright[0]);
}

/// Frames that are too large for the adapter of these tests, and cheap all the same: those that are too large for a true
/// one fill gigabytes (`frames_beyond_the_limits_are_refused` in `gpu_equals_cpu`).
const WIDE: (u32, u32) = (4096, 2);

fn small_adapter() -> String {
    pretend(|info, slots| match info.width {
        4096.. => Err(BackendError::TooLarge {
            info: info.to_string(),
            adapter: "small".into(),
            reason: "it takes 4095 pixels at most".into(),
        }),
        _ => Ok(working(info, slots)),
    })
}

#[test]
fn frames_beyond_the_limits_of_the_gpu_are_done_by_the_cpu() {
    let info = video_info("GRAY8", WIDE.0, WIDE.1);
    let element = element(BackendChoice::Auto);
    element.set_property("adapter", small_adapter());
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harness = harness(&element, &info);
    let mut reference = Reference::new(&info, &settings(BackendChoice::Cpu));
    for number in 0..3 {
        harness.push(buffer(&info, number)).unwrap();
        let expected = plain_samples(reference.picture(number), &info);
        assert!(samples(&harness.pull().unwrap(), &info) == expected);
    }
    let warnings: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning])).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let gst::MessageView::Warning(warning) = warnings[0].view() else { unreachable!("filtered") };
    assert!(warning.error().to_string().contains("too large"), "{}", warning.error());
    assert_eq!(stat::<String>(&element, "backend"), "cpu");
}

#[test]
fn frames_beyond_the_limits_of_a_gpu_that_was_asked_for_are_an_error() {
    let info = video_info("GRAY8", WIDE.0, WIDE.1);
    let element = element(BackendChoice::Gpu);
    element.set_property("adapter", small_adapter());
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harness = harness(&element, &video_info("GRAY8", 64, 48));
    harness.push_event(gst::event::Caps::new(&info.to_caps().unwrap()));
    assert!(harness.push(buffer(&info, 0)).is_err());
    let error = bus.pop_filtered(&[gst::MessageType::Error]).expect("no error");
    let gst::MessageView::Error(error) = error.view() else { unreachable!("filtered") };
    assert!(error.error().to_string().contains("too large"), "{}", error.error());
}

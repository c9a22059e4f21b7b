//! Caps, pools and latency.

use std::str::FromStr;

use autolevels::frame::Format;
use autolevels::settings::BackendChoice;
use gst::prelude::*;
use gst_video::{VideoInfo, VideoMeta};

use crate::common::*;

#[test]
fn size_format_and_rate_may_change_in_the_middle() {
    for backend in backends() {
        let element = element(backend);
        let first = video_info("NV12", 64, 48);
        let mut harness = harness(&element, &first);
        let faster =
            VideoInfo::builder(gst_video::VideoFormat::Rgba, 51, 31).fps(gst::Fraction::new(60, 1)).build().unwrap();
        let steps =
            [first, video_info("NV12", 100, 60), video_info("RGBA", 51, 31), faster, video_info("I420", 64, 48)];
        let mut number = 0;
        for info in &steps {
            let caps = info.to_caps().unwrap();
            harness.set_src_caps(caps.clone());
            let mut reference = Reference::new(info, &settings(backend));
            for _ in 0..3 {
                harness.push(buffer(info, number)).unwrap();
                assert_eq!(harness.sinkpad().unwrap().current_caps().as_ref(), Some(&caps));
                let output = harness.pull().unwrap();
                assert!(samples(&output, info) == plain_samples(reference.picture(number), info), "{caps}");
                number += 1;
            }
        }
        assert_eq!(stat::<u64>(&element, "frames"), number as u64);
    }
}

#[test]
fn colorimetry_and_the_rest_of_the_caps_pass_through() {
    for backend in backends() {
        let line = "video/x-raw,format=I420,width=64,height=48,framerate=25/1,pixel-aspect-ratio=4/3,\
                    colorimetry=1:3:5:1,chroma-site=dv,interlace-mode=progressive,multiview-mode=mono";
        init();
        let caps = gst::Caps::from_str(line).unwrap();
        let info = VideoInfo::from_caps(&caps).unwrap();
        let mut harness = harness(&element(backend), &info);
        harness.set_src_caps(caps.clone());
        harness.push(buffer(&info, 0)).unwrap();
        assert_eq!(harness.sinkpad().unwrap().current_caps(), Some(caps));
        // The range is that of the caps: full.
        let mut reference = Reference::new(&info, &settings(backend));
        let output = harness.pull().unwrap();
        assert!(samples(&output, &info) == plain_samples(reference.picture(0), &info));
    }
}

#[test]
fn pads_offer_every_format_in_system_memory_native_yuv_first() {
    let element = element(BackendChoice::Cpu);
    for pad in ["sink", "src"] {
        let caps = element.pad_template(pad).unwrap().caps().clone();
        assert_eq!(caps.size(), 1);
        assert!(caps.features(0).unwrap().contains("memory:SystemMemory"));
        let formats = caps.structure(0).unwrap().get::<gst::List>("format").unwrap();
        let formats: Vec<String> = formats.iter().map(|format| format.get().unwrap()).collect();
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        assert_eq!(formats, names);
    }
}

#[test]
fn a_converter_before_us_stays_in_yuv() {
    let source = "videotestsrc num-buffers=1 ! video/x-raw,format=P010_10LE";
    let pipeline = play(&format!("{source} ! videoconvert ! autolevels name=l backend=cpu ! fakesink"));
    let pad = pipeline.by_name("l").unwrap().static_pad("sink").unwrap();
    let info = VideoInfo::from_caps(&pad.current_caps().unwrap()).unwrap();
    assert!(info.is_yuv(), "{info:?}");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn video_meta_and_a_pool_are_offered_upstream() {
    let info = video_info("NV12", 64, 48);
    let element = element(BackendChoice::Cpu);
    let mut harness = harness(&element, &info);
    harness.push(buffer(&info, 0)).unwrap();
    let mut query = gst::query::Allocation::new(Some(&info.to_caps().unwrap()), true);
    assert!(element.static_pad("sink").unwrap().query(&mut query));
    assert!(query.find_allocation_meta::<VideoMeta>().is_some(), "no video meta");
    assert!(query.allocation_pools().next().is_some(), "no pool");
}

#[test]
fn a_live_pipeline_has_the_same_latency_with_us() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let mut harness = harness(&element(backend), &info);
        harness.set_upstream_latency(gst::ClockTime::from_mseconds(10));
        harness.push(buffer(&info, 0)).unwrap();
        assert_eq!(harness.query_latency(), Some(gst::ClockTime::from_mseconds(10)));
    }
}

#[test]
fn one_frame_pushed_comes_out_at_once() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        init();
        let line = format!(
            "appsrc name=in format=time caps={} ! autolevels backend={} ! appsink name=out sync=false",
            "video/x-raw,format=NV12,width=64,height=48,framerate=25/1",
            backend.name()
        );
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        let source = pipeline.by_name("in").unwrap().downcast::<gst_app::AppSrc>().unwrap();
        let sink = pipeline.by_name("out").unwrap().downcast::<gst_app::AppSink>().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        for number in 0..3 {
            source.push_buffer(buffer(&info, number)).unwrap();
            let sample = sink.try_pull_sample(gst::ClockTime::from_seconds(10)).expect("held back");
            assert_eq!(sample.buffer().unwrap().pts(), Some(FRAME * number as u64));
        }
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

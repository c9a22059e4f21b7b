//! What GStreamer decodes from a file, to compare inputs and outputs by.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use gst::prelude::*;

/// One frame or packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Running time in microseconds.
    pub time: i64,
    pub data: Vec<u8>,
}

/// What is in a file.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Decoded frames of the first video.
    pub frames: Vec<Unit>,
    /// Caps of the first and the last frame.
    pub caps: Vec<gst::Caps>,
    /// Packets of each sound track as the container holds them, in the order of the tracks.
    pub tracks: Vec<Vec<Unit>>,
}

/// What was decoded so far: tracks by the number of their pad.
type Collected = (Content, BTreeMap<usize, Vec<Unit>>);

impl Content {
    pub fn times(&self) -> Vec<i64> {
        self.frames.iter().map(|frame| frame.time).collect()
    }

    /// Value of a field of the frames' caps.
    pub fn field(&self, name: &str) -> String {
        let structure = self.caps[0].structure(0).unwrap();
        structure.value(name).map(|value| value.serialize().unwrap().to_string()).unwrap_or_default()
    }
}

/// Decodes the pictures, and demuxes the sound.
pub fn decode(path: &Path) -> Content {
    gst::init().unwrap();
    let pipeline = gst::parse::launch("filesrc name=source ! decodebin name=decoder").unwrap();
    let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
    pipeline.by_name("source").unwrap().set_property("location", path);
    let decoder = pipeline.by_name("decoder").unwrap();
    let mut caps = gst::Caps::new_empty_simple("video/x-raw");
    for name in
        ["audio/mpeg", "audio/x-opus", "audio/x-vorbis", "audio/x-flac", "audio/x-ac3", "audio/x-raw", "text/x-raw"]
    {
        caps.merge(gst::Caps::new_empty_simple(name));
    }
    decoder.set_property("caps", caps);
    let content: Arc<Mutex<Collected>> = Arc::default();
    let (target, collected) = (pipeline.downgrade(), content.clone());
    decoder.connect_no_more_pads(move |decoder| {
        let pipeline = target.upgrade().unwrap();
        let mut videos = 0;
        for (number, pad) in decoder.src_pads().into_iter().enumerate() {
            let caps = pad.current_caps().unwrap();
            let is_video = caps.structure(0).unwrap().name() == "video/x-raw";
            videos += usize::from(is_video);
            let sink =
                gst::ElementFactory::make("fakesink").property("sync", false).property("async", false).build().unwrap();
            let queue = gst::ElementFactory::make("queue").property("max-size-time", 0_u64).build().unwrap();
            pipeline.add_many([&queue, &sink]).unwrap();
            queue.link(&sink).unwrap();
            sink.sync_state_with_parent().unwrap();
            queue.sync_state_with_parent().unwrap();
            pad.link(&queue.static_pad("sink").unwrap()).unwrap();
            if is_video && videos > 1 || caps.structure(0).unwrap().name() == "text/x-raw" {
                continue;
            }
            let collected = collected.clone();
            sink.static_pad("sink").unwrap().add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
                let buffer = info.buffer().unwrap();
                let segment = pad.sticky_event::<gst::event::Segment>(0).unwrap();
                let segment = segment.segment().downcast_ref::<gst::ClockTime>().unwrap();
                let time = buffer.pts().and_then(|pts| segment.to_running_time_full(pts));
                let time = time.map_or(-1, microseconds);
                let unit = Unit { time, data: buffer.map_readable().unwrap().to_vec() };
                let mut collected = collected.lock().unwrap();
                if is_video {
                    let caps = pad.current_caps().unwrap();
                    if collected.0.caps.last() != Some(&caps) {
                        collected.0.caps.push(caps);
                    }
                    collected.0.frames.push(unit);
                } else if time >= 0 {
                    // Priming before the start is there to be thrown away; the muxers do so.
                    collected.1.entry(number).or_default().push(unit);
                }
                gst::PadProbeReturn::Ok
            });
        }
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    let bus = pipeline.bus().unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = bus.timed_pop_filtered(gst::ClockTime::from_seconds(60), &kinds).expect("it is decoded in time");
    pipeline.set_state(gst::State::Null).unwrap();
    if let gst::MessageView::Error(error) = message.view() {
        panic!("{} does not decode: {} ({:?})", path.display(), error.error(), error.debug());
    }
    let (mut content, tracks) = std::mem::take(&mut *content.lock().unwrap());
    content.tracks = tracks.into_values().collect();
    content
}

/// Microseconds of a running time, which may lie before zero.
fn microseconds(time: gst::Signed<gst::ClockTime>) -> i64 {
    let microseconds = i64::try_from(time.abs().useconds()).unwrap();
    if time.is_negative() { -microseconds } else { microseconds }
}

/// Expects equal times, each to `within` microseconds.
#[track_caller]
pub fn same_times(left: &[i64], right: &[i64], within: i64) {
    assert_eq!(left.len(), right.len(), "{left:?}\n{right:?}");
    for (left, right) in left.iter().zip(right) {
        assert!((left - right).abs() <= within, "{left} {right}");
    }
}

/// Expects the same frames in time, and the same packets of sound.
#[track_caller]
pub fn same_content(input: &Content, output: &Content, within: i64) {
    assert!(!input.frames.is_empty());
    same_times(&output.times(), &input.times(), within);
    same_sound(input, output, within);
}

/// Expects the same tracks with the same packets.
#[track_caller]
pub fn same_sound(input: &Content, output: &Content, within: i64) {
    assert_eq!(output.tracks.len(), input.tracks.len());
    for (input, output) in input.tracks.iter().zip(&output.tracks) {
        assert!(!input.is_empty());
        let data = |track: &[Unit]| track.iter().map(|packet| packet.data.clone()).collect::<Vec<_>>();
        assert_eq!(output.len(), input.len());
        assert!(data(output) == data(input), "the packets differ");
        let times = |track: &[Unit]| track.iter().map(|packet| packet.time).collect::<Vec<_>>();
        same_times(&times(output), &times(input), within);
    }
}

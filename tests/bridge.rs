//! The bridge in real pipelines: order, timing, end of stream, stopping, errors.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use autolevels::bridge::{Bridge, Options};
use autolevels::settings::{BackendChoice, Settings};
use gst::prelude::*;

fn init() {
    gst::init().unwrap();
}

fn settings() -> Settings {
    Settings { backend: BackendChoice::Cpu, ..Settings::default() }
}

fn bridge() -> Bridge {
    Bridge::new(&settings(), Options::default()).unwrap()
}

/// A pipeline `source ! appsink … appsrc ! fakesink name=sink`.
fn joined(bridge: &Bridge, source: &str, sink: &str) -> gst::Pipeline {
    let pipeline = gst::Pipeline::new();
    // A line that ends in caps is not taken as a bin.
    let front = gst::parse::bin_from_description(&format!("{source} ! identity"), true).unwrap();
    let back = gst::parse::bin_from_description(sink, true).unwrap();
    pipeline.add_many([front.upcast_ref::<gst::Element>(), back.upcast_ref()]).unwrap();
    pipeline.add_many([bridge.appsink().upcast_ref::<gst::Element>(), bridge.appsrc().upcast_ref()]).unwrap();
    front.link(bridge.appsink()).unwrap();
    bridge.appsrc().link(&back).unwrap();
    pipeline
}

/// Everything that passes the pad, as text.
#[derive(Debug, PartialEq)]
enum Seen {
    Caps(String),
    Segment(Option<gst::ClockTime>),
    Frame { pts: Option<gst::ClockTime>, duration: Option<gst::ClockTime>, flags: gst::BufferFlags },
    Event(gst::EventType),
}

fn watch(pad: &gst::Pad) -> mpsc::Receiver<Seen> {
    let (sender, receiver) = mpsc::channel();
    pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        let seen = match &info.data {
            Some(gst::PadProbeData::Buffer(buffer)) => {
                Seen::Frame { pts: buffer.pts(), duration: buffer.duration(), flags: buffer.flags() }
            }
            Some(gst::PadProbeData::Event(event)) => match event.view() {
                gst::EventView::Caps(caps) => Seen::Caps(caps.caps().to_string()),
                gst::EventView::Segment(segment) => {
                    Seen::Segment(segment.segment().downcast_ref::<gst::ClockTime>().and_then(|s| s.start()))
                }
                _ => Seen::Event(event.type_()),
            },
            _ => return gst::PadProbeReturn::Ok,
        };
        let _ = sender.send(seen);
        gst::PadProbeReturn::Ok
    });
    receiver
}

/// Waits for the end of the stream; an error is returned as its text.
fn finish(pipeline: &gst::Pipeline) -> Result<(), String> {
    let bus = pipeline.bus().unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = bus.timed_pop_filtered(gst::ClockTime::from_seconds(20), &kinds).expect("the pipeline ends in time");
    match message.view() {
        gst::MessageView::Error(error) => Err(error.error().to_string()),
        _ => Ok(()),
    }
}

fn stop(pipeline: &gst::Pipeline) {
    let started = Instant::now();
    pipeline.set_state(gst::State::Null).unwrap();
    // Milliseconds when the machine is idle; what hangs takes for ever.
    assert!(started.elapsed() < Duration::from_secs(3), "stopping took {:?}", started.elapsed());
}

fn frames(seen: &[Seen]) -> Vec<gst::ClockTime> {
    seen.iter().filter_map(|seen| if let Seen::Frame { pts, .. } = seen { *pts } else { None }).collect()
}

#[test]
fn frames_come_out_once_in_order_with_their_times() {
    init();
    for depth in [0, 3] {
        let settings = Settings { frames_in_flight: depth, ..settings() };
        let bridge = Bridge::new(&settings, Options::default()).unwrap();
        let source = "videotestsrc num-buffers=20 ! video/x-raw,format=I420,width=64,height=48,framerate=30000/1001";
        let pipeline = joined(&bridge, source, "fakesink");
        let input = watch(&bridge.appsink().static_pad("sink").unwrap());
        let output = watch(&bridge.appsrc().static_pad("src").unwrap());
        pipeline.set_state(gst::State::Playing).unwrap();
        finish(&pipeline).unwrap();
        stop(&pipeline);
        let keep = |seen: &Seen| !matches!(seen, Seen::Event(gst::EventType::StreamStart | gst::EventType::Latency));
        let input: Vec<Seen> = input.try_iter().filter(keep).collect();
        let output: Vec<Seen> = output.try_iter().filter(keep).collect();
        assert_eq!(frames(&input).len(), 20);
        assert_eq!(output, input);
        let progress = bridge.progress();
        assert_eq!((progress.frames, progress.backend.unwrap().0), (20, "cpu"));
        assert_eq!(progress.position.unwrap().as_millis(), 667);
    }
}

#[test]
fn frames_are_levelled() {
    init();
    let bridge = bridge();
    let source = "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xff404040 ! \
                  video/x-raw,format=GRAY8,width=64,height=48 ! videobox left=-8 fill=black ! video/x-raw,format=GRAY8";
    let pipeline = joined(&bridge, source, "fakesink");
    let (sender, bright) = mpsc::channel();
    bridge.appsrc().static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        sender.send(info.buffer().unwrap().map_readable().unwrap().iter().copied().max().unwrap()).unwrap();
        gst::PadProbeReturn::Ok
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    finish(&pipeline).unwrap();
    stop(&pipeline);
    let bright: Vec<u8> = bright.try_iter().collect();
    assert_eq!(bright.len(), 3);
    assert!(bright.iter().all(|code| *code > 0x80), "{bright:?}");
}

#[test]
fn an_output_that_prerolls_and_waits_is_served() {
    init();
    let bridge = bridge();
    let source = "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=32,height=32";
    let pipeline = joined(&bridge, source, "fakesink name=sink");
    let output = watch(&bridge.appsrc().static_pad("src").unwrap());
    pipeline.set_state(gst::State::Paused).unwrap();
    let (reached, state, _) = pipeline.state(gst::ClockTime::from_seconds(5));
    assert_eq!((reached, state), (Ok(gst::StateChangeSuccess::Success), gst::State::Paused));
    pipeline.set_state(gst::State::Playing).unwrap();
    finish(&pipeline).unwrap();
    stop(&pipeline);
    assert_eq!(frames(&output.try_iter().collect::<Vec<_>>()).len(), 5, "the preroll frame comes once");
}

#[test]
fn it_runs_again_after_a_stop() {
    init();
    let bridge = bridge();
    let source = "videotestsrc num-buffers=4 ! video/x-raw,format=NV12,width=32,height=32";
    let pipeline = joined(&bridge, source, "fakesink");
    let output = watch(&bridge.appsrc().static_pad("src").unwrap());
    for round in 0..5 {
        pipeline.set_state(gst::State::Playing).unwrap();
        finish(&pipeline).unwrap();
        stop(&pipeline);
        let seen: Vec<Seen> = output.try_iter().collect();
        assert_eq!(frames(&seen).len(), 4, "round {round}: {seen:?}");
    }
}

#[test]
fn it_stops_at_once_from_any_state() {
    init();
    let source = "videotestsrc ! video/x-raw,format=NV12,width=64,height=64";
    // A sink that takes frames, one that waits for its clock, one that never takes any.
    for sink in [
        "fakesink",
        "fakesink sync=true",
        "queue max-size-buffers=1 ! valve drop=false ! fakesink sync=true ts-offset=60000000000",
    ] {
        for state in [gst::State::Ready, gst::State::Paused, gst::State::Playing] {
            for wait in [0, 60] {
                let bridge = bridge();
                let pipeline = joined(&bridge, source, sink);
                let _ = pipeline.set_state(state);
                std::thread::sleep(Duration::from_millis(wait));
                stop(&pipeline);
                let started = Instant::now();
                drop(bridge);
                assert!(started.elapsed() < Duration::from_secs(3));
            }
        }
    }
}

#[test]
fn dropping_the_bridge_while_it_plays_does_not_hang() {
    init();
    let bridge = bridge();
    let pipeline = joined(&bridge, "videotestsrc ! video/x-raw,format=NV12,width=64,height=64", "fakesink sync=true");
    pipeline.set_state(gst::State::Playing).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(bridge);
    stop(&pipeline);
}

/// Pushes into an appsrc of the test's own, so that every event is under control.
fn fed(bridge: &Bridge) -> (gst::Pipeline, gst_app::AppSrc) {
    let source = gst_app::AppSrc::builder().format(gst::Format::Time).handle_segment_change(true).build();
    let pipeline = gst::Pipeline::new();
    let sink = gst::ElementFactory::make("fakesink").build().unwrap();
    let inner = [source.upcast_ref::<gst::Element>(), bridge.appsink().upcast_ref()];
    pipeline.add_many(inner).unwrap();
    pipeline.add_many([bridge.appsrc().upcast_ref::<gst::Element>(), &sink]).unwrap();
    source.link(bridge.appsink()).unwrap();
    bridge.appsrc().link(&sink).unwrap();
    (pipeline, source)
}

fn gray(width: i32, height: i32, rate: i32) -> gst::Caps {
    let caps = gst_video::VideoCapsBuilder::new().format(gst_video::VideoFormat::Gray8);
    caps.width(width).height(height).framerate(gst::Fraction::new(rate, 1)).build()
}

fn sample(caps: &gst::Caps, pts: u64, segment: &gst::FormattedSegment<gst::ClockTime>) -> gst::Sample {
    let info = gst_video::VideoInfo::from_caps(caps).unwrap();
    let mut buffer = gst::Buffer::from_mut_slice(vec![100; info.size()]);
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(pts));
    gst::Sample::builder().buffer(&buffer).caps(caps).segment(segment).build()
}

#[test]
fn caps_segments_tags_gaps_and_events_keep_their_places() {
    init();
    let settings = Settings { frames_in_flight: 4, ..settings() };
    let bridge = Bridge::new(&settings, Options::default()).unwrap();
    let (pipeline, source) = fed(&bridge);
    let output = watch(&bridge.appsrc().static_pad("src").unwrap());
    let (small, large) = (gray(16, 8, 25), gray(32, 8, 25));
    let first = gst::FormattedSegment::<gst::ClockTime>::new();
    let mut second = first.clone();
    second.set_start(gst::ClockTime::from_mseconds(100));
    second.set_base(gst::ClockTime::from_mseconds(80));
    let mut tags = gst::TagList::new();
    tags.get_mut().unwrap().add::<gst::tags::Title>(&"title", gst::TagMergeMode::Replace);
    let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(40)).build();
    let custom = gst::event::CustomDownstream::new(gst::Structure::new_empty("test"));
    pipeline.set_state(gst::State::Playing).unwrap();
    source.set_caps(Some(&small));
    source.send_event(gst::event::Tag::new(tags));
    source.push_sample(&sample(&small, 0, &first)).unwrap();
    source.send_event(gap);
    source.push_sample(&sample(&small, 80, &first)).unwrap();
    source.push_sample(&sample(&small, 100, &second)).unwrap();
    source.push_sample(&sample(&large, 140, &second)).unwrap();
    source.send_event(custom);
    source.push_sample(&sample(&large, 180, &second)).unwrap();
    source.end_of_stream().unwrap();
    finish(&pipeline).unwrap();
    stop(&pipeline);
    let text = |seen: &Seen| match seen {
        Seen::Caps(caps) => Some(if caps.contains("width=(int)16") { "small".into() } else { "large".to_string() }),
        Seen::Segment(start) => Some(format!("segment {}", start.unwrap().mseconds())),
        Seen::Frame { pts, .. } => Some(format!("frame {}", pts.unwrap().mseconds())),
        Seen::Event(gst::EventType::StreamStart | gst::EventType::Latency) => None,
        Seen::Event(kind) => Some(format!("{kind:?}")),
    };
    let seen: Vec<String> = output.try_iter().filter_map(|seen| text(&seen)).collect();
    // The appsrc sends a first segment of its own before the tag, and then the same one with the frame.
    let wanted = "small, segment 0, Tag, segment 0, frame 0, Gap, frame 80, segment 100, frame 100, large, frame 140, \
                  CustomDownstream, frame 180, Eos";
    assert_eq!(seen.join(", "), wanted);
}

#[test]
fn a_flush_leaves_no_stale_frame() {
    init();
    let settings = Settings { frames_in_flight: 4, ..settings() };
    let bridge = Bridge::new(&settings, Options::default()).unwrap();
    let (pipeline, source) = fed(&bridge);
    let output = watch(&bridge.appsrc().static_pad("src").unwrap());
    let caps = gray(16, 8, 25);
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    pipeline.set_state(gst::State::Playing).unwrap();
    for pts in [0, 40, 80] {
        source.push_sample(&sample(&caps, pts, &segment)).unwrap();
    }
    let seen = std::iter::from_fn(|| output.recv_timeout(Duration::from_secs(10)).ok());
    // The first one is let out as the preroll frame.
    let seen: Vec<Seen> = seen.take_while(|seen| !matches!(seen, Seen::Frame { .. })).collect();
    assert_eq!(seen.last(), Some(&Seen::Segment(Some(gst::ClockTime::ZERO))));
    source.send_event(gst::event::FlushStart::new());
    source.send_event(gst::event::FlushStop::new(true));
    source.push_sample(&sample(&caps, 400, &segment)).unwrap();
    source.end_of_stream().unwrap();
    finish(&pipeline).unwrap();
    stop(&pipeline);
    let times: Vec<u64> = frames(&output.try_iter().collect::<Vec<_>>()).iter().map(|time| time.mseconds()).collect();
    assert_eq!(times, [400], "frames held back before the flush are gone");
}

#[test]
fn it_joins_two_pipelines() {
    init();
    let bridge = bridge();
    let source = gst::parse::launch(
        "videotestsrc num-buffers=6 ! video/x-raw,format=I420,width=32,height=32 ! identity name=last",
    );
    let source = source.unwrap().downcast::<gst::Pipeline>().unwrap();
    source.add(bridge.appsink()).unwrap();
    source.by_name("last").unwrap().link(bridge.appsink()).unwrap();
    let target = gst::Pipeline::new();
    let sink = gst::ElementFactory::make("fakesink").build().unwrap();
    target.add_many([bridge.appsrc().upcast_ref::<gst::Element>(), &sink]).unwrap();
    bridge.appsrc().link(&sink).unwrap();
    let output = watch(&bridge.appsrc().static_pad("src").unwrap());
    source.set_state(gst::State::Playing).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    target.set_state(gst::State::Playing).unwrap();
    finish(&target).unwrap();
    assert_eq!(frames(&output.try_iter().collect::<Vec<_>>()).len(), 6, "frames wait for an output that starts late");
    stop(&source);
    stop(&target);
}

#[test]
fn a_live_bridge_does_not_wait() {
    init();
    let bridge = Bridge::new(&settings(), Options { live: true }).unwrap();
    let source =
        "videotestsrc is-live=true num-buffers=30 ! video/x-raw,format=I420,width=32,height=32,framerate=100/1";
    let pipeline = joined(&bridge, source, "fakesink sync=true");
    let output = watch(&bridge.appsrc().static_pad("src").unwrap());
    pipeline.set_state(gst::State::Playing).unwrap();
    finish(&pipeline).unwrap();
    stop(&pipeline);
    let frames = frames(&output.try_iter().collect::<Vec<_>>()).len();
    // A machine that is busy with other things drops some.
    assert!((1..=30).contains(&frames), "{frames}");
}

#[test]
fn finishing_early_ends_the_output_and_keeps_the_input_going() {
    init();
    let bridge = bridge();
    let source = "videotestsrc num-buffers=60 is-live=true ! video/x-raw,format=I420,width=32,height=32,framerate=60/1";
    let pipeline = joined(&bridge, source, "fakesink");
    let output = watch(&bridge.appsrc().static_pad("src").unwrap());
    pipeline.set_state(gst::State::Playing).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let (sender, end) = mpsc::channel();
    bridge.finish(move |position| sender.send(position).unwrap());
    let end = end.recv_timeout(Duration::from_secs(2)).unwrap().unwrap();
    finish(&pipeline).unwrap();
    stop(&pipeline);
    let seen: Vec<Seen> = output.try_iter().collect();
    assert_eq!(seen.last(), Some(&Seen::Event(gst::EventType::Eos)));
    let frames = frames(&seen);
    assert!(frames.len() < 40, "{}", frames.len());
    let last = Duration::from(*frames.last().unwrap() + gst::ClockTime::from_nseconds(16_666_666));
    assert!(end.abs_diff(last) < Duration::from_millis(1), "{end:?} {last:?}");
}

#[test]
fn settings_change_while_it_runs() {
    init();
    let bridge = bridge();
    let pipeline = joined(&bridge, "videotestsrc ! video/x-raw,format=I420,width=32,height=32", "fakesink sync=true");
    pipeline.set_state(gst::State::Playing).unwrap();
    bridge.set_settings(&Settings { strength: 0.5, ..settings() }).unwrap();
    let refused = bridge.set_settings(&Settings { black: 0.5, white: 0.5, ..settings() }).unwrap_err();
    assert!(refused.to_string().contains("below white"));
    stop(&pipeline);
}

#[test]
fn errors_reach_the_bus() {
    init();
    let settings = Settings { backend: BackendChoice::Gpu, adapter: "no such adapter".into(), ..Settings::default() };
    let bridge = Bridge::new(&settings, Options::default()).unwrap();
    let pipeline = joined(&bridge, "videotestsrc ! video/x-raw,format=I420,width=32,height=32", "fakesink");
    pipeline.set_state(gst::State::Playing).unwrap();
    let error = finish(&pipeline).unwrap_err();
    assert!(error.contains("no GPU"), "{error}");
    stop(&pipeline);
}

#[test]
fn with_a_gpu_frames_lie_on_its_pages_on_both_sides() {
    use autolevels::gpu::pages::Pages;
    init();
    for backend in [BackendChoice::Cpu, BackendChoice::Gpu] {
        let settings = Settings { backend, ..Settings::default() };
        let bridge = Bridge::new(&settings, Options::default()).unwrap();
        let source = "videotestsrc num-buffers=6 pattern=ball background-color=0xff404040 foreground-color=0xff909090 \
                      ! video/x-raw,format=NV12,width=320,height=180";
        let pipeline = joined(&bridge, source, "fakesink");
        let pads = [bridge.appsink().static_pad("sink").unwrap(), bridge.appsrc().static_pad("src").unwrap()];
        let seen = pads.map(|pad| {
            let (sender, receiver) = mpsc::channel();
            pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                let map = info.buffer().unwrap().map_readable().unwrap();
                let _ = sender.send(Pages::find(map.as_slice()).is_some());
                gst::PadProbeReturn::Ok
            });
            receiver
        });
        pipeline.set_state(gst::State::Playing).unwrap();
        finish(&pipeline).unwrap();
        for seen in seen {
            assert_eq!(seen.try_iter().collect::<Vec<_>>(), [backend == BackendChoice::Gpu; 6], "{backend:?}");
        }
        stop(&pipeline);
    }
}

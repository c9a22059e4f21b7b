//! What a process of weeks must not do: grow, in memory, threads, open files or forgotten objects.
//!
//! `AUTOLEVELS_FRAMES` says how many frames each long run takes. Needs Linux: /proc tells what the process holds. Every
//! run is a process of its own, since it looks at the whole process.

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "element/common.rs"]
mod common;

use std::process::Command;
use std::time::Instant;

use autolevels::bridge::{Bridge, Options};
use autolevels::settings::{BackendChoice, Settings};
use gst::prelude::*;

use common::*;

const WIDTH: u32 = 32;
const HEIGHT: u32 = 18;
/// A frame of NV12 in KiB, rounded down.
const FRAME_KIB: u64 = (WIDTH * HEIGHT * 3 / 2 / 1024) as u64;

fn frames() -> usize {
    std::env::var("AUTOLEVELS_FRAMES").map_or(1500, |frames| frames.parse().expect("AUTOLEVELS_FRAMES is a number"))
}

/// What the process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    resident_kib: u64,
    threads: u64,
    files: u64,
}

fn held() -> Held {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let number = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    Held { resident_kib: number("VmRSS:"), threads: number("Threads:"), files }
}

/// Runs a test of this file, which is ignored by itself, in a process of its own; gives what it wrote to stderr.
fn alone(test: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{test}: {}{errors}", String::from_utf8_lossy(&output.stdout));
    eprint!(
        "{}",
        errors.lines().filter(|line| line.starts_with("soak:")).fold(String::new(), |all, line| all + line + "\n")
    );
    errors
}

/// Does `step` as often as there are frames, and compares what is held after a fifth of it and at the end.
fn soak(what: &str, mut step: impl FnMut(usize)) {
    let (frames, started) = (frames(), Instant::now());
    let warm = (frames / 5).max(1);
    (0..warm).for_each(&mut step);
    let before = held();
    (warm..frames).for_each(&mut step);
    let after = held();
    let time = started.elapsed();
    eprintln!("soak: {what}: {frames} frames in {time:.1?}, {before:?} after {warm}, {after:?} at the end");
    // GLib ends its spare threads after a while, and a thread of GStreamer's opens a file to wait on when it first waits.
    let files = before.files..=before.files + 4;
    assert!(after.threads <= before.threads && files.contains(&after.files), "{what}: {before:?} {after:?}");
    // One frame in a hundred forgotten, or sixteen bytes of each, would be more than this in a long run.
    let most = 2048 + (frames - warm) as u64 * FRAME_KIB / 100;
    let grown = after.resident_kib.saturating_sub(before.resident_kib);
    assert!(grown < most.min(8192), "{what}: grown by {grown} KiB");
}

/// Frames through an element, levelled in place and copied by turns, with times that go on.
fn through_an_element(backend: BackendChoice) {
    let info = video_info("NV12", WIDTH, HEIGHT);
    let element = element(backend);
    element.set_property("smoothing", 0.5);
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harness = harness(&element, &info);
    soak(&format!("element, {}", backend.name()), |number| {
        let input = buffer(&info, number);
        let _shared = (number % 3 == 0).then(|| input.clone());
        harness.push(input).unwrap();
        assert_eq!(harness.pull().unwrap().pts(), Some(FRAME * number as u64));
        // The harness keeps the events that come out; there are none but at the start.
        assert!(bus.pop().is_none_or(|message| message.type_() != gst::MessageType::Warning));
    });
    assert_eq!((stat::<u64>(&element, "frames"), stat::<u64>(&element, "untouched")), (frames() as u64, 0));
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn element_on_the_cpu() {
    through_an_element(BackendChoice::Cpu);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn element_on_the_gpu() {
    through_an_element(BackendChoice::Gpu);
}

/// Frames through a bridge, several in flight.
fn through_a_bridge(backend: BackendChoice) {
    init();
    let settings = Settings { backend, frames_in_flight: 3, ..Settings::default() };
    let bridge = Bridge::new(&settings, Options::default()).unwrap();
    let info = video_info("NV12", WIDTH, HEIGHT);
    let source = gst_app::AppSrc::builder().format(gst::Format::Time).caps(&info.to_caps().unwrap()).build();
    source.set_property("block", true);
    source.set_max_buffers(4);
    let sink = gst_app::AppSink::builder().sync(false).max_buffers(4).build();
    let pipeline = gst::Pipeline::new();
    pipeline.add_many([source.upcast_ref::<gst::Element>(), bridge.appsink().upcast_ref()]).unwrap();
    pipeline.add_many([bridge.appsrc().upcast_ref::<gst::Element>(), sink.upcast_ref()]).unwrap();
    source.link(bridge.appsink()).unwrap();
    bridge.appsrc().link(&sink).unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    // Frames that may be inside: what is pushed runs ahead of what is pulled by so many.
    const AHEAD: usize = 6;
    soak(&format!("bridge, {}", backend.name()), |number| {
        source.push_buffer(buffer(&info, number)).unwrap();
        if let Some(number) = number.checked_sub(AHEAD) {
            assert_eq!(sink.pull_sample().unwrap().buffer().unwrap().pts(), Some(FRAME * number as u64));
        }
    });
    source.end_of_stream().unwrap();
    let rest = std::iter::from_fn(|| sink.pull_sample().ok()).count();
    assert_eq!(rest, AHEAD.min(frames()));
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn bridge_on_the_cpu() {
    through_a_bridge(BackendChoice::Cpu);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn bridge_on_the_gpu() {
    through_a_bridge(BackendChoice::Gpu);
}

#[test]
fn many_frames_leave_memory_threads_and_files_as_they_were() {
    alone("element_on_the_cpu", &[]);
    alone("bridge_on_the_cpu", &[]);
    if backends().len() > 1 {
        alone("element_on_the_gpu", &[]);
        alone("bridge_on_the_gpu", &[]);
    }
}

/// Plays a few frames through so many elements at a time.
fn elements(count: usize, backend: BackendChoice) {
    let branch = format!(
        "videotestsrc num-buffers=8 ! video/x-raw,format=NV12,width={WIDTH},height={HEIGHT} \
         ! autolevels backend={} ! fakesink ",
        backend.name()
    );
    drop(play_to_the_end(&branch.repeat(count)));
}

fn play_to_the_end(line: &str) -> gst::Pipeline {
    let pipeline = play(line);
    pipeline.set_state(gst::State::Null).unwrap();
    pipeline
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn elements_that_come_and_go() {
    init();
    for backend in backends() {
        (0..20).for_each(|_| elements(1, backend));
        let before = held();
        // Software GPUs are slow to open.
        let count = if backend == BackendChoice::Cpu { 200 } else { frames() / 30 };
        (0..count).for_each(|_| elements(1, backend));
        let after = held();
        eprintln!("soak: {count} elements one after the other, {}: {before:?}, {after:?}", backend.name());
        assert!(after.files <= before.files + 4, "{before:?} {after:?}");
        // GLib ends its spare threads after a while, and starts them again.
        assert!(after.threads <= before.threads + 2, "{before:?} {after:?}");
        assert!(after.resident_kib < before.resident_kib + 8192, "{before:?} {after:?}");
    }
}

#[test]
fn two_hundred_elements_leave_nothing_behind() {
    alone("elements_that_come_and_go", &[]);
}

#[test]
fn sixteen_elements_work_at_once() {
    init();
    for backend in backends() {
        elements(16, backend);
    }
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn everything_once() {
    init();
    for backend in backends() {
        elements(2, backend);
        // Frames that others hold, ones that are broken, a flush, and one that is left in the element's queue.
        let info = video_info("NV12", WIDTH, HEIGHT);
        let mut harness = harness(&element(backend), &info);
        for number in 0..6 {
            let input = buffer(&info, number);
            let _shared = (number % 2 == 0).then(|| input.clone());
            harness.push(input).unwrap();
            harness.pull().unwrap();
        }
        harness.push(gst::Buffer::from_mut_slice(vec![0_u8; 3])).unwrap();
        harness.push_event(gst::event::FlushStart::new());
        harness.push_event(gst::event::FlushStop::new(true));
        drop(harness);
        let settings = Settings { backend, frames_in_flight: 3, ..Settings::default() };
        let bridge = Bridge::new(&settings, Options::default()).unwrap();
        let line = format!(
            "videotestsrc num-buffers=9 ! video/x-raw,format=NV12,width={WIDTH},height={HEIGHT} \
             ! identity name=last  fakesink name=sink"
        );
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        pipeline.add_many([bridge.appsink().upcast_ref::<gst::Element>(), bridge.appsrc().upcast_ref()]).unwrap();
        pipeline.by_name("last").unwrap().link(bridge.appsink()).unwrap();
        bridge.appsrc().link(&pipeline.by_name("sink").unwrap()).unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        wait_for_end(&pipeline);
        pipeline.set_state(gst::State::Null).unwrap();
    }
    if std::env::var("AUTOLEVELS_TEST_LEAK").is_ok() {
        std::mem::forget(gst::Buffer::new());
    }
    // SAFETY: nothing of GStreamer is used after this; it is then that the tracer tells what is left.
    unsafe { gst::deinit() };
}

/// The leaks that GStreamer's tracer tells of.
fn leaks(variables: &[(&str, &str)]) -> Vec<String> {
    let tracer = [("GST_TRACERS", "leaks"), ("GST_DEBUG", "GST_TRACER:7"), ("GST_DEBUG_NO_COLOR", "1")];
    let errors = alone("everything_once", &[variables, &tracer].concat());
    errors.lines().filter(|line| line.contains("object-alive, type-name=(string)G")).map(str::to_owned).collect()
}

#[test]
fn no_object_is_forgotten() {
    let leaks = leaks(&[]);
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn a_forgotten_object_is_noticed() {
    assert_eq!(leaks(&[("AUTOLEVELS_TEST_LEAK", "1")]).len(), 1);
}

//! Starting and stopping over and over does not grow the process. A test on its own, since it looks at the
//! memory of the whole process.

use std::str::FromStr;

use autolevels::settings::BackendChoice;
use gst::glib;
use gst::prelude::*;

/// Resident memory of this process in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    usize::from_str(line.split_whitespace().nth(1).unwrap()).unwrap()
}

fn cycle(backend: BackendChoice) {
    let line = format!(
        "videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=640,height=360 ! autolevels name=l backend={} \
         ! fakesink",
        backend.name()
    );
    let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
    // Twice, as an element may be started again: fifty cycles are a hundred starts.
    for _ in 0..2 {
        pipeline.set_state(gst::State::Playing).unwrap();
        let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
        let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::from_seconds(20), &kinds);
        assert_eq!(message.unwrap().type_(), gst::MessageType::Eos);
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn a_hundred_starts_do_not_grow_the_process() {
    gst::init().unwrap();
    autolevels::plugin_register_static().unwrap();
    glib::log_set_always_fatal(glib::LogLevels::LEVEL_ERROR | glib::LogLevels::LEVEL_CRITICAL);
    let skip = std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip");
    let backends = if skip { vec![BackendChoice::Cpu] } else { vec![BackendChoice::Cpu, BackendChoice::Gpu] };
    for backend in backends {
        // Caches fill at first.
        for _ in 0..10 {
            cycle(backend);
        }
        let before = resident();
        for _ in 0..40 {
            cycle(backend);
        }
        let grown = resident().saturating_sub(before);
        // A frame has 345 KB: one forgotten at each start would be 28 MB.
        assert!(grown < 8 * 1024, "{backend:?}: grown by {grown} KiB");
    }
}

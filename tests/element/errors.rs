//! What the user is told when something does not work.

use autolevels::settings::BackendChoice;
use gst::prelude::*;

use crate::common::*;

/// Plays a line that cannot work, and gives its error messages.
fn errors(line: &str) -> Vec<(String, String)> {
    init();
    let pipeline = gst::parse::launch(line).unwrap().downcast::<gst::Pipeline>().unwrap();
    let bus = pipeline.bus().unwrap();
    if pipeline.set_state(gst::State::Playing).is_ok() {
        assert!(pipeline.state(gst::ClockTime::from_seconds(5)).0.is_err());
    }
    // Stopping empties the bus.
    let messages: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Error])).collect();
    pipeline.set_state(gst::State::Null).unwrap();
    messages
        .iter()
        .map(|message| match message.view() {
            gst::MessageView::Error(error) => (error.src().unwrap().name().to_string(), error.error().to_string()),
            _ => unreachable!("filtered"),
        })
        .collect()
}

#[test]
fn an_adapter_that_is_not_there_is_one_error_that_says_what_to_do() {
    let errors = errors("videotestsrc ! autolevels name=l backend=gpu adapter=no-such-adapter ! fakesink");
    let [(source, text)] = errors.as_slice() else { panic!("{errors:?}") };
    assert_eq!(source, "l");
    for part in ["backend=gpu", "backend=cpu", "adapters seen"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn black_above_white_is_refused_at_the_start() {
    let errors = errors("videotestsrc ! autolevels name=l backend=cpu black=0.6 white=0.5 ! fakesink");
    let [(source, text)] = errors.as_slice() else { panic!("{errors:?}") };
    assert_eq!(source, "l");
    assert!(text.contains("black (0.6) must lie below white (0.5)"), "{text}");
}

#[test]
fn an_adapter_that_auto_cannot_find_is_a_warning() {
    let info = video_info("NV12", 64, 48);
    let element = element(BackendChoice::Auto);
    element.set_property("adapter", "no-such-adapter");
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harness = harness(&element, &info);
    harness.push(buffer(&info, 0)).unwrap();
    assert!(harness.try_pull().is_some());
    assert_eq!(stat::<String>(&element, "backend"), "cpu");
    let warnings: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning])).collect();
    assert_eq!(warnings.len(), 1);
    let gst::MessageView::Warning(warning) = warnings[0].view() else { unreachable!("filtered") };
    assert!(warning.error().to_string().contains("no-such-adapter"));
}

#[test]
fn caps_that_are_not_offered_are_not_negotiated() {
    let info = video_info("NV12", 64, 48);
    let mut harness = harness(&element(BackendChoice::Cpu), &info);
    let other = video_info("AYUV64", 64, 48);
    let caps = other.to_caps().unwrap();
    assert!(!harness.element().unwrap().static_pad("sink").unwrap().query_accept_caps(&caps));
    harness.push_event(gst::event::Caps::new(&caps));
    assert_eq!(harness.push(buffer(&other, 0)), Err(gst::FlowError::NotNegotiated));
}

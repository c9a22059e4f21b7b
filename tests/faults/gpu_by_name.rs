//! With `backend=gpu` a GPU that fails is an error, at once and clear.

use autolevels::bridge::{Bridge, Options};
use autolevels::gpu::{Tampering, Trouble};
use autolevels::settings::{BackendChoice, Settings};
use gst::prelude::*;

use crate::common::*;
use crate::gpus::{self, STAGES, failing, pretend, tampered, working};

/// The errors that were posted; panics if there was a warning.
fn errors(bus: &gst::Bus) -> Vec<String> {
    let kinds = [gst::MessageType::Warning, gst::MessageType::Error];
    std::iter::from_fn(|| bus.pop_filtered(&kinds))
        .map(|message| match message.view() {
            gst::MessageView::Error(error) => error.error().to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Pushes frames until one is refused; gives how many came out and the first error.
fn until_it_fails(adapter: &str) -> (usize, String) {
    let info = video_info("NV12", 64, 48);
    let element = element(BackendChoice::Gpu);
    element.set_property("adapter", adapter);
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harness = harness(&element, &info);
    let pushed = (0..20).take_while(|number| harness.push(buffer(&info, *number)).is_ok()).count();
    assert_eq!(harness.push(buffer(&info, 20)), Err(gst::FlowError::Error), "it stays failed");
    let came = std::iter::from_fn(|| harness.try_pull()).count();
    assert_eq!(came, pushed, "what went in before the failure comes out");
    assert_eq!(stat::<String>(&element, "backend"), "gpu");
    assert_eq!(stat::<u64>(&element, "failovers"), 0);
    let mut errors = errors(&bus);
    assert_eq!(errors.len(), 2, "one for each frame that was pushed: {errors:?}");
    (came, errors.remove(0))
}

#[test]
fn a_failure_at_any_stage_stops_the_element_with_that_frame() {
    for stage in STAGES {
        // One call of each a frame, and one more when the element starts for nothing but to see that it is there.
        let (came, text) = until_it_fails(&failing(stage, 4));
        assert_eq!(came, 3, "{stage}");
        assert!(text.contains(&format!("failed at {stage}")) && text.contains("told to fail"), "{text}");
    }
}

#[test]
fn a_true_device_in_trouble_stops_the_element() {
    if backends().len() < 2 {
        return;
    }
    for (trouble, word) in [(Trouble::Lost, "lost"), (Trouble::Invalid, "nvalid"), (Trouble::Silent, "timed out")] {
        let (came, text) = until_it_fails(&tampered(Tampering { trouble: Some((4, trouble)), ..Tampering::default() }));
        assert!(came <= 3, "{trouble:?}: {came} frames came");
        assert!(text.contains(word) && !text.contains("Panicked"), "{trouble:?}: {text}");
    }
}

#[test]
fn a_gpu_that_cannot_take_new_caps_is_an_error_with_the_caps() {
    let adapter = pretend(|info, slots| match info.width {
        32 => Err(gpus::error("preparing", "out of memory")),
        _ => Ok(working(info, slots)),
    });
    let element = element(BackendChoice::Gpu);
    element.set_property("adapter", adapter);
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let (first, second) = (video_info("NV12", 64, 48), video_info("NV12", 32, 48));
    let mut harness = harness(&element, &first);
    harness.push(buffer(&first, 0)).unwrap();
    harness.push_event(gst::event::Caps::new(&second.to_caps().unwrap()));
    assert!(harness.push(buffer(&second, 1)).is_err());
    let mut errors = errors(&bus);
    // The caps came twice: by themselves, and with the frame that was pushed in spite of the answer.
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("preparing") && errors[0].contains("out of memory"), "{}", errors[0]);
}

#[test]
fn a_failure_stops_the_bridge() {
    init();
    for (stage, depth) in STAGES.into_iter().flat_map(|stage| [(stage, 0), (stage, 3)]) {
        let adapter = failing(stage, 4);
        let settings =
            Settings { backend: BackendChoice::Gpu, adapter, frames_in_flight: depth, ..Settings::default() };
        let bridge = Bridge::new(&settings, Options::default()).unwrap();
        let line = "videotestsrc pattern=ball background-color=0xff404040 foreground-color=0xff909090 \
                    ! video/x-raw,format=NV12,width=64,height=48 ! identity name=last  fakesink name=sink";
        let pipeline = gst::parse::launch(line).unwrap().downcast::<gst::Pipeline>().unwrap();
        pipeline.add_many([bridge.appsink().upcast_ref::<gst::Element>(), bridge.appsrc().upcast_ref()]).unwrap();
        pipeline.by_name("last").unwrap().link(bridge.appsink()).unwrap();
        bridge.appsrc().link(&pipeline.by_name("sink").unwrap()).unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let bus = pipeline.bus().unwrap();
        let message = bus.timed_pop_filtered(gst::ClockTime::from_seconds(20), &[gst::MessageType::Error]);
        let Some(gst::MessageView::Error(error)) = message.as_ref().map(|message| message.view()) else {
            panic!("no error after 20 s: {stage}, {depth} in flight");
        };
        let text = error.error().to_string();
        assert!(text.contains("failed at") && text.contains("told to fail"), "{text}");
        // With some in flight, another stage of an earlier frame may be what fails first.
        assert!(depth > 0 || text.contains(stage), "{text}");
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

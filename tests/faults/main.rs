//! What goes wrong outside does not go wrong inside: GPUs that fail, buffers that are broken, caps that make no sense.

mod buffers;
mod caps;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "../element/common.rs"]
mod common;
mod gpu_by_name;
mod gpu_lost;
mod gpus;

use gst::prelude::*;

/// Waits for the end of the stream and gives the warnings that were posted before; panics on an error.
fn warnings_until_the_end(pipeline: &gst::Pipeline) -> Vec<String> {
    let bus = pipeline.bus().unwrap();
    let mut warnings = Vec::new();
    loop {
        let message = bus.timed_pop(gst::ClockTime::from_seconds(20)).expect("no end after 20 s");
        match message.view() {
            gst::MessageView::Eos(_) => return warnings,
            gst::MessageView::Warning(warning) => warnings.push(warning.error().to_string()),
            gst::MessageView::Error(error) => panic!("{error:?}"),
            _ => {}
        }
    }
}

//! A webcam, levelled, in a window: the bridge between two pipelines.
//!
//!     cargo run --release --example webcam [-- 'LAUNCH LINE OF A SOURCE' ['LAUNCH LINE OF A SINK']]
//!
//!  camera ! videoconvert ! appsink ··▶ Bridge (a thread: measure, decide, apply) ··▶ appsrc ! videoconvert ! window
//!
//! Watch how the picture keeps its contrast when you turn a lamp off. Type a line to change a setting while it runs:
//! `strength 0.5`, `mode equalize`, `freeze true`; an empty line ends it.

use std::error::Error;
use std::io::{self, BufRead};

use autolevels::bridge::{Bridge, Options};
use autolevels::settings::{Setting, Settings};
use gst::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let source = arguments.next().unwrap_or_else(|| "v4l2src".into());
    let sink = arguments.next().unwrap_or_else(|| "autovideosink sync=false".into());
    gst::init()?;

    // Live: old frames are dropped rather than kept waiting.
    let mut settings = Settings::default();
    let bridge = Bridge::new(&settings, Options { live: true })?;

    let input = gst::Pipeline::new();
    let camera = gst::parse::bin_from_description(&format!("{source} ! videoconvert"), true)?;
    input.add_many([camera.upcast_ref(), bridge.appsink().upcast_ref::<gst::Element>()])?;
    camera.link(bridge.appsink())?;

    let output = gst::Pipeline::new();
    let window = gst::parse::bin_from_description(&format!("videoconvert ! {sink}"), true)?;
    output.add_many([bridge.appsrc().upcast_ref::<gst::Element>(), window.upcast_ref()])?;
    bridge.appsrc().link(&window)?;

    // One clock and one base time, so that a timestamp means the same moment in both.
    let clock = gst::SystemClock::obtain();
    let now = clock.time();
    for pipeline in [&input, &output] {
        pipeline.use_clock(Some(&clock));
        pipeline.set_start_time(gst::ClockTime::NONE);
        pipeline.set_base_time(now);
        // Problems come to the bus of either; this example only says them.
        let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
        let latency = pipeline.downgrade();
        bus.set_sync_handler(move |_, message| {
            match message.view() {
                gst::MessageView::Error(error) => eprintln!("error: {}", error.error()),
                gst::MessageView::Warning(warning) => eprintln!("warning: {}", warning.error()),
                gst::MessageView::Eos(_) => eprintln!("the end; an empty line quits"),
                gst::MessageView::Latency(_) => {
                    // From another thread: this one streams.
                    let latency = latency.clone();
                    std::thread::spawn(move || latency.upgrade().map(|pipeline| pipeline.recalculate_latency()));
                }
                _ => {}
            }
            gst::BusSyncReply::Drop
        });
    }
    output.set_state(gst::State::Playing)?;
    input.set_state(gst::State::Playing)?;

    for line in io::stdin().lock().lines() {
        let line = line?;
        let Some((name, value)) = line.trim().split_once(' ') else { break };
        match change(&mut settings, name, value).and_then(|()| Ok(bridge.set_settings(&settings)?)) {
            Ok(()) => eprintln!("{name} is now {value}"),
            Err(error) => eprintln!("{error}"),
        }
    }

    let progress = bridge.progress();
    let (backend, adapter) = progress.backend.unwrap_or_default();
    eprintln!("{} frames on {backend} {adapter}", progress.frames);
    output.set_state(gst::State::Null)?;
    input.set_state(gst::State::Null)?;
    Ok(())
}

/// Changes a setting by its name, with the same checks as on the command line.
fn change(settings: &mut Settings, name: &str, value: &str) -> Result<(), Box<dyn Error>> {
    let setting = Setting::find(name).ok_or_else(|| format!("there is no setting {name}"))?;
    settings.set(name, setting.parse(value)?)?;
    Ok(())
}

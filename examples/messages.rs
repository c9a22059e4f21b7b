//! A program that reacts to what the element decides: it tells when the scene changes and when the light does.
//!
//!     cargo run --release --example messages -- FILE
//!
//!  filesrc ! decodebin ! videoconvert ! autolevels post-messages=levels mode=off ! fakesink
//!
//! With `mode=off` frames are only measured. The element posts one message named `autolevels` for each frame.

use std::error::Error;

use gst::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: messages FILE")?;
    gst::init()?;
    // The element is part of this program; nothing has to be installed.
    autolevels::plugin_register_static()?;

    let line = "filesrc name=file ! decodebin ! videoconvert ! autolevels post-messages=levels mode=off ! fakesink";
    let pipeline = gst::parse::launch(line)?.downcast::<gst::Pipeline>().map_err(|_| "the line is a pipeline")?;
    pipeline.by_name("file").ok_or("the source is in the line")?.set_property("location", &file);
    pipeline.set_state(gst::State::Playing)?;

    let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
    let mut scenes = 0;
    for message in bus.iter_timed(gst::ClockTime::NONE) {
        match message.view() {
            gst::MessageView::Element(element) => {
                let Some(levels) = element.structure().filter(|structure| structure.name() == "autolevels") else {
                    continue;
                };
                let time = levels.get::<gst::ClockTime>("running-time").unwrap_or_default();
                let number = |name| levels.get::<f64>(name);
                let (cut, exposure) = (number("cut")?, number("exposure")?);
                if cut > 0.5 {
                    scenes += 1;
                    let (black, white) = (number("black")?, number("white")?);
                    println!("{time:.2}  scene {scenes}: from {black:.0} to {white:.0}, mean {:.0}", number("mean")?);
                } else if (exposure - 1.0).abs() > 0.1 {
                    println!("{time:.2}  the light changes by {:+.0} %", (exposure - 1.0) * 100.0);
                }
            }
            gst::MessageView::Error(error) => {
                pipeline.set_state(gst::State::Null)?;
                return Err(format!("{file}: {}", error.error()).into());
            }
            gst::MessageView::Eos(_) => break,
            _ => {}
        }
    }
    pipeline.set_state(gst::State::Null)?;
    Ok(())
}

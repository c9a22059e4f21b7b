//! The element message `autolevels` that tells what was decided on a frame.

use gst::glib;
use gst::prelude::*;

use crate::leveler::Outcome;

/// The message's structure. The histogram is in it if the outcome has one.
pub fn structure(time: Option<gst::ClockTime>, outcome: &Outcome) -> gst::Structure {
    let report = &outcome.report;
    let mut structure = gst::Structure::builder("autolevels")
        .field("running-time", time)
        .field("black", report.black)
        .field("white", report.white)
        .field("gain", report.gain)
        .field("exposure", report.exposure)
        .field("cut", report.cut)
        .field("mean", report.mean)
        .field("changed", outcome.changed)
        .build();
    if let Some(histogram) = &outcome.histogram {
        // A GValueArray as the `level` element posts it: bindings read it as a list without help.
        let array = glib::ValueArray::new(histogram).to_value();
        // SAFETY: the array owns its numbers and nobody else has it.
        structure.set_value("histogram", unsafe { array.into_send_value() });
    }
    structure
}

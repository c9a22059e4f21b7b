//! Corrections to caps on their way: colours that are described in part, and the time scale of mp4.

use std::sync::{Arc, Mutex, PoisonError};

use gst::prelude::*;

/// Time scales near this many units a second hold any timestamp to half a microsecond.
const FINE: i32 = 1_000_000;

/// Completes colorimetry of which only the range is known, as decoders give it for many webcams' files. GStreamer
/// takes it for invalid and would assume limited range.
pub fn complete_colorimetry(pad: &gst::Pad) {
    edit_caps(pad, completed);
}

/// Caps with the matrix that goes with their size, if they tell the range alone.
pub fn completed(caps: &gst::CapsRef) -> Option<gst::Caps> {
    let structure = caps.structure(0)?;
    let colorimetry = structure.get::<&str>("colorimetry").ok()?;
    let parts: Vec<&str> = colorimetry.split(':').collect();
    let [range @ ("1" | "2"), "0", transfer, primaries] = parts[..] else { return None };
    let format = structure.get::<&str>("format").ok()?.parse::<gst_video::VideoFormat>().ok()?;
    if !gst_video::VideoFormatInfo::from_format(format).is_yuv() {
        return None;
    }
    // BT.709 for high definition, BT.601 below, as GStreamer assumes where nothing is known.
    let matrix = if structure.get::<i32>("height").ok()? >= 720 { 3 } else { 4 };
    let mut caps = caps.to_owned();
    caps.make_mut().set("colorimetry", format!("{range}:{matrix}:{transfer}:{primaries}"));
    Some(caps)
}

/// Lets the stream's own description of its colours win over the container's, from which GStreamer's demuxers read
/// no range: full-range mp4 files would be taken for limited. The container's is used where the stream has none.
pub fn prefer_stream_colorimetry(decoder: &gst::Element) {
    let Some(decoder) = decoder.downcast_ref::<gst::Bin>() else { return };
    decoder.connect_deep_element_added(|_, _, element| {
        let factory = element.factory().map(|factory| factory.name().to_string()).unwrap_or_default();
        if !matches!(factory.as_str(), "h264parse" | "h265parse") {
            return;
        }
        let (Some(sink), Some(source)) = (element.static_pad("sink"), element.static_pad("src")) else { return };
        let container = Arc::new(Mutex::new(None::<String>));
        let hidden = container.clone();
        edit_caps(&sink, move |caps| {
            let colorimetry = caps.structure(0)?.get::<String>("colorimetry").ok()?;
            *hidden.lock().unwrap_or_else(PoisonError::into_inner) = Some(colorimetry);
            let mut caps = caps.to_owned();
            caps.make_mut().structure_mut(0)?.remove_field("colorimetry");
            Some(caps)
        });
        edit_caps(&source, move |caps| {
            let colorimetry = container.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
            if caps.structure(0)?.has_field("colorimetry") {
                return None;
            }
            let mut caps = caps.to_owned();
            caps.make_mut().set("colorimetry", colorimetry);
            Some(caps)
        });
    });
}

/// Replaces the caps that pass the pad by those that `edit` gives, if it gives any.
pub fn edit_caps(pad: &gst::Pad, edit: impl Fn(&gst::CapsRef) -> Option<gst::Caps> + Send + Sync + 'static) {
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        let Some(event) = info.event() else { return gst::PadProbeReturn::Ok };
        let gst::EventView::Caps(caps) = event.view() else { return gst::PadProbeReturn::Ok };
        if let Some(better) = edit(caps.caps()) {
            let event = gst::event::Caps::builder(&better).seqnum(event.seqnum()).build();
            info.data = Some(gst::PadProbeData::Event(event));
        }
        gst::PadProbeReturn::Ok
    });
}

/// Gives an mp4 track a time scale that is a multiple of its frame rate and fine enough for frames that do not
/// keep to it.
pub fn refine_timescale(pad: &gst::Pad) {
    if !pad.has_property_with_type("trak-timescale", u32::static_type()) {
        return;
    }
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, |pad, info| {
        if let Some(gst::EventView::Caps(caps)) = info.event().map(|event| event.view()) {
            let rate = caps.structure().and_then(|s| s.get::<gst::Fraction>("framerate").ok());
            let numerator = rate.map(|rate| rate.numer()).filter(|n| (1..FINE).contains(n)).unwrap_or(1);
            pad.set_property("trak-timescale", ((FINE + numerator - 1) / numerator * numerator).unsigned_abs());
        }
        gst::PadProbeReturn::Ok
    });
}

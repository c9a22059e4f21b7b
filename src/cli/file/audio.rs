//! Sound: copied where the container takes it, encoded where it does not.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use gst::prelude::*;

use super::containers::Container;

/// Bytes of sound that may wait for pictures. A queue that is limited in time hangs with encoders that look ahead.
const QUEUE_BYTES: u32 = 64 << 20;

struct Known {
    name: &'static str,
    /// Elements that do it, the best first.
    elements: &'static [&'static str],
    /// Its package on Debian.
    package: &'static str,
    /// Bits a second, where the element has such a setting.
    rate: i32,
}

const KNOWN: &[Known] = &[
    Known {
        name: "aac",
        elements: &["fdkaacenc", "avenc_aac", "voaacenc"],
        package: "gstreamer1.0-libav",
        rate: 192_000,
    },
    Known { name: "opus", elements: &["opusenc"], package: "gstreamer1.0-plugins-base", rate: 160_000 },
    Known { name: "vorbis", elements: &["vorbisenc"], package: "gstreamer1.0-plugins-base", rate: 192_000 },
    Known { name: "mp3", elements: &["lamemp3enc"], package: "gstreamer1.0-plugins-good", rate: 0 },
    Known { name: "flac", elements: &["flacenc"], package: "gstreamer1.0-plugins-good", rate: 0 },
];

/// How a track is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    Copied,
    Encoded,
}

/// The queue that leads a track.
pub fn queue() -> anyhow::Result<gst::Element> {
    let queue = gst::ElementFactory::make("queue")
        .property("max-size-time", 0_u64)
        .property("max-size-buffers", 0_u32)
        .property("max-size-bytes", QUEUE_BYTES);
    queue.build().context("the GStreamer element queue is missing (gstreamer-core has it)")
}

/// Whether a track of `caps` goes into the container as it is. Sound that was decoded on the way is encoded again,
/// though some containers would take it raw.
pub fn treatment(caps: &gst::Caps, decoded: bool, container: Container) -> Treatment {
    let raw = caps.structure(0).is_some_and(|s| s.name() == "audio/x-raw");
    if container.takes("audio_%u").can_intersect(caps) && !(raw && decoded) {
        Treatment::Copied
    } else {
        Treatment::Encoded
    }
}

/// Elements that encode raw sound for the container.
pub fn encoder(name: Option<&str>, container: Container) -> anyhow::Result<Vec<gst::Element>> {
    let names = match (name, container) {
        (Some(name), _) => vec![name],
        (None, Container::Mp4 | Container::Mov) => vec!["aac", "mp3"],
        (None, Container::Matroska | Container::WebM) => vec!["opus", "vorbis"],
    };
    let found = names.iter().find_map(|name| {
        let known = KNOWN.iter().find(|known| known.name == *name);
        let elements = known.map_or(std::slice::from_ref(name), |known| known.elements);
        let element = elements.iter().find_map(|element| gst::ElementFactory::make(element).build().ok())?;
        Some((element, known.map_or(0, |known| known.rate)))
    });
    let Some((encoder, rate)) = found else {
        let packages = KNOWN.iter().filter(|known| names.contains(&known.name)).map(|known| known.package);
        let hint = packages.collect::<Vec<_>>().join(" or ");
        let hint = if hint.is_empty() { String::new() } else { format!("; install {hint}") };
        bail!("the audio encoder {} is missing{hint}", names.join(" or "));
    };
    if rate > 0 && encoder.has_property_with_type("bitrate", gst::glib::Type::I32) {
        encoder.set_property("bitrate", rate);
    }
    let mut chain = Vec::new();
    for name in ["audioconvert", "audioresample"] {
        chain.push(
            gst::ElementFactory::make(name)
                .build()
                .with_context(|| format!("the GStreamer element {name} is missing"))?,
        );
    }
    chain.push(encoder);
    Ok(chain)
}

/// Gives packets without a duration that of the one before: the mp4 muxer drops a last packet that has none.
pub fn complete_durations(pad: &gst::Pad) {
    let last = Mutex::new((None::<gst::ClockTime>, None::<gst::ClockTime>));
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let Some(buffer) = info.buffer_mut() {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(before), Some(now)) = (last.0, buffer.pts()) {
                last.1 = now.checked_sub(before).or(last.1);
            }
            last.0 = buffer.pts();
            if buffer.duration().is_none() {
                buffer.make_mut().set_duration(last.1);
            }
        }
        gst::PadProbeReturn::Ok
    });
}

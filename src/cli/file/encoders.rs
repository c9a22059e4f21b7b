//! Video encoders, and one scale of quality for all of them.

use anyhow::{Context, bail};
use gst::prelude::*;

use super::super::Usage;
use super::containers::Container;

pub const DEFAULT_QUALITY: u32 = 8;
pub const MOST_QUALITY: u32 = 10;

/// An encoder that is known by a short name.
struct Known {
    name: &'static str,
    element: &'static str,
    /// What its package is called on Debian.
    package: &'static str,
    parser: Option<&'static str>,
    /// Sets the quality on the scale from 1 to 10.
    tune: fn(&gst::Element, u32),
}

/// The encoders' own defaults are far too low (x264enc: 2 Mbit/s, vp9enc: 256 kbit/s), hence constant quality.
const KNOWN: &[Known] = &[
    Known {
        name: "x264",
        element: "x264enc",
        package: "gstreamer1.0-plugins-ugly",
        parser: Some("h264parse"),
        tune: |encoder, quality| {
            encoder.set_property_from_str("pass", "qual");
            encoder.set_property("quantizer", 34 - 2 * quality);
            encoder.set_property_from_str("speed-preset", "faster");
        },
    },
    Known {
        name: "x265",
        element: "x265enc",
        package: "gstreamer1.0-plugins-bad",
        parser: Some("h265parse"),
        tune: |encoder, quality| {
            encoder.set_property("qp", 37 - 2 * quality as i32);
            encoder.set_property_from_str("speed-preset", "veryfast");
        },
    },
    Known {
        name: "openh264",
        element: "openh264enc",
        package: "gstreamer1.0-plugins-bad",
        parser: Some("h264parse"),
        tune: |encoder, quality| {
            let quantizer = 36 - 2 * quality;
            // The rate is a ceiling, too high to be reached.
            encoder.set_property("bitrate", 100_000_000_u32);
            encoder.set_property("qp-min", quantizer);
            encoder.set_property("qp-max", quantizer);
        },
    },
    Known {
        name: "vp9",
        element: "vp9enc",
        package: "gstreamer1.0-plugins-good",
        parser: Some("vp9parse"),
        tune: |encoder, quality| {
            encoder.set_property("row-mt", true);
            vpx(encoder, quality);
        },
    },
    Known { name: "vp8", element: "vp8enc", package: "gstreamer1.0-plugins-good", parser: None, tune: vpx },
    Known {
        name: "av1",
        element: "av1enc",
        package: "gstreamer1.0-plugins-bad",
        parser: Some("av1parse"),
        tune: |encoder, quality| {
            let quantizer = 50 - 4 * quality;
            encoder.set_property_from_str("end-usage", "q");
            encoder.set_property("min-quantizer", quantizer.saturating_sub(6));
            encoder.set_property("max-quantizer", quantizer + 6);
            encoder.set_property("cpu-used", 6);
            encoder.set_property("row-mt", true);
        },
    },
];

fn vpx(encoder: &gst::Element, quality: u32) {
    let level = 47 - 3 * quality as i32;
    encoder.set_property_from_str("end-usage", "cq");
    encoder.set_property("cq-level", level);
    // The rate is a ceiling, too high to be reached; the level then holds only as the least quantizer too.
    encoder.set_property("target-bitrate", 100_000_000);
    encoder.set_property("min-quantizer", level);
    // Looking ahead, vp9enc loses frames.
    encoder.set_property("lag-in-frames", 0);
    encoder.set_property("cpu-used", 4);
    encoder.set_property("deadline", 1_i64);
    encoder.set_property("threads", threads());
}

fn threads() -> i32 {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(16) as i32)
}

/// The encoder of a job.
#[derive(Clone, Debug)]
pub struct VideoEncoder {
    element: String,
    parser: Option<&'static str>,
    quality: u32,
    tune: Option<fn(&gst::Element, u32)>,
    /// What a capsfilter in place of an encoder lets pass.
    taken: Option<gst::Caps>,
}

impl VideoEncoder {
    /// The encoder of that name, else the container's usual one.
    pub fn choose(name: Option<&str>, quality: u32, container: Container) -> anyhow::Result<VideoEncoder> {
        let names = match (name, container) {
            (Some(name), _) => vec![name],
            (None, Container::WebM) => vec!["vp9", "vp8"],
            (None, _) => vec!["x264", "openh264"],
        };
        let mut missing = Vec::new();
        for name in names {
            let known = KNOWN.iter().find(|known| known.name == name || known.element == name);
            let element = known.map_or(name, |known| known.element);
            let Some(factory) = gst::ElementFactory::find(element) else {
                missing.push(match known {
                    Some(known) => format!("{name} (install {})", known.package),
                    None => name.to_owned(),
                });
                continue;
            };
            if !factory.has_type(gst::ElementFactoryType::VIDEO_ENCODER) {
                bail!(Usage(format!("{name} is no video encoder; installed: {}", installed().join(", "))));
            }
            let encoder = VideoEncoder {
                element: element.to_owned(),
                parser: known.and_then(|known| known.parser),
                quality,
                tune: known.map(|known| known.tune),
                taken: None,
            };
            encoder.check(&factory, container)?;
            return Ok(encoder);
        }
        bail!("the video encoder {} is missing; installed: {}", missing.join(" or "), installed().join(", "))
    }

    /// YUV4MPEG2, for pipes.
    pub fn y4m() -> VideoEncoder {
        VideoEncoder { element: "y4menc".into(), parser: None, quality: DEFAULT_QUALITY, tune: None, taken: None }
    }

    /// Raw video of the given caps, for pipes.
    pub fn raw(caps: gst::Caps) -> VideoEncoder {
        VideoEncoder { element: "capsfilter".into(), taken: Some(caps), ..VideoEncoder::y4m() }
    }

    fn check(&self, factory: &gst::ElementFactory, container: Container) -> anyhow::Result<()> {
        let takes = container.takes("video_%u");
        let codec = |caps: &gst::Caps| caps.iter().map(|s| s.name().to_string()).collect::<Vec<_>>();
        let sources = factory.static_pad_templates();
        let gives =
            sources.iter().filter(|pad| pad.direction() == gst::PadDirection::Src).flat_map(|pad| codec(&pad.caps()));
        let taken = codec(&takes);
        let gives: Vec<String> = gives.collect();
        if gives.iter().any(|name| taken.contains(name)) {
            return Ok(());
        }
        bail!(Usage(format!(
            "{} does not take what {} makes; choose another --encoder or extension",
            container.name(),
            self.element
        )));
    }

    /// The encoder, and the parser that follows it.
    pub fn make(&self) -> anyhow::Result<Vec<gst::Element>> {
        let encoder = gst::ElementFactory::make(&self.element)
            .build()
            .with_context(|| format!("the video encoder {} does not start", self.element))?;
        if let Some(tune) = self.tune {
            tune(&encoder, self.quality);
        }
        if let Some(taken) = &self.taken {
            encoder.set_property("caps", taken);
        }
        let mut elements = vec![encoder];
        // A parser helps some muxers, and is not needed where it is not installed.
        elements.extend(self.parser.and_then(|parser| gst::ElementFactory::make(parser).build().ok()));
        Ok(elements)
    }

    /// Whether the encoder cuts odd sizes down where chroma is halved.
    pub fn halves_colour(&self) -> bool {
        !["vp8enc", "vp9enc", "av1enc", "y4menc", "capsfilter"].contains(&self.element.as_str())
    }

    /// Name of the GStreamer element.
    pub fn name(&self) -> &str {
        &self.element
    }

    /// Raw video that the encoder takes.
    pub fn takes(&self) -> gst::Caps {
        if let Some(taken) = &self.taken {
            return taken.clone();
        }
        let mut caps = gst::Caps::new_empty();
        if let Some(factory) = gst::ElementFactory::find(&self.element) {
            for pad in factory.static_pad_templates().iter().filter(|pad| pad.direction() == gst::PadDirection::Sink) {
                caps.merge(pad.caps());
            }
        }
        caps
    }
}

/// Of raw video of several formats that of the format nearest to another: first that which loses least chroma, then
/// least depth, then that which adds least. GStreamer's own choice counts a lost bit for as much as four.
pub fn nearest(format: gst_video::VideoFormat, taken: &gst::Caps) -> Option<gst::Caps> {
    let shape = |info: gst_video::VideoFormatInfo| {
        // Samples of chroma for each of luma, and bits of a sample.
        let chroma = match info.n_components() {
            0..3 => 0.0,
            _ => 2.0 / f64::from(1 << (info.w_sub()[1] + info.h_sub()[1])),
        };
        (chroma, f64::from(info.depth()[0]))
    };
    let (chroma, depth) = shape(gst_video::VideoFormatInfo::from_format(format));
    let cost = |other: gst_video::VideoFormat| {
        let (other_chroma, other_depth) = shape(gst_video::VideoFormatInfo::from_format(other));
        let lost = 100.0 * (chroma - other_chroma).max(0.0) + 10.0 * (depth - other_depth).max(0.0);
        lost + (other_chroma - chroma).max(0.0) + 0.1 * (other_depth - depth).max(0.0)
    };
    let each = |format: &gst_video::VideoFormat| {
        let caps = gst::Caps::builder("video/x-raw").field("format", format.to_str()).build();
        let info = gst_video::VideoFormatInfo::from_format(*format);
        ((info.is_yuv() || info.is_gray()) && caps.can_intersect(taken)).then(|| (cost(*format), caps))
    };
    let formats = gst_video::VideoFormat::iter_raw();
    let costs = formats.filter_map(|format| each(&format));
    costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, caps)| caps)
}

/// Names of the encoders that are there.
fn installed() -> Vec<String> {
    let mut names: Vec<String> = KNOWN
        .iter()
        .filter(|known| gst::ElementFactory::find(known.element).is_some())
        .map(|known| known.name.into())
        .collect();
    let others = gst::ElementFactory::factories_with_type(gst::ElementFactoryType::VIDEO_ENCODER, gst::Rank::MARGINAL);
    let others = others.iter().map(|factory| factory.name().to_string());
    names.extend(others.filter(|name| KNOWN.iter().all(|known| known.element != name)));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_pictures_are_converted_to_what_is_nearest() {
        gst::init().unwrap();
        let nearest = |format: &str, taken: &[&str]| {
            let taken = gst::Caps::builder("video/x-raw").field("format", gst::List::new(taken)).build();
            let caps = nearest(format.parse().unwrap(), &taken)?;
            caps.structure(0).unwrap().get::<String>("format").ok()
        };
        let x264 = ["Y444", "Y42B", "I420", "YV12", "NV12", "Y444_10LE", "I422_10LE", "I420_10LE"];
        assert_eq!(nearest("I420_12LE", &x264).unwrap(), "I420_10LE");
        assert_eq!(nearest("P010_10LE", &x264).unwrap(), "I420_10LE");
        assert_eq!(nearest("I422_12LE", &x264).unwrap(), "I422_10LE");
        assert_eq!(nearest("GRAY16_LE", &x264).unwrap(), "I420_10LE");
        assert_eq!(nearest("Y444_12LE", &["I420", "Y444", "I420_12LE"]).unwrap(), "Y444");
        assert_eq!(nearest("I420_10LE", &["I420"]).unwrap(), "I420");
        assert_eq!(nearest("I420_10LE", &["RGB"]), None);
    }
}

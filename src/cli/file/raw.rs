//! Raw video through pipes: frames without padding, as other programs write and expect them.

use anyhow::Context;
use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use gst::prelude::*;
use gst_video::VideoFrameRef;
use gst_video::prelude::*;

use super::super::Usage;
use super::pipeline::make;

/// What raw video on stdin or stdout looks like.
#[derive(Clone, Copy, Debug)]
pub struct RawVideo {
    pub format: Format,
    /// Width, height and frames a second, which stdin cannot do without.
    pub size: Option<(u32, u32)>,
    pub rate: Option<gst::Fraction>,
}

impl RawVideo {
    /// Caps of the frames, whatever their size.
    pub fn caps(&self) -> gst::Caps {
        gst::Caps::builder("video/x-raw").field("format", self.format.name()).build()
    }

    /// The element that cuts stdin into frames.
    pub fn parser(&self) -> anyhow::Result<gst::Element> {
        let (Some((width, height)), Some(rate)) = (self.size, self.rate) else {
            return Err(Usage("raw video on stdin needs --size and --rate besides --format".into()).into());
        };
        let parser = make("rawvideoparse")?;
        let frame = FrameInfo::new(self.format, width as usize, height as usize, Range::LIMITED, LumaWeights::BT709);
        let mut offset = 0;
        let (mut strides, mut offsets) = (Vec::new(), Vec::new());
        for plane in &frame.planes {
            strides.push(plane.bytes.to_string());
            offsets.push(offset.to_string());
            offset += plane.bytes * plane.rows;
        }
        parser.set_property_from_str("format", &self.format.name().to_lowercase());
        parser.set_property("width", i32::try_from(width).context("too wide")?);
        parser.set_property("height", i32::try_from(height).context("too high")?);
        parser.set_property("framerate", rate);
        parser.set_property_from_str("plane-strides", &format!("<{}>", strides.join(",")));
        parser.set_property_from_str("plane-offsets", &format!("<{}>", offsets.join(",")));
        parser.set_property("frame-size", u32::try_from(offset).context("a frame of 4 GiB or more")?);
        Ok(parser)
    }
}

/// Takes the padding out of the frames that pass the pad.
pub fn pack(pad: &gst::Pad) {
    pad.add_probe(gst::PadProbeType::BUFFER, |pad, info| {
        let packed = pad.current_caps().zip(info.buffer()).and_then(|(caps, buffer)| packed(&caps, buffer));
        if let Some(packed) = packed {
            info.data = Some(gst::PadProbeData::Buffer(packed));
        }
        gst::PadProbeReturn::Ok
    });
}

fn packed(caps: &gst::Caps, buffer: &gst::BufferRef) -> Option<gst::Buffer> {
    let (info, frames) = autolevels::video::frame_info(caps)?;
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, &info).ok()?;
    let mut bytes = Vec::with_capacity(info.size());
    for (plane, shape) in frames.planes.iter().enumerate() {
        let stride = usize::try_from(frame.plane_stride()[plane]).ok()?;
        let rows = frame.plane_data(plane as u32).ok()?.chunks(stride).take(shape.rows);
        bytes.extend(rows.flat_map(|row| &row[..shape.bytes]));
    }
    let mut packed = gst::Buffer::from_mut_slice(bytes);
    let flags = gst::BufferCopyFlags::FLAGS | gst::BufferCopyFlags::TIMESTAMPS;
    buffer.copy_into(packed.get_mut()?, flags, ..).ok()?;
    Some(packed)
}

/// Reads `WIDTHxHEIGHT`.
pub fn size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    parts
        .filter(|(w, h)| (1..=65_535).contains(w) && (1..=65_535).contains(h))
        .ok_or_else(|| format!("'{text}' is no size like 1920x1080"))
}

/// Reads a rate like `25`, `29.97` or `30000/1001`.
pub fn rate(text: &str) -> Result<gst::Fraction, String> {
    let wrong = || format!("'{text}' is no rate like 25 or 30000/1001");
    let (numerator, denominator) = match text.split_once('/') {
        Some((numerator, denominator)) => {
            (numerator.parse().map_err(|_| wrong())?, denominator.parse().map_err(|_| wrong())?)
        }
        None => ((text.parse::<f64>().map_err(|_| wrong())? * 1000.0).round() as i32, 1000),
    };
    if numerator < 1 || denominator < 1 { Err(wrong()) } else { Ok(gst::Fraction::new(numerator, denominator)) }
}

/// Reads the name of a format.
pub fn format(text: &str) -> Result<Format, String> {
    Format::find(text).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        format!("'{text}' is none of {}", names.join(", "))
    })
}

//! Cameras: which there are, which one is meant, and in which of its modes to use it.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use gst::glib::value::ToSendValue;
use gst::prelude::*;

/// Sizes that are tried in turn if none is asked for.
const USUAL_SIZES: [(i32, i32); 3] = [(1280, 720), (640, 480), (640, 360)];
/// Frames per second that are wanted if none are asked for.
const USUAL_RATE: i32 = 30;

/// What is asked of a camera.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Path of the device, or part of its name; none for the first one.
    pub device: Option<String>,
    pub size: Option<(i32, i32)>,
    pub rate: Option<i32>,
}

/// A mode of a camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Caps to ask the camera for.
    pub caps: gst::Caps,
    /// Whether frames come as JPEG pictures.
    pub jpeg: bool,
}

/// The cameras of this machine.
pub fn cameras() -> Vec<gst::Device> {
    let monitor = gst::DeviceMonitor::new();
    monitor.add_filter(Some("Video/Source"), None);
    if monitor.start().is_err() {
        return Vec::new();
    }
    let cameras = monitor.devices().into_iter().collect();
    monitor.stop();
    cameras
}

fn path(camera: &gst::Device) -> Option<String> {
    let properties = camera.properties()?;
    ["device.path", "api.v4l2.path"].iter().find_map(|name| properties.get::<String>(*name).ok())
}

/// Finds the camera that is meant.
///
/// # Errors
/// Lists the cameras that there are.
pub fn find(wish: &Wish) -> Result<gst::Device> {
    let cameras = cameras();
    let meant = |camera: &&gst::Device| match wish.device.as_deref() {
        None => true,
        Some(device) if device.starts_with('/') => path(camera).as_deref() == Some(device),
        Some(name) => camera.display_name().to_lowercase().contains(&name.to_lowercase()),
    };
    if let Some(camera) = cameras.iter().find(meant) {
        return Ok(camera.clone());
    }
    let asked = wish.device.as_deref().map(|device| format!(" {device}")).unwrap_or_default();
    if cameras.is_empty() {
        bail!(
            "there is no camera{asked}: none is plugged in, or this user may not use it; --source takes any other source"
        );
    }
    let mut list = String::new();
    for camera in &cameras {
        let path = path(camera).map(|path| format!("{path}  ")).unwrap_or_default();
        let _ = write!(list, "\n  {path}{}", camera.display_name());
    }
    bail!("there is no camera{asked}; there are:{list}")
}

/// Makes a bin of the camera in its best mode.
///
/// # Errors
/// If it has no mode like the one that is asked for.
pub fn source(camera: &gst::Device, wish: &Wish) -> Result<gst::Bin> {
    let caps = camera.caps().unwrap_or_else(gst::Caps::new_any);
    let name = camera.display_name();
    let mode = choose(&caps, wish).with_context(|| format!("{name} has no such mode; it has:{}", modes(&caps)))?;
    let bin = gst::Bin::new();
    let source = camera.create_element(None)?;
    let filter = gst::ElementFactory::make("capsfilter").property("caps", &mode.caps).build()?;
    let last = if mode.jpeg {
        gst::ElementFactory::make("jpegdec").build().context("MJPEG cameras need the element jpegdec")?
    } else {
        gst::ElementFactory::make("identity").build()?
    };
    bin.add_many([&source, &filter, &last])?;
    gst::Element::link_many([&source, &filter, &last])?;
    let pad = last.static_pad("src").context("a filter has a source pad")?;
    bin.add_pad(&gst::GhostPad::with_target(&pad)?)?;
    Ok(bin)
}

/// The best mode: of the size that is wanted, raw at the rate that is wanted, else JPEG, which cameras offer
/// where the raw pictures do not fit through the cable, else whatever rate there is.
pub fn choose(caps: &gst::Caps, wish: &Wish) -> Option<Mode> {
    let sizes: Vec<_> = match wish.size {
        Some(size) => vec![Some(size)],
        None => USUAL_SIZES.iter().copied().map(Some).chain([None]).collect(),
    };
    // Without a wish a rate that is nearly right will do.
    let at_least = |rate| gst::FractionRange::new(gst::Fraction::new(rate, 1), gst::Fraction::new(i32::MAX, 1));
    let rates = match wish.rate {
        Some(rate) => vec![Some(gst::Fraction::new(rate, 1).to_send_value())],
        None => vec![Some(at_least(USUAL_RATE - 6).to_send_value()), None],
    };
    for size in sizes {
        for rate in &rates {
            for kind in ["video/x-raw", "image/jpeg"] {
                let mut wanted = gst::Structure::new_empty(kind);
                if let Some((width, height)) = size {
                    wanted.set("width", width);
                    wanted.set("height", height);
                }
                if let Some(rate) = rate {
                    wanted.set_value("framerate", rate.clone());
                }
                let mut caps = caps.intersect(&gst::Caps::builder_full().structure(wanted).build());
                if !caps.is_empty() {
                    caps.truncate();
                    nearest(&mut caps, wish.rate.unwrap_or(USUAL_RATE));
                    return Some(Mode { caps, jpeg: kind == "image/jpeg" });
                }
            }
        }
    }
    None
}

/// Settles for one rate, as near to the wanted one as there is.
fn nearest(caps: &mut gst::Caps, rate: i32) {
    if let Some(structure) = caps.make_mut().structure_mut(0)
        && structure.has_field("framerate")
    {
        structure.fixate_field_nearest_fraction("framerate", gst::Fraction::new(rate, 1));
    }
}

/// A camera's modes in words, a line for each.
fn modes(caps: &gst::Caps) -> String {
    let mut lines = Vec::new();
    for structure in caps.iter() {
        let what = match structure.name().as_str() {
            "video/x-raw" => field(structure, "format"),
            "image/jpeg" => "MJPEG".into(),
            other => other.into(),
        };
        let size = format!("{}x{}", field(structure, "width"), field(structure, "height"));
        lines.push(format!("\n  {what} {size} at {} fps", field(structure, "framerate")));
    }
    lines.dedup();
    lines.concat()
}

fn field(structure: &gst::StructureRef, name: &str) -> String {
    let value = structure.value(name).ok().and_then(|value| value.serialize().ok());
    value.map_or("any".into(), |value| value.replace("(fraction)", "").replace("/1", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a usual camera offers them: raw pictures are slow when they are large.
    const USUAL: &str = "video/x-raw,format=YUY2,width=1280,height=720,framerate={10/1,5/1}; \
        video/x-raw,format=YUY2,width=640,height=480,framerate={30/1,15/1}; \
        image/jpeg,width=1920,height=1080,framerate={30/1,15/1}; \
        image/jpeg,width=1280,height=720,framerate={60/1,30/1,15/1}";

    fn choose_from(caps: &str, size: Option<(i32, i32)>, rate: Option<i32>) -> Option<String> {
        gst::init().unwrap();
        let caps: gst::Caps = caps.parse().unwrap();
        let mode = choose(&caps, &Wish { device: None, size, rate })?;
        let structure = mode.caps.structure(0).unwrap();
        assert_eq!(mode.jpeg, structure.name() == "image/jpeg");
        let size = format!("{}x{}", field(structure, "width"), field(structure, "height"));
        Some(format!("{} {size} {}", structure.name(), field(structure, "framerate")))
    }

    #[test]
    fn raw_is_taken_where_it_is_fast_enough_else_jpeg() {
        assert_eq!(choose_from(USUAL, None, None).unwrap(), "image/jpeg 1280x720 30");
        assert_eq!(choose_from(USUAL, Some((640, 480)), None).unwrap(), "video/x-raw 640x480 30");
        assert_eq!(choose_from(USUAL, Some((1920, 1080)), Some(15)).unwrap(), "image/jpeg 1920x1080 15");
        assert_eq!(choose_from(USUAL, None, Some(10)).unwrap(), "video/x-raw 1280x720 10");
        assert_eq!(choose_from(USUAL, Some((1280, 720)), Some(60)).unwrap(), "image/jpeg 1280x720 60");
    }

    #[test]
    fn a_mode_that_is_not_there_is_not_chosen() {
        assert_eq!(choose_from(USUAL, Some((800, 600)), None), None);
        assert_eq!(choose_from(USUAL, None, Some(25)), None);
    }

    #[test]
    fn odd_cameras_are_taken_as_they_are() {
        let slow = "video/x-raw,format=GRAY8,width=100,height=80,framerate=8/1";
        assert_eq!(choose_from(slow, None, None).unwrap(), "video/x-raw 100x80 8");
        let ranges = "video/x-raw,width=[16,4096],height=[16,4096],framerate=[0/1,120/1]";
        assert_eq!(choose_from(ranges, None, None).unwrap(), "video/x-raw 1280x720 30");
        assert!(choose_from("video/x-h264", None, None).is_none());
    }

    #[test]
    fn modes_are_listed_for_people() {
        gst::init().unwrap();
        let text = modes(&USUAL.parse().unwrap());
        assert!(text.contains("YUY2 640x480 at { 30, 15 } fps") && text.contains("MJPEG 1920x1080"), "{text}");
    }
}

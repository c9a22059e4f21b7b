//! The range of YUV4MPEG2: a comment in the header that GStreamer neither reads nor writes, and other programs do.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use autolevels::frame::Range;
use gst::prelude::*;

use super::caps;

const MAGIC: &[u8] = b"YUV4MPEG2 ";
const FULL: &str = "XCOLORRANGE=FULL";

/// Most bytes of a header that are looked at.
const HEADER: usize = 1024;

/// Whether a stream that begins with these bytes is of full range; None if more of them are needed.
fn is_full_range(start: &[u8]) -> Option<bool> {
    let known = start.len().min(MAGIC.len());
    if start[..known] != MAGIC[..known] {
        return Some(false);
    }
    match start.iter().position(|byte| *byte == b'\n') {
        Some(end) => Some(start[..end].split(|byte| *byte == b' ').any(|word| word == FULL.as_bytes())),
        None if start.len() >= HEADER => Some(false),
        None => None,
    }
}

/// Completes the caps of `pictures` if the file says that they are of full range.
pub fn read_file(file: &Path, pictures: &gst::Pad) {
    let mut start = Vec::new();
    // What cannot be read is told by what reads all of it.
    let read = std::fs::File::open(file).and_then(|file| file.take(HEADER as u64).read_to_end(&mut start));
    if read.is_ok() && is_full_range(&start) == Some(true) {
        caps::edit_caps(pictures, full_range);
    }
}

/// Completes the caps of `pictures` if what comes from `source` says that they are of full range.
pub fn read_stream(source: &gst::Pad, pictures: &gst::Pad) {
    let start = Arc::new(Mutex::new(Vec::new()));
    let read = start.clone();
    source.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let mut start = start.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = info.buffer().and_then(|buffer| buffer.map_readable().ok()) {
            let room = HEADER.saturating_sub(start.len());
            start.extend_from_slice(&map[..map.len().min(room)]);
        }
        if is_full_range(&start).is_some() { gst::PadProbeReturn::Remove } else { gst::PadProbeReturn::Ok }
    });
    caps::edit_caps(pictures, move |caps| {
        let start = read.lock().unwrap_or_else(PoisonError::into_inner);
        if is_full_range(&start) == Some(true) { full_range(caps) } else { None }
    });
}

fn full_range(caps: &gst::CapsRef) -> Option<gst::Caps> {
    let mut caps = caps.to_owned();
    // The range alone; the rest is completed as for other streams that say no more.
    caps.make_mut().set("colorimetry", "1:0:0:0");
    Some(caps::completed(&caps).unwrap_or(caps))
}

/// Says in the header that passes the pad from `encoder` that the pictures are of full range, if they are.
pub fn write(pad: &gst::Pad, encoder: &gst::Element) {
    let encoder = encoder.downgrade();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let caps = encoder.upgrade().and_then(|encoder| encoder.static_pad("sink")?.current_caps());
        let is_full = caps
            .and_then(|caps| autolevels::video::frame_info(&caps))
            .is_some_and(|(_, frames)| frames.range == Range::FULL);
        if is_full && let Some(buffer) = info.buffer().and_then(|buffer| with_full_range(buffer)) {
            info.data = Some(gst::PadProbeData::Buffer(buffer));
        }
        // The header comes once.
        gst::PadProbeReturn::Remove
    });
}

fn with_full_range(buffer: &gst::BufferRef) -> Option<gst::Buffer> {
    let map = buffer.map_readable().ok()?;
    let end = map.iter().take(HEADER).position(|byte| *byte == b'\n')?;
    let (header, frames) = map.split_at(end);
    if !header.starts_with(MAGIC) {
        return None;
    }
    let mut written = gst::Buffer::from_slice([header, b" ", FULL.as_bytes(), frames].concat());
    let flags = gst::BufferCopyFlags::FLAGS | gst::BufferCopyFlags::TIMESTAMPS;
    buffer.copy_into(written.get_mut()?, flags, ..).ok()?;
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::{HEADER, is_full_range};

    #[test]
    fn the_range_is_found_in_the_header_only() {
        assert_eq!(is_full_range(b""), None);
        assert_eq!(is_full_range(b"YUV4"), None);
        assert_eq!(is_full_range(b"\x1aE\xdf\xa3"), Some(false));
        assert_eq!(is_full_range(b"YUV4MPEG2 W4 H4 C420jpeg XCOLORRANGE=FULL"), None);
        assert_eq!(is_full_range(b"YUV4MPEG2 W4 H4 C420jpeg XCOLORRANGE=FULL\nFRAME\n"), Some(true));
        assert_eq!(is_full_range(b"YUV4MPEG2 W4 H4 XCOLORRANGE=LIMITED\nFRAME XCOLORRANGE=FULL\n"), Some(false));
        let endless = [b"YUV4MPEG2 ".to_vec(), vec![b' '; HEADER]].concat();
        assert_eq!(is_full_range(&endless), Some(false));
    }
}

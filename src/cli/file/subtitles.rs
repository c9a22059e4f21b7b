//! Subtitles: copied where the container takes them, and turned into plain text where it takes that.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gst::prelude::*;

use super::containers::Container;
use super::cut::{Cut, running_time};
use super::pipeline::make;
use super::written::Written;

/// How subtitles get into a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    Copied,
    /// Text whose container escapes it, into one that stores text with tags as it is.
    Unescaped,
    /// Text without tags and styles.
    Plain {
        /// They have to be turned from (advanced) SubStation Alpha into text first.
        styled: bool,
    },
}

/// How the container takes subtitles of `caps`, if it does.
pub fn treatment(caps: &gst::Caps, container: Container) -> Option<Treatment> {
    let taken = container.subtitles();
    if taken.can_intersect(caps) {
        return Some(Treatment::Copied);
    }
    let text = gst::Caps::builder("text/x-raw").field("format", "utf8").build();
    let name = caps.structure(0)?.name();
    match (taken.can_intersect(&text), name.as_str(), container) {
        (true, "text/x-raw", Container::Matroska) => Some(Treatment::Unescaped),
        (true, "text/x-raw", _) => Some(Treatment::Plain { styled: false }),
        (true, "application/x-ssa" | "application/x-ass", _) => Some(Treatment::Plain { styled: true }),
        _ => None,
    }
}

/// The elements between the queue and the muxer.
pub fn elements(treatment: Treatment) -> anyhow::Result<Vec<gst::Element>> {
    let (styled, tags) = match treatment {
        Treatment::Copied => return Ok(Vec::new()),
        Treatment::Unescaped => (false, Tags::Kept),
        Treatment::Plain { styled } => (styled, Tags::Removed),
    };
    let mut elements = Vec::new();
    if styled {
        elements.push(make("ssaparse")?);
    }
    let text = gst::Caps::builder("text/x-raw").field("format", "utf8").build();
    let setter = make("capssetter")?;
    setter.set_property("caps", text);
    setter.set_property("replace", true);
    setter.set_property("join", false);
    if let Some(pad) = setter.static_pad("sink") {
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let rewritten = info.buffer().and_then(|buffer| rewritten(buffer, tags));
            if let Some(buffer) = rewritten {
                info.data = Some(gst::PadProbeData::Buffer(buffer));
            }
            gst::PadProbeReturn::Ok
        });
    }
    elements.push(setter);
    Ok(elements)
}

/// Silence between subtitles that is told to a muxer piece by piece, so that it need not wait for the next.
const SILENCE: gst::ClockTime = gst::ClockTime::from_seconds(1);

/// Fills the time between subtitles with empty ones. The muxers of mp4 and mov take no notice of gaps and hold all
/// other streams until the next subtitle comes; a stream that begins late they cut at its end.
pub fn fill_gaps(pad: &gst::Pad) {
    // Where silence begins; none while some is pushed, which comes by here as well.
    let filled = Mutex::new(Some(gst::ClockTime::ZERO));
    pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |pad, info| {
        let lock = || filled.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, end, least) = match &info.data {
            Some(gst::PadProbeData::Buffer(buffer)) => {
                (buffer.pts(), buffer.pts().zip(buffer.duration()).map(|(a, b)| a + b), gst::ClockTime::NSECOND)
            }
            Some(gst::PadProbeData::Event(event)) => match event.view() {
                gst::EventView::Gap(gap) => {
                    let (start, duration) = gap.get();
                    (Some(start + duration.unwrap_or_default()), None, SILENCE)
                }
                _ => return gst::PadProbeReturn::Ok,
            },
            _ => return gst::PadProbeReturn::Ok,
        };
        let Some(from) = lock().take() else { return gst::PadProbeReturn::Ok };
        let segment = pad.sticky_event::<gst::event::Segment>(0);
        let first = segment.and_then(|event| event.segment().downcast_ref::<gst::ClockTime>()?.start());
        let from = first.map_or(from, |first| from.max(first));
        let mut reached = from;
        if let Some(start) = start.filter(|start| *start >= from + least) {
            let mut silence = gst::Buffer::new();
            if let Some(silence) = silence.get_mut() {
                silence.set_pts(from);
                silence.set_duration(start - from);
            }
            // What is wrong shows with the next subtitle as well.
            let _ = pad.push(silence);
            reached = start;
        }
        *lock() = Some(reached.max(end.unwrap_or(reached)));
        gst::PadProbeReturn::Ok
    });
}

/// How far subtitles may be ahead of what is written.
const AHEAD: Duration = Duration::from_secs(2);

/// How often that is looked at, and how long nothing may be written before it is taken for granted that the muxer
/// waits for subtitles.
const POLL: Duration = Duration::from_millis(10);
const STUCK: Duration = Duration::from_secs(5);

/// Lets no subtitles into the muxer's `pad` long before their time: there they could not be cut off any more.
pub fn keep_pace(pad: &gst::Pad, written: &Written, cut: &Cut) {
    let (written, cut) = (written.clone(), cut.clone());
    let let_go = AtomicBool::new(false);
    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        let time = info.buffer().and_then(|buffer| running_time(pad, buffer.pts()?)).map(Duration::from);
        let (mut end, mut idle) = (written.end(), Duration::ZERO);
        while time.is_some_and(|time| time > end + AHEAD)
            && !cut.is_set()
            && !written.is_whole()
            && !let_go.load(Ordering::Relaxed)
            && !pad.pad_flags().contains(gst::PadFlags::FLUSHING)
        {
            std::thread::sleep(POLL);
            let now = written.end();
            idle = if now == end { idle + POLL } else { Duration::ZERO };
            end = now;
            if idle > STUCK {
                let_go.store(true, Ordering::Relaxed);
            }
        }
        gst::PadProbeReturn::Ok
    });
}

/// The buffer with its text as the container wants it, if that is different.
fn rewritten(buffer: &gst::BufferRef, tags: Tags) -> Option<gst::Buffer> {
    let map = buffer.map_readable().ok()?;
    let text = std::str::from_utf8(&map).ok()?;
    let plain = plain(text.trim_end_matches('\0'), tags);
    if plain.as_bytes() == map.as_slice() {
        return None;
    }
    let mut rewritten = gst::Buffer::from_slice(plain.into_bytes());
    let flags = gst::BufferCopyFlags::FLAGS | gst::BufferCopyFlags::TIMESTAMPS;
    buffer.copy_into(rewritten.get_mut()?, flags, ..).ok()?;
    Some(rewritten)
}

/// What happens to `<i>` and its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tags {
    Kept,
    Removed,
}

/// The text that marked-up text stands for.
fn plain(text: &str, tags: Tags) -> String {
    let text = match tags {
        Tags::Kept => Cow::Borrowed(text),
        Tags::Removed => Cow::Owned(without_tags(&text.replace("\r\n", "\n"))),
    };
    unescaped(&text)
}

/// A tag begins with a letter or a slash, so that "a < b" is none.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        plain.push_str(before);
        let is_tag = tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        match tag.find('>').filter(|_| is_tag) {
            Some(end) => rest = &tag[end + 1..],
            None => {
                plain.push('<');
                rest = &tag[1..];
            }
        }
    }
    plain + rest
}

/// Replaces the entities of XML. What is none stays.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        let (before, entity) = rest.split_at(start);
        plain.push_str(before);
        match entity.find(';').and_then(|end| Some((character(&entity[1..end])?, end))) {
            Some((character, end)) => {
                plain.push(character);
                rest = &entity[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &entity[1..];
            }
        }
    }
    plain + rest
}

/// The character that an entity names.
fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tags, plain};

    #[test]
    fn markup_becomes_plain_text() {
        for (marked_up, kept, removed) in [
            ("Hello", "Hello", "Hello"),
            ("<i>Hello</i> &amp; you", "<i>Hello</i> & you", "Hello & you"),
            ("a < b > c & d", "a < b > c & d", "a < b > c & d"),
            ("a &lt;b&gt; &#39;c&#x27; &quot;&apos;", "a <b> 'c' \"'", "a <b> 'c' \"'"),
            ("<font color=\"#ff0000\">Red</font>\r\nline", "<font color=\"#ff0000\">Red</font>\r\nline", "Red\nline"),
            ("I <3 you &co; &#xffffffff; &", "I <3 you &co; &#xffffffff; &", "I <3 you &co; &#xffffffff; &"),
            ("<i unclosed ä", "<i unclosed ä", "<i unclosed ä"),
            ("&amp;lt;", "&lt;", "&lt;"),
        ] {
            assert_eq!(plain(marked_up, Tags::Kept), kept);
            assert_eq!(plain(marked_up, Tags::Removed), removed);
        }
    }
}

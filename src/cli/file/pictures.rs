//! The way of the pictures from the decoder to the bridge: converted, turned and scaled where that is needed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use autolevels::bridge::Bridge;
use autolevels::frame::Format;
use gst::prelude::*;

use super::caps;
use super::encoders::{VideoEncoder, nearest};
use super::pipeline::make;
use super::streams::Word;

/// Fields of the caps that are held to what they were at first.
const KEPT: [&str; 5] = ["format", "width", "height", "pixel-aspect-ratio", "colorimetry"];

/// The branch `queue ! videoconvertscale ! (videoflip) ! capsfilter ! appsink`.
pub struct Pictures {
    /// Where the pictures go in.
    pub input: gst::Pad,
    damaged: Arc<AtomicU64>,
}

impl Pictures {
    /// Builds the branch in `pipeline`, up to the bridge.
    pub fn build(
        pipeline: &gst::Pipeline,
        bridge: &Bridge,
        encoder: &VideoEncoder,
        words: &Sender<Word>,
    ) -> anyhow::Result<Pictures> {
        // What can be levelled and encoded as it is, and deep pictures, which are levelled before they lose bits; the
        // rest is converted before.
        let taken = Bridge::caps().intersect(&encoder.takes());
        let mut levelled = taken.clone();
        levelled.merge(deep());
        bridge.appsink().set_caps(Some(&levelled));
        let queue = make("queue")?;
        queue.set_property("max-size-buffers", 2_u32);
        queue.set_property("max-size-bytes", 0_u32);
        queue.set_property("max-size-time", 0_u64);
        let convert = make("videoconvertscale")?;
        let filter = make("capsfilter")?;
        let chain = [&queue, &convert, &filter, bridge.appsink().upcast_ref()];
        pipeline.add_many(chain)?;
        gst::Element::link_many(chain)?;
        let input = queue.static_pad("sink").context("a queue has a sink pad")?;
        let after_queue = queue.static_pad("src").context("a queue has a source pad")?;
        caps::complete_colorimetry(&input);
        let damaged = count_damaged(&input);
        turn_upright(&after_queue, &convert, words);
        if encoder.halves_colour() {
            care_for_odd_sizes(&after_queue, &convert, &filter, encoder, words);
        }
        tell_changes(&after_queue, words);
        let output = bridge.appsink().static_pad("sink").context("an appsink has a sink pad")?;
        drop_orientation(&output);
        hold_caps(&output, &filter);
        Ok(Pictures { input, damaged })
    }

    /// Frames that the decoder could not decode whole.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }
}

fn count_damaged(pad: &gst::Pad) -> Arc<AtomicU64> {
    let damaged = Arc::new(AtomicU64::new(0));
    let count = damaged.clone();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if info.buffer().is_some_and(|buffer| buffer.flags().contains(gst::BufferFlags::CORRUPTED)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        gst::PadProbeReturn::Ok
    });
    damaged
}

/// Pictures of more than 8 bits. Those of RGB are left out: 8-bit RGB would be taken for them.
fn deep() -> gst::Caps {
    let is_deep = |format: &&Format| format.packing().depth > 8 && !format.is_rgb();
    let names = Format::ALL.iter().filter(is_deep).map(|format| format.name());
    gst::Caps::builder("video/x-raw").field("format", gst::List::new(names)).build()
}

/// A `videoconvert` and a `capsfilter` to stand before the encoder, for levelled pictures that it does not take as they
/// are. Says so when there is something to do.
pub fn converter(encoder: &VideoEncoder, words: &Sender<Word>) -> anyhow::Result<[gst::Element; 2]> {
    let (convert, filter) = (make("videoconvert")?, make("capsfilter")?);
    convert.set_property("n-threads", 0_u32);
    let input = convert.static_pad("sink").context("a converter has an input")?;
    let (held, taken, words) = (filter.downgrade(), encoder.takes(), words.clone());
    // Without other caps the converter passes pictures on as they are.
    input.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        if let Some(gst::EventView::Caps(caps)) = info.event().map(|event| event.view())
            && !caps.caps().can_intersect(&taken)
            && let Some(from) = format(caps.caps())
            && let Some(nearest) = from.parse().ok().and_then(|from| nearest(from, &taken))
            && let Some(to) = format(&nearest).filter(|to| *to != from)
            && let Some(filter) = held.upgrade()
        {
            filter.set_property("caps", &nearest);
            let text = format!("levelled pictures are converted from {from} to {to}, which the encoder takes");
            let _ = words.send(Word::Note(text));
        }
        gst::PadProbeReturn::Ok
    });
    Ok([convert, filter])
}

fn format(caps: &gst::CapsRef) -> Option<String> {
    caps.structure(0)?.get("format").ok()
}

/// Puts a `videoflip` after the element if the file says that its pictures are turned: the muxers drop the tag. It
/// is not there otherwise, since it knows few formats.
fn turn_upright(pad: &gst::Pad, before: &gst::Element, words: &Sender<Word>) {
    let (before, words) = (before.downgrade(), words.clone());
    let turned = AtomicBool::new(false);
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        let orientation = info.event().and_then(|event| match event.view() {
            gst::EventView::Tag(tags) => {
                tags.tag().get::<gst::tags::ImageOrientation>().map(|tag| tag.get().to_owned())
            }
            _ => None,
        });
        if orientation.is_some_and(|orientation| orientation != "rotate-0")
            && !turned.swap(true, Ordering::Relaxed)
            && let Some(before) = before.upgrade()
            && let Err(error) = flip().and_then(|flip| insert(&before, &flip))
        {
            // Nobody listens any more when the job has ended.
            let _ = words.send(Word::Failed(error));
        }
        gst::PadProbeReturn::Ok
    });
}

/// Takes the tag out once the pictures are upright, so that no muxer writes it and no player turns them again.
fn drop_orientation(pad: &gst::Pad) {
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, |_, info| {
        let Some(event) = info.event() else { return gst::PadProbeReturn::Ok };
        if let gst::EventView::Tag(tag) = event.view()
            && tag.tag().get::<gst::tags::ImageOrientation>().is_some()
        {
            let mut tags = tag.tag_owned();
            tags.make_mut().remove::<gst::tags::ImageOrientation>();
            let event = gst::event::Tag::builder(tags).seqnum(event.seqnum()).build();
            info.data = Some(gst::PadProbeData::Event(event));
        }
        gst::PadProbeReturn::Ok
    });
}

fn flip() -> anyhow::Result<gst::Element> {
    let flip = make("videoflip")?;
    flip.set_property_from_str("video-direction", "auto");
    Ok(flip)
}

/// Puts the element behind another. Called in the thread that pushes through there, before the first frame: nothing
/// is under way.
fn insert(before: &gst::Element, element: &gst::Element) -> anyhow::Result<()> {
    let pipeline = before.parent().and_downcast::<gst::Bin>().context("the pipeline is gone")?;
    pipeline.add(element)?;
    let source = before.static_pad("src").context("a converter has an output")?;
    let after = source.peer().context("a converter is linked")?;
    source.unlink(&after)?;
    source.link(&element.static_pad("sink").context("a filter has an input")?)?;
    element.static_pad("src").context("a filter has an output")?.link(&after)?;
    element.sync_state_with_parent()?;
    Ok(())
}

/// Formats with half the chroma cannot hold an odd number of columns or rows in these encoders: they get all of the
/// chroma, or else a picture that is cut to even numbers here, since some take off more themselves.
fn care_for_odd_sizes(
    pad: &gst::Pad,
    convert: &gst::Element,
    filter: &gst::Element,
    encoder: &VideoEncoder,
    words: &Sender<Word>,
) {
    let whole = gst::List::new(["Y444", "Y444_10LE", "Y444_12LE"]);
    let whole = gst::Caps::builder("video/x-raw").field("format", whole).build().intersect(&encoder.takes());
    let takes_whole = !whole.is_empty();
    let (convert, filter, words, name) =
        (convert.downgrade(), filter.downgrade(), words.clone(), encoder.name().to_owned());
    let done = AtomicBool::new(false);
    on_sizes(pad, move |_, (width, height)| {
        let (columns, rows) = (width % 2, height % 2);
        if (columns, rows) == (0, 0) || done.swap(true, Ordering::Relaxed) {
            return;
        }
        let (Some(convert), Some(filter)) = (convert.upgrade(), filter.upgrade()) else { return };
        let word = if takes_whole {
            filter.set_property("caps", &whole);
            Word::Note(format!("an odd size ({width}×{height}) is encoded with all its chroma (4:4:4)"))
        } else {
            match make("videocrop").and_then(|crop| {
                crop.set_property("right", columns);
                crop.set_property("bottom", rows);
                insert(&convert, &crop)
            }) {
                Ok(()) => Word::Note(format!(
                    "{name} takes no odd size ({width}×{height}): cut to {}×{}; x264, vp9 and others keep all of it",
                    width - columns,
                    height - rows
                )),
                Err(error) => Word::Failed(error),
            }
        };
        // Nobody listens any more when the job has ended.
        let _ = words.send(word);
    });
}

/// Says so when the size changes in the middle.
fn tell_changes(pad: &gst::Pad, words: &Sender<Word>) {
    let words = words.clone();
    on_sizes(pad, move |first, (width, height)| {
        if first != (width, height) {
            let (w, h) = first;
            let text =
                format!("the picture changes its size to {width}×{height}: scaled to {w}×{h}, as it was at first");
            let _ = words.send(Word::Note(text));
        }
    });
}

/// Calls `tell` with the first size and the present one whenever caps pass.
fn on_sizes(pad: &gst::Pad, tell: impl Fn((i32, i32), (i32, i32)) + Send + Sync + 'static) {
    let first = Mutex::new(None);
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        if let Some(gst::EventView::Caps(caps)) = info.event().map(|event| event.view())
            && let Some(structure) = caps.caps().structure(0)
            && let (Ok(width), Ok(height)) = (structure.get("width"), structure.get("height"))
        {
            let first = *first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert((width, height));
            tell(first, (width, height));
        }
        gst::PadProbeReturn::Ok
    });
}

/// Holds the pictures to their first size and format: a change in the middle is an error in mkv and breaks mp4.
fn hold_caps(pad: &gst::Pad, filter: &gst::Element) {
    let filter = filter.downgrade();
    let first = Arc::new(Mutex::new(None::<gst::Caps>));
    let known = first.clone();
    // With the first frame, since a tag may turn the pictures after their first caps.
    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, _| {
        if let (Some(caps), Some(filter)) = (pad.current_caps(), filter.upgrade()) {
            filter.set_property("caps", kept(&caps));
            *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(caps);
        }
        gst::PadProbeReturn::Remove
    });
    caps::edit_caps(pad, move |_| first.lock().unwrap_or_else(PoisonError::into_inner).clone());
}

fn kept(caps: &gst::CapsRef) -> gst::Caps {
    let mut held = gst::Structure::new_empty("video/x-raw");
    for (name, value) in caps.structure(0).iter().flat_map(|structure| structure.iter()) {
        if KEPT.contains(&name.as_str()) {
            held.set_value(name, value.clone());
        }
    }
    gst::Caps::builder_full().structure(held).build()
}

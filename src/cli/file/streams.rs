//! Which streams of the input go where.

use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context, bail};
use gst::glib::WeakRef;
use gst::prelude::*;

use super::audio::{self, Treatment};
use super::containers::Container;
use super::cut::Cut;
use super::pipeline::to_duration;
use super::written::Written;

/// What the pipeline's threads have to say.
pub enum Word {
    Note(String),
    Failed(anyhow::Error),
}

/// Links the streams that were found to the branches that wait for them.
pub struct Streams {
    pub pipeline: WeakRef<gst::Pipeline>,
    /// None if the output carries pictures only.
    pub muxer: Option<(Container, WeakRef<gst::Element>)>,
    /// Where the pictures go.
    pub pictures: WeakRef<gst::Pad>,
    pub audio_encoder: Option<String>,
    pub cut: Cut,
    pub written: Written,
    pub words: Sender<Word>,
}

impl Streams {
    /// Caps at which decoding stops: raw pictures, sound that the container takes, and text.
    pub fn wanted(&self) -> gst::Caps {
        let mut caps = gst::Caps::new_empty_simple("video/x-raw");
        if let Some((container, _)) = &self.muxer {
            caps.merge(container.takes("audio_%u"));
        }
        for name in [
            "audio/x-raw",
            "text/x-raw",
            "application/x-ssa",
            "application/x-ass",
            "subpicture/x-dvd",
            "subpicture/x-pgs",
            "closedcaption/x-cea-608",
            "closedcaption/x-cea-708",
        ] {
            caps.merge(gst::Caps::new_empty_simple(name));
        }
        caps
    }

    /// Links all streams of the decoder, which has found them all.
    pub fn link(&self, decoder: &gst::Element) {
        if let Err(error) = self.try_link(decoder) {
            self.say(Word::Failed(error));
        }
    }

    fn say(&self, word: Word) {
        // Nobody listens any more when the job has ended.
        let _ = self.words.send(word);
    }

    fn note(&self, text: String) {
        self.say(Word::Note(text));
    }

    fn try_link(&self, decoder: &gst::Element) -> anyhow::Result<()> {
        let Some(pipeline) = self.pipeline.upgrade() else { return Ok(()) };
        let mut videos = 0;
        let mut tracks = 0;
        // The decoder sorts its pads by kind; the file's own order is in the names of its streams.
        let mut pads = decoder.src_pads();
        pads.sort_by_key(|pad| pad.stream_id());
        for pad in pads {
            let caps = pad.current_caps().unwrap_or_else(|| pad.query_caps(None));
            let name = caps.structure(0).map(|structure| structure.name().to_string()).unwrap_or_default();
            if name == "video/x-raw" {
                videos += 1;
                if videos == 1 {
                    let pictures = self.pictures.upgrade().context("the pipeline is gone")?;
                    pad.link(&pictures).context("the video cannot be linked")?;
                }
            } else if name.starts_with("audio/") {
                tracks += 1;
                match self.muxer.as_ref().map(|(container, muxer)| (*container, muxer.upgrade())) {
                    Some((container, Some(muxer))) => {
                        self.link_audio(&pipeline, container, &muxer, &pad, &caps, tracks)?;
                    }
                    Some((_, None)) => return Ok(()),
                    None => self.note(format!("track {tracks} is left out: a pipe carries pictures only")),
                }
            } else {
                self.note(format!("a stream of {name} is left out: only pictures and sound are kept"));
            }
        }
        match videos {
            0 => bail!("there is no video in it"),
            1 => {}
            n => self.note(format!("the first of {n} videos is levelled, the others are left out")),
        }
        Ok(())
    }

    fn link_audio(
        &self,
        pipeline: &gst::Pipeline,
        container: Container,
        muxer: &gst::Element,
        pad: &gst::Pad,
        caps: &gst::Caps,
        number: usize,
    ) -> anyhow::Result<()> {
        let mut chain = vec![audio::queue()?];
        if audio::treatment(caps, was_decoded(pad), container) == Treatment::Encoded {
            chain.extend(audio::encoder(self.audio_encoder.as_deref(), container)?);
            let encoder = chain.last().and_then(|encoder| encoder.factory()).map(|factory| factory.name().to_string());
            let (container, encoder) = (container.name(), encoder.unwrap_or_default());
            self.note(format!(
                "{container} does not take the sound of track {number} as it is: encoded with {encoder}"
            ));
        }
        pipeline.add_many(&chain)?;
        gst::Element::link_many(&chain)?;
        let target = muxer
            .request_pad_simple("audio_%u")
            .with_context(|| format!("{} takes no more sound", container.name()))?;
        let last = chain.last().and_then(|element| element.static_pad("src")).context("an encoder has an output")?;
        last.link(&target).with_context(|| format!("track {number} does not fit {}", container.name()))?;
        audio::complete_durations(&target);
        self.cut.apply_to(&target);
        self.written.note_end(&target);
        for element in chain.iter().rev() {
            element.sync_state_with_parent()?;
        }
        let first = chain[0].static_pad("sink").context("a queue has an input")?;
        pad.link(&first).with_context(|| format!("track {number} cannot be linked"))?;
        Ok(())
    }

    /// Length of the input, if it is known.
    pub fn duration(&self) -> Option<Duration> {
        self.pictures.upgrade()?.peer()?.query_duration::<gst::ClockTime>().map(to_duration)
    }

    /// Says so if the pictures were converted on their way to a bridge that takes `levelled`.
    pub fn tell_conversion(&self, levelled: &gst::Caps) {
        let format = |caps: &gst::Caps| caps.structure(0).and_then(|s| s.get::<String>("format").ok());
        let decoded = self.pictures.upgrade().and_then(|pad| pad.current_caps());
        if let (Some(from), Some(to)) = (decoded.as_ref().and_then(format), format(levelled))
            && from != to
        {
            self.note(format!("pictures are converted from {from} to {to} before they are levelled"));
        }
    }
}

/// Whether a decoder stands before this pad of a decodebin.
fn was_decoded(pad: &gst::Pad) -> bool {
    let mut pad = pad.downcast_ref::<gst::GhostPad>().and_then(|ghost| ghost.target());
    while let Some(element) = pad.as_ref().and_then(|pad| pad.parent_element()) {
        let class = element.metadata(gst::ELEMENT_METADATA_KLASS).unwrap_or_default().to_owned();
        if class.contains("Decoder") {
            return true;
        }
        if class.contains("Demux") {
            return false;
        }
        pad = element.static_pad("sink").and_then(|sink| sink.peer());
    }
    false
}

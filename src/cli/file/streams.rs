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
use super::subtitles;
use super::written::Written;

/// Kinds of subtitles.
const TEXTS: [&str; 9] = [
    "text/x-raw",
    "application/x-ssa",
    "application/x-ass",
    "application/x-usf",
    "subtitle/x-kate",
    "subpicture/x-dvd",
    "subpicture/x-pgs",
    "closedcaption/x-cea-608",
    "closedcaption/x-cea-708",
];

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
        for name in ["audio/x-raw"].iter().chain(&TEXTS) {
            caps.merge(gst::Caps::new_empty_simple(*name));
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
        let (mut tracks, mut texts) = (0, 0);
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
                texts += 1;
                self.link_subtitles(&pipeline, &pad, &caps, texts)?;
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
        let target = attach(pipeline, &chain, pad, muxer, "audio_%u")
            .with_context(|| format!("track {number} does not fit {}", container.name()))?;
        audio::complete_durations(&target);
        self.cut.apply_to(&target);
        self.written.note_end(&target);
        start(&chain)
    }

    fn link_subtitles(
        &self,
        pipeline: &gst::Pipeline,
        pad: &gst::Pad,
        caps: &gst::Caps,
        number: usize,
    ) -> anyhow::Result<()> {
        let name = caps.structure(0).map(|structure| structure.name().to_string()).unwrap_or_default();
        let Some((container, muxer)) = &self.muxer else {
            self.note(format!("subtitles {number} are left out: a pipe carries pictures only"));
            return Ok(());
        };
        let Some(muxer) = muxer.upgrade() else { return Ok(()) };
        let Some(treatment) = subtitles::treatment(caps, *container) else {
            self.note(format!("subtitles {number} ({name}) are left out: {} does not take them", container.name()));
            return Ok(());
        };
        if let subtitles::Treatment::Plain { styled: true } = treatment {
            self.note(format!("subtitles {number} lose their styles: {} takes plain text", container.name()));
        }
        let mut chain = vec![audio::queue()?];
        chain.extend(subtitles::elements(treatment)?);
        let target = attach(pipeline, &chain, pad, &muxer, "subtitle_%u")
            .with_context(|| format!("subtitles {number} do not fit {}", container.name()))?;
        if let (Container::Mp4 | Container::Mov, Some(before)) = (container, target.peer()) {
            subtitles::fill_gaps(&before);
        }
        subtitles::keep_pace(&target, &self.written, &self.cut);
        self.cut.apply_to(&target);
        start(&chain)
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

/// Puts the elements between a pad of the decoder and a new one of the muxer, which is given back.
fn attach(
    pipeline: &gst::Pipeline,
    chain: &[gst::Element],
    pad: &gst::Pad,
    muxer: &gst::Element,
    template: &str,
) -> anyhow::Result<gst::Pad> {
    pipeline.add_many(chain)?;
    gst::Element::link_many(chain)?;
    let target = muxer.request_pad_simple(template).context("the muxer takes no more streams of its kind")?;
    let end = |element: Option<&gst::Element>, name| element.and_then(|element| element.static_pad(name));
    end(chain.last(), "src").context("the branch has no output")?.link(&target)?;
    pad.link(&end(chain.first(), "sink").context("the branch has no input")?)?;
    Ok(target)
}

/// Lets the elements of a branch run, the last first.
fn start(chain: &[gst::Element]) -> anyhow::Result<()> {
    for element in chain.iter().rev() {
        element.sync_state_with_parent()?;
    }
    Ok(())
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

//! Containers that can be written, and what they take.

use std::path::Path;

use anyhow::Context;
use gst::prelude::*;

use super::super::Usage;

/// A container, chosen by the extension of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Mp4,
    Mov,
    Matroska,
    WebM,
}

impl Container {
    /// The container that the extension of `path` stands for.
    pub fn of(path: &Path) -> anyhow::Result<Container> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match extension.as_str() {
            "mp4" | "m4v" => Ok(Container::Mp4),
            "mov" => Ok(Container::Mov),
            "mkv" => Ok(Container::Matroska),
            "webm" => Ok(Container::WebM),
            _ => Err(Usage(format!(
                "{} has no extension that names a container: use .mp4, .m4v, .mov, .mkv or .webm",
                path.display()
            ))
            .into()),
        }
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Container::Mp4 => "mp4",
            Container::Mov => "mov",
            Container::Matroska => "mkv",
            Container::WebM => "webm",
        }
    }

    fn element(self) -> &'static str {
        match self {
            Container::Mp4 => "mp4mux",
            Container::Mov => "qtmux",
            Container::Matroska => "matroskamux",
            Container::WebM => "webmmux",
        }
    }

    /// The element that writes it.
    pub fn muxer(self) -> anyhow::Result<gst::Element> {
        let muxer = gst::ElementFactory::make(self.element()).build().with_context(|| {
            format!(
                "cannot write {}: the GStreamer element {} is missing (gst-plugins-good has it)",
                self.name(),
                self.element()
            )
        })?;
        if let Container::Mp4 | Container::Mov = self {
            // By so much sound may be longer than the pictures of a file that is cut short; by default a quarter second.
            muxer.set_property("interleave-time", gst::ClockTime::from_mseconds(50).nseconds());
        }
        Ok(muxer)
    }

    /// Caps of the subtitles that can be kept. WebM holds only a kind that its muxer does not write.
    pub fn subtitles(self) -> gst::Caps {
        match self {
            Container::WebM => gst::Caps::new_empty(),
            _ => self.takes("subtitle_%u"),
        }
    }

    /// Caps of the streams that pads of the muxer's `template` take.
    pub fn takes(self, template: &str) -> gst::Caps {
        let factory = gst::ElementFactory::find(self.element());
        let templates = factory.iter().flat_map(|factory| factory.static_pad_templates());
        let mut caps = gst::Caps::new_empty();
        for pad in templates.filter(|pad| pad.name_template() == template) {
            caps.merge(pad.caps());
        }
        caps
    }
}

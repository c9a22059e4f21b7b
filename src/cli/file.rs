//! `autolevels file`: levels a video file.

mod audio;
mod caps;
mod containers;
mod cut;
mod encoders;
mod output;
mod pictures;
mod pipeline;
mod streams;
mod summary;
mod trouble;
mod written;

use std::path::{Path, PathBuf};

use anyhow::Context;
use autolevels::settings::Settings;

use super::args::SettingFlags;
use super::interrupt::Interrupts;
use super::progress::{Reporter, Style};
use super::{Ending, Usage};
use containers::Container;
use encoders::{DEFAULT_QUALITY, MOST_QUALITY, VideoEncoder};

/// Levels a video file: pictures through the filter, sound as it is
///
/// The container comes from OUT's extension (mp4, m4v, mov, mkv, webm). Sound is copied where the container takes
/// it. OUT appears only when it is complete. Ctrl-C once finishes OUT early, twice stops at once.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  autolevels file holiday.mp4 better.mp4\n  autolevels file dim.mkv out.webm --strength 0.7 --quality 9"
)]
pub struct Arguments {
    /// The video to level
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Replace OUT if it exists
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON object a line on stdout
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
    /// Video encoder: x264, x265, openh264, vp9, vp8, av1, or the name of a GStreamer element [default: by container]
    #[arg(long, value_name = "NAME")]
    encoder: Option<String>,
    /// Quality of the picture, from small files to visually lossless
    #[arg(long, value_name = "1-10", default_value_t = DEFAULT_QUALITY, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_QUALITY)))]
    quality: u32,
    /// Encoder for sound that must be encoded: aac, opus, vorbis, mp3, flac, or the name of a GStreamer element
    #[arg(long, value_name = "NAME")]
    audio_encoder: Option<String>,
    #[command(flatten)]
    settings: SettingFlags,
}

/// What is done to every file.
struct Options<'a> {
    overwrite: bool,
    encoder: Option<&'a str>,
    quality: u32,
    audio_encoder: Option<&'a str>,
    settings: &'a Settings,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let style = match (arguments.json, arguments.quiet) {
        (true, _) => Style::Json,
        (_, true) => Style::Quiet,
        _ => Style::People,
    };
    let options = Options {
        overwrite: arguments.overwrite,
        encoder: arguments.encoder.as_deref(),
        quality: arguments.quality,
        audio_encoder: arguments.audio_encoder.as_deref(),
        settings: &arguments.settings.0,
    };
    let mut reporter = Reporter::new(style);
    let result = gst::init().context("GStreamer does not start").and_then(|()| {
        let interrupts = Interrupts::install()?;
        level(&arguments.input, &arguments.output, &options, &mut reporter, &interrupts)
    });
    if let Err(error) = &result {
        reporter.failed(&arguments.input.display().to_string(), &format!("{error:#}"));
    }
    result
}

/// Levels one file.
fn level(
    input: &Path,
    output: &Path,
    options: &Options,
    reporter: &mut Reporter,
    interrupts: &Interrupts,
) -> anyhow::Result<Ending> {
    let container = Container::of(output)?;
    let encoder = VideoEncoder::choose(options.encoder, options.quality, container)?;
    check_input(input, output)?;
    let target = output::Target::create(output, options.overwrite)?;
    interrupts.set_unfinished(Some(target.temporary()));
    let job = pipeline::Job {
        input,
        output,
        container,
        encoder,
        audio_encoder: options.audio_encoder,
        settings: options.settings,
    };
    let ending = pipeline::run(&job, target.temporary(), reporter, interrupts)?;
    let summary = match ending {
        pipeline::Ended::Complete(summary) => summary,
        pipeline::Ended::Stopped => return Ok(Ending::Interrupted),
    };
    target.commit()?;
    interrupts.set_unfinished(None);
    summary.tell(input, output, reporter);
    Ok(if summary.interrupted { Ending::Interrupted } else { Ending::Done })
}

/// Refuses what cannot be read, or is the output itself.
fn check_input(input: &Path, output: &Path) -> anyhow::Result<()> {
    let shown = input.display();
    let metadata = std::fs::metadata(input).with_context(|| format!("cannot read {shown}"))?;
    if metadata.is_dir() {
        anyhow::bail!("{shown} is a directory: name a video file in it");
    }
    std::fs::File::open(input).with_context(|| format!("cannot read {shown}"))?;
    if metadata.len() == 0 {
        anyhow::bail!("{shown} is empty: there is no video in it");
    }
    let same = match (input.canonicalize(), output.canonicalize()) {
        (Ok(input), Ok(output)) => input == output,
        _ => false,
    };
    if same {
        anyhow::bail!(Usage(format!("{shown} is input and output: write to another file")));
    }
    Ok(())
}

//! `autolevels file`: levels a video file.

mod audio;
mod backlog;
mod batch;
mod caps;
mod chapters;
mod containers;
mod cut;
mod encoders;
mod losses;
mod matroska;
mod output;
mod pictures;
mod pipeline;
mod raw;
mod streams;
mod subtitles;
mod summary;
mod trouble;
mod watchdog;
mod written;
mod y4m;

use std::path::{Path, PathBuf};

use anyhow::Context;
use autolevels::frame::Format;
use autolevels::settings::Settings;

use super::args::SettingFlags;
use super::interrupt::Interrupts;
use super::progress::{Reporter, Style};
use super::{Ending, Usage};
use containers::Container;
use encoders::{DEFAULT_QUALITY, MOST_QUALITY, VideoEncoder};
use raw::RawVideo;

/// Levels a video file: pictures through the filter, sound as it is
///
/// The container comes from OUT's extension (mp4, m4v, mov, mkv, webm). Sound is copied where the container takes
/// it. OUT appears only when it is complete. Ctrl-C once finishes OUT early, twice stops at once. With - for IN or
/// OUT, video comes from stdin or goes to stdout as YUV4MPEG2, or raw with --format.
#[derive(clap::Args)]
#[command(
    override_usage = "autolevels file [OPTIONS] IN OUT\n       autolevels file [OPTIONS] IN... --into FOLDER",
    after_help = "Examples:\n  autolevels file holiday.mp4 better.mp4\n  autolevels file dim.mkv out.webm --strength 0.7 --quality 9\n  autolevels file *.mp4 --into levelled --skip-existing\n  ffmpeg -i in.mov -f yuv4mpegpipe - | autolevels file - - | ffmpeg -i - out.mov"
)]
pub struct Arguments {
    /// The video to level and the file to write; with --into, the videos to level
    #[arg(value_names = ["IN", "OUT"], num_args = 1.., required = true)]
    files: Vec<PathBuf>,
    /// Write a file of the same name into FOLDER for each of the inputs
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Replace OUT if it exists
    #[arg(long)]
    overwrite: bool,
    /// Leave out what exists already
    #[arg(long, conflicts_with = "overwrite")]
    skip_existing: bool,
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
    /// Pixel format of raw video on stdin and stdout, as GStreamer names it, e.g. I420
    #[arg(long, value_name = "FORMAT", value_parser = raw::format)]
    format: Option<Format>,
    /// Size of raw video on stdin
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = raw::size, requires = "format")]
    size: Option<(u32, u32)>,
    /// Frames a second of raw video on stdin
    #[arg(long, value_name = "RATE", value_parser = raw::rate, requires = "format")]
    rate: Option<gst::Fraction>,
    #[command(flatten)]
    settings: SettingFlags,
}

/// What is done to every file.
struct Options<'a> {
    overwrite: bool,
    skip_existing: bool,
    encoder: Option<&'a str>,
    quality: u32,
    audio_encoder: Option<&'a str>,
    raw: Option<RawVideo>,
    settings: &'a Settings,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let style = match (arguments.json, arguments.quiet) {
        (true, _) => Style::Json,
        (_, true) => Style::Quiet,
        _ => Style::People,
    };
    let format = arguments.format;
    let options = Options {
        overwrite: arguments.overwrite,
        skip_existing: arguments.skip_existing,
        encoder: arguments.encoder.as_deref(),
        quality: arguments.quality,
        audio_encoder: arguments.audio_encoder.as_deref(),
        raw: format.map(|format| RawVideo { format, size: arguments.size, rate: arguments.rate }),
        settings: &arguments.settings.0,
    };
    let mut reporter = Reporter::new(style);
    let files = &arguments.files[..];
    match (&arguments.into, files) {
        (Some(folder), _) => {
            if let Some(pipe) = files.iter().find(|file| is_pipe(file)) {
                return Err(Usage(format!("{} cannot go --into a folder: name IN and OUT", pipe.display())).into());
            }
            let interrupts = start()?;
            batch::run(files, folder, &options, &mut reporter, &interrupts)
        }
        (None, [input, output]) => {
            if style == Style::Json && is_pipe(output) {
                return Err(Usage("--json and the video cannot both go to stdout: leave one out".into()).into());
            }
            let result = start().and_then(|interrupts| level(input, output, &options, &mut reporter, &interrupts));
            if let Err(error) = &result {
                reporter.failed(&input.display().to_string(), &format!("{error:#}"));
            }
            result
        }
        (None, [_]) => Err(Usage("OUT is missing: name the file to write, or a folder with --into".into()).into()),
        _ => Err(Usage("more than IN and OUT: name a folder with --into to level several files".into()).into()),
    }
}

fn start() -> anyhow::Result<Interrupts> {
    super::start_gstreamer()?;
    Interrupts::install()
}

fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Levels one file.
fn level(
    input: &Path,
    output: &Path,
    options: &Options,
    reporter: &mut Reporter,
    interrupts: &Interrupts,
) -> anyhow::Result<Ending> {
    if options.skip_existing && !is_pipe(output) && output.exists() {
        reporter.skipped(&input.display().to_string(), &output.display().to_string());
        return Ok(Ending::Skipped);
    }
    let raw = options.raw;
    let (container, encoder) = if is_pipe(output) {
        (None, raw.map_or_else(VideoEncoder::y4m, |raw| VideoEncoder::raw(raw.caps())))
    } else {
        let container = Container::of(output)?;
        (Some(container), VideoEncoder::choose(options.encoder, options.quality, container)?)
    };
    if !is_pipe(input) {
        check_input(input, output)?;
        if chapters::are_in(input) {
            reporter.note("chapters are left out: GStreamer does not read those of mp4 and mov");
        }
    }
    let target = if is_pipe(output) { None } else { Some(output::Target::create(output, options.overwrite)?) };
    let temporary = target.as_ref().map(output::Target::temporary);
    interrupts.set_unfinished(temporary);
    let (audio_encoder, settings) = (options.audio_encoder, options.settings);
    let job = pipeline::Job { input, output, temporary, container, encoder, audio_encoder, raw, settings };
    let ending = pipeline::run(&job, reporter, interrupts)?;
    let summary = match ending {
        pipeline::Ended::Complete(summary) => summary,
        pipeline::Ended::Stopped => return Ok(Ending::Interrupted),
    };
    if let Some(target) = target {
        target.commit()?;
    }
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

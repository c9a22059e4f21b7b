//! `autolevels analyze`: measures a file and tells about each frame. Nothing is written but the plot.

mod history;
mod measure;
mod plot;
mod report;
mod text;

use std::io::{self, BufWriter, IsTerminal};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::Ending;
use super::args::SettingFlags;
use super::interrupt::Interrupts;
use history::History;
use measure::measure_file;
use report::{Reporter, Style};

/// Measures a file and tells about each frame: histogram, black and white point, gain, exposure, cuts
///
/// Codes are those of the file. `exposure` is the factor by which the exposure changed from the frame before (in text:
/// its change in percent), `cut` how surely a new scene begins, from 0 to 1. The work is done on the CPU, where decoded
/// frames lie, unless --backend gpu asks for the other.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  autolevels analyze holiday.mp4\n  autolevels analyze holiday.mp4 --csv --plot levels.png > levels.csv"
)]
pub struct Arguments {
    /// The video file to measure
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Write one JSON object a line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Write comma-separated values with a header
    #[arg(long)]
    csv: bool,
    /// Draw histograms, levels, gain and cuts over time to a PNG file; then there are no lines without --json or --csv
    #[arg(long, value_name = "OUT.png")]
    plot: Option<PathBuf>,
    /// Replace the plot if it exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

/// Measures the file to its end, or to the first interrupt.
pub fn run(args: &Arguments) -> Result<Ending> {
    super::start_gstreamer()?;
    let interrupts = Interrupts::install()?;
    let input = args.input.display();
    if let Some(plot) = args.plot.as_deref().filter(|plot| plot.exists() && !args.overwrite) {
        bail!("{} exists; --overwrite replaces it", plot.display());
    }
    std::fs::File::open(&args.input).with_context(|| format!("cannot read {input}"))?;
    let style = match (args.json, args.csv) {
        (true, _) => Some(Style::Json),
        (_, true) => Some(Style::Csv),
        _ => args.plot.is_none().then_some(Style::Text),
    };
    // A terminal is to show each line at once.
    let stdout = io::stdout();
    let buffer = if stdout.is_terminal() { 0 } else { 1 << 16 };
    let mut reporter = style.map(|style| Reporter::new(BufWriter::with_capacity(buffer, stdout.lock()), style));
    let mut history = args.plot.as_ref().map(|_| History::new());
    let mut reader_left = false;
    let outcome = measure_file(
        &args.input,
        &args.settings.0,
        || interrupts.count() > 0,
        |measured| {
            if let Some(history) = &mut history {
                history.add(&measured);
            }
            if let Some(reporter) = &mut reporter {
                let written = reporter.frame(&measured);
                reader_left |= written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
                written?;
            }
            Ok(())
        },
    );
    if reader_left {
        return Ok(Ending::Done);
    }
    outcome.with_context(|| format!("cannot analyze {input}"))?;
    match reporter.map(Reporter::finish).transpose() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error).context("stdout"),
        _ => {}
    }
    if let (Some(path), Some(history)) = (&args.plot, &history) {
        let name = args.input.file_name().unwrap_or_default().to_string_lossy();
        plot::write(path, &name, history)?;
    }
    Ok(if interrupts.count() > 0 { Ending::Interrupted } else { Ending::Done })
}

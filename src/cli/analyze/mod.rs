//! `autolevels analyze`: measures a file and tells about each frame. Nothing is written but the plot.

mod history;
mod measure;
mod plot;
mod report;
mod text;

use std::io::{self, BufWriter, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use autolevels::settings::Settings;

use history::History;
use measure::measure_file;
use report::{Reporter, Style};

/// What `autolevels analyze` is asked to do.
#[derive(clap::Args, Debug)]
pub struct AnalyzeArgs {
    /// The video file to measure
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Write one JSON object a line
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Write comma-separated values with a header
    #[arg(long)]
    pub csv: bool,
    /// Draw histograms, levels, gain and cuts over time to a PNG file; then there are no lines without --json or --csv
    #[arg(long, value_name = "OUT.png")]
    pub plot: Option<PathBuf>,
    /// Replace the plot if it exists
    #[arg(long)]
    pub overwrite: bool,
}

/// Measures the file; ends early when `interrupted` becomes true.
///
/// # Errors
/// If the file cannot be decoded, or the plot cannot be written.
pub fn analyze(args: &AnalyzeArgs, settings: &Settings, interrupted: &AtomicBool) -> Result<()> {
    let input = args.input.display();
    if let Some(plot) = args.plot.as_deref().filter(|plot| plot.exists() && !args.overwrite) {
        bail!("{} exists; --overwrite replaces it", plot.display());
    }
    std::fs::File::open(&args.input).with_context(|| format!("{input} cannot be read"))?;
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
        settings,
        || interrupted.load(Ordering::Relaxed),
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
        return Ok(());
    }
    outcome.with_context(|| format!("{input} cannot be analyzed"))?;
    match reporter.map(Reporter::finish).transpose() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error).context("stdout"),
        _ => {}
    }
    if let (Some(path), Some(history)) = (&args.plot, &history) {
        let name = args.input.file_name().unwrap_or_default().to_string_lossy();
        plot::write(path, &name, history)?;
    }
    Ok(())
}

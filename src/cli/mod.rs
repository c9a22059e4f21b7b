//! The command line: one file a job, and what they share.

mod adapters;
mod analyze;
mod args;
mod bench;
mod file;
mod generate;
mod interrupt;
mod keys;
mod launch;
mod progress;
mod status;
mod version;
mod webcam;

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use clap::error::ErrorKind;

/// Stretches or equalizes the levels of video, in real time, on the GPU or the CPU.
#[derive(Parser)]
#[command(
    name = "autolevels",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  autolevels file holiday.mp4 better.mp4\n  autolevels file *.mp4 --into levelled --skip-existing\n  autolevels webcam --virtual-camera /dev/video9\n  autolevels launch 'v4l2src ! videoconvert ! autolevels ! videoconvert ! autovideosink'\n  autolevels analyze holiday.mp4 --plot levels.png\n\nWhat each command takes: autolevels COMMAND --help. The element: gst-inspect-1.0 autolevels."
)]
struct Cli {
    #[command(subcommand)]
    job: Job,
}

#[derive(clap::Subcommand)]
enum Job {
    File(Box<file::Arguments>),
    Webcam(Box<webcam::Arguments>),
    Launch(launch::Arguments),
    Analyze(Box<analyze::Arguments>),
    Adapters(adapters::Arguments),
    Bench(bench::Arguments),
    Generate(generate::Arguments),
}

/// How a job ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done,
    /// Nothing had to be done.
    Skipped,
    /// What failed was told already.
    Failed,
    /// By Ctrl-C or a request to terminate.
    Interrupted,
}

/// The command line asks for something that makes no sense: exit code 2.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Reads the command line and does the job. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let ending = match cli.job {
        Job::File(arguments) => file::run(&arguments),
        Job::Webcam(arguments) => webcam::run(&arguments),
        Job::Launch(arguments) => launch::run(&arguments),
        Job::Analyze(arguments) => analyze::run(&arguments),
        Job::Adapters(arguments) => adapters::run(&arguments),
        Job::Bench(arguments) => bench::run(&arguments),
        Job::Generate(arguments) => generate::run(&arguments),
    };
    match ending {
        Ok(Ending::Done | Ending::Skipped) => ExitCode::SUCCESS,
        Ok(Ending::Failed) => ExitCode::FAILURE,
        Ok(Ending::Interrupted) => ExitCode::from(130),
        // Nobody reads the output any more: that is their choice and no failure.
        Err(error) if error.downcast_ref().map(std::io::Error::kind) == Some(std::io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

/// Starts GStreamer, whose debug log (`GST_DEBUG`) then shows this program's lines as well.
fn start_gstreamer() -> anyhow::Result<()> {
    gst::init().context("GStreamer does not start")?;
    autolevels::element::log_to_gstreamer();
    Ok(())
}

/// Says in one line what is wrong with the command line; prints help where help was asked for.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        // A closed stdout is no failure.
        ErrorKind::DisplayHelp => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayVersion => {
            let _ = std::io::stdout().lock().write_all(version::text().as_bytes());
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(2);
    }
    let text = error.render().to_string();
    let words = text.lines().take_while(|line| !line.starts_with("Usage:")).flat_map(str::split_whitespace);
    let line = words.filter(|word| *word != "For").collect::<Vec<_>>().join(" ");
    let line = line.split(" more information, try").next().unwrap_or_default();
    eprintln!("{line} (try 'autolevels --help')");
    ExitCode::from(2)
}

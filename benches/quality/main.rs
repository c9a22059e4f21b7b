//! How well level filters restore video whose levels were spoiled in known ways, and what it costs the picture:
//! flicker, banding, noise, colours outside RGB.
//!
//!     cargo bench --bench quality -- [CLIP …] [--frames N] [--json]

mod clip;
mod filters;
mod pictures;
mod random;
mod report;
mod scenes;
mod score;
mod spoil;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use clip::{Clip, RATE};
use filters::Filter;
use report::Entry;
use spoil::KINDS;

/// Compares level filters on spoiled video.
#[derive(Parser)]
struct Options {
    /// Video files, or names of scenes that this program draws; without any, all its scenes
    #[arg(value_name = "CLIP")]
    clips: Vec<String>,
    /// Frames of each clip
    #[arg(long, default_value_t = 4 * RATE)]
    frames: usize,
    /// Filters to run, by name; all that are installed without it
    #[arg(long = "filter", value_name = "NAME")]
    filters: Vec<String>,
    /// A GStreamer element with its settings to run besides, such as "autolevels smoothing=0"
    #[arg(long = "element", value_name = "LINE")]
    elements: Vec<String>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// A folder for sheets of frames: the reference, then what each filter made
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
    /// The frame that goes into the sheets; the middle one without it
    #[arg(long, value_name = "NUMBER")]
    picture: Option<usize>,
    /// Set by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    run(&Options::parse()).unwrap_or_else(|error| {
        eprintln!("quality: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(options: &Options) -> Result<ExitCode> {
    if !options.bench {
        // `cargo test --all-targets` starts benchmarks too, to see whether they start.
        eprintln!("quality: run it with `cargo bench --bench quality`");
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(options.frames >= 2, "--frames must be 2 or more");
    gst::init()?;
    autolevels::plugin_register_static()?;

    let (filters, missing) = chosen(options)?;
    let mut entries = Vec::new();
    let mut failed = false;
    for name in names(&options.clips) {
        let clip = match scenes::draw(name, options.frames) {
            Some(clip) => clip,
            None => {
                let scenes = scenes::SCENES.map(|(name, _)| name).join(", ");
                ensure!(Path::new(name).is_file(), "{name} is neither a file nor one of the scenes {scenes}");
                clip::decode(name.as_ref(), options.frames).with_context(|| name.to_owned())?
            }
        };
        failed |= !measure(&clip, &filters, options, &mut entries)?;
    }
    if options.json {
        println!("{:#}", report::json(&entries, &filters::versions(), &missing));
    } else {
        println!("{}", filters::versions());
        filters.iter().for_each(|filter| println!("- {}: `{}`", filter.name, filter.line));
        missing.iter().for_each(|(name, reason)| println!("- {name}: left out, {reason}"));
        print!("\n{}", report::tables(&entries));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn names(clips: &[String]) -> Vec<&str> {
    if clips.is_empty() {
        return scenes::SCENES.iter().map(|(name, _)| *name).collect();
    }
    clips.iter().map(String::as_str).collect()
}

/// Names of filters that cannot be run here, with the reason.
type Missing = Vec<(String, String)>;

/// The filters to run, and those that cannot be.
fn chosen(options: &Options) -> Result<(Vec<Filter>, Missing)> {
    let mut filters = filters::all();
    let names = filters.iter().map(|filter| filter.name.as_str()).collect::<Vec<_>>();
    if let Some(name) = options.filters.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("there is no filter {name}; there are: {}", names.join(", "));
    }
    filters.retain(|filter| options.filters.is_empty() || options.filters.contains(&filter.name));
    filters.extend(options.elements.iter().map(|line| Filter::element(line)));
    let mut missing = Vec::new();
    filters.retain(|filter| match filter.check() {
        Ok(()) => true,
        Err(reason) => {
            missing.push((filter.name.clone(), reason.to_string()));
            false
        }
    });
    Ok((filters, missing))
}

/// Spoils the clip in every way and scores every filter on it. A filter that fails is reported and passed over;
/// false if there was one.
fn measure(clip: &Clip, filters: &[Filter], options: &Options, entries: &mut Vec<Entry>) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let (source, target) = (folder.path().join("in.yuv"), folder.path().join("out.yuv"));
    let reference = spoil::reference(&clip.frames);
    let mut all_ran = true;
    for kind in KINDS {
        eprintln!("{} {}", clip.name, kind.name());
        let (spoiled, wanted) = spoil::spoil(kind, &reference);
        std::fs::write(&source, &spoiled)?;
        let mut outputs = Vec::new();
        for filter in filters {
            match filter.run(&source, &target) {
                Ok(made) => {
                    let scores = score::score(&wanted, &spoiled, &made);
                    entries.push(Entry { clip: clip.name.clone(), kind, filter: filter.name.clone(), scores });
                    outputs.push(made);
                }
                Err(error) => {
                    eprintln!("{} {}: {} failed: {error:#}", clip.name, kind.name(), filter.name);
                    all_ran = false;
                }
            }
        }
        if let Some(folder) = &options.pictures {
            std::fs::create_dir_all(folder)?;
            outputs.insert(0, wanted);
            let number = options.picture.unwrap_or(spoiled.len() / clip::FRAME / 2);
            pictures::write(&folder.join(format!("{}-{}.png", clip.name, kind.name())), &outputs, number)?;
        }
    }
    Ok(all_ran)
}

//! Several files, one after the other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::super::interrupt::Interrupts;
use super::super::progress::{Line, Reporter};
use super::super::{Ending, Usage};
use super::containers::Container;
use super::{Options, level};

/// Levels all of `inputs` into `folder`, goes on after failures, and sums up.
pub fn run(
    inputs: &[PathBuf],
    folder: &Path,
    options: &Options,
    reporter: &mut Reporter,
    interrupts: &Interrupts,
) -> anyhow::Result<Ending> {
    let outputs = inputs.iter().map(|input| place(input, folder)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut seen = HashSet::new();
    if let Some(twice) = outputs.iter().find(|output| !seen.insert(*output)) {
        return Err(Usage(format!("two inputs would become {}: level them one at a time", twice.display())).into());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let (mut done, mut skipped, mut failed) = (0, 0, 0);
    let mut interrupted = false;
    for (number, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
        reporter.set_place(number + 1, inputs.len());
        match level(input, output, options, reporter, interrupts) {
            Ok(Ending::Done) => done += 1,
            Ok(Ending::Skipped) => skipped += 1,
            Ok(Ending::Interrupted) => {
                interrupted = true;
                break;
            }
            Ok(Ending::Failed) => failed += 1,
            Err(error) => {
                failed += 1;
                reporter.failed(&input.display().to_string(), &format!("{error:#}"));
                eprintln!("error: {error:#}");
            }
        }
    }
    reporter.sum_up(&Line::Summary { files: inputs.len(), done, skipped, failed, interrupted });
    Ok(match (interrupted, failed) {
        (true, _) => Ending::Interrupted,
        (false, 0) => Ending::Done,
        _ => Ending::Failed,
    })
}

/// Where a file goes: the same name, in mkv where the extension names no container that can be written.
fn place(input: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let name = input.file_name().ok_or_else(|| Usage(format!("{} names no file", input.display())))?;
    let output = folder.join(name);
    Ok(if Container::of(&output).is_ok() { output } else { output.with_extension("mkv") })
}

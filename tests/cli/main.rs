//! The command line, run as a user runs it, on clips that the tests make.

mod batch;
mod clips;
mod damage;
mod decode;
mod errors;
mod file;
mod interrupt;
mod pictures;
mod pipes;
mod stopping;
mod streams;
mod subtitles;
mod time;
mod usage;

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use tempfile::TempDir;

/// Longest time that any job here may take; what hangs fails.
const LIMIT: Duration = Duration::from_secs(90);

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs the program with the given arguments.
fn run<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Output {
    let mut command = assert_cmd::Command::cargo_bin("autolevels").unwrap();
    command.args(arguments).timeout(LIMIT).output().unwrap()
}

/// Levels `input` on the CPU, and expects that to work. Gives what was said on stderr.
fn level(input: &Path, output: &Path, more: &[&str]) -> String {
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    let result = run(["file", input, output, "--backend", "cpu"].into_iter().chain(more.iter().copied()));
    let text = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(0), "{text}");
    text
}

/// Expects failure with the given exit code and one line on stderr, which is given back.
fn fail(arguments: &[&str], code: i32) -> String {
    let result = run(arguments.iter().copied());
    let text = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(code), "{text}");
    let errors: Vec<&str> = text.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert_eq!(errors.len(), 1, "{text}");
    assert!(errors[0].starts_with("error: "), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    errors[0].to_owned()
}

/// Names of the files in a folder, sorted.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

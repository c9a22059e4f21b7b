//! Killed, out of room, or not allowed to write: nothing broken under OUT's name, and nothing left for ever.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::clips::{H264, PICTURE, clip, usual};
use crate::decode::decode;
use crate::{fail, folder, level, names};

fn start(input: &Path, output: &Path) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("autolevels"));
    command.args(["file", input.to_str().unwrap(), output.to_str().unwrap(), "--backend", "cpu", "--quiet"]);
    command.stdin(Stdio::null()).spawn().unwrap()
}

fn temporary(folder: &TempDir) -> Vec<String> {
    names(folder).into_iter().filter(|name| name.ends_with(".part")).collect()
}

fn wait_for_temporary(folder: &TempDir, count: usize) {
    let started = Instant::now();
    while temporary(folder).len() < count {
        assert!(started.elapsed() < Duration::from_secs(20), "nothing is written");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_a_killed_program_leaves_has_a_telling_name_and_is_removed_next_time() {
    let folder = folder();
    let long = clip(folder.path(), "long.mp4", &format!("{PICTURE} -t 240 {H264}"));
    let short = usual(folder.path(), "short.mp4");
    let output = folder.path().join("b.mp4");
    let mut killed = start(&long, &output);
    wait_for_temporary(&folder, 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = temporary(&folder);
    assert!(left[0].starts_with(".b.mp4.autolevels-"), "{left:?}");
    assert!(!output.exists());
    // Files of a like name that are not the program's own, and what another one is writing just now.
    for name in [".b.mp4.autolevels-short.part", ".b.mp4.part", ".c.mp4.autolevels-AbCdEf.part"] {
        std::fs::write(folder.path().join(name), "mine").unwrap();
    }
    let mut other = start(&long, &output);
    let started = Instant::now();
    while temporary(&folder).iter().any(|name| *name == left[0]) {
        assert!(started.elapsed() < Duration::from_secs(20), "it is not removed");
        std::thread::sleep(Duration::from_millis(10));
    }
    wait_for_temporary(&folder, 4);
    let written = temporary(&folder);
    level(&short, &output, &[]);
    assert_eq!(temporary(&folder), written, "what is being written stays");
    assert_eq!(decode(&output).frames.len(), 50);
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_full_disk() {
    let folder = folder();
    let input = clip(folder.path(), "a.mp4", &format!("{PICTURE} -t 20 {H264}"));
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&disk).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        eprintln!("no disk can be mounted here; a limit on the size of files is tried elsewhere");
        return;
    }
    let output = disk.join("b.mkv");
    let result = std::panic::catch_unwind(|| {
        let error = fail(&["file", input.to_str().unwrap(), output.to_str().unwrap(), "--backend", "cpu"], 1);
        assert!(error.contains("the disk is full") && error.contains("b.mkv"), "{error}");
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
    });
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    result.unwrap();
}

#[test]
fn a_folder_in_which_nothing_can_be_written() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    // Not even the administrator, as whom tests often run, can write here.
    let error = fail(&["file", input.to_str().unwrap(), "/proc/b.mp4", "--backend", "cpu"], 1);
    assert!(error.contains("cannot write beside /proc/b.mp4"), "{error}");
}

#[test]
fn stdout_that_is_full_is_one_line() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let program = assert_cmd::cargo::cargo_bin("autolevels");
    let line = format!("{} file {} - --backend cpu >/dev/full", program.display(), input.display());
    let result = Command::new("sh").args(["-c", &line]).output().unwrap();
    let error = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{error}");
    let errors: Vec<&str> = error.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert_eq!(errors, ["error: cannot write to stdout: the disk is full"]);
}

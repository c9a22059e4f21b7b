//! `autolevels webcam` with sources in place of a camera: recordings, a camera that is unplugged, sinks that are slow.

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use support::{OnTerminal, autolevels, frames, is_larger, run, signal, stderr, wait_until};

const SOURCE: &str = "videotestsrc is-live=true ! video/x-raw,width=320,height=240";
const SHORT: &str = "videotestsrc is-live=true num-buffers=40 ! video/x-raw,width=320,height=240";

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn start(arguments: &[&str], log: &Path) -> Child {
    let mut command = Command::new(autolevels());
    command.arg("webcam").args(["--backend", "cpu"]).args(arguments).stdin(Stdio::null());
    command.stderr(std::fs::File::create(log).unwrap()).spawn().unwrap()
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let exists = path(folder.path(), "exists.mkv");
    let new = path(folder.path(), "new.mkv");
    std::fs::write(&exists, "keep me").unwrap();
    let cases = [
        (&["--no-window", "--device", "no such camera", "--record", &new][..], 1, "no camera no such camera"),
        (&["--no-window"], 2, "--record or --virtual-camera"),
        (&["--source", SOURCE, "--sink", "fakesink", "--record", "x.avi"], 2, ".webm"),
        (&["--source", SOURCE, "--sink", "fakesink", "--record", &exists], 1, "--overwrite"),
        (&["--source", "nothingsrc", "--sink", "fakesink"], 1, "nothingsrc"),
        (&["--source", SOURCE, "--sink", "nothingsink"], 1, "nothingsink"),
        (&["--size", "big"], 2, "1280x720"),
        (&["--source", SOURCE, "--device", "a"], 2, "cannot be used with"),
    ];
    for (arguments, code, words) in cases {
        let output = run(&[&["webcam"][..], arguments].concat());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.starts_with("error: ") && text.contains(words), "{text}");
    }
    assert_eq!(std::fs::read_to_string(&exists).unwrap(), "keep me");
    assert!(!Path::new(&new).exists(), "no file is begun without a camera");
}

#[test]
fn a_source_that_ends_is_recorded_in_every_container() {
    for name in ["a.mkv", "a.mp4", "a.mov", "a.webm"] {
        let folder = tempfile::tempdir().unwrap();
        let file = path(folder.path(), name);
        let output = run(&[
            "webcam",
            "--backend",
            "cpu",
            "--source",
            SHORT,
            "--sink",
            "fakesink",
            "--mirror",
            "--record",
            &file,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
        // Late frames are dropped, on a busy machine that is some of them.
        assert!((10..=40).contains(&frames(Path::new(&file))), "{name} has {}", frames(Path::new(&file)));
    }
}

#[test]
fn q_and_ctrl_c_end_a_recording_properly() {
    for (key, code) in [("q", 0), ("\x03", 130)] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.mp4");
        let arguments = [
            "webcam",
            "--backend",
            "cpu",
            "--source",
            SOURCE,
            "--sink",
            "fakesink",
            "--record",
            file.to_str().unwrap(),
        ];
        let mut program = OnTerminal::start(folder.path(), &arguments);
        wait_until("the recording", || is_larger(&file, 10_000));
        program.press("m");
        program.wait_for("[mode equalize]");
        program.press(key);
        assert_eq!(program.end(), code);
        assert!(frames(&file) > 5);
    }
}

#[test]
fn a_recording_survives_the_camera() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("out.mkv"), folder.path().join("log"));
    // It fails after every 20 frames, and is there again when it is started anew.
    let source = format!("{SOURCE} ! identity error-after=20");
    let arguments = ["--source", &source, "--no-window", "--record", file.to_str().unwrap()];
    let mut program = start(&arguments, &log);
    let said = |words: &str| std::fs::read_to_string(&log).unwrap().matches(words).count();
    wait_until("coming back", || said("the camera is back") >= 2);
    signal(&program, "-INT");
    wait_until("the end", || program.try_wait().unwrap().is_some());
    assert_eq!(program.wait().unwrap().code(), Some(130));
    assert!(said("the camera is gone (Failed after iterations as requested.); waiting for it") >= 2);
    assert_eq!(said("CRITICAL") + said("panicked"), 0, "{}", std::fs::read_to_string(&log).unwrap());
    let frames = frames(&file);
    assert!((25..=80).contains(&frames), "{frames} frames of several lives in one file");
}

#[test]
fn the_end_comes_while_the_camera_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("out.mp4"), folder.path().join("log"));
    let source = format!("{SOURCE} ! identity error-after=20");
    let mut program = start(&["--source", &source, "--no-window", "--record", file.to_str().unwrap()], &log);
    wait_until("going away", || std::fs::read_to_string(&log).unwrap().contains("is gone"));
    signal(&program, "-TERM");
    wait_until("the end", || program.try_wait().unwrap().is_some());
    assert!((5..=20).contains(&frames(&file)));
}

/// Memory of a process in MiB.
fn memory(process: &Child) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

#[test]
fn a_sink_that_is_slow_or_stuck_takes_no_memory_and_no_frame_from_the_recording() {
    for sink in ["identity sleep-time=400000 ! fakesink", "identity sleep-time=1000000000 ! fakesink"] {
        let folder = tempfile::tempdir().unwrap();
        let (file, log) = (folder.path().join("out.mkv"), folder.path().join("log"));
        let mut program = start(&["--source", SOURCE, "--sink", sink, "--record", file.to_str().unwrap()], &log);
        wait_until("the recording", || is_larger(&file, 10_000));
        sleep(Duration::from_secs(2));
        let before = memory(&program);
        sleep(Duration::from_secs(5));
        let after = memory(&program);
        assert!(after - before < 10.0, "{before} MiB became {after}");
        signal(&program, "-INT");
        // A stuck sink never gets its end; the second one says not to wait.
        sleep(Duration::from_secs(3));
        signal(&program, "-INT");
        wait_until("the end", || program.try_wait().unwrap().is_some());
        assert!(frames(&file) > 60, "{} frames", frames(&file));
    }
}

//! Ctrl-C and requests to terminate.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::clips::{H264, PICTURE, TONE, clip};
use crate::decode::{Content, decode};
use crate::{folder, names};

fn start(input: &Path, output: &Path) -> Child {
    start_with(input, output, &[])
}

fn start_with(input: &Path, output: &Path, options: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("autolevels"));
    command.args(["file", input.to_str().unwrap(), output.to_str().unwrap(), "--backend", "cpu", "--quiet"]);
    command.args(options);
    command.stdin(Stdio::null()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// The exit code, and how long it took.
fn wait(child: &mut Child, limit: Duration) -> (i32, Duration) {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code().expect("it exits by itself"), started.elapsed());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("it does not stop within {limit:?}");
}

/// Waits until the program has written more than so many bytes.
fn until_written(folder: &tempfile::TempDir, bytes: u64) {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(20) {
        let written = std::fs::read_dir(folder.path()).unwrap().flatten().any(|entry| {
            entry.path().extension().is_some_and(|e| e == "part") && entry.metadata().is_ok_and(|m| m.len() > bytes)
        });
        if written {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing is written");
}

/// Interrupts the program: it completes the file in time, and tells that it was interrupted.
fn finish_early(child: &mut Child, name: &str, limit: Duration) {
    signal(child, name);
    let (code, took) = wait(child, Duration::from_secs(20));
    assert_eq!(code, 130);
    assert!(took < limit, "{took:?}");
}

/// Times of the frames of a file whose pictures, each of so many µs, end with its sound.
fn ends_together(content: &Content, frame: i64, within: i64) -> Vec<i64> {
    let frames = content.times();
    let (pictures, sound) = (frames.last().unwrap() + frame, content.tracks[0].last().unwrap().time + 21_333);
    assert!((pictures - sound).abs() < within, "pictures end at {pictures} µs, sound at {sound} µs");
    frames
}

#[test]
fn once_completes_the_file_up_to_there() {
    let folder = folder();
    let input = clip(folder.path(), "a.mp4", &format!("{PICTURE} {TONE} -t 240 {H264} -c:a aac"));
    for (name, output) in [("INT", "b.mp4"), ("TERM", "b.mkv")] {
        let output = folder.path().join(output);
        let mut child = start(&input, &output);
        until_written(&folder, 100);
        finish_early(&mut child, name, Duration::from_secs(2));
        let frames = ends_together(&decode(&output), 40_000, 50_000);
        assert!(frames.len() > 10 && frames.len() < 5900, "{}", frames.len());
        assert!(frames.windows(2).all(|pair| (pair[1] - pair[0] - 40_000).abs() <= 1000), "no frame is missing");
    }
    assert_eq!(names(&folder), ["a.mp4", "b.mkv", "b.mp4"]);
}

#[test]
fn what_a_slow_encoder_holds_back_is_not_waited_for() {
    let folder = folder();
    let picture = "-f lavfi -i testsrc2=size=960x540:rate=30";
    let input = clip(folder.path(), "a.mp4", &format!("{picture} {TONE} -t 20 {H264} -c:a aac"));
    for output in ["b.mp4", "b.mkv"] {
        let output = folder.path().join(output);
        // It needs seconds for the frames among which it looks ahead.
        let mut child = start_with(&input, &output, &["--encoder", "x265"]);
        // More than the head of the file: a picture has come out.
        until_written(&folder, 10_000);
        finish_early(&mut child, "INT", Duration::from_secs(10));
        // On a machine that is very busy the last frames have holes between them, and cannot all be decoded.
        let frames = ends_together(&decode(&output), 33_333, 250_000);
        assert!(frames.len() < 500, "{}", frames.len());
    }
    assert_eq!(names(&folder), ["a.mp4", "b.mkv", "b.mp4"]);
}

#[test]
fn subtitles_still_to_come_hold_nothing_up() {
    let folder = folder();
    let subtitles = folder.path().join("s.srt");
    let text = "1\n00:00:00,000 --> 00:00:01,000\nFirst\n\n2\n00:03:58,000 --> 00:03:59,000\nLast\n";
    std::fs::write(&subtitles, text).unwrap();
    let sources = format!("{PICTURE} {TONE} -i {}", subtitles.display());
    let input = clip(folder.path(), "a.mkv", &format!("{sources} -t 240 {H264} -c:a aac -c:s srt"));
    for output in ["b.mp4", "b.mkv"] {
        let output = folder.path().join(output);
        let mut child = start(&input, &output);
        until_written(&folder, 100);
        finish_early(&mut child, "INT", Duration::from_secs(2));
        let frames = ends_together(&decode(&output), 40_000, 50_000);
        assert!(frames.len() > 10 && frames.len() < 5900, "{}", frames.len());
        // What comes later is cut as well.
        let show = ["-v", "error", "-select_streams", "s", "-show_entries", "packet=pts_time,size", "-of", "csv=p=0"];
        let packets = Command::new("ffprobe").args(show).arg(&output).output().unwrap();
        let packets = String::from_utf8(packets.stdout).unwrap();
        let times = packets.lines().map(|line| line.split(',').next().unwrap().parse::<f64>().unwrap());
        assert!(times.clone().count() > 0 && times.fold(0.0, f64::max) < 230.0, "{packets}");
    }
}

#[test]
fn twice_stops_at_once_and_leaves_nothing() {
    let folder = folder();
    let input = clip(folder.path(), "a.mp4", &format!("{PICTURE} {TONE} -t 240 {H264} -c:a aac"));
    let mut child = start(&input, &folder.path().join("b.mp4"));
    until_written(&folder, 100);
    signal(&child, "INT");
    signal(&child, "TERM");
    let (code, took) = wait(&mut child, Duration::from_secs(20));
    assert_eq!(code, 130);
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(names(&folder), ["a.mp4"]);
}

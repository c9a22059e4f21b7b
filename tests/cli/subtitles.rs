//! Subtitles: what they say, when, and in which language.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::clips::{H264, PICTURE, TONE, clip, ffmpeg};
use crate::decode::{decode, same_content};
use crate::{folder, level};

const ENGLISH: &str = "1\n00:00:00,100 --> 00:00:00,900\nHello <i>you</i> & me\n\n\
                       2\n00:00:01,100 --> 00:00:01,900\nTwo\nlines\n\n\
                       3\n00:00:05,100 --> 00:00:05,600\nEnd\n\n";
/// Only at the end.
const FRENCH: &str = "1\n00:00:05,000 --> 00:00:05,500\nVoilà\n\n";

/// A clip of six seconds with two tracks of subtitles, kept as `codec`.
fn subtitled(folder: &TempDir, name: &str, codec: &str) -> PathBuf {
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (english, french) = (write("e.srt", ENGLISH), write("f.srt", FRENCH));
    let languages = "-metadata:s:s:0 language=eng -metadata:s:s:1 language=fre";
    let line = format!(
        "{PICTURE} {TONE} -i {} -i {} -t 6 -map 0 -map 1 -map 2 -map 3 {H264} -c:a aac -c:s {codec} {languages}",
        english.display(),
        french.display()
    );
    clip(folder.path(), name, &line)
}

/// A track of subtitles as SubRip text.
fn text(path: &Path, track: usize, encoder: &str) -> String {
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-i"]).arg(path).args(["-map", &format!("0:s:{track}")]);
    let output = command.args(["-c:s", encoder, "-f", "srt", "-"]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

fn languages(path: &Path) -> String {
    let show = ["-v", "error", "-select_streams", "s", "-show_entries", "stream_tags=language", "-of", "csv=p=0"];
    let output = Command::new("ffprobe").args(show).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn text_times_and_language_are_kept() {
    let folder = folder();
    for (input, codec) in [("a.mkv", "srt"), ("a.mp4", "mov_text"), ("ass.mkv", "ass")] {
        let input = subtitled(&folder, input, codec);
        for (name, within) in [("b.mkv", 1000), ("b.mp4", 1000), ("b.mov", 1000)] {
            let output = folder.path().join(name);
            let said = level(&input, &output, &["--overwrite"]);
            let loses = codec == "ass" && name != "b.mkv";
            assert_eq!(said.matches("lose their styles").count(), if loses { 2 } else { 0 }, "{said}");
            for track in 0..2 {
                let words = |path| text(path, track, "text").replace(" \n", "\n");
                assert_eq!(words(&output), words(&input), "{codec} to {name}");
                let spoken = if track == 0 { "Two\nlines" } else { "Voilà" };
                assert!(words(&output).contains(spoken), "{codec} to {name}");
            }
            let french = if name == "b.mkv" { "eng fre" } else { "eng fra" };
            assert_eq!(languages(&output), french, "{codec} to {name}");
            same_content(&decode(&input), &decode(&output), within);
        }
    }
}

#[test]
fn tags_stay_where_they_are_understood() {
    let folder = folder();
    let input = subtitled(&folder, "a.mkv", "srt");
    let output = folder.path().join("b.mkv");
    level(&input, &output, &[]);
    assert!(text(&output, 0, "srt").contains("Hello <i>you</i> & me"), "{}", text(&output, 0, "srt"));
}

#[test]
fn what_does_not_fit_is_left_out_and_that_is_said() {
    let folder = folder();
    let input = subtitled(&folder, "a.mkv", "srt");
    let output = folder.path().join("b.webm");
    let said = level(&input, &output, &[]);
    assert!(said.contains("subtitles 2 (text/x-raw) are left out: webm does not take them"), "{said}");
    assert_eq!(languages(&output), "");
}

#[test]
fn hardly_any_subtitles_hold_nothing_up() {
    // Longer and larger than the queues on the way, with an encoder that looks far ahead.
    let folder = folder();
    let subtitles = folder.path().join("s.srt");
    std::fs::write(&subtitles, "1\n00:00:18,000 --> 00:00:19,000\nAt last\n").unwrap();
    let picture = "-f lavfi -i testsrc2=size=320x240:rate=8";
    for (name, codec) in [("a.mkv", "srt"), ("a.mp4", "mov_text")] {
        let sources = format!("{picture} {TONE} -i {}", subtitles.display());
        let input = clip(
            folder.path(),
            name,
            &format!("{sources} -t 20 -c:v mjpeg -q:v 1 -pix_fmt yuvj420p -c:a aac -c:s {codec}"),
        );
        for output in ["b.mkv", "b.mp4"] {
            let output = folder.path().join(output);
            let started = Instant::now();
            level(&input, &output, &["--overwrite"]);
            assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
            assert!(text(&output, 0, "text").contains("At last"));
            assert_eq!(text(&output, 0, "text"), text(&input, 0, "text"));
            assert_eq!(decode(&output).frames.len(), 160);
        }
    }
}

#[test]
fn a_track_without_any_subtitles_holds_nothing_up() {
    let folder = folder();
    let whole = subtitled(&folder, "whole.mkv", "srt");
    let input = folder.path().join("a.mkv");
    // The French track has nothing to say in the first two seconds.
    ffmpeg(&format!("-i {} -map 0 -t 2 -c copy {}", whole.display(), input.display()));
    for name in ["b.mkv", "b.mp4"] {
        let output = folder.path().join(name);
        level(&input, &output, &[]);
        same_content(&decode(&input), &decode(&output), 1000);
    }
}

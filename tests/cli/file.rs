//! Ordinary clips.

use std::fs;

use crate::clips::{H264, PICTURE, TONE, clip, ffprobe, usual};
use crate::decode::{Content, decode, same_content, same_times};
use crate::{fail, folder, level, names, run};

/// Half the rounding of mp4's time scale, and of milliseconds.
const MICROSECOND: i64 = 2;
const MILLISECOND: i64 = 1_000;

/// Darkest and brightest luma of a frame.
fn extremes(content: &Content, frame: usize) -> (u8, u8) {
    let luma = &content.frames[frame].data[..96 * 64];
    (*luma.iter().min().unwrap(), *luma.iter().max().unwrap())
}

#[test]
fn frames_times_and_sound_come_out_in_every_container() {
    let folder = folder();
    for (from, to, within) in [
        ("a.mp4", "b.mp4", MICROSECOND),
        ("a.mp4", "b.mov", MICROSECOND),
        ("a.mp4", "b.mkv", MILLISECOND),
        ("a.mov", "c.mp4", MICROSECOND),
        ("a.mkv", "c.mkv", MILLISECOND),
        ("a.webm", "c.webm", MILLISECOND),
    ] {
        let input = usual(folder.path(), from);
        let output = folder.path().join(to);
        level(&input, &output, &[]);
        let (input, output) = (decode(&input), decode(&output));
        assert_eq!(input.frames.len(), 50);
        assert_eq!(input.tracks.len(), 1);
        same_content(&input, &output, within);
        let (before, after) = (extremes(&input, 20), extremes(&output, 20));
        assert!(before.0 > 50 && before.1 < 160, "{before:?}");
        assert!(after.0 < 40 && after.1 > 200, "{from} to {to}: {after:?}");
    }
}

#[test]
fn sound_that_the_container_does_not_take_is_encoded() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.webm");
    let text = level(&input, &output, &[]);
    assert!(text.contains("encoded with opusenc"), "{text}");
    let (input, output) = (decode(&input), decode(&output));
    same_times(&output.times(), &input.times(), MILLISECOND);
    assert_eq!(output.tracks.len(), 1);
    let end = output.tracks[0].last().unwrap().time;
    assert!((1_900_000..2_100_000).contains(&end), "{end}");
}

#[test]
fn strength_zero_keeps_the_picture() {
    let folder = folder();
    let input = clip(folder.path(), "a.mkv", &format!("{PICTURE} -t 0.4 {H264}"));
    let output = folder.path().join("b.mkv");
    level(&input, &output, &["--mode", "off", "--quality", "10"]);
    let (input, output) = (decode(&input), decode(&output));
    let (before, after) = (extremes(&input, 5), extremes(&output, 5));
    assert!(before.0.abs_diff(after.0) < 6 && before.1.abs_diff(after.1) < 6, "{before:?} {after:?}");
}

#[test]
fn range_and_colours_keep_their_description() {
    let folder = folder();
    let limited = "-pix_fmt yuv420p -color_range tv";
    let full = "-pix_fmt yuvj420p -color_range pc";
    for (flags, wanted) in [
        (format!("{full} -colorspace bt709 -color_primaries bt709 -color_trc bt709"), "pc,bt709,bt709,bt709"),
        (
            format!("{limited} -colorspace smpte170m -color_primaries smpte170m -color_trc smpte170m"),
            "tv,smpte170m,smpte170m,smpte170m",
        ),
        // The range alone: GStreamer takes that for invalid.
        (full.to_owned(), "pc,smpte170m,"),
    ] {
        for name in ["b.mp4", "b.mkv"] {
            let input = clip(folder.path(), "a.mp4", &format!("{PICTURE} -t 0.4 {H264} {flags}"));
            let output = folder.path().join(name);
            level(&input, &output, &["--overwrite"]);
            assert_eq!(decode(&output).field("format"), "I420");
            let colours = ffprobe(&output, "stream=color_range,color_space,color_transfer,color_primaries");
            assert!(colours.starts_with(wanted), "{flags}: {colours}");
        }
    }
}

#[test]
fn quality_is_one_scale() {
    let folder = folder();
    let input = usual(folder.path(), "a.mkv");
    for encoder in ["x264", "x265", "openh264", "vp9", "vp8", "av1"] {
        let sizes: Vec<u64> = ["2", "8"]
            .iter()
            .map(|quality| {
                let output = folder.path().join("b.mkv");
                level(&input, &output, &["--overwrite", "--encoder", encoder, "--quality", quality]);
                fs::metadata(output).unwrap().len()
            })
            .collect();
        assert!(sizes[0] * 5 < sizes[1] * 4, "{encoder}: {sizes:?}");
    }
}

#[test]
fn encoders_are_chosen_by_name_for_picture_and_sound() {
    let folder = folder();
    let input = clip(folder.path(), "a.mkv", &format!("{PICTURE} {TONE} -t 0.6 {H264} -c:a libvorbis"));
    for (encoder, sound, wanted) in [("x265", "mp3", "hevc,mp3"), ("openh264enc", "avenc_ac3", "h264,ac3")] {
        let output = folder.path().join("b.mp4");
        level(&input, &output, &["--overwrite", "--encoder", encoder, "--audio-encoder", sound]);
        let show = ["-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0"];
        let codecs = std::process::Command::new("ffprobe").args(show).arg(&output).output().unwrap().stdout;
        let codecs = String::from_utf8(codecs).unwrap();
        let codecs = codecs.split([',', '\n']).filter(|name| !name.is_empty()).collect::<Vec<_>>().join(",");
        let output = decode(&output);
        assert_eq!((output.frames.len(), output.tracks.len()), (15, 1), "{encoder}, {sound}");
        assert_eq!(codecs, wanted);
    }
}

#[test]
fn an_existing_file_is_kept() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    fs::write(&output, "precious").unwrap();
    let error = fail(&["file", input.to_str().unwrap(), output.to_str().unwrap(), "--backend", "cpu"], 1);
    assert!(error.contains("b.mp4 exists") && error.contains("--overwrite"), "{error}");
    assert_eq!(fs::read(&output).unwrap(), b"precious");
    level(&input, &output, &["--overwrite"]);
    assert_eq!(decode(&output).frames.len(), 50);
    assert_eq!(names(&folder), ["a.mp4", "b.mp4"]);
}

#[test]
fn json_is_one_object_a_line() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    let result = run(["file", input.to_str().unwrap(), output.to_str().unwrap(), "--json", "--backend", "cpu"]);
    assert_eq!(result.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&result.stderr), "");
    let text = String::from_utf8(result.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "start");
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "done");
    assert_eq!(last["frames"], 50);
    assert_eq!(last["backend"], "cpu");
    assert_eq!(last["interrupted"], false);
    assert!((last["length"].as_f64().unwrap() - 2.0).abs() < 0.001);
}

#[test]
fn quiet_is_quiet() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    let result = run(["file", input.to_str().unwrap(), output.to_str().unwrap(), "--quiet", "--backend", "cpu"]);
    assert_eq!(result.status.code(), Some(0));
    assert_eq!((result.stdout.len(), result.stderr.len()), (0, 0));
}

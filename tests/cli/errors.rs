//! Each error: one clear line, the right exit code, and nothing left behind.

use std::fs;
use std::path::Path;

use crate::clips::{H264, PICTURE, TONE, clip, usual};
use crate::decode::decode;
use crate::{LIMIT, fail, folder, level, names, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn inputs_that_are_no_video() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let sound = clip(folder.path(), "sound.m4a", &format!("{TONE} -t 1 -c:a aac"));
    fs::write(at("empty.mp4"), "").unwrap();
    fs::write(at("words.mp4"), "These are words, not pictures. ".repeat(100)).unwrap();
    fs::create_dir(at("folder.mp4")).unwrap();
    let whole = fs::read(usual(folder.path(), "whole.mp4")).unwrap();
    fs::write(at("truncated.mp4"), &whole[..whole.len() / 2]).unwrap();
    for (input, wanted) in [
        (at("missing.mp4"), "missing.mp4"),
        (at("empty.mp4"), "empty"),
        (at("words.mp4"), "not a video"),
        (at("folder.mp4"), "is a directory"),
        (sound, "no video"),
        (at("truncated.mp4"), "truncated.mp4"),
    ] {
        let before = names(&folder);
        let error = fail(&["file", text(&input), text(&at("out.mp4")), "--backend", "cpu"], 1);
        assert!(error.contains(wanted) && error.contains(text(&input)), "{error}");
        assert_eq!(names(&folder), before);
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("folder.mp4")).unwrap();
    for (output, wanted, code) in [
        (at("b"), "extension", 2),
        (at("b.avi"), "use .mp4", 2),
        (at("nowhere/b.mp4"), "folder", 1),
        (at("folder.mp4"), "is a directory", 1),
        (input.clone(), "input and output", 2),
    ] {
        let error = fail(&["file", text(&input), text(&output), "--overwrite"], code);
        assert!(error.contains(wanted), "{error}");
    }
    let link = at("link.mp4");
    std::os::unix::fs::symlink(&input, &link).unwrap();
    assert!(fail(&["file", text(&input), text(&link), "--overwrite"], 2).contains("input and output"));
    assert_eq!(names(&folder), ["a.mp4", "folder.mp4", "link.mp4"]);
}

#[test]
fn missing_encoders_are_named_with_those_that_are_there() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    let error = fail(&["file", text(&input), text(&output), "--encoder", "nosuchenc"], 1);
    assert!(error.contains("nosuchenc") && error.contains("x264"), "{error}");
    let error = fail(&["file", text(&input), text(&output), "--encoder", "vp8"], 2);
    assert!(error.contains("mp4 does not take"), "{error}");
    let error = fail(&["file", text(&input), text(&output), "--encoder", "videoconvert"], 2);
    assert!(error.contains("no video encoder"), "{error}");
    let webm = folder.path().join("b.webm");
    let error = fail(&["file", text(&input), text(&webm), "--audio-encoder", "nosuchenc"], 1);
    assert!(error.contains("nosuchenc"), "{error}");
    assert_eq!(names(&folder), ["a.mp4"]);
}

#[test]
fn a_missing_decoder_is_named_with_its_package() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    let mut command = assert_cmd::Command::cargo_bin("autolevels").unwrap();
    let hidden = ["avdec_h264", "openh264dec", "vah264dec", "vaapih264dec", "v4l2slh264dec", "nvh264dec"];
    command.env("GST_PLUGIN_FEATURE_RANK", hidden.map(|decoder| format!("{decoder}:0")).join(","));
    let result = command.args(["file", text(&input), text(&output)]).timeout(LIMIT).output().unwrap();
    let error = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{error}");
    assert!(error.contains("H.264") && error.contains("gstreamer1.0-libav"), "{error}");
    assert_eq!(names(&folder), ["a.mp4"]);
}

#[test]
fn no_adapter_or_none_of_that_name() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    let error = fail(&["file", text(&input), text(&output), "--backend", "gpu", "--adapter", "no such adapter"], 1);
    assert!(error.contains("no GPU") && error.contains("backend=cpu"), "{error}");
    let mut command = assert_cmd::Command::cargo_bin("autolevels").unwrap();
    command.env("VK_ICD_FILENAMES", "/nonexistent.json").env("VK_DRIVER_FILES", "/nonexistent.json");
    let result =
        command.args(["file", text(&input), text(&output), "--backend", "gpu"]).timeout(LIMIT).output().unwrap();
    let error = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{error}");
    assert!(error.starts_with("error: ") && error.contains("no GPU"), "{error}");
    assert_eq!(names(&folder), ["a.mp4"]);
    // Unless a GPU is insisted on, the CPU does it, and that is said once.
    let result = run(["file", text(&input), text(&output), "--adapter", "no such adapter"]);
    let said = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("no GPU is called 'no such adapter'").count(), 1, "{said}");
}

#[test]
fn an_mkv_goes_on_behind_bytes_that_are_missing_or_too_many() {
    let folder = folder();
    let line = format!("{PICTURE} {TONE} -t 60 {H264} -g 25 -c:a aac -cluster_time_limit 2000");
    let whole = std::fs::read(clip(folder.path(), "whole.mkv", &line)).unwrap();
    let middle = whole.len() / 2;
    let without = [&whole[..middle], &whole[middle + 700..]].concat();
    let with = [&whole[..middle], &[0xab; 700], &whole[middle..]].concat();
    for bytes in [without, with] {
        let (input, output) = (folder.path().join("a.mkv"), folder.path().join("b.mkv"));
        std::fs::write(&input, bytes).unwrap();
        let said = level(&input, &output, &["--overwrite"]);
        assert!(
            said.contains("a.mkv is damaged: ") && said.contains(" s, are no video and were passed over"),
            "{said}"
        );
        let content = decode(&output);
        let (frames, sound) = (content.times(), content.tracks[0].len());
        // The rest of a cluster of two seconds is lost, and what follows stands where it stood.
        assert!(frames.len() > 1440 && frames.len() < 1500, "{}", frames.len());
        assert!((frames[frames.len() - 1] - 59_960_000).abs() <= 30_000, "{}", frames[frames.len() - 1]);
        assert!(sound > 2700, "{sound}");
    }
}

#[test]
fn what_came_before_the_demuxer_gives_up_is_kept() {
    let folder = folder();
    let line = format!("{PICTURE} {TONE} -t 20 {H264} -g 25 -c:a aac -cluster_time_limit 2000");
    let mut bytes = std::fs::read(clip(folder.path(), "whole.mkv", &line)).unwrap();
    // Before a cluster in the middle comes a seek head with nonsense in it.
    let middle = bytes.len() / 2;
    let cluster = middle + bytes[middle..].windows(4).position(|four| four == [0x1f, 0x43, 0xb6, 0x75]).unwrap();
    let head = [&[0x11, 0x4d, 0x9b, 0x74, 0xbc][..], &[0xab; 60]].concat();
    bytes.splice(cluster..cluster, head);
    let (input, output) = (folder.path().join("a.mkv"), folder.path().join("b.mkv"));
    std::fs::write(&input, bytes).unwrap();
    let said = level(&input, &output, &[]);
    assert_eq!(said.matches("What came before is kept.").count(), 1, "{said}");
    let frames = decode(&output).times();
    assert!(frames.len() > 200 && frames.len() < 400, "{}", frames.len());
}

#[test]
fn a_file_that_is_damaged_in_the_middle_is_kept_as_far_as_it_goes() {
    let folder = folder();
    let input = clip(folder.path(), "a.mkv", &format!("{PICTURE} {TONE} -t 4 {H264} -g 10 -c:a aac"));
    let mut bytes = fs::read(&input).unwrap();
    let middle = bytes.len() / 2;
    for (at, byte) in bytes[middle..middle + 3000].iter_mut().enumerate() {
        *byte ^= (at * 7 % 251) as u8;
    }
    fs::write(&input, &bytes).unwrap();
    let output = folder.path().join("b.mkv");
    let said = level(&input, &output, &[]);
    assert!(said.contains("damaged"), "{said}");
    let output = decode(&output);
    assert!(output.frames.len() > 40, "{}", output.frames.len());
    assert!(output.times().windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn frames_that_are_lost_in_the_middle_are_counted() {
    let folder = folder();
    let input = clip(folder.path(), "a.mp4", &format!("{PICTURE} -t 8 {H264} -g 25"));
    let mut bytes = fs::read(&input).unwrap();
    // A third of the way in: within the frames, which begin near the start of the file.
    let start = bytes.len() / 3;
    bytes[start..start + 20_000].fill(0xff);
    fs::write(&input, &bytes).unwrap();
    let output = folder.path().join("b.mp4");
    let said = level(&input, &output, &[]);
    let frames = decode(&output).frames.len();
    let lost = 200 - frames;
    assert!(
        lost > 3 && said.contains(&format!("a.mp4 is damaged: {lost} frames could not be decoded")),
        "{lost} {said}"
    );
    // What is whole loses nothing, at a variable rate and with references ahead neither.
    for more in ["-bf 3 -preset medium", "-filter:v select='gt(random(1)\\,0.4)' -vsync vfr"] {
        let input = clip(folder.path(), "c.mkv", &format!("{PICTURE} -t 2 {H264} {more}"));
        let said = level(&input, &output, &["--overwrite"]);
        assert!(!said.contains("damaged"), "{said}");
    }
}

#[test]
fn a_full_disk_is_one_line_and_leaves_nothing() {
    let folder = folder();
    let input = clip(folder.path(), "a.mp4", &format!("{PICTURE} -t 20 {H264}"));
    let output = folder.path().join("b.mp4");
    // A limit on the size of files stands in for a full disk.
    let program = assert_cmd::cargo::cargo_bin("autolevels");
    let line = format!(
        "trap '' XFSZ; ulimit -f 40; exec {} file {} {} --backend cpu",
        program.display(),
        text(&input),
        text(&output)
    );
    let result = assert_cmd::Command::new("sh").args(["-c", &line]).timeout(LIMIT).output().unwrap();
    let error = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{error}");
    assert!(error.lines().count() == 1 && error.contains("cannot write") && error.contains("b.mp4"), "{error}");
    assert_eq!(names(&folder), ["a.mp4"]);
}

#[test]
fn a_folder_that_goes_away_is_one_line() {
    let folder = folder();
    let input = clip(folder.path(), "a.mp4", &format!("{PICTURE} -t 120 {H264}"));
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let program = assert_cmd::cargo::cargo_bin("autolevels");
    let mut command = std::process::Command::new(program);
    command.args(["file", text(&input), text(&inner.join("b.mp4")), "--backend", "cpu"]);
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    while fs::read_dir(&inner).unwrap().count() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fs::remove_dir_all(&inner).unwrap();
    let result = child.wait_with_output().unwrap();
    let error = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{error}");
    assert!(error.lines().count() == 1 && error.contains("b.mp4"), "{error}");
}

//! Every file in `pipelines/` runs, both by `autolevels launch` and by the shell line for `gst-launch-1.0`, with
//! what a machine without camera, display and network has put in place by the placeholders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TEST_SOURCE: &str = "videotestsrc num-buffers=20 is-live=true";
const WIDTH: usize = 64;
const HEIGHT: usize = 48;
const FRAMES: usize = 12;

#[derive(Clone, Copy, Debug)]
enum Player {
    Autolevels,
    Shell,
}

fn autolevels() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_autolevels"))
}

fn pipelines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines")
}

/// The command that plays a file.
fn command(player: Player, name: &str, values: &[(&str, &str)]) -> Command {
    let file = pipelines().join(name).with_extension("launch");
    match player {
        Player::Autolevels => {
            let mut command = Command::new("timeout");
            command.arg("60").arg(autolevels()).arg("launch").arg(file);
            command.args(values.iter().map(|(name, value)| format!("{name}={value}")));
            command
        }
        Player::Shell => {
            let plugins = autolevels().parent().unwrap().to_owned();
            let mut command = Command::new("timeout");
            let line = r#"sh -c "gst-launch-1.0 -q -e $(grep -v '^#' "$FILE" | tr '\n' ' ')""#;
            command.args(["60", "sh", "-c", line]).env("FILE", file).env("GST_PLUGIN_PATH", plugins);
            command.envs(values.iter().copied());
            command
        }
    }
}

fn run(player: Player, name: &str, values: &[(&str, &str)]) -> Output {
    let output = command(player, name, values).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} by {player:?}: {}\n{errors}", output.status);
    assert!(!errors.contains("WARN"), "{name} by {player:?} warns:\n{errors}");
    output
}

fn both(test: impl Fn(Player, &Path)) {
    for player in [Player::Autolevels, Player::Shell] {
        let folder = tempfile::tempdir().unwrap();
        test(player, folder.path());
    }
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// Makes frames that lie between 80 and 140, so that levelling is seen.
fn hazy_y4m() -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420jpeg\n").into_bytes();
    for frame in 0..FRAMES {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend((0..WIDTH * HEIGHT).map(|i| 80 + ((i * 7 + frame) % 61) as u8));
        bytes.extend(vec![128; WIDTH * HEIGHT / 2]);
    }
    bytes
}

/// Darkest and brightest luma of YUV4MPEG, and its number of frames.
fn luma_range(y4m: &[u8]) -> (u8, u8, usize) {
    let header = y4m.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
    let size = WIDTH * HEIGHT * 3 / 2 + b"FRAME\n".len();
    let frames = y4m[header..].chunks_exact(size);
    let luma = || frames.clone().flat_map(|frame| frame[6..6 + WIDTH * HEIGHT].iter().copied());
    (luma().min().unwrap(), luma().max().unwrap(), frames.len())
}

fn ffprobe_frames(file: &str) -> usize {
    let show = ["-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames"];
    let output = Command::new("ffprobe").args(show).args(["-of", "csv=p=0", file]).output().unwrap();
    // Transport streams list it twice.
    let text = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().replace(',', "");
    text.parse().unwrap_or_else(|_| panic!("{file}: {text} {}", String::from_utf8_lossy(&output.stderr)))
}

/// The files that the tests below run. Another one makes this test fail until it is run as well.
const RUN: [&str; 11] = [
    "image-sequence",
    "play-file",
    "restream-srt",
    "rtsp-camera",
    "screen",
    "several-cameras",
    "side-by-side",
    "stdin-stdout",
    "webcam-record",
    "webcam-virtual-camera",
    "webcam-window",
];

#[test]
fn every_file_is_run_is_explained_and_is_listed() {
    let names: BTreeSet<String> = fs::read_dir(pipelines())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "launch"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, RUN.map(String::from).into());
    let list = fs::read_to_string(pipelines().join("README.md")).unwrap();
    for name in RUN {
        let text = fs::read_to_string(pipelines().join(name).with_extension("launch")).unwrap();
        assert!(text.starts_with("# ") && text.contains("\n# Needs: ") && text.contains("\n# Expect: "), "{name}");
        assert!(text.contains("autolevels"), "{name}");
        assert!(list.contains(&format!("[{name}.launch]({name}.launch)")), "{name} is missing in README.md");
        // Each placeholder is explained, and nothing else is.
        let (comments, line) = text.split_once("\n\n").unwrap();
        let used: BTreeSet<&str> = line.split("${").skip(1).map(|rest| rest.split(":-").next().unwrap()).collect();
        let explained: BTreeSet<&str> = comments
            .lines()
            .filter_map(|line| line.strip_prefix("#   ").filter(|rest| !rest.starts_with(' ')))
            .flat_map(|line| line.split("  ").next().unwrap().split(", "))
            .collect();
        assert_eq!(used, explained, "{name}");
    }
}

#[test]
fn cameras_screens_and_streams_in_a_window() {
    for name in ["webcam-window", "webcam-virtual-camera", "screen", "rtsp-camera", "side-by-side"] {
        both(|player, _| {
            run(player, name, &[("source", TEST_SOURCE), ("sink", "fakesink")]);
        });
    }
}

#[test]
fn several_cameras() {
    both(|player, _| {
        run(player, "several-cameras", &[("source0", TEST_SOURCE), ("source1", TEST_SOURCE), ("sink", "fakesink")]);
    });
}

#[test]
fn recording_while_showing() {
    both(|player, folder| {
        let output = path(folder, "a b.mkv");
        run(player, "webcam-record", &[("source", TEST_SOURCE), ("sink", "fakesink"), ("output", &output)]);
        assert_eq!(ffprobe_frames(&output), 20);
    });
}

#[test]
fn playing_a_file_with_sound_and_one_without() {
    both(|player, folder| {
        let (silent, sounding) = (path(folder, "silent.mkv"), path(folder, "sounding.mkv"));
        let make = |arguments: &[&str], file: &str| {
            let picture = ["-v", "error", "-f", "lavfi", "-i", "testsrc=s=160x120:d=0.4"];
            assert!(Command::new("ffmpeg").args(picture).args(arguments).arg(file).status().unwrap().success());
        };
        make(&[], &silent);
        make(&["-f", "lavfi", "-i", "sine=d=0.4"], &sounding);
        for file in [silent, sounding] {
            let uri = format!("file://{file}");
            run(player, "play-file", &[("uri", &uri), ("sink", "fakesink"), ("audiosink", "fakesink")]);
        }
    });
}

#[test]
fn streams_from_stdin_to_stdout_are_levelled() {
    both(|player, folder| {
        let input = path(folder, "in.y4m");
        fs::write(&input, hazy_y4m()).unwrap();
        let mut command = command(player, "stdin-stdout", &[]);
        let output = command.stdin(fs::File::open(&input).unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (low, high, frames) = luma_range(&output.stdout);
        assert_eq!(frames, FRAMES);
        assert!(low < 60 && high > 160, "levels from {low} to {high}");
    });
}

#[test]
fn image_sequences_keep_their_number_and_size() {
    both(|player, folder| {
        let (input, output) = (path(folder, "in-%05d.png"), path(folder, "out-%05d.png"));
        let source = ["-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:r=10:d=1", "-start_number", "3", &input];
        assert!(Command::new("ffmpeg").args(source).status().unwrap().success());
        run(player, "image-sequence", &[("input", &input), ("output", &output), ("first", "3")]);
        let made = |number: usize| fs::read(folder.join(format!("out-{number:05}.png")));
        assert!((3..13).all(|number| made(number).is_ok()) && made(2).is_err() && made(13).is_err());
        assert_eq!(&made(3).unwrap()[16..24], &[0, 0, 0, 64, 0, 0, 0, 48], "width and height");
    });
}

#[test]
fn a_restream_can_be_watched() {
    both(|player, folder| {
        let port = match player {
            Player::Autolevels => 18_881,
            Player::Shell => 18_882,
        };
        let uri = format!("srt://:{port}?mode=listener");
        let source = "videotestsrc num-buffers=240 is-live=true";
        let mut sender =
            command(player, "restream-srt", &[("source", source), ("uri", &uri)]).stdin(Stdio::null()).spawn().unwrap();
        let file = path(folder, "seen.ts");
        let line = format!("srtsrc uri=srt://127.0.0.1:{port} ! filesink location={file}");
        // The sender may not listen yet. Once it does, a few seconds are enough for a key frame.
        let watched = (0..20).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(250));
            let watch = ["-s", "INT", "5", "gst-launch-1.0", "-q"];
            Command::new("timeout").args(watch).args(line.split(' ')).stderr(Stdio::null()).status().unwrap();
            fs::metadata(&file).is_ok_and(|file| file.len() > 0)
        });
        let _ = sender.wait();
        assert!(watched && ffprobe_frames(&file) > 5, "a picture came through");
    });
}

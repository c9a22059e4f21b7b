//! Clips of every kind, made with ffmpeg.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs ffmpeg with a line of arguments, in which `OUT` and other words in capitals are not special: it is split
/// at spaces.
pub fn ffmpeg(line: &str) {
    let output = Command::new("ffmpeg").args(["-v", "error", "-y", "-nostdin"]).args(line.split_whitespace()).output();
    let output = output.expect("ffmpeg is installed for the tests");
    assert!(output.status.success(), "ffmpeg {line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A dim, hazy picture that moves.
pub const PICTURE: &str = "-f lavfi -i testsrc2=size=96x64:rate=25,lutyuv=y=val/3+60";
/// A tone.
pub const TONE: &str = "-f lavfi -i sine=frequency=440:sample_rate=48000";
/// Small and quick to decode.
pub const H264: &str = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p";

/// Makes `name` in `folder` from ffmpeg's arguments.
pub fn clip(folder: &Path, name: &str, line: &str) -> PathBuf {
    let path = folder.join(name);
    ffmpeg(&format!("{line} {}", path.display()));
    path
}

/// Two seconds with sound.
pub fn usual(folder: &Path, name: &str) -> PathBuf {
    let sound = if name.ends_with("webm") { "-c:a libopus" } else { "-c:a aac" };
    let pictures = if name.ends_with("webm") { "-c:v libvpx-vp9 -deadline realtime -cpu-used 8" } else { H264 };
    clip(folder, name, &format!("{PICTURE} {TONE} -t 2 {pictures} {sound}"))
}

/// What ffprobe says of the first video, fields separated by commas.
pub fn ffprobe(path: &Path, entries: &str) -> String {
    let arguments = ["-v", "error", "-select_streams", "v:0", "-show_entries", entries, "-of", "csv=p=0"];
    let output = Command::new("ffprobe").args(arguments).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs a pipeline to its end.
pub fn gst_launch(line: &str) {
    let output = Command::new("gst-launch-1.0").args(["-q"]).args(line.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

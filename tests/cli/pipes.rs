//! Video through stdin and stdout.

use std::process::{Command, Output, Stdio};

use crate::clips::{PICTURE, ffmpeg, usual};
use crate::decode::{decode, same_times};
use crate::folder;

/// Runs a line of shell in which `AUTOLEVELS` is the program.
fn shell(line: &str) -> Output {
    let program = assert_cmd::cargo::cargo_bin("autolevels");
    let line = line.replace("AUTOLEVELS", &format!("{} file --backend cpu", program.display()));
    Command::new("timeout").args(["60", "bash", "-o", "pipefail", "-c", &line]).stdin(Stdio::null()).output().unwrap()
}

fn works(line: &str) -> Vec<u8> {
    let output = shell(line);
    assert!(output.status.success(), "{line}: {:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn y4m_goes_through_both_pipes() {
    let folder = folder();
    let output = folder.path().join("out.mkv");
    let make = format!("ffmpeg -v error {PICTURE} -t 1 -pix_fmt yuv420p -f yuv4mpegpipe -");
    works(&format!("{make} | AUTOLEVELS - - | ffmpeg -v error -i - -c:v ffv1 {}", output.display()));
    let content = decode(&output);
    let wanted: Vec<i64> = (0..25).map(|frame| frame * 40_000).collect();
    same_times(&content.times(), &wanted, 1000);
    let luma = &content.frames[10].data[..96 * 64];
    assert!(luma.iter().max().unwrap() - luma.iter().min().unwrap() > 180, "it is levelled");
}

#[test]
fn a_pipe_and_a_file() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    works(&format!("AUTOLEVELS {} - | AUTOLEVELS - {} --mode off", input.display(), output.display()));
    same_times(&decode(&output).times(), &decode(&input).times(), 2);
    // Other containers can be piped in as well.
    let mkv = usual(folder.path(), "c.mkv");
    works(&format!("cat {} | AUTOLEVELS - {} --overwrite", mkv.display(), output.display()));
    let piped = decode(&output);
    assert_eq!((piped.frames.len(), piped.tracks.len()), (50, 1));
}

#[test]
fn raw_video_is_passed_without_padding() {
    let folder = folder();
    let raw = folder.path().join("in.raw");
    // Odd sizes, whose rows GStreamer would pad.
    for (format, pixels) in
        [("I420", "yuv420p"), ("NV12", "nv12"), ("RGB", "rgb24"), ("GRAY8", "gray"), ("BGRx", "bgr0")]
    {
        ffmpeg(&format!(
            "-f lavfi -i testsrc=size=37x21:rate=25 -t 0.4 -f rawvideo -pix_fmt {pixels} {}",
            raw.display()
        ));
        let flags = format!("--format {format} --size 37x21 --rate 25");
        let same = works(&format!("cat {} | AUTOLEVELS - - {flags} --mode off", raw.display()));
        assert_eq!(same, std::fs::read(&raw).unwrap(), "{format}");
        let levelled = works(&format!("cat {} | AUTOLEVELS - - {flags} --white 0.5", raw.display()));
        assert_eq!(levelled.len(), same.len(), "{format}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = folder();
    let input = usual(folder.path(), "a.mp4");
    let output = shell(&format!(
        "set +o pipefail; AUTOLEVELS {} - | head -c 10000 >/dev/null; echo ${{PIPESTATUS[0]}}",
        input.display()
    ));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_pipes_need_is_said() {
    let output = shell("echo nothing | AUTOLEVELS - - >/dev/null");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("error: ") && error.lines().count() == 1, "{error}");
    let output = shell("AUTOLEVELS - - --format I420");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--size and --rate"), "{error}");
    let output = shell("AUTOLEVELS - - --format I420 --size 3by4 --rate 25");
    assert_eq!(output.status.code(), Some(2));
    let output = shell("AUTOLEVELS - - --format P777");
    assert!(String::from_utf8_lossy(&output.stderr).contains("I420"));
}

#[test]
fn full_range_goes_through_both_pipes() {
    let folder = folder();
    let raw = folder.path().join("in.y4m");
    // All codes, the darkest and the brightest too.
    let ramp = "-f lavfi -i testsrc=size=256x64:rate=25,format=yuvj420p,geq=lum='X':cb=128:cr=128 -t 0.4";
    ffmpeg(&format!("{ramp} -pix_fmt yuvj420p -strict -1 -f yuv4mpegpipe {}", raw.display()));
    let header = |bytes: &[u8]| String::from_utf8(bytes.split(|byte| *byte == b'\n').next().unwrap().to_vec()).unwrap();
    let frames = |bytes: &[u8]| bytes[header(bytes).len()..].to_vec();
    let written = std::fs::read(&raw).unwrap();
    assert!(header(&written).contains("XCOLORRANGE=FULL"), "ffmpeg writes the range");
    for from in [format!("AUTOLEVELS {} -", raw.display()), format!("cat {} | AUTOLEVELS - -", raw.display())] {
        let same = works(&format!("{from} --mode off"));
        assert!(header(&same).contains("XCOLORRANGE=FULL"), "{}", header(&same));
        assert!(frames(&same) == frames(&written), "{from}");
        // A ramp that fills the range is right as it is; taken for limited it would be bent.
        let levelled = works(&format!("{from} --strength 1"));
        let (before, after) = (frames(&written), frames(&levelled));
        let change = before.iter().zip(&after).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(change < Some(3), "{change:?}");
    }
    let limited =
        works(&format!("ffmpeg -v error {PICTURE} -t 0.2 -pix_fmt yuv420p -f yuv4mpegpipe - | AUTOLEVELS - -"));
    assert!(!header(&limited).contains("FULL"), "{}", header(&limited));
    // And in a file: the range is described there.
    let output = folder.path().join("out.mkv");
    works(&format!("AUTOLEVELS {} {}", raw.display(), output.display()));
    assert!(decode(&output).field("colorimetry").starts_with("1:"), "{}", decode(&output).field("colorimetry"));
}

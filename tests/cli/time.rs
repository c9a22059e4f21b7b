//! Timestamps of every kind.

use crate::clips::{H264, PICTURE, TONE, clip};
use crate::decode::{decode, same_content};
use crate::{folder, level};

#[test]
fn timestamps_come_out_as_they_went_in() {
    let folder = folder();
    let slow = "-c:v libx264 -preset medium -pix_fmt yuv420p";
    let late = "-itsoffset 0.5";
    for (name, line) in [
        (
            "variable rate",
            format!("{PICTURE} {TONE} -t 3 -filter:v select='gt(random(1)\\,0.4)' -vsync vfr {H264} -c:a aac"),
        ),
        ("b-frames", format!("{PICTURE} {TONE} -t 2 {slow} -bf 3 -c:a aac")),
        ("ntsc", format!("-f lavfi -i testsrc2=size=96x64:rate=30000/1001 {TONE} -t 2 {H264} -c:a aac")),
        ("odd rate", format!("-f lavfi -i testsrc2=size=96x64:rate=29.83 -t 3 {H264}")),
        ("late pictures", format!("{late} {PICTURE} {TONE} -t 2 {H264} -c:a aac")),
        ("late sound", format!("{PICTURE} {late} {TONE} -t 2 {H264} -c:a aac")),
        ("one frame", format!("{PICTURE} -frames:v 1 {H264}")),
    ] {
        let crossed = [("mp4", "mkv", 1000), ("mkv", "mp4", 2)];
        let straight = [("mp4", "mp4", 2), ("mkv", "mkv", 1000)];
        for (from, to, within) in straight.into_iter().chain(crossed.into_iter().filter(|_| name == "variable rate")) {
            let input = clip(folder.path(), &format!("a.{from}"), &line);
            let output = folder.path().join(format!("b.{to}"));
            level(&input, &output, &["--overwrite"]);
            eprintln!("{name}: {from} to {to}");
            same_content(&decode(&input), &decode(&output), within);
        }
    }
}

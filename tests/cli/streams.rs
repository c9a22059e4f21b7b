//! Several tracks, tracks that do not fit, and what is left out.

use std::path::Path;
use std::process::Command;

use crate::clips::{H264, PICTURE, TONE, clip, ffmpeg, usual};
use crate::decode::{decode, same_content, same_sound, same_times};
use crate::{fail, folder, level};

const SECOND_TONE: &str = "-f lavfi -i sine=frequency=880:sample_rate=44100";

#[test]
fn all_tracks_come_out_in_order() {
    let folder = folder();
    let maps = "-map 0 -map 1 -map 2 -map 1";
    let line = format!("{PICTURE} {TONE} {SECOND_TONE} -t 2 {maps} {H264} -c:a:0 aac -c:a:1 aac -c:a:2 libmp3lame");
    let input = clip(folder.path(), "a.mp4", &line);
    for (name, within) in [("b.mp4", 2), ("b.mkv", 1000), ("b.mov", 2)] {
        // Streams used to come in any order, hence a few rounds.
        for _ in 0..3 {
            let output = folder.path().join(name);
            level(&input, &output, &["--overwrite"]);
            let (input, output) = (decode(&input), decode(&output));
            assert_eq!(input.tracks.len(), 3);
            same_content(&input, &output, within);
        }
    }
}

#[test]
fn tracks_that_fit_are_copied_and_others_encoded() {
    let folder = folder();
    let maps = "-map 0 -map 1 -map 2";
    let line = format!("{PICTURE} {TONE} {SECOND_TONE} -t 1 {maps} {H264} -c:a:0 libopus -c:a:1 libvorbis");
    let input = clip(folder.path(), "a.mkv", &line);
    let output = folder.path().join("b.mp4");
    let text = level(&input, &output, &[]);
    assert!(text.contains("track 2") && !text.contains("track 1"), "{text}");
    let (mut input, mut output) = (decode(&input), decode(&output));
    same_times(&output.times(), &input.times(), 2);
    assert_eq!(output.tracks.len(), 2);
    let (opus, aac) = (output.tracks[0].len(), output.tracks[1].len());
    assert!(opus > 49 && aac < 49, "20 ms of opus a packet, 23 ms of AAC: {opus}, {aac}");
    (input.tracks, output.tracks) = (vec![input.tracks.remove(0)], vec![output.tracks.remove(0)]);
    same_sound(&input, &output, 1000);
}

#[test]
fn raw_sound_stays_raw_where_it_can() {
    let folder = folder();
    let input = clip(folder.path(), "a.mkv", &format!("{PICTURE} {TONE} -t 1 {H264} -c:a pcm_s16le"));
    let output = folder.path().join("b.mkv");
    level(&input, &output, &[]);
    let sound = |path: &std::path::Path| -> Vec<u8> {
        decode(path).tracks.concat().into_iter().flat_map(|unit| unit.data).collect()
    };
    assert_eq!(sound(&output), sound(&input));
    assert!(sound(&output).len() > 90_000);
}

#[test]
fn video_without_sound_and_with_longer_or_shorter_sound() {
    let folder = folder();
    for (name, length) in [("silent", None), ("short", Some("0.5")), ("long", Some("4"))] {
        let line = match length {
            None => format!("{PICTURE} -t 2 {H264}"),
            Some(length) => {
                let tone = format!("-f lavfi -i sine=duration={length}:sample_rate=48000");
                format!("-t 2 {PICTURE} {tone} {H264} -c:a aac")
            }
        };
        let input = clip(folder.path(), &format!("{name}.mp4"), &line);
        let output = folder.path().join(format!("{name}.out.mp4"));
        level(&input, &output, &[]);
        same_content(&decode(&input), &decode(&output), 2);
    }
}

#[test]
fn chapters_are_kept_where_the_container_takes_them() {
    let folder = folder();
    let chapters = folder.path().join("chapters.txt");
    let text = ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=500\ntitle=One\n\
                [CHAPTER]\nTIMEBASE=1/1000\nSTART=500\nEND=1000\ntitle=Two\n";
    std::fs::write(&chapters, text).unwrap();
    let with_sound = format!("{TONE} -map 0 -map 2 -c:a aac");
    for more in ["-map 0", with_sound.as_str()] {
        let line = format!("{PICTURE} -i {} {more} -t 1 -map_metadata 1 {H264}", chapters.display());
        let input = clip(folder.path(), "a.mkv", &line);
        for (name, kept) in [("b.mkv", true), ("b.webm", true), ("b.mp4", false)] {
            let output = folder.path().join(name);
            let text = level(&input, &output, &["--overwrite"]);
            assert_eq!(text.matches("chapters are left out").count(), usize::from(!kept), "{text}");
            let listed = chapters_of(&output);
            let wanted = "0.000000,0.500000,One\n0.500000,1.000000,Two";
            assert_eq!(listed, if kept { wanted } else { "" }, "{name}");
            same_times(&decode(&output).times(), &decode(&input).times(), 1000);
        }
        let input = clip(folder.path(), "a.mp4", &line);
        assert!(chapters_of(&input).contains("Two"));
        let text = level(&input, &folder.path().join("c.mkv"), &["--overwrite"]);
        assert_eq!(text.matches("chapters are left out").count(), 1, "{text}");
    }
}

fn chapters_of(path: &Path) -> String {
    let show = "chapter=start_time,end_time:chapter_tags=title";
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-show_chapters", "-show_entries", show, "-of", "csv=p=0"]).arg(path);
    String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn the_first_of_several_videos_is_levelled() {
    let folder = folder();
    let other = "-f lavfi -i smptebars=size=64x48:rate=25";
    let input =
        clip(folder.path(), "a.mkv", &format!("{PICTURE} {other} {TONE} -t 1 -map 0 -map 1 -map 2 {H264} -c:a aac"));
    let output = folder.path().join("b.mkv");
    let text = level(&input, &output, &[]);
    assert!(text.contains("the first of 2 videos"), "{text}");
    let output = decode(&output);
    assert_eq!((output.frames.len(), output.field("width")), (25, "96".into()));
    assert_eq!(output.tracks.len(), 1);
}

#[test]
fn a_cover_picture_is_no_video() {
    let folder = folder();
    let cover = folder.path().join("cover.png");
    ffmpeg(&format!("-f lavfi -i color=red:size=32x32 -frames:v 1 {}", cover.display()));
    let line = format!(
        "{PICTURE} {TONE} -i {} -t 1 -map 0 -map 1 -map 2 {H264} -c:v:1 png -disposition:v:1 attached_pic -c:a aac",
        cover.display()
    );
    let input = clip(folder.path(), "a.mp4", &line);
    let output = folder.path().join("b.mp4");
    level(&input, &output, &[]);
    let output = decode(&output);
    assert_eq!((output.frames.len(), output.field("width")), (25, "96".into()));
    // A song with a cover is no video either.
    let song = clip(
        folder.path(),
        "song.m4a",
        &format!("{TONE} -i {} -t 1 -map 0 -map 1 -c:v png -disposition:v:0 attached_pic -c:a aac", cover.display()),
    );
    let error = fail(&["file", song.to_str().unwrap(), folder.path().join("c.mp4").to_str().unwrap()], 1);
    assert!(error.contains("no video"), "{error}");
}

#[test]
fn sound_waits_for_an_encoder_that_looks_ahead() {
    // At 8 frames a second the encoder's lookahead is several seconds, more than a default queue of sound holds.
    let folder = folder();
    let input =
        clip(folder.path(), "a.mp4", &format!("-f lavfi -i testsrc2=size=96x64:rate=8 {TONE} -t 12 {H264} -c:a aac"));
    for encoder in ["x264", "x265"] {
        let output = folder.path().join("b.mp4");
        level(&input, &output, &["--overwrite", "--encoder", encoder]);
        same_content(&decode(&input), &decode(&output), 2);
    }
}

#[test]
fn a_file_with_an_edit_list_does_not_hang() {
    let folder = folder();
    let whole = usual(folder.path(), "whole.mp4");
    let input = clip(folder.path(), "a.mp4", &format!("-ss 0.7 -i {} -c copy", whole.display()));
    let output = folder.path().join("b.mp4");
    level(&input, &output, &[]);
    same_content(&decode(&input), &decode(&output), 2);
}

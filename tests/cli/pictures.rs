//! Pictures of every kind.

use std::path::{Path, PathBuf};

use crate::clips::{H264, PICTURE, clip, ffmpeg, ffprobe, gst_launch};
use crate::decode::{Content, decode, same_times};
use crate::{folder, level};

fn levelled(input: &Path, name: &str, more: &[&str]) -> (PathBuf, String) {
    let output = input.with_file_name(name);
    let text = level(input, &output, &[&["--overwrite"], more].concat());
    (output, text)
}

fn size(content: &Content) -> (String, String) {
    (content.field("width"), content.field("height"))
}

#[test]
fn rotated_pictures_come_out_upright() {
    let folder = folder();
    let whole = clip(
        folder.path(),
        "whole.mp4",
        &format!("-f lavfi -i testsrc2=size=96x64:rate=25,drawbox=w=48:h=64:color=black:t=fill -t 0.4 {H264}"),
    );
    let rotated = clip(folder.path(), "a.mp4", &format!("-i {} -c copy -metadata:s:v rotate=90", whole.display()));
    for name in ["b.mp4", "b.mkv"] {
        let (output, _) = levelled(&rotated, name, &[]);
        assert!(!ffprobe(&output, "stream_tags=rotate").contains("90"));
        let output = decode(&output);
        assert_eq!(size(&output), ("64".into(), "96".into()));
        // The black half was on the left; turned counterclockwise, as ffmpeg shows it, it is below.
        let luma = &output.frames[5].data;
        let mean = |rows: std::ops::Range<usize>| -> usize {
            let codes = rows.clone().flat_map(|y| (8..56).map(move |x| y * 64 + x));
            codes.map(|at| usize::from(luma[at])).sum::<usize>() / (rows.len() * 48)
        };
        assert!(mean(4..40) > 80 && mean(56..92) < 40, "{} {}", mean(4..40), mean(56..92));
    }
}

#[test]
fn rgb_sources_are_converted() {
    let folder = folder();
    for (name, codec) in
        [("rgb.mkv", "-c:v libx264rgb -preset ultrafast -pix_fmt rgb24"), ("lossless.mkv", "-c:v ffv1 -pix_fmt bgr0")]
    {
        let input = clip(folder.path(), name, &format!("{PICTURE} -t 0.4 {codec}"));
        for output in ["b.mp4", "b.webm"] {
            let (output, text) = levelled(&input, output, &[]);
            assert!(text.contains("before they are levelled"), "{name}: {text}");
            assert!(["I420", "Y444"].contains(&decode(&output).field("format").as_str()), "{name}");
            same_times(&decode(&output).times(), &decode(&input).times(), 1000);
        }
    }
}

#[test]
fn deep_sources_stay_deep_where_the_encoder_takes_them() {
    let folder = folder();
    for (name, codec, format) in [
        ("hevc.mkv", "-c:v libx265 -x265-params log-level=error -pix_fmt yuv420p10le", "I420_10LE"),
        ("high10.mp4", "-c:v libx264 -preset ultrafast -pix_fmt yuv422p10le", "I422_10LE"),
        ("lossless.mkv", "-c:v ffv1 -level 3 -pix_fmt yuv444p10le", "Y444_10LE"),
    ] {
        let input = clip(folder.path(), name, &format!("{PICTURE} -t 0.4 {codec}"));
        for output in ["b.mp4", "b.webm"] {
            let (output, text) = levelled(&input, output, &[]);
            assert!(!text.contains("converted"), "{name}: {text}");
            let (input, output) = (decode(&input), decode(&output));
            assert_eq!(output.field("format"), format, "{name}");
            same_times(&output.times(), &input.times(), 1000);
        }
    }
}

#[test]
fn deep_sources_are_levelled_before_they_are_converted_for_an_encoder() {
    let folder = folder();
    let line = format!("{PICTURE} -t 0.4 -c:v ffv1 -level 3 -pix_fmt");
    let twelve = clip(folder.path(), "twelve.mkv", &format!("{line} yuv420p12le"));
    let ten = clip(folder.path(), "ten.mkv", &format!("{line} yuv420p10le"));
    for (input, name, more, converted, format) in [
        (&twelve, "b.mp4", &[][..], "from I420_12LE to I420_10LE", "I420_10LE"),
        (&ten, "b.webm", &["--encoder", "vp8"][..], "from I420_10LE to I420", "I420"),
    ] {
        let (output, text) = levelled(input, name, more);
        assert!(text.contains(converted) && !text.contains("before they are levelled"), "{text}");
        let (input, output) = (decode(input), decode(&output));
        assert_eq!(output.field("format"), format);
        same_times(&output.times(), &input.times(), 1000);
    }
}

#[test]
fn native_formats_are_kept() {
    let folder = folder();
    for (pixels, format) in [("yuv420p", "I420"), ("yuv422p", "Y42B"), ("yuv444p", "Y444")] {
        let input =
            clip(folder.path(), "a.mkv", &format!("{PICTURE} -t 0.4 -c:v libx264 -preset ultrafast -pix_fmt {pixels}"));
        let (output, text) = levelled(&input, "b.mkv", &[]);
        assert!(!text.contains("converted"), "{text}");
        assert_eq!(decode(&output).field("format"), format);
    }
}

#[test]
fn a_change_of_size_is_scaled_to_the_first() {
    let folder = folder();
    let parts = ["96x64", "64x48", "96x64"].map(|size| {
        clip(folder.path(), &format!("{size}.ts"), &format!("-f lavfi -i testsrc2=size={size}:rate=25 -t 0.4 {H264}"))
    });
    let list = parts.map(|part| part.display().to_string()).join("|");
    let input = clip(folder.path(), "a.ts", &format!("-i concat:{list} -c copy"));
    for name in ["b.mkv", "b.mp4"] {
        let (output, text) = levelled(&input, name, &[]);
        assert!(text.contains("64×48") && text.contains("96×64"), "{text}");
        let (input, output) = (decode(&input), decode(&output));
        assert!(input.caps.len() > 1);
        assert_eq!(output.frames.len(), input.frames.len());
        assert_eq!(size(&output), ("96".into(), "64".into()));
        assert_eq!(output.caps.len(), 1);
    }
}

#[test]
fn pixels_that_are_not_square_stay_so() {
    let folder = folder();
    let input = clip(folder.path(), "a.mp4", &format!("{PICTURE},setsar=4/3 -t 0.4 {H264}"));
    for name in ["b.mp4", "b.mkv", "b.webm"] {
        let (output, _) = levelled(&input, name, &[]);
        assert_eq!(decode(&output).field("pixel-aspect-ratio"), "4/3", "{name}");
    }
}

#[test]
fn interlaced_stays_interlaced() {
    let folder = folder();
    let input = folder.path().join("a.mkv");
    let line = format!(
        "videotestsrc num-buffers=50 pattern=ball ! video/x-raw,format=I420,width=96,height=64,framerate=50/1 ! \
         interlace field-pattern=1:1 ! x264enc interlaced=true ! h264parse ! matroskamux ! filesink location={}",
        input.display()
    );
    gst_launch(&line);
    assert_ne!(decode(&input).field("interlace-mode"), "progressive");
    for name in ["b.mkv", "b.mp4"] {
        let (output, _) = levelled(&input, name, &[]);
        let (input, output) = (decode(&input), decode(&output));
        assert_ne!(output.field("interlace-mode"), "progressive");
        same_times(&output.times(), &input.times(), 1000);
    }
}

#[test]
fn odd_sizes_keep_every_pixel() {
    let folder = folder();
    for (size, pixels) in [("97x65", "yuv420p"), ("33x17", "yuv444p"), ("16x1080", "yuv420p")] {
        let input = clip(
            folder.path(),
            "a.mkv",
            &format!("-f lavfi -i testsrc=size={size}:rate=25 -t 0.2 -c:v ffv1 -pix_fmt {pixels}"),
        );
        for name in ["b.mkv", "b.mp4", "b.webm"] {
            let (output, _) = levelled(&input, name, &[]);
            let output = decode(&output);
            assert_eq!(format!("{}x{}", output.field("width"), output.field("height")), size, "{name}");
            assert_eq!(output.frames.len(), 5);
        }
    }
}

#[test]
fn odd_sizes_lose_a_row_where_the_encoder_takes_no_more() {
    let folder = folder();
    let line = "-f lavfi -i testsrc=size=97x65:rate=25 -t 0.2 -c:v ffv1 -pix_fmt yuv420p";
    let input = clip(folder.path(), "a.mkv", line);
    let (output, text) = levelled(&input, "b.mp4", &["--encoder", "openh264", "--mode", "off", "--quality", "10"]);
    assert!(text.contains("openh264enc takes no odd size (97×65): cut to 96×64"), "{text}");
    let (before, after) = (decode(&input), decode(&output));
    assert_eq!((size(&after), after.frames.len()), (("96".into(), "64".into()), 5));
    // Cut, not scaled: each pixel is where it was. GStreamer's rows are padded to four bytes.
    let (before, after) = (&before.frames[3].data, &after.frames[3].data);
    let differences = (0..64 * 96).map(|at| before[at / 96 * 100 + at % 96].abs_diff(after[at]));
    let mean = differences.map(u32::from).sum::<u32>() / (64 * 96);
    assert!(mean < 4, "{mean}");
}

#[test]
fn other_containers_are_read() {
    let folder = folder();
    for (name, codecs) in [
        ("a.avi", "-c:v mpeg4 -c:a libmp3lame"),
        ("a.ts", "-c:v mpeg2video -c:a mp2"),
        ("a.flv", "-c:v flv -c:a libmp3lame -ar 44100"),
        ("a.ts", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac"),
    ] {
        let input = folder.path().join(name);
        ffmpeg(&format!("{PICTURE} {} -t 1 {codecs} {}", crate::clips::TONE, input.display()));
        let (output, _) = levelled(&input, "b.mkv", &[]);
        let (input, output) = (decode(&input), decode(&output));
        same_times(&output.times(), &input.times(), 1000);
        assert_eq!(output.tracks.len(), 1, "{name} {codecs}");
    }
}

#[test]
fn tags_of_high_dynamic_range_are_kept_where_the_container_takes_them() {
    let folder = folder();
    let hdr = "log-level=error:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:hdr10=1:max-cll=1000,400:\
               master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)";
    let line = format!("{PICTURE} -t 0.4 -pix_fmt yuv420p10le -c:v libx265 -x265-params {hdr}");
    let input = clip(folder.path(), "a.mkv", &line);
    for (name, field) in [("b.mp4", "color_transfer"), ("b.mkv", "color_transfer"), ("c.mkv", "side_data_type")] {
        let (output, _) = levelled(&input, name, &[]);
        let said = ffprobe(&output, &format!("stream={field}:stream_side_data"));
        let wanted = if field == "color_transfer" { "smpte2084" } else { "Content light level" };
        assert!(said.contains(wanted), "{name}: {said}");
    }
}

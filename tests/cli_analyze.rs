//! `autolevels analyze`: its lines, its plot, its errors.

mod support;

use std::path::Path;

use support::{ffmpeg, run, stderr};

/// Ten frames of a ramp from 60 to 187 and ten of a brighter one, without loss.
fn clip(folder: &Path) -> String {
    let file = folder.join("ramps.mkv");
    let luma = "geq=lum='if(lt(N,10),60,100)+X':cb=128:cr=128";
    let source = format!("color=black:s=128x96:r=10:d=2,format=yuv420p,{luma}");
    ffmpeg(&["-f", "lavfi", "-i", &source, "-c:v", "ffv1"], &file);
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_line_a_frame_with_the_histogram_in_short() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["analyze", &clip(folder.path()), "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 20);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["frame"], number);
        assert!((line["time"].as_f64().unwrap() - number as f64 / 10.0).abs() < 0.002);
        let low = if number < 10 { 60 } else { 100 };
        let codes = ["min", "p1", "median", "p99", "max"].map(|name| line[name].as_i64().unwrap() - low);
        assert_eq!(codes, [0, 1, 63, 126, 127], "frame {number}");
        for name in ["mean", "black", "white", "gain", "exposure", "cut"] {
            assert!(line[name].is_f64(), "{name}");
        }
    }
}

#[test]
fn csv_has_the_same_columns_and_text_a_head() {
    let folder = tempfile::tempdir().unwrap();
    let clip = clip(folder.path());
    let output = run(&["analyze", &clip, "--csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    assert_eq!(head[..4], ["frame", "time", "mean", "min"]);
    let rows: Vec<_> = lines.collect();
    assert_eq!(rows.len(), 20);
    assert!(rows.iter().all(|row| row.len() == head.len() && row.iter().all(|field| field.parse::<f64>().is_ok())));
    let output = run(&["analyze", &clip]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 21);
    assert!(text.lines().next().unwrap().contains("exposure"));
}

#[test]
fn the_plot_shows_the_histogram_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let clip = clip(folder.path());
    let plot = folder.path().join("plot.png");
    let arguments = ["analyze", &clip, "--plot", plot.to_str().unwrap()];
    let output = run(&arguments);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&plot).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!((info.width, info.height), (1280, 960));
    // The picture of the histogram: x over time, y from bright (top) to dark.
    let brightness = |x: usize, share: f64| {
        let y = 36 + ((1.0 - share) * 436.0) as usize;
        let at = (y * 1280 + x) * 3;
        rgb[at..at + 3].iter().map(|value| u32::from(*value)).sum::<u32>()
    };
    let (early, late) = (300, 1000);
    let (only_early, both, only_late) = (80.0 / 255.0, 140.0 / 255.0, 215.0 / 255.0);
    assert!(brightness(early, both) > 150 && brightness(late, both) > 150);
    assert!(brightness(early, only_early) > 150 && brightness(late, only_early) < 60);
    assert!(brightness(early, only_late) < 60 && brightness(late, only_late) > 150);
    // An existing picture stays.
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--overwrite"));
    assert!(run(&[&arguments[..], &["--overwrite"]].concat()).status.success());
}

#[test]
fn what_is_no_video_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.mp4");
    std::fs::write(&text, "no video at all, only words").unwrap();
    let sound = folder.path().join("sound.mkv");
    ffmpeg(&["-f", "lavfi", "-i", "sine=d=0.5"], &sound);
    for file in [&text, &sound, &folder.path().join("nothing.mp4")] {
        let output = run(&["analyze", file.to_str().unwrap()]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.starts_with("error: cannot ") && text.trim_end().lines().count() == 1, "{text}");
        assert!(text.contains(file.to_str().unwrap()), "{text}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        format!("set -o pipefail; '{}' analyze '{}' | head -n 1", support::autolevels().display(), clip(folder.path()));
    let output = std::process::Command::new("timeout").args(["60", "bash", "-c", &line]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

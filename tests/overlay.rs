//! The histogram panel and the split view: the same bits from both backends, and what they show.
//!
//! Needs an adapter; lavapipe will do. AUTOLEVELS_TEST_GPU=skip passes without one.

mod common;

use std::time::Duration;

use autolevels::backend::{Backend, BackendError};
use autolevels::cpu::Cpu;
use autolevels::frame::{Format, FrameInfo, FrameMemory, LumaWeights, Range};
use autolevels::gpu;
use autolevels::leveler::{Leveler, Timing};
use autolevels::levels::Report;
use autolevels::levels::curves::Curves;
use autolevels::overlay::channels::Channels;
use autolevels::overlay::marks::{Marks, Patch};
use autolevels::overlay::{Overlay, Shown};
use autolevels::settings::{self, Mode, Settings};
use common::frames::{Content, TestFrame};

fn info(format: Format, (width, height): (usize, usize)) -> FrameInfo {
    let (range, weights) =
        if format.is_rgb() { (Range::FULL, LumaWeights::BT601) } else { (Range::LIMITED, LumaWeights::BT709) };
    FrameInfo::new(format, width, height, range, weights)
}

/// A GPU, or nothing if there is no adapter and that is allowed.
fn open(info: &FrameInfo, slots: usize) -> Option<Box<dyn Backend>> {
    match gpu::open(info, slots, "", true) {
        Err(BackendError::NoAdapter { .. })
            if std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip") =>
        {
            None
        }
        backend => Some(backend.unwrap_or_else(|error| panic!("{error} (AUTOLEVELS_TEST_GPU=skip to go without)"))),
    }
}

fn with(split: f64, overlay: bool) -> Settings {
    let overlay = if overlay { settings::Overlay::Histogram } else { settings::Overlay::None };
    Settings { split, overlay, ..Settings::default() }
}

/// What is asked for from frame to frame.
fn wishes() -> [Settings; 10] {
    [
        with(0.5, true),
        Settings { strength: 0.0, ..with(0.0, true) },
        Settings { dither: true, ..with(0.5, false) },
        Settings { mode: Mode::Equalize, dither: true, ..with(0.3, true) },
        with(1.0, true),
        Settings { mode: Mode::Off, ..with(0.5, true) },
        with(0.95, true),
        with(0.0, false),
        Settings { independence: 1.0, dither: true, ..with(0.4, true) },
        Settings { independence: 0.5, mode: Mode::Equalize, ..with(0.0, true) },
    ]
}

/// One frame for each of the settings through a backend: the frames, and whether each was changed.
fn run(info: &FrameInfo, backend: Box<dyn Backend>, depth: usize, wishes: &[Settings]) -> Vec<(TestFrame, bool)> {
    let mut leveler = Leveler::with_backend(info, &wishes[0], backend, depth);
    let mut done = Vec::new();
    for (number, settings) in wishes.iter().enumerate() {
        let content = [Content::Natural, Content::Noise, Content::HalfBlack][number % 3];
        let frame = TestFrame::new(info, content, number as u64, [0, 3, 12][number % 3]);
        let frame = if number % 2 == 0 { frame.copied(5) } else { frame };
        leveler.set_settings(settings);
        leveler.submit(frame, Timing { time: Some(Duration::from_millis(40 * number as u64)), votes: true });
        while let Some(one) = leveler.receive() {
            done.push((one.memory, one.outcome.unwrap().changed));
        }
    }
    while let Some(one) = leveler.drain() {
        done.push((one.memory, one.outcome.unwrap().changed));
    }
    done
}

fn on_cpu(info: &FrameInfo, wishes: &[Settings]) -> Vec<(TestFrame, bool)> {
    run(info, Box::new(Cpu::new(info, 1)), 0, wishes)
}

#[test]
fn both_backends_draw_the_same() {
    for (number, format) in Format::ALL.iter().enumerate() {
        for (turn, size) in [(5, 3), (63, 65), (640, 272)].into_iter().enumerate() {
            let (info, depth) = (info(*format, size), [0, 2, 3][(number + turn) % 3]);
            let Some(gpu) = open(&info, depth + 1) else { return };
            let got = run(&info, gpu, depth, &wishes());
            let wanted = run(&info, Box::new(Cpu::new(&info, depth + 1)), depth, &wishes());
            for (frame, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                got.0.check_guards();
                wanted.0.check_guards();
                assert_eq!(got.1, wanted.1, "{info}, frame {frame}");
                for (plane, (got, wanted)) in got.0.output_planes().iter().zip(wanted.0.output_planes()).enumerate() {
                    let differs = got.rows().zip(wanted.rows()).position(|(got, wanted)| got != wanted);
                    assert_eq!(differs, None, "{info}, frame {frame}, plane {plane}: the first row that differs");
                }
            }
        }
    }
}

#[test]
fn left_of_the_edge_everything_is_as_it_came() {
    for (number, format) in Format::ALL.iter().enumerate().flat_map(|(i, format)| [(i, format), (i + 1, format)]) {
        let info = info(*format, (640, 272));
        let before = TestFrame::new(&info, Content::Natural, 0, 0);
        let independence = f64::from(u8::from(number % 2 == 0));
        let dither = number % 3 > 0;
        let levelled = |split: f64| on_cpu(&info, &[Settings { independence, dither, ..with(split, false) }]).remove(0);
        let ((split, changed), (whole, _)) = (levelled(0.5), levelled(0.0));
        assert!(changed);
        for (plane, shape) in info.planes.iter().enumerate() {
            let bytes = |pixels: usize| pixels / shape.unit_pixels * shape.lanes.len() * shape.bytes / shape.samples;
            let (edge, right) = (bytes(320), bytes(328));
            for y in 0..shape.rows {
                let [split, whole, before] = [&split, &whole, &before].map(|frame| frame.output_planes()[plane].row(y));
                assert_eq!(split[..edge], before[..edge], "{info}, plane {plane}, row {y}");
                assert_eq!(split[right..], whole[right..], "{info}, plane {plane}, row {y}");
            }
        }
        assert!(!on_cpu(&info, &[with(1.0, false)]).remove(0).1, "{info}: nothing is left to change");
    }
}

#[test]
fn the_panel_is_drawn_on_frames_that_are_else_untouched() {
    for format in Format::ALL {
        let info = info(*format, (640, 272));
        for settings in [&wishes()[1], &Settings { mode: Mode::Off, ..with(0.7, true) }] {
            let (after, changed) = on_cpu(&info, std::slice::from_ref(settings)).remove(0);
            assert!(changed);
            let before = TestFrame::new(&info, Content::Natural, 0, 0);
            let planes = info.planes.iter().zip(before.output_planes()).zip(after.output_planes());
            for ((shape, before), after) in planes {
                let mut drawn = 0;
                for (y, (before, after)) in before.rows().zip(after.rows()).enumerate() {
                    for x in (0..shape.bytes).filter(|x| before[*x] != after[*x]) {
                        assert!(x > shape.bytes * 7 / 10 && y > shape.rows / 2, "{info}: byte {x}, {y}");
                        drawn += 1;
                    }
                }
                assert!(drawn > shape.bytes * shape.rows / 40, "{info}: {drawn} bytes");
            }
        }
    }
}

#[test]
fn tiny_frames_have_no_room_for_a_panel() {
    for format in Format::ALL {
        let settings = Settings { strength: 0.0, ..with(0.0, true) };
        assert!(!on_cpu(&info(*format, (5, 3)), &[settings]).remove(0).1);
    }
}

/// The panel for a luma histogram and kept ends, drawn for frames of `format`: the patch of each plane.
fn panel(format: Format, luma: &[u32], (black, white): (f64, f64)) -> Vec<Patch> {
    let info = info(format, (640, 360));
    let mut marks = Marks::none(info.planes.len());
    let report = Report { black, white, gain: 1.0, ..Report::default() };
    let curves = Curves::identity(256);
    Overlay::new(&info).mark(&with(0.0, true), &Shown { luma, report: &report, curves: &curves }, &mut marks);
    marks.planes.into_iter().map(|plane| plane.panel).collect()
}

/// R, G and B of a texel of an RGBA patch.
fn colour(patch: &Patch, x: usize, y: usize) -> [u8; 3] {
    let [r, g, b, _] = patch.texels[y * patch.stride + x][0].to_le_bytes();
    [r, g, b]
}

/// Pixels of the column of a code that show its bar, or the curve before it.
fn bar(patch: &Patch, code: usize) -> f64 {
    let is_bar = |[r, g, b]: [u8; 3]| r > 150 && (r.abs_diff(b) < 40 || (g > 120 && b < 120));
    let graph = patch.across - 8;
    let x = 4 + (2 * code + 1) * graph / 512;
    (0..patch.down).filter(|y| is_bar(colour(patch, x, *y))).count() as f64
}

#[test]
fn bars_are_as_tall_as_their_counts() {
    // Falling from left to right, so that the curve lies within the bars of the left half.
    let falling: Vec<u32> = (0..256).map(|code| 10 * (255 - code)).collect();
    let patch = &panel(Format::Rgba, &falling, (0.0, 255.0))[0];
    let tallest = bar(patch, 4) * 255.0 / 251.0;
    assert!(tallest > 50.0, "{tallest}");
    for code in [16, 32, 64, 96, 112] {
        let wanted = tallest * (255 - code) as f64 / 255.0;
        assert!((bar(patch, code) - wanted).abs() <= 2.0, "code {code}: {} of {wanted}", bar(patch, code));
    }

    // A lone spike is as tall as can be, and the others are five times smaller than if they were all alike.
    let mut spiked = vec![100; 256];
    spiked[200] = 20_000;
    let patch = &panel(Format::Rgba, &spiked, (0.0, 255.0))[0];
    let wanted = tallest * 100.0 * 0.2 * 256.0 / 45_500.0;
    assert!((bar(patch, 100) - 2.0 - wanted).abs() <= 2.0, "{} of {wanted}", bar(patch, 100));
    assert!((bar(patch, 200) - tallest).abs() <= 2.0, "{} of {tallest}", bar(patch, 200));
}

#[test]
fn the_kept_ends_are_marked_where_they_are() {
    let patch = &panel(Format::Rgba, &[1; 256], (32.0, 224.0))[0];
    let is_end = |[r, _, b]: [u8; 3]| r < 130 && b > 200;
    let lines = (0..patch.across).filter(|x| (0..patch.down).filter(|y| is_end(colour(patch, *x, *y))).count() > 20);
    let graph = (patch.across - 8) as f64;
    let wanted = [32.5, 224.5].map(|code| 4.0 + graph * code / 256.0);
    let lines: Vec<f64> = lines.map(|x| x as f64).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().zip(wanted).all(|(line, wanted)| (line - wanted).abs() < 1.6), "{lines:?}, not {wanted:?}");
}

#[test]
fn curves_of_channels_that_differ_have_their_colours() {
    let info = info(Format::Rgba, (640, 360));
    let report = Report { black: 0.0, white: 255.0, gain: 1.0, ..Report::default() };
    let draw = |curves: &Curves| {
        let mut marks = Marks::none(1);
        let shown = Shown { luma: &[0; 256], report: &report, curves };
        Overlay::new(&info).mark(&with(0.0, true), &shown, &mut marks);
        marks.planes.remove(0).panel
    };
    // The row at which a colour begins in the middle of the panel, where there are no bars.
    let row =
        |patch: &Patch, is: fn([u8; 3]) -> bool| (0..patch.down).find(|y| is(colour(patch, patch.across / 2, *y)));
    let is: [fn([u8; 3]) -> bool; 3] = [
        |[r, g, b]| r > 200 && g < 120 && b < 120,
        |[r, g, b]| g > 180 && r < 120 && b < 120,
        |[r, g, b]| b > 200 && r < 120 && g < 150,
    ];
    let levels = Curves::new([192, 128, 64].map(|level| vec![level; 256]));
    let patch = draw(&levels);
    let rows = is.map(|is| row(&patch, is).expect("the curve is drawn"));
    let (above, below) = (rows[1] - rows[0], rows[2] - rows[1]);
    assert!(above > 10 && above.abs_diff(below) < 3, "{rows:?}");
    let patch = draw(&Curves::identity(256));
    assert!(is.iter().all(|is| row(&patch, *is).is_none()), "one curve is of no channel");
    assert!(row(&patch, |[r, g, b]| r > 200 && g > 150 && b < 120).is_some());
}

#[test]
fn colours_are_those_of_the_matrix_in_formats_with_chroma() {
    let counts: Vec<u32> = (0..256).map(|code| 40 + code * (255 - code) / 90).collect();
    let rgba = &panel(Format::Rgba, &counts, (20.0, 200.0))[0];
    let planes = panel(Format::Y444, &counts, (20.0, 200.0));
    let [kr, kg, kb] = LumaWeights::BT709.0.map(|weight| f64::from(weight) / 65536.0);
    for y in 0..rgba.down {
        for x in 0..rgba.across {
            let [r, g, b] = colour(rgba, x, y).map(f64::from);
            let luma = kr * r + kg * g + kb * b;
            let wanted = [
                16.0 + luma * 219.0 / 255.0,
                128.0 + (b - luma) / (2.0 * (1.0 - kb)) * 224.0 / 255.0,
                128.0 + (r - luma) / (2.0 * (1.0 - kr)) * 224.0 / 255.0,
            ];
            for (plane, wanted) in planes.iter().zip(wanted) {
                let got = plane.texels[y * plane.stride + x / 4][0].to_le_bytes()[x % 4];
                assert!((f64::from(got) - wanted).abs() < 1.6, "{x}, {y}: {got}, not {wanted}");
            }
        }
    }
}

#[test]
fn channels_are_counted_in_every_format() {
    // Pure red of BT.709 in limited range, and of RGB; transparent pixels do not count.
    for format in Format::ALL.iter().filter(|format| !matches!(format, Format::Gray8 | Format::Gray16)) {
        let info = info(*format, (30, 20));
        let mut frame = TestFrame::new(&info, Content::Flat, 0, 0);
        for (plane, shape) in frame.input_planes_mut().iter_mut().zip(&info.planes) {
            for y in 0..shape.rows {
                for (x, sample) in plane.row_mut(y).chunks_mut(format.packing().bytes()).enumerate() {
                    use autolevels::frame::Lane::{Alpha, Blue, Cb, Cr, Green, Luma, Red, Unused};
                    let code: u8 = match shape.lanes[x % shape.lanes.len()] {
                        Luma => 63,
                        Cb => 102,
                        Cr => 240,
                        Red => 235,
                        Green | Blue => 16,
                        Alpha if y == 0 => 0,
                        Alpha | Unused => 255,
                    };
                    match sample {
                        [sample] => *sample = code,
                        _ => {
                            let packing = format.packing();
                            let deep = packing.with_code(0, u16::from(code) << (packing.depth - 8));
                            sample.copy_from_slice(&deep.to_le_bytes());
                        }
                    }
                }
            }
        }
        let mut channels = Channels::new(&info);
        channels.count(&info, &frame.input());
        let counts = channels.counts().expect("the format has colour");
        let pixels = if info.alpha().is_some() { 30 * 19 } else { 30 * 20 };
        for (counts, code) in counts.iter().zip([235, 16, 16]) {
            let near: u32 = counts[code - 1..=code + 1].iter().sum();
            assert_eq!((near, counts.iter().sum::<u32>()), (pixels, pixels), "{info}");
        }
    }
}

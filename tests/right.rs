//! What comes out of the leveler is right: against a plain answer in floating point, and where nothing may change.

mod common;

use std::time::Duration;

use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use autolevels::leveler::{Leveler, Timing};
use autolevels::settings::{BackendChoice, Chroma, Mode, Settings};
use common::frames::{Content, GuardedPlane, TestFrame};

fn backends() -> Vec<BackendChoice> {
    match std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip") {
        true => vec![BackendChoice::Cpu],
        false => vec![BackendChoice::Cpu, BackendChoice::Gpu],
    }
}

/// Levels one frame of a fresh stream; says whether an output was written.
fn level(info: &FrameInfo, settings: &Settings, frame: TestFrame) -> (TestFrame, bool) {
    let mut leveler = Leveler::new(info, settings, true).unwrap();
    leveler.submit(frame, Timing { time: Some(Duration::ZERO), votes: true });
    let done = leveler.receive().unwrap();
    done.memory.check_guards();
    (done.memory, done.outcome.unwrap().changed)
}

fn samples(planes: &[GuardedPlane]) -> Vec<Vec<u8>> {
    planes.iter().map(|plane| plane.rows().flatten().copied().collect()).collect()
}

/// The code that a share `p` of `luma` lies below: cumulative counts at the centres of the codes that occur.
fn quantile(luma: &[u8], p: f64) -> f64 {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut below = 0.0;
    for code in 0..=255u8 {
        let count = luma.iter().filter(|sample| **sample == code).count() as f64;
        if count > 0.0 {
            points.push((below + count / 2.0, f64::from(code)));
            below += count;
        }
    }
    let wanted = p * below;
    let after = points.partition_point(|point| point.0 < wanted);
    match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
        (Some(low), Some(high)) => low.1 + (wanted - low.0) / (high.0 - low.0) * (high.1 - low.1),
        (Some(end), None) => end.1,
        (None, Some(start)) => start.1,
        (None, None) => panic!("no pixels"),
    }
}

#[test]
fn a_stretched_picture_is_within_one_code_of_the_plain_answer() {
    let unsmoothed = Settings { smoothing: 0.0, ..Settings::default() };
    for (format, range) in [(Format::I420, Range::LIMITED), (Format::I420, Range::FULL), (Format::Gray8, Range::FULL)] {
        let info = FrameInfo::new(format, 321, 183, range, LumaWeights::BT709);
        let (black, white) = (f64::from(range.black), f64::from(range.white));
        for content in [Content::Natural, Content::Ramp, Content::Noise] {
            for settings in [
                unsmoothed.clone(),
                Settings { clip_low: 2.0, clip_high: 5.0, ..unsmoothed.clone() },
                Settings { black: 0.1, white: 0.8, max_gain: 100.0, ..unsmoothed.clone() },
            ] {
                let frame = TestFrame::new(&info, content, 3, 5).copied(0);
                let input = samples(frame.input_planes());
                let (levelled, changed) =
                    level(&info, &Settings { backend: BackendChoice::Cpu, ..settings.clone() }, frame);
                let output = if changed { samples(levelled.output_planes()) } else { input.clone() };
                let nominal: Vec<u8> =
                    input[0].iter().map(|code| (*code).clamp(range.black as u8, range.white as u8)).collect();
                let low = quantile(&nominal, settings.clip_low / 100.0);
                let high = quantile(&nominal, 1.0 - settings.clip_high / 100.0);
                let target = |share: f64| black + share * (white - black);
                let gain = (target(settings.white) - target(settings.black)) / (high - low);
                assert!(gain < settings.max_gain, "the gain limit is tested elsewhere");
                for (from, to) in
                    input[0].iter().zip(&output[0]).filter(|(from, _)| (black..=white).contains(&f64::from(**from)))
                {
                    let wanted = target(settings.black) + gain * (f64::from(*from) - low);
                    let wanted = wanted.clamp(target(settings.black), target(settings.white));
                    let off = (f64::from(*to) - wanted).abs();
                    assert!(off <= 1.0, "{info} {}: {from} became {to}, not {wanted:.2}", content.name());
                }
                // Colours follow by the same gain around neutral, within the range of chroma.
                if content == Content::Natural && format == Format::I420 && settings == unsmoothed {
                    for (from, to) in input[1].iter().zip(&output[1]) {
                        let wanted = 128.0 + gain * (f64::from(*from) - 128.0);
                        let off = (f64::from(*to) - wanted).abs();
                        assert!(off <= 1.0 || !(17.0..=239.0).contains(&wanted), "{from} became {to}, not {wanted:.2}");
                    }
                }
            }
        }
    }
}

#[test]
fn where_nothing_is_to_be_done_the_same_bytes_come_out() {
    let flat = |mode| (Content::Flat, Settings { mode, ..Settings::default() });
    let cases = [
        (Content::Natural, Settings { strength: 0.0, ..Settings::default() }),
        (Content::Noise, Settings { strength: 0.0, mode: Mode::Equalize, ..Settings::default() }),
        (Content::Natural, Settings { mode: Mode::Off, ..Settings::default() }),
        (Content::Natural, Settings { strength: 0.0, dither: true, ..Settings::default() }),
        (Content::Flat, Settings { dither: true, ..Settings::default() }),
        flat(Mode::Stretch),
        flat(Mode::Equalize),
    ];
    for backend in backends() {
        for format in Format::ALL {
            for range in [Range::LIMITED, Range::FULL] {
                let info = FrameInfo::new(*format, 37, 22, range, LumaWeights::BT601);
                for (content, settings) in &cases {
                    let settings = Settings { backend, ..settings.clone() };
                    let frame = TestFrame::new(&info, *content, 5, 3);
                    let before = frame.clone();
                    let (after, changed) = level(&info, &settings, frame);
                    let what = format!("{info} on {} showing {}", backend.name(), content.name());
                    assert!(!changed, "{what}");
                    assert!(after == before, "{what}");
                }
            }
        }
    }
}

#[test]
fn chroma_that_is_to_be_kept_stays() {
    let info = FrameInfo::new(Format::Nv12, 64, 48, Range::LIMITED, LumaWeights::BT709);
    for backend in backends() {
        let settings = Settings { backend, chroma: Chroma::Keep, ..Settings::default() };
        let frame = TestFrame::new(&info, Content::Natural, 1, 0);
        let before = samples(frame.input_planes());
        let (after, changed) = level(&info, &settings, frame);
        let after = samples(after.output_planes());
        assert!(changed && before[0] != after[0] && before[1] == after[1]);
    }
}

/// The codes of a plane that holds frames of `format`.
fn codes(format: Format, plane: &GuardedPlane) -> Vec<f64> {
    let packing = format.packing();
    let code = |sample: &[u8]| match sample {
        [byte] => f64::from(*byte),
        [low, high] => f64::from(packing.code(u16::from_le_bytes([*low, *high]))),
        _ => panic!("samples have one byte or two"),
    };
    plane.rows().flat_map(|row| row.chunks(packing.bytes())).map(code).collect()
}

/// What the picture of a frame of 8 bits is at another depth.
fn deepened(from: &TestFrame, info: &FrameInfo) -> TestFrame {
    let packing = info.format.packing();
    let mut deep = TestFrame::new(info, Content::Flat, 0, 7).copied(3);
    for (plane, from) in deep.input_planes_mut().iter_mut().zip(from.input_planes()) {
        for (y, row) in from.rows().enumerate() {
            for (sample, code) in plane.row_mut(y).chunks_mut(2).zip(row) {
                // White stays white in full range.
                let low = if info.range.white == info.range.max { u16::from(*code) >> (16 - packing.depth) } else { 0 };
                let code = u16::from(*code) << (packing.depth - 8) | low;
                sample.copy_from_slice(&packing.with_code(0, code).to_le_bytes());
            }
        }
    }
    deep
}

#[test]
fn the_same_scene_looks_the_same_at_every_depth() {
    let pairs = [
        (Format::Nv12, Format::P010),
        (Format::I420, Format::I420p10),
        (Format::Y42b, Format::I422p10),
        (Format::Y444, Format::Y444p10),
        (Format::I420, Format::I420p12),
        (Format::Y42b, Format::I422p12),
        (Format::Y444, Format::Y444p12),
        (Format::Gray8, Format::Gray16),
        (Format::Rgba, Format::Rgba64),
        (Format::Argb, Format::Argb64),
    ];
    for (eight, deep) in pairs {
        for (range, content) in [(Range::LIMITED, Content::Natural), (Range::FULL, Content::HalfBlack)] {
            let info = FrameInfo::new(eight, 121, 67, range, LumaWeights::BT709);
            let deep_info = FrameInfo::new(deep, 121, 67, range, LumaWeights::BT709);
            for settings in [
                Settings { clip_low: 1.0, clip_high: 1.0, ..Settings::default() },
                Settings { mode: Mode::Equalize, ..Settings::default() },
                Settings { midtone: 1.0, strength: 0.7, ..Settings::default() },
            ] {
                let settings = Settings { backend: BackendChoice::Cpu, ..settings };
                let frame = TestFrame::new(&info, content, 2, 0);
                let deep_frame = deepened(&frame, &deep_info);
                let (after, changed) = level(&info, &settings, frame.clone().copied(0));
                let (deep_after, deep_changed) = level(&deep_info, &settings, deep_frame);
                assert!(changed && deep_changed, "{deep_info}");
                let ranges = [deep_info.range, info.range].map(|range| f64::from(range.white) - f64::from(range.black));
                let scale = ranges[0] / ranges[1];
                for (plane, (after, deep_after)) in
                    after.output_planes().iter().zip(deep_after.output_planes()).enumerate()
                {
                    let (after, deep_after) = (codes(eight, after), codes(deep, deep_after));
                    assert_eq!(after.len(), deep_after.len());
                    let off = after.iter().zip(&deep_after).map(|(code, deep)| (deep / scale - code).abs());
                    let most = off.clone().fold(0.0, f64::max);
                    // Where a bent curve leaves little room for a colour, a part of a code more or less of it becomes a
                    // few codes.
                    let holds_back = settings.mode == Mode::Equalize || settings.midtone > 0.0;
                    let share = off.filter(|off| *off > 1.0).count() as f64 / after.len() as f64;
                    let is_right = most <= 1.0 || holds_back && share < 0.03;
                    assert!(
                        is_right && most <= 5.0,
                        "{deep_info} plane {plane} in {settings:?}: {most} codes off, {share} by more than one"
                    );
                }
            }
        }
    }
}

#[test]
fn alpha_of_16_bits_is_kept_and_what_is_transparent_does_not_vote() {
    for backend in backends() {
        let info = FrameInfo::new(Format::Rgba64, 64, 48, Range::FULL, LumaWeights::BT709);
        let settings = Settings { backend, smoothing: 0.0, ..Settings::default() };
        let run = |transparent: u16| {
            let mut frame = TestFrame::new(&info, Content::Natural, 1, 0);
            let plane = &mut frame.input_planes_mut()[0];
            for y in 0..48 {
                for (x, pixel) in plane.row_mut(y).chunks_mut(8).enumerate() {
                    // One quarter of the picture cannot be seen: its alpha is 0; elsewhere only its low byte may be.
                    let seen = x % 4 > 0;
                    if !seen {
                        pixel[..6].copy_from_slice(&[transparent.to_le_bytes(); 3].concat());
                    }
                    pixel[6..].copy_from_slice(&u16::to_le_bytes(if seen { 0x0100 } else { 0 }));
                }
            }
            let before = frame.input_planes()[0].clone();
            let (after, changed) = level(&info, &settings, frame.copied(0));
            assert!(changed);
            let seen = |plane: &GuardedPlane| {
                let pixels = plane.rows().flat_map(|row| row.chunks(8).enumerate()).filter(|(x, _)| x % 4 > 0);
                pixels.map(|(_, pixel)| pixel.to_vec()).collect::<Vec<_>>()
            };
            let alpha = |plane: &GuardedPlane| {
                plane.rows().flat_map(|row| row.chunks(8)).map(|pixel| [pixel[6], pixel[7]]).collect::<Vec<_>>()
            };
            assert_eq!(alpha(&before), alpha(&after.output_planes()[0]));
            seen(&after.output_planes()[0])
        };
        assert!(run(0) == run(u16::MAX), "transparent pixels vote on {}", backend.name());
    }
}

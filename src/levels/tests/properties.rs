//! What holds whatever comes.

use proptest::prelude::*;

use super::scenes::{HEIGHT, Shot, WIDTH, hills, info, measure, rings};
use crate::frame::{Format, FrameInfo, LumaWeights, Range};
use crate::levels::curves::Curves;
use crate::levels::statistics::{Chunk, Statistics};
use crate::levels::{Decision, Levels, Report};
use crate::settings::{Chroma, Mode, Settings};

fn is_sane(decision: &Decision, range: &Range) {
    for table in &decision.curves.tables {
        assert_eq!(table.len(), range.bins());
        assert!(table.windows(2).all(|pair| pair[0] <= pair[1]), "the curve falls: {table:?}");
        assert!(table.iter().all(|out| *out <= range.max));
    }
    let Report { black, white, gain, exposure, cut, mean } = decision.report;
    let all = [black, white, gain, exposure, cut, mean];
    assert!(all.iter().all(|x| x.is_finite()), "{:?}", decision.report);
    assert!(black <= white && (0.0..=1.0).contains(&cut) && gain > 0.0, "{:?}", decision.report);
}

fn hostile_statistics() -> impl Strategy<Value = Statistics> {
    let count = || prop_oneof![3 => Just(0u32), 3 => 0..1000u32, 1 => Just(u32::MAX)];
    let chunk = (prop_oneof![Just(0), 0..100_000u32, Just(u32::MAX)], prop_oneof![Just(0), 0..1000u32, Just(u32::MAX)]);
    let chunks = chunk.prop_map(|(sum, count)| Chunk { sum, count });
    let lengths = prop_oneof![4 => Just(256usize), 1 => 0..400usize, 1 => Just(1024)];
    let luma = lengths.prop_flat_map(move |n| prop::collection::vec(count(), n));
    let sizes = prop_oneof![3 => Just(40usize), 1 => 0..600usize];
    let chunks = sizes.prop_flat_map(move |n| prop::collection::vec(chunks.clone(), n));
    let lengths = prop_oneof![3 => Just(256usize), 1 => 0..400usize];
    let channels = lengths.prop_flat_map(move |n| prop::array::uniform7(prop::collection::vec(count(), n)));
    (luma, chunks, channels).prop_map(|(luma, chunks, [y, r, g, b, red, green, blue])| Statistics {
        luma,
        chunks,
        channels: [y, r, g, b],
        colours: [red, green, blue],
    })
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let share = || prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64];
    let modes = prop_oneof![Just(Mode::Stretch), Just(Mode::Equalize), Just(Mode::Off)];
    let gains = prop_oneof![Just(1.0), Just(4.0), 1.0..=100.0f64];
    let rest = (0.0..=25.0f64, 0.0..=25.0f64, gains, any::<bool>(), share());
    let smoothing = prop_oneof![Just(0.0), Just(0.5), 0.0..=60.0f64];
    (modes, share(), share(), share(), share(), smoothing, share(), rest).prop_map(
        |(
            mode,
            strength,
            black,
            white,
            midtone,
            smoothing,
            cut,
            (clip_low, clip_high, max_gain, keep, independence),
        )| Settings {
            mode,
            strength,
            black: black.min(0.9 * white),
            white: white.max(0.01),
            midtone,
            smoothing,
            cut,
            clip_low,
            clip_high,
            max_gain,
            independence,
            chroma: if keep { Chroma::Keep } else { Chroma::Follow },
            ..Settings::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn nothing_hostile_breaks_a_curve(
        frames in prop::collection::vec((hostile_statistics(), any_settings(), prop_oneof![
            2 => Just(Some(0.04)), 1 => Just(None), 1 => Just(Some(f64::NAN)), 1 => (-5.0..100.0f64).prop_map(Some)
        ]), 1..8),
        range in prop_oneof![Just(Range::LIMITED), Just(Range::FULL)],
        format in prop_oneof![
            3 => prop_oneof![Just(Format::I420), Just(Format::Rgba), Just(Format::Gray8)],
            1 => prop_oneof![Just(Format::P010), Just(Format::I420p12), Just(Format::Rgba64)],
        ],
    ) {
        let info = FrameInfo::new(format, 64, 48, range, LumaWeights::BT709);
        let mut levels = Levels::new(&info);
        let mut now = 0.0;
        for (statistics, settings, delta) in &frames {
            now += delta.filter(|delta| delta.is_finite()).unwrap_or(0.0);
            is_sane(levels.decide(statistics, settings, delta.map(|delta| now + 0.0 * delta)), &info.range);
        }
    }

    #[test]
    fn flat_frames_stay_what_they_are(code in 0..=255u8, settings in any_settings(), full in any::<bool>()) {
        let range = if full { Range::FULL } else { Range::LIMITED };
        for format in [Format::I420, Format::Rgba, Format::Gray8, Format::P010, Format::I420p12, Format::Rgba64] {
            let info = info(format, range);
            let bin = usize::from(code) * info.range.bins() / 256;
            let mut statistics = flat(bin, &info);
            if info.range.bins() == 256 {
                statistics.channels = std::array::from_fn(|_| statistics.luma.clone());
            }
            let curves = Levels::new(&info).decide(&statistics, &settings, None).curves.clone();
            prop_assert!(same(&curves, bin), "{format:?} {code}: {:?}", curves.tables[0]);
        }
    }

    #[test]
    fn without_strength_every_sample_stays(settings in any_settings(), statistics in hostile_statistics()) {
        let mut levels = Levels::new(&info(Format::I420, Range::LIMITED));
        let settings = Settings { strength: 0.0, ..settings };
        prop_assert!(levels.decide(&statistics, &settings, None).curves.is_identity());
    }
}

fn flat(bin: usize, info: &FrameInfo) -> Statistics {
    let mut statistics = Statistics::empty(info.range.bins(), 576);
    statistics.luma[bin] = (WIDTH * HEIGHT) as u32;
    statistics.chunks.fill(Chunk { sum: bin as u32 * 100, count: 100 });
    statistics
}

/// Whether the codes of a bin come out as they went in, and all chroma with them.
fn same(curves: &Curves, bin: usize) -> bool {
    let chroma =
        |table: &Vec<u16>| table.iter().enumerate().all(|(entry, out)| entry << curves.shift == usize::from(*out));
    let luma = usize::from(curves.tables[0][bin]) == bin << curves.shift;
    luma && (chroma(&curves.tables[1]) || curves.tables[1] == curves.tables[0])
}

fn hazy(frame: usize, info: &FrameInfo) -> Statistics {
    measure(&Shot { light: &hills, expose: &|light| 70.0 + 90.0 * light, noise: 1.0 }.picture(frame), info)
}

#[test]
fn a_picture_that_spans_the_range_stays_in_stretch() {
    let info = info(Format::I420, Range::LIMITED);
    let picture: Vec<u8> = (0..WIDTH * HEIGHT).map(|i| (16 + (i % WIDTH) * 219 / (WIDTH - 1)) as u8).collect();
    let mut levels = Levels::new(&info);
    for frame in 0..5 {
        let time = Some(f64::from(frame) * 0.04);
        assert!(levels.decide(&measure(&picture, &info), &Settings::default(), time).curves.is_identity());
    }
}

#[test]
fn the_ends_go_where_the_settings_say_in_stretch_and_equalize() {
    let info = info(Format::I420, Range::LIMITED);
    for mode in [Mode::Stretch, Mode::Equalize] {
        let settings = Settings { mode, black: 0.1, white: 0.8, ..Settings::default() };
        let mut levels = Levels::new(&info);
        let decision = levels.decide(&hazy(0, &info), &settings, None);
        let Report { black, white, .. } = decision.report;
        let table = &decision.curves.tables[0];
        assert!((f64::from(table[black.round() as usize]) - (16.0 + 21.9)).abs() <= 1.5, "{mode:?} {black} {table:?}");
        assert!((f64::from(table[white.round() as usize]) - (16.0 + 175.2)).abs() <= 1.5, "{mode:?} {white} {table:?}");
        is_sane(decision, &info.range);
    }
}

#[test]
fn equalizing_spreads_the_levels_and_bounds_contrast() {
    let info = info(Format::I420, Range::LIMITED);
    let mut statistics = hazy(0, &info);
    statistics.luma[100] += 200_000;
    let mut stretch = Levels::new(&info);
    let gain = stretch.decide(&statistics, &Settings::default(), None).report.gain;
    let settings = Settings { mode: Mode::Equalize, ..Settings::default() };
    let mut levels = Levels::new(&info);
    let table = &levels.decide(&statistics, &settings, None).curves.tables[0];
    let steepest = table[16..=235].windows(4).map(|part| f64::from(part[3] - part[0]) / 3.0).fold(0.0, f64::max);
    assert!(steepest > 1.2 * gain && steepest <= 2.5 * gain + 0.4, "{steepest} with a gain of {gain}");
}

#[test]
fn off_measures_all_the_same_so_that_turning_on_starts_warm() {
    let info = info(Format::I420, Range::LIMITED);
    let off = Settings { mode: Mode::Off, ..Settings::default() };
    let (mut switched, mut always) = (Levels::new(&info), Levels::new(&info));
    for frame in 0..20 {
        let time = Some(frame as f64 * 0.04);
        let statistics = hazy(frame, &info);
        assert!(switched.decide(&statistics, &off, time).curves.is_identity());
        always.decide(&statistics, &Settings::default(), time);
    }
    let (statistics, time) = (hazy(20, &info), Some(0.8));
    let curves = switched.decide(&statistics, &Settings::default(), time).curves.clone();
    assert_eq!(curves, always.decide(&statistics, &Settings::default(), time).curves);
    assert!(!curves.is_identity());
}

#[test]
fn freezing_and_frames_without_votes_hold_the_curve() {
    let info = info(Format::I420, Range::LIMITED);
    let mut levels = Levels::new(&info);
    assert!(levels.hold().curves.is_identity());
    let held = levels.decide(&hazy(0, &info), &Settings::default(), Some(0.0)).curves.clone();
    let frozen = Settings { freeze: true, ..Settings::default() };
    assert_eq!(levels.decide(&flat(200, &info), &frozen, Some(0.04)).curves, held);
    let nothing = Statistics::empty(256, 576);
    assert_eq!(levels.decide(&nothing, &Settings::default(), Some(0.08)).curves, held);
    assert_eq!(levels.hold().curves, held);
    levels.reset();
    assert!(levels.hold().curves.is_identity());
}

#[test]
fn time_that_goes_back_or_jumps_starts_afresh() {
    let info = info(Format::I420, Range::LIMITED);
    let dark = measure(&Shot { light: &rings, expose: &|light| 30.0 + 60.0 * light, noise: 1.0 }.picture(0), &info);
    let fresh = Levels::new(&info).decide(&dark, &Settings::default(), None).curves.clone();
    for (time, starts) in [(10.04, false), (10.0, false), (4.0, true), (12.0, true), (f64::NAN, false)] {
        let mut levels = Levels::new(&info);
        let settings = Settings { cut: 0.0, ..Settings::default() };
        levels.decide(&hazy(0, &info), &settings, Some(10.0));
        let curves = levels.decide(&dark, &settings, Some(time)).curves.clone();
        assert!((curves == fresh) == starts, "at {time}");
    }
    // One frame in two seconds is slow, and no jump.
    let mut levels = Levels::new(&info);
    let settings = Settings { cut: 0.0, ..Settings::default() };
    for frame in 0..3 {
        levels.decide(&hazy(0, &info), &settings, Some(2.0 * f64::from(frame)));
    }
    assert!(levels.decide(&dark, &settings, Some(6.0)).curves != fresh);
}

#[test]
fn without_smoothing_each_frame_is_on_its_own() {
    let info = info(Format::I420, Range::LIMITED);
    let settings = Settings { smoothing: 0.0, mode: Mode::Equalize, ..Settings::default() };
    let mut levels = Levels::new(&info);
    levels.decide(&hazy(0, &info), &settings, Some(0.0));
    let dark = measure(&Shot { light: &hills, expose: &|light| 30.0 + 60.0 * light, noise: 1.0 }.picture(0), &info);
    let fresh = Levels::new(&info).decide(&dark, &settings, None).curves.clone();
    assert_eq!(levels.decide(&dark, &settings, Some(0.04)).curves, fresh);
}

#[test]
fn colour_gains_with_luma_or_stays() {
    let yuv = info(Format::I420, Range::LIMITED);
    let decision = Levels::new(&yuv).decide(&hazy(0, &yuv), &Settings::default(), None).clone();
    let expected = (128.0 + 20.0 * decision.report.gain).round() as u16;
    assert_eq!((decision.curves.tables[1][148], decision.curves.tables[2][148]), (expected, expected));
    let keep = Settings { chroma: Chroma::Keep, ..Settings::default() };
    let curves = &Levels::new(&yuv).decide(&hazy(0, &yuv), &keep, None).curves.clone();
    assert!(curves.tables[1..].iter().all(|table| table[148] == 148 && table[30] == 30));
    let grey = info(Format::Gray8, Range::LIMITED);
    let curves = &Levels::new(&grey).decide(&hazy(0, &grey), &Settings::default(), None).curves.clone();
    assert!(curves.tables[1..].iter().all(|table| table[148] == 148), "tables of lanes that do not exist");
}

#[test]
fn ten_bits_look_like_eight() {
    let (eight, ten) = (info(Format::I420, Range::LIMITED), info(Format::I420p10, Range::LIMITED));
    let (mut levels, mut deep_levels) = (Levels::new(&eight), Levels::new(&ten));
    for frame in 0..10 {
        let time = Some(frame as f64 * 0.04);
        let statistics = hazy(frame, &eight);
        let mut deep = Statistics::empty(1024, 0);
        statistics.luma.iter().enumerate().for_each(|(code, count)| deep.luma[4 * code] = *count);
        deep.chunks = statistics.chunks.iter().map(|c| Chunk { sum: 4 * c.sum, count: c.count }).collect();
        let curve = levels.decide(&statistics, &Settings::default(), time).curves.tables[0].clone();
        let deep_curve = &deep_levels.decide(&deep, &Settings::default(), time).curves.tables[0];
        assert!((0..256).all(|code| (f64::from(deep_curve[4 * code]) / 4.0 - f64::from(curve[code])).abs() <= 0.75));
    }
}

#[test]
fn midtone_brings_the_median_to_the_middle_in_every_mode() {
    let info = info(Format::I420, Range::LIMITED);
    let dusk = Shot { light: &|x, y| hills(x, y).powf(1.3), expose: &|light| 40.0 + 150.0 * light, noise: 1.0 };
    let statistics = measure(&dusk.picture(0), &info);
    let half = statistics.pixels() / 2;
    let mut below = 0;
    let median = statistics.luma.iter().position(|count| {
        below += u64::from(*count);
        below >= half
    });
    let median = median.expect("half of the pixels lie below some code");
    let output = |midtone: f64, mode: Mode| {
        let settings = Settings { midtone, mode, ..Settings::default() };
        let curves = Levels::new(&info).decide(&statistics, &settings, None).curves.clone();
        (f64::from(curves.tables[0][median]), curves)
    };
    let [none, half, whole] = [0.0, 0.5, 1.0].map(|midtone| output(midtone, Mode::Stretch));
    assert!(none.0 < 105.0, "{}", none.0);
    assert!((whole.0 - 125.5).abs() <= 3.0, "{}", whole.0);
    assert!(half.0 > none.0 + 5.0 && half.0 < whole.0 - 5.0, "{} {} {}", none.0, half.0, whole.0);
    assert_eq!((none.1.tables[0][16], none.1.tables[0][235]), (whole.1.tables[0][16], whole.1.tables[0][235]));
    assert!((output(1.0, Mode::Equalize).0 - 125.5).abs() <= 4.0);
}

#[test]
fn a_picture_looks_the_same_in_limited_and_full_range_and_in_rgb() {
    let level = |format: Format, range: Range| {
        let info = info(format, range);
        let span = f64::from(range.white - range.black);
        let code = |light: f64| f64::from(range.black) + span * (0.25 + 0.4 * light);
        let shot = Shot { light: &hills, expose: &code, noise: 1.0 };
        let curves =
            Levels::new(&info).decide(&measure(&shot.picture(0), &info), &Settings::default(), None).curves.clone();
        // Where lights come to lie, as shares of the nominal range.
        let place = |light: f64| {
            let at = code(light);
            let (low, high) = (f64::from(curves.tables[0][at as usize]), f64::from(curves.tables[0][at as usize + 1]));
            (low + at.fract() * (high - low) - f64::from(range.black)) / span
        };
        ([0.1, 0.3, 0.5, 0.7, 0.9].map(place), curves)
    };
    let (limited, _) = level(Format::I420, Range::LIMITED);
    for (format, range) in [(Format::I420, Range::FULL), (Format::Rgbx, Range::FULL)] {
        let (places, curves) = level(format, range);
        for (place, wanted) in places.iter().zip(limited) {
            assert!((place - wanted).abs() < 2.0 / 255.0, "{format:?}: {place} instead of {wanted}");
        }
        if format.is_rgb() {
            assert!(curves.tables.iter().all(|table| *table == curves.tables[0]), "warm pictures stay warm");
        }
    }
}

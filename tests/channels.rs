//! Levels of R, G and B of their own: counted and applied right, and what they do to pictures with a cast.

mod common;

use autolevels::backend::Backend;
use autolevels::frame::{Format, FrameInfo, Lane, LumaWeights, Range};
use autolevels::grid::Grid;
use autolevels::leveler::{Leveler, Timing};
use autolevels::levels::curves::{Curves, Of};
use autolevels::levels::statistics::Statistics;
use autolevels::settings::{BackendChoice, Mode, Settings};
use common::colours::*;
use common::frames::{Content, TestFrame};

/// Sums of colours lie at the lumas that were counted, each within the codes, and are those of the picture.
fn check_colours(statistics: &Statistics, sums: &[u64; 3], info: &FrameInfo) {
    let [luma, ..] = &statistics.channels;
    for (colours, sum) in statistics.colours.iter().zip(sums) {
        assert_eq!(colours.len(), luma.len(), "{info}");
        let most = info.range.bins() as u32 - 1;
        assert!(colours.iter().zip(luma).all(|(sum, count)| *sum <= count * most), "{info}");
        let got: u64 = colours.iter().map(|sum| u64::from(*sum)).sum();
        let sites: u64 = luma.iter().map(|count| u64::from(*count)).sum();
        assert!(got.abs_diff(*sum) * 50 <= sites + 50, "{info}: {got} in all, not {sum}");
    }
    if info.format.is_rgb() {
        // The weighted mean of the sums is luma, but for rounding.
        for (bin, count) in luma.iter().enumerate() {
            let weighted: u64 =
                (0..3).map(|i| u64::from(info.weights.0[i]) * u64::from(statistics.colours[i][bin])).sum();
            let mean = weighted as f64 / 65536.0 / f64::from((*count).max(1));
            assert!(*count == 0 || (mean - bin as f64).abs() <= 1.0, "{info}: {mean} at {bin}");
        }
    }
}

#[test]
fn sites_are_counted() {
    for (number, format) in Format::ALL.iter().enumerate() {
        for size in [(1, 1), (5, 3), (64, 34), (321, 33)] {
            let info = info(*format, size, number);
            let mut frame = TestFrame::new(&info, Content::Natural, number as u64, 3);
            let (across, down) = site(*format).unwrap_or((1, 1));
            let alpha = format.name().contains('A');
            let (bins, shift) = (info.range.bins(), info.range.bin_shift());
            let mut wanted = [(); 4].map(|_| vec![0u32; bins]);
            // Sums of R, G and B of all pixels.
            let mut sums = [0u64; 3];
            for y in (0..info.height).step_by(down) {
                for x in (0..info.width).step_by(across) {
                    if is_grey(*format) || alpha && sample(&info, &frame, Lane::Alpha, (x, y), false) == 0.0 {
                        continue;
                    }
                    let (luma, rgb) = if format.is_rgb() {
                        let rgb = pixel(&info, &frame, (x, y), false);
                        (to_yuv(&info, rgb)[0], rgb)
                    } else {
                        let luma = f64::from(mean(&info, &frame, (x, y)));
                        let [cb, cr] = [Lane::Cb, Lane::Cr].map(|lane| sample(&info, &frame, lane, (x, y), false));
                        (luma, to_rgb(&info, [luma, cb, cr]))
                    };
                    let bin = |code: f64| code.round().clamp(0.0, info.range.max.into()) as usize >> shift;
                    for (table, code) in wanted.iter_mut().zip([luma, rgb[0], rgb[1], rgb[2]]) {
                        table[bin(code)] += 1;
                    }
                    sums.iter_mut().zip(rgb).for_each(|(sum, code)| *sum += bin(code) as u64);
                }
            }
            for mut cpu in backends(&info) {
                let mut statistics = Statistics::empty(bins, Grid::new(&info).chunks());
                cpu.count_channels(true);
                cpu.measure(0, &mut frame).unwrap();
                cpu.statistics(0, &mut statistics).unwrap();
                for (channel, (got, wanted)) in statistics.channels.iter().zip(&wanted).enumerate() {
                    if is_grey(*format) {
                        assert!(got.is_empty(), "grey has no channels");
                        continue;
                    }
                    assert_eq!(got.iter().sum::<u32>(), wanted.iter().sum::<u32>(), "{info}, channel {channel}");
                    let (mut moved, mut carry) = (0, 0i64);
                    for (got, wanted) in got.iter().zip(wanted) {
                        carry += i64::from(*got) - i64::from(*wanted);
                        moved += carry.unsigned_abs();
                    }
                    // Sites times bins by which they are off: the matrix of doubles rounds otherwise.
                    let sites = wanted.iter().sum::<u32>();
                    assert!(moved * 50 <= u64::from(sites) + 50, "{info}, channel {channel}: {moved} of {sites}");
                }
                check_colours(&statistics, &sums, &info);
                cpu.count_channels(false);
                cpu.measure(0, &mut frame).unwrap();
                cpu.statistics(0, &mut statistics).unwrap();
                assert!(statistics.channels.iter().all(Vec::is_empty));
            }
        }
    }
}

#[test]
fn of_very_large_frames_every_second_row_is_counted() {
    let info = info(Format::Rgba64, (4101, 1101), 0);
    let mut frame = TestFrame::new(&info, Content::Flat, 0, 0);
    for mut cpu in backends(&info) {
        let mut statistics = Statistics::default();
        cpu.count_channels(true);
        cpu.measure(0, &mut frame).unwrap();
        cpu.statistics(0, &mut statistics).unwrap();
        for table in &statistics.channels {
            assert_eq!(table.iter().sum::<u32>(), 4101 * 551);
        }
    }
}

/// A line within the nominal range, of slope one beyond it.
fn line(range: Range, gain: f64, offset: f64) -> impl Fn(f64) -> f64 {
    let (black, white) = (f64::from(range.black), f64::from(range.white));
    move |x: f64| {
        let end = x.clamp(black, white);
        (gain * end + offset).clamp(black, white) + x - end
    }
}

#[test]
fn luma_and_chroma_are_what_doubles_say() {
    for (number, format) in Format::ALL.iter().enumerate() {
        let Some((across, down)) = site(*format) else { continue };
        for size in [(1, 1), (5, 3), (64, 34), (321, 33)] {
            let info = info(*format, size, number);
            let lines = [(1.4, -20.0), (1.0, 3.0), (0.8, 30.0)];
            let lines = lines.map(|(gain, offset)| line(info.range, gain, offset * unit(&info)));
            let (most, shift) = (f64::from(info.range.max), info.range.bin_shift());
            let table = |line: &dyn Fn(f64) -> f64| {
                let out = |entry: usize| line((entry << shift) as f64).round().clamp(0.0, most) as u16;
                (0..info.range.bins()).map(out).collect()
            };
            let tables = lines.each_ref().map(|line| table(line));
            let curves = Curves { of: Of::Channels, shift, ..Curves::new(tables) };
            // Between entries a curve goes straight on, past the kinks of its line too.
            let between = if shift > 0 { 1.0 } else { 0.0 };
            let before = TestFrame::new(&info, Content::Natural, 5, 3);
            for mut cpu in backends(&info) {
                for mut frame in [before.clone(), before.clone().copied(9)] {
                    cpu.apply(0, &mut frame, &curves).unwrap();
                    frame.check_guards();
                    for y in 0..info.height {
                        for x in 0..info.width {
                            let own = [Lane::Luma, Lane::Cb, Lane::Cr]
                                .map(|lane| sample(&info, &before, lane, (x, y), false));
                            let levelled = |luma: f64| {
                                let rgb = to_rgb(&info, [luma, own[1], own[2]]);
                                let rgb: [f64; 3] = std::array::from_fn(|i| lines[i](rgb[i]));
                                to_yuv(&info, rgb)
                            };
                            let check = |lane: Lane, wanted: f64, most: f64| {
                                let got = sample(&info, &frame, lane, (x, y), true);
                                let off = (got - wanted.clamp(0.0, info.range.max.into())).abs();
                                assert!(off <= most + between, "{info}: {lane:?} at {x}, {y} is {got}, not {wanted}");
                            };
                            check(Lane::Luma, levelled(own[0])[0], 1.5);
                            if x % across == 0 && y % down == 0 {
                                let chroma = levelled(mean(&info, &before, (x, y)).into());
                                check(Lane::Cb, chroma[1], 1.7);
                                check(Lane::Cr, chroma[2], 1.7);
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn identity_curves_of_channels_change_nothing() {
    for (number, format) in Format::ALL.iter().enumerate() {
        let info = info(*format, (321, 33), number);
        let curves = Curves { of: Of::Channels, ..Curves::identity(info.range.codes()) };
        let before = TestFrame::new(&info, Content::Noise, 5, 3);
        for mut cpu in backends(&info) {
            let mut frame = before.clone();
            cpu.apply(0, &mut frame, &curves).unwrap();
            assert!(frame == before, "{info}");
        }
    }
}

/// Codes are noise that the matrix takes far beyond their ends; the bits around them are noise too.
#[test]
fn bits_that_hold_no_code_stay_and_sums_saturate() {
    for format in Format::ALL.iter().filter(|format| site(**format).is_some() && format.packing().bytes() > 1) {
        let info = info(*format, (321, 33), 1);
        let before = TestFrame::new(&info, Content::Noise, 5, 3);
        let most = info.range.max;
        // All magenta and all green: chroma goes to both of its ends.
        let curves = [[most, 0, most], [0, most, 0]].map(|codes| Curves {
            of: Of::Channels,
            shift: info.range.bin_shift(),
            ..Curves::new(codes.map(|code| vec![code; info.range.bins()]))
        });
        let packing = info.format.packing();
        for mut cpu in backends(&info) {
            let (mut changed, mut ends) = (0, [false; 2]);
            for curves in &curves {
                let mut frame = before.clone().copied(2);
                cpu.apply(0, &mut frame, curves).unwrap();
                for (now, before) in frame.output_planes().iter().zip(before.input_planes()) {
                    let samples = |row: &[u8]| -> Vec<u16> {
                        row.chunks(2).map(|sample| u16::from_le_bytes([sample[0], sample[1]])).collect()
                    };
                    for (now, before) in now.rows().zip(before.rows()) {
                        for (now, before) in samples(now).into_iter().zip(samples(before)) {
                            assert_eq!(now & !packing.mask(), before & !packing.mask(), "{info}");
                            changed += usize::from(now != before);
                            ends[0] |= packing.code(now) == 0;
                            ends[1] |= packing.code(now) == most;
                        }
                    }
                }
            }
            assert!(changed > 5000 && ends == [true; 2], "{info}: {changed} samples, {ends:?}");
        }
    }
}

/// How far the ends are from 0 and 1, at most.
fn off(ends: [(f64, f64); 3]) -> f64 {
    ends.iter().map(|(low, high)| low.abs().max((1.0 - high).abs())).fold(0.0, f64::max)
}

fn independent(independence: f64) -> Settings {
    Settings { independence, ..Settings::default() }
}

const FORMATS: [Format; 9] = [
    Format::I420,
    Format::Yuy2,
    Format::Y444,
    Format::Rgb,
    Format::Bgrx,
    Format::P010,
    Format::I422p10,
    Format::Y444p12,
    Format::Argb64,
];

#[test]
fn a_cast_goes_as_far_as_the_channels_are_independent() {
    for format in FORMATS {
        let mut before = f64::MAX;
        for independence in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let mut show = Show::new(format, &independent(independence));
            let frame = show.frame(tinted(WARM, 1.0, 0));
            let off = off(show.ends(&frame));
            assert!(off < before - 0.03, "{format:?} at {independence}: {off} after {before}");
            before = off;
        }
        assert!(before < 0.03, "{format:?}: {before}");
    }
}

#[test]
fn the_picture_comes_back_as_it_was_before_it_was_tinted() {
    for format in FORMATS {
        let mut show = Show::new(format, &independent(1.0));
        let frame = show.frame(tinted(WARM, 1.0, 0));
        let (span, _, _) = scale(&show.info);
        let mut sum = 0.0;
        for i in 0..WIDTH * HEIGHT {
            let (x, y) = (i % WIDTH, i / WIDTH);
            let got = pixel(&show.info, &frame, (x, y), true);
            let wanted = scene(x, y, 0).map(|value| f64::from(show.info.range.black) + span * value);
            sum += got.iter().zip(wanted).map(|(got, wanted)| (got - wanted).abs()).sum::<f64>() / 3.0;
        }
        let off = sum / (WIDTH * HEIGHT) as f64 / unit(&show.info);
        assert!(off < 4.0, "{format:?}: {off} codes off");
    }
}

#[test]
fn hues_stay_where_all_channels_share_one_curve() {
    for format in [Format::I420, Format::Yuy2, Format::Y444] {
        let mut show = Show::new(format, &independent(0.0));
        let before = shoot(&show.info, tinted(WARM, 1.0, 0));
        let after = show.frame(tinted(WARM, 1.0, 0));
        let mut seen = 0;
        for i in 0..WIDTH * HEIGHT {
            let at = (i % WIDTH, i / WIDTH);
            let hue = |frame, output| hue(&show.info, pixel(&show.info, frame, at, output));
            let (Some(own), Some(got)) = (hue(&before, false), hue(&after, true)) else { continue };
            seen += 1;
            assert!((own - got).abs() < 0.06, "{format:?} at {at:?}: {own} became {got}");
        }
        assert!(seen > 1000, "{format:?}: only {seen} colours");
    }
}

#[test]
fn a_cast_under_a_wandering_exposure_does_not_flicker() {
    for format in [Format::I420, Format::Rgb] {
        for independence in [0.5, 1.0] {
            let mut show = Show::new(format, &independent(independence));
            let mut before: Option<[f64; 3]> = None;
            let mut flicker = 0.0;
            for frame in 0..75 {
                let tremble = 0.02 * ((frame * 7919 % 13) as f64 / 6.0 - 1.0);
                let exposure = 0.85 + 0.12 * (frame as f64 * 0.25).sin() + tremble;
                let frame = show.frame(tinted(WARM, exposure, 0));
                let means = show.means(&frame);
                if let Some(before) = before {
                    let step = means.iter().zip(before).map(|(now, before)| (now - before).abs());
                    let step = step.fold(0.0, f64::max);
                    assert!(step < 1.5, "{format:?}, {independence}: a step of {step}");
                    flicker += step / 74.0;
                }
                before = Some(means);
            }
            assert!(flicker < 0.5, "{format:?}, {independence}: {flicker}");
        }
    }
}

#[test]
fn a_scene_with_another_cast_is_served_from_its_first_frame() {
    for format in [Format::I420, Format::Rgb] {
        let mut show = Show::new(format, &independent(1.0));
        for _ in 0..10 {
            show.frame(tinted(WARM, 1.0, 0));
        }
        let first = show.frame(tinted(COLD, 1.0, 1));
        // Luma keeps a white point that still serves, so white may be a light grey, but it is grey.
        let ends = show.ends(&first);
        let spread = |end: fn(&(f64, f64)) -> f64| {
            let ends = ends.iter().map(end);
            ends.clone().fold(f64::MIN, f64::max) - ends.fold(f64::MAX, f64::min)
        };
        let (black, white) = (spread(|ends| ends.0), spread(|ends| ends.1));
        assert!(black < 0.04 && white < 0.04, "{format:?}: {ends:?}");
    }
}

#[test]
fn a_red_car_does_not_turn_the_picture() {
    for format in [Format::I420, Format::Rgb] {
        for (width, height) in [(30, 24), (70, 50)] {
            let mut show = Show::new(format, &independent(1.0));
            let mut before: Option<[f64; 3]> = None;
            for frame in 0..50 {
                let there = (15..35).contains(&frame);
                let frame = show.frame(|x, y| {
                    let grey = 0.25 + 0.4 * scene(x, y, 0)[1];
                    if there && (60..60 + width).contains(&x) && (30..30 + height).contains(&y) {
                        [0.85, 0.08, 0.1]
                    } else {
                        [grey; 3]
                    }
                });
                // Of many pixels, so that roundings of luma and chroma even out.
                let watched = (0..WIDTH).map(|x| pixel(&show.info, &frame, (x, 85), true));
                let watched = watched.fold([0.0; 3], |sum, rgb| std::array::from_fn(|i| sum[i] + rgb[i]));
                let watched = watched.map(|sum| sum / WIDTH as f64);
                if let Some(before) = before {
                    let step = watched.iter().zip(before).map(|(now, before)| (now - before).abs());
                    let step = step.fold(0.0, f64::max);
                    assert!(step < 2.0, "{format:?}, {width}×{height}: a step of {step}");
                }
                before = Some(watched);
            }
        }
    }
}

#[test]
fn grey_pictures_and_grey_formats_are_levelled_as_ever() {
    for format in [Format::I420, Format::Uyvy, Format::Rgb, Format::P010, Format::Rgba64, Format::Gray8, Format::Gray16]
    {
        let picture = |x: usize, y: usize| [0.25 + 0.4 * scene(x, y, 0)[1]; 3];
        if is_grey(format) {
            let info = FrameInfo::new(format, WIDTH, HEIGHT, Range::FULL, LumaWeights::BT709);
            let outputs = [0.0, 1.0].map(|independence| {
                let settings = Settings { backend: BackendChoice::Cpu, ..independent(independence) };
                let mut leveler = Leveler::new(&info, &settings, true).unwrap();
                leveler.submit(TestFrame::new(&info, Content::Natural, 3, 0), Timing { time: None, votes: true });
                leveler.receive().unwrap().memory
            });
            assert!(outputs[0] == outputs[1]);
            continue;
        }
        let outputs = [0.0, 1.0].map(|independence| Show::new(format, &independent(independence)).frame(picture));
        assert!(outputs[0] == outputs[1], "{format:?}");
        // And a flat colour stays what it is.
        let mut show = Show::new(format, &independent(1.0));
        let flat = |_: usize, _: usize| [0.6, 0.2, 0.3];
        let before = shoot(&show.info, flat);
        assert!(show.frame(flat) == before, "{format:?}");
    }
}

#[test]
fn a_picture_without_blue_gets_none() {
    for format in [Format::Y444, Format::Rgb] {
        let mut show = Show::new(format, &independent(1.0));
        let frame = show.frame(|x, y| {
            let [r, g, _] = scene(x, y, 0);
            [0.2 + 0.5 * r, 0.2 + 0.4 * g, 0.02]
        });
        let (low, high) = show.ends(&frame)[2];
        assert!(low > -0.03 && high < 0.08, "{format:?}: {low} to {high}");
    }
}

#[test]
fn equalize_and_midtone_come_on_top_of_each_channels_line() {
    for settings in
        [Settings { mode: Mode::Equalize, ..independent(1.0) }, Settings { midtone: 1.0, ..independent(1.0) }]
    {
        for format in FORMATS {
            let mut show = Show::new(format, &settings);
            let frame = show.frame(tinted(WARM, 1.0, 0));
            let off = off(show.ends(&frame));
            assert!(off < 0.05, "{format:?}: {off}");
        }
    }
}

#[test]
fn no_colour_leaves_rgb_where_channels_have_curves_of_their_own() {
    for mode in [Mode::Stretch, Mode::Equalize] {
        for midtone in [0.0, 1.0] {
            let shared = outside(Format::Y444, &Settings { mode, midtone, ..independent(0.0) }, pure_colours);
            assert!(shared < 0.35, "{mode:?}, midtone {midtone}: {shared} with one curve");
            for independence in [0.01, 1.0] {
                let own = outside(Format::Y444, &Settings { mode, midtone, ..independent(independence) }, pure_colours);
                assert!(own < 0.005, "{mode:?}, midtone {midtone}, independence {independence}: {own}");
            }
        }
    }
}

#[test]
fn a_little_independence_changes_little_in_a_stretch() {
    for format in [Format::Y444, Format::Rgb] {
        // What is beyond black and white is shown as these.
        let shown = [0.0, 0.02].map(|independence| {
            let mut show = Show::new(format, &independent(independence));
            let frame = show.frame(pure_colours);
            let (black, white) = (f64::from(show.info.range.black), f64::from(show.info.range.white));
            let at = |i: usize| pixel(&show.info, &frame, (i % WIDTH, i / WIDTH), true);
            (0..WIDTH * HEIGHT).flat_map(|i| at(i).map(|value| value.clamp(black, white))).collect::<Vec<f64>>()
        });
        let off: Vec<f64> = shown[0].iter().zip(&shown[1]).map(|(none, little)| (none - little).abs()).collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        let jumped = off.iter().filter(|off| **off > 3.0).count() as f64 / off.len() as f64;
        assert!(mean < 0.7 && jumped < 0.005, "{format:?}: {mean} codes, {jumped} of the picture jump");
    }
}

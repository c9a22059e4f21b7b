//! Curves that bend: colours keep their hue and saturation in every format, and what leaves no room for them holds them
//! back.

mod common;

use autolevels::backend::Backend;
use autolevels::cpu::{Cpu, Path};
use autolevels::frame::{Format, FrameInfo, Lane};
use autolevels::levels::curves::{Curves, Of};
use autolevels::settings::{Mode, Settings};
use common::colours::*;
use common::frames::{Content, TestFrame};

/// A curve that bends, the line within it, and gains that go with both, as functions of the share of the codes.
fn bent(share: f64) -> f64 {
    share.powf(0.6)
}

fn line(share: f64) -> f64 {
    (1.1 * share).min(1.0)
}

fn gain(share: f64) -> f64 {
    PLAIN_GAIN * (bent(share) + 0.03) / (line(share) + 0.03)
}

const PLAIN_GAIN: f64 = 1.125;

fn curves(info: &FrameInfo) -> Curves {
    let (shift, most) = (info.range.bin_shift(), f64::from(info.range.max));
    let share = |entry: usize| (entry << shift) as f64 / most;
    let all = |of: &dyn Fn(f64) -> f64| (0..info.range.bins()).map(|entry| of(share(entry)).round() as u16).collect();
    let tables = [all(&|share| bent(share) * most), all(&|share| line(share) * most), vec![7; info.range.bins()]];
    let gains = all(&|share| 256.0 * gain(share));
    Curves { of: Of::Tone, shift, gains, plain_gain: (256.0 * PLAIN_GAIN) as u16, ..Curves::new(tables) }
}

/// What becomes of luma and of what a colour has more than that.
struct Toned {
    luma: f64,
    gain: f64,
    /// By how much they may be off if `above` and what it is added to are rounded, and the share of the way is in 1/1024.
    luma_off: f64,
    gain_off: f64,
}

/// What doubles make of a colour whose highest channel has so much more than luma: the bent curve, but as much of the line
/// as it takes that the highest channel stays within white, or where the line puts it.
fn toned(info: &FrameInfo, curves: &Curves, luma: f64, above: f64) -> Toned {
    let between = |at: &dyn Fn(u16) -> f64| {
        let (code, next) = (luma as u16, (luma as u16).saturating_add(1).min(info.range.max));
        at(code) + luma.fract() * (at(next) - at(code))
    };
    let (bent, line) = (between(&|code| curves.out(0, code).into()), between(&|code| curves.out(1, code).into()));
    let gain = between(&|code| f64::from(curves.gains[usize::from(code) >> curves.shift]) / 256.0);
    let share = |above: f64| {
        let (highest, plain) = (bent + gain * above, line + PLAIN_GAIN * above);
        let over = highest - plain.max(info.range.white.into());
        if over > 0.0 { over / (highest - plain) } else { 0.0 }
    };
    let mix = |share: f64| [bent - share * (bent - line), gain - share * (gain - PLAIN_GAIN)];
    let [luma, held] = mix(share(above));
    let others = [above - 1.6, above + 1.6].map(|above| mix(share(above.max(0.0))));
    let off = |i: usize, at: f64| others.iter().map(|mix| (mix[i] - at).abs()).fold(0.0, f64::max);
    Toned {
        luma,
        gain: held,
        luma_off: off(0, luma) + (bent - line).abs() / 1024.0,
        gain_off: off(1, held) + (1.0 + (gain - PLAIN_GAIN).abs()) / 256.0,
    }
}

/// A level in quarters of a code of R, G and B of 8 bits, else in whole ones.
fn in_parts(info: &FrameInfo, level: f64) -> f64 {
    if info.format.is_rgb() && info.range.max == 255 { (4.0 * level).round() / 4.0 } else { level.round() }
}

fn highest(more: [f64; 3]) -> f64 {
    more.into_iter().fold(0.0, f64::max)
}

#[test]
fn luma_and_colours_are_what_doubles_say() {
    for (number, format) in Format::ALL.iter().enumerate().filter(|(_, format)| !is_grey(**format)) {
        let (across, down) = site(*format).unwrap_or((1, 1));
        let sizes = [(1, 1), (5, 3), (64, 34), (321, 33), (150, 49)];
        let contents = [Content::Noise, Content::Ramp, Content::TwoLevels, Content::Natural, Content::Noise];
        for (size, content) in sizes.into_iter().zip(contents) {
            let info = info(*format, size, number);
            let (curves, most) = (curves(&info), f64::from(info.range.max));
            let before = TestFrame::new(&info, content, 5, 3);
            for mut cpu in backends(&info) {
                for mut frame in [before.clone(), before.clone().copied(9)] {
                    cpu.apply(0, &mut frame, &curves).unwrap();
                    frame.check_guards();
                    for at in (0..info.width * info.height).map(|i| (i % info.width, i / info.width)) {
                        let check = |lane: Lane, wanted: f64, off: f64| {
                            let got = sample(&info, &frame, lane, at, true);
                            let wanted = wanted.clamp(0.0, most);
                            assert!(
                                (got - wanted).abs() <= off,
                                "{info}: {lane:?} at {at:?} is {got}, not {wanted} (within {off})"
                            );
                        };
                        let own = |lane: Lane| sample(&info, &before, lane, at, false);
                        if format.is_rgb() {
                            let rgb = pixel(&info, &before, at, false);
                            let luma = in_parts(&info, to_yuv(&info, rgb)[0]);
                            let more = rgb.map(|code| code - luma);
                            let tone = toned(&info, &curves, luma, highest(more));
                            for (lane, more) in [Lane::Red, Lane::Green, Lane::Blue].into_iter().zip(more) {
                                let off = 1.0 + tone.luma_off + tone.gain_off * more.abs();
                                let (least, most) = (curves.out(0, 0).into(), curves.out(0, info.range.max).into());
                                check(lane, (tone.luma + tone.gain * more).clamp(least, most), off);
                            }
                            if format.name().contains('A') {
                                check(Lane::Alpha, own(Lane::Alpha), 0.0);
                            }
                            continue;
                        }
                        let (neutral, [cb, cr]) = (f64::from(info.range.neutral), [own(Lane::Cb), own(Lane::Cr)]);
                        let above = |luma: f64| in_parts(&info, highest(to_rgb(&info, [luma, cb, cr])) - luma).max(0.0);
                        let luma = own(Lane::Luma);
                        let tone = toned(&info, &curves, luma, above(luma));
                        check(Lane::Luma, tone.luma, 0.5 + tone.luma_off);
                        if at.0 % across == 0 && at.1 % down == 0 {
                            let luma = f64::from(mean(&info, &before, at));
                            let tone = toned(&info, &curves, luma, above(luma));
                            for (lane, code) in [(Lane::Cb, cb), (Lane::Cr, cr)] {
                                let off = 0.6 + tone.gain_off * (code - neutral).abs();
                                let black = f64::from(info.range.black);
                                let most = (2.0 * neutral - black).min(most);
                                let wanted = neutral + tone.gain * (code - neutral);
                                check(lane, wanted.clamp(black.min(code), most.max(code)), off);
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn identity_curves_change_nothing() {
    for (number, format) in Format::ALL.iter().enumerate() {
        let info = info(*format, (321, 33), number);
        let gains = vec![256; info.range.bins()];
        let curves = Curves { of: Of::Tone, gains, ..Curves::identity(info.range.codes()) };
        assert!(curves.is_identity());
        let before = TestFrame::new(&info, Content::Noise, 5, 3);
        for path in Path::ALL.iter().filter(|path| path.is_available()) {
            let mut frame = before.clone();
            Cpu::with(&info, 1, *path, 1).apply(0, &mut frame, &curves).unwrap();
            assert!(frame == before, "{info}");
        }
    }
}

#[test]
fn curves_of_channels_do_before_a_tone_what_they_do_alone() {
    for (number, format) in Format::ALL.iter().enumerate().filter(|(_, format)| !is_grey(**format)) {
        let info = info(*format, (321, 33), number);
        let (shift, most) = (info.range.bin_shift(), f64::from(info.range.max));
        let table = |gain: f64, offset: f64| {
            let out = |entry: usize| (gain * (entry << shift) as f64 + offset * most).round().clamp(0.0, most) as u16;
            (0..info.range.bins()).map(out).collect::<Vec<u16>>()
        };
        let channels = [table(1.3, -0.1), table(0.9, 0.05), table(1.0, 0.02)];
        let of = if format.is_rgb() { Of::Samples } else { Of::Channels };
        let alone = Curves { of, shift, ..Curves::new(channels.clone()) };
        let gains = vec![256; info.range.bins()];
        let before = Curves { of: Of::Tone, gains, channels, ..Curves::identity(info.range.codes()) };
        assert!(!before.is_identity() && before.has_channels());
        let frame = TestFrame::new(&info, Content::Natural, 5, 3).copied(9);
        for mut cpu in backends(&info) {
            let [mut wanted, mut got] = [frame.clone(), frame.clone()];
            cpu.apply(0, &mut wanted, &alone).unwrap();
            cpu.apply(0, &mut got, &before).unwrap();
            assert!(got == wanted && got != frame, "{info}");
        }
    }
}

fn equalize() -> Settings {
    Settings { mode: Mode::Equalize, ..Settings::default() }
}

fn midtone() -> Settings {
    Settings { midtone: 1.0, ..Settings::default() }
}

/// A hazy picture of every hue, in value and saturation as `shade` says.
fn hazy(shade: impl Fn(usize, usize) -> (f64, f64)) -> impl Fn(usize, usize) -> [f64; 3] {
    move |x, y| {
        let hue = 6.0 * x as f64 / WIDTH as f64;
        let (value, saturation) = shade(x, y);
        let pure = |shift: f64| (2.0 - ((hue - shift + 3.0).rem_euclid(6.0) - 3.0).abs()).clamp(0.0, 1.0);
        [0.0, 2.0, 4.0].map(|shift| 0.27 + 0.45 * value * (1.0 - saturation + saturation * pure(shift)))
    }
}

/// Some number from 0 to 1 for each place.
fn chance(x: usize, y: usize) -> f64 {
    let mut bits = (x as u64) << 32 ^ y as u64 ^ 0x9E37_79B9;
    for _ in 0..3 {
        bits = (bits ^ (bits >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    (bits >> 40) as f64 / f64::from(1 << 24)
}

fn mixed(x: usize, y: usize) -> (f64, f64) {
    ((y as f64 + 0.5) / HEIGHT as f64, chance(x / 8, y / 8).powi(2))
}

/// Balls of pure colours before something dark.
fn balls(x: usize, y: usize) -> (f64, f64) {
    match (x % 40).abs_diff(20).pow(2) + (y % 60).abs_diff(30).pow(2) {
        far @ ..300 => (1.0 - 0.8 * far as f64 / 300.0, 1.0),
        _ if y % 60 < 6 => (x as f64 / WIDTH as f64, 0.0),
        _ => (0.05 + 0.2 * chance(x / 3, y / 3), 0.1),
    }
}

#[test]
fn few_colours_leave_rgb() {
    for (name, settings) in [("stretch", Settings::default()), ("equalize", equalize()), ("midtone", midtone())] {
        let left = [outside(Format::Y444, &settings, hazy(mixed)), outside(Format::Y444, &settings, hazy(balls))];
        assert!(left[0] <= 0.01 && left[1] <= 0.01, "{name}: {left:?}");
    }
}

/// Hues, in turns, and saturations of a picture after it was levelled, at each pixel.
fn seen(format: Format, settings: &Settings, picture: impl Fn(usize, usize) -> [f64; 3]) -> Vec<(f64, f64)> {
    let mut show = Show::new(format, settings);
    let frame = show.frame(picture);
    let (span, _, _) = scale(&show.info);
    let black = f64::from(show.info.range.black);
    let at = |i: usize| {
        let rgb = pixel(&show.info, &frame, (i % WIDTH, i / WIDTH), true).map(|code| ((code - black) / span).max(0.0));
        let (low, high) = (rgb.into_iter().fold(1.0, f64::min), rgb.into_iter().fold(0.0, f64::max));
        let [_, cb, cr] = to_yuv(&show.info, rgb.map(|value| 255.0 * value));
        let neutral = f64::from(show.info.range.neutral);
        ((cr - neutral).atan2(cb - neutral) / std::f64::consts::TAU, (high - low) / high.max(0.01))
    };
    (0..WIDTH * HEIGHT).map(at).collect()
}

/// Soft colours of every hue at all levels, as faces and leaves have.
fn soft(x: usize, y: usize) -> (f64, f64) {
    (0.2 + 0.8 * chance(x / 8, y / 8).powi(4), 0.35)
}

#[test]
fn soft_colours_keep_hue_and_saturation_in_every_format() {
    let formats = [Format::Y444, Format::Rgb, Format::Bgrx, Format::Y444p10, Format::Argb64];
    for (format, independence) in formats.into_iter().flat_map(|format| [(format, 0.0), (format, 1.0)]) {
        let stretched = seen(format, &Settings { independence, ..Settings::default() }, hazy(soft));
        for (name, settings) in [("equalize", equalize()), ("midtone", midtone())] {
            let bent = seen(format, &Settings { independence, ..settings }, hazy(soft));
            let (mut hues, mut saturations, mut all) = (0.0, 0.0, 0.0);
            for ((hue, saturation), (got_hue, got_saturation)) in stretched.iter().zip(&bent) {
                let off = (hue - got_hue + 0.5).rem_euclid(1.0) - 0.5;
                hues += off.abs() / bent.len() as f64;
                saturations += (saturation - got_saturation).abs();
                all += saturation;
            }
            // A fiftieth of a turn is seven degrees.
            assert!(hues < 0.02, "{format:?}, {name}: hues are off by {hues} turns");
            let off = saturations / all;
            assert!(off < 0.12, "{format:?}, {name}: saturations are off by a share of {off}");
        }
    }
}

#[test]
fn a_dithered_grey_stays_grey() {
    let grey = |x: usize, y: usize| [0.3 + 0.4 * (x + y) as f64 / (WIDTH + HEIGHT) as f64; 3];
    let mut show = Show::new(Format::Rgb, &Settings { dither: true, ..equalize() });
    let frame = show.frame(grey);
    let mut seen = [false; 256];
    for i in 0..WIDTH * HEIGHT {
        let [r, g, b] = pixel(&show.info, &frame, (i % WIDTH, i / WIDTH), true);
        assert!(r == g && g == b, "{r}, {g}, {b}");
        seen[r as usize] = true;
    }
    let unused = seen.iter().filter(|seen| !**seen).count();
    assert!(unused < 16, "{unused} codes of 256 are gaps");
}

/// With `black` and `white` set, no channel gets beyond what a stretch lets it.
#[test]
fn headroom_is_kept() {
    let settings = Settings { black: 0.1, white: 0.9, ..Settings::default() };
    for format in [Format::Rgb, Format::Rgba64] {
        for settings in [
            settings.clone(),
            Settings { midtone: 1.0, ..settings.clone() },
            Settings { mode: Mode::Equalize, ..settings.clone() },
        ] {
            for independence in [0.0, 1.0] {
                let mut show = Show::new(format, &Settings { independence, ..settings.clone() });
                let frame = show.frame(hazy(balls));
                let most = f64::from(show.info.range.max);
                for i in 0..WIDTH * HEIGHT {
                    let rgb = pixel(&show.info, &frame, (i % WIDTH, i / WIDTH), true).map(|code| code / most);
                    assert!(
                        rgb.iter().all(|share| (0.097..=0.903).contains(share)),
                        "{format:?}, {settings:?}: {rgb:?}"
                    );
                }
            }
        }
    }
}

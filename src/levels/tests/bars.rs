//! Black bars: what is between them is levelled as if they were not there.

use std::f64::consts::TAU;
use std::ops::Range;

use super::scenes::{HEIGHT, WIDTH, Watch, chance, hills, info, rings};
use crate::frame::{Format, Range as Codes};
use crate::settings::Roi;
use crate::window::Window;

/// A picture between bars.
type Frame = (Range<usize>, Range<usize>);

fn rows(rows: Range<usize>) -> Frame {
    (0..WIDTH, rows)
}

fn haze(light: f64) -> f64 {
    70.0 + 110.0 * light
}

/// A picture of `light`, as `expose` makes codes of it, between black bars with a codec's noise.
fn boxed(
    frame: usize,
    (columns, rows): &Frame,
    light: impl Fn(f64, f64) -> f64,
    expose: impl Fn(f64) -> f64,
) -> Vec<u8> {
    let pixel = |i: usize| {
        let (x, y) = (i % WIDTH, i / WIDTH);
        let noise = 2.0 * (chance(x, y, frame) - 0.5);
        let is_inside = columns.contains(&x) && rows.contains(&y);
        let code = if is_inside { expose(light(x as f64, y as f64)) + noise } else { 16.0 + 2.0 * noise };
        (code + 0.5).floor().clamp(0.0, 255.0) as u8
    };
    (0..WIDTH * HEIGHT).map(pixel).collect()
}

/// A watch that is told where the picture is, and looks for no bars.
fn told(columns: &Range<usize>, rows: &Range<usize>) -> Watch {
    let mut watch = Watch::new(25.0);
    let share = |at: usize, of: usize| at as f64 / of as f64;
    let (left, top) = (share(columns.start, WIDTH), share(rows.start, HEIGHT));
    watch.settings.roi = Roi::new(left, top, share(columns.len(), WIDTH), share(rows.len(), HEIGHT)).unwrap();
    watch.settings.letterbox = false;
    watch
}

fn whole() -> Window {
    Window::whole(&info(Format::Gray8, Codes::LIMITED))
}

/// How far apart the levels of two watches were at most, from frame `first` on.
fn apart(a: &Watch, b: &Watch, first: usize) -> f64 {
    let apart =
        |(a, b): (&([f64; 3], _), &([f64; 3], _))| (0..3).map(|i| f64::abs(a.0[i] - b.0[i])).fold(0.0, f64::max);
    a.seen[first..].iter().zip(&b.seen[first..]).map(apart).fold(0.0, f64::max)
}

#[test]
fn bars_of_every_kind_change_nothing_from_the_first_frame_on() {
    let frames: [Frame; 8] = [
        rows(22..158),
        rows(4..176),
        rows(23..158),
        rows(30..156),
        rows(1..179),
        (40..280, 0..HEIGHT),
        (112..208, 0..HEIGHT),
        (40..280, 22..158),
    ];
    for frame in &frames {
        let (mut watch, mut truth) = (Watch::new(25.0), told(&frame.0, &frame.1));
        for number in 0..30 {
            let wobble = |light: f64| 16.0 + (haze(light) - 16.0) * (1.0 + 0.1 * (TAU * number as f64 / 25.0).sin());
            let picture = boxed(number, frame, hills, wobble);
            watch.show_picture(&picture, &wobble);
            truth.show_picture(&picture, &wobble);
        }
        assert!(apart(&watch, &truth, 0) <= 1.0, "{frame:?}: {}", apart(&watch, &truth, 0));
        assert!(watch.windows.iter().all(|window| *window == watch.windows[0]), "{frame:?}");
        assert!(watch.seen[0].1.black > 60.0, "{frame:?}: {:?}", watch.seen[0].1);
    }
}

#[test]
fn lines_that_a_scaler_mixed_with_a_bar_do_not_vote() {
    let frame = rows(22..158);
    let (mut watch, mut truth) = (Watch::new(25.0), told(&(0..WIDTH), &(23..157)));
    for number in 0..10 {
        let mut picture = boxed(number, &frame, hills, haze);
        for (mixed, beside, share) in [(22, 23, 2), (157, 156, 2), (21, 23, 10), (158, 156, 10)] {
            for x in 0..WIDTH {
                picture[mixed * WIDTH + x] = 16 + (picture[beside * WIDTH + x] - 16) / share;
            }
        }
        watch.show_picture(&picture, &haze);
        truth.show_picture(&picture, &haze);
    }
    assert!(apart(&watch, &truth, 0) <= 1.5, "{}", apart(&watch, &truth, 0));
}

#[test]
fn without_the_setting_bars_vote() {
    let mut watch = Watch::new(25.0);
    watch.settings.letterbox = false;
    watch.show_picture(&boxed(0, &rows(22..158), hills, haze), &haze);
    assert!(watch.last().black < 20.0, "{:?}", watch.last());
}

#[test]
fn bars_come_and_go_with_a_cut() {
    let frame = rows(22..158);
    let (mut watch, mut truth) = (Watch::new(25.0), told(&frame.0, &frame.1));
    for number in 0..60 {
        let is_boxed = (20..40).contains(&number);
        let picture = if is_boxed {
            boxed(number, &frame, rings, haze)
        } else {
            boxed(number, &rows(0..HEIGHT), hills, |light| 30.0 + 60.0 * light)
        };
        watch.show_picture(&picture, &haze);
        truth.show_picture(&picture, &haze);
        assert_eq!(watch.windows[number] != whole(), is_boxed, "frame {number}");
    }
    assert!(apart(&watch, &truth, 20) <= 4.0, "{}", apart(&watch, &truth, 20));
    assert!((watch.seen[20].1.black - 81.0).abs() < 2.0, "{:?}", watch.seen[20].1);
}

#[test]
fn bars_of_another_size_after_a_cut() {
    let mut watch = Watch::new(25.0);
    for number in 0..40 {
        let (frame, light): (_, &dyn Fn(f64, f64) -> f64) =
            if number < 20 { (rows(30..150), &hills) } else { (rows(6..174), &rings) };
        watch.show_picture(&boxed(number, &frame, light, haze), &haze);
        let own = if number < 20 { 71.0 } else { 80.0 };
        assert!((watch.seen[number].1.black - own).abs() < 3.0, "frame {number}: {:?}", watch.seen[number].1);
    }
    assert!(watch.windows[20].top < 12, "{:?}", watch.windows[20]);
}

#[test]
fn text_in_a_bar_neither_votes_nor_ends_it() {
    // From the first frame on, and coming and going.
    for first in [0, 10] {
        let frame = rows(22..158);
        let (mut watch, mut truth) = (Watch::new(25.0), told(&frame.0, &frame.1));
        let is_text = |x: usize, y: usize| (164..173).contains(&y) && (50..270).contains(&x) && x % 5 < 2;
        for number in 0..100 {
            let mut picture = boxed(number, &frame, hills, haze);
            if number >= first && number % 40 < 30 {
                (0..WIDTH * HEIGHT).filter(|i| is_text(i % WIDTH, i / WIDTH)).for_each(|i| picture[i] = 235);
            }
            watch.show_picture(&picture, &haze);
            truth.show_picture(&picture, &haze);
        }
        assert!(apart(&watch, &truth, 0) <= 1.0, "{first}: {}", apart(&watch, &truth, 0));
        assert!(watch.largest_step(1) <= 1.0, "{first}: {}", watch.largest_step(1));
    }
}

#[test]
fn bars_stay_through_black_and_through_fades() {
    let frame = rows(22..158);
    let (mut watch, mut truth) = (Watch::new(25.0), told(&frame.0, &frame.1));
    let expose = |light: f64, number: usize| {
        let share = ((number as f64 - 45.0).abs() / 15.0 - 1.0).clamp(0.0, 1.0);
        16.0 + share * (haze(light) - 16.0)
    };
    for number in 0..100 {
        let picture = boxed(number, &frame, hills, |light| expose(light, number));
        watch.show_picture(&picture, &|light| expose(light, number));
        truth.show_picture(&picture, &|light| expose(light, number));
    }
    assert!(apart(&watch, &truth, 0) <= 1.5, "{}", apart(&watch, &truth, 0));
    let first = watch.windows[0];
    assert!(watch.windows.iter().all(|window| *window == first), "{:?}", watch.windows);
}

#[test]
fn out_of_black_a_boxed_picture_comes_without_its_bars() {
    let frame = rows(22..158);
    let (mut watch, mut truth) = (Watch::new(25.0), told(&frame.0, &frame.1));
    for number in 0..80 {
        let share = (number as f64 / 25.0 - 0.4).clamp(0.0, 1.0);
        let expose = |light: f64| 16.0 + share * (haze(light) - 16.0);
        let picture = boxed(number, &frame, hills, expose);
        watch.show_picture(&picture, &expose);
        truth.show_picture(&picture, &expose);
    }
    assert!(apart(&watch, &truth, 36) <= 3.0, "{}", apart(&watch, &truth, 36));
}

#[test]
fn neither_dark_skies_nor_dark_scenes_are_bars() {
    type Light = dyn Fn(f64, f64) -> f64;
    let sky = |x: f64, y: f64| if y < 70.0 + 12.0 * (x / 40.0).sin() { 0.0 } else { 0.3 + hills(x, y) };
    let vignette = |x: f64, y: f64| {
        let far = ((x - 160.0) / 160.0).powi(2) + ((y - 90.0) / 90.0).powi(2);
        hills(x, y) * (1.1 - far).max(0.0)
    };
    let valley = |x: f64, y: f64| {
        let ground = (y - 150.0 + 15.0 * (x / 30.0).sin()).max(0.0);
        if y < 40.0 + 15.0 * (x / 50.0).cos() || ground > 0.0 { 0.0 } else { 0.2 + 0.5 * hills(x, y) }
    };
    let black = |_: f64, _: f64| 0.0;
    let scenes: [(&str, &Light); 4] = [("sky", &sky), ("vignette", &vignette), ("valley", &valley), ("black", &black)];
    for (name, light) in scenes {
        for gain in [20.0, 200.0] {
            let mut watch = Watch::new(25.0);
            for number in 0..60 {
                let expose = |light: f64| 16.0 + gain * light;
                watch.show_picture(&boxed(number, &rows(0..HEIGHT), light, expose), &expose);
            }
            assert!(watch.windows.iter().all(|window| *window == whole()), "{name}, {gain}: {:?}", watch.windows[59]);
        }
    }
}

#[test]
fn a_picture_that_lasts_in_the_bars_ends_them_without_a_jump() {
    // The same scene, opened up between frames 25 and 50.
    let mut watch = Watch::new(25.0);
    for number in 0..100 {
        let bar = (22.0 * (2.0 - number as f64 / 25.0).clamp(0.0, 1.0)) as usize;
        watch.show_picture(&boxed(number, &rows(bar..HEIGHT - bar), hills, haze), &haze);
    }
    assert_eq!(watch.windows[99], whole());
    assert!(watch.largest_step(1) <= 2.0, "{}", watch.largest_step(1));
    // A picture in one of them alone.
    let mut watch = Watch::new(25.0);
    for number in 0..60 {
        let end = if number < 20 { 158 } else { HEIGHT };
        watch.show_picture(&boxed(number, &rows(22..end), hills, haze), &haze);
    }
    assert!(watch.windows[21] != whole() && watch.windows[59] == whole());
    assert!(watch.largest_step(1) <= 2.0, "{}", watch.largest_step(1));
}

#[test]
fn bars_that_slide_in_do_not_move_the_levels() {
    let mut watch = Watch::new(25.0);
    for number in 0..80 {
        let bar = (24.0 * (number as f64 / 25.0 - 1.0).clamp(0.0, 1.0)) as usize;
        watch.show_picture(&boxed(number, &rows(bar..HEIGHT - bar), hills, haze), &haze);
    }
    assert!(watch.largest_step(1) <= 2.0, "{}", watch.largest_step(1));
    assert!((watch.last().black - 71.0).abs() < 4.0, "{:?}", watch.last());
}

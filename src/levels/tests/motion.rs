//! Things come, go and move: pixels that have no part in it must hold still.

use std::f64::consts::TAU;

use super::scenes::{HEIGHT, Shot, WIDTH, Watch, chance, hills, rings};
use crate::settings::Mode;

/// Bright: codes 50 to 180. Dim: codes 20 to 60.
fn bright(light: f64, _: usize) -> f64 {
    50.0 + 130.0 * light
}
fn dim(light: f64, _: usize) -> f64 {
    20.0 + 40.0 * light
}

/// The hills with a rectangle of `light` over them.
fn with_box(x: f64, y: f64, (left, top, width, height): (f64, f64, f64, f64), light: f64) -> f64 {
    let inside = (left..left + width).contains(&x) && (top..top + height).contains(&y);
    if inside { light } else { hills(x, y) }
}

#[test]
fn a_blinking_object_of_a_twentieth_moves_nothing_else() {
    for (expose, light, bound) in [(bright as fn(f64, usize) -> f64, 1.3, 2.0), (dim, 3.0, 3.0), (dim, -0.1, 3.0)] {
        let mut watch = Watch::new(25.0);
        let blink = |frame: usize| frame >= 20 && (frame / 12).is_multiple_of(2);
        watch.play(
            150,
            |x, y, frame| if blink(frame) { with_box(x, y, (200.0, 30.0, 60.0, 48.0), light) } else { hills(x, y) },
            expose,
        );
        assert!(watch.largest_step(1) <= bound, "{light}: {}", watch.largest_step(1));
        assert!(watch.surest_cut(1) < 0.01);
    }
}

#[test]
fn a_blinking_object_moves_nothing_else_when_equalizing() {
    let mut watch = Watch::new(25.0);
    watch.settings.mode = Mode::Equalize;
    let blink = |frame: usize| frame >= 20 && (frame / 12).is_multiple_of(2);
    watch.play(
        100,
        |x, y, frame| if blink(frame) { with_box(x, y, (200.0, 30.0, 60.0, 48.0), 1.3) } else { hills(x, y) },
        bright,
    );
    assert!(watch.largest_step(1) <= 3.0, "{}", watch.largest_step(1));
}

#[test]
fn an_object_of_a_third_crosses_and_leaves() {
    for light in [1.25, -0.2] {
        let mut watch = Watch::new(25.0);
        watch.play(
            140,
            |x, y, frame| with_box(x, y, (-140.0 + 6.0 * frame as f64 - 120.0, 20.0, 140.0, 150.0), light),
            bright,
        );
        assert!(watch.largest_step(1) <= 2.7, "{light}: {}", watch.largest_step(1));
        assert!(watch.moved(10, 139) <= 45.0, "{light}: {}", watch.moved(10, 139));
    }
}

#[test]
fn a_logo_that_fades_in_is_no_cut() {
    let mut watch = Watch::new(25.0);
    let logo = |frame: usize| ((frame as f64 - 30.0) / 8.0).clamp(0.0, 1.0);
    watch.play(
        100,
        |x, y, frame| {
            let behind = hills(x, y);
            behind + logo(frame) * (with_box(x, y, (260.0, 10.0, 48.0, 36.0), 1.4) - behind)
        },
        bright,
    );
    assert!(watch.largest_step(1) <= 2.0, "{}", watch.largest_step(1));
    assert!(watch.surest_cut(1) < 0.01);
}

#[test]
fn subtitles_come_and_go() {
    let mut watch = Watch::new(25.0);
    let letters = |x: f64, y: f64| {
        (150.0..165.0).contains(&y) && (60.0..260.0).contains(&x) && ((x / 3.0) as usize).is_multiple_of(2)
    };
    watch.play(200, |x, y, frame| if (frame / 40) % 2 == 1 && letters(x, y) { 1.42 } else { hills(x, y) }, bright);
    assert!(watch.largest_step(1) <= 2.0, "{}", watch.largest_step(1));
    assert!(watch.surest_cut(1) < 0.01);
}

#[test]
fn pans_and_shakes_hold_still() {
    let pan = |frame: usize| (2.0 * frame as f64, 0.0);
    let shake = |frame: usize| (6.0 * (chance(1, 1, frame) - 0.5), 6.0 * (chance(2, 2, frame) - 0.5));
    for (name, offset) in [("pan", &pan as &dyn Fn(usize) -> (f64, f64)), ("shake", &shake)] {
        let mut watch = Watch::new(25.0);
        watch.play(100, |x, y, frame| hills(x + offset(frame).0, y + offset(frame).1), bright);
        assert!(watch.largest_step(1) <= 2.0, "{name}: {}", watch.largest_step(1));
        assert!(watch.surest_cut(1) < 0.01, "{name}");
    }
}

#[test]
fn a_pan_under_a_wobbling_light_holds_still_too() {
    let mut watch = Watch::new(25.0);
    watch.play(
        100,
        |x, y, frame| hills(x + 2.0 * frame as f64, y),
        |light, frame| 16.0 + (30.0 + 130.0 * light) * (1.0 + 0.15 * (TAU * frame as f64 / 25.0).sin()),
    );
    assert!(watch.largest_step(1) <= 5.5, "{}", watch.largest_step(1));
    assert!(watch.mean_step(1) <= 0.7, "{}", watch.mean_step(1));
}

#[test]
fn from_its_first_frame_on_a_new_scene_has_its_own_levels() {
    let mut watch = Watch::new(25.0);
    watch.play(30, |x, y, _| hills(x, y), bright);
    watch.play(30, |x, y, _| rings(x, y), |light, _| 30.0 + 50.0 * light);
    let first = watch.seen[30].1;
    assert!(first.cut > 0.9, "{first:?}");
    assert!((first.black - 35.0).abs() < 2.0 && (first.white - 79.0).abs() < 2.0, "{first:?}");
    assert!(watch.largest_step(30) <= 1.5, "{}", watch.largest_step(30));
}

#[test]
fn two_cuts_two_frames_apart_are_two_cuts() {
    let mut watch = Watch::new(25.0);
    watch.play(30, |x, y, _| hills(x, y), bright);
    watch.play(2, |x, y, _| rings(x, y), |light, _| 30.0 + 50.0 * light);
    watch.play(30, |x, y, _| hills(y * 1.7, 180.0 - x / 2.0), |light, _| 100.0 + 100.0 * light);
    let (second, third) = (watch.seen[30].1, watch.seen[32].1);
    assert!(second.cut > 0.9 && third.cut > 0.9, "{second:?} {third:?}");
    assert!(third.black > 95.0 && third.white > 180.0, "{third:?}");
}

#[test]
fn without_readiness_there_are_no_cuts() {
    let mut watch = Watch::new(25.0);
    watch.settings.cut = 0.0;
    watch.play(10, |x, y, _| hills(x, y), bright);
    watch.play(10, |x, y, _| rings(x, y), |light, _| 30.0 + 50.0 * light);
    assert_eq!(watch.surest_cut(0), 0.0);
    let (old, first) = (watch.seen[9].1, watch.seen[10].1);
    assert!((first.white - old.white).abs() < 10.0, "nothing jumps: {old:?} {first:?}");
}

#[test]
fn noise_at_night_stays_night() {
    let mut watch = Watch::new(25.0);
    for _ in 0..50 {
        watch.show(&Shot { light: &|_, _| 0.0, expose: &|_| 16.0, noise: 2.0 });
    }
    assert!(watch.means[49] < 19.0, "{}", watch.means[49]);
    assert_eq!(watch.largest_step(1), 0.0);
}

#[test]
fn a_few_hot_pixels_do_not_decide() {
    let clean = {
        let mut watch = Watch::new(25.0);
        watch.play(20, |x, y, _| hills(x, y), dim);
        watch.last()
    };
    let mut watch = Watch::new(25.0);
    watch.play(
        20,
        |x, y, _| if y == 77.0 && (x == 10.0 || x == 90.0 || x == 200.0 || x == 300.0) { 5.0 } else { hills(x, y) },
        dim,
    );
    let last = watch.last();
    assert!((last.white - clean.white).abs() < 3.0, "{last:?} instead of {clean:?}");
}

#[test]
fn a_camera_that_swings_round_is_neither_exposure_nor_cut() {
    let mut watch = Watch::new(25.0);
    watch.play(60, |x, y, frame| hills(x + 25.0 * frame as f64, y), bright);
    assert!(watch.largest_step(1) <= 3.0, "{}", watch.largest_step(1));
    assert!(watch.surest_cut(1) < 0.2, "{}", watch.surest_cut(1));
}

#[test]
fn what_comes_and_goes_moves_the_levels_alike_at_every_frame_rate() {
    let levels = [10.0, 25.0, 60.0].map(|fps| {
        let mut watch = Watch::new(fps);
        // From 1 s to 2 s a bright object stands in the picture, then a dark one to 3 s.
        let object = |x: f64, y: f64, frame: usize| {
            let light = match frame as f64 / fps {
                1.0..2.0 => 1.3,
                2.0..3.0 => -0.2,
                _ => return hills(x, y),
            };
            with_box(x, y, (200.0, 30.0, 60.0, 48.0), light)
        };
        watch.play((4.0 * fps) as usize, object, bright);
        [1.5, 1.9, 2.5, 2.9, 3.9].map(|time| watch.seen[(time * fps) as usize].1)
    });
    for other in &levels[1..] {
        for (a, b) in levels[0].iter().zip(other) {
            assert!((a.black - b.black).abs() < 4.0 && (a.white - b.white).abs() < 4.0, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_dissolve_into_a_dark_flat_scene_is_not_crushed_for_long() {
    let mut watch = Watch::new(25.0);
    // Codes in 1/152, so that light ¼ is code 38, which is bright in the new scene.
    let before = |x: f64, y: f64| 53.0 + 94.0 * hills(x, y);
    let after = |x: f64, y: f64| 23.0 + 24.0 * hills(y * 1.7, 180.0 - x / 2.0);
    let share = |frame: usize| ((frame as f64 - 30.0) / 25.0).clamp(0.0, 1.0);
    watch.play(
        120,
        |x, y, frame| (before(x, y) + share(frame) * (after(x, y) - before(x, y))) / 152.0,
        |light, _| 152.0 * light,
    );
    let own: f64 = (0..HEIGHT * WIDTH).map(|i| after((i % WIDTH) as f64, (i / WIDTH) as f64)).sum();
    let own = own / (HEIGHT * WIDTH) as f64;
    for frame in 55..120 {
        let (mean, bright) = (watch.means[frame], watch.seen[frame].0[0]);
        assert!(mean >= own - 2.0, "frame {frame}: {mean} of {own}");
        assert!(bright >= 37.5, "frame {frame}: {bright}");
    }
}

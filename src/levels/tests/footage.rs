//! Kinds of footage that are hard on automatic levels, each as a small scene: pixels that nothing happens to hold still.

use std::f64::consts::TAU;

use super::scenes::{Watch, chance, hills};

fn bright(light: f64, _: usize) -> f64 {
    50.0 + 130.0 * light
}

#[test]
fn the_beam_of_a_lighthouse_sweeps_over_a_dark_coast() {
    let mut watch = Watch::new(25.0);
    let beam = |x: f64, y: f64, frame: usize| {
        let off = ((y - 170.0).atan2(x - 160.0) - TAU * frame as f64 / 100.0).rem_euclid(TAU);
        (-(off.min(TAU - off) / 0.15).powi(2)).exp()
    };
    watch.play(120, |x, y, frame| 0.15 * hills(x, y) + 0.9 * beam(x, y, frame), |light, _| 18.0 + 200.0 * light);
    assert!(watch.largest_step(1) <= 1.5, "{}", watch.largest_step(1));
    assert!(watch.surest_cut(1) < 0.1, "{}", watch.surest_cut(1));
}

/// Lines of text of different lengths, `scrolled` by so many rows.
fn text(x: f64, y: f64, scrolled: f64, (paper, ink): (f64, f64)) -> f64 {
    let y = y + scrolled;
    let length = 100.0 + 200.0 * chance(3, (y / 12.0) as usize, 0);
    let is_line = y.rem_euclid(12.0) < 7.0 && x > 20.0 && x < length;
    if is_line && chance((x / 2.0) as usize, y as usize, 7) < 0.5 { ink } else { paper }
}

#[test]
fn text_scrolls_and_turns_its_pages() {
    let (light, dark) = ((0.95, 0.1), (0.1, 0.7));
    let scrolls: [(&str, _, &dyn Fn(usize) -> f64); 4] = [
        ("slowly", light, &|frame| 3.0 * frame as f64),
        ("slowly, bright on dark", dark, &|frame| 3.0 * frame as f64),
        ("fast", light, &|frame| 40.0 * frame as f64),
        ("page by page", light, &|frame| 180.0 * (frame / 15) as f64),
    ];
    for (name, colours, scrolled) in scrolls {
        let mut watch = Watch::new(25.0);
        watch.play(60, |x, y, frame| text(x, y, scrolled(frame), colours), |light, _| 40.0 + 150.0 * light);
        assert!(watch.largest_step(1) <= 1.0, "{name}: {}", watch.largest_step(1));
    }
}

#[test]
fn cars_with_their_lights_on_pass_at_night() {
    let mut watch = Watch::new(25.0);
    let glow = |x: f64, y: f64, frame: usize, car: usize| {
        let at = (frame as f64 * (3.0 + car as f64) + 130.0 * car as f64).rem_euclid(420.0) - 50.0;
        let far = ((x - at).powi(2) + (y - 110.0 - 15.0 * car as f64).powi(2)) / (60.0 + 40.0 * car as f64);
        1.2 * (-far).exp() + 0.08 * (-far / 30.0).exp()
    };
    let light =
        |x: f64, y: f64, frame: usize| 0.06 * hills(x, y) + (0..3).map(|car| glow(x, y, frame, car)).sum::<f64>();
    watch.play(140, |x, y, frame| light(x, y, frame).min(1.0), |light, _| 18.0 + 200.0 * light);
    assert!(watch.largest_step(1) <= 1.5, "{}", watch.largest_step(1));
    assert!(watch.surest_cut(1) < 0.1, "{}", watch.surest_cut(1));
}

#[test]
fn cuts_in_a_part_of_the_picture_are_no_cuts() {
    // A picture in the picture, and a split screen of which one half cuts.
    let inset = |x: f64, y: f64, frame: usize| {
        let is_inset = (210.0..310.0).contains(&x) && (110.0..170.0).contains(&y);
        match frame / 15 % 3 {
            0 if is_inset => 1.3 * hills(2.0 * x, 2.0 * y),
            1 if is_inset => -0.2 + 0.5 * hills(y, x),
            2 if is_inset => 0.9,
            _ => hills(x, y),
        }
    };
    let halves = |x: f64, y: f64, frame: usize| match frame / 20 % 2 {
        _ if x < 160.0 => hills(x, y),
        0 => 0.3 + 0.3 * hills(y, x),
        _ => 1.0 - 0.8 * hills(2.0 * x, y),
    };
    let scenes: [(&str, &dyn Fn(f64, f64, usize) -> f64); 2] = [("inset", &inset), ("halves", &halves)];
    for (name, light) in scenes {
        let mut watch = Watch::new(25.0);
        watch.play(80, light, bright);
        assert!(watch.largest_step(1) <= 2.0, "{name}: {}", watch.largest_step(1));
        assert!(watch.surest_cut(1) < 0.1, "{name}: {}", watch.surest_cut(1));
    }
}

#[test]
fn a_neon_sign_blinks_and_a_lens_zooms() {
    let mut watch = Watch::new(25.0);
    let sign = |x: f64, y: f64, frame: usize| {
        if frame / 4 % 2 == 0 && x > 200.0 && y < 100.0 { 1.5 } else { hills(x, y) }
    };
    watch.play(80, sign, |light, _| 20.0 + 60.0 * light);
    assert!(watch.largest_step(1) <= 1.0, "sign: {}", watch.largest_step(1));
    let mut watch = Watch::new(25.0);
    let zoom = |at: f64, middle: f64, frame: usize| middle + (1.0 - 0.006 * frame as f64) * (at - middle);
    watch.play(80, |x, y, frame| hills(zoom(x, 160.0, frame), zoom(y, 90.0, frame)), bright);
    assert!(watch.largest_step(1) <= 1.5, "zoom: {}", watch.largest_step(1));
}

#[test]
fn a_sunset_is_followed_and_not_seen() {
    let mut watch = Watch::new(25.0);
    watch.play(140, |x, y, _| hills(x, y), |light, frame| 20.0 + (150.0 - 0.6 * frame as f64) * light);
    assert!(watch.largest_step(1) <= 2.5, "{}", watch.largest_step(1));
    assert!(watch.moved(5, 139) <= 6.0, "{}", watch.moved(5, 139));
}

#[test]
fn lightning_and_lost_frames_leave_the_levels_where_they_were() {
    let strikes = |frame: usize| [20, 23, 24, 50].contains(&frame);
    let mut watch = Watch::new(25.0);
    watch.play(
        90,
        |x, y, _| hills(x, y),
        |light, frame| if strikes(frame) { 80.0 + 150.0 * light } else { 18.0 + 25.0 * light },
    );
    for frame in (26..50).chain(53..90) {
        assert!(watch.moved(19, frame) <= 30.0, "lightning, frame {frame}: {}", watch.moved(19, frame));
    }
    assert!(watch.moved(19, 89) <= 4.0, "lightning: {}", watch.moved(19, 89));
    let is_lost = |frame: usize| frame % 20 == 19;
    let mut watch = Watch::new(25.0);
    watch.play(
        70,
        |x, y, frame| if is_lost(frame) { 0.0 } else { hills(x, y) },
        |light, frame| if is_lost(frame) { 16.0 } else { 60.0 + 110.0 * light },
    );
    for frame in (2..70).filter(|frame| !is_lost(*frame)) {
        assert!(watch.moved(1, frame) <= 3.0, "lost frames, {frame}: {}", watch.moved(1, frame));
    }
}

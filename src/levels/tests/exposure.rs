//! The light changes: the output must not, unless it is a fade.

use std::f64::consts::TAU;

use super::scenes::{Watch, hills};
use crate::settings::Mode;

fn still(x: f64, y: f64, _: usize) -> f64 {
    hills(x, y)
}

/// A camera that shows light 0 to 1 as codes 40 to 160, times an exposure around black.
fn camera(light: f64, exposure: f64) -> f64 {
    16.0 + (24.0 + 120.0 * light) * exposure
}

#[test]
fn a_step_of_exposure_is_followed_at_once() {
    for (factor, bound) in [(1.6, 1.7), (1.0 / 1.6, 1.7)] {
        let mut watch = Watch::new(25.0);
        watch.play(60, still, |light, frame| camera(light, if frame < 20 { 1.0 } else { factor }).min(250.0));
        assert!(watch.largest_step(1) <= bound, "×{factor:.2}: {}", watch.largest_step(1));
        assert!(watch.surest_cut(0) < 0.01);
    }
}

#[test]
fn a_step_that_clips_is_followed_closely() {
    let mut watch = Watch::new(25.0);
    watch.play(60, still, |light, frame| {
        (16.0 + (44.0 + 120.0 * light) * if frame < 20 { 1.0 } else { 1.6 }).min(235.0)
    });
    assert!(watch.moved(19, 20) <= 4.0, "{}", watch.moved(19, 20));
}

#[test]
fn a_lamp_on_50_hz_does_not_flicker() {
    for fps in [25.0, 30.0, 29.0] {
        let mut watch = Watch::new(fps);
        watch.play(90, still, |light, frame| camera(light, 1.0 + 0.1 * (TAU * 100.0 * frame as f64 / fps + 1.0).sin()));
        assert!(watch.largest_step(1) <= 1.7, "{fps} fps: {}", watch.largest_step(1));
    }
}

#[test]
fn a_flash_of_one_frame_passes_by() {
    let mut watch = Watch::new(25.0);
    watch.play(60, still, |light, frame| camera(light, if frame == 30 { 1.4 } else { 1.0 }));
    assert!(watch.largest_step(1) <= 1.5, "{}", watch.largest_step(1));
    assert!(watch.surest_cut(0) < 0.01);
}

#[test]
fn slow_auto_exposure_is_followed_at_every_frame_rate() {
    for fps in [10.0, 25.0, 60.0, 120.0] {
        let mut watch = Watch::new(fps);
        let exposure = |frame: usize| 1.0 - 0.4 * ((frame as f64 / fps - 1.0) / 3.0).clamp(0.0, 1.0);
        watch.play((5.0 * fps) as usize, still, |light, frame| camera(light, exposure(frame)));
        let end = watch.seen.len() - 1;
        assert!(watch.moved(fps as usize - 1, end) <= 5.0, "{fps} fps: {}", watch.moved(fps as usize - 1, end));
    }
}

/// Plays a picture that fades to black in `frames` frames, stays black for as long, and comes back.
fn fade(frames: usize) -> Watch {
    let mut watch = Watch::new(25.0);
    let length = frames as f64;
    watch.play(50 + 3 * frames + 60, still, |light, frame| {
        let at = frame as f64 - 50.0;
        let share = if at < 2.0 * length { (1.0 - at / length).clamp(0.0, 1.0) } else { (at / length - 2.0).min(1.0) };
        16.0 + (24.0 + 160.0 * light) * share
    });
    watch
}

#[test]
fn fades_go_to_black_with_the_picture_and_come_back_with_it() {
    for (frames, steepest) in [(12, 24.0), (25, 12.0)] {
        let watch = fade(frames);
        let means = &watch.means;
        let (start, black, back) = (50, 50 + frames, 50 + 3 * frames);
        let down = (start..black).map(|i| means[i] - means[i + 1]);
        let up = (black + frames..back).map(|i| means[i + 1] - means[i]);
        assert!(down.clone().all(|step| (-0.8..=steepest).contains(&step)), "{frames}: {:?}", down.collect::<Vec<_>>());
        assert!(
            up.clone().all(|step| (-0.85..=2.0 * steepest).contains(&step)),
            "{frames}: {:?}",
            up.collect::<Vec<_>>()
        );
        assert!(means[black] - 16.0 < 1.0, "{frames}: black comes out at {}", means[black]);
        assert!((means[back + 25] - means[start - 1]).abs() <= 8.0, "{frames}: {}", means[back + 25]);
        assert!(watch.surest_cut(0) < 0.5, "{frames}: a fade is not a cut");
    }
}

#[test]
fn a_clip_that_begins_in_black_fades_in() {
    for frames in [12, 25, 50] {
        let mut watch = Watch::new(25.0);
        let length = frames as f64;
        watch.play(20 + frames + 75, still, |light, frame| {
            16.0 + (24.0 + 160.0 * light) * ((frame as f64 - 20.0) / length).clamp(0.0, 1.0)
        });
        let (back, end) = (20 + frames, watch.means.len() - 1);
        assert!((watch.means[back + 25] - watch.means[end]).abs() <= 8.0);
        assert!(watch.means[20..=back].windows(2).all(|pair| pair[1] > pair[0] - 1.0));
    }
}

#[test]
fn a_lamp_that_goes_out_and_on_again_leaves_the_picture_where_it_was() {
    let mut watch = Watch::new(25.0);
    watch.play(120, still, |light, frame| {
        16.0 + (20.0 + 140.0 * light) * if (30..80).contains(&frame) { 0.45 } else { 1.0 }
    });
    assert!(watch.moved(29, 60) <= 5.0, "{}", watch.moved(29, 60));
    assert!(watch.moved(29, 82) <= 5.0, "{}", watch.moved(29, 82));
    assert!(watch.surest_cut(0) < 0.01);
}

#[test]
fn a_strobe_light_does_not_strobe() {
    let mut watch = Watch::new(25.0);
    watch.play(80, still, |light, frame| {
        16.0 + (12.0 + 60.0 * light) * if frame > 20 && frame % 4 < 2 { 2.5 } else { 1.0 }
    });
    assert!(watch.largest_step(1) <= 6.0, "{}", watch.largest_step(1));
}

#[test]
fn auto_exposure_that_starts_far_too_bright_is_followed_down() {
    let mut watch = Watch::new(25.0);
    let exposure = |frame: usize| if frame < 25 { 1.0 } else { 2.2 - 1.2 * ((frame as f64 - 25.0) / 20.0).min(1.0) };
    watch.play(100, still, |light, frame| 16.0 + ((30.0 + 130.0 * light) * exposure(frame)).min(219.0));
    // Only the lowest of the watched pixels is never clipped.
    let step = watch.seen[1..].windows(2).map(|pair| (pair[1].0[0] - pair[0].0[0]).abs()).fold(0.0, f64::max);
    assert!(step <= 5.0, "{step}");
    assert!(watch.moved(20, 99) <= 8.0, "{}", watch.moved(20, 99));
}

#[test]
fn equalize_holds_still_under_a_wobbling_light_too() {
    let mut watch = Watch::new(25.0);
    watch.settings.mode = Mode::Equalize;
    watch.play(100, still, |light, frame| camera(light, 1.0 + 0.15 * (TAU * frame as f64 / 25.0).sin()));
    assert!(watch.largest_step(1) <= 3.0, "{}", watch.largest_step(1));
    assert!(watch.mean_step(1) <= 0.6, "{}", watch.mean_step(1));
}

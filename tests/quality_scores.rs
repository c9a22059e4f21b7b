//! The quality benchmark's scores, on signals for which the right figure is known.

#[path = "../benches/quality/clip.rs"]
#[allow(dead_code)]
mod clip;
#[path = "../benches/quality/random.rs"]
#[allow(dead_code)]
mod random;
#[path = "../benches/quality/score.rs"]
mod score;
#[path = "../benches/quality/spoil.rs"]
mod spoil;

use clip::{FRAME, HEIGHT, PIXELS, WIDTH};
use random::Random;
use score::{flicker, noise, outside, restoration, score, smooth_regions, spacing};
use spoil::Kind;

/// A clip of grey frames whose luma is as given for the number of the frame and the position in it.
fn grey(frames: usize, luma: impl Fn(usize, usize) -> u8) -> Vec<u8> {
    let code = |at: usize| if at % FRAME < PIXELS { luma(at / FRAME, at % FRAME) } else { 128 };
    (0..frames * FRAME).map(code).collect()
}

/// A clean gradient across the picture, from 60 to 180, before it is rounded.
fn gradient(at: usize) -> f32 {
    60.0 + 120.0 * (at % WIDTH) as f32 / WIDTH as f32
}

/// A value for every pixel.
fn field(seed: u64, value: fn(&mut Random) -> f32) -> Vec<f32> {
    let mut random = Random(seed);
    (0..PIXELS).map(|_| value(&mut random)).collect()
}

#[track_caller]
fn close(got: f64, wanted: f64, tolerance: f64) {
    assert!((got - wanted).abs() <= tolerance, "{got} is not {wanted} ± {tolerance}");
}

#[test]
fn restoration_of_a_known_error() {
    let reference = grey(3, |_, at| gradient(at) as u8);
    close(restoration(&reference, &reference), 78.13, 0.01);
    let off = grey(3, |_, at| gradient(at) as u8 + 5);
    close(restoration(&reference, &off), 10.0 * (255f64 * 255.0 / 25.0).log10(), 1e-9);
}

#[test]
fn flicker_leaves_out_the_changes_of_the_material() {
    let reference = grey(5, |frame, _| 100 + 10 * frame as u8);
    let lower = grey(5, |frame, _| 80 + 10 * frame as u8);
    close(flicker(&reference, &lower), 0.0, 1e-9);
    let flickering = grey(5, |frame, _| 80 + 10 * frame as u8 + 3 * (frame as u8 % 2));
    close(flicker(&reference, &flickering), 3.0, 1e-9);
}

#[test]
fn banding_rises_with_a_coarse_stretch_and_falls_with_dither() {
    let reference = grey(2, |_, at| gradient(at).round() as u8);
    let smooth = smooth_regions(&reference);
    close(spacing(&reference, &smooth).unwrap(), 1.0, 0.15);
    let noise = field(3, |random| random.uniform() - 0.5);
    for gain in [2.0, 4.0] {
        let spoiled = |at| (gradient(at) / gain).round();
        let coarse = grey(2, |_, at| (spoiled(at) * gain) as u8);
        close(spacing(&coarse, &smooth).unwrap(), f64::from(gain), 0.15 * f64::from(gain));
        // Even noise of one gap fills all the codes in between.
        let dithered = grey(2, |_, at| ((spoiled(at) + noise[at]) * gain).round() as u8);
        close(spacing(&dithered, &smooth).unwrap(), 1.0, 0.15);
    }
}

#[test]
fn noise_is_measured_as_it_was_made_and_slopes_do_not_count() {
    let smooth = smooth_regions(&grey(4, |_, _| 120));
    let slope = grey(4, |_, at| 30 + (at / WIDTH / 2) as u8 + (at % WIDTH / 4) as u8);
    close(noise(&slope, &smooth).unwrap(), 0.0, 1e-9);
    let unit = field(9, Random::normal);
    for sigma in [2.0, 5.0] {
        let noisy = grey(4, |_, at| (120.0 + sigma * unit[at]).round() as u8);
        close(noise(&noisy, &smooth).unwrap(), f64::from(sigma), 0.1);
    }
}

#[test]
fn regions_are_smooth_and_neither_black_nor_white() {
    let edges = grey(1, |_, at| match at % WIDTH {
        0..100 => 16,
        100..200 => 120,
        _ => 130,
    });
    let columns: Vec<usize> = smooth_regions(&edges)[0].iter().map(|at| at % WIDTH).collect();
    assert_eq!(columns.len(), (HEIGHT - 2) * (98 + 118));
    assert!(columns.iter().all(|&x| (101..199).contains(&x) || (201..319).contains(&x)));
    assert!(smooth_regions(&grey(1, |_, _| 16))[0].is_empty());
}

#[test]
fn colours_outside_rgb_are_counted() {
    let mut frames = grey(1, |_, at| if at % WIDTH < WIDTH / 4 { 235 } else { 120 });
    assert_eq!(outside(&frames), 0.0);
    // Red chroma over all of it, which a grey can carry and a white cannot.
    frames[PIXELS + PIXELS / 4..].fill(160);
    close(outside(&frames), 0.25, 1e-9);
}

#[test]
fn what_was_wanted_scores_as_perfect_and_what_was_spoiled_does_not() {
    let grain = field(2, Random::normal);
    let clip = grey(100, |_, at| match at {
        0..200 => 16,
        200..400 => 235,
        _ => (gradient(at) + 1.5 * grain[at]) as u8,
    });
    let reference = spoil::reference(&clip);
    for kind in spoil::KINDS {
        let (spoiled, wanted) = spoil::spoil(kind, &reference);
        let perfect = score(&wanted, &spoiled, &wanted);
        close(perfect.restoration, 78.13, 0.01);
        assert_eq!((perfect.flicker, perfect.banding, perfect.outside), (0.0, Some(0.0), 0.0), "{}", kind.name());
        let none = score(&wanted, &spoiled, &spoiled);
        assert!(none.restoration < 35.0, "{}: {none:?}", kind.name());
        assert_eq!(none.noise_gain, Some(1.0), "{}", kind.name());
    }
    let (dim, wanted) = spoil::spoil(Kind::Dim, &reference);
    // Noise of 1.5 codes became 0.6, and rounding added √(1/12).
    let rounded = (0.6f64.powi(2) + 1.0 / 12.0).sqrt();
    close(score(&wanted, &dim, &wanted).noise_gain.unwrap(), 1.5 / rounded, 0.1);
}

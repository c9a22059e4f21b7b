//! Spoils clips in known ways, so that it is known what a filter should give back.

use crate::clip::{PIXELS, RATE, planes};
use crate::random::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Low contrast, lifted blacks: fog, a dirty window, a cheap lens.
    Haze,
    /// Too little light.
    Dim,
    /// An exposure that wanders within each second and trembles from frame to frame.
    Wobble,
    /// Very little light, and so much noise.
    Night,
    /// Dim, and the material itself fades to black and comes back. The fade is to be kept.
    Fade,
}

pub const KINDS: [Kind; 5] = [Kind::Haze, Kind::Dim, Kind::Wobble, Kind::Night, Kind::Fade];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Haze => "haze",
            Kind::Dim => "dim",
            Kind::Wobble => "wobble",
            Kind::Night => "night",
            Kind::Fade => "fade",
        }
    }
}

/// What a perfect filter would make of the clip: stretched once, with its own black and white points, the 0.1 %
/// and 99.9 % quantiles of luma over all frames.
pub fn reference(frames: &[u8]) -> Vec<u8> {
    let mut histogram = [0u64; 256];
    for (luma, _) in planes(frames) {
        luma.iter().for_each(|&code| histogram[usize::from(code)] += 1);
    }
    let (low, high) = (quantile(&histogram, 0.001), quantile(&histogram, 0.999));
    let gain = 219.0 / (high - low).max(1.0);
    let luma: Vec<u8> = (0..256).map(|code| (16.5 + (code as f64 - low) * gain).clamp(16.0, 235.0) as u8).collect();
    let chroma: Vec<u8> =
        (0..256).map(|code| (128.5 + (code as f64 - 128.0) * gain).clamp(16.0, 240.0) as u8).collect();
    map(frames, |_| (luma.clone(), chroma.clone()))
}

/// The level that `share` of the samples lie below, on a straight line between the two samples next to it.
fn quantile(histogram: &[u64; 256], share: f64) -> f64 {
    let last = histogram.iter().sum::<u64>().saturating_sub(1);
    let position = share * last as f64;
    let sample = |index: u64| {
        let mut below = 0;
        let code = histogram.iter().position(|count| {
            below += count;
            below > index
        });
        code.unwrap_or(255) as f64
    };
    let (left, right) = (sample(position as u64), sample((position as u64 + 1).min(last)));
    left + (right - left) * position.fract()
}

/// The spoiled clip, and what a perfect filter would make of it.
pub fn spoil(kind: Kind, reference: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut random = Random(7);
    let as_is = || reference.to_vec();
    match kind {
        Kind::Haze => (map(reference, |_| levels(0.45, 60.0)), as_is()),
        Kind::Dim => (map(reference, |_| levels(0.4, 0.0)), as_is()),
        Kind::Wobble => {
            let mut gain = |t: f32| 0.5 + 0.1 * (std::f32::consts::TAU * t).sin() + 0.02 * random.normal();
            (map(reference, |t| levels(gain(t), 20.0)), as_is())
        }
        Kind::Night => (grain(map(reference, |_| levels(0.25, 4.0)), 1.5, &mut random), as_is()),
        Kind::Fade => {
            let faded = map(reference, |t| levels(fade(t), 0.0));
            (map(&faded, |_| levels(0.5, 0.0)), faded)
        }
    }
}

/// Light left `t` seconds into the clip: all of it for a second, none from 1.8 s to 2.2 s, all again from 3 s.
fn fade(t: f32) -> f32 {
    ((1.8 - t) / 0.8).max((t - 2.2) / 0.8).clamp(0.0, 1.0)
}

/// The tables, luma and chroma, of `black + lift + gain · (code − black)`.
fn levels(gain: f32, lift: f32) -> (Vec<u8>, Vec<u8>) {
    let luma = |code: f32| (16.0 + lift + (code - 16.0) * gain + 0.5).clamp(0.0, 255.0) as u8;
    let chroma = |code: f32| (128.0 + (code - 128.0) * gain + 0.5).clamp(16.0, 240.0) as u8;
    ((0..256).map(|code| luma(code as f32)).collect(), (0..256).map(|code| chroma(code as f32)).collect())
}

/// Sends every frame through tables for luma and chroma that depend on its time in seconds.
fn map(frames: &[u8], mut tables: impl FnMut(f32) -> (Vec<u8>, Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(frames.len());
    for (number, (luma, chroma)) in planes(frames).enumerate() {
        let (for_luma, for_chroma) = tables(number as f32 / RATE as f32);
        out.extend(luma.iter().map(|&code| for_luma[usize::from(code)]));
        out.extend(chroma.iter().map(|&code| for_chroma[usize::from(code)]));
    }
    out
}

/// Adds noise of the standard deviation `sigma` in codes to luma, and half of it to chroma.
fn grain(mut frames: Vec<u8>, sigma: f32, random: &mut Random) -> Vec<u8> {
    for frame in frames.chunks_exact_mut(PIXELS * 3 / 2) {
        for (position, code) in frame.iter_mut().enumerate() {
            let sigma = if position < PIXELS { sigma } else { sigma / 2.0 };
            *code = (f32::from(*code) + sigma * random.normal()).round().clamp(0.0, 255.0) as u8;
        }
    }
    frames
}

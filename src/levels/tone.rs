//! Tone: what a curve that is no straight line may do to contrast, and to the colours that come with it.

use super::look::QUANTILES;
use super::smoothstep;
use super::stretch::{Ends, Line};

/// Largest slope: contrast against stretch's.
const MOST: f64 = 2.5;

/// Chroma, in shares of what there can be, that is faint and that is rich.
const RICH: (f64, f64) = (0.2, 0.6);
/// The share of the picture with the least room for colours that rich ones need not fit.
const LITTLE: f64 = 0.2;
/// The least gain of rich colours against that of faint ones: with less, richer ones would come out fainter.
const HELD: f64 = 0.6;

/// The most contrast that may be added to a stretch of that `gain`: the nearer it is to `max_gain`, the less.
pub fn most_slope(gain: f64, max_gain: f64) -> f64 {
    1.0 + (MOST - 1.0) * (1.0 - smoothstep(0.4, 1.0, gain / max_gain))
}

/// Moves the levels between two ends, which stay, so that the median comes to lie nearer the middle.
///
/// y = x / (x + k·(1 − x)) for levels x from 0 to 1. A power would do the same, but rises without bound at
/// black, where the noise is; this curve is nowhere steeper than k or 1/k.
#[derive(Clone, Copy, Debug)]
pub struct Midtone {
    ends: Ends,
    k: f64,
}

impl Midtone {
    /// The curve for levels of which `median` is the middle one; `share` is 0 to leave them, 1 to move the median
    /// all the way, as long as the curve gets no steeper than `most`.
    pub fn new(ends: Ends, median: f64, share: f64, most: f64) -> Midtone {
        let place = ((median - ends.black) / ends.span().max(f64::MIN_POSITIVE)).clamp(0.001, 0.999);
        Midtone { ends, k: (place / (1.0 - place)).clamp(1.0 / most, most).powf(share) }
    }

    /// The moved level; levels beyond the ends stay.
    pub fn at(&self, level: f64) -> f64 {
        let x = (level - self.ends.black) / self.ends.span();
        if self.k == 1.0 || !(0.0..=1.0).contains(&x) {
            return level;
        }
        self.ends.at(x / (x + self.k * (1.0 - x)))
    }
}

/// Gain of chroma, which is less for rich colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColourGain {
    /// That of faint colours, and of the richest.
    pub faint: f64,
    pub rich: f64,
    /// That of the line: after it, it shows how rich colours are.
    pub plain: f64,
}

impl ColourGain {
    /// Colours that stay as they are.
    pub const NONE: ColourGain = ColourGain { faint: 1.0, rich: 1.0, plain: 1.0 };

    /// The gain of chroma that lies so far from neutral, in shares of what there can be.
    pub fn at(&self, chroma: f64) -> f64 {
        self.faint + (self.rich - self.faint) * smoothstep(RICH.0, RICH.1, self.plain * chroma)
    }

    /// Gain for the colours that come with `tone`: that of `line`, as far as there is room for it. A colour whose luma
    /// the tone moves towards black or white beyond where the line puts it would leave RGB. Faint colours are held back
    /// as the mean over the picture tells, and never become fainter than they came, unless the line makes them so.
    /// Rich ones lie at the surface of RGB, and are held back as is needed where there is little room.
    pub fn new(quantiles: &[f64; QUANTILES], line: &Line, nominal: Ends, tone: impl Fn(f64) -> f64) -> ColourGain {
        let room = |level: f64| {
            let (plain, toned) = (nominal.clamp(line.at(level)), nominal.clamp(tone(level)));
            let share = |toned: f64, plain: f64| if toned < plain { toned / plain } else { 1.0 };
            share(toned - nominal.black, plain - nominal.black) * share(nominal.white - toned, nominal.white - plain)
        };
        let mut rooms = quantiles.map(room);
        let mean = rooms.iter().sum::<f64>() / QUANTILES as f64;
        let little = *rooms.select_nth_unstable_by((LITTLE * QUANTILES as f64) as usize, f64::total_cmp).1;
        let faint = (line.gain * mean).max(line.gain.min(1.0));
        let rich = (line.gain * little).clamp(HELD * faint, faint);
        ColourGain { faint, rich, plain: line.gain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOMINAL: Ends = Ends { black: 16.0, white: 235.0 };

    #[test]
    fn the_median_goes_to_the_middle_and_the_ends_stay() {
        let midtone = Midtone::new(NOMINAL, 90.0, 1.0, 2.5);
        assert!((midtone.at(90.0) - 125.5).abs() < 1e-9);
        assert_eq!(
            (midtone.at(16.0), midtone.at(235.0), midtone.at(250.0), midtone.at(3.0)),
            (16.0, 235.0, 250.0, 3.0)
        );
        let half = Midtone::new(NOMINAL, 90.0, 0.5, 2.5).at(90.0);
        assert!(half > 100.0 && half < 115.0, "{half}");
        let down = Midtone::new(NOMINAL, 160.0, 1.0, 2.5);
        assert!((down.at(160.0) - 125.5).abs() < 1e-9);
    }

    #[test]
    fn the_curve_is_no_steeper_than_allowed() {
        for (median, most) in [(17.0, 2.5), (234.0, 2.5), (40.0, 1.0)] {
            let midtone = Midtone::new(NOMINAL, median, 1.0, most);
            for level in 16..235 {
                let step = midtone.at(f64::from(level) + 1.0) - midtone.at(f64::from(level));
                assert!(step > 0.0 && step <= most + 1e-6, "{median} at {level}: {step}");
            }
        }
        assert_eq!(Midtone::new(NOMINAL, 17.0, 0.0, 2.5).at(60.0), 60.0);
    }

    #[test]
    fn colours_gain_with_the_line_where_there_is_room() {
        let line = Line::new(Ends { black: 60.0, white: 160.0 }, NOMINAL, NOMINAL, 4.0);
        let quantiles = std::array::from_fn(|i| 60.0 + 100.0 * (i as f64 + 0.5) / QUANTILES as f64);
        let plain = ColourGain::new(&quantiles, &line, NOMINAL, |x| line.at(x));
        assert_eq!([plain.faint, plain.rich, plain.at(0.5)], [line.gain; 3]);
        let bright = Midtone::new(NOMINAL, 50.0, 1.0, 2.5);
        let gain = ColourGain::new(&quantiles, &line, NOMINAL, |x| bright.at(line.at(x)));
        assert!(gain.faint < 0.85 * line.gain && gain.faint > 0.5 * line.gain, "{gain:?} of {}", line.gain);
        assert!(gain.rich < 0.9 * gain.faint, "{gain:?}");
        let flat = Line::new(Ends { black: 90.0, white: 90.0 }, NOMINAL, NOMINAL, 4.0);
        assert_eq!(ColourGain::new(&[90.0; QUANTILES], &flat, NOMINAL, |_| 40.0).faint, 1.0);
    }

    #[test]
    fn richer_colours_come_out_richer() {
        for plain in [1.0, 1.7, 4.0] {
            let gain = ColourGain { faint: 0.9 * plain, rich: HELD * 0.9 * plain, plain };
            let chroma = |i: u32| gain.at(f64::from(i) / 1000.0) * f64::from(i);
            assert!((1..=1000).all(|i| chroma(i) > chroma(i - 1)), "{gain:?}");
        }
    }
}

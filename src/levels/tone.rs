//! Tone: what a curve that is no straight line may do to contrast, and to the colours that come with it.

use super::smoothstep;
use super::stretch::Ends;

/// Largest slope: contrast against stretch's.
const MOST: f64 = 2.5;

/// Levels above black, in codes, below which colours gain less than they brighten: there they are noise for the most part.
const DARK: f64 = 8.0;

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

/// What colours gain beyond the straight line's gain, where that puts their luma at `plain`, and the tone at `toned`: as
/// much as they get brighter or darker, so that they stay as saturated. What that would take beyond white goes back towards
/// the line, pixel by pixel, see [`Toned::back`](crate::colour::Toned::back).
pub fn colour_gain(plain: f64, toned: f64, nominal: Ends) -> f64 {
    let bright = |level: f64| nominal.clamp(level) - nominal.black + DARK;
    bright(toned) / bright(plain)
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
    fn colours_stay_as_saturated_as_the_line_makes_them() {
        assert_eq!(colour_gain(100.0, 100.0, NOMINAL), 1.0);
        for (plain, toned) in [(60.0, 90.0), (120.0, 150.0), (150.0, 120.0)] {
            let gain = colour_gain(plain, toned, NOMINAL);
            let brighter = (toned - 16.0) / (plain - 16.0);
            assert!((gain / brighter - 1.0).abs() < 0.15, "{gain} for {brighter}");
        }
        // Beyond the ends, and in the dark, there is little to saturate.
        assert_eq!(colour_gain(10.0, 16.0, NOMINAL), 1.0);
        assert!(colour_gain(17.0, 19.0, NOMINAL) < 1.3);
    }
}

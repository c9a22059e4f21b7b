//! Tone: what a curve that is no straight line may do to contrast, and to the colours that come with it.

use super::smoothstep;
use super::stretch::{Ends, Line};

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

/// The gain of the colours that come with luma of level `x`: that of `line`, and as much more or less as `tone` makes them
/// brighter or darker than the line does, so that they stay as saturated. What that would take beyond white goes back
/// towards the line, pixel by pixel, see [`Toned::back`](crate::colour::Toned::back).
pub fn colour_gain(x: f64, line: &Line, nominal: Ends, tone: impl Fn(f64) -> f64) -> f64 {
    let bright = |level: f64| nominal.clamp(level) - nominal.black + DARK;
    line.gain * bright(tone(x)) / bright(line.at(x))
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
        let line = Line::new(Ends { black: 60.0, white: 160.0 }, NOMINAL, NOMINAL, 4.0);
        assert_eq!(colour_gain(100.0, &line, NOMINAL, |x| line.at(x)), line.gain);
        let bright = Midtone::new(NOMINAL, 50.0, 1.0, 2.5);
        let tone = |x: f64| bright.at(line.at(x));
        for x in [80.0, 110.0, 140.0] {
            let gain = colour_gain(x, &line, NOMINAL, tone) / line.gain;
            let brighter = (tone(x) - 16.0) / (line.at(x) - 16.0);
            assert!(gain > 1.0 && gain <= brighter && gain > 0.85 * brighter, "{gain} for {brighter} at {x}");
        }
        // Beyond the ends, and in the dark, there is nothing to saturate.
        assert!(colour_gain(30.0, &line, NOMINAL, tone) == line.gain);
        assert!(colour_gain(61.0, &line, NOMINAL, tone) < 1.5 * line.gain);
    }
}

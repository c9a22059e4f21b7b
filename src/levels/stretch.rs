//! Stretch: the straight line that takes the two points to black and white, with limited gain.

use super::smoothstep;

/// y = gain · x + offset, kept within `floor` and `ceiling`. Levels are in 8-bit codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub gain: f64,
    pub offset: f64,
    pub floor: f64,
    pub ceiling: f64,
    /// How much of it there is: 1, and less where the gain is limited, down to 0 for the identity.
    pub effect: f64,
}

/// Ends of a range of levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    pub black: f64,
    pub white: f64,
}

impl Ends {
    pub fn span(&self) -> f64 {
        self.white - self.black
    }

    /// The share of `levels` that lie beyond the ends, those just beyond in part.
    pub fn missed(&self, levels: &[f64]) -> f64 {
        let beyond = |level: &f64| ((level - self.clamp(*level)).abs() / 4.0).min(1.0);
        levels.iter().map(beyond).sum::<f64>() / levels.len().max(1) as f64
    }

    /// `level`, or the end that it lies beyond.
    pub fn clamp(&self, level: f64) -> f64 {
        level.max(self.black).min(self.white)
    }

    /// The level that lies a `share` of the way from black to white.
    pub fn at(&self, share: f64) -> f64 {
        self.black + share * self.span()
    }
}

impl Line {
    /// The line that takes `points` to `target`, with a gain of `max_gain` at most.
    ///
    /// Below a span of target/max-gain the line turns steadily into the identity: the picture is stretched
    /// by the full gain, but around a level of its own, and ever less so. A flat picture stays what it is.
    pub fn new(points: Ends, target: Ends, nominal: Ends, max_gain: f64) -> Line {
        let (full, span) = (target.span(), points.span().max(0.0));
        let least = full / max_gain;
        if span >= least {
            let gain = full / span;
            let offset = target.black - gain * points.black;
            return Line { gain, offset, floor: target.black, ceiling: target.white, effect: 1.0 };
        }
        // Where in the target the picture's own level lies, so that it grows from there to both sides.
        let place = ((points.black - target.black) / (full - span)).clamp(0.0, 1.0);
        let black = points.black - place * (least - span);
        let effect = smoothstep(0.0, 1.0, span / least);
        Line {
            gain: 1.0 + effect * (max_gain - 1.0),
            offset: effect * (target.black - max_gain * black),
            floor: nominal.black + effect * (target.black - nominal.black),
            ceiling: nominal.white + effect * (target.white - nominal.white),
            effect,
        }
    }

    /// The line at level `x`.
    pub fn at(&self, x: f64) -> f64 {
        (self.gain * x + self.offset).max(self.floor).min(self.ceiling)
    }

    /// The level that the line takes to `y`.
    pub fn before(&self, y: f64) -> f64 {
        (y - self.offset) / self.gain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOMINAL: Ends = Ends { black: 16.0, white: 235.0 };

    fn line(black: f64, white: f64) -> Line {
        Line::new(Ends { black, white }, NOMINAL, NOMINAL, 4.0)
    }

    #[test]
    fn the_points_go_to_the_target() {
        let line = line(60.0, 180.0);
        assert!((line.at(60.0) - 16.0).abs() < 1e-9 && (line.at(180.0) - 235.0).abs() < 1e-9);
        assert_eq!((line.at(20.0), line.at(234.0)), (16.0, 235.0));
    }

    #[test]
    fn flat_pictures_and_full_ones_stay_as_they_are() {
        for level in 16..=235 {
            let level = f64::from(level);
            assert_eq!(line(level, level).at(level), level);
            assert_eq!(line(16.0, 235.0).at(level), level);
        }
    }

    #[test]
    fn faint_noise_is_not_blown_up() {
        assert!(line(14.0f64.max(16.0), 18.0).at(18.0) < 19.0, "night noise stays night");
        assert!((line(99.0, 101.0).at(100.0) - 100.0).abs() < 0.2, "a nearly flat grey stays grey");
    }

    #[test]
    fn the_line_changes_steadily_with_the_span() {
        let mut before = line(100.0, 100.0);
        for step in 1..=4000 {
            let now = line(100.0, 100.0 + f64::from(step) * 0.02);
            for level in [100.0, 120.0, 140.0] {
                assert!((now.at(level) - before.at(level)).abs() < 0.25, "span {}", step);
            }
            assert!(now.gain <= 4.0 + 1e-9);
            before = now;
        }
    }

    #[test]
    fn a_gain_limit_of_one_leaves_a_picture_that_fits() {
        let line = Line::new(Ends { black: 50.0, white: 90.0 }, NOMINAL, NOMINAL, 1.0);
        assert!((line.at(70.0) - 70.0).abs() < 1e-9);
    }
}

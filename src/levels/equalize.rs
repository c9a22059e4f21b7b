//! Equalize: the levels spread evenly, with bounded contrast.
//!
//! Equalize is a *warp* of the levels between the two ends onto themselves, ahead of stretch's line. So both ends
//! go where stretch puts them, and the gain limit acts on the whole. The warp is the cumulative distribution, its
//! slope bounded; what is cut off is put back evenly over the whole span.

use super::look::QUANTILES;
use super::points::Walk;
use super::stretch::Ends;
use super::tone::most_slope;

/// Steps of the warp from end to end.
const STEPS: usize = 64;
/// Share of the warp that stays even, so that sparse levels keep some contrast.
const EVEN: f64 = 0.25;
/// Half width, in codes, over which the distribution is smeared: no code holds more than a code's width.
const SMEAR: f64 = 0.75;

/// Takes levels between two ends to levels between the same ends.
#[derive(Clone, Debug)]
pub struct Warp {
    ends: Ends,
    /// Shares of the span that lie below each step.
    below: [f64; STEPS + 1],
}

impl Warp {
    /// The warp that spreads the levels of which `quantiles` are the quantile function.
    /// `gain` is stretch's between the ends: the nearer it is to `max_gain`, the less is left for the warp to add.
    pub fn new(ends: Ends, quantiles: &[f64; QUANTILES], gain: f64, max_gain: f64) -> Warp {
        // The cumulative distribution, as points: shares at ascending levels.
        let mut levels = [0.0; QUANTILES + 2];
        let mut shares = [0.0; QUANTILES + 2];
        let mut level = ends.black;
        levels[0] = level;
        for (i, quantile) in quantiles.iter().enumerate() {
            level = quantile.min(ends.white).max(level);
            levels[i + 1] = level;
            shares[i + 1] = (i as f64 + 0.5) / QUANTILES as f64;
        }
        levels[QUANTILES + 1] = ends.white.max(level);
        shares[QUANTILES + 1] = 1.0;

        let mut walks = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|offset| (offset, Walk::default()));
        let mut share_below = |step: usize| match step {
            STEPS => 1.0,
            _ => {
                let level = ends.at(step as f64 / STEPS as f64);
                let at = |(offset, walk): &mut (f64, Walk)| walk.interpolate(level + *offset * SMEAR, &levels, &shares);
                walks.iter_mut().map(at).sum::<f64>() / 5.0
            }
        };
        let mut slopes = [0.0; STEPS];
        let mut before = 0.0;
        for (step, slope) in slopes.iter_mut().enumerate() {
            let share = share_below(step + 1);
            *slope = EVEN + (1.0 - EVEN) * (share - before) * STEPS as f64;
            before = share;
        }
        let most = most_slope(gain, max_gain);
        let lift = lift(&slopes, most);
        let mut below = [0.0; STEPS + 1];
        for (step, slope) in slopes.iter().enumerate() {
            below[step + 1] = below[step] + (slope + lift).min(most) / STEPS as f64;
        }
        let whole = below[STEPS].max(f64::MIN_POSITIVE);
        below.iter_mut().for_each(|share| *share /= whole);
        Warp { ends, below }
    }

    /// The warped level; levels beyond the ends stay.
    pub fn at(&self, level: f64) -> f64 {
        let span = self.ends.span();
        if level <= self.ends.black || level >= self.ends.white || span <= 0.0 {
            return level;
        }
        let place = (level - self.ends.black) / span * STEPS as f64;
        let step = (place as usize).min(STEPS - 1);
        let share = self.below[step] + (place - step as f64) * (self.below[step + 1] - self.below[step]);
        self.ends.at(share)
    }
}

/// What must be added to slopes of mean one, so that their mean stays one when they are cut at `most`.
fn lift(slopes: &[f64; STEPS], most: f64) -> f64 {
    let mut sorted = *slopes;
    sorted.sort_unstable_by(f64::total_cmp);
    // With so many of the steepest cut, the rest must make up for it.
    let mut rest: f64 = sorted.iter().sum();
    for cut in 0..STEPS {
        let kept = STEPS - cut;
        let lift = (STEPS as f64 - cut as f64 * most - rest) / kept as f64;
        if sorted[kept - 1] + lift <= most {
            return lift.max(0.0);
        }
        rest -= sorted[kept - 1];
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_put_back_evenly() {
        for (most, steep) in [(2.5, 1), (2.5, 10), (1.0, 5), (1.2, 63), (1.5, 0)] {
            let high = if steep > 0 { (STEPS as f64 - 0.3 * (STEPS - steep) as f64) / steep as f64 } else { 1.0 };
            let slopes = std::array::from_fn(|i| {
                if (i * 7) % STEPS < steep {
                    high
                } else if steep > 0 {
                    0.3
                } else {
                    1.0
                }
            });
            let lift = lift(&slopes, most);
            let mean = slopes.iter().map(|slope| (slope + lift).min(most)).sum::<f64>() / STEPS as f64;
            assert!(lift >= 0.0 && (mean - 1.0).abs() < 1e-9, "{most}, {steep}: {mean} with {lift}");
        }
    }
}

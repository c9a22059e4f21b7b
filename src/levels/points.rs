//! Where the levels of one frame lie: quantiles of its luma, interpolated between codes.
//!
//! Whole-code percentiles flicker by a code; the cumulative count taken at the *centres* of the occupied bins
//! moves smoothly when the picture does, and never leaves the codes that occur.

use crate::frame::Range;

/// Levels that lie further apart than this have a gap between them.
const GAP: f64 = 3.0;

/// The cumulative distribution of a frame's luma. Codes outside the nominal range vote as its ends.
///
/// Levels are in 8-bit codes at every depth: 10-bit code 64 is level 16.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// Levels, ascending: those that occur, and the edges of gaps between them.
    levels: Vec<f64>,
    /// Pixels below each of them; half of those at a level lie below it.
    below: Vec<f64>,
    total: f64,
    mean: f64,
}

impl Distribution {
    /// Takes in a histogram with a count for each of the range's bins. False if no pixel voted; nothing is changed
    /// then.
    pub fn fill(&mut self, histogram: &[u32], range: &Range) -> bool {
        let histogram = &histogram[..histogram.len().min(range.bins())];
        let total: u64 = histogram.iter().map(|count| u64::from(*count)).sum();
        if total == 0 {
            return false;
        }
        let (unit, shift) = (unit(range), range.bin_shift());
        // The middle of a bin of several codes.
        let centre = |bin: f64| (bin * f64::from(1 << shift) + f64::from((1 << shift) - 1) / 2.0) / unit;
        let sum: f64 = histogram.iter().enumerate().map(|(bin, count)| bin as f64 * f64::from(*count)).sum();
        self.total = total as f64;
        self.mean = centre(sum / self.total);
        self.levels.clear();
        self.below.clear();
        let (black, white) = (usize::from(range.black) >> shift, usize::from(range.white) >> shift);
        let end = histogram.len();
        let mut below = 0;
        let mut last = None;
        for bin in black..=white {
            // The ends are what they are, so that a picture that reaches them reaches them fully.
            let (bins, level) = if bin == black {
                (0..end.min(black + 1), f64::from(range.black) / unit)
            } else if bin == white {
                (end.min(white)..end, f64::from(range.white) / unit)
            } else {
                (end.min(bin)..end.min(bin + 1), centre(bin as f64))
            };
            let count: u64 = histogram[bins].iter().map(|count| u64::from(*count)).sum();
            if count > 0 {
                if let Some(last) = last.filter(|last| level - last > GAP) {
                    // Nobody lies in a gap: a few lone pixels far off must not draw the quantile towards them.
                    self.levels.extend([last + 0.5, level - 0.5]);
                    self.below.extend([below as f64; 2]);
                }
                self.levels.push(level);
                self.below.push(below as f64 + count as f64 / 2.0);
                below += count;
                last = Some(level);
            }
        }
        true
    }

    /// The level below which `share` (0 to 1) of the pixels lie.
    pub fn quantile(&self, share: f64) -> f64 {
        interpolate(share * self.total, &self.below, &self.levels)
    }

    /// The same for ascending shares.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [f64; N] {
        let mut walk = Walk::default();
        shares.map(|share| walk.interpolate(share * self.total, &self.below, &self.levels))
    }

    /// The share of the pixels that lie below `level`.
    pub fn share_below(&self, level: f64) -> f64 {
        match (self.levels.first(), self.levels.last()) {
            (Some(first), _) if level < *first => 0.0,
            (_, Some(last)) if level > *last => 1.0,
            _ => interpolate(level, &self.levels, &self.below) / self.total.max(1.0),
        }
    }

    /// Mean level, codes outside the nominal range as they are.
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

/// Codes of this range for one 8-bit code.
pub fn unit(range: &Range) -> f64 {
    range.codes() as f64 / 256.0
}

/// The `ys` at `x`, linear between the ascending `xs` and constant beyond them; 0 if there are none.
pub fn interpolate(x: f64, xs: &[f64], ys: &[f64]) -> f64 {
    between(x, xs.partition_point(|at| *at <= x), xs, ys)
}

/// Interpolates at ascending places, which is less work than to look for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    /// The first of the `xs` that lies after the last place.
    after: usize,
}

impl Walk {
    /// [`interpolate`] at `x`, which is no less than it was before; `xs` and `ys` are what they were.
    pub fn interpolate(&mut self, x: f64, xs: &[f64], ys: &[f64]) -> f64 {
        while xs.get(self.after).is_some_and(|at| *at <= x) {
            self.after += 1;
        }
        between(x, self.after, xs, ys)
    }
}

/// The `ys` at `x`, of which `after` tells the first of the `xs` that lies after it.
fn between(x: f64, after: usize, xs: &[f64], ys: &[f64]) -> f64 {
    match (after.checked_sub(1), ys.get(after)) {
        (None, None) => 0.0,
        (None, Some(first)) => *first,
        (Some(before), None) => ys[before],
        (Some(before), Some(next)) => {
            let share = (x - xs[before]) / (xs[after] - xs[before]);
            ys[before] + share * (next - ys[before])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(counts: &[(usize, u32)], range: &Range) -> Distribution {
        let mut histogram = vec![0; range.bins()];
        counts.iter().for_each(|(code, count)| histogram[*code] = *count);
        let mut distribution = Distribution::default();
        assert!(distribution.fill(&histogram, range));
        distribution
    }

    #[test]
    fn quantiles_are_interpolated_between_bin_centres_and_stay_within_the_occupied_codes() {
        let two = distribution(&[(100, 10), (102, 10)], &Range::LIMITED);
        assert_eq!(two.quantile(0.5), 101.0);
        assert_eq!(two.quantile(0.25), 100.0);
        assert_eq!((two.quantile(0.0), two.quantile(1.0)), (100.0, 102.0));
        assert_eq!(two.mean(), 101.0);
        assert_eq!((two.share_below(99.0), two.share_below(101.0), two.share_below(103.0)), (0.0, 0.5, 1.0));
    }

    #[test]
    fn a_walk_finds_what_a_search_finds() {
        let steps = distribution(&[(20, 3), (21, 50), (60, 1), (61, 9), (230, 7)], &Range::LIMITED);
        let shares: [f64; 101] = std::array::from_fn(|i| i as f64 / 100.0);
        assert_eq!(steps.quantiles(shares), shares.map(|share| steps.quantile(share)));
        assert_eq!(Walk::default().interpolate(5.0, &[], &[]), 0.0);
    }

    #[test]
    fn a_few_pixels_beyond_a_gap_draw_nothing_towards_them() {
        let far = distribution(&[(100, 96), (200, 4)], &Range::LIMITED);
        assert!((far.quantile(0.95) - 100.5).abs() < 0.05, "{}", far.quantile(0.95));
        assert_eq!(far.quantile(0.98), 200.0);
        assert!((far.share_below(150.0) - 0.96).abs() < 1e-9);
    }

    #[test]
    fn codes_outside_the_nominal_range_vote_as_its_ends() {
        let wide = distribution(&[(3, 5), (250, 5)], &Range::LIMITED);
        assert_eq!((wide.quantile(0.0), wide.quantile(1.0)), (16.0, 235.0));
        assert_eq!(wide.mean(), 126.5);
    }

    #[test]
    fn levels_are_the_same_at_every_depth() {
        let range = Range { black: 64, white: 940, neutral: 512, max: 1023 };
        let deep = distribution(&[(400, 10), (440, 10)], &range);
        assert_eq!((deep.quantile(0.0), deep.quantile(1.0), deep.mean()), (100.0, 110.0, 105.0));
        // Bins of several codes stand for the code in their middle, but those of black and white for these.
        let full = Range::FULL.at(16);
        let deeper = distribution(&[(0, 10), (400, 10), (1023, 10)], &full);
        assert_eq!((deeper.quantile(0.0), deeper.quantile(1.0)), (0.0, 65535.0 / 256.0));
        assert_eq!(deeper.quantile(0.5), (400.0 * 64.0 + 31.5) / 256.0);
        let limited = distribution(&[(64, 10), (940, 10)], &Range::LIMITED.at(12));
        assert_eq!((limited.quantile(0.0), limited.quantile(1.0)), (16.0, 235.0));
    }

    #[test]
    fn a_histogram_without_votes_or_of_another_length_is_taken_as_it_comes() {
        let mut distribution = Distribution::default();
        assert!(!distribution.fill(&[0; 256], &Range::LIMITED));
        assert!(!distribution.fill(&[], &Range::LIMITED));
        assert!(distribution.fill(&[7; 40], &Range::LIMITED));
        assert_eq!(distribution.quantile(1.0), 39.0);
        assert!(distribution.fill(&[u32::MAX; 300], &Range::FULL));
        assert!((distribution.quantile(0.5) - 127.5).abs() < 1e-9);
    }
}

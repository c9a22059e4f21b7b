//! Exposure: did the whole picture brighten or dim together, as under auto-exposure, a lamp, or a flicker?
//!
//! A robust line through this frame's chunk means over those of an earlier frame. Things that move disturb some
//! chunks, a change of light moves all of them; where the line fits many chunks and both ends of the histogram
//! much better than "nothing changed" does, the levels may follow it.

use super::look::{Look, OUTLINE_LEN};
use super::smoothstep;
use super::stretch::Ends;

/// Deviation of a chunk mean, in codes, up to which it counts as explained.
const SIGMA: f64 = 0.5;
/// Pulls the scale to one where little speaks against it, in codes² for each chunk.
const RIDGE: f64 = 0.3;
/// Weight, against all chunks, of the observation that black stays black.
const PIVOT: f64 = 0.087;
/// Weight of the histogram's outline in the score, against the chunks.
const OUTLINE_WEIGHT: f64 = 0.5;
/// Rounds of reweighting, and the factor by which the scale of what is an outlier shrinks in each.
const ROUNDS: usize = 8;
const SHRINK: f64 = 0.65;
/// Scales beyond these are no exposure.
const SCALES: std::ops::RangeInclusive<f64> = 0.3..=3.0;
/// A mean absolute deviation times this estimates the standard deviation (normal distribution, median).
const MAD: f64 = 1.4826;

/// level now = scale · level before + offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposure {
    pub scale: f64,
    pub offset: f64,
}

impl Exposure {
    pub const UNCHANGED: Exposure = Exposure { scale: 1.0, offset: 0.0 };

    pub fn at(&self, level: f64) -> f64 {
        self.scale * level + self.offset
    }
}

/// An exposure, how well it explains a frame, and what it leaves.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    pub exposure: Exposure,
    /// How surely this is a change of exposure, 0 to 1.
    pub confidence: f64,
    /// Typical deviation of a chunk mean from the fit, in input codes.
    pub residual: f64,
}

/// Fits exposures; keeps its working memory.
#[derive(Clone, Debug, Default)]
pub struct Fitter {
    /// Level before, level now and weight of the chunks that count.
    points: Vec<[f64; 3]>,
    deviations: Vec<f64>,
}

impl Fitter {
    /// Fits the change from one frame to another. `black` is the level that is taken for black before.
    pub fn fit(&mut self, before: &Look, now: &Look, black: f64, nominal: Ends) -> Fit {
        self.gather(before, now, nominal);
        let total: f64 = self.points.iter().map(|point| point[2]).sum();
        let (mut best, mut best_score) = (Exposure::UNCHANGED, self.score(Exposure::UNCHANGED, total, before, now));
        let unchanged = best_score;
        if total > 0.0 {
            let from_ends = {
                let (low, high) = (1, OUTLINE_LEN - 2);
                let scale =
                    (now.outline[high] - now.outline[low]) / (before.outline[high] - before.outline[low]).max(1.0);
                let scale = scale.clamp(*SCALES.start(), *SCALES.end());
                Exposure { scale, offset: now.outline[low] - scale * before.outline[low] }
            };
            let starts = [
                self.least_squares().map(|start| (start, 2.0 * self.deviation(start).max(0.15))),
                Some((from_ends, 4.0 * SIGMA)),
                Some((Exposure::UNCHANGED, 2.0 * SIGMA)),
            ];
            for (start, sigma) in starts.into_iter().flatten() {
                let exposure = self.refine(start, sigma, total, black);
                let score = self.score(exposure, total, before, now);
                if score > best_score {
                    (best, best_score) = (exposure, score);
                }
            }
        }
        let mut confidence = 0.0;
        if SCALES.contains(&best.scale) && best_score > 0.0 {
            confidence =
                smoothstep(0.05, 0.3, (best_score - unchanged) / best_score) * ends_explained(best, before, now);
        }
        let residual = self.residual(best, before, now);
        Fit { exposure: best, confidence, residual }
    }

    /// Collects the chunks that tell of exposure: those with votes, and away from the ends of the range, where
    /// clipping and black bars hold them still.
    fn gather(&mut self, before: &Look, now: &Look, nominal: Ends) {
        self.points.clear();
        let inside = |level: f64| smoothstep(0.0, 1.5, (level - nominal.black).min(nominal.white - level));
        for i in 0..before.means.len().min(now.means.len()) {
            let (x, y) = (before.means[i], now.means[i]);
            let weight = before.weights[i].min(now.weights[i]) * inside(x).min(inside(y));
            if weight > 0.0 {
                self.points.push([x, y, weight]);
            }
        }
    }

    /// The line of least squares through the chunks, if they differ enough to tell.
    fn least_squares(&self) -> Option<Exposure> {
        let sums = Sums::over(&self.points, |_, _| 1.0);
        (sums.variance() > 0.09 * sums.w).then(|| sums.line(0.0))
    }

    /// Geman–McClure reweighting with an ever stricter idea of what is an outlier.
    fn refine(&self, start: Exposure, mut sigma: f64, total: f64, black: f64) -> Exposure {
        let mut exposure = start;
        for _ in 0..ROUNDS {
            let tightness = 1.0 / sigma;
            let Exposure { scale, offset } = exposure;
            let trust = |x: f64, y: f64| explained((y - scale * x - offset) * tightness);
            let mut sums = Sums::over(&self.points, trust);
            sums.add(black, black, PIVOT * total * trust(black, black));
            exposure = sums.line(RIDGE * total);
            sigma = (SHRINK * sigma).max(SIGMA);
        }
        exposure
    }

    /// How much of the picture is explained: chunks, and the outline of the histogram.
    fn score(&self, exposure: Exposure, total: f64, before: &Look, now: &Look) -> f64 {
        let level = |x: f64, y: f64| explained((y - exposure.at(x)) / SIGMA);
        let chunks: f64 = self.points.iter().map(|[x, y, weight]| weight * level(*x, *y)).sum();
        let outline: f64 = before.outline.iter().zip(&now.outline).map(|(x, y)| level(*x, *y)).sum();
        chunks / total.max(f64::MIN_POSITIVE) + OUTLINE_WEIGHT * outline / OUTLINE_LEN as f64
    }

    fn deviation(&mut self, exposure: Exposure) -> f64 {
        self.deviations.clear();
        self.deviations.extend(self.points.iter().map(|[x, y, _]| (y - exposure.at(*x)).abs()));
        MAD * median(&mut self.deviations)
    }

    /// What the exposure, within what is plausible, leaves of the change of all chunks that voted.
    fn residual(&mut self, exposure: Exposure, before: &Look, now: &Look) -> f64 {
        let scale = exposure.scale.clamp(*SCALES.start(), *SCALES.end());
        let offset = exposure.offset + (exposure.scale - scale) * before.mean;
        let votes = |i: &usize| before.weights[*i].min(now.weights[*i]) > 0.0;
        let chunks = (0..before.means.len().min(now.means.len())).filter(votes);
        self.deviations.clear();
        self.deviations.extend(chunks.map(|i| (now.means[i] - scale * before.means[i] - offset).abs()));
        MAD * median(&mut self.deviations)
    }
}

/// Weighted sums for a line y over x.
#[derive(Clone, Copy, Default)]
struct Sums {
    w: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Sums {
    fn over(points: &[[f64; 3]], trust: impl Fn(f64, f64) -> f64) -> Sums {
        // Several sums side by side, so that one addition need not wait for another.
        let mut sides = [Sums::default(); 4];
        for points in points.chunks(4) {
            for (side, [x, y, weight]) in sides.iter_mut().zip(points) {
                side.add(*x, *y, weight * trust(*x, *y));
            }
        }
        let mut sums = Sums::default();
        for side in sides {
            sums.w += side.w;
            sums.x += side.x;
            sums.y += side.y;
            sums.xx += side.xx;
            sums.xy += side.xy;
        }
        sums
    }

    fn add(&mut self, x: f64, y: f64, w: f64) {
        self.w += w;
        self.x += w * x;
        self.y += w * y;
        self.xx += w * x * x;
        self.xy += w * x * y;
    }

    /// Variance of x, times the weight.
    fn variance(&self) -> f64 {
        (self.xx - self.x * self.x / self.w.max(f64::MIN_POSITIVE)).max(0.0)
    }

    /// The best line, its scale pulled to one by `ridge`. Unchanged if there is nothing to go by.
    fn line(&self, ridge: f64) -> Exposure {
        let variance = self.variance() + ridge;
        if self.w <= 0.0 || variance <= 0.0 {
            return Exposure::UNCHANGED;
        }
        let (x, y) = (self.x / self.w, self.y / self.w);
        let scale = (self.xy - x * self.y + ridge) / variance;
        Exposure { scale, offset: y - scale * x }
    }
}

/// Geman–McClure's measure of how well a deviation (in standard deviations) is explained: 1 to 0.
fn explained(deviation: f64) -> f64 {
    let weight = 1.0 / (1.0 + deviation * deviation);
    weight * weight
}

/// Whether the exposure explains how both ends of the histogram moved, 0 to 1. Something large and bright that
/// leaves the picture moves one end, and no change of light does.
fn ends_explained(exposure: Exposure, before: &Look, now: &Look) -> f64 {
    let (mut moved, mut left) = (0.0, 0.0);
    for i in (0..4).chain(OUTLINE_LEN - 4..OUTLINE_LEN) {
        moved += (now.outline[i] - before.outline[i]).abs();
        left += (now.outline[i] - exposure.at(before.outline[i])).abs();
    }
    smoothstep(0.0, 0.4, (moved - left) / f64::max(moved, 0.4))
}

fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

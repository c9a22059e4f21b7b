//! Exposure: did the whole picture brighten or dim together, as under auto-exposure, a lamp, or a flicker?
//!
//! A robust line through this frame's chunk means over those of an earlier frame. Things that move disturb some
//! chunks, a change of light moves all of them; where the line fits many chunks and both ends of the histogram
//! much better than "nothing changed" does, the levels may follow it.
//!
//! A camera that pans or shakes moves all of them too. So the fit has a shift of the whole picture beside the
//! exposure (brightness constancy: a shift changes a chunk by its gradient), and so has "nothing changed".

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
const SHIFT_ROUNDS: usize = 6;
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

/// A change of exposure together with a shift of the picture, in chunks.
#[derive(Clone, Copy, Debug)]
struct Model {
    exposure: Exposure,
    shift: [f64; 2],
}

impl Model {
    const UNCHANGED: Model = Model { exposure: Exposure::UNCHANGED, shift: [0.0; 2] };

    /// What the model leaves of a chunk.
    fn residual(&self, point: &Point) -> f64 {
        point.now - self.exposure.at(point.before) - self.shift[0] * point.slope[0] - self.shift[1] * point.slope[1]
    }
}

/// A chunk that counts.
#[derive(Clone, Copy, Debug)]
struct Point {
    before: f64,
    now: f64,
    /// How much the level changes from chunk to chunk, to the right and down.
    slope: [f64; 2],
    weight: f64,
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
#[derive(Clone, Debug)]
pub struct Fitter {
    /// Chunks in a row.
    across: usize,
    points: Vec<Point>,
    deviations: Vec<f64>,
}

impl Fitter {
    /// A fitter for grids with so many chunks `across`.
    pub fn new(across: usize) -> Fitter {
        Fitter { across: across.max(1), points: Vec::new(), deviations: Vec::new() }
    }

    /// Fits the change from one frame to another. `black` is the level that is taken for black before.
    pub fn fit(&mut self, before: &Look, now: &Look, black: f64, nominal: Ends) -> Fit {
        self.gather(before, now, nominal);
        let total: f64 = self.points.iter().map(|point| point.weight).sum();
        let score = |fitter: &Fitter, model: Model| (fitter.score(model, total, before, now), model);
        let better = |a: (f64, Model), b: (f64, Model)| if b.0 > a.0 { b } else { a };
        let mut unchanged = score(self, Model::UNCHANGED);
        let mut best = unchanged;
        if total > 0.0 {
            let starts = [
                self.least_squares().map(|start| (start, 2.0 * self.deviation(start).max(0.15))),
                Some((from_ends(before, now), 4.0 * SIGMA)),
                Some((Exposure::UNCHANGED, 2.0 * SIGMA)),
            ];
            for (start, sigma) in starts.into_iter().flatten() {
                let exposure = self.refine(start, sigma, total, black);
                best = better(best, score(self, Model { exposure, shift: [0.0; 2] }));
            }
            unchanged = better(unchanged, score(self, self.refine_shift(Model::UNCHANGED, total, black, false)));
            for start in [best.1, unchanged.1] {
                best = better(best, score(self, self.refine_shift(start, total, black, true)));
            }
        }
        let (score, Model { exposure, .. }) = best;
        let mut confidence = 0.0;
        if SCALES.contains(&exposure.scale) && score > 0.0 {
            confidence = smoothstep(0.05, 0.3, (score - unchanged.0) / score) * ends_explained(exposure, before, now);
        }
        let residual = self.residual(exposure, before, now);
        Fit { exposure, confidence, residual }
    }

    /// Collects the chunks that tell of exposure: those with votes, and away from the ends of the range, where
    /// clipping and black bars hold them still.
    fn gather(&mut self, before: &Look, now: &Look, nominal: Ends) {
        self.points.clear();
        let inside = |level: f64| smoothstep(0.0, 1.5, (level - nominal.black).min(nominal.white - level));
        let chunks = before.means.len().min(now.means.len());
        let votes = |i: usize| before.weights[i].min(now.weights[i]);
        // Slopes are of both frames together, as if half way between them.
        let level = |i: usize| before.means[i] + now.means[i];
        let slope = |left: Option<usize>, i: usize, right: Option<usize>| {
            let left = left.filter(|left| votes(*left) > 0.0);
            let right = right.filter(|right| *right < chunks && votes(*right) > 0.0);
            let width = f64::from(u8::from(left.is_some()) + u8::from(right.is_some()));
            (level(right.unwrap_or(i)) - level(left.unwrap_or(i))) / (2.0 * width.max(1.0))
        };
        for i in 0..chunks {
            let (x, y) = (before.means[i], now.means[i]);
            let weight = votes(i) * inside(x).min(inside(y));
            if weight > 0.0 {
                let column = i % self.across;
                let across = slope((column > 0).then(|| i - 1), i, (column + 1 < self.across).then_some(i + 1));
                let down = slope(i.checked_sub(self.across), i, Some(i + self.across));
                self.points.push(Point { before: x, now: y, slope: [across, down], weight });
            }
        }
    }

    /// The line of least squares through the chunks, if they differ enough to tell.
    fn least_squares(&self) -> Option<Exposure> {
        let sums = Sums::over(&self.points, |_, _| 1.0);
        (sums.variance() > 0.09 * sums.w).then(|| sums.line(0.0))
    }

    /// Geman–McClure reweighting with an ever stricter idea of what is an outlier; exposure alone.
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

    /// The same with a shift of the picture, with or without exposure.
    fn refine_shift(&self, start: Model, total: f64, black: f64, exposed: bool) -> Model {
        let mut model = start;
        let mut sigma = 4.0 * SIGMA;
        for _ in 0..SHIFT_ROUNDS {
            let tightness = 1.0 / sigma;
            let mut normal = Normal::default();
            for point in &self.points {
                let weight = point.weight * explained(model.residual(point) * tightness);
                normal.add([point.slope[0], point.slope[1], point.before, 1.0], point.now - point.before, weight);
            }
            // Black stays black, and where little speaks for it nothing changes.
            let pivot = PIVOT * total * explained((black - model.exposure.at(black)) * tightness);
            normal.add([0.0, 0.0, black, 1.0], 0.0, pivot);
            for i in 0..3 {
                normal.matrix[i][i] += RIDGE * total;
            }
            let [right, down, scale, offset] = normal.solve(if exposed { 4 } else { 2 });
            let exposure = Exposure { scale: 1.0 + scale, offset };
            model = Model { exposure, shift: [right, down] };
            sigma = (SHRINK * sigma).max(SIGMA);
        }
        model
    }

    /// How much of the picture is explained: chunks, and the outline of the histogram.
    fn score(&self, model: Model, total: f64, before: &Look, now: &Look) -> f64 {
        let share = |point: &Point| point.weight * explained(model.residual(point) / SIGMA);
        let chunks: f64 = self.points.iter().map(share).sum();
        let level = |(x, y): (&f64, &f64)| explained((y - model.exposure.at(*x)) / SIGMA);
        let outline: f64 = before.outline.iter().zip(&now.outline).map(level).sum();
        chunks / total.max(f64::MIN_POSITIVE) + OUTLINE_WEIGHT * outline / OUTLINE_LEN as f64
    }

    fn deviation(&mut self, exposure: Exposure) -> f64 {
        self.deviations.clear();
        self.deviations.extend(self.points.iter().map(|point| (point.now - exposure.at(point.before)).abs()));
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
    fn over(points: &[Point], trust: impl Fn(f64, f64) -> f64) -> Sums {
        // Several sums side by side, so that one addition need not wait for another.
        let mut sides = [Sums::default(); 4];
        for points in points.chunks(4) {
            for (side, Point { before, now, weight, .. }) in sides.iter_mut().zip(points) {
                side.add(*before, *now, weight * trust(*before, *now));
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

/// Normal equations of a weighted fit with four unknowns.
#[derive(Clone, Copy, Default)]
struct Normal {
    /// The upper triangle counts.
    matrix: [[f64; 4]; 4],
    right: [f64; 4],
}

impl Normal {
    fn add(&mut self, row: [f64; 4], y: f64, weight: f64) {
        for i in 0..4 {
            let weighted = weight * row[i];
            for j in i..4 {
                self.matrix[i][j] += weighted * row[j];
            }
            self.right[i] += weighted * y;
        }
    }

    /// The first `unknowns` unknowns, with the others 0: Cholesky's way, leaving out what nothing speaks for.
    fn solve(&self, unknowns: usize) -> [f64; 4] {
        let (mut lower, mut pivots, mut x) = ([[0.0; 4]; 4], [0.0; 4], [0.0; 4]);
        for i in 0..unknowns {
            let mut pivot = self.matrix[i][i];
            for j in 0..i {
                let product: f64 = (0..j).map(|k| lower[i][k] * lower[j][k] * pivots[k]).sum();
                let rest = self.matrix[j][i] - product;
                lower[i][j] = if pivots[j] > 0.0 { rest / pivots[j] } else { 0.0 };
                pivot -= lower[i][j] * lower[i][j] * pivots[j];
            }
            pivots[i] = if pivot > 1e-9 * self.matrix[i][i] { pivot } else { 0.0 };
            x[i] = self.right[i] - (0..i).map(|j| lower[i][j] * x[j]).sum::<f64>();
        }
        for i in (0..unknowns).rev() {
            x[i] = if pivots[i] > 0.0 { x[i] / pivots[i] } else { 0.0 };
            x[i] -= (i + 1..unknowns).map(|j| lower[j][i] * x[j]).sum::<f64>();
        }
        x
    }
}

/// The exposure that takes the ends of the one histogram to those of the other.
fn from_ends(before: &Look, now: &Look) -> Exposure {
    let (low, high) = (1, OUTLINE_LEN - 2);
    let scale = (now.outline[high] - now.outline[low]) / (before.outline[high] - before.outline[low]).max(1.0);
    let scale = scale.clamp(*SCALES.start(), *SCALES.end());
    Exposure { scale, offset: now.outline[low] - scale * before.outline[low] }
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

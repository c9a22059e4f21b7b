//! Exposure: did the whole picture brighten or dim together, as under auto-exposure, a lamp, or a flicker?
//!
//! A robust line through this frame's chunk means over those of an earlier frame. Things that move disturb some
//! chunks, a change of light moves all of them; where the line fits many chunks and both ends of the histogram
//! much better than "nothing changed" does, the levels may follow it.
//!
//! A camera that pans or shakes moves all of them too. So the fit has a shift of the whole picture beside the
//! exposure (brightness constancy: a shift changes a chunk by its gradient), and so has "nothing changed".

use super::look::{Look, OUTLINE_LEN};
use super::normal::{LANES, Lanes, Normal};
use super::smoothstep;
use super::stretch::Ends;

/// Deviation of a chunk mean, in codes, up to which it counts as explained.
const SIGMA: f64 = 0.5;
/// Pulls the scale to one where little speaks against it, in codes² for each chunk.
const RIDGE: f64 = 0.8;
/// Weight, against all chunks, of the observation that black stays black.
const PIVOT: f64 = 0.087;
/// Weight of the histogram's outline in the score, against the chunks.
const OUTLINE_WEIGHT: f64 = 0.5;
/// Rounds of reweighting, and the factor by which the scale of what is an outlier shrinks in each.
const ROUNDS: usize = 8;
/// Rounds at the end that look at all chunks; those before look at one group in [`COARSE`].
const FINE_ROUNDS: usize = 2;
/// Coarse rounds of a fit that starts from one that is good already.
const AGAIN_ROUNDS: usize = 4;
const COARSE: usize = 3;
/// Groups of chunks from which on some may be left out.
const MANY: usize = 60;
/// A round that moves no chunk by more than about so many codes is the last of its kind.
const SETTLED: f64 = 0.01;
/// A start that explains this share of the picture makes the other starts needless.
const PLENTY: f64 = 0.9;
const SHRINK: f64 = 0.65;
/// How much more of the picture a change of exposure must explain than none does, relatively: nothing below the
/// first, fully from the second on. First as long as exposure is steady, then while it is on the move.
const STEADY: (f64, f64) = (0.05, 0.3);
const MOVING: (f64, f64) = (0.015, 0.12);
/// Scales beyond these are no exposure.
const SCALES: std::ops::RangeInclusive<f64> = 0.2..=5.0;
/// How much of the picture a change of exposure must explain at all: below the first it is chance.
const CHANCE: (f64, f64) = (0.04, 0.12);
/// Chunks whose mean lies as far as this from the ends of the range count in full.
const CLEAR: f64 = 1.5;
/// Levels as near as this to white count as clipped: noise is on top of what was clipped.
const CLIPPED: f64 = 1.0;
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

    /// How well the model explains some chunks, with deviations of `sigma` at most.
    #[inline]
    fn explains(&self, points: &Points, centre: f64, sigma: f64) -> Lanes {
        let tightness = (1.0 / sigma) as f32;
        // What is added to the change that no change would be.
        let (scale, offset) = ((self.exposure.scale - 1.0) as f32, (self.exposure.at(centre) - centre) as f32);
        let [right, down] = self.shift.map(|shift| shift as f32);
        let mut explains = [0.0; LANES];
        for (lane, explains) in explains.iter_mut().enumerate() {
            let expected = scale * points.before[lane] + offset;
            let shifted = right * points.right[lane] + down * points.down[lane];
            let deviation = (points.change[lane] - expected - shifted) * tightness;
            let weight = 1.0 / (1.0 + deviation * deviation);
            *explains = weight * weight;
        }
        explains
    }

    /// About how far apart two models put a chunk, in codes.
    fn differs(&self, other: &Model, centre: f64) -> f64 {
        let (a, b) = (self.exposure, other.exposure);
        let moved = |i: usize| (self.shift[i] - other.shift[i]).abs();
        32.0 * (a.scale - b.scale).abs() + (a.at(centre) - b.at(centre)).abs() + 8.0 * (moved(0) + moved(1))
    }
}

/// Chunks that count, some at a time; those that fill up the last have no weight.
#[derive(Clone, Copy, Debug, Default)]
struct Points {
    /// Levels before, less [`Fitter::centre`], which is where single precision is finest.
    before: Lanes,
    /// Levels now, less those before.
    change: Lanes,
    /// How much the level changes from chunk to chunk, to the right and down.
    right: Lanes,
    down: Lanes,
    weight: Lanes,
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
    /// The mean level of the frame before.
    centre: f64,
    points: Vec<Points>,
    deviations: Vec<f64>,
}

impl Fitter {
    /// A fitter for grids with so many chunks `across`.
    pub fn new(across: usize) -> Fitter {
        Fitter { across: across.max(1), centre: 0.0, points: Vec::new(), deviations: Vec::new() }
    }

    /// Fits the change from one frame to another. `black` is the level that is taken for black before.
    /// `alertness` tells how much exposure was on the move of late, 0 to 1.
    pub fn fit(&mut self, before: &Look, now: &Look, black: f64, nominal: Ends, alertness: f64) -> Fit {
        self.gather(before, now, nominal);
        let total: f64 = self.points.iter().flat_map(|points| points.weight).map(f64::from).sum();
        let score = |fitter: &Fitter, model: Model| (fitter.score(model, total, before, now, nominal), model);
        let better = |a: (f64, Model), b: (f64, Model)| if b.0 > a.0 { b } else { a };
        let mut unchanged = score(self, Model::UNCHANGED);
        let mut best = unchanged;
        if total > 0.0 && unchanged.0 < (1.0 - MOVING.0) * (1.0 + OUTLINE_WEIGHT) {
            let refinement = Refinement { points: &self.points, centre: self.centre, total, black };
            let starts = [
                self.least_squares().map(|start| (start, 2.0 * self.spread(start, total))),
                Some((from_ends(before, now), 4.0 * SIGMA)),
                Some((Exposure::UNCHANGED, 2.0 * SIGMA)),
            ];
            for (exposure, sigma) in starts.into_iter().flatten() {
                if best.0 > PLENTY * (1.0 + OUTLINE_WEIGHT) {
                    break;
                }
                let start = Model { exposure, shift: [0.0; 2] };
                best = better(best, score(self, refinement.exposure(start, sigma)));
            }
            unchanged = better(unchanged, score(self, refinement.shift()));
            for start in [best.1, unchanged.1] {
                best = better(best, score(self, refinement.both(start)));
            }
        }
        let (score, Model { exposure, .. }) = best;
        let mut confidence = 0.0;
        if SCALES.contains(&exposure.scale) && score > 0.0 {
            let gained = (score - unchanged.0) / score;
            let least = STEADY.0 + alertness * (MOVING.0 - STEADY.0);
            let enough = STEADY.1 + alertness * (MOVING.1 - STEADY.1);
            confidence = smoothstep(least, enough, gained)
                * smoothstep(CHANCE.0, CHANCE.1, score)
                * ends_explained(exposure, before, now, nominal);
        }
        let residual = self.residual(exposure, before, now);
        Fit { exposure, confidence, residual }
    }

    /// Collects the chunks that tell of exposure: those with votes, and away from the ends of the range, where
    /// clipping and black bars hold them still.
    fn gather(&mut self, before: &Look, now: &Look, nominal: Ends) {
        self.points.clear();
        self.centre = before.mean;
        let inside = |lower: f64, upper: f64| {
            let distance = (lower - nominal.black).min(nominal.white - upper);
            if distance >= CLEAR { 1.0 } else { smoothstep(0.0, CLEAR, distance) }
        };
        let chunks = before.means.len().min(now.means.len());
        let votes = |i: usize| before.weights[i].min(now.weights[i]);
        // Slopes are of both frames together, as if half way between them.
        let level = |i: usize| before.means[i] + now.means[i];
        let slope = |left: Option<usize>, i: usize, right: Option<usize>| {
            let left = left.filter(|left| votes(*left) > 0.0);
            let right = right.filter(|right| *right < chunks && votes(*right) > 0.0);
            let share = if left.is_some() && right.is_some() { 0.25 } else { 0.5 };
            share * (level(right.unwrap_or(i)) - level(left.unwrap_or(i)))
        };
        let mut count = 0;
        for i in 0..chunks {
            let (x, y) = (before.means[i], now.means[i]);
            let weight = votes(i) * inside(x.min(y), x.max(y));
            if weight > 0.0 {
                let column = i % self.across;
                let across = slope((column > 0).then(|| i - 1), i, (column + 1 < self.across).then_some(i + 1));
                let down = slope(i.checked_sub(self.across), i, Some(i + self.across));
                if count % LANES == 0 {
                    self.points.push(Points::default());
                }
                let points = self.points.last_mut().expect("the first point of each group pushes it");
                let lane = count % LANES;
                points.before[lane] = (x - before.mean) as f32;
                points.change[lane] = (y - x) as f32;
                points.right[lane] = across as f32;
                points.down[lane] = down as f32;
                points.weight[lane] = weight as f32;
                count += 1;
            }
        }
    }

    /// The line of least squares through the chunks, if they differ enough to tell.
    fn least_squares(&self) -> Option<Exposure> {
        let mut sums = [[0.0; LANES]; 5];
        for points in &self.points {
            for lane in 0..LANES {
                let weight = points.weight[lane];
                let (before, change) = (points.before[lane], points.change[lane]);
                let terms = [1.0, before, change, before * before, before * change];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| sum[lane] += weight * term);
            }
        }
        let [w, x, y, xx, xy] = sums.map(|sum| sum.into_iter().map(f64::from).sum::<f64>());
        let (x, y) = (x / w, y / w);
        let (variance, covariance) = (xx / w - x * x, xy / w - x * y);
        let scale = 1.0 + covariance / variance;
        let before = x + self.centre;
        (variance > 0.09).then_some(Exposure { scale, offset: before + y - scale * before })
    }

    /// Mean deviation of the chunks from an exposure, at least the [`SIGMA`] that is normal.
    fn spread(&self, exposure: Exposure, total: f64) -> f64 {
        let (scale, offset) = ((exposure.scale - 1.0) as f32, (exposure.at(self.centre) - self.centre) as f32);
        let deviation = |points: &Points| -> f64 {
            let deviation = |i: usize| (points.change[i] - scale * points.before[i] - offset).abs();
            (0..LANES).map(|i| f64::from(points.weight[i] * deviation(i))).sum()
        };
        (self.points.iter().map(deviation).sum::<f64>() / total).max(SIGMA)
    }

    /// How much of the picture is explained: chunks, and the outline of the histogram.
    fn score(&self, model: Model, total: f64, before: &Look, now: &Look, nominal: Ends) -> f64 {
        let mut chunks = [0.0; LANES];
        for points in &self.points {
            let explains = model.explains(points, self.centre, SIGMA);
            (0..LANES).for_each(|lane| chunks[lane] += points.weight[lane] * explains[lane]);
        }
        let level = |(x, y): (&f64, &f64)| explained((y - nominal.clamp(model.exposure.at(*x))) / SIGMA);
        let outline: f64 = before.outline.iter().zip(&now.outline).map(level).sum();
        let chunks: f64 = chunks.iter().map(|sum: &f32| f64::from(*sum)).sum();
        chunks / total.max(f64::MIN_POSITIVE) + OUTLINE_WEIGHT * outline / OUTLINE_LEN as f64
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

/// Geman–McClure reweighting with an ever stricter idea of what is an outlier.
struct Refinement<'a> {
    points: &'a [Points],
    centre: f64,
    total: f64,
    black: f64,
}

impl Refinement<'_> {
    /// Exposure alone, for a start.
    fn exposure(&self, start: Model, sigma: f64) -> Model {
        let row = |points: &Points| [points.before, [1.0; LANES]];
        let model = |[scale, change]: [f64; 2]| Model { exposure: self.around_centre(scale, change), shift: [0.0; 2] };
        self.refine(start, sigma, (ROUNDS, 0), [RIDGE, 0.0], [self.black - self.centre, 1.0], row, model)
    }

    /// A shift of the picture alone.
    fn shift(&self) -> Model {
        let row = |points: &Points| [points.right, points.down];
        let model = |shift: [f64; 2]| Model { exposure: Exposure::UNCHANGED, shift };
        self.refine(Model::UNCHANGED, 4.0 * SIGMA, (ROUNDS, 0), [RIDGE; 2], [0.0; 2], row, model)
    }

    /// Exposure and shift together.
    fn both(&self, start: Model) -> Model {
        let row = |points: &Points| [points.right, points.down, points.before, [1.0; LANES]];
        let model = |[right, down, scale, change]: [f64; 4]| Model {
            exposure: self.around_centre(scale, change),
            shift: [right, down],
        };
        let (ridge, pivot) = ([RIDGE, RIDGE, RIDGE, 0.0], [0.0, 0.0, self.black - self.centre, 1.0]);
        self.refine(start, 4.0 * SIGMA, (AGAIN_ROUNDS, FINE_ROUNDS), ridge, pivot, row, model)
    }

    /// The exposure that changes the level at the centre by `change`, and others by `scale` for each code from it.
    fn around_centre(&self, scale: f64, change: f64) -> Exposure {
        Exposure { scale: 1.0 + scale, offset: change - scale * self.centre }
    }

    /// Rounds on some of the chunks, then on all. `ridge` is the pull of each unknown to 0, `pivot` the row that says that black stays black.
    #[allow(clippy::too_many_arguments)]
    fn refine<const N: usize>(
        &self,
        start: Model,
        mut sigma: f64,
        (coarse, fine): (usize, usize),
        ridge: [f64; N],
        pivot: [f64; N],
        row: impl Fn(&Points) -> [Lanes; N],
        model: impl Fn([f64; N]) -> Model,
    ) -> Model {
        let mut found = start;
        let sparse = if self.points.len() >= MANY { COARSE } else { 1 };
        let mut round = 0;
        while round < coarse + fine {
            let is_coarse = round < coarse;
            let step = if is_coarse { sparse } else { 1 };
            let total = self.total / step as f64;
            let mut normal = Normal::default();
            let mut trusted = [0.0; LANES];
            for points in self.points.iter().step_by(step) {
                let mut weight = found.explains(points, self.centre, sigma);
                for lane in 0..LANES {
                    weight[lane] *= points.weight[lane];
                    trusted[lane] += weight[lane];
                }
                normal.add(&row(points), &points.change, &weight);
            }
            let trusted: f64 = trusted.iter().map(|sum: &f32| f64::from(*sum)).sum();
            normal.pull(ridge.map(|ridge| ridge * trusted));
            let trust = explained((self.black - found.exposure.at(self.black)) / sigma);
            normal.pin(pivot, PIVOT * total * trust);
            let better = model(normal.solve());
            let is_settled = sigma <= SIGMA && better.differs(&found, self.centre) < SETTLED;
            found = better;
            sigma = (SHRINK * sigma).max(SIGMA);
            round = match (is_settled, is_coarse) {
                (false, _) => round + 1,
                (true, true) => coarse,
                (true, false) => coarse + fine,
            };
        }
        found
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
#[inline]
fn explained(deviation: f64) -> f64 {
    let weight = 1.0 / (1.0 + deviation * deviation);
    weight * weight
}

/// Whether the exposure explains how both ends of the histogram moved, 0 to 1. Something large and bright that
/// leaves the picture moves one end, and no change of light does.
fn ends_explained(exposure: Exposure, before: &Look, now: &Look, nominal: Ends) -> f64 {
    let (mut moved, mut left) = (0.0, 0.0);
    for i in (0..4).chain(OUTLINE_LEN - 4..OUTLINE_LEN) {
        let (before, now) = (before.outline[i], now.outline[i]);
        // What is clipped in both frames may have moved beyond the range, and tells nothing.
        if now >= nominal.white - CLIPPED && (now - before).abs() < SIGMA {
            continue;
        }
        moved += (now - before).abs();
        left += (now - nominal.clamp(exposure.at(before))).abs();
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

//! Exposure: did the whole picture brighten or dim together, as under auto-exposure, a lamp, or a flicker?
//!
//! A robust line through this frame's chunk means over those of an earlier frame. Things that move disturb some
//! chunks, a change of light moves all of them; where the line fits many chunks and both ends of the histogram
//! much better than "nothing changed" does, the levels may follow it.
//!
//! A camera that pans or shakes moves all of them too. So the fit has a shift of the whole picture beside the
//! exposure (brightness constancy: a shift changes a chunk by its gradient), and so has "nothing changed".

use super::look::{Look, OUTLINE_LEN};
use super::normal::{Lanes, Normal, ONE, sums};
use super::pairs::{Block, Pairs};
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
/// Rounds at the end that look at all chunks; those before look at a sample, one block in [`COARSE`].
const FINE_ROUNDS: usize = 2;
/// Coarse rounds of a fit that starts from one that is good already.
const AGAIN_ROUNDS: usize = 4;
const COARSE: usize = 3;
/// Blocks of chunks from which on some may be left out.
const MANY: usize = 60;
/// A round that moves no chunk by more than about so many codes is the last of its kind.
const SETTLED: f64 = 0.01;
/// Starts that are nearer than this to each other, in about as many codes, lead to the same end.
const NEAR: f64 = 0.1;
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

    /// Tells the change of each chunk that the model leaves.
    fn leaves(self, centre: f64) -> impl Fn(&Block) -> Lanes {
        // What is added to the change that no change would be.
        let (scale, offset) = ((self.exposure.scale - 1.0) as f32, (self.exposure.at(centre) - centre) as f32);
        let [right, down] = self.shift.map(|shift| shift as f32);
        let [scale, offset, right, down] = [scale, offset, right, down].map(Lanes::splat);
        move |block| block.change - (scale * block.before + offset) - (right * block.right + down * block.down)
    }

    /// Tells how much each chunk is to be trusted: its weight, times how well the model explains it where deviations
    /// are of `sigma` at most.
    fn trusts(self, centre: f64, sigma: f64) -> impl Fn(&Block) -> Lanes {
        let leaves = self.leaves(centre);
        let tightness = Lanes::splat((1.0 / sigma) as f32);
        move |block| {
            let deviation = leaves(block) * tightness;
            let explains = ONE / (ONE + deviation * deviation);
            explains * explains * block.weight
        }
    }

    /// About how far apart two models put a chunk, in codes.
    fn differs(&self, other: &Model, centre: f64) -> f64 {
        let (a, b) = (self.exposure, other.exposure);
        let moved = |i: usize| (self.shift[i] - other.shift[i]).abs();
        32.0 * (a.scale - b.scale).abs() + (a.at(centre) - b.at(centre)).abs() + 8.0 * (moved(0) + moved(1))
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
    /// Chunks in a row.
    across: usize,
    pairs: Pairs,
    /// Deviations are positive, so that their bits are ordered as they are.
    deviations: Vec<u32>,
}

impl Fitter {
    /// A fitter for grids with so many chunks `across`.
    pub fn new(across: usize) -> Fitter {
        Fitter { across: across.max(1), ..Fitter::default() }
    }

    /// Fits the change from one frame to another. `black` is the level that is taken for black before.
    /// `alertness` tells how much exposure was on the move of late, 0 to 1.
    pub fn fit(&mut self, before: &Look, now: &Look, black: f64, nominal: Ends, alertness: f64) -> Fit {
        self.pairs.gather(before, now, self.across, nominal);
        let pairs = &self.pairs;
        let [total] = sums(pairs.blocks.iter().map(|block| [block.weight]));
        let scorer = Scorer { pairs, total, outlines: (&before.outline, &now.outline), nominal };
        let better = |a: (f64, Model), b: (f64, Model)| if b.0 > a.0 { b } else { a };
        let mut unchanged = scorer.score(Model::UNCHANGED);
        let mut best = unchanged;
        if total > 0.0 && unchanged.0 < (1.0 - MOVING.0) * (1.0 + OUTLINE_WEIGHT) {
            let every = if pairs.blocks.len() >= MANY { COARSE } else { 1 };
            let refinement = Refinement { pairs, every, total, black };
            let starts = [
                least_squares(pairs).map(|start| (start, 2.0 * spread(start, pairs, total))),
                Some((from_ends(before, now), 4.0 * SIGMA)),
                Some((Exposure::UNCHANGED, 2.0 * SIGMA)),
            ];
            let mut last: Option<Model> = None;
            for (exposure, sigma) in starts.into_iter().flatten() {
                if best.0 > PLENTY * (1.0 + OUTLINE_WEIGHT) {
                    break;
                }
                let start = Model { exposure, shift: [0.0; 2] };
                // The way from there leads to what was found already.
                if last.is_some_and(|last| last.differs(&start, pairs.centre) < NEAR) {
                    continue;
                }
                let found = refinement.exposure(start, sigma);
                best = better(best, scorer.score(found));
                last = Some(found);
            }
            let found = refinement.shift();
            unchanged = better(unchanged, scorer.score(found));
            let starts = [best.1, unchanged.1];
            let apart = if starts[0].differs(&starts[1], pairs.centre) < NEAR { 1 } else { 2 };
            for start in &starts[..apart] {
                let found = refinement.both(*start);
                best = better(best, scorer.score(found));
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

    /// What the exposure, within what is plausible, leaves of the change of all chunks that voted.
    fn residual(&mut self, exposure: Exposure, before: &Look, now: &Look) -> f64 {
        let scale = exposure.scale.clamp(*SCALES.start(), *SCALES.end());
        let offset = exposure.offset + (exposure.scale - scale) * before.mean;
        let (scale, offset) = (scale as f32, offset as f32);
        // Chunks without a vote come last.
        let deviation = |((before, now), (weight, other)): ((&f32, &f32), (&f32, &f32))| {
            let deviation = (now - scale * before - offset).abs().to_bits();
            if weight.min(*other) > 0.0 { deviation } else { u32::MAX }
        };
        let chunks = before.means.iter().zip(&now.means).zip(before.weights.iter().zip(&now.weights));
        self.deviations.clear();
        self.deviations.extend(chunks.map(deviation));
        let voters = self.deviations.iter().filter(|deviation| **deviation != u32::MAX).count();
        MAD * median(&mut self.deviations, voters)
    }
}

/// Scores models.
struct Scorer<'a> {
    pairs: &'a Pairs,
    total: f64,
    outlines: (&'a [f64; OUTLINE_LEN], &'a [f64; OUTLINE_LEN]),
    nominal: Ends,
}

impl Scorer<'_> {
    /// How much of the picture a model explains: chunks, and the outline of the histogram.
    fn score(&self, model: Model) -> (f64, Model) {
        let trusts = model.trusts(self.pairs.centre, SIGMA);
        let [trusted] = sums(self.pairs.blocks.iter().map(|block| [trusts(block)]));
        let level = |(x, y): (&f64, &f64)| explained((y - self.nominal.clamp(model.exposure.at(*x))) / SIGMA);
        let outline: f64 = self.outlines.0.iter().zip(self.outlines.1).map(level).sum();
        let chunks = trusted / self.total.max(f64::MIN_POSITIVE);
        (chunks + OUTLINE_WEIGHT * outline / OUTLINE_LEN as f64, model)
    }
}

/// Geman–McClure reweighting with an ever stricter idea of what is an outlier.
struct Refinement<'a> {
    pairs: &'a Pairs,
    /// Of so many blocks coarse rounds look at one.
    every: usize,
    total: f64,
    black: f64,
}

impl Refinement<'_> {
    /// Exposure alone, for a start.
    fn exposure(&self, start: Model, sigma: f64) -> Model {
        let row = |block: &Block| [block.before, ONE];
        let model = |[scale, change]: [f64; 2]| Model { exposure: self.around_centre(scale, change), shift: [0.0; 2] };
        let pivot = [self.black - self.pairs.centre, 1.0];
        self.refine(start, sigma, (ROUNDS, 0), [RIDGE, 0.0], pivot, row, model)
    }

    /// A shift of the picture alone.
    fn shift(&self) -> Model {
        let row = |block: &Block| [block.right, block.down];
        let model = |shift: [f64; 2]| Model { exposure: Exposure::UNCHANGED, shift };
        self.refine(Model::UNCHANGED, 4.0 * SIGMA, (ROUNDS, 0), [RIDGE; 2], [0.0; 2], row, model)
    }

    /// Exposure and shift together.
    fn both(&self, start: Model) -> Model {
        let row = |block: &Block| [block.right, block.down, block.before, ONE];
        let model = |[right, down, scale, change]: [f64; 4]| Model {
            exposure: self.around_centre(scale, change),
            shift: [right, down],
        };
        let (ridge, pivot) = ([RIDGE, RIDGE, RIDGE, 0.0], [0.0, 0.0, self.black - self.pairs.centre, 1.0]);
        self.refine(start, 4.0 * SIGMA, (AGAIN_ROUNDS, FINE_ROUNDS), ridge, pivot, row, model)
    }

    /// The exposure that changes the level at the centre by `change`, and others by `scale` for each code from it.
    fn around_centre(&self, scale: f64, change: f64) -> Exposure {
        Exposure { scale: 1.0 + scale, offset: change - scale * self.pairs.centre }
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
        row: impl Fn(&Block) -> [Lanes; N],
        model: impl Fn([f64; N]) -> Model,
    ) -> Model {
        let mut found = start;
        let mut round = 0;
        while round < coarse + fine {
            let is_coarse = round < coarse;
            let every = if is_coarse { self.every } else { 1 };
            let trusts = found.trusts(self.pairs.centre, sigma);
            let blocks = self.pairs.blocks.iter().step_by(every);
            let mut normal = Normal::new(blocks.map(|block| (row(block), block.change, trusts(block))));
            normal.pull(ridge.map(|ridge| ridge * normal.weight));
            let trust = explained((self.black - found.exposure.at(self.black)) / sigma);
            normal.pin(pivot, PIVOT * self.total / every as f64 * trust);
            let better = model(normal.solve());
            let is_settled = sigma <= SIGMA && better.differs(&found, self.pairs.centre) < SETTLED;
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

/// The line of least squares through the chunks, if they differ enough to tell.
fn least_squares(pairs: &Pairs) -> Option<Exposure> {
    let [w, x, y, xx, xy] = sums(pairs.blocks.iter().map(|Block { before, change, weight, .. }| {
        let weighted = *weight * *before;
        [*weight, weighted, *weight * *change, weighted * *before, weighted * *change]
    }));
    let (x, y) = (x / w, y / w);
    let (variance, covariance) = (xx / w - x * x, xy / w - x * y);
    let scale = 1.0 + covariance / variance;
    let before = x + pairs.centre;
    (variance > 0.09).then_some(Exposure { scale, offset: before + y - scale * before })
}

/// Mean deviation of the chunks from an exposure, at least the [`SIGMA`] that is normal.
fn spread(exposure: Exposure, pairs: &Pairs, total: f64) -> f64 {
    let leaves = Model { exposure, shift: [0.0; 2] }.leaves(pairs.centre);
    let [sum] = sums(pairs.blocks.iter().map(|block| [block.weight * leaves(block).abs()]));
    (sum / total).max(SIGMA)
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

/// The middle one of the least `count` values, which are the bits of floats.
fn median(values: &mut [u32], count: usize) -> f64 {
    if count == 0 {
        return 0.0;
    }
    f64::from(f32::from_bits(*values.select_nth_unstable(count / 2).1))
}

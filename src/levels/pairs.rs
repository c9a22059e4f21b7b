//! Pairs: the chunks of two frames put together, for the exposure fit.

use super::look::Look;
use super::stretch::Ends;

/// Chunks whose mean lies as far as this from the ends of the range count in full.
const CLEAR: f32 = 1.5;
/// Pairs that follow each other in a sample.
const GROUP: usize = 4;

/// Columns of as many numbers as chunks count, in the order of the grid.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// The mean level of the frame before.
    pub centre: f64,
    /// Levels before, less the centre, which is where single precision is finest.
    pub before: Vec<f32>,
    /// Levels now, less those before.
    pub change: Vec<f32>,
    /// How much the level changes from chunk to chunk, to the right and down.
    pub right: Vec<f32>,
    pub down: Vec<f32>,
    pub weight: Vec<f32>,
    /// Working memory: how much each chunk votes, and its levels in both frames together.
    votes: Vec<f32>,
    levels: Vec<f32>,
}

impl Pairs {
    /// Collects the chunks that tell of exposure, of which there are so many `across`: those with votes, and away
    /// from the ends of the range, where clipping and black bars hold them still.
    pub fn gather(&mut self, before: &Look, now: &Look, across: usize, nominal: Ends) {
        self.centre = before.mean;
        let means = || before.means.iter().zip(&now.means);
        self.votes.clear();
        self.votes.extend(before.weights.iter().zip(&now.weights).map(|(before, now)| before.min(*now)));
        // Slopes are of both frames together, as if half way between them.
        self.levels.clear();
        self.levels.extend(means().map(|(before, now)| before + now));
        let chunks = self.levels.len();
        self.columns().into_iter().for_each(|column| column.resize(chunks, 0.0));

        let [centre, black, white] = [before.mean, nominal.black, nominal.white].map(|level| level as f32);
        self.before.iter_mut().zip(&before.means).for_each(|(column, level)| *column = level - centre);
        self.change.iter_mut().zip(means()).for_each(|(column, (before, now))| *column = now - before);
        for ((weight, votes), (x, y)) in self.weight.iter_mut().zip(&self.votes).zip(means()) {
            let distance = (x.min(*y) - black).min(white - x.max(*y));
            let clear = (distance * (1.0 / CLEAR)).clamp(0.0, 1.0);
            *weight = votes * (clear * clear * (3.0 - 2.0 * clear));
        }
        let rows = self.votes.chunks(across).zip(self.levels.chunks(across));
        rows.zip(self.right.chunks_mut(across)).for_each(|((votes, levels), right)| slopes(votes, levels, 1, right));
        slopes(&self.votes, &self.levels, across, &mut self.down);
        if !self.weight.iter().all(|weight| *weight > 0.0) {
            self.drop_weightless();
        }
    }

    /// Pairs, in groups of those that a [`sample`](Pairs::sample) takes together.
    pub fn groups(&self) -> usize {
        self.weight.len().div_ceil(GROUP)
    }

    /// Becomes a sample of the `whole`: one of so many groups.
    pub fn sample(&mut self, whole: &Pairs, every: usize) {
        self.centre = whole.centre;
        let all = [&whole.before, &whole.change, &whole.right, &whole.down, &whole.weight];
        for (column, all) in self.columns().into_iter().zip(all) {
            column.clear();
            all.chunks(GROUP).step_by(every).for_each(|group| column.extend_from_slice(group));
        }
    }

    fn columns(&mut self) -> [&mut Vec<f32>; 5] {
        [&mut self.before, &mut self.change, &mut self.right, &mut self.down, &mut self.weight]
    }

    fn drop_weightless(&mut self) {
        let mut kept = 0;
        for i in 0..self.weight.len() {
            if self.weight[i] > 0.0 {
                self.columns().into_iter().for_each(|column| column[kept] = column[i]);
                kept += 1;
            }
        }
        self.columns().into_iter().for_each(|column| column.truncate(kept));
    }
}

/// How much the levels change from each to the next in steps of `step`, by those on either side that vote.
fn slopes(votes: &[f32], levels: &[f32], step: usize, slopes: &mut [f32]) {
    // Of one without a vote, or beyond the ends, the vote is 0.
    let slope = |level: f32, before: (f32, f32), after: (f32, f32)| {
        let known = |(votes, other): (f32, f32)| if votes > 0.0 { other } else { level };
        let share = if before.0.min(after.0) > 0.0 { 0.25 } else { 0.5 };
        share * (known(after) - known(before))
    };
    let count = levels.len();
    let at = |i: Option<usize>| i.filter(|i| *i < count).map_or((0.0, 0.0), |i| (votes[i], levels[i]));
    let inner = step.min(count)..count.saturating_sub(step).max(step.min(count));
    for i in (0..inner.start).chain(inner.end..count) {
        slopes[i] = slope(levels[i], at(i.checked_sub(step)), at(Some(i + step)));
    }
    // Those with neighbours on both sides, without a look at where the ends are.
    let before = votes.iter().zip(levels);
    let after = votes.iter().zip(levels).skip(2 * step);
    for (((own, level), before), after) in slopes[inner.clone()].iter_mut().zip(&levels[inner]).zip(before).zip(after) {
        *own = slope(*level, (*before.0, *before.1), (*after.0, *after.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOMINAL: Ends = Ends { black: 16.0, white: 235.0 };

    fn look(means: &[f32], weights: &[f32]) -> Look {
        Look { means: means.to_vec(), weights: weights.to_vec(), mean: 100.0, ..Look::new() }
    }

    #[test]
    fn slopes_are_taken_between_neighbours_that_vote() {
        let (votes, levels) = ([1.0, 1.0, 0.0, 1.0, 1.0], [10.0, 14.0, 99.0, 30.0, 38.0]);
        let mut found = [0.0; 5];
        slopes(&votes, &levels, 1, &mut found);
        assert_eq!(found, [2.0, 2.0, 4.0, 4.0, 4.0]);
        slopes(&votes, &levels, 2, &mut found);
        assert_eq!(found, [0.0, 8.0, 7.0, 8.0, 0.0]);
        slopes(&votes, &levels, 7, &mut found);
        assert_eq!(found, [0.0; 5]);
    }

    #[test]
    fn chunks_without_votes_or_at_the_ends_of_the_range_are_left_out() {
        let mut pairs = Pairs::default();
        let before = look(&[100.0, 120.0, 16.0, 140.0, 234.25, 60.0], &[1.0, 1.0, 1.0, 0.0, 1.0, 0.5]);
        let now = look(&[101.0, 122.0, 90.0, 140.0, 200.0, 63.0], &[1.0; 6]);
        pairs.gather(&before, &now, 3, NOMINAL);
        assert_eq!(pairs.before, [0.0, 20.0, 134.25, -40.0]);
        assert_eq!(pairs.change, [1.0, 2.0, -34.25, 3.0]);
        assert_eq!(pairs.weight, [1.0, 1.0, 0.5, 0.5]);
        assert_eq!(pairs.right[..2], [20.5, -23.75]);
        // Below the first chunk is one that does not vote.
        assert_eq!(pairs.down, [0.0, 96.125, 96.125, 8.5]);
    }

    #[test]
    fn a_sample_has_one_of_so_many_groups() {
        let (mut pairs, mut sample) = (Pairs::default(), Pairs::default());
        let means: Vec<f32> = (0..30u8).map(|i| 40.0 + f32::from(i)).collect();
        pairs.gather(&look(&means, &[1.0; 30]), &look(&means, &[1.0; 30]), 6, NOMINAL);
        sample.sample(&pairs, 3);
        let places: Vec<f32> = sample.before.iter().map(|level| level + 60.0).collect();
        assert_eq!(places, [0.0, 1.0, 2.0, 3.0, 12.0, 13.0, 14.0, 15.0, 24.0, 25.0, 26.0, 27.0]);
        assert_eq!((pairs.groups(), sample.weight.len()), (8, 12));
    }
}

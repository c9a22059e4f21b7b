//! Pairs: the chunks of two frames put together, for the exposure fit.

use super::look::Look;
use super::normal::{LANES, Lanes};
use super::stretch::Ends;

/// Chunks whose mean lies as far as this from the ends of the range count in full.
const CLEAR: f32 = 1.5;

/// A few pairs that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// Levels before, less the centre, which is where single precision is finest.
    pub before: Lanes,
    /// Levels now, less those before.
    pub change: Lanes,
    /// How much the level changes from chunk to chunk, to the right and down.
    pub right: Lanes,
    pub down: Lanes,
    /// 0 where the last block is not full.
    pub weight: Lanes,
}

/// The chunks that count, in the order of the grid.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// The mean level of the frame before.
    pub centre: f64,
    pub blocks: Vec<Block>,
    /// Working memory: how much each chunk votes, its levels in both frames together, and the columns of the blocks.
    votes: Vec<f32>,
    levels: Vec<f32>,
    columns: [Vec<f32>; 5],
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
        self.columns.iter_mut().for_each(|column| column.resize(chunks, 0.0));
        let [level, change, right, down, weight] = &mut self.columns;

        let [centre, black, white] = [before.mean, nominal.black, nominal.white].map(|level| level as f32);
        level.iter_mut().zip(&before.means).for_each(|(column, level)| *column = level - centre);
        change.iter_mut().zip(means()).for_each(|(column, (before, now))| *column = now - before);
        for ((weight, votes), (x, y)) in weight.iter_mut().zip(&self.votes).zip(means()) {
            let distance = (x.min(*y) - black).min(white - x.max(*y));
            let clear = (distance * (1.0 / CLEAR)).clamp(0.0, 1.0);
            *weight = votes * (clear * clear * (3.0 - 2.0 * clear));
        }
        let rows = self.votes.chunks(across).zip(self.levels.chunks(across));
        rows.zip(right.chunks_mut(across)).for_each(|((votes, levels), right)| slopes(votes, levels, 1, right));
        slopes(&self.votes, &self.levels, across, down);
        self.fill_blocks();
    }

    fn fill_blocks(&mut self) {
        let pairs = self.levels.len();
        self.columns.iter_mut().for_each(|column| column.resize(pairs.next_multiple_of(LANES), 0.0));
        let [before, change, right, down, weight] = self.columns.each_ref().map(|column| column.as_chunks::<LANES>().0);
        let columns = before.iter().zip(change).zip(right.iter().zip(down)).zip(weight);
        let weighty = columns.filter(|(_, weight)| **weight != [0.0; LANES]);
        self.blocks.clear();
        self.blocks.extend(weighty.map(|(((before, change), (right, down)), weight)| Block {
            before: Lanes::new(*before),
            change: Lanes::new(*change),
            right: Lanes::new(*right),
            down: Lanes::new(*down),
            weight: Lanes::new(*weight),
        }));
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
    fn chunks_without_votes_or_at_the_ends_of_the_range_weigh_nothing() {
        let mut pairs = Pairs::default();
        let before = look(&[100.0, 120.0, 16.0, 140.0, 234.25, 60.0], &[1.0, 1.0, 1.0, 0.0, 1.0, 0.5]);
        let now = look(&[101.0, 122.0, 90.0, 140.0, 200.0, 63.0], &[1.0; 6]);
        pairs.gather(&before, &now, 3, NOMINAL);
        let column = |of: fn(&Block) -> Lanes| {
            let blocks = pairs.blocks.iter();
            blocks.flat_map(|block| of(block).to_array()).collect::<Vec<_>>()
        };
        let (before, change, weight) =
            (column(|block| block.before), column(|block| block.change), column(|block| block.weight));
        let (right, down) = (column(|block| block.right), column(|block| block.down));
        assert_eq!(weight, [1.0, 1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0]);
        assert_eq!((&before[..2], &before[4..6]), (&[0.0, 20.0][..], &[134.25, -40.0][..]));
        assert_eq!((&change[..2], &change[4..6]), (&[1.0, 2.0][..], &[-34.25, 3.0][..]));
        assert_eq!(right[..2], [20.5, -23.75]);
        // Below the first chunk is one that does not vote.
        assert_eq!((&down[..2], &down[4..6]), (&[0.0, 96.125][..], &[96.125, 8.5][..]));
    }

    #[test]
    fn blocks_without_weight_are_left_out_and_one_that_is_not_full_is_filled_with_nothing() {
        let mut pairs = Pairs::default();
        // The second time memory is used again.
        for (chunks, last) in [(9, [1.0, 0.0, 0.0, 0.0]), (6, [1.0, 1.0, 0.0, 0.0])] {
            let means: Vec<f32> = (0..chunks).map(|i| if i < 4 { 16.0 } else { 40.0 + i as f32 }).collect();
            let look = look(&means, &vec![1.0; chunks]);
            pairs.gather(&look, &look, 3, NOMINAL);
            assert_eq!(pairs.blocks.len(), chunks.div_ceil(LANES) - 1);
            assert_eq!(pairs.blocks.last().map(|block| block.weight.to_array()), Some(last));
        }
    }
}

//! What is measured on a frame.

/// Luma sum and number of voting pixels of one chunk of the [grid](crate::grid::Grid).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Sum of the luma of the pixels that vote, in bins.
    pub sum: u32,
    /// Pixels that vote: all but fully transparent ones.
    pub count: u32,
}

/// Histogram and chunk sums of one frame. Both backends give exactly the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Voting pixels at each luma code; of more than 10 bits a bin takes the codes that share the upper ten, see
    /// [`Range::bins`](crate::frame::Range::bins).
    pub luma: Vec<u32>,
    /// The chunks, row by row.
    pub chunks: Vec<Chunk>,
}

impl Statistics {
    /// Statistics of a frame without a vote, of the right shape.
    pub fn empty(bins: usize, chunks: usize) -> Statistics {
        Statistics { luma: vec![0; bins], chunks: vec![Chunk::default(); chunks] }
    }

    /// Pixels that voted.
    pub fn pixels(&self) -> u64 {
        self.luma.iter().map(|count| u64::from(*count)).sum()
    }
}

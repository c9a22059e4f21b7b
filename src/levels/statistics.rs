//! What is measured on a frame.

/// Luma sum and number of voting pixels of one chunk of the [grid](crate::grid::Grid).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Sum of the luma of the pixels that vote, in bins.
    pub sum: u32,
    /// Pixels that vote: all but fully transparent ones.
    pub count: u32,
}

/// Tables of [`Statistics::channels`].
pub const CHANNELS: usize = 4;

/// Histogram and chunk sums of one frame. Both backends give exactly the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Voting pixels at each luma code; of more than 10 bits a bin takes the codes that share the upper ten, see
    /// [`Range::bins`](crate::frame::Range::bins).
    pub luma: Vec<u32>,
    /// The chunks, row by row.
    pub chunks: Vec<Chunk>,
    /// Sites at each code of their mean luma, and of R, G and B in luma's codes: where chroma is subsampled a site is
    /// the pixels that share a sample, else a pixel. Of very large frames some rows of sites are counted. Empty unless
    /// they were asked for, and of grey formats.
    pub channels: [Vec<u32>; CHANNELS],
    /// Sums of R, G and B, in bins, of the sites at each code of their mean luma. Empty as `channels` are.
    pub colours: [Vec<u32>; 3],
}

impl Statistics {
    /// Statistics of a frame without a vote, of the right shape.
    pub fn empty(bins: usize, chunks: usize) -> Statistics {
        Statistics { luma: vec![0; bins], chunks: vec![Chunk::default(); chunks], ..Statistics::default() }
    }

    /// Empties the tables of the channels.
    pub fn forget_channels(&mut self) {
        self.channels.iter_mut().chain(&mut self.colours).for_each(Vec::clear);
    }

    /// Pixels that voted.
    pub fn pixels(&self) -> u64 {
        self.luma.iter().map(|count| u64::from(*count)).sum()
    }
}

//! What is kept of a frame to compare the next one with.

use super::points::Distribution;
use super::statistics::Chunk;
use super::stretch::Ends;

/// Number of quantiles that the exposure fit looks at, see [`OUTLINE`].
pub const OUTLINE_LEN: usize = 15;

/// The shares whose quantiles outline the histogram, dense at both ends, which is where levels are decided.
pub const OUTLINE: [f64; OUTLINE_LEN] =
    [0.0003, 0.001, 0.005, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98, 0.995, 0.999, 0.9997];

/// Samples of the quantile function that equalize remembers: the middles of equal shares.
pub const QUANTILES: usize = 64;

/// One frame as the decision sees it. Levels are in 8-bit codes.
#[derive(Clone, Debug)]
pub struct Look {
    /// Mean level of each chunk; of no meaning where its weight is 0. Single precision tells levels apart that lie a
    /// few hundred-thousandths of a code from each other.
    pub means: Vec<f32>,
    /// Share of a chunk that voted, against the fullest chunk.
    pub weights: Vec<f32>,
    pub outline: [f64; OUTLINE_LEN],
    pub quantiles: [f64; QUANTILES],
    /// The kept darkest and brightest level.
    pub ends: Ends,
    /// Mean level.
    pub mean: f64,
}

impl Look {
    pub fn new() -> Look {
        let ends = Ends { black: 0.0, white: 0.0 };
        let (means, weights) = (Vec::new(), Vec::new());
        Look { means, weights, outline: [0.0; OUTLINE_LEN], quantiles: [0.0; QUANTILES], ends, mean: 0.0 }
    }

    /// Takes a frame in, of which the chunks vote that `speaks` says. `unit` is bins for one 8-bit code; the outermost
    /// `clip` shares are let go.
    pub fn fill(
        &mut self,
        distribution: &Distribution,
        chunks: &[Chunk],
        speaks: &[bool],
        unit: f64,
        clip: (f64, f64),
    ) {
        self.outline = distribution.quantiles(OUTLINE);
        self.quantiles = distribution.quantiles(std::array::from_fn(|i| (i as f64 + 0.5) / QUANTILES as f64));
        self.ends = ends(distribution, clip);
        self.mean = distribution.mean();
        let fullest = chunks.iter().map(|chunk| chunk.count).max().unwrap_or(0).max(1);
        let unit = unit as f32;
        self.means.clear();
        self.means.extend(chunks.iter().map(|chunk| chunk.sum as f32 / (chunk.count.max(1) as f32 * unit)));
        self.weights.clear();
        self.weights.extend(chunks.iter().map(|chunk| chunk.count as f32 / fullest as f32));
        let silent = self.weights.iter_mut().zip(speaks).filter(|(_, speaks)| !**speaks);
        silent.for_each(|(weight, _)| *weight = 0.0);
    }
}

/// The ends that are left when the outermost `clip` shares of the pixels are let go.
pub fn ends(distribution: &Distribution, clip: (f64, f64)) -> Ends {
    let (black, white) = (distribution.quantile(clip.0), distribution.quantile(1.0 - clip.1));
    Ends { black, white: white.max(black) }
}

//! Normal equations of a weighted least-squares fit, summed several points at a time.

/// Points side by side: as many as a vector register holds, so that sums need not wait for each other.
pub const LANES: usize = 4;
/// Single precision is enough for sums over a grid of chunks, if the rows are centred.
pub type Lanes = [f32; LANES];

/// Sums for `N` unknowns: rows · unknowns = y, each row with its weight.
#[derive(Clone, Copy, Debug)]
pub struct Normal<const N: usize> {
    /// The upper triangle counts.
    matrix: [[Lanes; N]; N],
    right: [Lanes; N],
}

impl<const N: usize> Default for Normal<N> {
    fn default() -> Normal<N> {
        Normal { matrix: [[[0.0; LANES]; N]; N], right: [[0.0; LANES]; N] }
    }
}

impl<const N: usize> Normal<N> {
    #[inline]
    pub fn add(&mut self, row: &[Lanes; N], y: &Lanes, weight: &Lanes) {
        for i in 0..N {
            let mut weighted = [0.0; LANES];
            for lane in 0..LANES {
                weighted[lane] = weight[lane] * row[i][lane];
                self.right[i][lane] += weighted[lane] * y[lane];
            }
            for (sum, other) in self.matrix[i].iter_mut().zip(row).skip(i) {
                for lane in 0..LANES {
                    sum[lane] += weighted[lane] * other[lane];
                }
            }
        }
    }

    /// Pulls each unknown to 0, as so much weight at 1 would.
    pub fn pull(&mut self, ridge: [f64; N]) {
        for (i, ridge) in ridge.into_iter().enumerate() {
            self.matrix[i][i][0] += ridge as f32;
        }
    }

    /// Adds a single row for which y is 0.
    pub fn pin(&mut self, row: [f64; N], weight: f64) {
        for i in 0..N {
            for j in i..N {
                self.matrix[i][j][0] += (weight * row[i] * row[j]) as f32;
            }
        }
    }

    /// The unknowns by Cholesky's way (LDLᵀ), 0 where nothing speaks for them.
    pub fn solve(&self) -> [f64; N] {
        let sum = |lanes: &Lanes| lanes.iter().map(|x| f64::from(*x)).sum::<f64>();
        let matrix = |i: usize, j: usize| sum(&self.matrix[i][j]);
        let (mut lower, mut pivots, mut x) = ([[0.0; N]; N], [0.0; N], [0.0; N]);
        for i in 0..N {
            let whole = matrix(i, i);
            let mut pivot = whole;
            for j in 0..i {
                let product: f64 = (0..j).map(|k| lower[i][k] * lower[j][k] * pivots[k]).sum();
                lower[i][j] = if pivots[j] > 0.0 { (matrix(j, i) - product) / pivots[j] } else { 0.0 };
                pivot -= lower[i][j] * lower[i][j] * pivots[j];
            }
            pivots[i] = if pivot > 1e-6 * whole { pivot } else { 0.0 };
            x[i] = sum(&self.right[i]) - (0..i).map(|j| lower[i][j] * x[j]).sum::<f64>();
        }
        for i in (0..N).rev() {
            x[i] = if pivots[i] > 0.0 { x[i] / pivots[i] } else { 0.0 };
            x[i] -= (i + 1..N).map(|j| lower[j][i] * x[j]).sum::<f64>();
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_for_the_unknowns_that_made_the_points() {
        let truth = [2.0, -1.0, 0.5];
        let mut normal = Normal::default();
        for i in 0..8u8 {
            let (a, b) = (f32::from(i), f32::from(i * i % 5));
            let row = [[a, a + 0.5, a - 1.0, -a], [b, -b, b, b], [1.0; LANES]];
            let y = [0, 1, 2, 3].map(|lane| (0..3).map(|k| truth[k] * row[k][lane]).sum::<f32>());
            normal.add(&row, &y, &[1.0, 0.3, 0.7, 2.0]);
        }
        let solved = normal.solve();
        assert!(solved.iter().zip(truth).all(|(x, truth)| (x - f64::from(truth)).abs() < 1e-4), "{solved:?}");
    }

    #[test]
    fn what_nothing_speaks_for_is_zero() {
        let mut normal = Normal::default();
        normal.add(&[[1.0; LANES], [0.0; LANES]], &[3.0; LANES], &[1.0; LANES]);
        assert_eq!(normal.solve(), [3.0, 0.0]);
        assert_eq!(Normal::default().solve(), [0.0; 2]);
    }
}

//! Normal equations of a weighted least-squares fit, summed several points at a time.

/// Points are worked on so many at a time: as many as a vector of any processor holds.
pub const LANES: usize = 4;

/// A number of each of these points. Single precision is enough for sums over a grid of chunks, if the numbers are
/// centred.
pub type Lanes = wide::f32x4;

/// 1 for each point.
pub const ONE: Lanes = Lanes::ONE;

/// Sums for `N` unknowns: rows · unknowns = y, each row with its weight.
#[derive(Clone, Copy, Debug)]
pub struct Normal<const N: usize> {
    /// The upper triangle counts.
    matrix: [[f64; N]; N],
    right: [f64; N],
    /// The weight of all rows.
    pub weight: f64,
}

impl<const N: usize> Normal<N> {
    /// The sums over points, of which each has a row, y and a weight.
    #[inline]
    pub fn new(points: impl Iterator<Item = ([Lanes; N], Lanes, Lanes)>) -> Normal<N> {
        let (mut matrix, mut right, mut total) = ([[Lanes::ZERO; N]; N], [Lanes::ZERO; N], Lanes::ZERO);
        for (row, y, weight) in points {
            for i in 0..N {
                let weighted = row[i] * weight;
                for j in i..N {
                    matrix[i][j] += weighted * row[j];
                }
                right[i] += weighted * y;
            }
            total += weight;
        }
        Normal { matrix: matrix.map(|row| row.map(across)), right: right.map(across), weight: across(total) }
    }

    /// Pulls each unknown to 0, as so much weight at 1 would.
    pub fn pull(&mut self, ridge: [f64; N]) {
        for (i, ridge) in ridge.into_iter().enumerate() {
            self.matrix[i][i] += ridge;
        }
    }

    /// Adds a single row for which y is 0.
    pub fn pin(&mut self, row: [f64; N], weight: f64) {
        for i in 0..N {
            for j in i..N {
                self.matrix[i][j] += weight * row[i] * row[j];
            }
        }
    }

    /// The unknowns by Cholesky's way (LDLᵀ), 0 where nothing speaks for them.
    pub fn solve(&self) -> [f64; N] {
        let matrix = |i: usize, j: usize| self.matrix[i][j];
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
            x[i] = self.right[i] - (0..i).map(|j| lower[i][j] * x[j]).sum::<f64>();
        }
        for i in (0..N).rev() {
            x[i] = if pivots[i] > 0.0 { x[i] / pivots[i] } else { 0.0 };
            x[i] -= (i + 1..N).map(|j| lower[j][i] * x[j]).sum::<f64>();
        }
        x
    }
}

/// The sums of some numbers of each point.
#[inline]
pub fn sums<const N: usize>(points: impl Iterator<Item = [Lanes; N]>) -> [f64; N] {
    let mut sums = [Lanes::ZERO; N];
    for point in points {
        sums.iter_mut().zip(point).for_each(|(sum, lanes)| *sum += lanes);
    }
    sums.map(across)
}

fn across(lanes: Lanes) -> f64 {
    lanes.to_array().into_iter().map(f64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_for_the_unknowns_that_made_the_points() {
        let truth = [2.0, -1.0, 0.5];
        let points = (0..9u8).map(|block| {
            let lanes = |of: &dyn Fn(u8) -> f32| Lanes::new(std::array::from_fn(|lane| of(4 * block + lane as u8)));
            let (a, b) = (lanes(&|i| f32::from(i) - 15.0), lanes(&|i| f32::from(u16::from(i) * u16::from(i) % 5)));
            let y = a * truth[0] + b * truth[1] + Lanes::splat(truth[2]);
            ([a, b, ONE], y, lanes(&|i| f32::from(1 + i % 4) / 4.0))
        });
        let normal = Normal::new(points);
        let solved = normal.solve();
        assert!(solved.iter().zip(truth).all(|(x, truth)| (x - f64::from(truth)).abs() < 1e-4), "{solved:?}");
        assert_eq!(normal.weight, 22.5);
    }

    #[test]
    fn what_nothing_speaks_for_is_zero() {
        let normal = Normal::new([([ONE, Lanes::ZERO], Lanes::splat(3.0), ONE)].into_iter());
        assert_eq!(normal.solve(), [3.0, 0.0]);
        assert_eq!(Normal::<2>::new(std::iter::empty()).solve(), [0.0; 2]);
    }

    #[test]
    fn numbers_are_summed_over_all_points() {
        let points = (0..3u8).map(|i| [Lanes::new([1.0, 2.0, 3.0, 4.0]), Lanes::splat(i.into())]);
        assert_eq!(sums(points), [30.0, 12.0]);
    }
}

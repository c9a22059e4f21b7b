//! Normal equations of a weighted least-squares fit, summed several points at a time.

/// Points are summed so many at a time, so that sums need not wait for each other.
const LANES: usize = 16;

/// A number of each point, or 1 for all of them. Single precision is enough for sums over a grid of chunks, if the
/// columns are centred.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    Of(&'a [f32]),
    One,
}

/// Sums for `N` unknowns: rows · unknowns = y, each row with its weight.
#[derive(Clone, Copy, Debug)]
pub struct Normal<const N: usize> {
    /// The upper triangle counts.
    matrix: [[f64; N]; N],
    right: [f64; N],
}

impl<const N: usize> Normal<N> {
    /// The sums over points of which the rows are given column by column.
    pub fn new(columns: [Column; N], y: &[f32], weights: &[f32]) -> Normal<N> {
        let mut normal = Normal { matrix: [[0.0; N]; N], right: [0.0; N] };
        for i in 0..N {
            for j in i..N {
                normal.matrix[i][j] = match (columns[i], columns[j]) {
                    (Column::Of(a), Column::Of(b)) => sum3(weights, a, b),
                    (Column::Of(a), Column::One) | (Column::One, Column::Of(a)) => sum2(weights, a),
                    (Column::One, Column::One) => sum(weights),
                };
            }
            normal.right[i] = match columns[i] {
                Column::Of(a) => sum3(weights, a, y),
                Column::One => sum2(weights, y),
            };
        }
        normal
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

/// The sum of some numbers.
pub fn sum(a: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    let (blocks, rest) = a.as_chunks::<LANES>();
    for a in blocks {
        (0..LANES).for_each(|lane| sums[lane] += a[lane]);
    }
    rest.iter().fold(total(&sums), |sum, a| sum + f64::from(*a))
}

/// The sum of the products of two numbers each.
pub fn sum2(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    let (a, b) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.0.iter().zip(b.0) {
        (0..LANES).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    a.1.iter().zip(b.1).fold(total(&sums), |sum, (a, b)| sum + f64::from(a * b))
}

/// The sum of the products of three numbers each.
pub fn sum3(a: &[f32], b: &[f32], c: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    let (a, b, c) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>(), c.as_chunks::<LANES>());
    for ((a, b), c) in a.0.iter().zip(b.0).zip(c.0) {
        (0..LANES).for_each(|lane| sums[lane] += a[lane] * b[lane] * c[lane]);
    }
    a.1.iter().zip(b.1).zip(c.1).fold(total(&sums), |sum, ((a, b), c)| sum + f64::from(a * b * c))
}

/// The sum of sums that were kept apart. Not inlined, since the compiler would give up the loops before it for it.
#[inline(never)]
fn total(sums: &[f32; LANES]) -> f64 {
    let halves: [f32; LANES / 2] = std::array::from_fn(|lane| sums[lane] + sums[lane + LANES / 2]);
    let quarters: [f32; LANES / 4] = std::array::from_fn(|lane| halves[lane] + halves[lane + LANES / 4]);
    quarters.iter().map(|x| f64::from(*x)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_for_the_unknowns_that_made_the_points() {
        let truth = [2.0, -1.0, 0.5];
        // Fewer points than are summed at a time, as many, and more.
        for count in [3, 16, 37u8] {
            let a: Vec<f32> = (0..count).map(|i| f32::from(i) - 15.0).collect();
            let b: Vec<f32> = (0..count).map(|i| f32::from(u16::from(i) * u16::from(i) % 5)).collect();
            let weights: Vec<f32> = (0..count).map(|i| f32::from(1 + i % 4) / 4.0).collect();
            let y: Vec<f32> = a.iter().zip(&b).map(|(a, b)| truth[0] * a + truth[1] * b + truth[2]).collect();
            let solved = Normal::new([Column::Of(&a), Column::Of(&b), Column::One], &y, &weights).solve();
            let is_near = solved.iter().zip(truth).all(|(x, truth)| (x - f64::from(truth)).abs() < 1e-4);
            assert!(is_near, "{count}: {solved:?}");
        }
    }

    #[test]
    fn what_nothing_speaks_for_is_zero() {
        let normal = Normal::new([Column::One, Column::Of(&[0.0; 4])], &[3.0; 4], &[1.0; 4]);
        assert_eq!(normal.solve(), [3.0, 0.0]);
        assert_eq!(Normal::new([Column::One, Column::Of(&[])], &[], &[]).solve(), [0.0; 2]);
    }
}

//! Noise that is the same on every run: a random number generator, and textures made of random numbers.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Even between 0 and 1, 1 left out.
    pub fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    /// Normal with mean 0 and standard deviation 1, by Box and Muller.
    pub fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f32::consts::TAU * self.uniform()).cos()
    }
}

/// A random value for every point of a grid, 0 to 1.
fn lattice(x: i32, y: i32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x8DA6_B343) ^ (y as u32).wrapping_mul(0xD816_3841);
    h = (h ^ (h >> 15)).wrapping_mul(0x2C1B_3C6D);
    h = (h ^ (h >> 12)).wrapping_mul(0x297A_2D39);
    ((h ^ (h >> 15)) >> 8) as f32 / (1 << 24) as f32
}

/// Value noise: the grid's values, blended smoothly in between; 0 to 1.
pub fn value_noise(x: f32, y: f32) -> f32 {
    let (cell_x, cell_y) = (x.floor(), y.floor());
    let blend = |t: f32| t * t * (3.0 - 2.0 * t);
    let (u, v) = (blend(x - cell_x), blend(y - cell_y));
    let (i, j) = (cell_x as i32, cell_y as i32);
    let row = |j| lattice(i, j) + (lattice(i + 1, j) - lattice(i, j)) * u;
    row(j) + (row(j + 1) - row(j)) * v
}

/// Four octaves of value noise, each twice as fine and half as strong as the one before; 0 to 1, mean about ½.
pub fn texture(x: f32, y: f32) -> f32 {
    let octave = |k: i32| value_noise(x * 2f32.powi(k) + 17.0 * k as f32, y * 2f32.powi(k)) * 0.5f32.powi(k + 1);
    (0..4).map(octave).sum::<f32>() / 0.9375
}

//! Noise that hides the gaps which a curve tears between the codes of 8 bits.
//!
//! A stretch of gain g leaves every g-th code in use, and slow gradients become steps. With dither the curve is kept
//! with 8 bits of fraction, and a pixel comes out anywhere from half a gap below to half a gap above its place on
//! it; where, its position and the frame decide. So gaps fill evenly, and nothing leaves its neighbours' outputs.
//! The gap is the smaller of those on either side: the ends of the range, clipped codes, flat parts and the
//! identity, exactly, get no noise.

/// Steps of the noise.
pub const LEVELS: usize = 32;
/// Codes of dithered samples.
pub const CODES: usize = 256;
/// What the pattern gains from pixel to pixel, row to row and frame to frame, in turns of 2³²: the powers of the
/// inverse plastic number, and that of the golden ratio. Neighbours in space and time get noise far apart.
pub const ACROSS: u32 = 0xC13F_A9A9;
const DOWN: u32 = 0x91E1_0DA6;
const ONWARD: u32 = 0x9E37_79B9;

/// How the samples of a frame are dithered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dither {
    /// Outputs of every code in 1/256 for each curve, rising.
    pub fine: [[u16; CODES]; 3],
    /// Curves that are dithered: luma's alone, so that greys stay grey, or those of red, green and blue.
    pub curves: usize,
    /// Number of the frame, which moves the pattern.
    pub frame: u32,
}

/// A code's place on the curve and the gap around it, in 1/256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub fine: u16,
    pub gap: u16,
}

impl Dither {
    /// Dither for so many curves that leave every sample as it is.
    pub fn identity(curves: usize) -> Dither {
        let line = std::array::from_fn(|code| (code << 8) as u16);
        Dither { fine: [line; 3], curves, frame: 0 }
    }

    /// The curve of a sample, if it is dithered.
    pub fn fine(&self, curve: usize) -> Option<&[u16; CODES]> {
        self.fine.get(curve).filter(|_| curve < self.curves)
    }

    /// The places of all codes on a curve.
    pub fn places(&self, curve: usize) -> [Place; CODES] {
        let fine = &self.fine[curve];
        std::array::from_fn(|code| {
            let before = fine[code.saturating_sub(1)];
            let after = fine[(code + 1).min(CODES - 1)];
            let gap = fine[code].saturating_sub(before).min(after.saturating_sub(fine[code]));
            Place { fine: fine[code], gap }
        })
    }

    /// The pattern of a frame at the first pixel of the first row.
    pub fn seed(&self) -> u32 {
        self.frame.wrapping_mul(ONWARD)
    }
}

impl Place {
    /// What comes out at a level of the noise.
    pub fn out(self, level: usize) -> u8 {
        ((i32::from(self.fine) + self.noise(level) + 128) >> 8).clamp(0, 255) as u8
    }

    /// The noise of a level, in 1/256.
    pub fn noise(self, level: usize) -> i32 {
        (i32::from(self.gap) * (8 * level as i32 - 124)) >> 8
    }
}

/// The pattern at the first pixel of row `y` of a frame.
pub fn pattern(seed: u32, y: usize) -> u32 {
    seed.wrapping_add((y as u32).wrapping_mul(DOWN))
}

/// The level of the noise, of which there are [`LEVELS`]. It rises and falls with the pattern, without a jump.
#[inline(always)]
pub fn level(pattern: u32) -> usize {
    let folded = pattern ^ ((pattern as i32) >> 31) as u32;
    (folded >> 26) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of that gain, as a curve, within black and white.
    fn line(gain: f64, black: f64) -> Dither {
        let out = |code: usize| ((gain * (code as f64 - black)).clamp(0.0, 255.0) * 256.0) as u16;
        Dither { fine: [std::array::from_fn(out); 3], ..Dither::identity(3) }
    }

    #[test]
    fn the_identity_comes_out_exactly() {
        for (code, place) in Dither::identity(1).places(0).into_iter().enumerate() {
            assert!((0..LEVELS).all(|level| usize::from(place.out(level)) == code), "{code}");
        }
    }

    #[test]
    fn gaps_fill_evenly() {
        for gain in [1.2, 1.5, 2.0, 2.22, 3.0, 4.0] {
            let mut counts = [0u32; 256];
            for place in &line(gain, 40.3).places(0)[41..100] {
                (0..LEVELS).for_each(|level| counts[usize::from(place.out(level))] += 1);
            }
            let end = (gain * 50.0) as usize;
            let even = LEVELS as f64 / gain;
            for (code, count) in counts.iter().enumerate().take(end).skip(10) {
                assert!((f64::from(*count) - even).abs() <= 3.0, "gain {gain}: {count} at {code}, not {even:.1}");
            }
        }
    }

    #[test]
    fn outputs_lie_between_those_of_the_neighbours() {
        let bent: [u16; 256] = std::array::from_fn(|code| {
            ((code as f64 / 255.0).powf(0.4) * 200.0 + if code > 99 { 55.0 } else { 0.0 }) as u16 * 256 + 77
        });
        for dither in
            [line(3.3, 60.0), line(0.4, 0.0), Dither { fine: [bent.map(|x| x.min(65407)); 3], ..line(1.0, 0.0) }]
        {
            let places = dither.places(0);
            for pair in places.windows(2) {
                let most = (0..LEVELS).map(|level| pair[0].out(level)).max();
                let least = (0..LEVELS).map(|level| pair[1].out(level)).min();
                assert!(most <= least, "{pair:?}");
            }
        }
    }

    #[test]
    fn black_and_white_stay_without_noise() {
        let places = line(3.0, 40.0).places(0);
        for code in (0..=40).chain(125..256) {
            let wanted = if code <= 40 { 0 } else { 255 };
            assert!((0..LEVELS).all(|level| places[code].out(level) == wanted), "{code}");
        }
    }

    #[test]
    fn every_level_is_as_frequent_in_space_and_in_time() {
        let mut counts = [[0u32; LEVELS]; 2];
        for x in 0..64u32 {
            for y in 0..64 {
                counts[0][level(pattern(7, y).wrapping_add(x.wrapping_mul(ACROSS)))] += 1;
            }
        }
        (0..4096).for_each(|frame| counts[1][level(Dither { frame, ..Dither::identity(1) }.seed())] += 1);
        assert!(counts.iter().flatten().all(|count| count.abs_diff(128) <= 8), "{counts:?}");
    }
}

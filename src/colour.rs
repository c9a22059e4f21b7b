//! Luma and chroma as R, G and B and back, in whole numbers, so that both backends give the same bits; and where the
//! samples of a pixel lie.
//!
//! R, G and B are in luma's codes: black and white lie where the range has them, and all of them share an axis.
//! A *site* is what one chroma sample of each kind stands for: 2 × 2 pixels at 4:2:0, one pixel in RGB formats. Its
//! pixels take the chroma of their site, the nearest for every siting, and its luma is the mean of its pixels'.

use std::ops::Range;

use crate::frame::{self, FrameInfo, Lane, LumaWeights, Packing};
use crate::window::Window;

const ONE: i64 = 1 << 16;
/// What rounds a sum in 1/65536.
const HALF: i32 = 1 << 15;

/// Codes from black to white, and the codes that chroma spans.
pub fn spans(range: &frame::Range) -> (i64, i64) {
    let luma = i64::from(range.white) - i64::from(range.black);
    let chroma = if range.black == 0 { luma } else { (luma * 224 + 109) / 219 };
    (luma, chroma)
}

/// `a / b`, rounded to the nearest whole number; `b` is positive.
pub fn rounded(a: i64, b: i64) -> i64 {
    (2 * a + b).div_euclid(2 * b)
}

/// The gain of colours that stay as they are, in 1/256.
pub const LEFT_ALONE: u16 = 256;

/// Parts of a code in which tones are worked on, as their binary logarithm: luma of R, G and B of 8 bits lies between codes,
/// where a steep curve has outputs that lie far apart.
pub fn fraction(info: &FrameInfo) -> u32 {
    if info.format.is_rgb() && info.format.packing() == Packing::BYTE { 2 } else { 0 }
}

/// The most that colours gain, in 1/256: with 16 bits of a channel the product has less than 30.
pub const MOST_GAIN: u16 = 32 * LEFT_ALONE;
/// Parts of a whole that a share is given in.
const PARTS: u32 = 1 << 10;

/// What a channel has more than luma, or a sample of chroma more than neutral, with a gain in 1/256.
#[inline(always)]
pub fn gained(more: i32, gain: i32) -> i32 {
    (more * gain + 128) >> 8
}

/// What becomes of luma of some level and of the colours that come with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Toned {
    /// Where luma goes, and where the straight line alone would put it.
    pub luma: i32,
    pub plain: i32,
    /// What its colours gain, in 1/256.
    pub gain: i32,
}

impl Toned {
    /// How far a colour has to go back to what the straight line makes of it, whose gain is `plain_gain`, so that no
    /// channel gets beyond white, or further beyond it than the line takes it. `above` is what its highest channel has
    /// more than luma.
    #[inline(always)]
    pub fn back(&self, above: i32, plain_gain: i32, white: i32) -> u32 {
        let highest = self.luma + gained(above, self.gain);
        let plain = self.plain + gained(above, plain_gain);
        let over = highest - plain.max(white);
        if over > 0 { over as u32 * PARTS / (highest - plain) as u32 } else { 0 }
    }
}

/// What lies a share of the way [`back`](Toned::back) from one number to another.
#[inline(always)]
pub fn between(from: i32, to: i32, share: u32) -> i32 {
    from - (((from - to) * share as i32 + PARTS as i32 / 2) >> PARTS.ilog2())
}

/// What turns luma and chroma into R, G and B, and a change of these into one of luma and chroma. All factors are in
/// 1/65536.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    neutral: i32,
    most: i32,
    /// Of Cr in red, of Cb and of Cr in green, of Cb in blue.
    red: i32,
    green: [i32; 2],
    blue: i32,
    /// Of R, G and B in luma, Cb and Cr. Those of luma sum to one, those of Cb and of Cr to nothing: grey stays grey.
    back: [[i32; 3]; 3],
}

impl Matrix {
    /// The matrix of frames as described by `info`, for codes of their depth.
    pub fn new(info: &FrameInfo) -> Matrix {
        Matrix::of(info.range, info.weights)
    }

    /// The matrix of codes of such a range, of 12 bits at most.
    pub fn of(range: frame::Range, LumaWeights(weights): LumaWeights) -> Matrix {
        let weights = weights.map(i64::from);
        let [red, green, blue] = weights;
        let (luma_span, chroma_span) = spans(&range);
        let gain = |weight: i64| rounded(2 * (ONE - weight) * luma_span, chroma_span);
        let (red_gain, blue_gain) = (gain(red), gain(blue));
        let chroma = |own: usize| {
            let others =
                weights.map(|weight| -rounded(weight * chroma_span * ONE, 2 * (ONE - weights[own]) * luma_span));
            let sum: i64 = (0..3).filter(|i| *i != own).map(|i| others[i]).sum();
            std::array::from_fn(|i| if i == own { -sum } else { others[i] } as i32)
        };
        Matrix {
            neutral: i32::from(range.neutral),
            most: i32::from(range.max),
            red: red_gain as i32,
            green: [-rounded(blue_gain * blue, green) as i32, -rounded(red_gain * red, green) as i32],
            blue: blue_gain as i32,
            back: [weights.map(|weight| weight as i32), chroma(2), chroma(0)],
        }
    }

    /// What R, G and B have more than luma.
    #[inline(always)]
    pub fn offsets(&self, cb: i32, cr: i32) -> [i32; 3] {
        let (cb, cr) = (cb - self.neutral, cr - self.neutral);
        [self.red * cr, self.green[0] * cb + self.green[1] * cr, self.blue * cb].map(|sum| (sum + HALF) >> 16)
    }

    /// R, G and B of luma, Cb and Cr, within the codes that there are.
    #[inline(always)]
    pub fn channels(&self, luma: i32, cb: i32, cr: i32) -> [usize; 3] {
        self.offsets(cb, cr).map(|offset| (luma + offset).clamp(0, self.most) as usize)
    }

    /// What a change of R, G and B adds to luma.
    #[inline(always)]
    pub fn luma(&self, change: [i32; 3]) -> i32 {
        weighted(&self.back[0], change)
    }

    /// What a change of R, G and B adds to Cb and Cr.
    #[inline(always)]
    pub fn chroma(&self, change: [i32; 3]) -> [i32; 2] {
        [weighted(&self.back[1], change), weighted(&self.back[2], change)]
    }

    /// The factors, for shaders: those of Cr in red, of Cb and Cr in green and of Cb in blue, then those of R, G and B
    /// in luma, in Cb and in Cr.
    pub fn factors(&self) -> [i32; 13] {
        let [y, cb, cr] = self.back;
        let mut factors = [0; 13];
        let all = [self.red, self.green[0], self.green[1], self.blue].into_iter().chain(y).chain(cb).chain(cr);
        factors.iter_mut().zip(all).for_each(|(factor, value)| *factor = value);
        factors
    }
}

#[inline(always)]
fn weighted(factors: &[i32; 3], change: [i32; 3]) -> i32 {
    (factors[0] * change[0] + factors[1] * change[1] + factors[2] * change[2] + HALF) >> 16
}

/// Where the samples of one lane lie: those of a row are `step` samples apart, from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub plane: usize,
    pub step: usize,
    pub first: usize,
}

impl Place {
    fn find(info: &FrameInfo, lane: Lane) -> Option<Place> {
        info.planes.iter().enumerate().find_map(|(plane, shape)| {
            let first = shape.lanes.iter().position(|other| *other == lane)?;
            let alike = shape.lanes.iter().filter(|other| **other == lane).count();
            Some(Place { plane, step: shape.lanes.len() / alike, first })
        })
    }
}

/// Where the samples of the three lanes lie: R, G and B, or luma, Cb and Cr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    pub lanes: [Place; 3],
    pub alpha: Option<Place>,
    /// Exponents of two of a site's pixels across and down.
    pub shift: [u32; 2],
    /// Sites across and down.
    pub sites: [usize; 2],
}

impl Places {
    /// From one row of sites that is counted to the next: all are, but where their sums would not fit into 32 bits.
    pub fn counted(&self, info: &FrameInfo) -> usize {
        let most = self.sites[0] as u64 * self.sites[1] as u64 * info.range.bins() as u64;
        most.div_ceil(u32::MAX.into()).max(1) as usize
    }

    /// The places in frames as described by `info`; `None` for grey formats.
    pub fn find(info: &FrameInfo) -> Option<Places> {
        let lanes =
            if info.format.is_rgb() { [Lane::Red, Lane::Green, Lane::Blue] } else { [Lane::Luma, Lane::Cb, Lane::Cr] };
        let [Some(first), Some(second), Some(third)] = lanes.map(|lane| Place::find(info, lane)) else { return None };
        let shape = &info.planes[third.plane];
        let shift = if info.format.is_rgb() {
            [0; 2]
        } else {
            let across = shape.unit_pixels * third.step / shape.lanes.len();
            [across, info.height.div_ceil(shape.rows)].map(usize::trailing_zeros)
        };
        Some(Places {
            lanes: [first, second, third],
            alpha: Place::find(info, Lane::Alpha),
            shift,
            sites: [info.width.div_ceil(1 << shift[0]), info.height.div_ceil(1 << shift[1])],
        })
    }
}

impl Places {
    /// The sites of a window, across and down: those that lie in it whole, or, where none does, those that it touches.
    pub fn within(&self, window: &Window, info: &FrameInfo) -> [Range<usize>; 2] {
        let [across, down] = self.shift;
        [sites(window.pixels(info), info.width, across), sites(window.top..window.bottom, info.height, down)]
    }
}

fn sites(pixels: Range<usize>, length: usize, shift: u32) -> Range<usize> {
    let (least, up) = (|pixel: usize| pixel >> shift, |pixel: usize| pixel.div_ceil(1 << shift));
    let whole = up(pixels.start)..if pixels.end == length { up(length) } else { least(pixels.end) };
    if whole.is_empty() { least(pixels.start)..up(pixels.end) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Format, Range};

    fn info(format: Format, width: usize, height: usize, range: Range, weights: LumaWeights) -> FrameInfo {
        FrameInfo::new(format, width, height, range, weights)
    }

    #[test]
    fn there_and_back_changes_nothing_but_by_rounding() {
        for range in [Range::LIMITED, Range::FULL] {
            for weights in [LumaWeights::BT601, LumaWeights::BT709, LumaWeights::BT2020] {
                let matrix = Matrix::new(&info(Format::Y444, 8, 8, range, weights));
                for (luma, cb, cr) in [(90, 100, 150), (128, 128, 128), (60, 140, 120), (200, 125, 131)] {
                    let rgb = matrix.offsets(cb, cr).map(|offset| luma + offset);
                    // From a grey of the same luma.
                    let change = rgb.map(|x| x - luma);
                    assert!(matrix.luma(change).abs() <= 1);
                    let [b, r] = matrix.chroma(change);
                    assert!((b - cb + 128).abs() <= 1 && (r - cr + 128).abs() <= 1);
                }
            }
        }
    }

    #[test]
    fn a_change_of_grey_changes_luma_alone() {
        let matrix = Matrix::new(&info(Format::I420, 8, 8, Range::LIMITED, LumaWeights::BT2020));
        for change in [-200, -1, 0, 7, 255] {
            assert_eq!((matrix.luma([change; 3]), matrix.chroma([change; 3])), (change, [0; 2]));
        }
    }

    #[test]
    fn a_window_has_the_sites_that_lie_in_it_whole_or_those_it_touches() {
        let within = |format, (left, right, top, bottom)| {
            let info = info(format, 21, 11, Range::LIMITED, LumaWeights::BT709);
            Places::find(&info).map(|places| places.within(&Window { left, right, top, bottom }, &info))
        };
        assert_eq!(within(Format::Nv12, (0, 6, 0, 11)), Some([0..11, 0..6]));
        assert_eq!(within(Format::Nv12, (1, 3, 3, 8)), Some([2..6, 2..4]));
        assert_eq!(within(Format::Nv12, (5, 6, 5, 6)), Some([10..11, 2..3]));
        assert_eq!(within(Format::Yuy2, (1, 3, 3, 8)), Some([1..3, 3..8]));
        assert_eq!(within(Format::Bgra, (1, 3, 3, 8)), Some([1..3, 3..8]));
    }

    #[test]
    fn places_of_every_layout() {
        let places = |format, width, height| {
            let places = Places::find(&info(format, width, height, Range::LIMITED, LumaWeights::BT709))?;
            Some((places.lanes.map(|p| (p.plane, p.step, p.first)), places.shift, places.sites))
        };
        assert_eq!(places(Format::Nv21, 5, 3), Some(([(0, 1, 0), (1, 2, 1), (1, 2, 0)], [1, 1], [3, 2])));
        assert_eq!(places(Format::Yv12, 6, 4), Some(([(0, 1, 0), (2, 1, 0), (1, 1, 0)], [1, 1], [3, 2])));
        assert_eq!(places(Format::Y42b, 5, 3), Some(([(0, 1, 0), (1, 1, 0), (2, 1, 0)], [1, 0], [3, 3])));
        assert_eq!(places(Format::Uyvy, 5, 3), Some(([(0, 2, 1), (0, 4, 0), (0, 4, 2)], [1, 0], [3, 3])));
        assert_eq!(places(Format::Bgr, 5, 3), Some(([(0, 3, 2), (0, 3, 1), (0, 3, 0)], [0, 0], [5, 3])));
        assert_eq!(places(Format::P010, 5, 3), Some(([(0, 1, 0), (1, 2, 0), (1, 2, 1)], [1, 1], [3, 2])));
        assert_eq!(places(Format::Argb64, 5, 3), Some(([(0, 4, 1), (0, 4, 2), (0, 4, 3)], [0, 0], [5, 3])));
        assert_eq!((places(Format::Gray8, 5, 3), places(Format::Gray16, 5, 3)), (None, None));
        let argb = Places::find(&info(Format::Argb, 5, 3, Range::FULL, LumaWeights::BT709));
        assert_eq!(argb.and_then(|places| places.alpha), Some(Place { plane: 0, step: 4, first: 0 }));
    }
}

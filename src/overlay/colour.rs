//! Colours as samples of a format, and back, in whole numbers.

use crate::frame::{FrameInfo, Lane, LumaWeights, Range};

use super::canvas::{OPAQUE, Paint};
use super::marks::FULL;

const ONE: i64 = 1 << 16;

/// What turns R, G and B from 0 to 255 into the samples of a format, as far as 8 bits hold them.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    range: Range,
    weights: [i64; 3],
}

/// Codes from black to white, and the codes that chroma spans.
fn spans(range: &Range) -> (i64, i64) {
    let luma = i64::from(range.white) - i64::from(range.black);
    let chroma = if range.black == 0 { luma } else { (luma * 224 + 109) / 219 };
    (luma, chroma)
}

impl Conversion {
    pub fn new(info: &FrameInfo) -> Conversion {
        let LumaWeights(weights) = info.weights;
        Conversion { range: info.range.at(8), weights: weights.map(i64::from) }
    }

    /// Value, of 8 bits, and weight of a sample of `lane` that stands for so many pixels, whose paint adds up to `paint`.
    pub fn sample(&self, lane: Lane, paint: Paint, pixels: usize) -> (u8, u8) {
        let [red, green, blue, coverage] = paint.map(i64::from);
        let all = pixels as i64 * i64::from(OPAQUE);
        let weight = rounded(coverage * i64::from(FULL), all);
        if coverage == 0 || weight == 0 {
            return (0, 0);
        }
        let (luma_span, chroma_span) = spans(&self.range);
        let luma = red * self.weights[0] + green * self.weights[1] + blue * self.weights[2];
        let level = |channel: i64| i64::from(self.range.black) + rounded(channel * luma_span, 255 * coverage);
        let chroma = |channel: i64, weight: i64| {
            let difference = (channel * ONE - luma) * chroma_span;
            i64::from(self.range.neutral) + rounded(difference, 2 * (ONE - weight) * 255 * coverage)
        };
        let value = match lane {
            Lane::Luma => i64::from(self.range.black) + rounded(luma * luma_span, ONE * 255 * coverage),
            Lane::Cb => chroma(blue, self.weights[2]),
            Lane::Cr => chroma(red, self.weights[0]),
            Lane::Red => level(red),
            Lane::Green => level(green),
            Lane::Blue => level(blue),
            // What is drawn is seen where the picture is transparent, too.
            Lane::Alpha => i64::from(self.range.max),
            Lane::Unused => return (0, 0),
        };
        (value.clamp(0, 255) as u8, weight as u8)
    }
}

/// What turns luma and chroma into R, G and B in luma's codes, so that all share an axis.
#[derive(Clone, Copy, Debug)]
pub struct Inverse {
    neutral: i32,
    most: i32,
    red: i32,
    green: [i32; 2],
    blue: i32,
}

impl Inverse {
    pub fn new(info: &FrameInfo) -> Inverse {
        let [red, green, blue] = info.weights.0.map(i64::from);
        let range = info.range.at(8);
        let (luma_span, chroma_span) = spans(&range);
        let gain = |weight: i64| rounded(2 * (ONE - weight) * luma_span, chroma_span);
        let (red_gain, blue_gain) = (gain(red), gain(blue));
        Inverse {
            neutral: i32::from(range.neutral),
            most: i32::from(range.max),
            red: red_gain as i32,
            green: [rounded(blue_gain * blue, green) as i32, rounded(red_gain * red, green) as i32],
            blue: blue_gain as i32,
        }
    }

    /// R, G and B of luma, Cb and Cr, all of 8 bits.
    pub fn channels(&self, luma: u8, cb: u8, cr: u8) -> [usize; 3] {
        let (cb, cr) = (i32::from(cb) - self.neutral, i32::from(cr) - self.neutral);
        let add = |sum: i32| (i32::from(luma) + ((sum + (1 << 15)) >> 16)).clamp(0, self.most) as usize;
        [add(cr * self.red), add(-cb * self.green[0] - cr * self.green[1]), add(cb * self.blue)]
    }
}

/// `a / b`, rounded to the nearest whole number; `b` is positive.
fn rounded(a: i64, b: i64) -> i64 {
    (2 * a + b).div_euclid(2 * b)
}

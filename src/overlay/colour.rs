//! Colours as samples of a format, in whole numbers.

use crate::colour::{rounded, spans};
use crate::frame::{FrameInfo, Lane, LumaWeights, Range};

use super::canvas::{OPAQUE, Paint};
use super::marks::FULL;

const ONE: i64 = 1 << 16;

/// What turns R, G and B from 0 to 255 into the samples of a format.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    range: Range,
    weights: [i64; 3],
}

impl Conversion {
    pub fn new(info: &FrameInfo) -> Conversion {
        let LumaWeights(weights) = info.weights;
        Conversion { range: info.range, weights: weights.map(i64::from) }
    }

    /// Value and weight of a sample of `lane` that stands for so many pixels, whose paint adds up to `paint`.
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

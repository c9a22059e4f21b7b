//! Lines: a curve of up to 1024 codes that rises in one line between two ends, as a stretch does, is arithmetic that
//! vectors do, with the very outputs of its table. Tables of so many codes are too long for shuffles.

use crate::frame::{MOST_BINS, Packing};

/// Bits of a slope and a start behind the point: as many as there are beside an output in 32.
const FRACTION: u32 = u32::BITS - MOST_BINS.ilog2();

/// A curve that is a line from its first code to its last. The codes before keep what they are up to `low`, and those
/// behind from `high` on; between these and the line they are `low` and `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    slope: u32,
    start: u32,
    first: i16,
    last: i16,
    low: i16,
    high: i16,
}

impl Line {
    /// The line with exactly these outputs of as many codes, if there is one and not all codes stay what they are.
    pub fn find(outputs: &[u16]) -> Option<Line> {
        let most = outputs.len().checked_sub(1).filter(|most| *most < MOST_BINS)?;
        let is_kept = |code: &usize| usize::from(outputs[*code]) == *code;
        let low = (0..=most).take_while(is_kept).last().unwrap_or(0);
        let high = (0..=most).rev().take_while(is_kept).last().unwrap_or(most);
        let first = (0..=most).find(|code| usize::from(outputs[*code]) != low.min(*code))?;
        let last = (0..=most).rfind(|code| usize::from(outputs[*code]) != high.max(*code))?;
        let (slope, start) = fit(outputs.get(first..=last)?, first)?;
        let [first, last, low, high] = [first, last, low, high].map(|code| code as i16);
        // Outputs that are no codes leave no room for the bits behind the point.
        Some(Line { slope, start, first, last, low, high }).filter(|line| line.has(outputs))
    }

    /// Whether these are its outputs.
    pub fn has(&self, outputs: &[u16]) -> bool {
        outputs.len() <= MOST_BINS && outputs.iter().zip(0..).all(|(out, code)| self.at(code) == *out as i16)
    }

    #[inline(always)]
    fn at(self, code: i16) -> i16 {
        // Other codes than those of the line may wrap.
        let on_line = ((code as u32).wrapping_mul(self.slope).wrapping_add(self.start) >> FRACTION) as i16;
        if code < self.first {
            code.min(self.low)
        } else if code > self.last {
            code.max(self.high)
        } else {
            on_line
        }
    }

    /// Takes every sample of a row through the curve. The bits around a code stay.
    ///
    /// The line comes by value: read through a reference, its fields might be part of the row as far as the compiler
    /// knows, and it would use no vectors. That takes 4.2 ms in place of 0.9 for a 1080p frame.
    #[inline(always)]
    pub fn change(self, row: &mut [u8], packing: Packing) {
        let (shift, mask) = (packing.shift & 15, packing.mask());
        for sample in row.as_chunks_mut().0 {
            let bits = u16::from_le_bytes(*sample);
            let out = self.at(((bits & mask) >> shift) as i16) as u16;
            *sample = (out << shift | (bits & !mask)).to_le_bytes();
        }
    }
}

/// Slope and start of a line that, rounded down, has these outputs of the codes from `first` on, if there is one.
fn fit(outputs: &[u16], first: usize) -> Option<(u32, u32)> {
    const ONE: i64 = 1 << FRACTION;
    if outputs.is_empty() {
        return Some((0, 0));
    }
    let (mut least, mut most) = (0, i64::from(u32::MAX));
    while least <= most {
        let slope = (least + most) / 2;
        // Each output asks for a start from here on, and for one that is less than one higher.
        let rests = outputs.iter().zip(first as i64..).map(|(out, code)| (i64::from(*out) * ONE - slope * code, code));
        let (top, bottom) = rests.fold(((i64::MIN, 0), (i64::MAX, 0)), |(top, bottom), rest| {
            (if rest.0 > top.0 { rest } else { top }, if rest.0 < bottom.0 { rest } else { bottom })
        });
        let too_much = top.0 - bottom.0 - (ONE - 1);
        if too_much <= 0 {
            // In the middle of what they allow; below 0 it wraps, and so does the sum.
            return Some((slope as u32, (top.0 - too_much / 2) as u32));
        }
        // These two codes allow none of the slopes from here to where they agree.
        let codes = top.1 - bottom.1;
        let step = (too_much as u64).div_ceil(codes.unsigned_abs()) as i64;
        if codes > 0 { least = slope + step } else { most = slope - step }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stretch of `codes` within two ends, of slope one outside them.
    fn stretch(codes: usize, (low, high): (f64, f64), gain: f64, black: f64) -> Vec<u16> {
        let at = |code: usize| {
            let (x, end) = (code as f64, (code as f64).clamp(low, high));
            ((low + gain * (end - black)).clamp(low, high) + (x - end) + 0.5) as u16
        };
        (0..codes).map(at).collect()
    }

    fn check(outputs: &[u16]) {
        let line = Line::find(outputs).unwrap_or_else(|| panic!("no line: {outputs:?}"));
        assert!(line.has(outputs));
        let of = |code: i16| outputs[code as usize];
        assert!((0..outputs.len() as i16).all(|code| line.at(code) as u16 == of(code)), "{line:?}: {outputs:?}");
    }

    #[test]
    fn every_stretch_is_a_line() {
        for ends in [(64.0, 940.0), (64.0, 960.0), (0.0, 1023.0)] {
            for black in 0..40 {
                for white in 1..40 {
                    let [black, white] = [ends.0 + f64::from(black) * 11.7, ends.1 - f64::from(white) * 10.1];
                    check(&stretch(1024, ends, (ends.1 - ends.0) / (white - black + 0.01), black - 0.01));
                }
            }
        }
    }

    #[test]
    fn other_codes_and_ends() {
        check(&[7]);
        check(&[0, 900]);
        check(&stretch(256, (16.0, 235.0), 1.7, 40.0));
        check(&[5; 1024]);
        check(&(0..1024).map(|code| (code + 5).min(1023)).collect::<Vec<_>>());
        // Two steps and nothing between.
        check(&(0..1024).map(|code| if code < 500 { code.min(64) } else { 940.max(code) }).collect::<Vec<_>>());
        assert_eq!(Line::find(&[]), None);
        assert_eq!(Line::find(&(0..1024).collect::<Vec<_>>()), None);
        assert_eq!(Line::find(&[3; 1025]), None);
        assert_eq!(Line::find(&[1024; 1024]), None);
    }

    #[test]
    fn what_is_no_line_is_none() {
        let gamma: Vec<u16> = (0..1024).map(|code| (1023.0 * (f64::from(code) / 1023.0).powf(0.8)) as u16).collect();
        assert_eq!(Line::find(&gamma), None);
        assert_eq!(Line::find(&(0..1024).rev().collect::<Vec<_>>()), None);
        // One code that lies a little beside.
        let line = stretch(1024, (64.0, 940.0), 1.3, 90.0);
        let mut other = line.clone();
        other[500] += 2;
        assert_eq!(Line::find(&other), None);
        assert!(!Line::find(&line).unwrap().has(&other));
    }

    #[test]
    fn bits_around_a_code_stay() {
        let outputs = stretch(1024, (64.0, 940.0), 1.3, 90.0);
        let line = Line::find(&outputs).unwrap();
        for packing in [Packing { depth: 10, shift: 0 }, Packing { depth: 10, shift: 6 }] {
            let row = || (0..=u16::MAX).step_by(7);
            let mut bytes: Vec<u8> = row().flat_map(u16::to_le_bytes).collect();
            line.change(&mut bytes, packing);
            for (bits, changed) in row().zip(bytes.as_chunks().0) {
                let out = outputs[usize::from((bits & packing.mask()) >> packing.shift)] << packing.shift;
                assert_eq!(u16::from_le_bytes(*changed), out | (bits & !packing.mask()));
            }
        }
    }
}

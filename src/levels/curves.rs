//! What is applied to a frame: one table for each lane that has a curve.

use crate::colour::{LEFT_ALONE, MOST_GAIN};
use crate::frame::{MOST_BINS, Range};

use super::dither::Dither;
use super::points::unit;
use super::stretch::Ends;
use super::tone::colour_gain;

/// What the curves of a frame are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Of {
    /// The samples of the format: luma, Cb and Cr, or red, green and blue.
    #[default]
    Samples,
    /// Red, green and blue in luma's codes, even where samples are luma and chroma.
    Channels,
    /// Luma, even where samples are R, G and B: by the first table. The second is that of the straight line within it.
    /// Colours gain as [`Curves::gains`] say; those that would get beyond white go back towards what the line makes of
    /// them, luma and colour, see [`Toned::back`](crate::colour::Toned::back).
    Tone,
}

/// Tables for the three curves of a frame (luma, Cb, Cr or red, green, blue).
///
/// Entry x is the output of code x where there are up to 1024 codes. Of more codes entry x is the output of
/// `x << shift`, and codes between two entries lie on the line between them, see [`Curves::out`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curves {
    /// As many entries as [`Range::bins`].
    pub tables: [Vec<u16>; 3],
    /// Codes from one entry to the next, as their binary logarithm. As [`Range::bin_shift`].
    pub shift: u32,
    pub of: Of,
    /// Of [`Of::Tone`]: for each bin of luma, what the colours that come with it gain, in 1/256. As many as entries.
    pub gains: Vec<u16>,
    /// The same of the straight line.
    pub plain_gain: u16,
    /// Of [`Of::Tone`]: curves of red, green and blue that come before it; empty, and luma's levels are the input's, if
    /// there are none.
    pub channels: [Vec<u16>; 3],
    /// The curves with a fraction, where samples of 8 bits are dithered: these are applied then, and the tables are
    /// their nearest codes.
    pub dither: Option<Dither>,
}

impl Curves {
    /// Curves for the samples of the format, with an entry for each code.
    pub fn new(tables: [Vec<u16>; 3]) -> Curves {
        Curves {
            tables,
            shift: 0,
            of: Of::Samples,
            gains: Vec::new(),
            plain_gain: LEFT_ALONE,
            channels: Default::default(),
            dither: None,
        }
    }

    /// Curves for so many codes that leave every sample as it is.
    pub fn identity(codes: usize) -> Curves {
        let shift = codes.ilog2().saturating_sub(MOST_BINS.ilog2());
        let line: Vec<u16> = (0..codes >> shift).map(|entry| (entry << shift) as u16).collect();
        Curves { shift, ..Curves::new([line.clone(), line.clone(), line]) }
    }

    /// Makes the curves leave every sample as it is.
    pub fn set_identity(&mut self) {
        self.of = Of::Samples;
        self.dither = None;
        for table in &mut self.tables {
            table.iter_mut().enumerate().for_each(|(entry, out)| *out = (entry << self.shift) as u16);
        }
    }

    /// Whether every sample comes out as it went in.
    pub fn is_identity(&self) -> bool {
        let has_tone = self.of == Of::Tone;
        let keeps_colours = !has_tone || self.gains.iter().all(|gain| *gain == LEFT_ALONE);
        let before = self.channels.iter().filter(|_| has_tone);
        keeps_colours
            && before.into_iter().all(|table| self.keeps(table))
            && (0..self.tables.len()).all(|curve| self.is_identity_at(curve))
    }

    /// Whether curves of red, green and blue come before a tone.
    pub fn has_channels(&self) -> bool {
        self.of == Of::Tone && self.channels.iter().all(|table| !table.is_empty())
    }

    /// Whether one of the curves leaves every sample as it is.
    pub fn is_identity_at(&self, curve: usize) -> bool {
        if self.of == Of::Tone && curve > 1 {
            return true;
        }
        let fine = self.dither.as_ref().and_then(|dither| dither.fine(curve));
        let is_exact = |fine: &[u16; 256]| fine.iter().enumerate().all(|(code, out)| usize::from(*out) == code << 8);
        self.keeps(&self.tables[curve]) && fine.is_none_or(is_exact)
    }

    /// Whether a table leaves every code as it is, those that it has.
    fn keeps(&self, table: &[u16]) -> bool {
        table.iter().enumerate().all(|(entry, out)| usize::from(*out) == entry << self.shift)
    }

    /// The output of a code.
    pub fn out(&self, curve: usize, code: u16) -> u16 {
        let table = &self.tables[curve];
        let entry = usize::from(code >> self.shift);
        let (from, to) = self.segment(table, entry);
        let past = i64::from(code) - ((entry as i64) << self.shift);
        let half = (1 << self.shift) >> 1;
        (from + (((to - from) * past + half) >> self.shift)).min(self.most(table)) as u16
    }

    /// Writes the output of every code to `outputs`, of which there are as many.
    pub fn expand(&self, curve: usize, outputs: &mut [u16]) {
        self.expand_table(&self.tables[curve], outputs);
    }

    /// The same of any table with as many entries.
    pub fn expand_table(&self, table: &[u16], outputs: &mut [u16]) {
        if self.shift == 0 {
            outputs.copy_from_slice(table);
            return;
        }
        let (half, most) = ((1 << self.shift) >> 1, self.most(table) as i32);
        for (entry, outputs) in outputs.chunks_mut(1 << self.shift).enumerate() {
            let (from, to) = self.segment(table, entry);
            let (from, step) = (from as i32, (to - from) as i32);
            for (out, past) in outputs.iter_mut().zip(0..) {
                *out = (from + ((step * past + half) >> self.shift)).min(most) as u16;
            }
        }
    }

    /// The outputs of an entry and of the next one. Past the last entry the curve goes on as it came, up to the
    /// number of codes, so that the identity is exact there too.
    fn segment(&self, table: &[u16], entry: usize) -> (i64, i64) {
        let at = |entry: usize| i64::from(table[entry.min(table.len() - 1)]);
        let from = at(entry);
        let to = match table.get(entry + 1) {
            Some(next) => i64::from(*next),
            None => (2 * from - at(entry.saturating_sub(1))).clamp(0, (table.len() as i64) << self.shift),
        };
        (from, to)
    }

    /// The largest code.
    fn most(&self, table: &[u16]) -> i64 {
        ((table.len() as i64) << self.shift) - 1
    }
}

/// Makes the tables of one range of codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawer {
    pub range: Range,
    /// Share of the correction, 0 to 1.
    pub strength: f64,
}

impl Drawer {
    /// Draws `tone`, which takes levels to levels (in 8-bit codes) and does not fall. From the ends of the
    /// nominal range it goes on with slope one, so that codes beyond them keep their order and never wrap.
    pub fn luma(&self, table: &mut [u16], tone: impl Fn(f64) -> f64) {
        self.draw(table, (self.range.black, self.range.white), tone);
    }

    /// The same of 8 bits with a fraction of as many: the table holds the codes nearest to it.
    pub fn fine(&self, fine: &mut [u16; 256], tone: impl Fn(f64) -> f64) {
        let mut least = 0;
        for (code, out) in fine.iter_mut().enumerate() {
            let y = self.at(code, (self.range.black, self.range.white), &tone);
            *out = ((y * 256.0) as u16).clamp(least, 255 << 8);
            least = *out;
        }
    }

    /// Draws a tone that bends, with what `plain`, the straight line within it, makes of luma, and of colours by its gain.
    pub fn tone(
        &self,
        curves: &mut Curves,
        plain: impl Fn(f64) -> f64,
        plain_gain: f64,
        nominal: Ends,
        tone: impl Fn(f64) -> f64,
    ) {
        let [first, second, _] = &mut curves.tables;
        self.luma(first, &tone);
        self.luma(second, &plain);
        if let Some(dither) = &mut curves.dither {
            self.fine(&mut dither.fine[0], &tone);
        }
        let (unit, shift) = (unit(&self.range), self.range.bin_shift());
        let gain = |entry: usize| {
            let code = (entry << shift).clamp(self.range.black.into(), self.range.white.into());
            let level = code as f64 / unit;
            self.gain(plain_gain * colour_gain(plain(level), tone(level), nominal))
        };
        curves.gains.clear();
        curves.gains.extend((0..self.range.bins()).map(gain));
        curves.plain_gain = self.gain(plain_gain);
    }

    /// Draws the gain of chroma around neutral.
    pub fn chroma(&self, table: &mut [u16], gain: f64) {
        let unit = unit(&self.range);
        let top = self.range.neutral.saturating_mul(2).saturating_sub(self.range.black).min(self.range.max);
        let neutral = f64::from(self.range.neutral) / unit;
        let (low, high) = (f64::from(self.range.black) / unit, f64::from(top) / unit);
        self.draw(table, (self.range.black, top), |x| (neutral + gain * (x - neutral)).max(low).min(high));
    }

    /// A gain of colours in 1/256.
    fn gain(&self, gain: f64) -> u16 {
        ((f64::from(LEFT_ALONE) * (1.0 + self.strength * (gain - 1.0)) + 0.5) as u16).min(MOST_GAIN)
    }

    fn draw(&self, table: &mut [u16], ends: (u16, u16), tone: impl Fn(f64) -> f64) {
        let (unit, shift) = (unit(&self.range), self.range.bin_shift());
        let mut least = 0;
        for (entry, out) in table.iter_mut().enumerate() {
            let y = self.at(entry << shift, ends, &tone);
            // `as` rounds towards 0, saturates, and takes NaN to 0.
            *out = ((y * unit + 0.5) as u16).clamp(least, self.range.max);
            least = *out;
        }
    }

    /// Where a code goes, in 8-bit codes. Beyond the ends the slope is one.
    fn at(&self, code: usize, (first, last): (u16, u16), tone: impl Fn(f64) -> f64) -> f64 {
        let unit = unit(&self.range);
        let end = code.clamp(usize::from(first), usize::from(last)) as f64 / unit;
        code as f64 / unit + self.strength * (tone(end) - end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(strength: f64, draw: impl Fn(&Drawer, &mut [u16])) -> Vec<u16> {
        let drawer = Drawer { range: Range::LIMITED, strength };
        let mut table = vec![7; 256];
        draw(&drawer, &mut table);
        table
    }

    #[test]
    fn codes_beyond_the_ends_go_on_with_slope_one_and_never_wrap() {
        let table = draw(1.0, |drawer, table| drawer.luma(table, |x| 0.5 * x + 4.0));
        assert_eq!((table[16], table[15], table[0]), (12, 11, 0));
        assert_eq!((table[235], table[236], table[255]), (122, 123, 142));
        let table = draw(1.0, |drawer, table| drawer.luma(table, |x| x + 10.0));
        assert_eq!((table[235], table[245], table[255]), (245, 255, 255));
    }

    #[test]
    fn chroma_grows_around_neutral_within_its_range() {
        let table = draw(1.0, |drawer, table| drawer.chroma(table, 2.0));
        assert_eq!((table[128], table[138], table[100], table[16], table[240]), (128, 148, 72, 16, 240));
        assert_eq!((table[10], table[250]), (10, 250));
        let table = draw(1.0, |drawer, table| drawer.chroma(table, 1.0));
        assert!(table.iter().enumerate().all(|(code, out)| usize::from(*out) == code));
    }

    #[test]
    fn strength_blends_with_the_identity() {
        let none = draw(0.0, |drawer, table| drawer.luma(table, |x| 3.0 * x - 77.3));
        assert!(none.iter().enumerate().all(|(code, out)| usize::from(*out) == code));
        let half = draw(0.5, |drawer, table| drawer.luma(table, |x| x - 20.0));
        assert_eq!(half[100], 90);
    }

    #[test]
    fn the_identity_is_exact_at_every_depth_and_written_out_is_what_looked_up_is() {
        for codes in [256usize, 1024, 4096, 65536] {
            let mut curves = Curves::identity(codes);
            assert!(curves.is_identity());
            assert!((0..codes).all(|code| usize::from(curves.out(0, code as u16)) == code), "{codes}");
            // Falling and rising, and to both ends.
            for (entry, out) in curves.tables[1].iter_mut().enumerate() {
                *out = (entry * entry * 7919 % codes) as u16;
            }
            curves.tables[2].fill((codes - 1) as u16);
            let last = curves.tables[2].len() - 1;
            curves.tables[2][last - 1] = (codes - 2) as u16;
            assert!(!curves.is_identity());
            for curve in 0..3 {
                let mut outputs = vec![0; codes];
                curves.expand(curve, &mut outputs);
                assert!((0..codes).all(|code| outputs[code] == curves.out(curve, code as u16)), "{codes}, {curve}");
                assert!(outputs.iter().all(|out| usize::from(*out) < codes));
            }
            curves.set_identity();
            assert!(curves.is_identity());
        }
    }

    #[test]
    fn a_stretch_of_16_bits_hits_every_code_that_the_line_hits() {
        let range = Range::FULL.at(16);
        let mut curves = Curves::identity(range.codes());
        Drawer { range, strength: 1.0 }.luma(&mut curves.tables[0], |x| (1.5 * x - 30.0).clamp(0.0, 65535.0 / 256.0));
        for code in (0..=65535u16).step_by(37) {
            let wanted = (1.5 * f64::from(code) - 7680.0).clamp(0.0, 65535.0);
            let got = f64::from(curves.out(0, code));
            // Only at the two kinks is a line between entries another line.
            assert!((got - wanted).abs() <= 1.0 || !(96.0..65440.0).contains(&wanted), "{code}: {got}, not {wanted}");
        }
    }
}

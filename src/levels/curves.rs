//! What is applied to a frame: one table for each lane that has a curve.

use crate::frame::Range;

use super::points::unit;

/// What the curves of a frame are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Of {
    /// The samples of the format: luma, Cb and Cr, or red, green and blue.
    #[default]
    Samples,
    /// Red, green and blue in luma's codes, even where samples are luma and chroma.
    Channels,
}

/// Tables for the three curves of a frame (luma, Cb, Cr or red, green, blue): entry x is the output of code x.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curves {
    pub tables: [Vec<u16>; 3],
    pub of: Of,
}

impl Curves {
    /// Curves for the samples of the format.
    pub fn new(tables: [Vec<u16>; 3]) -> Curves {
        Curves { tables, of: Of::Samples }
    }

    /// Curves that leave every sample as it is.
    pub fn identity(codes: usize) -> Curves {
        let line: Vec<u16> = (0..codes).map(|code| code as u16).collect();
        Curves::new([line.clone(), line.clone(), line])
    }

    /// Makes the curves leave every sample as it is.
    pub fn set_identity(&mut self) {
        self.of = Of::Samples;
        for table in &mut self.tables {
            table.iter_mut().enumerate().for_each(|(code, out)| *out = code as u16);
        }
    }

    /// Whether every sample comes out as it went in.
    pub fn is_identity(&self) -> bool {
        self.tables.iter().all(|table| table.iter().enumerate().all(|(code, out)| usize::from(*out) == code))
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

    /// Draws the gain of chroma around neutral.
    pub fn chroma(&self, table: &mut [u16], gain: f64) {
        let unit = unit(&self.range);
        let top = (2 * self.range.neutral).saturating_sub(self.range.black).min(self.range.max);
        let neutral = f64::from(self.range.neutral) / unit;
        let (low, high) = (f64::from(self.range.black) / unit, f64::from(top) / unit);
        self.draw(table, (self.range.black, top), |x| (neutral + gain * (x - neutral)).max(low).min(high));
    }

    fn draw(&self, table: &mut [u16], (first, last): (u16, u16), tone: impl Fn(f64) -> f64) {
        let unit = unit(&self.range);
        let mut least = 0;
        for (code, out) in table.iter_mut().enumerate() {
            let x = code as f64 / unit;
            let end = code.clamp(usize::from(first), usize::from(last)) as f64 / unit;
            let y = x + self.strength * (tone(end) - end);
            // `as` rounds towards 0, saturates, and takes NaN to 0.
            *out = ((y * unit + 0.5) as u16).clamp(least, self.range.max);
            least = *out;
        }
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
}

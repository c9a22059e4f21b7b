//! The region of interest, a rectangle in shares of the picture.

use std::fmt;
use std::str::FromStr;

use gst::glib;

use super::{Field, Value};

/// A rectangle in shares of the picture, never empty and never beyond it. As text `x,y,w,h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roi {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Roi {
    /// The whole picture.
    pub const WHOLE: Roi = Roi { left: 0.0, top: 0.0, width: 1.0, height: 1.0 };

    /// What is taken, in words.
    pub const RANGE: &'static str =
        "x,y,w,h as shares of the picture (each from 0 to 1, w and h above 0, x + w and y + h at most 1)";

    /// The rectangle with these shares to its left and above it, and of this size; `None` if it is empty or goes
    /// beyond the picture.
    pub fn new(left: f64, top: f64, width: f64, height: f64) -> Option<Roi> {
        // 0.7 + 0.3 may be a little more than 1.
        const MOST: f64 = 1.0 + 1e-9;
        let fits = |first: f64, length: f64| first >= 0.0 && length > 0.0 && first + length <= MOST;
        (fits(left, width) && fits(top, height)).then_some(Roi { left, top, width, height })
    }

    /// Shares of the picture at which it begins and ends: left, right, top, bottom.
    pub fn edges(&self) -> [f64; 4] {
        let end = |first: f64, length: f64| (first + length).min(1.0);
        [self.left, end(self.left, self.width), self.top, end(self.top, self.height)]
    }
}

impl Default for Roi {
    fn default() -> Roi {
        Roi::WHOLE
    }
}

impl fmt::Display for Roi {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{},{},{},{}", self.left, self.top, self.width, self.height)
    }
}

/// The text is not a rectangle in the picture, see [`Roi::RANGE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("takes {}", Roi::RANGE)]
pub struct NoRoi;

impl FromStr for Roi {
    type Err = NoRoi;

    /// Reads four numbers with commas between; nothing at all is the whole picture.
    fn from_str(text: &str) -> Result<Roi, NoRoi> {
        if text.trim().is_empty() {
            return Ok(Roi::WHOLE);
        }
        let numbers: Vec<f64> =
            text.split(',').map(|number| number.trim().parse()).collect::<Result<_, _>>().or(Err(NoRoi))?;
        let [left, top, width, height] = numbers[..] else { return Err(NoRoi) };
        Roi::new(left, top, width, height).ok_or(NoRoi)
    }
}

/// As a property it is text.
impl glib::types::StaticType for Roi {
    fn static_type() -> glib::Type {
        String::static_type()
    }
}

impl Field for Roi {
    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn assign(&mut self, value: &Value) {
        if let Value::Text(text) = value
            && let Ok(roi) = text.parse()
        {
            *self = roi;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_are_read_and_written() {
        let roi: Roi = " 0.25, 0,0.5 ,1".parse().unwrap();
        assert_eq!(roi, Roi::new(0.25, 0.0, 0.5, 1.0).unwrap());
        assert_eq!(roi.to_string(), "0.25,0,0.5,1");
        assert_eq!(roi.edges(), [0.25, 0.75, 0.0, 1.0]);
        assert_eq!("".parse(), Ok(Roi::WHOLE));
        assert_eq!("0.7,0.9,0.3,0.1".parse::<Roi>().unwrap().edges(), [0.7, 1.0, 0.9, 1.0]);
    }

    #[test]
    fn what_is_empty_beyond_the_picture_or_not_four_numbers_is_refused() {
        for text in ["0,0,1", "0,0,1,1,1", "a,0,1,1", "0,0,0,1", "0,0,1,-1", "0.5,0,0.6,1", "-0.1,0,0.5,1", "NaN,0,1,1"]
        {
            assert_eq!(text.parse::<Roi>(), Err(NoRoi), "{text}");
        }
        assert_eq!("0,0,inf,1".parse::<Roi>(), Err(NoRoi));
    }
}

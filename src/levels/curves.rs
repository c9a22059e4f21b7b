//! What is applied to a frame: one table for each lane that has a curve.

/// Tables for the three curves of a frame (luma, Cb, Cr or red, green, blue): entry x is the output of code x.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curves {
    pub tables: [Vec<u16>; 3],
}

impl Curves {
    /// Curves that leave every sample as it is.
    pub fn identity(codes: usize) -> Curves {
        let line: Vec<u16> = (0..codes).map(|code| code as u16).collect();
        Curves { tables: [line.clone(), line.clone(), line] }
    }

    /// Whether every sample comes out as it went in.
    pub fn is_identity(&self) -> bool {
        self.tables.iter().all(|table| table.iter().enumerate().all(|(code, out)| usize::from(*out) == code))
    }
}

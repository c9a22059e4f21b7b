//! What is told about each frame: as text, as JSON, as CSV.

use std::io::{self, Write};

use serde::Serialize;

use super::measure::Measured;

/// How the lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Text,
    Json,
    Csv,
}

/// One line. All codes are as in the file; `exposure` is a factor, `cut` from 0 to 1.
#[derive(Serialize)]
struct Line {
    frame: u64,
    /// Running time in seconds.
    time: f64,
    mean: f64,
    /// Darkest and brightest code, and those below which 1, 50 and 99 % of the pixels lie.
    min: usize,
    p1: usize,
    median: usize,
    p99: usize,
    max: usize,
    black: f64,
    white: f64,
    gain: f64,
    exposure: f64,
    cut: f64,
}

/// Writes lines to stdout.
pub struct Reporter<W> {
    out: W,
    style: Style,
    begun: bool,
}

impl<W: Write> Reporter<W> {
    pub fn new(out: W, style: Style) -> Reporter<W> {
        Reporter { out, style, begun: false }
    }

    /// Writes the line of one frame.
    ///
    /// # Errors
    /// If the other end has closed.
    pub fn frame(&mut self, measured: &Measured) -> io::Result<()> {
        let first = !std::mem::replace(&mut self.begun, true);
        let line = Line::new(measured);
        match self.style {
            Style::Json => serde_json::to_writer(&mut self.out, &line).map_err(io::Error::from)?,
            Style::Csv => {
                if first {
                    writeln!(self.out, "frame,time,mean,min,p1,median,p99,max,black,white,gain,exposure,cut")?;
                }
                let Line { frame, time, mean, min, p1, median, p99, max, black, white, gain, exposure, cut } = line;
                write!(self.out, "{frame},{time},{mean},{min},{p1},{median},{p99},{max},")?;
                write!(self.out, "{black},{white},{gain},{exposure},{cut}")?;
            }
            Style::Text => {
                if first {
                    writeln!(self.out, "    time  mean  min   1% half  99%  max  black  white  gain  exposure   cut")?;
                }
                write!(
                    self.out,
                    "{:8.3} {:5.0} {:4} {:4} {:4} {:4} {:4} {:6.1} {:6.1} {:5.2} {:8.1}% {:5.2}",
                    line.time,
                    line.mean,
                    line.min,
                    line.p1,
                    line.median,
                    line.p99,
                    line.max,
                    line.black,
                    line.white,
                    line.gain,
                    round((line.exposure - 1.0) * 100.0, 1) + 0.0, // no minus before zero
                    line.cut
                )?;
            }
        }
        writeln!(self.out)
    }

    /// Hands over what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Line {
    fn new(measured: &Measured) -> Line {
        let report = &measured.report;
        let code = |share| code_below(measured.histogram, share) << measured.info.range.bin_shift();
        Line {
            frame: measured.number,
            time: round(measured.time.as_secs_f64(), 6),
            mean: round(report.mean, 3),
            min: code(0.0),
            p1: code(0.01),
            median: code(0.5),
            p99: code(0.99),
            max: code(1.0),
            black: round(report.black, 3),
            white: round(report.white, 3),
            gain: round(report.gain, 4),
            exposure: round(report.exposure, 4),
            cut: round(report.cut, 3),
        }
    }
}

fn round(x: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (x * scale).round() / scale
}

/// The lowest bin such that a share of the pixels is at or below it; 0 is the darkest bin that occurs.
fn code_below(histogram: &[u32], share: f64) -> usize {
    let pixels: u64 = histogram.iter().map(|count| u64::from(*count)).sum();
    let wanted = ((pixels as f64 * share).ceil() as u64).max(1);
    let mut below = 0;
    histogram
        .iter()
        .position(|count| {
            below += u64::from(*count);
            below >= wanted
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_below_shares() {
        let mut histogram = [0; 256];
        (histogram[16], histogram[100], histogram[235]) = (1, 97, 2);
        let codes = [0.0, 0.01, 0.02, 0.5, 0.98, 0.99, 1.0].map(|share| code_below(&histogram, share));
        assert_eq!(codes, [16, 16, 100, 100, 100, 235, 235]);
        assert_eq!(code_below(&[0; 256], 0.5), 0);
    }
}

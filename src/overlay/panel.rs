//! The panel: the luma histogram with the kept range and the curve, or the three of R, G and B where these differ, above
//! the histograms of R, G and B.

use crate::frame::FrameInfo;
use crate::levels::curves::{Curves, Of};

use super::Shown;
use super::canvas::{Canvas, OPAQUE};
use super::channels::Counts;
use super::sites::Sites;

type Colour = [u8; 3];

const GROUND: Colour = [12, 13, 16];
const FRAME: Colour = [255; 3];
const BARS: Colour = [214, 217, 222];
const CUT_BARS: Colour = [122, 124, 130];
const ENDS: Colour = [70, 190, 255];
const CURVE: Colour = [255, 184, 40];
/// The curves of R, G and B.
const CHANNEL_CURVES: [Colour; 3] = [[255, 84, 76], [84, 220, 96], [92, 132, 255]];
/// A channel of R, G or B where its bar is, and where only others are.
const LIT: u8 = 236;
const UNLIT: u8 = 34;

/// Heights are in these parts of a pixel.
const PARTS: usize = 16;
/// A bin this much taller than the mean one is as tall as a bar gets.
const TALL: u64 = 5;

/// Where the panel lies and how it is divided, in pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    corner: (usize, usize),
    size: (usize, usize),
    /// Space around the graphs.
    gap: usize,
    /// Width of the graphs, the height of luma's, and of R, G and B's, which may be 0.
    across: usize,
    luma: usize,
    channels: usize,
    /// Codes of a frame, and the bins that count them.
    codes: usize,
    bins: usize,
    /// Whether samples are R, G and B.
    is_rgb: bool,
}

impl Panel {
    /// A panel in the lower right corner of frames as described by `info`: a quarter of their width where that
    /// is enough to see something. `None` if they are too small.
    pub fn fit(info: &FrameInfo, sites: &Sites) -> Option<Panel> {
        const SMALLEST: usize = 12;
        let (width, height) = (info.width, info.height);
        let unit = sites.unit();
        let margin = (width.min(height) / 40).max(3);
        let across = (width / 4).clamp(96, 1280).min(width.saturating_sub(2 * margin)) / unit.0 * unit.0;
        let gap = (across / 36).max(3);
        let graphs = across.checked_sub(2 * gap).filter(|graphs| *graphs >= 2 * SMALLEST)?;
        let room = (height.saturating_sub(2 * margin + 3 * gap)).min((height * 2 / 5).max(3 * SMALLEST));
        let has_colour = info.planes.len() > 1 || info.measured().lanes.iter().any(|lane| lane.curve() != Some(0));
        let both = room.min(graphs * 7 / 10);
        let (luma, channels) = if has_colour && both >= 2 * SMALLEST {
            (both - both * 3 / 7, both * 3 / 7)
        } else {
            (room.min(graphs * 2 / 5), 0)
        };
        if luma < SMALLEST {
            return None;
        }
        let down = luma + 2 * gap + if channels > 0 { channels + gap } else { 0 };
        let down = down.next_multiple_of(unit.1);
        let place =
            |length: usize, size: usize, unit: usize| length.checked_sub(margin + size).map(|at| at / unit * unit);
        let corner = (place(width, across, unit.0)?, place(height, down, unit.1)?);
        let (codes, bins) = (info.range.codes(), info.range.bins());
        let size = (across, down);
        Some(Panel { corner, size, gap, across: graphs, luma, channels, codes, bins, is_rgb: info.format.is_rgb() })
    }

    /// The upper left pixel, on a whole unit of every plane.
    pub fn corner(&self) -> (usize, usize) {
        self.corner
    }

    /// Pixels across and down, whole units of every plane.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Draws the panel.
    pub fn draw(&self, shown: &Shown, channels: Option<&Counts>, canvas: &mut Canvas) {
        canvas.clear(self.size);
        canvas.fill((0, 0), self.size, GROUND, 180);
        let (across, down) = self.size;
        for (from, to) in [
            ((0, 0), (across, 1)),
            ((0, down - 1), (across, down)),
            ((0, 1), (1, down - 1)),
            ((across - 1, 1), (across, down - 1)),
        ] {
            canvas.fill(from, to, FRAME, 56);
        }
        self.draw_luma(shown, canvas);
        if let Some(counts) = channels.filter(|_| self.channels > 0) {
            self.draw_channels(counts, canvas);
        }
    }

    fn draw_luma(&self, shown: &Shown, canvas: &mut Canvas) {
        let bottom = self.gap + self.luma;
        let (black, white) = (self.column(shown.report.black), self.column(shown.report.white));
        let scale = Scale::new(&[shown.luma], self.luma);
        canvas.fill((self.gap + black, self.gap), (self.gap + white, bottom), FRAME, 20);
        for column in 0..self.across {
            let colour = if (black..white).contains(&column) { BARS } else { CUT_BARS };
            let height = scale.bar(shown.luma, self.bins(column, shown.luma.len()));
            vertical(canvas, self.gap + column, bottom, (0, height), |canvas, x, y, part| {
                canvas.paint(x, y, colour, part * 15 / 16);
            });
        }
        let thick = (self.across / 300).max(1);
        for end in [black, white.saturating_sub(thick)] {
            let left = self.gap + end;
            canvas.fill((left, self.gap), (left + thick, bottom), ENDS, 224);
        }
        if self.has_channel_curves(shown.curves) {
            for (table, colour) in shown.curves.tables.iter().zip(CHANNEL_CURVES) {
                self.draw_curve(table, colour, canvas);
            }
        } else {
            self.draw_curve(&shown.curves.tables[0], CURVE, canvas);
        }
        canvas.fill((self.gap, bottom), (self.gap + self.across, bottom + 1), FRAME, 96);
    }

    /// Whether R, G and B have curves that differ.
    fn has_channel_curves(&self, curves: &Curves) -> bool {
        let [red, green, blue] = &curves.tables;
        let has = match curves.of {
            Of::Samples => self.is_rgb,
            Of::Channels => true,
            Of::Tone => false,
        };
        has && (red != green || green != blue)
    }

    fn draw_curve(&self, table: &[u16], colour: Colour, canvas: &mut Canvas) {
        let bottom = self.gap + self.luma;
        let thick = (self.across * PARTS / 160).max(PARTS);
        let most = (self.luma * PARTS).saturating_sub(thick);
        // The height of the curve's lower edge at a column's left side.
        let height = |column: usize| {
            let place = column * (self.bins - 1) * PARTS / self.across;
            let (entry, part) = (place / PARTS, place % PARTS);
            let at = |entry: usize| table.get(entry.min(table.len() - 1)).map_or(0, |out| usize::from(*out));
            (at(entry) * (PARTS - part) + at(entry + 1) * part) * most / (PARTS * (self.codes - 1))
        };
        for column in 0..self.across {
            let (a, b) = (height(column), height(column + 1));
            let span = (a.min(b), a.max(b) + thick);
            vertical(canvas, self.gap + column, bottom, span, |canvas, x, y, part| canvas.paint(x, y, colour, part));
        }
    }

    fn draw_channels(&self, counts: &Counts, canvas: &mut Canvas) {
        let bottom = 2 * self.gap + self.luma + self.channels;
        let scale = Scale::new(&counts.each_ref().map(|counts| &counts[..]), self.channels);
        for column in 0..self.across {
            let heights = counts.each_ref().map(|counts| scale.bar(counts, self.bins(column, counts.len())));
            let tallest = heights.into_iter().max().unwrap_or(0);
            // From the ground to the tallest bar, lit in the colours of the bars that reach so high.
            vertical(canvas, self.gap + column, bottom, (0, tallest), |canvas, x, y, part| {
                let colour = heights.map(|height| {
                    let above = (height + y * PARTS).saturating_sub((bottom - 1) * PARTS).min(PARTS);
                    let share = above * OPAQUE as usize / PARTS;
                    UNLIT + (usize::from(LIT - UNLIT) * share / part.max(1) as usize) as u8
                });
                canvas.paint(x, y, colour, part * 15 / 16);
            });
        }
        canvas.fill((self.gap, bottom), (self.gap + self.across, bottom + 1), FRAME, 96);
    }

    /// The bins, of so many, that a column stands for.
    fn bins(&self, column: usize, all: usize) -> (usize, usize) {
        let first = column * all / self.across;
        (first, ((column + 1) * all / self.across).max(first + 1))
    }

    /// The column of a code, one past the last for what lies beyond.
    fn column(&self, code: f64) -> usize {
        let column = (code.max(0.0) + 0.5) * self.across as f64 / self.codes as f64;
        (column as usize).min(self.across)
    }
}

/// How tall the bars of a graph are: the tallest bin fits, but a lone spike does not flatten the rest.
struct Scale {
    tallest: u64,
    /// Bins times height over pixels times [`TALL`].
    pixels: u64,
    bins: u64,
    height: u64,
}

impl Scale {
    /// For a graph of so many pixels down that shows these histograms.
    fn new(histograms: &[&[u32]], down: usize) -> Scale {
        let tallest = histograms.iter().flat_map(|counts| counts.iter()).max().copied().unwrap_or(0);
        let first = histograms.first().copied().unwrap_or(&[]);
        let pixels = first.iter().map(|count| u64::from(*count)).sum();
        Scale { tallest: tallest.into(), pixels, bins: first.len() as u64, height: (down * PARTS) as u64 }
    }

    /// The height of the tallest of some bins, in parts of a pixel.
    fn bar(&self, counts: &[u32], (first, end): (usize, usize)) -> usize {
        let count = counts.get(first..end).and_then(|bins| bins.iter().max()).map_or(0, |count| u64::from(*count));
        let fitting = self.height * count / self.tallest.max(1);
        let steady = self.height * count * self.bins / (TALL * self.pixels.max(1));
        fitting.max(steady).min(self.height) as usize
    }
}

/// Paints a column above `bottom` from one height to another; `paint` gets the coverage of each pixel.
fn vertical(
    canvas: &mut Canvas,
    x: usize,
    bottom: usize,
    (low, high): (usize, usize),
    paint: impl Fn(&mut Canvas, usize, usize, u32),
) {
    for row in low / PARTS..high.div_ceil(PARTS).min(bottom) {
        let part = high.min((row + 1) * PARTS) - low.max(row * PARTS);
        paint(canvas, x, bottom - 1 - row, part as u32 * OPAQUE / PARTS as u32);
    }
}

//! Black bars: lines from both ends of the picture that are black, with a straight edge to a picture that is not.
//!
//! Bars with sharp edges are believed at once, so that not even the first frame of a scene votes with them; doubtful
//! ones (the picture beside them is dark in places) when they last. Once believed, they stay through black frames and
//! with text in them, until a picture fills them.

use std::ops::Range;

use super::probe::{Axis, Probe};

/// A line is black if no more of it than this is filled, and belongs to a picture if more is.
const EMPTY: f64 = 0.1;
/// How much of the lines beside a bar must be filled for its edge to be sharp, or to be an edge at all.
const SHARP: f64 = 0.6;
const BLURRED: f64 = 0.3;
/// How much of a line that is mixed with a bar is darker than the picture beside it.
const MIXED: f64 = 0.5;
/// How much of the picture between bars must be filled.
const PICTURE: f64 = 0.4;
/// Seconds that a doubtful bar must last until it is believed.
const BELIEF: f64 = 1.0;
/// How much of the bars is filled by a picture: by one that need not last, and by one that must, for some seconds. Text
/// fills less: it is thin, and there are one or two lines of it.
const TAKEN: f64 = 0.5;
const DOUBTFUL: f64 = 0.2;
const DOUBT: f64 = 0.5;
/// How much of the lines next to a picture text fills at most.
const TEXT: f64 = 0.4;
/// A bar takes no more than this share of the picture.
const MOST: f64 = 0.45;
/// Lines of a bar that are looked at for a picture.
const LOOKS: usize = 8;
/// The end of a bar is looked for in ever smaller steps: the picture in so many, then each line.
const STEPS: [usize; 2] = [16, 128];

/// Lengths of the bars at both ends of an axis, in lines, with the lines that are mixed of bar and picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bars {
    pub near: usize,
    pub far: usize,
}

impl Bars {
    pub const NONE: Bars = Bars { near: 0, far: 0 };

    fn are_there(&self) -> bool {
        *self != Bars::NONE
    }

    /// The lines between the bars.
    pub fn between(&self, lines: usize) -> Range<usize> {
        self.near..lines - self.far
    }
}

/// Lines beside a bar that codecs and scalers may mix with it, at most.
fn margin(lines: usize) -> usize {
    (lines / 128).clamp(2, 8)
}

/// The bars along one axis, over time.
#[derive(Clone, Debug)]
pub struct Letterbox {
    axis: Axis,
    bars: Bars,
    /// Bars that are not believed yet, and for how many seconds they have been there.
    candidate: Bars,
    lasts: f64,
    /// For how many seconds there may have been a picture in the bars.
    doubted: f64,
}

impl Letterbox {
    pub fn new(axis: Axis) -> Letterbox {
        Letterbox { axis, bars: Bars::NONE, candidate: Bars::NONE, lasts: 0.0, doubted: 0.0 }
    }

    /// The bars that are believed, or else those that seem to be in the present frame.
    pub fn glance(&self, probe: &Probe, along: &Range<usize>) -> Bars {
        let lines = Lines { probe, axis: self.axis, along, count: probe.lines(self.axis) };
        let is_unknown = !self.bars.are_there() && lines.may_have_bars(&self.bars);
        is_unknown.then(|| lines.find_bars(&self.bars)).flatten().map_or(self.bars, |(bars, _)| bars)
    }

    /// The bars of the present frame, `dt` seconds after the one before; `along` is the part of the lines that is
    /// looked at, which is what the other axis' bars leave.
    pub fn look(&mut self, probe: &Probe, along: &Range<usize>, dt: f64) -> Bars {
        let lines = Lines { probe, axis: self.axis, along, count: probe.lines(self.axis) };
        if self.bars.are_there() && self.is_over(&lines, dt) {
            self.bars = Bars::NONE;
            self.doubted = 0.0;
        }
        match lines.may_have_bars(&self.bars).then(|| lines.find_bars(&self.bars)).flatten() {
            Some((bars, true)) => {
                self.bars = bars;
                self.lasts = 0.0;
            }
            Some((bars, false)) => {
                let near = |a: usize, b: usize| a.abs_diff(b) <= margin(lines.count);
                let is_same = near(bars.near, self.candidate.near) && near(bars.far, self.candidate.far);
                self.lasts = if is_same { self.lasts + dt } else { 0.0 };
                self.candidate = bars;
                if self.lasts >= BELIEF {
                    self.bars = bars;
                    self.lasts = 0.0;
                }
            }
            None => (self.candidate, self.lasts) = (Bars::NONE, 0.0),
        }
        self.bars
    }

    /// Whether a picture has taken the bars' place.
    fn is_over(&mut self, lines: &Lines, dt: f64) -> bool {
        let (near, far) = lines.filled_bars(&self.bars);
        let is_doubtful = (near + far) / 2.0 >= DOUBTFUL;
        self.doubted = if is_doubtful { self.doubted + dt } else { 0.0 };
        near.min(far) >= TAKEN || self.doubted >= DOUBT
    }
}

/// The lines of an axis.
struct Lines<'a> {
    probe: &'a Probe<'a>,
    axis: Axis,
    along: &'a Range<usize>,
    count: usize,
}

impl Lines<'_> {
    /// How much of a line is filled, counted from one end or from the other.
    fn filled(&self, line: usize, is_far: bool) -> f64 {
        let line = line.min(self.count - 1);
        self.probe.filled(self.axis, if is_far { self.count - 1 - line } else { line }, self.along)
    }

    fn is_black(&self, line: usize, is_far: bool) -> bool {
        self.filled(line, is_far) <= EMPTY
    }

    /// How much of each bar is filled.
    fn filled_bars(&self, bars: &Bars) -> (f64, f64) {
        let filled = |bar: usize, is_far: bool| {
            let line = |i: usize| (2 * i + 1) * bar / (2 * LOOKS);
            (0..LOOKS).map(|i| self.filled(line(i), is_far)).sum::<f64>() / LOOKS as f64
        };
        (filled(bars.near, false), filled(bars.far, true))
    }

    /// Whether there may be bars where there are none, or larger ones: a glance at two lines.
    fn may_have_bars(&self, present: &Bars) -> bool {
        let between = present.between(self.count);
        self.is_black(between.start, false) && self.is_black(self.count - between.end, true)
    }

    /// Bars, and whether their edges are sharp.
    fn find_bars(&self, present: &Bars) -> Option<(Bars, bool)> {
        let (mut near, mut far) = (self.bar(present.near, false)?, self.bar(present.far, true)?);
        if near.abs_diff(far) > 2 + near.max(far) / 4 {
            // Text ends the search early: is the shorter one as long as the other, but for text?
            let longer = near.max(far);
            if !self.is_bar_with_text(near.min(far), longer, far < near) {
                return None;
            }
            (near, far) = (longer, longer);
        }
        let bars = Bars { near: near + self.mixed(near, false), far: far + self.mixed(far, true) };
        let between = bars.between(self.count);
        let edge = self.filled(between.start, false).min(self.filled(self.count - between.end, true));
        let inside = |i: usize| between.start + (2 * i + 1) * between.len() / (2 * LOOKS);
        let picture = (0..LOOKS).map(|i| self.filled(inside(i), false)).sum::<f64>() / LOOKS as f64;
        (edge >= BLURRED && picture >= PICTURE).then_some((bars, edge >= SHARP))
    }

    /// Black lines at an end, of which `known` are known to be; `None` if too many for a bar.
    fn bar(&self, known: usize, is_far: bool) -> Option<usize> {
        let most = (self.count as f64 * MOST) as usize;
        let mut black = known;
        for step in STEPS.map(|steps| (self.count / steps).max(1)).into_iter().chain([1]) {
            while self.is_black(black + step - 1, is_far) {
                black += step;
                if black > most {
                    return None;
                }
            }
        }
        Some(black)
    }

    /// How many lines beside a bar are mixed with it.
    fn mixed(&self, bar: usize, is_far: bool) -> usize {
        let most = margin(self.count);
        let line = |line: usize| if is_far { self.count - 1 - line } else { line };
        let is_mixed =
            |mixed: &usize| self.probe.dimmed(self.axis, line(bar + mixed), line(bar + most), self.along) > MIXED;
        (0..most).take_while(is_mixed).count()
    }

    /// Whether the lines from `shorter` to `longer` are black but for text, and the picture begins after them.
    fn is_bar_with_text(&self, shorter: usize, longer: usize, is_far: bool) -> bool {
        let margin = margin(self.count);
        let line = |i: usize| shorter + (2 * i + 1) * (longer - shorter) / (2 * LOOKS);
        let filled = (0..LOOKS).map(|i| self.filled(line(i), is_far)).sum::<f64>() / LOOKS as f64;
        filled < TEXT
            && self.is_black(longer.saturating_sub(1 + margin), is_far)
            && !self.is_black(longer + margin, is_far)
    }
}

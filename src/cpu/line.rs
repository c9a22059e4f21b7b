//! Tables that are lines: found, and written as arithmetic that gives every entry exactly.
//!
//! Most tables are lines with rounding, flat where they clip, and of slope one beyond the nominal range.
//! Arithmetic on whole vectors is several times faster than looking samples up.

/// A line with flat ends and tails of slope one, in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Below this code, the output falls by one a code.
    pub low: u8,
    /// Above this code, the output rises by one a code.
    pub high: u8,
    /// The code where the line starts to rise, and how many codes later it ends.
    pub start: u8,
    pub span: u8,
    /// Output per code: whole numbers and 1/65536.
    pub whole: u16,
    pub part: u16,
    /// Output at the start, in 1/256, and what is added to codes before they are multiplied, in 1/256.
    pub offset: u16,
    pub nudge: u8,
}

impl Line {
    /// Output equals input.
    pub const IDENTITY: Line = Line { low: 0, high: 255, start: 0, span: 255, whole: 1, part: 0, offset: 0, nudge: 0 };

    /// The output of code `x`, in 8 and 16 bits as vectors compute it.
    #[inline(always)]
    pub fn at(&self, x: u8) -> u8 {
        let steps = x.saturating_sub(self.start).min(self.span);
        let fine = u16::from(steps) << 8 | u16::from(self.nudge);
        let part = ((u32::from(fine) * u32::from(self.part)) >> 16) as u16;
        let out = fine.wrapping_mul(self.whole).wrapping_add(part).wrapping_add(self.offset);
        let above = x.saturating_sub(self.high);
        let below = self.low.saturating_sub(x);
        ((out >> 8) as u8).saturating_add(above).saturating_sub(below)
    }

    /// The line that gives exactly the entries of `table`, if there is one.
    pub fn find(table: &[u8; 256]) -> Option<Line> {
        let low = (0..255).take_while(|x| table[*x] == table[x + 1].saturating_sub(1)).count();
        let high = 255 - (low..255).rev().take_while(|x| table[x + 1] == table[*x].saturating_add(1)).count();
        let like = |code: usize| table[low..=high].iter().filter(|out| **out == table[code]).count() - 1;
        let (start, end) = if table[low] < table[high] { (low + like(low), high - like(high)) } else { (low, low) };
        let rising = &table[start..=end];
        let (gain, bounds) = fit(rising);
        let (offset, nudge) = place(gain, bounds)?;
        let line = Line {
            low: low as u8,
            high: high as u8,
            start: start as u8,
            span: (end - start) as u8,
            whole: (gain >> 16) as u16,
            part: gain as u16,
            offset,
            nudge,
        };
        (0..=255).all(|x| line.at(x) == table[usize::from(x)]).then_some(line)
    }
}

/// The gain in 1/65536 at which a line has most room to give `rising` when rounded down, and the room:
/// least and first too large output at the start, in 1/65536.
fn fit(rising: &[u8]) -> (i64, (i64, i64)) {
    // The highest of the lower bounds and the lowest of the upper bounds, and at which code they are.
    let bounds = |gain: i64| {
        let mut highest = (i64::MIN, 0);
        let mut lowest = (i64::MAX, 0);
        for (steps, out) in (0..).zip(rising) {
            let bound = (i64::from(*out) << 16) - gain * steps;
            if bound > highest.0 {
                highest = (bound, steps);
            }
            if bound < lowest.0 {
                lowest = (bound, steps);
            }
        }
        (highest, (lowest.0 + 65536, lowest.1))
    };
    let steps = rising.len() as i64 - 1;
    let rise = i64::from(rising[rising.len() - 1]) - i64::from(rising[0]);
    if steps == 0 || rise < 0 {
        let (least, above) = bounds(0);
        return (0, (least.0, above.0));
    }
    // The room is a concave function of the gain: it grows as long as the higher code bounds from below.
    let mut from = ((rise - 1).max(0) << 16) / steps;
    let mut to = ((rise + 1) << 16) / steps;
    while to - from > 1 {
        let middle = (from + to) / 2;
        let (least, above) = bounds(middle);
        if least.1 > above.1 {
            from = middle;
        } else {
            to = middle;
        }
    }
    let room = |gain: i64| {
        let (least, above) = bounds(gain);
        (gain, (least.0, above.0))
    };
    let (first, second) = (room(from), room(to));
    if first.1.1 - first.1.0 > second.1.1 - second.1.0 { first } else { second }
}

/// Offset in 1/256 and nudge that put the start of a line between `least` and `above`.
fn place(gain: i64, (least, above): (i64, i64)) -> Option<(u16, u8)> {
    if least >= above {
        return None;
    }
    // In 1/256 of 1/65536, where nothing is rounded.
    let (least, above) = (least << 8, above << 8);
    (0..=255u8).find_map(|nudge| {
        let nudged = gain * i64::from(nudge);
        let offset = (least - nudged + 65535).div_euclid(65536);
        (nudged + offset * 65536 < above).then_some((offset as u16, nudge))
    })
}

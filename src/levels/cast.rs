//! Cast: where the levels of red, green and blue lie against those of luma.
//!
//! A frame tells twice by what line each channel follows from luma: by the channel's own ends, and by the mean colours of
//! its darkest and brightest spots. The ends of two channels may be set by different things, of which none is black or
//! white: where the spots do not say the same, what both say holds, and a cast is never made by what only one says. What is remembered are *offsets*: how far that
//! line puts the channel's ends from those that are held for luma, in shares of their span. A change of exposure moves
//! all ends alike and leaves the offsets as they are, so only luma's ends follow it. A cast changes as slowly as daylight
//! does: the offsets are pulled gently, and something colourful that comes in turns nothing else.

use crate::frame::Range;

use super::look;
use super::points::Distribution;
use super::smoothstep;
use super::statistics::{CHANNELS, Statistics};
use super::stretch::Ends;

/// Time constant of the pull in seconds, at the default `smoothing`.
const PULL: f64 = 2.0;
/// Most that the pull may move an end of a channel, in output codes a second.
const SLEW: f64 = 20.0;
/// The share of the sites that the darkest spots are, and the brightest.
const SPOTS: f64 = 0.002;
/// Offsets beyond this mean nothing: luma's span is a small part of the channel's.
const MOST: f64 = 4.0;
/// Spans of luma, in codes, between which a picture begins to tell a cast.
const TEXTURED: (f64, f64) = (4.0, 16.0);

/// How the memory goes on from one frame to the next.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Seconds since the frame before, over the factor on all time constants; infinite without memory.
    pub time: f64,
    /// How surely another scene starts, 0 to 1.
    pub cut: f64,
    /// The ends that are held for luma, and the span that they become.
    pub held: Ends,
    pub full: f64,
    pub max_gain: f64,
}

/// The remembered cast.
#[derive(Clone, Debug, Default)]
pub struct Cast {
    offsets: [[f64; 2]; 3],
    /// How much of a picture was seen since the start, 0 to 1: before, there is nothing to hold on to.
    known: f64,
    distribution: Distribution,
}

impl Cast {
    /// Forgets all that was seen.
    pub fn reset(&mut self) {
        (self.offsets, self.known) = ([[0.0; 2]; 3], 0.0);
    }

    /// Takes the counts of a frame's channels in. The outermost `clip` shares are let go.
    pub fn step(&mut self, statistics: &Statistics, range: &Range, clip: (f64, f64), pace: &Pace) {
        let mut ends = [Ends { black: 0.0, white: 0.0 }; CHANNELS];
        for (ends, counts) in ends.iter_mut().zip(&statistics.channels) {
            if !self.distribution.fill(counts, range) {
                return;
            }
            *ends = look::ends(&self.distribution, clip);
        }
        let [luma, channels @ ..] = ends;
        let spots = [Spot::darkest(statistics, range), Spot::brightest(statistics, range)];
        let agreed: [Ends; 3] = std::array::from_fn(|channel| {
            let [dark, bright] = spots.map(|spot| (spot.luma, spot.channels[channel]));
            let at = |level: f64| dark.1 + (bright.1 - dark.1) * (level - dark.0) / (bright.0 - dark.0).max(1.0);
            let end = |luma: f64, own: f64| luma + agreed(own - luma, at(luma) - luma);
            Ends { black: end(luma.black, channels[channel].black), white: end(luma.white, channels[channel].white) }
        });
        let own = agreed.map(|ends| {
            let gain = ends.span() / luma.span().max(1.0);
            let offset = |held: f64| ends.black + gain * (held - luma.black) - held;
            [pace.held.black, pace.held.white].map(|held| (offset(held) / pace.held.span().max(1.0)).clamp(-MOST, MOST))
        });
        let textured = smoothstep(TEXTURED.0, TEXTURED.1, luma.span());

        let reach = textured * (1.0 - (-pace.time / PULL).exp());
        let mut most: f64 = 0.0;
        for ([black, white], own) in self.offsets.iter().zip(&own) {
            // Codes of the output that an offset of one is.
            let codes = (pace.full / (1.0 + white - black).max(1e-3)).min(pace.max_gain * pace.held.span());
            most = most.max(codes * reach * (own[0] - black).abs().max((own[1] - white).abs()));
        }
        let reach = reach * (SLEW * pace.time / most.max(1e-9)).min(1.0);
        // What was never seen is no memory, and another scene has its own.
        let unknown = textured * (1.0 - self.known);
        let start = pace.cut.max(if pace.time.is_finite() { 0.0 } else { 1.0 });
        for (offsets, own) in self.offsets.iter_mut().zip(&own) {
            for (offset, own) in offsets.iter_mut().zip(own) {
                *offset += reach.max(unknown) * (own - *offset);
                *offset += start * (textured * own - *offset);
            }
        }
        self.known = self.known.max(textured);
        self.known += start * (textured - self.known);
    }

    /// The ends of red, green and blue where luma's are `luma`: at `independence` 0 luma's, at 1 their own.
    pub fn ends(&self, luma: Ends, nominal: Ends, independence: f64) -> [Ends; 3] {
        let (least, most) = (nominal.black.min(luma.black), nominal.white.max(luma.white));
        self.offsets.map(|[black, white]| {
            let end = |end: f64, offset: f64| (end + independence * offset * luma.span()).max(least).min(most);
            let black = end(luma.black, black);
            Ends { black, white: end(luma.white, white).max(black) }
        })
    }
}

/// What both of two offsets say.
fn agreed(one: f64, other: f64) -> f64 {
    if one * other > 0.0 { one.signum() * one.abs().min(other.abs()) } else { 0.0 }
}

/// The mean colour of some sites, in 8-bit codes.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    luma: f64,
    channels: [f64; 3],
}

impl Spot {
    fn darkest(statistics: &Statistics, range: &Range) -> Spot {
        Spot::of(statistics, range, 0..range.bins())
    }

    fn brightest(statistics: &Statistics, range: &Range) -> Spot {
        Spot::of(statistics, range, (0..range.bins()).rev())
    }

    /// The first of the sites that are counted, bin by bin.
    fn of(statistics: &Statistics, range: &Range, bins: impl Iterator<Item = usize>) -> Spot {
        let counts = &statistics.channels[0];
        let share = SPOTS * counts.iter().map(|count| f64::from(*count)).sum::<f64>();
        let bins_of_code = range.bins() as f64 / 256.0;
        let at = |table: &[u32], bin: usize| table.get(bin).map_or(0.0, |count| f64::from(*count));
        let (mut spot, mut left) = (Spot::default(), share);
        for bin in bins {
            let count = at(counts, bin);
            if count == 0.0 {
                continue;
            }
            // Of the last bin only as much as is left.
            let part = left.min(count) / (share * bins_of_code);
            spot.luma += part * bin as f64;
            for (channel, sums) in spot.channels.iter_mut().zip(&statistics.colours) {
                *channel += part * at(sums, bin) / count;
            }
            left -= count;
            if left <= 0.0 {
                break;
            }
        }
        spot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOMINAL: Ends = Ends { black: 16.0, white: 235.0 };
    const HELD: Ends = Ends { black: 40.0, white: 140.0 };
    const FIRST: Pace = Pace { time: 0.04, cut: 0.0, held: HELD, full: 219.0, max_gain: 4.0 };

    /// A picture whose codes are spread evenly between two for luma, R, G and B, all of them rising together.
    fn counted(ends: [(usize, usize); 4]) -> Statistics {
        let even = |(from, to)| (0..256).map(|code| if (from..=to).contains(&code) { 100 } else { 0 }).collect();
        let mut statistics = Statistics { channels: ends.map(even), ..Statistics::empty(256, 1) };
        let [(dark, bright), channels @ ..] = ends;
        for (sums, (from, to)) in statistics.colours.iter_mut().zip(channels) {
            let code =
                |luma: usize| from as f64 + (to - from) as f64 * (luma - dark) as f64 / (bright - dark).max(1) as f64;
            sums.extend(
                (0..256).map(|luma| if (dark..=bright).contains(&luma) { (100.0 * code(luma)) as u32 } else { 0 }),
            );
        }
        statistics
    }

    fn step(cast: &mut Cast, ends: [(usize, usize); 4], pace: Pace) {
        cast.step(&counted(ends), &Range::LIMITED, (0.0, 0.0), &pace);
    }

    const WARM: [(usize, usize); 4] = [(40, 140), (50, 160), (40, 140), (30, 100)];

    #[test]
    fn the_first_picture_tells_its_own_levels() {
        let mut cast = Cast::default();
        step(&mut cast, WARM, FIRST);
        let ends = cast.ends(HELD, NOMINAL, 1.0).map(|ends| (ends.black.round(), ends.white.round()));
        assert_eq!(ends, [(50.0, 160.0), (40.0, 140.0), (30.0, 100.0)]);
        let half = cast.ends(HELD, NOMINAL, 0.5);
        assert!((half[0].white - 150.0).abs() < 1e-9 && (half[2].white - 120.0).abs() < 1e-9);
        assert_eq!(cast.ends(HELD, NOMINAL, 0.0), [HELD; 3]);
    }

    #[test]
    fn ends_that_different_things_set_are_no_cast() {
        // All channels have their own ends, but what is darkest and what is brightest is grey.
        let mut statistics = counted([(40, 140), (30, 160), (50, 140), (20, 120)]);
        statistics.colours = counted([(40, 140); 4]).colours;
        let mut cast = Cast::default();
        cast.step(&statistics, &Range::LIMITED, (0.0, 0.0), &FIRST);
        assert!(cast.offsets.iter().flatten().all(|offset| offset.abs() < 0.005), "{cast:?}");
        // What is darkest is bluish, and nothing is less blue: both say so.
        statistics = counted([(40, 140), (40, 140), (40, 140), (60, 140)]);
        cast.step(&statistics, &Range::LIMITED, (0.0, 0.0), &Pace { cut: 1.0, ..FIRST });
        assert!((cast.offsets[2][0] - 0.2).abs() < 0.01, "{cast:?}");
    }

    #[test]
    fn exposure_leaves_the_cast_alone() {
        let mut cast = Cast::default();
        step(&mut cast, [(20, 60), (20, 80), (20, 60), (20, 40)], FIRST);
        let before = cast.offsets;
        // One and a half times as bright, and lifted by ten.
        let held = Ends { black: 1.5 * HELD.black + 10.0, white: 1.5 * HELD.white + 10.0 };
        step(&mut cast, [(40, 100), (40, 130), (40, 100), (40, 70)], Pace { held, ..FIRST });
        for (now, before) in cast.offsets.iter().flatten().zip(before.iter().flatten()) {
            assert!((now - before).abs() < 1e-9, "{cast:?}");
        }
    }

    #[test]
    fn what_luma_alone_has_more_of_leaves_the_cast_alone() {
        let mut cast = Cast::default();
        step(&mut cast, WARM, FIRST);
        let before = cast.offsets;
        // Something white comes in, in the same light.
        step(&mut cast, [(40, 180), (50, 204), (40, 180), (30, 128)], FIRST);
        for (now, before) in cast.offsets.iter().flatten().zip(before.iter().flatten()) {
            assert!((now - before).abs() < 1e-9, "{cast:?}");
        }
    }

    #[test]
    fn grey_and_flat_pictures_have_no_cast() {
        for ends in [[(30, 200); 4], [(90, 90), (140, 140), (80, 80), (30, 30)]] {
            let mut cast = Cast::default();
            step(&mut cast, ends, FIRST);
            assert_eq!(cast.offsets, [[0.0; 2]; 3], "{cast:?}");
        }
    }

    #[test]
    fn a_flat_picture_is_nothing_to_hold_on_to() {
        let mut cast = Cast::default();
        step(&mut cast, [(90, 90), (140, 140), (80, 80), (30, 30)], FIRST);
        step(&mut cast, WARM, FIRST);
        assert!((cast.offsets[0][1] - 0.2).abs() < 1e-6, "{cast:?}");
    }

    #[test]
    fn another_cast_comes_slowly_but_at_a_cut_at_once() {
        let cold = [(40, 140), (30, 100), (40, 140), (50, 160)];
        let mut cast = Cast::default();
        step(&mut cast, WARM, FIRST);
        let before = cast.offsets[0][1];
        step(&mut cast, cold, FIRST);
        let moved = (cast.offsets[0][1] - before).abs() * 219.0 / 1.1;
        assert!(moved > 0.1 && moved <= SLEW * 0.04 + 1e-9, "{moved}");
        step(&mut cast, cold, Pace { cut: 1.0, ..FIRST });
        assert!((cast.offsets[0][1] + 0.4).abs() < 1e-6, "{cast:?}");
        step(&mut cast, WARM, Pace { time: f64::INFINITY, ..FIRST });
        assert!((cast.offsets[0][1] - 0.2).abs() < 1e-6, "{cast:?}");
    }

    #[test]
    fn ends_stay_within_the_range_and_in_order() {
        let mut cast = Cast::default();
        // Nearly grey and dark, with pure colours; and no blue at all.
        step(&mut cast, [(30, 60), (16, 235), (16, 235), (16, 16)], FIRST);
        for luma in [Ends { black: 30.0, white: 60.0 }, Ends { black: 20.0, white: 220.0 }] {
            for ends in cast.ends(luma, NOMINAL, 1.0) {
                assert!(ends.black >= 16.0 && ends.white <= 235.0 && ends.white >= ends.black, "{ends:?}");
            }
        }
    }
}

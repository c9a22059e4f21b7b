//! Decide: from the statistics of a frame and the memory of those before it to the curves.
//!
//! Pure and deterministic: no GPU, no pipeline, no clock of its own. Within, levels are in 8-bit codes at every
//! depth, and times in seconds of running time.
//!
//! [`framing`] says which part of a picture votes, [`points`] finds where the levels of a frame lie, `look` is what is
//! kept of a frame, `exposure` tells from the `pairs` of chunks of two frames whether the light changed, `cut` whether the
//! scene did, `memory` holds the levels over time and `cast` those of the channels against luma's, `stretch`, `equalize`
//! and `tone` make a tone of them, and [`curves`] draws it into tables; [`dither`] hides the gaps between their codes.

mod cast;
pub mod curves;
mod cut;
pub mod dither;
mod equalize;
mod exposure;
pub mod framing;
mod look;
mod memory;
mod normal;
mod pairs;
pub mod points;
pub mod statistics;
mod stretch;
#[cfg(test)]
mod tests;
mod tone;

use crate::frame::{FrameInfo, Lane};
use crate::grid::Grid;
use crate::settings::{Chroma, Mode, Settings};
use crate::window::Window;
use cast::{Cast, Pace};
use curves::{Curves, Drawer, Of};
use dither::Dither;
use equalize::Warp;
use exposure::Fitter;
use look::{Look, QUANTILES};
use memory::{Change, Memory, Tuning};
use points::{Distribution, unit};
use statistics::Statistics;
use stretch::{Ends, Line};
use tone::Midtone;

/// Seconds from one frame to the next where the timestamps do not tell.
const USUAL_DELTA: f64 = 0.04;
/// A jump in time of more seconds than this, or of more than a few frames, is another place in the stream.
const JUMP: f64 = 1.0;
/// Timestamps that go back by less than this many seconds are taken for jitter.
const JITTER: f64 = 0.05;
/// Seconds that two frames lie apart, at least, to be compared: at high frame rates every second one or fewer are,
/// so that a slow change is not lost in the noise, and the levels do not depend on the frame rate.
const BASELINE: f64 = 0.03;
/// The `smoothing` at which the time constants are what their names say.
const USUAL_SMOOTHING: f64 = 0.5;

/// What was decided on a frame, for people and programs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Code that goes to the `black` setting, the remembered black point.
    pub black: f64,
    /// Code that goes to the `white` setting, the remembered white point.
    pub white: f64,
    /// Contrast gain between the two, after the gain limit.
    pub gain: f64,
    /// Factor by which the exposure changed from the last frame to this one, as far as it was followed.
    pub exposure: f64,
    /// How surely a new scene starts with this frame, 0 to 1.
    pub cut: f64,
    /// Mean luma code of the frame.
    pub mean: f64,
}

/// The curves for a frame and how they came about.
#[derive(Clone, Debug)]
pub struct Decision {
    pub curves: Curves,
    pub report: Report,
}

/// Decides on the levels of the frames of one stream, in order; holds all memory of past frames.
pub struct Levels {
    info: FrameInfo,
    decision: Decision,
    clock: Clock,
    /// What is known from the frame that the next ones are compared with.
    held: Option<Memory>,
    reference: Look,
    /// Seconds since the reference.
    since: f64,
    cast: Cast,
    /// The clipping that the held ends were made with.
    clip: (f64, f64),
    window: Window,
    /// Which chunks speak for the window.
    speaks: Vec<bool>,
    now: Look,
    distribution: Distribution,
    fitter: Fitter,
}

impl Levels {
    /// Fresh levels for frames as described by `info`.
    pub fn new(info: &FrameInfo) -> Levels {
        let (black, white) = (f64::from(info.range.black), f64::from(info.range.white));
        let report = Report { black, white, gain: 1.0, exposure: 1.0, cut: 0.0, mean: black };
        Levels {
            info: info.clone(),
            decision: Decision { curves: Curves::identity(info.range.codes()), report },
            clock: Clock::default(),
            held: None,
            reference: Look::new(),
            since: 0.0,
            cast: Cast::default(),
            clip: (0.0, 0.0),
            window: Window::whole(info),
            speaks: vec![true; Grid::new(info).chunks()],
            now: Look::new(),
            distribution: Distribution::default(),
            fitter: Fitter::new(Grid::new(info).across()),
        }
    }

    /// Tells which part of the picture votes in the frames to come, those that it was measured in.
    pub fn set_window(&mut self, window: Window) {
        if window != self.window {
            self.speaks = window.chunks(&Grid::new(&self.info));
            self.window = window;
        }
    }

    /// Decides on the next frame from its `statistics`. `time` is its running time in seconds, if it has one.
    ///
    /// A frame without votes is levelled as the one before it. If time goes back, or jumps by more than about a
    /// second, the levels start afresh.
    pub fn decide(&mut self, statistics: &Statistics, settings: &Settings, time: Option<f64>) -> &Decision {
        let delta = self.clock.advance(time);
        match delta {
            Some(delta) => self.since += delta,
            None => {
                self.held = None;
                self.cast.reset();
            }
        }
        let range = self.info.range;
        if !self.distribution.fill(&statistics.luma, &range) {
            return self.unmoved();
        }
        self.decision.report.mean = self.distribution.mean() * unit(&range);
        if settings.freeze {
            // Time that was held over is not made up for.
            self.since = 0.0;
            return self.unmoved();
        }
        let clip = (share(settings.clip_low / 100.0, 0.25), share(settings.clip_high / 100.0, 0.25));
        let bins = range.bins() as f64 / 256.0;
        self.now.fill(&self.distribution, &statistics.chunks, &self.speaks, bins, clip);
        let tuning = self.tuning(settings);
        let (memory, change) = self.remember(settings, clip, &tuning);
        self.step_cast(statistics, settings, &tuning, &memory, (delta.unwrap_or(0.0), change.cut));
        self.draw(settings, &tuning, &memory);
        self.decision.report.exposure = change.exposure;
        self.decision.report.cut = change.cut;
        &self.decision
    }

    /// The present curves, for a frame that does not vote (a gap, a damaged frame). Identity at first.
    pub fn hold(&self) -> &Decision {
        &self.decision
    }

    /// Forgets all frames so far: the next one starts afresh.
    pub fn reset(&mut self) {
        let window = self.window;
        *self = Levels::new(&self.info);
        self.set_window(window);
    }

    fn unmoved(&mut self) -> &Decision {
        self.decision.report.exposure = 1.0;
        self.decision.report.cut = 0.0;
        &self.decision
    }

    fn tuning(&self, settings: &Settings) -> Tuning {
        let unit = unit(&self.info.range);
        let nominal =
            Ends { black: f64::from(self.info.range.black) / unit, white: f64::from(self.info.range.white) / unit };
        let (black, white) = (share(settings.black, 1.0), share(settings.white, 1.0));
        let (black, white) = if black < white { (black, white) } else { (0.0, 1.0) };
        Tuning {
            pace: settings.smoothing / USUAL_SMOOTHING,
            cut: share(settings.cut, 1.0),
            max_gain: share(settings.max_gain, 100.0).max(1.0),
            nominal,
            target: Ends { black: nominal.at(black), white: nominal.at(white) },
        }
    }

    /// Brings the memory up to the present frame.
    fn remember(&mut self, settings: &Settings, clip: (f64, f64), tuning: &Tuning) -> (Memory, Change) {
        let held = self.held.filter(|_| settings.smoothing > 0.0 && self.now.means.len() == self.reference.means.len());
        let (memory, change) = match held {
            None => (Memory::fresh(&self.now, tuning), Change::NONE),
            Some(mut held) => {
                if clip != self.clip {
                    held.shift(look::ends(&self.distribution, self.clip), self.now.ends);
                    self.held = Some(held);
                }
                held.step(&self.reference, &self.now, self.since, tuning, &mut self.fitter)
            }
        };
        self.clip = clip;
        if held.is_none() || self.since >= BASELINE || change.cut > 0.0 {
            self.held = Some(memory);
            std::mem::swap(&mut self.reference, &mut self.now);
            self.since = 0.0;
        }
        (memory, change)
    }

    /// Brings the cast up to the present frame, which came `delta` seconds after the one before.
    fn step_cast(
        &mut self,
        statistics: &Statistics,
        settings: &Settings,
        tuning: &Tuning,
        memory: &Memory,
        (delta, cut): (f64, f64),
    ) {
        if independence(settings, &self.info) <= 0.0 {
            self.cast.reset();
            return;
        }
        let pace = Pace {
            time: if tuning.pace > 0.0 { delta / tuning.pace } else { f64::INFINITY },
            cut,
            held: memory.ends,
            full: tuning.target.span(),
            max_gain: tuning.max_gain,
        };
        self.cast.step(statistics, &self.info.range, self.clip, &pace);
    }

    /// Draws the curves that the memory and the settings ask for.
    fn draw(&mut self, settings: &Settings, tuning: &Tuning, memory: &Memory) {
        let range = self.info.range;
        let Decision { curves, report } = &mut self.decision;
        let line = Line::new(memory.ends, tuning.target, tuning.nominal, tuning.max_gain);
        report.black = memory.ends.black * unit(&range);
        report.white = memory.ends.white * unit(&range);
        report.gain = line.gain;

        let drawer = Drawer { range, strength: share(settings.strength, 1.0) };
        if settings.mode == Mode::Off {
            curves.set_identity();
            return;
        }
        let warp = (settings.mode == Mode::Equalize)
            .then(|| Warp::new(memory.ends, &memory.quantiles, memory.gain, tuning.max_gain));
        let spread = |x: f64| line.at(warp.as_ref().map_or(x, |warp| warp.at(x)));
        let median = spread((memory.quantiles[QUANTILES / 2 - 1] + memory.quantiles[QUANTILES / 2]) / 2.0);
        let moved = share(settings.midtone, 1.0) * line.effect;
        let midtone = Midtone::new(tuning.target, median, moved, tone::most_slope(memory.gain, tuning.max_gain));
        let tone = |x: f64| midtone.at(spread(x));

        let independence = independence(settings, &self.info);
        let is_rgb = self.info.format.is_rgb();
        let follows = is_rgb || settings.chroma == Chroma::Follow;
        let bends = settings.mode == Mode::Equalize || settings.midtone > 0.0;
        let is_independent = independence > 0.0;
        curves.of = match has_channels(&self.info) {
            true if bends && (is_independent || follows) => Of::Tone,
            true if is_independent && !is_rgb => Of::Channels,
            _ => Of::Samples,
        };
        let of_rgb = is_rgb && curves.of == Of::Samples;
        let dithers = settings.dither && range.max == 255 && curves.of != Of::Channels;
        curves.dither = dithers.then(|| Dither::identity(if of_rgb { 3 } else { 1 }));

        // Lines of the channels, where they have their own.
        let own = is_independent.then(|| self.cast.ends(memory.ends, tuning.nominal, independence));
        let own = own.map(|ends| ends.map(|ends| Line::new(ends, tuning.target, tuning.nominal, tuning.max_gain)));
        curves.channels.iter_mut().for_each(Vec::clear);
        match (curves.of, own) {
            (Of::Tone, Some(own)) => {
                for (table, own) in curves.channels.iter_mut().zip(own) {
                    table.resize(range.bins(), 0);
                    drawer.luma(table, |x| own.at(x));
                }
                // What the tone does beyond luma's line.
                let plain = |y: f64| y;
                drawer.tone(curves, plain, 1.0, tuning.nominal, |y| tone(line.before(y)));
            }
            (Of::Tone, None) => drawer.tone(curves, |x| line.at(x), line.gain, tuning.nominal, tone),
            (_, Some(own)) => {
                for (index, own) in own.into_iter().enumerate() {
                    drawer.luma(&mut curves.tables[index], |x| own.at(x));
                    if let Some(dither) = &mut curves.dither {
                        drawer.fine(&mut dither.fine[index], |x| own.at(x));
                    }
                }
            }
            (_, None) => {
                let [first, second, third] = &mut curves.tables;
                drawer.luma(first, tone);
                if let Some(dither) = &mut curves.dither {
                    drawer.fine(&mut dither.fine[0], tone);
                    dither.fine = [dither.fine[0]; 3];
                }
                if is_rgb {
                    second.clone_from(first);
                } else {
                    drawer.chroma(second, if follows && has_chroma(&self.info) { line.gain } else { 1.0 });
                }
                third.clone_from(second);
            }
        }
    }
}

/// Running time, as the timestamps tell it.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    last: Option<f64>,
    delta: f64,
}

impl Clock {
    /// Seconds since the frame before; `None` if this frame does not follow on it.
    fn advance(&mut self, time: Option<f64>) -> Option<f64> {
        let time = time.filter(|time| time.is_finite());
        let last = self.last;
        self.last = time.or(last.map(|last| last + USUAL_DELTA));
        let (Some(time), Some(last)) = (time, last) else { return Some(USUAL_DELTA) };
        let delta = time - last;
        let usual = std::mem::replace(&mut self.delta, delta.max(0.0));
        if delta < -JITTER || delta > f64::max(JUMP, 2.5 * usual) {
            None
        } else if delta <= 0.0 {
            Some(USUAL_DELTA)
        } else {
            Some(delta)
        }
    }
}

/// Whether the channels of such frames may have levels of their own: those of formats with colours.
pub fn has_channels(info: &FrameInfo) -> bool {
    info.format.is_rgb() || has_chroma(info)
}

/// How far the channels have levels of their own.
fn independence(settings: &Settings, info: &FrameInfo) -> f64 {
    if has_channels(info) { share(settings.independence, 1.0) } else { 0.0 }
}

fn has_chroma(info: &FrameInfo) -> bool {
    info.planes.iter().any(|plane| plane.lanes.iter().any(|lane| matches!(lane, Lane::Cb | Lane::Cr)))
}

/// `x` within 0 to `most`, 0 if it is not a number.
fn share(x: f64, most: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, most) }
}

/// 0 below `low`, 1 above `high`, with a smooth step between.
fn smoothstep(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

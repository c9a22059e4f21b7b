//! Memory: the levels that are held from frame to frame.
//!
//! They go along at once with a change of exposure, so that the output stays still, and are pulled slowly towards
//! everything else that the picture shows: outwards faster than inwards, never faster than the eye forgives.

use super::cut;
use super::exposure::Fitter;
use super::look::{Look, QUANTILES};
use super::smoothstep;
use super::stretch::{Ends, Line};

/// Time constants of the pull in seconds, at the default `smoothing`.
const OUTWARDS: f64 = 0.2;
const BLACK_INWARDS: f64 = 3.0;
const WHITE_INWARDS: f64 = 20.0;
const INSIDE: f64 = 3.0;
/// The pull while exposure is followed, so that what drifts along with it dies.
const FOLLOWING: f64 = 0.5;
/// The pull inwards during a fade.
const FADING: f64 = 1.0;
/// How long a wide span is remembered to tell a fade by.
const WIDEST: f64 = 4.0;
/// How long it takes until another gain is the usual one.
const USUAL_GAIN: f64 = 3.0;
/// How long exposure that was followed makes the next change of it more likely.
const ALERT: f64 = 0.4;
/// Most that the pull may move an end, in output codes a second.
const SLEW: f64 = 45.0;

/// The readiness for cuts that their thresholds are tuned to.
const USUAL_CUT: f64 = 0.5;
/// How much faster still where most of the picture would be clipped, or some of it and all of it comes out too dark.
const HURRY: f64 = 8.0;
/// What is some of it: nothing below the first share, fully from the second on.
const SOME: (f64, f64) = (0.1, 0.3);
/// What is too dark, in codes.
const DARK: (f64, f64) = (1.0, 6.0);

/// What the memory works by in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Factor on all time constants. Positive.
    pub pace: f64,
    /// Readiness for cuts, 0 to 1.
    pub cut: f64,
    pub max_gain: f64,
    pub nominal: Ends,
    pub target: Ends,
}

impl Tuning {
    /// The contrast gain that takes `ends` to the target, as far as it is allowed.
    fn gain(&self, ends: Ends) -> f64 {
        (self.target.span() / ends.span().max(1.0)).min(self.max_gain)
    }

    fn line(&self, ends: Ends) -> Line {
        Line::new(ends, self.target, self.nominal, self.max_gain)
    }

    /// Whether `ends` crush some of a picture and make it darker, as a whole, than it is and than its own ends
    /// would make it, 0 to 1. Nothing calls for that.
    fn smothers(&self, ends: Ends, now: &Look) -> f64 {
        if now.ends.black >= ends.black {
            return 0.0;
        }
        let mean = |level: &dyn Fn(f64) -> f64| now.quantiles.iter().map(|x| level(*x)).sum::<f64>() / QUANTILES as f64;
        let crushed = mean(&|x| ((ends.black - x) / 4.0).clamp(0.0, 1.0));
        let (held, own) = (self.line(ends), self.line(now.ends));
        let darker = mean(&|x| own.at(x)).min(mean(&|x| x)) - mean(&|x| held.at(x));
        smoothstep(SOME.0, SOME.1, crushed) * smoothstep(DARK.0, DARK.1, darker)
    }
}

/// The held levels, in 8-bit codes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub ends: Ends,
    /// The quantile function, for equalize.
    pub quantiles: [f64; QUANTILES],
    /// Contrast gain of late, which bounds what equalize adds to it.
    pub gain: f64,
    /// The widest span of late, slowly forgotten.
    widest: f64,
    /// How much of a fade there is or was of late, 0 to 1.
    faded: f64,
    /// How often exposure was followed of late, 0 to 1.
    moving: f64,
}

/// What happened from one frame to the next.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Factor by which exposure changed, as far as it was followed.
    pub exposure: f64,
    pub cut: f64,
}

impl Change {
    pub const NONE: Change = Change { exposure: 1.0, cut: 0.0 };
}

impl Memory {
    /// The levels of a frame, without any memory.
    pub fn fresh(now: &Look, tuning: &Tuning) -> Memory {
        let gain = tuning.gain(now.ends);
        Memory { ends: now.ends, quantiles: now.quantiles, gain, widest: now.ends.span(), faded: 0.0, moving: 0.0 }
    }

    /// The memory after the frame `now`, `dt` seconds after the frame `before` that this memory is of.
    pub fn step(&self, before: &Look, now: &Look, dt: f64, tuning: &Tuning, fitter: &mut Fitter) -> (Memory, Change) {
        let full = tuning.target.span();
        let fit = fitter.fit(before, now, self.ends.black, tuning.nominal, smoothstep(0.2, 0.6, self.moving));
        let own = now.ends;
        let reach = |seconds: f64| 1.0 - (-dt / (seconds * tuning.pace)).exp();

        // A flat picture tells nothing: what is held stays as it is.
        let textured = smoothstep(4.0, 16.0, own.span());
        // A sudden step out of steadiness is a lamp, not a fade.
        let sudden = fit.confidence
            * smoothstep(0.25, 0.6, fit.exposure.scale.max(1e-6).ln().abs())
            * smoothstep(0.7, 0.9, before.ends.span() / self.widest.max(1e-6));
        let known = self.widest * (1.0 + sudden * (fit.exposure.scale.min(1.0) - 1.0));
        let mut widest = known + textured * reach(WIDEST) * (own.span() - known);
        widest = widest.max(own.span());
        let steady = smoothstep(0.35, 0.55, own.span() / widest.max(1e-6));
        let faded = f64::max(1.0 - steady, self.faded * (1.0 - textured * reach(FADING)));

        let gain = tuning.gain(self.ends);
        // A flat picture at either end is where fades go to and come from; any other is a scene.
        let off_ends = (now.mean - tuning.nominal.black).min(tuning.nominal.white - now.mean);
        let scene = textured.max(smoothstep(4.0, 16.0, off_ends));
        let another = |readiness: f64| scene * cut::likelihood(before, now, fit.residual * gain, readiness);
        let cut = another(tuning.cut);
        // Another scene is no exposure, even where it must not start afresh.
        let same = 1.0 - if tuning.cut == USUAL_CUT { cut } else { cut.max(another(USUAL_CUT)) };

        // Where most of the picture is left unexplained, what is explained tells little.
        let explained = 1.0 - smoothstep(24.0, 48.0, fit.residual * gain);
        let confidence = fit.confidence * explained * steady * textured * same;
        let carry = |level: f64| level + confidence * (fit.exposure.at(level) - level);
        let carried = self.carry(before.ends, carry, faded);

        let pull = |rate: f64| textured * (1.0 - (-dt * (rate + confidence / FOLLOWING) / tuning.pace).exp());
        let towards = |from: f64, to: f64, outwards: bool, inwards: f64| {
            // Levels beyond the nominal range mean nothing.
            let beyond = if tuning.nominal.clamp(from) == from { 0.0 } else { 1.0 };
            let rate = if outwards { 1.0 / OUTWARDS } else { 1.0 / inwards + (faded + beyond) / FADING };
            from + pull(rate) * (to - from)
        };
        let black = towards(carried.black, own.black, own.black < carried.black, BLACK_INWARDS);
        let white = towards(carried.white, own.white, own.white > carried.white, WHITE_INWARDS);
        let pulled = Ends { black, white };

        let gain = full / pulled.span().max(1.0);
        let hurry = smoothstep(0.35, 0.65, carried.missed(&now.quantiles));
        let hurry = hurry.max(tuning.smothers(carried, now));
        let most = SLEW * (1.0 + HURRY * hurry) * dt / tuning.pace;
        let moved =
            f64::max((carried.black - pulled.black).abs() * gain, ((carried.white - pulled.black) * gain - full).abs());
        let share = (most / moved.max(1e-9)).min(1.0);
        let mut ends = Ends {
            black: carried.black + share * (pulled.black - carried.black),
            white: carried.white + share * (pulled.white - carried.white),
        };

        let inside = pull(1.0 / INSIDE + faded / FADING);
        let mut quantiles = self.quantiles;
        for (level, own) in quantiles.iter_mut().zip(&now.quantiles) {
            let carried = carry(*level);
            let step = (inside * (own - carried)).clamp(-most / gain, most / gain);
            *level = carried + step;
            *level += cut * (own - *level);
        }

        let mut usual_gain = self.gain + reach(USUAL_GAIN) * (gain - self.gain);
        if cut > 0.0 {
            let start = self.start_of_scene(own, full);
            ends.black += cut * (start.black - ends.black);
            ends.white += cut * (start.white - ends.white);
            widest += cut * (own.span() - widest);
            usual_gain += cut * (tuning.gain(ends) - usual_gain);
        }
        // What was only ever flat is no memory of a picture.
        let unknown = textured * (1.0 - smoothstep(4.0, 16.0, self.ends.span()));
        ends.black += unknown * (own.black - ends.black);
        ends.white += unknown * (own.white - ends.white);

        let exposure = 1.0 + confidence * (fit.exposure.scale - 1.0);
        let moving = self.moving + reach(ALERT) * (confidence - self.moving);
        (Memory { ends, quantiles, gain: usual_gain, widest, faded, moving }, Change { exposure, cut })
    }

    /// The ends, carried along with a change of exposure. After a fade, headroom that the picture did not use is
    /// not carried outwards: it was left over when the fade was let go, and would grow with the returning picture.
    fn carry(&self, own: Ends, carry: impl Fn(f64) -> f64, faded: f64) -> Ends {
        let mut black = carry(self.ends.black);
        let mut white = carry(self.ends.white);
        black += faded * (self.ends.black.min(carry(own.black)) - black).max(0.0);
        white -= faded * (white - self.ends.white.max(carry(own.white))).max(0.0);
        Ends { black, white: white.max(black + 1.0) }
    }

    /// The levels that a new scene starts with: its own, but what is held stays where it still serves.
    fn start_of_scene(&self, own: Ends, full: f64) -> Ends {
        let wider = self.ends.white.max(own.white);
        let serves = 1.0 - smoothstep(1.5, 2.0, (wider - own.black) / own.span().max(1.0));
        let white = own.white + serves * (wider - own.white);
        let deeper = self.ends.black.min(own.black);
        let lifted = (own.black - deeper) * full / (white - deeper).max(1.0);
        let serves = 1.0 - smoothstep(12.0, 24.0, lifted);
        Ends { black: own.black + serves * (deeper - own.black), white }
    }

    /// Moves the ends as another choice of clipping moves them in the present picture.
    pub fn shift(&mut self, from: Ends, to: Ends) {
        self.ends.black += to.black - from.black;
        self.ends.white = (self.ends.white + to.white - from.white).max(self.ends.black);
    }
}

//! Cuts: does another scene start with this frame?
//!
//! A cut needs two witnesses: the layout of light and dark has changed (correlation), and no exposure explains the
//! change (residual, in codes of the output, for input codes would miss the cuts of a hazy picture).
//! A flash, a fade, a logo or a subtitle lacks one of them.

use super::look::Look;
use super::smoothstep;

/// How surely a new scene starts, 0 to 1. `residual` is what the exposure fit leaves, in output codes;
/// `readiness` is 0 for never, and 0.5 for the thresholds as they were tuned.
pub fn likelihood(before: &Look, now: &Look, residual: f64, readiness: f64) -> f64 {
    if readiness <= 0.0 {
        return 0.0;
    }
    let strictness = 0.5 / readiness;
    let unexplained = smoothstep(6.0 * strictness, 14.0 * strictness, residual);
    if unexplained <= 0.0 {
        return 0.0;
    }
    let changed = 1.0 - correlation(before, now).max(0.0);
    unexplained * smoothstep(0.4 * strictness, 0.7 * strictness, changed)
}

/// Correlation of the chunk means. Of flat pictures there is none: they are alike if both are flat.
fn correlation(before: &Look, now: &Look) -> f64 {
    let (mut w, mut x, mut y, mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for i in 0..before.means.len().min(now.means.len()) {
        let weight = f64::from(before.weights[i].min(now.weights[i]));
        let (a, b) = (f64::from(before.means[i]) - before.mean, f64::from(now.means[i]) - now.mean);
        w += weight;
        x += weight * a;
        y += weight * b;
        xx += weight * a * a;
        yy += weight * b * b;
        xy += weight * a * b;
    }
    if w <= 0.0 {
        return 1.0;
    }
    let (x, y) = (x / w, y / w);
    let deviation_before = (xx / w - x * x).max(0.0).sqrt();
    let deviation_now = (yy / w - y * y).max(0.0).sqrt();
    let (less, more) = (deviation_before.min(deviation_now), deviation_before.max(deviation_now));
    if less > 0.5 {
        (xy / w - x * y) / (deviation_before * deviation_now)
    } else if more > 4.0 * less.max(0.5) {
        0.0
    } else {
        1.0
    }
}

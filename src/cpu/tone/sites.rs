//! Tones of luma and chroma: a row of sites, its chroma by the mean luma, its pixels by their own.

use crate::colour::gained;
use crate::levels::dither::{ACROSS, pattern};

use super::super::matrix::Offsets;
use super::super::sites::{Code, Rows};
use super::Toner;

/// Samples that are compared with their limits together.
const BLOCK: usize = 32;

/// What a thread has beside a row of sites.
#[derive(Clone, Default)]
pub struct Scratch<C> {
    /// What the highest channel of each site has more than luma.
    above: Vec<u16>,
    /// The same of sites or pixels, as near as it fits.
    near: Vec<C>,
    /// The limits of samples, and these as they came.
    limits: Vec<C>,
    before: Vec<C>,
    gains: Vec<u16>,
    /// Room for the curves of R, G and B that come before.
    pub offsets: Offsets,
}

/// Changes a row of sites, whose first row of pixels is `y`.
#[inline(always)]
pub fn tone_sites<C: Code>(toner: &Toner<C>, rows: &mut Rows<C>, scratch: &mut Scratch<C>, y: usize) {
    let Scratch { above, near, limits, before, gains, .. } = scratch;
    let Rows { luma, means, cb, cr } = rows;
    above.resize(cb.len(), 0);
    near.resize(cb.len(), C::default());
    // Loops rather than iterators that are collected, which the compiler does not do several at a time here.
    for ((above, near), (cb, cr)) in above.iter_mut().zip(&mut *near).zip(cb.iter().zip(&*cr)) {
        let [r, g, b] = toner.matrix.offsets(cb.get(), cr.get());
        let most = r.max(g).max(b).max(0);
        (*above, *near) = (most as u16, C::saturating(most));
    }
    gains.resize(means.len(), 0);
    for (gain, mean) in gains.iter_mut().zip(&*means) {
        *gain = toner.tables.gains.get(mean.get() as usize).copied().unwrap_or_default();
    }
    look_up(toner, limits, means);
    each_beyond(near, limits, |i| {
        if let (Some(gain), Some(mean), Some(above)) = (gains.get_mut(i), means.get(i), above.get(i)) {
            *gain = toner.settle(mean.get(), (*above).into()).1 as u16;
        }
    });
    let [neutral, most, black] =
        [toner.info.range.neutral, toner.info.range.max, toner.info.range.black].map(i32::from);
    // The codes of chroma; samples that were beyond may stay there.
    let [least, greatest] = [black, (2 * neutral - black).min(most)];
    for samples in [cb, cr] {
        for (code, gain) in samples.iter_mut().zip(&*gains) {
            let came = code.get();
            let out = neutral + gained(came - neutral, (*gain).into());
            *code = C::new(out.max(least.min(came)).min(greatest.max(came)));
        }
    }

    if toner.across > 0 {
        near.resize(2 * above.len(), C::default());
        for (pair, above) in near.as_chunks_mut().0.iter_mut().zip(&*above) {
            *pair = [C::saturating((*above).into()); 2];
        }
    }
    for (luma, y) in luma.iter_mut().zip(y..).filter(|(luma, _)| !luma.is_empty()) {
        before.clone_from(luma);
        look_up(toner, limits, before);
        C::look_up(toner.path, luma, &toner.tables.luma);
        each_beyond(near, limits, |i| {
            if let (Some(luma), Some(before), Some(above)) =
                (luma.get_mut(i), before.get(i), above.get(i >> toner.across))
            {
                *luma = C::saturating(toner.settle(before.get(), (*above).into()).0);
            }
        });
        if let Some(noise) = &toner.noise {
            let mut pattern = pattern(noise.seed, y);
            for (luma, before) in luma.iter_mut().zip(&*before) {
                let level = toner.dithered(noise, before.get(), luma.get(), pattern);
                *luma = C::new(level.clamp(0, most));
                pattern = pattern.wrapping_add(ACROSS);
            }
        }
    }
}

/// The limits of codes.
#[inline(always)]
fn look_up<C: Code>(toner: &Toner<C>, limits: &mut Vec<C>, codes: &[C]) {
    limits.clear();
    limits.extend_from_slice(codes);
    C::look_up(toner.path, limits, &toner.tables.limits);
}

/// Calls `work` for each sample that may be beyond its limit.
#[inline(always)]
fn each_beyond<C: Code>(near: &[C], limits: &[C], mut work: impl FnMut(usize)) {
    for (block, (near, limits)) in near.chunks(BLOCK).zip(limits.chunks(BLOCK)).enumerate() {
        let mut is_beyond = [0u8; BLOCK];
        for (is_beyond, (near, limit)) in is_beyond.iter_mut().zip(near.iter().zip(limits)) {
            *is_beyond = u8::from(near >= limit);
        }
        // Eight at a time, so that those that are not cost next to nothing.
        for (word, bytes) in is_beyond.as_chunks().0.iter().enumerate() {
            let mut left = u64::from_le_bytes(*bytes);
            while left != 0 {
                work(block * BLOCK + 8 * word + left.trailing_zeros() as usize / 8);
                left &= left - 1;
            }
        }
    }
}

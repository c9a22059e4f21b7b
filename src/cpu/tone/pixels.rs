//! Tones of R, G and B: each pixel whole, some of them at a time.

use crate::colour::gained;
use crate::levels::dither::{ACROSS, pattern};

use super::super::sites::{Code, Rows};
use super::Toner;

/// Pixels that are worked on together, so that the compiler does several at a time.
const BLOCK: usize = 32;

/// A block of pixels, or a part of one.
struct Block {
    levels: [i32; BLOCK],
    /// What the highest channel has more than luma.
    above: [i32; BLOCK],
    /// What comes out.
    luma: [i32; BLOCK],
    gains: [i32; BLOCK],
}

/// Changes row `y` of pixels.
#[inline(always)]
pub fn tone_pixels<C: Code>(toner: &Toner<C>, rows: &mut Rows<C>, y: usize) {
    let [wr, wg, wb] = toner.info.weights.0;
    let (fine, [least, most]) = (toner.fine, toner.ends);
    let (half, round) = (0x8000 >> fine, (1 << fine) >> 1);
    let mut pattern = toner.noise.as_ref().map_or(0, |noise| pattern(noise.seed, y));
    let mut block = Block { levels: [0; BLOCK], above: [0; BLOCK], luma: [0; BLOCK], gains: [0; BLOCK] };
    let Rows { luma: [red, _], cb: green, cr: blue, .. } = rows;
    let channels = red.chunks_mut(BLOCK).zip(green.chunks_mut(BLOCK)).zip(blue.chunks_mut(BLOCK));
    for ((red, green), blue) in channels {
        let codes = red.iter().zip(&*green).zip(&*blue).map(|((r, g), b)| [r.get(), g.get(), b.get()]);
        for ((level, above), codes) in block.levels.iter_mut().zip(&mut block.above).zip(codes) {
            let [r, g, b] = codes.map(|code| code as u32);
            // The weights sum to 65536, so this fits.
            *level = ((wr * r + wg * g + wb * b + half) >> (16 - fine)) as i32;
            let [r, g, b] = codes.map(|code| (code << fine) - *level);
            *above = r.max(g).max(b).max(0);
        }
        let Block { levels, above, luma, gains } = &mut block;
        let mut may_go_back = [false; BLOCK];
        for i in 0..BLOCK {
            let level = toner.level(levels[i]);
            (luma[i], gains[i]) = (level.tone.luma, level.tone.gain);
            may_go_back[i] = above[i] >= level.limit;
        }
        for i in (0..BLOCK).filter(|i| may_go_back[*i]) {
            (luma[i], gains[i]) = toner.settle(levels[i], above[i]);
        }
        if let Some(noise) = &toner.noise {
            for (luma, level) in luma.iter_mut().zip(&*levels) {
                *luma = toner.dithered(noise, *level, *luma, pattern);
                pattern = pattern.wrapping_add(ACROSS);
            }
        }
        for samples in [red, green, blue] {
            for (code, ((level, luma), gain)) in samples.iter_mut().zip(levels.iter().zip(&*luma).zip(&*gains)) {
                let out = luma + gained((code.get() << fine) - level, *gain);
                *code = C::new(((out + round) >> fine).max(least).min(most));
            }
        }
    }
}

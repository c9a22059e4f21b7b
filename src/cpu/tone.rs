//! Tone: a curve of luma, whose colours gain as much as each level of it says.
//!
//! Of formats with chroma the chroma alone is changed here, each site by its mean luma; their luma is looked up as
//! ever. Of RGB formats each pixel is changed whole. All this is done in parts of a code, see [`fraction`].

use crate::colour::{LEFT_ALONE, Matrix, Places, Room, fraction, gained};
use crate::frame::{Access, FrameError, FrameInfo, Packing, PlanesMut};
use crate::levels::curves::Curves;
use crate::levels::dither::{self, ACROSS, CODES, Place, pattern};
use crate::overlay::marks::Marks;

use super::kernels::{Path, on_path};
use super::overlay;
use super::rows::{Lanes, Sites};
use super::sites::{Code, Rows};

/// Applies such curves to frames of one kind.
pub struct Tone {
    places: Places,
    matrix: Matrix,
    path: Path,
    /// The output of every code of luma.
    outputs: Vec<u16>,
    /// See [`fraction`].
    fine: u32,
    /// Where each level goes, a part of a code after the other, and what the colours that come with it gain.
    tones: Vec<(i32, u16)>,
    threads: Threads,
}

/// What each thread works with, for samples of 8 bits, and of 16.
enum Threads {
    Bytes(Vec<(Rows<u8>, ())>),
    Words(Vec<(Rows<u16>, ())>),
}

impl Tone {
    /// `None` for grey formats.
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Option<Tone> {
        let threads = match info.format.packing() {
            Packing::BYTE => Threads::Bytes(vec![Default::default(); threads]),
            _ => Threads::Words(vec![Default::default(); threads]),
        };
        let fine = fraction(info);
        let codes = info.range.codes();
        Some(Tone {
            places: Places::find(info)?,
            matrix: Matrix::new(info),
            path,
            outputs: vec![0; codes],
            fine,
            tones: vec![Default::default(); codes << fine],
            threads,
        })
    }

    /// Changes a frame but for the luma of formats with chroma, and for what `marks` keep, and gives its output back.
    ///
    /// # Errors
    /// If the memory does not hold what `info` describes; nothing is written then.
    pub fn run<'f>(
        &mut self,
        info: &FrameInfo,
        access: Access<'f>,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<PlanesMut<'f>, FrameError> {
        let Tone { places, matrix, path, outputs, fine, tones, threads } = self;
        let fine = *fine;
        curves.expand(0, outputs);
        let at = |code: usize| {
            let code = code.min(outputs.len() - 1);
            let gain = curves.gains.get(code >> curves.shift).copied().unwrap_or(LEFT_ALONE);
            (i32::from(outputs[code]), i32::from(gain))
        };
        for (code, tones) in tones.chunks_mut(1 << fine).enumerate() {
            let ((from, gain), (to, next)) = (at(code), at(code + 1));
            for (tone, past) in tones.iter_mut().zip(0..) {
                *tone = ((from << fine) + past * (to - from), (gain + ((past * (next - gain)) >> fine)) as u16);
            }
        }
        let dither = curves.dither.as_ref().filter(|_| info.format.packing() == Packing::BYTE);
        let noise = dither.map(|dither| Noise { seed: dither.seed(), places: dither.places(0) });
        let ends = [info.range.black, info.range.white].map(|end| i32::from(end) << fine);
        let toner = Toner { info, matrix, fine, ends, tones, noise };
        let lanes = if info.format.is_rgb() { Lanes::All } else { Lanes::Chroma };
        let sites = Sites { info, places, lanes, marks };
        let mut output = match threads {
            Threads::Bytes(threads) => sites.change(access, threads, |rows, (), y| toner.change(*path, rows, y))?,
            Threads::Words(threads) => sites.change(access, threads, |rows, (), y| toner.change(*path, rows, y))?,
        };
        if info.format.is_rgb() {
            overlay::draw(info, &mut output, marks);
        }
        Ok(output)
    }
}

/// How luma is dithered.
struct Noise {
    seed: u32,
    places: [Place; CODES],
}

impl Noise {
    /// Where a level goes that is given as `fine` as the result.
    #[inline(always)]
    fn at(&self, level: usize, fine: u32, pattern: u32) -> i32 {
        let code = (level >> fine).min(CODES - 1);
        let (place, next) = (self.places[code], self.places[(code + 1).min(CODES - 1)]);
        let past = (level & ((1 << fine) - 1)) as i32;
        let between = (past * (i32::from(next.fine) - i32::from(place.fine))) >> fine;
        (i32::from(place.fine) + between + place.noise(dither::level(pattern))) >> (8 - fine)
    }
}

/// The arithmetic of a row.
pub struct Toner<'a> {
    info: &'a FrameInfo,
    matrix: &'a Matrix,
    /// As in [`Tone`], and black and white as fine.
    fine: u32,
    ends: [i32; 2],
    tones: &'a [(i32, u16)],
    noise: Option<Noise>,
}

impl Toner<'_> {
    fn change<C: Code>(&self, path: Path, rows: &mut Rows<C>, y: usize) {
        if self.info.format.is_rgb() {
            on_path!(path, tone_pixels(self, rows, y));
        } else {
            on_path!(path, tone_chroma(self, rows));
        }
    }
}

/// Pixels or sites that are worked on together, so that the compiler does several at a time.
const BLOCK: usize = 32;

/// A block of them, or a part of one.
struct Block {
    luma: [i32; BLOCK],
    /// What R, G and B have more than luma.
    more: [[i32; BLOCK]; 3],
    /// Where luma goes, and what its colours gain.
    toned: [i32; BLOCK],
    gains: [i32; BLOCK],
}

impl Block {
    const NEW: Block = Block { luma: [0; BLOCK], more: [[0; BLOCK]; 3], toned: [0; BLOCK], gains: [0; BLOCK] };

    /// Finds where luma goes, and what its colours gain.
    #[inline(always)]
    fn tone(&mut self, toner: &Toner) {
        let Block { luma, more: [red, green, blue], toned, gains } = self;
        for ((luma, toned), gain) in luma.iter().zip(&mut *toned).zip(&mut *gains) {
            let tone = toner.tones.get(*luma as usize).copied().unwrap_or_default();
            (*toned, *gain) = (tone.0, tone.1.into());
        }
        // What need not be held back is told apart first, without a division.
        let mut short = [false; BLOCK];
        for i in 0..BLOCK {
            let room = Room::new(luma[i], toned[i], [red[i], green[i], blue[i]], toner.ends);
            short[i] = !room.holds(gains[i] as u32);
        }
        for i in (0..BLOCK).filter(|i| short[*i]) {
            gains[i] =
                Room::new(luma[i], toned[i], [red[i], green[i], blue[i]], toner.ends).fit(gains[i] as u32) as i32;
        }
    }
}

/// Changes the chroma of a row of sites.
#[inline(always)]
pub fn tone_chroma<C: Code>(toner: &Toner, rows: &mut Rows<C>) {
    let (neutral, most) = (i32::from(toner.info.range.neutral), i32::from(toner.info.range.max));
    let mut block = Block::NEW;
    let chroma = rows.cb.chunks_mut(BLOCK).zip(rows.cr.chunks_mut(BLOCK));
    for (means, (cb, cr)) in rows.means.chunks(BLOCK).zip(chroma) {
        let Block { luma, more: [red, green, blue], .. } = &mut block;
        let more = red.iter_mut().zip(green).zip(blue);
        for (((luma, ((r, g), b)), mean), (cb, cr)) in luma.iter_mut().zip(more).zip(means).zip(cb.iter().zip(&*cr)) {
            *luma = i32::from(*mean);
            [*r, *g, *b] = toner.matrix.fine_offsets(cb.get(), cr.get());
        }
        block.tone(toner);
        for samples in [cb, cr] {
            for (code, gain) in samples.iter_mut().zip(&block.gains) {
                *code = C::new((neutral + gained(code.get() - neutral, *gain)).clamp(0, most));
            }
        }
    }
}

/// Changes row `y` of pixels of R, G and B.
#[inline(always)]
pub fn tone_pixels<C: Code>(toner: &Toner, rows: &mut Rows<C>, y: usize) {
    let [wr, wg, wb] = toner.info.weights.0;
    let (most, fine) = (i32::from(toner.info.range.max), toner.fine);
    let half = 0x8000 >> fine;
    let mut pattern = toner.noise.as_ref().map_or(0, |noise| pattern(noise.seed, y));
    let mut block = Block::NEW;
    let Rows { luma: [red, _], cb: green, cr: blue, .. } = rows;
    let channels = red.chunks_mut(BLOCK).zip(green.chunks_mut(BLOCK)).zip(blue.chunks_mut(BLOCK));
    for ((red, green), blue) in channels {
        let codes = red.iter().zip(&*green).zip(&*blue).map(|((r, g), b)| [r.get(), g.get(), b.get()]);
        let Block { luma, more: [r, g, b], .. } = &mut block;
        let more = r.iter_mut().zip(g).zip(b);
        for ((luma, ((r, g), b)), codes) in luma.iter_mut().zip(more).zip(codes) {
            let [red, green, blue] = codes.map(|code| code as u32);
            // The weights sum to 65536, so this fits.
            *luma = ((wr * red + wg * green + wb * blue + half) >> (16 - fine)) as i32;
            [*r, *g, *b] = codes.map(|code| (code << fine) - *luma);
        }
        block.tone(toner);
        if let Some(noise) = &toner.noise {
            for (toned, luma) in block.toned.iter_mut().zip(&block.luma) {
                *toned = noise.at(*luma as usize, fine, pattern);
                pattern = pattern.wrapping_add(ACROSS);
            }
        }
        for (samples, more) in [red, green, blue].into_iter().zip(&block.more) {
            for (((code, more), toned), gain) in samples.iter_mut().zip(more).zip(&block.toned).zip(&block.gains) {
                *code = C::new(((toned + gained(*more, *gain) + ((1 << fine) >> 1)) >> fine).clamp(0, most));
            }
        }
    }
}

//! Tone: a curve of luma that bends, whose colours gain as much as each level of it says.
//!
//! A row of sites is worked on at a time: its chroma by the mean luma, each of its pixels by its own luma and its site's
//! chroma ([`sites`]); of RGB formats each pixel whole ([`pixels`]). Most colours have room, which a limit for each level
//! tells at once; the others are done one by one.

pub mod pixels;
pub mod sites;

use crate::colour::{LEFT_ALONE, MOST_GAIN, Matrix, Places, Toned, between, fraction};
use crate::frame::{Access, FrameError, FrameInfo, Packing};
use crate::levels::curves::Curves;
use crate::levels::dither::{self, CODES, Place};
use crate::overlay::marks::Marks;

use super::kernels::{Path, on_path};
use super::matrix::{Mix, Mixing, Offsets};
use super::overlay;
use super::rows::Sites;
use super::sites::{Code, Rows};

/// Applies such curves to frames of one kind.
pub enum Tone {
    Bytes(Toning<u8>),
    Words(Toning<u16>),
}

impl Tone {
    /// `None` for grey formats.
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Option<Tone> {
        let places = Places::find(info)?;
        Some(match info.format.packing() {
            Packing::BYTE => Tone::Bytes(Toning::new(info, path, places, threads)),
            _ => Tone::Words(Toning::new(info, path, places, threads)),
        })
    }

    /// Changes every pixel, but those that `marks` keep, and draws the marks.
    ///
    /// # Errors
    /// If the memory does not hold what `info` describes; nothing is written then.
    pub fn run(
        &mut self,
        info: &FrameInfo,
        access: Access,
        curves: &Curves,
        marks: Option<&Marks>,
        mix: Option<&mut Mix>,
    ) -> Result<(), FrameError> {
        let before = mix.filter(|_| curves.has_channels());
        match (self, before) {
            (Tone::Bytes(toning), Some(Mix::Bytes(mixing))) => toning.run_after(mixing, info, access, curves, marks),
            (Tone::Words(toning), Some(Mix::Words(mixing))) => toning.run_after(mixing, info, access, curves, marks),
            (Tone::Bytes(toning), _) => toning.run_by_channel(info, access, curves, marks),
            (Tone::Words(toning), _) => toning.run_by_channel(info, access, curves, marks),
        }
    }
}

/// The same for samples of one size.
pub struct Toning<C> {
    path: Path,
    places: Places,
    matrix: Matrix,
    /// The outputs of every code: of the tone, and of the straight line within it.
    outputs: [Vec<u16>; 2],
    tables: Tables<C>,
    /// The outputs of curves of R, G and B.
    channels: [Vec<C>; 3],
    threads: Vec<(Rows<C>, sites::Scratch<C>)>,
}

impl<C: Code> Toning<C> {
    fn new(info: &FrameInfo, path: Path, places: Places, threads: usize) -> Toning<C> {
        let codes = info.range.codes();
        let levels = vec![Level::default(); codes << fraction(info)];
        Toning {
            path,
            places,
            matrix: Matrix::new(info),
            outputs: [vec![0; codes], vec![0; codes]],
            tables: Tables { levels, luma: Vec::new(), limits: Vec::new(), gains: Vec::new() },
            channels: Default::default(),
            threads: vec![Default::default(); threads],
        }
    }

    /// Runs after curves of R, G and B, in formats with chroma.
    fn run_after<const ENTRIES: usize>(
        &mut self,
        mixing: &mut Mixing<C, ENTRIES>,
        info: &FrameInfo,
        access: Access,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), FrameError> {
        let (path, mixer) = (self.path, mixing.before(info, curves));
        self.run(info, access, curves, marks, &|rows, offsets| on_path!(path, mix(&mixer, rows, offsets)))
    }

    /// Runs where what comes before, if anything, takes each channel by itself: in RGB formats.
    fn run_by_channel(
        &mut self,
        info: &FrameInfo,
        access: Access,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), FrameError> {
        let (path, has_channels) = (self.path, curves.has_channels());
        let mut channels = std::mem::take(&mut self.channels);
        for (outputs, table) in channels.iter_mut().zip(&curves.channels).filter(|_| has_channels) {
            curves.expand_table(table, &mut self.outputs[0]);
            outputs.clear();
            outputs.extend(self.outputs[0].iter().map(|out| C::new((*out).into())));
        }
        let result = self.run(info, access, curves, marks, &|rows, _| {
            if has_channels {
                send_through(path, rows, &channels);
            }
        });
        self.channels = channels;
        result
    }

    /// Runs with what comes `before` in each row.
    fn run(
        &mut self,
        info: &FrameInfo,
        access: Access,
        curves: &Curves,
        marks: Option<&Marks>,
        before: &(dyn Fn(&mut Rows<C>, &mut Offsets) + Sync),
    ) -> Result<(), FrameError> {
        let Toning { path, places, matrix, outputs, tables, threads, .. } = self;
        let (path, fine, is_rgb) = (*path, fraction(info), info.format.is_rgb());
        let white = i32::from(info.range.white) << fine;
        outputs.iter_mut().enumerate().for_each(|(curve, outputs)| curves.expand(curve, outputs));
        tables.fill(outputs, curves, fine, white);
        if !is_rgb {
            tables.narrow();
        }
        let dither = curves.dither.as_ref().filter(|_| info.format.packing() == Packing::BYTE);
        let toner = Toner {
            path,
            info,
            matrix,
            across: places.shift[0],
            fine,
            white,
            ends: [outputs[0][0], outputs[0][outputs[0].len() - 1]].map(i32::from),
            tables,
            plain_gain: curves.plain_gain.min(MOST_GAIN).into(),
            noise: dither.map(|dither| Noise { seed: dither.seed(), places: dither.places(0) }),
        };
        let down = places.shift[1];
        let sites = Sites { path, info, places, marks };
        let mut output = sites.change(access, threads, |rows, scratch, y| {
            before(rows, &mut scratch.offsets);
            if is_rgb {
                on_path!(path, tone_pixels(&toner, rows, y));
            } else {
                on_path!(path, tone_sites(&toner, rows, scratch, y << down));
            }
        })?;
        overlay::draw(info, &mut output, marks);
        Ok(())
    }
}

/// Sends the channels of a row of R, G and B through tables of their own.
fn send_through<C: Code>(path: Path, rows: &mut Rows<C>, tables: &[Vec<C>; 3]) {
    let Rows { luma: [red, _], cb: green, cr: blue, .. } = rows;
    for (codes, table) in [red, green, blue].into_iter().zip(tables) {
        C::look_up(path, codes, table);
    }
}

/// What becomes of a level, and what the highest channel must have more than luma for the colour to go back, perhaps: with
/// less there is room for sure.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    tone: Toned,
    limit: i32,
}

/// What the pixels of a frame are looked up in.
struct Tables<C> {
    /// A part of a code after the other, see [`fraction`].
    levels: Vec<Level>,
    /// Of each code where luma goes, the limit as near as it fits, and what colours gain. Nothing for RGB formats.
    luma: Vec<C>,
    limits: Vec<C>,
    gains: Vec<u16>,
}

impl<C: Code> Tables<C> {
    /// Finds out what becomes of each level. Between codes it is what lies between.
    fn fill(&mut self, [toned, plain]: &[Vec<u16>; 2], curves: &Curves, fine: u32, white: i32) {
        let at = |code: usize| {
            let code = code.min(toned.len() - 1);
            let gain = curves.gains.get(code >> curves.shift).copied().unwrap_or(LEFT_ALONE);
            Toned { luma: toned[code].into(), plain: plain[code].into(), gain: gain.min(MOST_GAIN).into() }
        };
        for (code, levels) in self.levels.chunks_mut(1 << fine).enumerate() {
            let (here, next) = (at(code), at(code + 1));
            for (level, past) in levels.iter_mut().zip(0..) {
                let part = |here: i32, next: i32| (here << fine) + past * (next - here);
                let tone = Toned {
                    luma: part(here.luma, next.luma),
                    plain: part(here.plain, next.plain),
                    gain: part(here.gain, next.gain) >> fine,
                };
                // So far below white that rounding does not matter.
                let limit = ((white - tone.luma) * 256 - 128).div_euclid(tone.gain.max(1)) + 1;
                *level = Level { tone, limit: limit.max(0) };
            }
        }
    }

    fn narrow(&mut self) {
        self.luma.clear();
        self.luma.extend(self.levels.iter().map(|level| C::new(level.tone.luma)));
        self.limits.clear();
        self.limits.extend(self.levels.iter().map(|level| C::saturating(level.limit)));
        self.gains.clear();
        self.gains.extend(self.levels.iter().map(|level| level.tone.gain as u16));
    }
}

/// How luma is dithered.
struct Noise {
    seed: u32,
    places: [Place; CODES],
}

impl Noise {
    /// Where a level goes that is given as `fine` as the result. A whole code is rounded, parts of one are later.
    #[inline(always)]
    fn at(&self, level: usize, fine: u32, pattern: u32) -> i32 {
        let code = (level >> fine).min(CODES - 1);
        let (place, next) = (self.places[code], self.places[(code + 1).min(CODES - 1)]);
        let past = (level & ((1 << fine) - 1)) as i32;
        let between = (past * (i32::from(next.fine) - i32::from(place.fine))) >> fine;
        let half = if fine == 0 { 128 } else { 0 };
        (i32::from(place.fine) + between + place.noise(dither::level(pattern)) + half) >> (8 - fine)
    }
}

/// What is done to a row.
pub struct Toner<'a, C> {
    path: Path,
    info: &'a FrameInfo,
    matrix: &'a Matrix,
    /// Exponent of two of a site's pixels across.
    across: u32,
    /// See [`fraction`], and white as fine.
    fine: u32,
    white: i32,
    /// The codes of R, G and B that luma may come out at: none of theirs gets beyond, as none does in a stretch.
    ends: [i32; 2],
    tables: &'a Tables<C>,
    plain_gain: i32,
    noise: Option<Noise>,
}

impl<C> Toner<'_, C> {
    #[inline(always)]
    fn level(&self, level: i32) -> Level {
        self.tables.levels.get(level as usize).copied().unwrap_or_default()
    }

    /// Where luma goes, and what its colours gain, if the highest channel has so much more than luma.
    #[inline(always)]
    fn settle(&self, level: i32, above: i32) -> (i32, i32) {
        let tone = self.level(level).tone;
        let back = tone.back(above, self.plain_gain, self.white);
        (between(tone.luma, tone.plain, back), between(tone.gain, self.plain_gain, back))
    }

    /// The luma `settled` of a level with noise in it.
    #[inline(always)]
    fn dithered(&self, noise: &Noise, level: i32, settled: i32, pattern: u32) -> i32 {
        settled + noise.at(level as usize, self.fine, pattern) - self.level(level).tone.luma
    }
}

//! Matrix: curves of R, G and B, applied to luma and chroma.
//!
//! What the curves change is brought back to luma and chroma and added to them. So identity curves change nothing,
//! and what R, G and B cannot hold stays beyond their ends. A row of sites is worked on at a time: its chroma from the
//! mean luma, each of its pixels from its own luma and its site's chroma.

use crate::colour::{Matrix, Places};
use crate::frame::{Access, FrameError, FrameInfo, Packing};
use crate::levels::curves::Curves;
use crate::overlay::marks::Marks;

use super::kernels::{Path, on_path};
use super::overlay;
use super::rows::Sites;
use super::sites::{Code, Rows};

/// Entries of a table of changes for codes of 8 bits, and for those of up to 12: four times the codes. R, G and B leave
/// their codes by less than as many on either side.
const ENTRIES: usize = 1 << 10;
const DEEP_ENTRIES: usize = 1 << 14;

/// What a curve changes at each value of its channel, those beyond the codes among them: from a quarter of the table on,
/// code 0 and on.
type Changes<const ENTRIES: usize> = [i16; ENTRIES];

/// What R, G and B have more than luma at each site of a row.
pub type Offsets = [Vec<i16>; 3];

/// Applies curves of R, G and B to frames with chroma of one kind.
pub enum Mix {
    Bytes(Mixing<u8, ENTRIES>),
    Words(Mixing<u16, DEEP_ENTRIES>),
}

impl Mix {
    /// `None` for formats without chroma.
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Option<Mix> {
        let places = Places::find(info).filter(|_| !info.format.is_rgb())?;
        Some(match info.format.packing() {
            Packing::BYTE => Mix::Bytes(Mixing::new(info, path, places, threads)),
            _ => Mix::Words(Mixing::new(info, path, places, threads)),
        })
    }

    /// Sends every pixel through the curves, but those that `marks` keep, and draws the marks.
    ///
    /// # Errors
    /// If the memory does not hold what `info` describes; nothing is written then.
    pub fn run(
        &mut self,
        info: &FrameInfo,
        access: Access,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), FrameError> {
        match self {
            Mix::Bytes(mixing) => mixing.run(info, access, curves, marks),
            Mix::Words(mixing) => mixing.run(info, access, curves, marks),
        }
    }
}

/// The same for samples of one size.
pub struct Mixing<C, const ENTRIES: usize> {
    path: Path,
    places: Places,
    matrix: Matrix,
    /// The output of every code of a curve.
    outputs: Vec<u16>,
    changes: Box<[Changes<ENTRIES>; 3]>,
    threads: Vec<(Rows<C>, Offsets)>,
}

impl<C: Code, const ENTRIES: usize> Mixing<C, ENTRIES> {
    /// Where code 0 lies in a table of changes.
    const ZERO: usize = ENTRIES / 4;

    fn new(info: &FrameInfo, path: Path, places: Places, threads: usize) -> Mixing<C, ENTRIES> {
        Mixing {
            path,
            places,
            matrix: Matrix::new(info),
            outputs: vec![0; info.range.codes()],
            changes: Box::new([[0; ENTRIES]; 3]),
            threads: vec![Default::default(); threads],
        }
    }

    /// Sends every pixel through the curves, but those that `marks` keep, and draws the marks.
    ///
    /// # Errors
    /// If the memory does not hold what `info` describes; nothing is written then.
    pub fn run(
        &mut self,
        info: &FrameInfo,
        access: Access,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), FrameError> {
        self.fill(info, curves, &curves.tables);
        let mut threads = std::mem::take(&mut self.threads);
        let sites = Sites { path: self.path, info, places: &self.places, marks };
        let mixer = self.mixer(info);
        let output = sites.change(access, &mut threads, |rows, offsets, _| {
            on_path!(self.path, mix(&mixer, rows, offsets));
        });
        self.threads = threads;
        overlay::draw(info, &mut output?, marks);
        Ok(())
    }

    /// Takes curves of R, G and B.
    fn fill(&mut self, info: &FrameInfo, curves: &Curves, tables: &[Vec<u16>; 3]) {
        let codes = info.range.codes();
        for (table, changes) in tables.iter().zip(self.changes.iter_mut()) {
            curves.expand_table(table, &mut self.outputs);
            let change = |code: usize| (i32::from(self.outputs[code]) - code as i32) as i16;
            // So far R, G and B may leave the codes.
            let (below, rest) = changes[Self::ZERO - codes..].split_at_mut(codes);
            let (within, above) = rest.split_at_mut(codes);
            below.fill(change(0));
            within.iter_mut().enumerate().for_each(|(code, entry)| *entry = change(code));
            above[..codes].fill(change(codes - 1));
        }
    }

    /// The curves of R, G and B that come before a tone.
    pub fn before(&mut self, info: &FrameInfo, curves: &Curves) -> Mixer<'_, ENTRIES> {
        self.fill(info, curves, &curves.channels);
        self.mixer(info)
    }

    fn mixer(&self, info: &FrameInfo) -> Mixer<'_, ENTRIES> {
        let Mixing { matrix, changes, places, .. } = self;
        Mixer { matrix, changes, across: places.shift[0], most: info.range.max.into() }
    }
}

/// The arithmetic of a row.
pub struct Mixer<'a, const ENTRIES: usize> {
    matrix: &'a Matrix,
    changes: &'a [Changes<ENTRIES>; 3],
    /// Exponent of two of a site's pixels across.
    across: u32,
    /// The largest code.
    most: i32,
}

/// Changes a row of sites, their means too.
#[inline(always)]
pub fn mix<C: Code, const ENTRIES: usize>(mixer: &Mixer<ENTRIES>, rows: &mut Rows<C>, offsets: &mut Offsets) {
    let Rows { luma, means, cb, cr } = rows;
    let [red, green, blue] = offsets;
    for offsets in [&mut *red, &mut *green, &mut *blue] {
        offsets.resize(cb.len(), 0);
    }
    for ((cb, cr), ((r, g), b)) in cb.iter().zip(&*cr).zip(red.iter_mut().zip(&mut *green).zip(&mut *blue)) {
        [*r, *g, *b] = mixer.matrix.offsets(cb.get(), cr.get()).map(|offset| offset as i16);
    }
    let offsets = || red.iter().zip(&*green).zip(&*blue).map(|((r, g), b)| [*r, *g, *b]);
    for ((mean, (cb, cr)), offsets) in means.iter_mut().zip(cb.iter_mut().zip(cr)).zip(offsets()) {
        let change = mixer.change(mean.get(), offsets);
        let [to_cb, to_cr] = mixer.matrix.chroma(change);
        *mean = mixer.added(*mean, mixer.matrix.luma(change));
        (*cb, *cr) = (mixer.added(*cb, to_cb), mixer.added(*cr, to_cr));
    }
    let changed = |luma: C, offsets| mixer.added(luma, mixer.matrix.luma(mixer.change(luma.get(), offsets)));
    for luma in luma {
        if mixer.across == 0 {
            luma.iter_mut().zip(offsets()).for_each(|(luma, offsets)| *luma = changed(*luma, offsets));
            continue;
        }
        let (pairs, last) = luma.as_chunks_mut::<2>();
        for (pair, offsets) in pairs.iter_mut().zip(offsets()) {
            *pair = [changed(pair[0], offsets), changed(pair[1], offsets)];
        }
        // Of an odd width.
        if let ([luma], Some(offsets)) = (last, offsets().next_back()) {
            *luma = changed(*luma, offsets);
        }
    }
}

impl<const ENTRIES: usize> Mixer<'_, ENTRIES> {
    /// What the curves change in a pixel of that luma, whose channels have so much more.
    #[inline(always)]
    fn change(&self, luma: i32, offsets: [i16; 3]) -> [i32; 3] {
        let at = |channel: usize| {
            let entry = (ENTRIES / 4) as i32 + luma + i32::from(offsets[channel]);
            // The mask changes nothing, and spares the check.
            i32::from(self.changes[channel][entry as usize & (ENTRIES - 1)])
        };
        [at(0), at(1), at(2)]
    }

    /// A code and what is added to it, within the codes that there are.
    #[inline(always)]
    fn added<C: Code>(&self, code: C, change: i32) -> C {
        C::new((code.get() + change).clamp(0, self.most))
    }
}

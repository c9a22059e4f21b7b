//! Matrix: curves of R, G and B, applied to luma and chroma.
//!
//! What the curves change is brought back to luma and chroma and added to them. So identity curves change nothing,
//! and what R, G and B cannot hold stays beyond their ends. A row of sites is worked on at a time: its chroma from the
//! mean luma, each of its pixels from its own luma and its site's chroma.

use arrayvec::ArrayVec;

use crate::colour::{Matrix, Places};
use crate::frame::{Access, FrameError, FrameInfo, Packing, Plane, PlaneMut, PlaneShape, Planes, PlanesMut, TEXEL};
use crate::levels::curves::Curves;
use crate::overlay::marks::Marks;

use super::apply::{check, used, used_mut};
use super::kernels::{Path, on_path};
use super::overlay;
use super::pool;
use super::sites::{Code, Rows, put};

/// About how many pixels a band holds.
const BAND: usize = 1 << 16;
/// Entries of a table of changes for codes of 8 bits, and for those of up to 12: four times the codes. R, G and B leave
/// their codes by less than as many on either side.
const ENTRIES: usize = 1 << 10;
const DEEP_ENTRIES: usize = 1 << 14;

/// What a curve changes at each value of its channel, those beyond the codes among them: from a quarter of the table on,
/// code 0 and on.
type Changes<const ENTRIES: usize> = [i16; ENTRIES];

/// What a thread works with.
#[derive(Clone, Default)]
pub struct Scratch<C> {
    rows: Rows<C>,
    /// What R, G and B have more than luma at each site.
    offsets: [Vec<i16>; 3],
}

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
    threads: Vec<Scratch<C>>,
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
            threads: vec![Scratch::default(); threads],
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
        let codes = info.range.codes();
        for (index, changes) in self.changes.iter_mut().enumerate() {
            curves.expand(index, &mut self.outputs);
            let change = |code: usize| (i32::from(self.outputs[code]) - code as i32) as i16;
            // So far R, G and B may leave the codes.
            let (below, rest) = changes[Self::ZERO - codes..].split_at_mut(codes);
            let (within, above) = rest.split_at_mut(codes);
            below.fill(change(0));
            within.iter_mut().enumerate().for_each(|(code, entry)| *entry = change(code));
            above[..codes].fill(change(codes - 1));
        }
        let (input, mut output) = match access {
            Access::InPlace(planes) => (None, planes),
            Access::Copy { input, output } => (Some(input), output),
        };
        check(info, &output)?;
        if let Some(input) = &input {
            info.check(input)?;
        }
        let Mixing { path, places, matrix, changes, threads, .. } = self;
        let kept = marks.map_or(0, |marks| kept_sites(marks, info, places));
        let mixer = Mixer { matrix, changes, across: places.shift[0], most: info.range.max.into() };
        let job = Job { path: *path, places, mixer, info, kept };
        let rows = (BAND / info.width).max(2) >> places.shift[1];
        let bands = bands(info, places, rows, input.as_deref().unwrap_or_default(), &mut output);
        pool::share(threads, bands, |scratch, mut band| job.run(scratch, &mut band));
        overlay::draw(info, &mut output, marks);
        Ok(())
    }
}

/// Sites at the left of each row that stay as they are.
fn kept_sites(marks: &Marks, info: &FrameInfo, places: &Places) -> usize {
    let luma = places.lanes[0];
    let samples = marks.planes.get(luma.plane).map_or(0, |plane| plane.kept * TEXEL);
    (samples / luma.step).min(info.width).div_ceil(1 << places.shift[0])
}

/// Some of the rows of each plane, those of the same sites: input (if it is copied) and output.
struct Band<'a> {
    input: Planes<'a>,
    output: PlanesMut<'a>,
}

/// Cuts the planes into bands of so many rows of sites.
fn bands<'a>(
    info: &FrameInfo,
    places: &Places,
    rows: usize,
    input: &[Plane<'a>],
    output: &'a mut [PlaneMut],
) -> impl Iterator<Item = Band<'a>> + Send {
    let bytes = |shape: &PlaneShape, stride: usize| {
        let all = shape.rows == info.height;
        stride * if all { rows << places.shift[1] } else { rows }
    };
    let from = input.iter().zip(&info.planes);
    let from = from.map(|(plane, shape)| (plane.stride, used(plane, shape).chunks(bytes(shape, plane.stride))));
    let to = output.iter_mut().zip(&info.planes);
    let to = to.map(|(plane, shape)| (plane.stride, shape, used_mut(plane, shape)));
    let to = to.map(|(stride, shape, data)| (stride, data.chunks_mut(bytes(shape, stride))));
    let (mut from, mut to): (ArrayVec<_, 4>, ArrayVec<_, 4>) = (from.collect(), to.collect());
    std::iter::from_fn(move || {
        let mut band = Band { input: Planes::new(), output: PlanesMut::new() };
        for (stride, chunks) in &mut to {
            band.output.push(PlaneMut { data: chunks.next()?, stride: *stride });
        }
        for (stride, chunks) in &mut from {
            band.input.push(Plane { data: chunks.next()?, stride: *stride });
        }
        Some(band)
    })
}

/// What is done to each band.
struct Job<'a, const ENTRIES: usize> {
    path: Path,
    places: &'a Places,
    mixer: Mixer<'a, ENTRIES>,
    info: &'a FrameInfo,
    kept: usize,
}

impl<const ENTRIES: usize> Job<'_, ENTRIES> {
    fn run<C: Code>(&self, scratch: &mut Scratch<C>, band: &mut Band) {
        for ((from, to), shape) in band.input.iter().zip(&mut band.output).zip(&self.info.planes) {
            for (from, to) in from.data.chunks(from.stride).zip(to.data.chunks_mut(to.stride)) {
                to[..shape.bytes].copy_from_slice(&from[..shape.bytes]);
            }
        }
        let chroma = &band.output[self.places.lanes[1].plane];
        for y in 0..chroma.data.len().div_ceil(chroma.stride) {
            self.change(scratch, &mut band.output, y);
        }
    }

    /// Changes row `y` of a band's sites.
    fn change<C: Code>(&self, scratch: &mut Scratch<C>, planes: &mut PlanesMut, y: usize) {
        {
            let read: Planes = planes.iter().map(|plane| Plane { data: plane.data, stride: plane.stride }).collect();
            scratch.rows.read(self.places, self.info, &read, y);
        }
        on_path!(self.path, mix(&self.mixer, scratch));

        let Rows { luma: rows, cb: blue, cr: red, .. } = &scratch.rows;
        let [luma, cb, cr] = self.places.lanes;
        let [across, down] = self.places.shift;
        let packing = self.info.format.packing();
        for (index, samples) in rows.iter().enumerate().filter(|(_, samples)| !samples.is_empty()) {
            put(row(&mut planes[luma.plane], (y << down) + index), &luma, self.kept << across, samples, packing);
        }
        for (place, samples) in [(cb, blue), (cr, red)] {
            put(row(&mut planes[place.plane], y), &place, self.kept, samples, packing);
        }
    }
}

/// A row of a plane to write.
fn row<'a>(plane: &'a mut PlaneMut, y: usize) -> &'a mut [u8] {
    plane.data.get_mut(y * plane.stride..).unwrap_or_default()
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

/// Changes a row of sites.
#[inline(always)]
pub fn mix<C: Code, const ENTRIES: usize>(mixer: &Mixer<ENTRIES>, scratch: &mut Scratch<C>) {
    let Scratch { rows: Rows { luma, means, cb, cr }, offsets: [red, green, blue] } = scratch;
    for offsets in [&mut *red, &mut *green, &mut *blue] {
        offsets.resize(cb.len(), 0);
    }
    for ((cb, cr), ((r, g), b)) in cb.iter().zip(&*cr).zip(red.iter_mut().zip(&mut *green).zip(&mut *blue)) {
        [*r, *g, *b] = mixer.matrix.offsets(cb.get(), cr.get()).map(|offset| offset as i16);
    }
    let offsets = || red.iter().zip(&*green).zip(&*blue).map(|((r, g), b)| [*r, *g, *b]);
    for ((luma, (cb, cr)), offsets) in means.iter().zip(cb.iter_mut().zip(cr)).zip(offsets()) {
        let [to_cb, to_cr] = mixer.matrix.chroma(mixer.change(*luma, offsets));
        (*cb, *cr) = (mixer.added(*cb, to_cb), mixer.added(*cr, to_cr));
    }
    let changed = |luma: C, offsets| mixer.added(luma, mixer.matrix.luma(mixer.change(luma, offsets)));
    for luma in luma {
        if mixer.across == 0 {
            luma.iter_mut().zip(offsets()).for_each(|(luma, offsets)| *luma = changed(*luma, offsets));
            continue;
        }
        let (pairs, last) = luma.as_chunks_mut::<2>();
        for (pair, offsets) in pairs.iter_mut().zip(offsets()) {
            *pair = pair.map(|luma| changed(luma, offsets));
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
    fn change<C: Code>(&self, luma: C, offsets: [i16; 3]) -> [i32; 3] {
        let at = |channel: usize| {
            let entry = (ENTRIES / 4) as i32 + luma.get() + i32::from(offsets[channel]);
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

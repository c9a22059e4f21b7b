//! Matrix: curves of R, G and B, applied to luma and chroma.
//!
//! What the curves change is brought back to luma and chroma and added to them. So identity curves change nothing,
//! and what R, G and B cannot hold stays beyond their ends. A row of sites is worked on at a time: its chroma from the
//! mean luma, each of its pixels from its own luma and its site's chroma.

use arrayvec::ArrayVec;

use crate::colour::{Matrix, Places};
use crate::frame::{Access, FrameError, FrameInfo, Plane, PlaneMut, PlaneShape, Planes, PlanesMut, TEXEL};
use crate::levels::curves::Curves;
use crate::overlay::marks::Marks;

use super::apply::{check, used, used_mut};
use super::kernels::{Path, on_path};
use super::overlay;
use super::pool;
use super::sites::{Rows, put};

/// About how many pixels a band holds.
const BAND: usize = 1 << 16;
/// Entries of a table of changes: R, G and B leave their codes by less than 256 on either side.
const ENTRIES: usize = 1024;
const ZERO: i32 = 256;

/// What a curve changes at each value of its channel, those beyond the codes among them; `ZERO` on, code 0 and on.
type Changes = [i16; ENTRIES];

/// What a thread works with.
#[derive(Clone, Default)]
pub struct Scratch {
    rows: Rows,
    /// What R, G and B have more than luma at each site.
    offsets: [Vec<i16>; 3],
}

/// Applies curves of R, G and B to frames with chroma of one kind.
pub struct Mix {
    path: Path,
    places: Places,
    matrix: Matrix,
    changes: Box<[Changes; 3]>,
    threads: Vec<Scratch>,
}

impl Mix {
    /// `None` for formats without chroma.
    pub fn new(info: &FrameInfo, path: Path, threads: usize) -> Option<Mix> {
        let places = Places::find(info).filter(|_| !info.format.is_rgb())?;
        Some(Mix {
            path,
            places,
            matrix: Matrix::new(info),
            changes: Box::new([[0; ENTRIES]; 3]),
            threads: vec![Scratch::default(); threads],
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
        for (changes, table) in self.changes.iter_mut().zip(&curves.tables) {
            for (entry, change) in changes.iter_mut().enumerate() {
                let code = (entry as i32 - ZERO).clamp(0, i32::from(info.range.max));
                *change = (i32::from(table[code as usize]) - code) as i16;
            }
        }
        let (input, mut output) = match access {
            Access::InPlace(planes) => (None, planes),
            Access::Copy { input, output } => (Some(input), output),
        };
        check(info, &output)?;
        if let Some(input) = &input {
            info.check(input)?;
        }
        let Mix { path, places, matrix, changes, threads } = self;
        let kept = marks.map_or(0, |marks| kept_sites(marks, info, places));
        let mixer = Mixer { matrix, changes, across: places.shift[0] };
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
struct Job<'a> {
    path: Path,
    places: &'a Places,
    mixer: Mixer<'a>,
    info: &'a FrameInfo,
    kept: usize,
}

impl Job<'_> {
    fn run(&self, scratch: &mut Scratch, band: &mut Band) {
        for ((from, to), shape) in band.input.iter().zip(&mut band.output).zip(&self.info.planes) {
            for (from, to) in from.data.chunks(from.stride).zip(to.data.chunks_mut(to.stride)) {
                to[..shape.samples].copy_from_slice(&from[..shape.samples]);
            }
        }
        let chroma = &band.output[self.places.lanes[1].plane];
        for y in 0..chroma.data.len().div_ceil(chroma.stride) {
            self.change(scratch, &mut band.output, y);
        }
    }

    /// Changes row `y` of a band's sites.
    fn change(&self, scratch: &mut Scratch, planes: &mut PlanesMut, y: usize) {
        {
            let read: Planes = planes.iter().map(|plane| Plane { data: plane.data, stride: plane.stride }).collect();
            scratch.rows.read(self.places, self.info, &read, y);
        }
        on_path!(self.path, mix(&self.mixer, scratch));

        let Rows { luma: rows, cb: blue, cr: red, .. } = &scratch.rows;
        let [luma, cb, cr] = self.places.lanes;
        let [across, down] = self.places.shift;
        for (index, samples) in rows.iter().enumerate().filter(|(_, samples)| !samples.is_empty()) {
            put(row(&mut planes[luma.plane], (y << down) + index), &luma, self.kept << across, samples);
        }
        for (place, samples) in [(cb, blue), (cr, red)] {
            put(row(&mut planes[place.plane], y), &place, self.kept, samples);
        }
    }
}

/// A row of a plane to write.
fn row<'a>(plane: &'a mut PlaneMut, y: usize) -> &'a mut [u8] {
    plane.data.get_mut(y * plane.stride..).unwrap_or_default()
}

/// The arithmetic of a row.
pub struct Mixer<'a> {
    matrix: &'a Matrix,
    changes: &'a [Changes; 3],
    /// Exponent of two of a site's pixels across.
    across: u32,
}

/// Changes a row of sites.
#[inline(always)]
pub fn mix(mixer: &Mixer, scratch: &mut Scratch) {
    let Scratch { rows: Rows { luma, means, cb, cr }, offsets: [red, green, blue] } = scratch;
    for offsets in [&mut *red, &mut *green, &mut *blue] {
        offsets.resize(cb.len(), 0);
    }
    for ((cb, cr), ((r, g), b)) in cb.iter().zip(&*cr).zip(red.iter_mut().zip(&mut *green).zip(&mut *blue)) {
        [*r, *g, *b] = mixer.matrix.offsets(*cb, *cr).map(|offset| offset as i16);
    }
    let offsets = || red.iter().zip(&*green).zip(&*blue).map(|((r, g), b)| [*r, *g, *b]);
    for ((luma, (cb, cr)), offsets) in means.iter().zip(cb.iter_mut().zip(cr)).zip(offsets()) {
        let [to_cb, to_cr] = mixer.matrix.chroma(mixer.change(*luma, offsets));
        (*cb, *cr) = (added(*cb, to_cb), added(*cr, to_cr));
    }
    let changed = |luma: u8, offsets| added(luma, mixer.matrix.luma(mixer.change(luma, offsets)));
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

impl Mixer<'_> {
    /// What the curves change in a pixel of that luma, whose channels have so much more.
    #[inline(always)]
    fn change(&self, luma: u8, offsets: [i16; 3]) -> [i32; 3] {
        let at = |channel: usize| {
            let entry = ZERO + i32::from(luma) + i32::from(offsets[channel]);
            // The mask changes nothing, and spares the check.
            i32::from(self.changes[channel][entry as usize & (ENTRIES - 1)])
        };
        [at(0), at(1), at(2)]
    }
}

#[inline(always)]
fn added(sample: u8, change: i32) -> u8 {
    (i32::from(sample) + change).clamp(0, 255) as u8
}

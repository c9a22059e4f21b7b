//! Work that looks at whole pixels: a row of sites at a time, taken out of its planes, changed, and put back.

use arrayvec::ArrayVec;

use crate::colour::Places;
use crate::frame::{Access, FrameError, FrameInfo, Plane, PlaneMut, PlaneShape, Planes, PlanesMut, TEXEL};
use crate::overlay::marks::Marks;

use super::apply::{check, used, used_mut};
use super::kernels::{Path, on_path};
use super::pool;
use super::sites::{Code, Rows, put};

/// About how many pixels a band holds.
const BAND: usize = 1 << 16;

/// The rows of sites of frames of one kind.
pub struct Sites<'a> {
    pub path: Path,
    pub info: &'a FrameInfo,
    pub places: &'a Places,
    /// What is kept of them.
    pub marks: Option<&'a Marks>,
}

impl Sites<'_> {
    /// Copies the input, unless it is changed in place, and has each row of sites changed by `change`, which is told its
    /// number. Each of `threads` has its rows and what else it works with. Gives the output back.
    ///
    /// # Errors
    /// If the memory does not hold what is described; nothing is written then.
    pub fn change<'f, C: Code, T: Send>(
        &self,
        access: Access<'f>,
        threads: &mut [(Rows<C>, T)],
        change: impl Fn(&mut Rows<C>, &mut T, usize) + Sync,
    ) -> Result<PlanesMut<'f>, FrameError> {
        let Sites { info, places, .. } = *self;
        let (input, mut output) = match access {
            Access::InPlace(planes) => (None, planes),
            Access::Copy { input, output } => (Some(input), output),
        };
        check(info, &output)?;
        if let Some(input) = &input {
            info.check(input)?;
        }
        let kept = self.kept();
        let rows = (BAND / info.width).max(2) >> places.shift[1];
        let bands = bands(info, places, rows, input.as_deref().unwrap_or_default(), &mut output);
        pool::share_often(threads, bands.zip((0..).step_by(rows)), |(row, own), (mut band, top)| {
            band.copy(info);
            let chroma = &band.output[places.lanes[1].plane];
            for y in 0..chroma.data.len().div_ceil(chroma.stride) {
                {
                    let planes = band.output.iter().map(|plane| Plane { data: plane.data, stride: plane.stride });
                    on_path!(self.path, read_sites(row, places, info, &planes.collect::<Planes>(), y));
                }
                change(row, own, top + y);
                self.put(row, &mut band.output, kept, y);
            }
        });
        Ok(output)
    }

    /// Sites at the left of each row that stay as they are.
    fn kept(&self) -> usize {
        let (luma, info) = (self.places.lanes[0], self.info);
        let plane = self.marks.and_then(|marks| marks.planes.get(luma.plane));
        let samples = plane.map_or(0, |plane| plane.kept * TEXEL);
        (samples / luma.step).min(info.width).div_ceil(1 << self.places.shift[0])
    }

    /// Puts row `y` of the sites back, but for so many at its left.
    fn put<C: Code>(&self, rows: &Rows<C>, planes: &mut PlanesMut, kept: usize, y: usize) {
        let [luma, cb, cr] = self.places.lanes;
        let [across, down] = self.places.shift;
        let packing = self.info.format.packing();
        for (index, samples) in rows.luma.iter().enumerate().filter(|(_, samples)| !samples.is_empty()) {
            put(row(&mut planes[luma.plane], (y << down) + index), &luma, kept << across, samples, packing);
        }
        for (place, samples) in [(cb, &rows.cb), (cr, &rows.cr)] {
            put(row(&mut planes[place.plane], y), &place, kept, samples, packing);
        }
    }
}

/// A row of a plane to write.
fn row<'a>(plane: &'a mut PlaneMut, y: usize) -> &'a mut [u8] {
    plane.data.get_mut(y * plane.stride..).unwrap_or_default()
}

/// Some of the rows of each plane, those of the same sites: input (if it is copied) and output.
struct Band<'a> {
    input: Planes<'a>,
    output: PlanesMut<'a>,
}

impl Band<'_> {
    fn copy(&mut self, info: &FrameInfo) {
        for ((from, to), shape) in self.input.iter().zip(&mut self.output).zip(&info.planes) {
            for (from, to) in from.data.chunks(from.stride).zip(to.data.chunks_mut(to.stride)) {
                to[..shape.bytes].copy_from_slice(&from[..shape.bytes]);
            }
        }
    }
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

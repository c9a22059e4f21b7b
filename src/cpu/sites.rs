//! The samples of a row of sites, lane by lane, whatever the format.

use crate::colour::{Place, Places};
use crate::frame::{FrameInfo, Packing, Plane};

use super::kernels::{Path, on_path};

/// The code of a sample: a byte, or what a word of 16 bits holds.
pub trait Code: Copy + Default + Ord + Send + Sync {
    /// Bytes of a sample.
    const BYTES: usize;

    /// The code of a sample, of which there are all bytes.
    fn load(sample: &[u8], packing: Packing) -> Self;

    /// Puts the code in a sample; bits that hold none stay.
    fn store(self, sample: &mut [u8], packing: Packing);

    fn get(self) -> i32;

    /// A code that is known to fit.
    fn new(code: i32) -> Self;

    /// The nearest code that fits, where there is none below 0.
    fn saturating(code: i32) -> Self;

    /// The codes of a row of samples that lie side by side, if they are the row's very bytes.
    fn of_bytes(_: &[u8]) -> Option<&[Self]> {
        None
    }

    /// The same the other way.
    fn as_bytes(_: &[Self]) -> Option<&[u8]> {
        None
    }

    /// Looks codes up in a table that has all of them.
    fn look_up(path: Path, codes: &mut [Self], table: &[Self]);
}

impl Code for u8 {
    const BYTES: usize = 1;

    #[inline(always)]
    fn load(sample: &[u8], _: Packing) -> u8 {
        sample[0]
    }

    #[inline(always)]
    fn store(self, sample: &mut [u8], _: Packing) {
        sample[0] = self;
    }

    #[inline(always)]
    fn get(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn new(code: i32) -> u8 {
        code as u8
    }

    #[inline(always)]
    fn saturating(code: i32) -> u8 {
        code.clamp(0, 0xff) as u8
    }

    fn of_bytes(row: &[u8]) -> Option<&[u8]> {
        Some(row)
    }

    fn as_bytes(codes: &[u8]) -> Option<&[u8]> {
        Some(codes)
    }

    fn look_up(path: Path, codes: &mut [u8], table: &[u8]) {
        if let Some(table) = table.first_chunk() {
            on_path!(path, table(codes, table));
        }
    }
}

impl Code for u16 {
    const BYTES: usize = 2;

    #[inline(always)]
    fn load(sample: &[u8], packing: Packing) -> u16 {
        packing.code(u16::from_le_bytes([sample[0], sample[1]]))
    }

    #[inline(always)]
    fn store(self, sample: &mut [u8], packing: Packing) {
        let old = u16::from_le_bytes([sample[0], sample[1]]);
        sample[..2].copy_from_slice(&packing.with_code(old, self).to_le_bytes());
    }

    #[inline(always)]
    fn get(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn new(code: i32) -> u16 {
        code as u16
    }

    #[inline(always)]
    fn saturating(code: i32) -> u16 {
        code.clamp(0, 0xffff) as u16
    }

    fn look_up(_: Path, codes: &mut [u16], table: &[u16]) {
        for code in codes {
            *code = table.get(usize::from(*code)).copied().unwrap_or_default();
        }
    }
}

/// A row of sites of a format with chroma.
#[derive(Clone, Debug, Default)]
pub struct Rows<C> {
    /// Luma of the rows of pixels: one, or two at 4:2:0 (but in the last row of an odd height).
    pub luma: [Vec<C>; 2],
    /// Mean luma of each site; nothing of RGB formats.
    pub means: Vec<C>,
    /// Cb and Cr of each site.
    pub cb: Vec<C>,
    pub cr: Vec<C>,
}

impl<C: Code> Rows<C> {
    /// Reads row `y` of sites from planes whose memory ends with their last row. A band of rows will do, too.
    #[inline(always)]
    pub fn read(&mut self, places: &Places, info: &FrameInfo, planes: &[Plane], y: usize) {
        let [luma, cb, cr] = places.lanes;
        let [across, down] = places.shift;
        let samples = info.planes[luma.plane].samples / luma.step;
        let packing = info.format.packing();
        for (index, kept) in self.luma.iter_mut().enumerate() {
            let row = (index >> down == 0).then(|| row(&planes[luma.plane], (y << down) + index)).flatten();
            take(kept, row.unwrap_or_default(), &luma, samples, packing);
        }
        let sites = info.width.div_ceil(1 << across);
        take(&mut self.cb, row(&planes[cb.plane], y).unwrap_or_default(), &cb, sites, packing);
        take(&mut self.cr, row(&planes[cr.plane], y).unwrap_or_default(), &cr, sites, packing);
        if !info.format.is_rgb() {
            self.mean(info.width, places.shift);
        }
    }

    /// The mean luma of the sites. Where a site sticks out of the picture, its outermost pixels count twice.
    #[inline(always)]
    fn mean(&mut self, width: usize, [across, down]: [u32; 2]) {
        let Rows { luma: [first, second], means, .. } = self;
        let (first, second) = (&first[..width], if second.is_empty() { &first[..width] } else { &second[..width] });
        means.resize(width.div_ceil(1 << across), C::default());
        let both = |[left, right]: [C; 2]| left.get() + right.get();
        match (across, down) {
            (0, 0) => means.copy_from_slice(first),
            (1, 0) => {
                let (pairs, last) = first.as_chunks();
                means.iter_mut().zip(pairs).for_each(|(mean, pair)| *mean = C::new((both(*pair) + 1) >> 1));
                if let ([code], Some(mean)) = (last, means.last_mut()) {
                    *mean = *code;
                }
            }
            _ => {
                let all = |above: [C; 2], below: [C; 2]| C::new((both(above) + both(below) + 2) >> 2);
                let ((above, last), (below, last_below)) = (first.as_chunks(), second.as_chunks());
                for (mean, (above, below)) in means.iter_mut().zip(above.iter().zip(below)) {
                    *mean = all(*above, *below);
                }
                if let ([above], [below], Some(mean)) = (last, last_below, means.last_mut()) {
                    *mean = all([*above; 2], [*below; 2]);
                }
            }
        }
    }
}

/// A row of a plane, if the plane has it.
fn row<'a>(plane: &Plane<'a>, y: usize) -> Option<&'a [u8]> {
    plane.data.get(y * plane.stride..).filter(|row| !row.is_empty())
}

/// Takes the samples of a lane out of a row, so many at most.
#[inline(always)]
fn take<C: Code>(kept: &mut Vec<C>, row: &[u8], place: &Place, samples: usize, packing: Packing) {
    kept.clear();
    let row = row.get(place.first * C::BYTES..).unwrap_or_default();
    if let (1, Some(codes)) = (place.step, C::of_bytes(row)) {
        return kept.extend_from_slice(&codes[..samples.min(codes.len())]);
    }
    // The same loop with known steps is many times as fast.
    match place.step * C::BYTES {
        2 => take_every::<C, 2>(kept, row, samples, packing),
        3 => take_every::<C, 3>(kept, row, samples, packing),
        4 => take_every::<C, 4>(kept, row, samples, packing),
        8 => take_every::<C, 8>(kept, row, samples, packing),
        bytes => kept.extend(row.chunks(bytes).take(samples).map(|sample| C::load(sample, packing))),
    }
}

/// Takes a sample of every `N` bytes.
#[inline(always)]
fn take_every<C: Code, const N: usize>(kept: &mut Vec<C>, row: &[u8], samples: usize, packing: Packing) {
    let (steps, last) = row.as_chunks::<N>();
    kept.resize(steps.len().min(samples), C::default());
    kept.iter_mut().zip(steps).for_each(|(kept, sample)| *kept = C::load(sample, packing));
    if kept.len() < samples && last.len() >= C::BYTES {
        kept.push(C::load(last, packing));
    }
}

/// Puts the samples of a lane back into a row, from the sample `from` of the lane on.
#[inline(always)]
pub fn put<C: Code>(row: &mut [u8], place: &Place, from: usize, samples: &[C], packing: Packing) {
    let row = row.get_mut((place.first + from * place.step) * C::BYTES..).unwrap_or_default();
    let samples = &samples[from..];
    if let (1, Some(bytes)) = (place.step, C::as_bytes(samples)) {
        let bytes = &bytes[..bytes.len().min(row.len())];
        return row[..bytes.len()].copy_from_slice(bytes);
    }
    match place.step * C::BYTES {
        2 => put_every::<C, 2>(row, samples, packing),
        3 => put_every::<C, 3>(row, samples, packing),
        4 => put_every::<C, 4>(row, samples, packing),
        8 => put_every::<C, 8>(row, samples, packing),
        bytes => row.chunks_mut(bytes).zip(samples).for_each(|(sample, code)| code.store(sample, packing)),
    }
}

/// Puts a sample into every `N` bytes.
#[inline(always)]
fn put_every<C: Code, const N: usize>(row: &mut [u8], samples: &[C], packing: Packing) {
    let (steps, last) = row.as_chunks_mut::<N>();
    let (steps, samples) = (steps.iter_mut(), samples.iter());
    let count = steps.len();
    steps.zip(samples.clone()).for_each(|(sample, code)| code.store(sample, packing));
    if let Some(code) = samples.as_slice().get(count)
        && last.len() >= C::BYTES
    {
        code.store(last, packing);
    }
}

/// [`Rows::read`], compiled for what a processor has.
#[inline(always)]
pub fn read_sites<C: Code>(rows: &mut Rows<C>, places: &Places, info: &FrameInfo, planes: &[Plane], y: usize) {
    rows.read(places, info, planes, y);
}

//! The samples of a row of sites, lane by lane, whatever the format.

use crate::colour::{Place, Places};
use crate::frame::{FrameInfo, Packing, Plane};

/// The code of a sample: a byte, or what a word of 16 bits holds.
pub trait Code: Copy + Default + Send + Sync {
    /// Bytes of a sample.
    const BYTES: usize;

    /// The code of a sample, of which there are all bytes.
    fn load(sample: &[u8], packing: Packing) -> Self;

    /// Puts the code in a sample; bits that hold none stay.
    fn store(self, sample: &mut [u8], packing: Packing);

    fn get(self) -> i32;

    /// A code that is known to fit.
    fn new(code: i32) -> Self;
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
}

/// A row of sites of a format with chroma.
#[derive(Clone, Debug, Default)]
pub struct Rows<C> {
    /// Luma of the rows of pixels: one, or two at 4:2:0 (but in the last row of an odd height).
    pub luma: [Vec<C>; 2],
    /// Mean luma, Cb and Cr of each site.
    pub means: Vec<C>,
    pub cb: Vec<C>,
    pub cr: Vec<C>,
}

impl<C: Code> Rows<C> {
    /// Reads row `y` of sites from planes whose memory ends with their last row. A band of rows will do, too.
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
        self.mean(info.width, places.shift);
    }

    /// The mean luma of the sites. Where a site sticks out of the picture, its outermost pixels count twice.
    fn mean(&mut self, width: usize, [across, down]: [u32; 2]) {
        let Rows { luma: [first, second], means, .. } = self;
        let (first, second) = (&first[..width], if second.is_empty() { &first[..width] } else { &second[..width] });
        means.clear();
        match (across, down) {
            (0, 0) => means.extend_from_slice(first),
            (1, 0) => means.extend(first.chunks(2).map(|pair| C::new((both(pair) + 1) >> 1))),
            _ => {
                let pairs = first.chunks(2).zip(second.chunks(2));
                means.extend(pairs.map(|(above, below)| C::new((both(above) + both(below) + 2) >> 2)));
            }
        }
    }
}

fn both<C: Code>(pair: &[C]) -> i32 {
    pair[0].get() + pair[pair.len() - 1].get()
}

/// A row of a plane, if the plane has it.
fn row<'a>(plane: &Plane<'a>, y: usize) -> Option<&'a [u8]> {
    plane.data.get(y * plane.stride..).filter(|row| !row.is_empty())
}

/// Takes the samples of a lane out of a row, so many at most.
fn take<C: Code>(kept: &mut Vec<C>, row: &[u8], place: &Place, samples: usize, packing: Packing) {
    kept.clear();
    let row = row.get(place.first * C::BYTES..).unwrap_or_default().chunks_exact(C::BYTES);
    let load = |sample: &[u8]| C::load(sample, packing);
    // The same loop with a known step is many times as fast.
    match place.step {
        1 => kept.extend(row.take(samples).map(load)),
        2 => kept.extend(row.step_by(2).take(samples).map(load)),
        4 => kept.extend(row.step_by(4).take(samples).map(load)),
        step => kept.extend(row.step_by(step).take(samples).map(load)),
    }
}

/// Puts the samples of a lane back into a row, from the sample `from` of the lane on.
pub fn put<C: Code>(row: &mut [u8], place: &Place, from: usize, samples: &[C], packing: Packing) {
    let row = row.get_mut((place.first + from * place.step) * C::BYTES..).unwrap_or_default();
    let samples = &samples[from..];
    let row = row.chunks_exact_mut(C::BYTES);
    let store = |(sample, code): (&mut [u8], &C)| code.store(sample, packing);
    match place.step {
        1 => row.zip(samples).for_each(store),
        2 => row.step_by(2).zip(samples).for_each(store),
        4 => row.step_by(4).zip(samples).for_each(store),
        step => row.step_by(step).zip(samples).for_each(store),
    }
}

//! The samples of a row of sites, lane by lane, whatever the format.

use crate::colour::{Place, Places};
use crate::frame::{FrameInfo, Plane};

/// A row of sites of a format with chroma.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Luma of the rows of pixels: one, or two at 4:2:0 (but in the last row of an odd height).
    pub luma: [Vec<u8>; 2],
    /// Mean luma, Cb and Cr of each site.
    pub means: Vec<u8>,
    pub cb: Vec<u8>,
    pub cr: Vec<u8>,
}

impl Rows {
    /// Reads row `y` of sites from planes whose memory ends with their last row. A band of rows will do, too.
    pub fn read(&mut self, places: &Places, info: &FrameInfo, planes: &[Plane], y: usize) {
        let [luma, cb, cr] = places.lanes;
        let [across, down] = places.shift;
        let samples = info.planes[luma.plane].samples / luma.step;
        for (index, kept) in self.luma.iter_mut().enumerate() {
            let row = (index >> down == 0).then(|| row(&planes[luma.plane], (y << down) + index)).flatten();
            take(kept, row.unwrap_or_default(), &luma, samples);
        }
        let sites = info.width.div_ceil(1 << across);
        take(&mut self.cb, row(&planes[cb.plane], y).unwrap_or_default(), &cb, sites);
        take(&mut self.cr, row(&planes[cr.plane], y).unwrap_or_default(), &cr, sites);
        self.mean(info.width, places.shift);
    }

    /// The mean luma of the sites. Where a site sticks out of the picture, its outermost pixels count twice.
    fn mean(&mut self, width: usize, [across, down]: [u32; 2]) {
        let Rows { luma: [first, second], means, .. } = self;
        let (first, second) = (&first[..width], if second.is_empty() { &first[..width] } else { &second[..width] });
        means.clear();
        match (across, down) {
            (0, 0) => means.extend_from_slice(first),
            (1, 0) => means.extend(first.chunks(2).map(|pair| ((both(pair) + 1) >> 1) as u8)),
            _ => {
                let pairs = first.chunks(2).zip(second.chunks(2));
                means.extend(pairs.map(|(above, below)| ((both(above) + both(below) + 2) >> 2) as u8));
            }
        }
    }
}

fn both(pair: &[u8]) -> u32 {
    u32::from(pair[0]) + u32::from(pair[pair.len() - 1])
}

/// A row of a plane, if the plane has it.
fn row<'a>(plane: &Plane<'a>, y: usize) -> Option<&'a [u8]> {
    plane.data.get(y * plane.stride..).filter(|row| !row.is_empty())
}

/// Takes the samples of a lane out of a row, so many at most.
fn take(kept: &mut Vec<u8>, row: &[u8], place: &Place, samples: usize) {
    kept.clear();
    let row = row.get(place.first..).unwrap_or_default();
    // The same loop with a known step is many times as fast.
    match place.step {
        1 => kept.extend(row.iter().take(samples)),
        2 => kept.extend(row.iter().step_by(2).take(samples)),
        4 => kept.extend(row.iter().step_by(4).take(samples)),
        step => kept.extend(row.iter().step_by(step).take(samples)),
    }
}

/// Puts the samples of a lane back into a row, from the sample `from` of the lane on.
pub fn put(row: &mut [u8], place: &Place, from: usize, samples: &[u8]) {
    let row = row.get_mut(place.first + from * place.step..).unwrap_or_default();
    match place.step {
        1 => row.iter_mut().zip(&samples[from..]).for_each(|(to, sample)| *to = *sample),
        2 => row.iter_mut().step_by(2).zip(&samples[from..]).for_each(|(to, sample)| *to = *sample),
        4 => row.iter_mut().step_by(4).zip(&samples[from..]).for_each(|(to, sample)| *to = *sample),
        step => row.iter_mut().step_by(step).zip(&samples[from..]).for_each(|(to, sample)| *to = *sample),
    }
}

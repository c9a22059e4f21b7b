//! The R, G and B histograms, for people to look at.
//!
//! They are counted here for both backends, on rows spread evenly over the frame: about a hundred thousand pixels
//! tell as much as all of them. 8 bits of each sample are looked at. Pixels of formats with chroma are turned into R, G and B in luma's codes.

use crate::colour::Matrix;
use crate::frame::{FrameInfo, Lane, Packing, Planes};

use super::sites::Sites;

/// About how many pixels are counted.
const PIXELS: usize = 1 << 17;

/// Counts of R, G and B.
pub type Counts = [[u32; 256]; 3];

/// Where the samples of a lane are found.
#[derive(Clone, Copy, Debug)]
struct Place {
    plane: usize,
    rows: usize,
    /// Pixels of a unit, a power of two, as its exponent: this is done for every pixel.
    unit_shift: u32,
    unit_samples: usize,
    /// The lane's sample of each pixel of a unit.
    of_pixel: [usize; 8],
    packing: Packing,
}

impl Place {
    fn find(info: &FrameInfo, sites: &Sites, lane: Lane) -> Option<Place> {
        (0..info.planes.len()).find_map(|plane| {
            let of = sites.plane(plane);
            let mut of_pixel = [None; 8];
            for (index, site) in of.samples.iter().enumerate().filter(|(_, site)| site.lane == lane) {
                of_pixel[site.first..site.first + site.pixels].fill(Some(index));
            }
            of_pixel[0]?;
            Some(Place {
                plane,
                rows: of.rows,
                unit_shift: of.pixels.trailing_zeros(),
                unit_samples: of.samples.len(),
                of_pixel: of_pixel.map(Option::unwrap_or_default),
                packing: info.format.packing(),
            })
        })
    }

    fn row<'a>(&self, planes: &Planes<'a>, y: usize) -> &'a [u8] {
        let plane = planes[self.plane];
        &plane.data[y / self.rows * plane.stride..]
    }

    fn sample(&self, row: &[u8], x: usize) -> u8 {
        let at = (x >> self.unit_shift) * self.unit_samples + self.of_pixel[x & ((1 << self.unit_shift) - 1)];
        match self.packing {
            Packing::BYTE => row[at],
            packing => {
                let sample = u16::from_le_bytes([row[2 * at], row[2 * at + 1]]);
                (packing.code(sample) >> (packing.depth - 8)) as u8
            }
        }
    }
}

/// Counts R, G and B of the frames of one kind.
pub struct Channels {
    places: Option<[Place; 3]>,
    alpha: Option<Place>,
    matrix: Option<Matrix>,
    counts: Counts,
}

impl Channels {
    pub fn new(info: &FrameInfo) -> Channels {
        let sites = Sites::new(info);
        let find = |lane| Place::find(info, &sites, lane);
        let lanes =
            if info.format.is_rgb() { [Lane::Red, Lane::Green, Lane::Blue] } else { [Lane::Luma, Lane::Cb, Lane::Cr] };
        let places = match lanes.map(find) {
            [Some(first), Some(second), Some(third)] => Some([first, second, third]),
            _ => None,
        };
        Channels {
            places,
            alpha: find(Lane::Alpha),
            matrix: (!info.format.is_rgb()).then(|| Matrix::of(info.range.at(8), info.weights)),
            counts: [[0; 256]; 3],
        }
    }

    /// The counts of the frame that was counted last; `None` for grey formats.
    pub fn counts(&self) -> Option<&Counts> {
        self.places.is_some().then_some(&self.counts)
    }

    /// Counts a frame whose planes hold all that `info` says.
    pub fn count(&mut self, info: &FrameInfo, planes: &Planes) {
        let Some(places) = &self.places else { return };
        self.counts = [[0; 256]; 3];
        let step = (info.width * info.height).div_ceil(PIXELS);
        for y in (step / 2..info.height).step_by(step) {
            let rows = places.map(|place| place.row(planes, y));
            let alpha = self.alpha.map(|place| (place, place.row(planes, y)));
            for x in 0..info.width {
                if alpha.is_some_and(|(place, row)| place.sample(row, x) == 0) {
                    continue;
                }
                let [a, b, c] = [0, 1, 2].map(|lane| places[lane].sample(rows[lane], x));
                let channels = match &self.matrix {
                    Some(matrix) => matrix.channels(a.into(), b.into(), c.into()),
                    None => [a, b, c].map(usize::from),
                };
                self.counts.iter_mut().zip(channels).for_each(|(counts, code)| counts[code] += 1);
            }
        }
    }
}

//! Counts R, G and B at the sites of a frame, and luma beside them, when levels of their own are asked for.

use crate::colour::{Matrix, Places};
use crate::frame::{FrameInfo, Plane, Planes};
use crate::levels::statistics::{CHANNELS, Statistics};

use super::apply::used;
use super::pool;
use super::sites::Rows;

/// About how many sites a band holds.
const BAND: usize = 1 << 16;

/// What a thread counts into.
struct Counts {
    tables: [[u32; 256]; CHANNELS],
    rows: Rows,
}

/// Counts the channels of frames of one kind.
pub struct Channels {
    places: Option<Places>,
    matrix: Matrix,
    info: FrameInfo,
    counts: Vec<Box<Counts>>,
}

impl Channels {
    pub fn new(info: &FrameInfo, threads: usize) -> Channels {
        let places = Places::find(info);
        let counts = || Box::new(Counts { tables: [[0; 256]; CHANNELS], rows: Rows::default() });
        Channels {
            places,
            matrix: Matrix::new(info),
            info: info.clone(),
            counts: (0..if places.is_some() { threads } else { 0 }).map(|_| counts()).collect(),
        }
    }

    /// Counts a frame whose planes hold all that its description says into `statistics`; nothing of grey formats.
    pub fn run(&mut self, planes: &Planes, statistics: &mut Statistics) {
        let Channels { places: Some(places), matrix, info, counts } = self else { return };
        let planes: Planes = planes
            .iter()
            .zip(&info.planes)
            .map(|(plane, shape)| Plane { data: used(plane, shape), stride: plane.stride })
            .collect();
        let [across, down] = places.sites;
        let rows = (BAND / across).max(1);
        let bands = (0..down).step_by(rows).map(|top| (top, (top + rows).min(down)));
        pool::share(counts, bands, |counts, (top, bottom)| {
            for y in top..bottom {
                if info.format.is_rgb() {
                    count_pixels(places, info, &planes[0], y, &mut counts.tables);
                } else {
                    count_sites(places, info, matrix, &planes, y, counts);
                }
            }
        });
        for (channel, table) in statistics.channels.iter_mut().enumerate() {
            table.clear();
            table.resize(256, 0);
            for counts in counts.iter_mut() {
                table.iter_mut().zip(&counts.tables[channel]).for_each(|(sum, count)| *sum += count);
            }
        }
        counts.iter_mut().for_each(|counts| counts.tables = [[0; 256]; CHANNELS]);
    }
}

fn count_pixels(places: &Places, info: &FrameInfo, plane: &Plane, y: usize, tables: &mut [[u32; 256]; CHANNELS]) {
    let row = &plane.data[y * plane.stride..][..info.measured().samples];
    let [red, green, blue] = places.lanes.map(|place| place.first);
    let [wr, wg, wb] = info.weights.0;
    for pixel in row.chunks_exact(places.lanes[0].step) {
        if places.alpha.is_some_and(|alpha| pixel[alpha.first] == 0) {
            continue;
        }
        let [r, g, b] = [red, green, blue].map(|place| pixel[place]);
        let luma = (wr * u32::from(r) + wg * u32::from(g) + wb * u32::from(b) + 32768) >> 16;
        let codes = [luma as usize, r.into(), g.into(), b.into()];
        tables.iter_mut().zip(codes).for_each(|(table, code)| table[code] += 1);
    }
}

fn count_sites(places: &Places, info: &FrameInfo, matrix: &Matrix, planes: &Planes, y: usize, counts: &mut Counts) {
    let Counts { tables, rows } = counts;
    rows.read(places, info, planes, y);
    for ((luma, cb), cr) in rows.means.iter().zip(&rows.cb).zip(&rows.cr) {
        let [r, g, b] = matrix.channels(*luma, *cb, *cr);
        let codes = [usize::from(*luma), r, g, b];
        tables.iter_mut().zip(codes).for_each(|(table, code)| table[code] += 1);
    }
}

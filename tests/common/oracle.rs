//! The plain answer: pixel by pixel, in the order of the picture, without regard to speed or to lanes.

use autolevels::frame::{Format, FrameInfo};
use autolevels::grid::Grid;
use autolevels::levels::curves::Curves;
use autolevels::levels::statistics::Statistics;
use autolevels::window::Window;

use super::frames::GuardedPlane;

/// Where a letter of a packed RGB format's name stands, which is where the sample lies in its pixel.
fn place(format: Format, letter: char) -> Option<usize> {
    format.name().find(letter)
}

/// Luma of one pixel, or nothing if the pixel does not vote.
fn luma(info: &FrameInfo, row: &[u8], x: usize) -> Option<u8> {
    match info.format {
        Format::Yuy2 => Some(row[2 * x]),
        Format::Uyvy => Some(row[2 * x + 1]),
        format if format.is_rgb() => {
            let pixel = &row[x * format.name().len()..][..format.name().len()];
            if place(format, 'A').is_some_and(|alpha| pixel[alpha] == 0) {
                return None;
            }
            let weighted = "RGB".chars().zip(info.weights.0).map(|(letter, weight)| {
                let place = place(format, letter).expect("RGB formats have all three letters");
                u64::from(weight) * u64::from(pixel[place])
            });
            Some(((weighted.sum::<u64>() + 32768) >> 16) as u8)
        }
        _ => Some(row[x]),
    }
}

/// What measuring a frame of these planes has to give.
pub fn measure(info: &FrameInfo, planes: &[GuardedPlane]) -> Statistics {
    measure_in(info, planes, &Window::whole(info))
}

/// The same if only the pixels of a window are counted.
pub fn measure_in(info: &FrameInfo, planes: &[GuardedPlane], window: &Window) -> Statistics {
    let grid = Grid::new(info);
    let mut statistics = Statistics::empty(info.range.codes(), grid.chunks());
    let find = |edges: &[usize], at: usize| edges.windows(2).position(|edge| (edge[0]..edge[1]).contains(&at)).unwrap();
    for y in 0..info.height {
        let down = find(&grid.rows, y);
        for x in 0..info.width {
            let across = find(&grid.columns, x / info.measured().unit_pixels);
            let unit = x / info.measured().unit_pixels;
            let is_inside = (window.left..window.right).contains(&unit) && (window.top..window.bottom).contains(&y);
            if let Some(code) = luma(info, planes[0].row(y), x) {
                statistics.luma[usize::from(code)] += u32::from(is_inside);
                let chunk = &mut statistics.chunks[down * grid.across() + across];
                chunk.sum += u32::from(code);
                chunk.count += 1;
            }
        }
    }
    statistics
}

/// The curve of sample `x` in a row of plane `plane`: 0 to 2, or nothing if the sample is copied.
fn curve(format: Format, plane: usize, x: usize) -> Option<usize> {
    match (format, plane) {
        (Format::Yuy2, _) => Some([0, 1, 0, 2][x % 4]),
        (Format::Uyvy, _) => Some([1, 0, 2, 0][x % 4]),
        (format, _) if format.is_rgb() => {
            let letter = format.name().as_bytes()[x % format.name().len()];
            b"RGB".iter().position(|channel| *channel == letter)
        }
        (_, 0) => Some(0),
        (Format::Nv12, _) => Some(1 + x % 2),
        (Format::Nv21, _) => Some(2 - x % 2),
        (Format::Yv12, _) => Some(3 - plane),
        (_, plane) => Some(plane),
    }
}

/// The rows that applying `curves` to a frame of these planes has to give: rows of each plane.
pub fn apply(info: &FrameInfo, planes: &[GuardedPlane], curves: &Curves) -> Vec<Vec<Vec<u8>>> {
    let sample = |plane: usize, (x, code): (usize, &u8)| match curve(info.format, plane, x) {
        Some(curve) => curves.tables[curve][usize::from(*code)] as u8,
        None => *code,
    };
    let row = |index: usize, row: &[u8]| row.iter().enumerate().map(|at| sample(index, at)).collect();
    let rows = |(index, plane): (usize, &GuardedPlane)| plane.rows().map(|samples| row(index, samples)).collect();
    planes.iter().enumerate().map(rows).collect()
}

//! The plain answer: pixel by pixel, in the order of the picture, without regard to speed or to lanes.

use autolevels::frame::{Format, FrameInfo};
use autolevels::grid::Grid;
use autolevels::levels::curves::Curves;
use autolevels::levels::dither::Dither;
use autolevels::levels::statistics::Statistics;
use autolevels::window::Window;

use super::frames::GuardedPlane;

/// Sample `x` of a row.
fn sample(format: Format, row: &[u8], x: usize) -> u16 {
    match format.packing().bytes() {
        1 => row[x].into(),
        _ => u16::from(row[2 * x]) + 256 * u16::from(row[2 * x + 1]),
    }
}

/// The code that a sample holds, in words of the formats' names.
fn code(format: Format, sample: u16) -> u16 {
    match format.name() {
        "P010_10LE" => sample / 64,
        name if name.ends_with("_10LE") => sample % 1024,
        name if name.ends_with("_12LE") => sample % 4096,
        _ => sample,
    }
}

/// The letters of a packed RGB format's name, which are the samples of a pixel in their order.
fn letters(format: Format) -> &'static str {
    let name = format.name();
    &name[..name.find("64").unwrap_or(name.len())]
}

/// Luma of one pixel, or nothing if the pixel does not vote.
fn luma(info: &FrameInfo, row: &[u8], x: usize) -> Option<u16> {
    let at = |index: usize| code(info.format, sample(info.format, row, index));
    match info.format {
        Format::Yuy2 => Some(at(2 * x)),
        Format::Uyvy => Some(at(2 * x + 1)),
        format if format.is_rgb() => {
            let letters = letters(format);
            let pixel = |letter: char| letters.find(letter).map(|place| at(x * letters.len() + place));
            if pixel('A') == Some(0) {
                return None;
            }
            let weighted = "RGB".chars().zip(info.weights.0).map(|(letter, weight)| {
                u64::from(weight) * u64::from(pixel(letter).expect("RGB formats have all three letters"))
            });
            Some(((weighted.sum::<u64>() + 32768) >> 16) as u16)
        }
        _ => Some(at(x)),
    }
}

/// What measuring a frame of these planes has to give.
pub fn measure(info: &FrameInfo, planes: &[GuardedPlane]) -> Statistics {
    measure_in(info, planes, &Window::whole(info))
}

/// The same if only the pixels of a window are counted.
pub fn measure_in(info: &FrameInfo, planes: &[GuardedPlane], window: &Window) -> Statistics {
    let grid = Grid::new(info);
    let mut statistics = Statistics::empty(info.range.bins(), grid.chunks());
    let find = |edges: &[usize], at: usize| edges.windows(2).position(|edge| (edge[0]..edge[1]).contains(&at)).unwrap();
    for y in 0..info.height {
        let down = find(&grid.rows, y);
        for x in 0..info.width {
            let across = find(&grid.columns, x / info.measured().unit_pixels);
            let unit = x / info.measured().unit_pixels;
            let is_inside = (window.left..window.right).contains(&unit) && (window.top..window.bottom).contains(&y);
            if let Some(code) = luma(info, planes[0].row(y), x) {
                // Ten bits are counted at most.
                let code = usize::from(code) * info.range.bins() / info.range.codes();
                statistics.luma[code] += u32::from(is_inside);
                let chunk = &mut statistics.chunks[down * grid.across() + across];
                chunk.sum += code as u32;
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
            let letter = letters(format).as_bytes()[x % letters(format).len()];
            b"RGB".iter().position(|channel| *channel == letter)
        }
        (_, 0) => Some(0),
        (Format::Nv12 | Format::P010, _) => Some(1 + x % 2),
        (Format::Nv21, _) => Some(2 - x % 2),
        (Format::Yv12, _) => Some(3 - plane),
        (_, plane) => Some(plane),
    }
}

/// Where a curve takes a code: to an entry, or to the nearest code on the line between two of them.
fn look_up(table: &[u16], codes: usize, code: u16) -> u16 {
    let step = codes / table.len();
    let (entry, past) = (usize::from(code) / step, usize::from(code) % step);
    let from = f64::from(table[entry]);
    let to = match table.get(entry + 1) {
        Some(to) => f64::from(*to),
        None => (2.0 * from - f64::from(table[entry - 1])).clamp(0.0, codes as f64),
    };
    let out = from + (to - from) * past as f64 / step as f64;
    ((out + 0.5).floor() as usize).min(codes - 1) as u16
}

/// The pixel that sample `x` of a row belongs to, in planes that are dithered.
fn pixel(format: Format, x: usize) -> usize {
    match format {
        Format::Yuy2 | Format::Uyvy => x / 2,
        format if format.is_rgb() => x / letters(format).len(),
        _ => x,
    }
}

/// Where a curve with dither takes a code: to the nearest code of its place and the noise, which has 32 levels within
/// half of the smaller gap around it, by turns of the plastic number across and down and of the golden one from frame to
/// frame.
fn dithered(dither: &Dither, curve: usize, code: u16, (x, y): (usize, usize)) -> u16 {
    let at = |code: i64| i64::from(dither.fine[curve][code.clamp(0, 255) as usize]);
    let code = i64::from(code);
    let gap = (at(code) - at(code - 1)).min(at(code + 1) - at(code)).max(0);
    let turns = [(x as u64, 3_242_174_889u64), (y as u64, 2_447_445_414), (dither.frame.into(), 2_654_435_769)];
    let turn = turns.iter().map(|(count, each)| count * each).sum::<u64>() % (1 << 32);
    let share = turn.min((1 << 32) - 1 - turn) / (1 << 26);
    let noise = (share as f64 - 15.5) / 32.0;
    ((at(code) as f64 + (gap as f64 * noise).floor()) / 256.0 + 0.5).floor() as u16
}

/// The rows that applying `curves` to a frame of these planes has to give: rows of each plane.
pub fn apply(info: &FrameInfo, planes: &[GuardedPlane], curves: &Curves) -> Vec<Vec<Vec<u8>>> {
    let format = info.format;
    let sample_bytes = |plane: usize, row: &[u8], x: usize, y: usize| {
        let sample = sample(format, row, x);
        let before = code(format, sample);
        let after = match curve(format, plane, x) {
            Some(curve) => match &curves.dither {
                Some(dither) if curve < dither.curves => dithered(dither, curve, before, (pixel(format, x), y)),
                _ => look_up(&curves.tables[curve], info.range.codes(), before),
            },
            None => before,
        };
        // What is not of the code stays.
        let scale = if format == Format::P010 { 64 } else { 1 };
        let bytes = (sample - scale * before + scale * after).to_le_bytes();
        bytes.into_iter().take(format.packing().bytes())
    };
    let row = |plane: usize, row: &[u8], y: usize| {
        (0..row.len() / format.packing().bytes()).flat_map(|x| sample_bytes(plane, row, x, y)).collect()
    };
    let rows = |(index, plane): (usize, &GuardedPlane)| {
        plane.rows().enumerate().map(|(y, samples)| row(index, samples, y)).collect()
    };
    planes.iter().enumerate().map(rows).collect()
}

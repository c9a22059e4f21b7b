//! Framing: which part of the picture votes, before anything is measured.
//!
//! It is the region of interest, without black bars. Only a few lines of the frame's own memory are looked at, the same
//! for both backends: two rows and two columns where there are no bars.

mod letterbox;
mod probe;

use crate::frame::{FrameInfo, Planes};
use crate::settings::Settings;
use crate::window::Window;

use letterbox::Letterbox;
use probe::{Axis, Probe};

/// Seconds from one frame to the next where the timestamps do not tell, and at most.
const USUAL_DELTA: f64 = 0.04;
const MOST_DELTA: f64 = 0.25;

/// Frames the pictures of one stream; holds what is known of its black bars.
#[derive(Clone, Debug)]
pub struct Framing {
    info: FrameInfo,
    rows: Letterbox,
    columns: Letterbox,
    window: Window,
    last: Option<f64>,
}

impl Framing {
    /// A fresh one for frames as described by `info`.
    pub fn new(info: &FrameInfo) -> Framing {
        Framing {
            info: info.clone(),
            rows: Letterbox::new(Axis::Rows),
            columns: Letterbox::new(Axis::Columns),
            window: Window::whole(info),
            last: None,
        }
    }

    /// Forgets all frames so far.
    pub fn reset(&mut self) {
        *self = Framing::new(&self.info);
    }

    /// The window of the frame before, for one that does not vote. At first the whole picture.
    pub fn present(&self) -> Window {
        self.window
    }

    /// The window of the next frame. `time` is its running time in
    /// seconds, if it has one.
    pub fn window(&mut self, planes: &Planes, settings: &Settings, time: Option<f64>) -> Window {
        let [left, right, top, bottom] = settings.roi.edges();
        let roi = Window::of_shares(&self.info, [left, right], [top, bottom]);
        self.window = if settings.letterbox { self.without_bars(planes, &roi, time) } else { roi };
        if !settings.letterbox {
            (self.rows, self.columns) = (Letterbox::new(Axis::Rows), Letterbox::new(Axis::Columns));
        }
        self.window
    }

    /// The region without black bars.
    fn without_bars(&mut self, planes: &Planes, roi: &Window, time: Option<f64>) -> Window {
        let delta = match (self.last, time) {
            (Some(last), Some(time)) if time > last => (time - last).min(MOST_DELTA),
            _ => USUAL_DELTA,
        };
        self.last = time.or(self.last);
        let bars = self.picture(planes, delta);
        // A region in a bar is what was asked for.
        let apart =
            roi.left >= bars.right || bars.left >= roi.right || roi.top >= bars.bottom || bars.top >= roi.bottom;
        if apart { *roi } else { roi.and(&bars) }
    }

    /// What lies between the black bars.
    fn picture(&mut self, planes: &Planes, delta: f64) -> Window {
        let whole = Window::whole(&self.info);
        // Whoever measures the frame will tell what is wrong with it.
        let Some(plane) = planes.first().filter(|_| self.info.check(planes).is_ok()) else { return whole };
        let probe = Probe::new(&self.info, *plane);
        let Window { right, bottom, .. } = whole;
        // Where there are bars on all sides, those of one kind make the lines across them black in part.
        let across = self.columns.glance(&probe, &(0..bottom)).between(right);
        let rows = self.rows.look(&probe, &across, delta);
        let columns = self.columns.look(&probe, &rows.between(bottom), delta);
        let (rows, columns) = (rows.between(bottom), columns.between(right));
        Window { left: columns.start, right: columns.end, top: rows.start, bottom: rows.end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Format, Lane, LumaWeights, Plane, Range};

    const SIZE: (usize, usize) = (334, 187);

    /// The measured plane of a grey picture between bars of `bar` rows and of `side` units.
    fn boxed(info: &FrameInfo, bar: usize, side: usize) -> Vec<u8> {
        let shape = info.measured();
        let packing = info.format.packing();
        let mut plane = vec![0xEE; (shape.bytes + 5) * shape.rows];
        for (i, row) in plane.chunks_mut(shape.bytes + 5).enumerate() {
            for (x, sample) in row[..shape.bytes].chunks_mut(packing.bytes()).enumerate() {
                let unit = x / shape.lanes.len();
                let rows = bar..shape.rows - bar;
                let is_inside = rows.contains(&i) && (side..shape.units() - side).contains(&unit);
                let code = match shape.lanes[x % shape.lanes.len()] {
                    Lane::Cb | Lane::Cr => 128,
                    Lane::Alpha | Lane::Unused => 255,
                    // As deep blue as it may be.
                    Lane::Red | Lane::Green if is_inside => 0,
                    _ if is_inside => 120,
                    _ => info.range.at(8).black + (i % 3) as u16,
                };
                let deep = packing.with_code(0, code << (packing.depth - 8));
                sample.copy_from_slice(&deep.to_le_bytes()[..packing.bytes()]);
            }
        }
        plane
    }

    fn window(info: &FrameInfo, plane: &[u8], settings: &Settings) -> Window {
        // Nobody looks at the others.
        let planes = info.planes.iter().map(|_| Plane { data: plane, stride: info.measured().bytes + 5 }).collect();
        Framing::new(info).window(&planes, settings, None)
    }

    fn infos() -> impl Iterator<Item = FrameInfo> {
        let ranges =
            |format: &Format| if format.is_rgb() { vec![Range::FULL] } else { vec![Range::LIMITED, Range::FULL] };
        Format::ALL.iter().flat_map(move |format| {
            ranges(format).into_iter().map(|range| FrameInfo::new(*format, SIZE.0, SIZE.1, range, LumaWeights::BT709))
        })
    }

    #[test]
    fn memory_that_does_not_hold_the_frame_is_not_looked_at() {
        let info = FrameInfo::new(Format::Gray8, 8, 64, Range::FULL, LumaWeights::BT709);
        let planes = Planes::from_iter([Plane { data: &[0; 8], stride: usize::MAX }]);
        assert_eq!(Framing::new(&info).window(&planes, &Settings::default(), None), Window::whole(&info));
    }

    #[test]
    fn bars_are_found_in_every_format_and_range() {
        for info in infos() {
            let whole = Window::whole(&info);
            for (bar, side) in [(0, 0), (23, 0), (0, 11), (23, 11), (1, 0)] {
                let wanted = Window { left: side, right: whole.right - side, top: bar, bottom: whole.bottom - bar };
                assert_eq!(
                    window(&info, &boxed(&info, bar, side), &Settings::default()),
                    wanted,
                    "{info} {bar} {side}"
                );
                let settings = Settings { letterbox: false, ..Settings::default() };
                assert_eq!(window(&info, &boxed(&info, bar, side), &settings), whole, "{info}");
            }
        }
    }

    #[test]
    fn the_region_and_the_bars_are_both_left_out() {
        for info in infos() {
            let plane = boxed(&info, 23, 0);
            let whole = Window::whole(&info);
            let framed = |roi: &str| {
                let settings = Settings { roi: roi.parse().unwrap(), ..Settings::default() };
                window(&info, &plane, &settings)
            };
            let half = framed("0.5,0,0.5,1");
            assert!(half.left.abs_diff(whole.right / 2) <= 1 && half.right == whole.right, "{info}: {half:?}");
            assert_eq!((half.top, half.bottom), (23, whole.bottom - 23), "{info}");
            let in_a_bar = framed("0,0,1,0.1");
            assert_eq!((in_a_bar.top, in_a_bar.bottom), (0, 19), "{info}");
            let tiny = framed("0.6,0.6,1e-9,1e-9");
            assert_eq!((tiny.right - tiny.left, tiny.bottom - tiny.top), (1, 1), "{info}");
        }
    }

    #[test]
    fn tiny_pictures_and_memory_that_is_too_short_are_taken_as_they_come() {
        for format in Format::ALL {
            for (width, height) in [(1, 1), (2, 1), (5, 3), (1, 200), (200, 1)] {
                let info = FrameInfo::new(*format, width, height, Range::FULL, LumaWeights::BT709);
                for code in [0, 200] {
                    let plane = vec![code; (info.measured().bytes + 5) * height];
                    assert_eq!(window(&info, &plane, &Settings::default()), Window::whole(&info), "{info}");
                    assert_eq!(window(&info, &plane[..1], &Settings::default()), Window::whole(&info), "{info}");
                }
                let none = Framing::new(&info).window(&Planes::new(), &Settings::default(), None);
                assert_eq!(none, Window::whole(&info));
            }
        }
    }
}

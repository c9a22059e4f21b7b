//! The window: the part of the picture whose pixels vote.
//!
//! A rectangle of the measured plane, on whole units like the [grid](crate::grid). Pixels outside it are left out of the
//! histogram. The sums of the chunks stay those of the whole picture, so that what happens outside can be seen.

use crate::frame::FrameInfo;
use crate::grid::Grid;

/// A rectangle of the measured plane: columns in units and rows, each from the first to the one after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub left: usize,
    pub right: usize,
    pub top: usize,
    pub bottom: usize,
}

impl Window {
    /// The whole picture.
    pub fn whole(info: &FrameInfo) -> Window {
        let plane = info.measured();
        Window { left: 0, right: plane.units(), top: 0, bottom: plane.rows }
    }

    /// What lies between these shares of the picture's width and height, to the nearest unit; one unit at least.
    pub fn of_shares(info: &FrameInfo, across: [f64; 2], down: [f64; 2]) -> Window {
        let plane = info.measured();
        let units = info.width as f64 / plane.unit_pixels as f64;
        let [left, right] = across.map(|share| (share * units).round() as usize);
        let [top, bottom] = down.map(|share| (share * plane.rows as f64).round() as usize);
        // The last unit may be there in part.
        let right = if across[1] >= 1.0 { plane.units() } else { right };
        Window { left, right, top, bottom }.within(info)
    }

    /// The window within the picture, and of one unit at least.
    pub fn within(&self, info: &FrameInfo) -> Window {
        let plane = info.measured();
        let (left, right) = within((self.left, self.right), plane.units());
        let (top, bottom) = within((self.top, self.bottom), plane.rows);
        Window { left, right, top, bottom }
    }

    /// What two windows have in common; of one unit at least, even where that is nothing.
    pub fn and(&self, other: &Window) -> Window {
        let (left, right) = common((self.left, self.right), (other.left, other.right));
        let (top, bottom) = common((self.top, self.bottom), (other.top, other.bottom));
        Window { left, right, top, bottom }
    }

    /// The window's columns in pixels of a picture that wide.
    pub fn pixels(&self, info: &FrameInfo) -> std::ops::Range<usize> {
        let unit = info.measured().unit_pixels;
        (self.left * unit).min(info.width)..(self.right * unit).min(info.width)
    }

    /// Which chunks speak for the window, row by row: those that lie in it whole, or, where none does, those that
    /// it touches.
    pub fn chunks(&self, grid: &Grid) -> Vec<bool> {
        let each = |across: &dyn Fn(&[usize]) -> bool, down: &dyn Fn(&[usize]) -> bool| {
            let row = |rows: &[usize]| {
                let is_in = down(rows);
                grid.columns.windows(2).map(|columns| is_in && across(columns)).collect::<Vec<_>>()
            };
            grid.rows.windows(2).flat_map(row).collect::<Vec<_>>()
        };
        let whole = each(&|edges| self.left <= edges[0] && edges[1] <= self.right, &|edges| {
            self.top <= edges[0] && edges[1] <= self.bottom
        });
        if whole.contains(&true) {
            return whole;
        }
        each(&|edges| self.left < edges[1] && edges[0] < self.right, &|edges| {
            self.top < edges[1] && edges[0] < self.bottom
        })
    }
}

fn within((first, end): (usize, usize), length: usize) -> (usize, usize) {
    let first = first.min(length.saturating_sub(1));
    (first, end.min(length).max(first + 1))
}

fn common(a: (usize, usize), b: (usize, usize)) -> (usize, usize) {
    let first = a.0.max(b.0).min(a.1 - 1);
    (first, a.1.min(b.1).max(first + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Format, LumaWeights, Range};

    fn info(format: Format, width: usize, height: usize) -> FrameInfo {
        FrameInfo::new(format, width, height, Range::LIMITED, LumaWeights::BT709)
    }

    #[test]
    fn a_window_is_never_empty_and_never_beyond_the_picture() {
        let info = info(Format::Gray8, 10, 3);
        let whole = Window::whole(&info);
        assert_eq!(whole, Window { left: 0, right: 3, top: 0, bottom: 3 });
        let far = Window { left: 9, right: 12, top: 3, bottom: 3 };
        assert_eq!(far.within(&info), Window { left: 2, right: 3, top: 2, bottom: 3 });
        let corner = Window { left: 2, right: 3, top: 0, bottom: 1 };
        assert_eq!(whole.and(&corner), corner);
        let other = Window { left: 0, right: 1, top: 2, bottom: 3 };
        let none = corner.and(&other);
        assert!(none.left < none.right && none.top < none.bottom);
        assert_eq!(Window::of_shares(&info, [0.0, 1.0], [0.0, 1.0]), whole);
        assert_eq!(
            Window::of_shares(&info, [0.999, 1.0], [0.5, 0.501]),
            Window { left: 2, right: 3, top: 2, bottom: 3 }
        );
        assert_eq!(whole.pixels(&info), 0..10);
        assert_eq!(corner.pixels(&info), 8..10);
    }

    #[test]
    fn chunks_speak_that_lie_in_the_window_or_else_those_it_touches() {
        let info = info(Format::Gray8, 320, 180);
        let grid = Grid::new(&info);
        let count = |window: Window| window.chunks(&grid).iter().filter(|inside| **inside).count();
        assert_eq!(count(Window::whole(&info)), grid.chunks());
        // Rows of chunks are ten rows high, and this one cuts the first and the last in two.
        assert_eq!(count(Window { top: 5, bottom: 175, ..Window::whole(&info) }), 16 * 32);
        assert_eq!(count(Window { left: 7, right: 8, top: 9, bottom: 11 }), 2);
    }
}

//! The grid of chunks: rectangles over the picture whose mean luma is compared from frame to frame.
//!
//! 32 × 18 chunks at every size, fewer on tiny frames, so that means are comparable across sizes. Edges lie
//! on whole units of the measured plane; chunks that would be empty are left out.

use crate::frame::FrameInfo;

/// Most chunks across and down.
pub const COLUMNS: usize = 32;
pub const ROWS: usize = 18;

/// Where the chunks lie on the measured plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Edges of the columns in units, from 0 to the plane's width: one more than there are columns.
    pub columns: Vec<usize>,
    /// Edges of the rows, from 0 to the plane's height: one more than there are rows of chunks.
    pub rows: Vec<usize>,
}

impl Grid {
    /// The grid of frames described by `info`.
    pub fn new(info: &FrameInfo) -> Grid {
        let plane = info.measured();
        Grid { columns: edges(plane.units(), COLUMNS), rows: edges(plane.rows, ROWS) }
    }

    /// Columns of chunks, 1 to [`COLUMNS`].
    pub fn across(&self) -> usize {
        self.columns.len() - 1
    }

    /// Rows of chunks, 1 to [`ROWS`].
    pub fn down(&self) -> usize {
        self.rows.len() - 1
    }

    /// Number of chunks; they are numbered row by row.
    pub fn chunks(&self) -> usize {
        self.across() * self.down()
    }
}

fn edges(length: usize, most: usize) -> Vec<usize> {
    let mut edges: Vec<usize> = (0..=most).map(|i| i * length / most).collect();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Format, LumaWeights, Range};

    #[test]
    fn chunks_tile_the_plane_and_none_is_empty() {
        for format in Format::ALL {
            for (width, height) in [(1, 1), (2, 1), (5, 3), (63, 65), (321, 33), (1920, 1080), (7680, 4320)] {
                let info = FrameInfo::new(*format, width, height, Range::LIMITED, LumaWeights::BT709);
                let grid = Grid::new(&info);
                for (edges, end) in [(&grid.columns, info.measured().units()), (&grid.rows, height)] {
                    assert_eq!((edges[0], *edges.last().unwrap()), (0, end), "{info}");
                    assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{info}");
                }
                assert!(grid.across() <= COLUMNS && grid.down() <= ROWS);
            }
        }
        let info = FrameInfo::new(Format::Nv12, 1920, 1080, Range::LIMITED, LumaWeights::BT709);
        assert_eq!(Grid::new(&info).chunks(), 576);
    }
}

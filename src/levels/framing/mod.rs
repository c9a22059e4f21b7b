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

    /// The window of the next frame, whose planes hold what the description says. `time` is its running time in
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
        let Some(plane) = planes.first() else { return whole };
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

//! Makes small pictures with known light, and watches what the levels do to a pixel that nothing happens to.

use std::sync::LazyLock;

use crate::frame::{Format, FrameInfo, LumaWeights, Plane, Planes, Range};
use crate::grid::Grid;
use crate::levels::framing::Framing;
use crate::levels::statistics::Statistics;
use crate::levels::{Levels, Report};
use crate::settings::Settings;
use crate::window::Window;

pub const WIDTH: usize = 320;
pub const HEIGHT: usize = 180;

pub fn info(format: Format, range: Range) -> FrameInfo {
    FrameInfo::new(format, WIDTH, HEIGHT, range, LumaWeights::BT709)
}

/// Measures a picture of `WIDTH` × `HEIGHT` luma codes.
pub fn measure(picture: &[u8], info: &FrameInfo) -> Statistics {
    measure_in(picture, info, &Window::whole(info))
}

/// The same, counting the pixels of a window.
pub fn measure_in(picture: &[u8], info: &FrameInfo, window: &Window) -> Statistics {
    let inside = window.pixels(info);
    let grid = Grid::new(info);
    let mut statistics = Statistics::empty(info.range.codes(), grid.chunks());
    let width = info.measured().unit_pixels;
    for (down, rows) in grid.rows.windows(2).enumerate() {
        for (across, columns) in grid.columns.windows(2).enumerate() {
            let chunk = &mut statistics.chunks[down * grid.across() + across];
            for y in rows[0]..rows[1] {
                for x in columns[0] * width..columns[1] * width {
                    let code = picture[y * WIDTH + x];
                    let is_inside = inside.contains(&x) && (window.top..window.bottom).contains(&y);
                    statistics.luma[usize::from(code)] += u32::from(is_inside);
                    chunk.sum += u32::from(code);
                    chunk.count += 1;
                }
            }
        }
    }
    statistics
}

/// A repeatable number from 0 to 1 for a pixel of a frame.
pub fn chance(x: usize, y: usize, frame: usize) -> f64 {
    let mut n = (x as u64) << 40 ^ (y as u64) << 20 ^ frame as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for _ in 0..2 {
        n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    }
    (n >> 11) as f64 / (1u64 << 53) as f64
}

/// A landscape of light from 0 to 1: soft hills with some texture, as wide as one likes.
pub fn hills(x: f64, y: f64) -> f64 {
    static WHOLE: LazyLock<Vec<f64>> =
        LazyLock::new(|| (0..WIDTH * HEIGHT).map(|i| make_hills((i % WIDTH) as f64, (i / WIDTH) as f64)).collect());
    let whole = x.fract() == 0.0 && y.fract() == 0.0 && x >= 0.0 && y >= 0.0;
    if whole && x < WIDTH as f64 && y < HEIGHT as f64 {
        WHOLE[y as usize * WIDTH + x as usize]
    } else {
        make_hills(x, y)
    }
}

fn make_hills(x: f64, y: f64) -> f64 {
    let slope = y / HEIGHT as f64;
    let waves = (x / 37.0).sin() * (y / 29.0).cos() + 0.7 * (x / 11.0 + y / 17.0).sin() + 0.5 * (x / 83.0).cos();
    (0.15 + 0.45 * slope + 0.18 * waves).clamp(0.0, 1.0)
}

/// Another place: bars and rings.
pub fn rings(x: f64, y: f64) -> f64 {
    let far = ((x - 200.0).powi(2) + (y - 60.0).powi(2)).sqrt();
    (0.5 + 0.5 * (far / 19.0).sin() * (1.0 - far / 400.0)).clamp(0.0, 1.0)
}

/// One frame: its light at every pixel (0 to 1), and how the camera makes a code of it (code 0 to 255).
pub struct Shot<'a> {
    pub light: &'a dyn Fn(f64, f64) -> f64,
    pub expose: &'a dyn Fn(f64) -> f64,
    /// Amplitude of the sensor's noise, in codes.
    pub noise: f64,
}

impl Shot<'_> {
    pub fn picture(&self, frame: usize) -> Vec<u8> {
        let pixel = |i: usize| {
            let (x, y) = (i % WIDTH, i / WIDTH);
            let noise = self.noise * 2.0 * (chance(x, y, frame) - 0.5);
            ((self.expose)((self.light)(x as f64, y as f64)) + noise + 0.5).floor().clamp(0.0, 255.0) as u8
        };
        (0..WIDTH * HEIGHT).map(pixel).collect()
    }
}

/// Levels a sequence and keeps what becomes of pixels of known light.
pub struct Watch {
    pub levels: Levels,
    framing: Framing,
    pub settings: Settings,
    pub fps: f64,
    info: FrameInfo,
    frame: usize,
    /// For each frame the output of light ¼, ½ and ¾, in codes, and the report.
    pub seen: Vec<([f64; 3], Report)>,
    /// Mean output of each frame.
    pub means: Vec<f64>,
    /// The window of each frame.
    pub windows: Vec<Window>,
}

impl Watch {
    pub fn new(fps: f64) -> Watch {
        let info = info(Format::Gray8, Range::LIMITED);
        Watch {
            levels: Levels::new(&info),
            framing: Framing::new(&info),
            settings: Settings::default(),
            fps,
            info,
            frame: 0,
            seen: Vec::new(),
            means: Vec::new(),
            windows: Vec::new(),
        }
    }

    pub fn show(&mut self, shot: &Shot) {
        self.show_picture(&shot.picture(self.frame), shot.expose);
    }

    /// Shows a picture in which a camera makes codes of light as `expose` says.
    pub fn show_picture(&mut self, picture: &[u8], expose: &dyn Fn(f64) -> f64) {
        let time = Some(self.frame as f64 / self.fps);
        let planes = Planes::from_iter([Plane { data: picture, stride: WIDTH }]);
        let window = self.framing.window(&planes, &self.settings, time);
        self.windows.push(window);
        self.levels.set_window(window);
        let statistics = measure_in(picture, &self.info, &window);
        let decision = self.levels.decide(&statistics, &self.settings, time);
        let table = &decision.curves.tables[0];
        let output = |light: f64| {
            let code = expose(light).clamp(0.0, 254.0);
            let (low, high) = (f64::from(table[code as usize]), f64::from(table[code as usize + 1]));
            low + code.fract() * (high - low)
        };
        self.seen.push(([output(0.25), output(0.5), output(0.75)], decision.report));
        let sum: u64 = statistics.luma.iter().zip(table).map(|(n, out)| u64::from(*n) * u64::from(*out)).sum();
        self.means.push(sum as f64 / statistics.pixels() as f64);
        self.frame += 1;
    }

    /// Shows `frames` frames, each made by `shoot` from its number.
    pub fn play(&mut self, frames: usize, light: impl Fn(f64, f64, usize) -> f64, expose: impl Fn(f64, usize) -> f64) {
        for frame in 0..frames {
            let light = |x: f64, y: f64| light(x, y, frame);
            self.show(&Shot { light: &light, expose: &|light| expose(light, frame), noise: 1.0 });
        }
    }

    /// Largest step from frame to frame of a watched pixel, from frame `first` on.
    pub fn largest_step(&self, first: usize) -> f64 {
        self.steps(first).fold(0.0, f64::max)
    }

    /// Mean step from frame to frame of the watched pixels, from frame `first` on.
    pub fn mean_step(&self, first: usize) -> f64 {
        self.steps(first).sum::<f64>() / (3 * (self.seen.len() - first - 1)).max(1) as f64
    }

    fn steps(&self, first: usize) -> impl Iterator<Item = f64> {
        self.seen[first..].windows(2).flat_map(|pair| (0..3).map(|i| (pair[1].0[i] - pair[0].0[i]).abs()))
    }

    /// How far any watched pixel of frame `b` is from where it was at frame `a`.
    pub fn moved(&self, a: usize, b: usize) -> f64 {
        (0..3).map(|i| (self.seen[b].0[i] - self.seen[a].0[i]).abs()).fold(0.0, f64::max)
    }

    /// The surest cut from frame `first` on.
    pub fn surest_cut(&self, first: usize) -> f64 {
        self.seen[first..].iter().map(|(_, report)| report.cut).fold(0.0, f64::max)
    }

    pub fn last(&self) -> Report {
        self.seen.last().expect("a frame was shown").1
    }
}

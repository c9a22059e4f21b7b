//! Colours in frames of every format, as doubles, and pictures to shoot them with.

use std::time::Duration;

use autolevels::cpu::{Cpu, Path};
use autolevels::frame::{Format, FrameInfo, Lane, LumaWeights, Packing, Range};
use autolevels::leveler::{Leveler, Timing};
use autolevels::settings::{BackendChoice, Settings};

use super::frames::{Content, TestFrame};

/// Pixels of a site across and down; nothing for formats without chroma.
pub fn site(format: Format) -> Option<(usize, usize)> {
    use Format::*;
    match format {
        Nv12 | Nv21 | I420 | Yv12 | P010 | I420p10 | I420p12 => Some((2, 2)),
        Y42b | Yuy2 | Uyvy | I422p10 | I422p12 => Some((2, 1)),
        Y444 | Y444p10 | Y444p12 => Some((1, 1)),
        _ => None,
    }
}

pub fn is_grey(format: Format) -> bool {
    matches!(format, Format::Gray8 | Format::Gray16)
}

/// Where the sample of a lane lies that stands for a pixel: plane, row, sample.
pub fn find(info: &FrameInfo, lane: Lane, (x, y): (usize, usize)) -> (usize, usize, usize) {
    let plane = info.planes.iter().position(|shape| shape.lanes.contains(&lane)).expect("the format has the lane");
    let shape = &info.planes[plane];
    let first = shape.lanes.iter().position(|other| *other == lane).expect("the plane has the lane");
    let alike = shape.lanes.iter().filter(|other| **other == lane).count();
    let across = if shape.unit_pixels / alike == 2 { x / 2 } else { x };
    let row = if shape.rows < info.height { y / 2 } else { y };
    (plane, row, across * (shape.lanes.len() / alike) + first)
}

pub fn sample(info: &FrameInfo, frame: &TestFrame, lane: Lane, at: (usize, usize), output: bool) -> f64 {
    let (plane, row, sample) = find(info, lane, at);
    let planes = if output { frame.output_planes() } else { frame.input_planes() };
    let row = planes[plane].row(row);
    match info.format.packing() {
        Packing::BYTE => row[sample].into(),
        packing => packing.code(u16::from_le_bytes([row[2 * sample], row[2 * sample + 1]])).into(),
    }
}

/// Codes for one of 8 bits.
pub fn unit(info: &FrameInfo) -> f64 {
    info.range.codes() as f64 / 256.0
}

/// Codes from black to white, half the codes of chroma, and the weights of R, G and B.
pub fn scale(info: &FrameInfo) -> (f64, f64, [f64; 3]) {
    let half = if info.range.black == 0 { f64::from(info.range.max) / 2.0 } else { 112.0 * unit(info) };
    let weights = info.weights.0.map(|weight| f64::from(weight) / 65536.0);
    (f64::from(info.range.white - info.range.black), half, weights)
}

/// R, G and B, in luma's codes, of luma and chroma.
pub fn to_rgb(info: &FrameInfo, [y, cb, cr]: [f64; 3]) -> [f64; 3] {
    let (span, half, [red, green, blue]) = scale(info);
    let neutral = f64::from(info.range.neutral);
    let (b, r) = ((cb - neutral) / half * (1.0 - blue) * span, (cr - neutral) / half * (1.0 - red) * span);
    [y + r, y - (blue * b + red * r) / green, y + b]
}

pub fn to_yuv(info: &FrameInfo, rgb: [f64; 3]) -> [f64; 3] {
    let (span, half, weights) = scale(info);
    let y: f64 = rgb.iter().zip(weights).map(|(x, weight)| x * weight).sum();
    let neutral = f64::from(info.range.neutral);
    let chroma = |x: f64, weight: f64| neutral + (x - y) / (1.0 - weight) * half / span;
    [y, chroma(rgb[2], weights[2]), chroma(rgb[0], weights[0])]
}

/// R, G and B of a pixel in luma's codes.
pub fn pixel(info: &FrameInfo, frame: &TestFrame, at: (usize, usize), output: bool) -> [f64; 3] {
    if info.format.is_rgb() {
        return [Lane::Red, Lane::Green, Lane::Blue].map(|lane| sample(info, frame, lane, at, output));
    }
    to_rgb(info, [Lane::Luma, Lane::Cb, Lane::Cr].map(|lane| sample(info, frame, lane, at, output)))
}

pub fn info(format: Format, (width, height): (usize, usize), number: usize) -> FrameInfo {
    let range = if format.is_rgb() || number % 2 == 1 { Range::FULL } else { Range::LIMITED };
    let weights = [LumaWeights::BT709, LumaWeights::BT601, LumaWeights::BT2020][number % 3];
    FrameInfo::new(format, width, height, range, weights)
}

pub fn backends(info: &FrameInfo) -> impl Iterator<Item = Cpu> {
    let paths = Path::ALL.iter().filter(|path| path.is_available());
    paths.flat_map(|path| [1, 2].map(|threads| Cpu::with(info, 1, *path, threads)))
}

/// The mean luma of the site of a pixel; pixels outside the picture are their neighbours.
pub fn mean_luma(info: &FrameInfo, frame: &TestFrame, (x, y): (usize, usize)) -> f64 {
    let (across, down) = site(info.format).unwrap_or((1, 1));
    let (x, y) = (x / across * across, y / down * down);
    let pixels = (0..down).flat_map(|j| (0..across).map(move |i| (x + i, y + j)));
    let luma = |(x, y): (usize, usize)| {
        sample(info, frame, Lane::Luma, (x.min(info.width - 1), y.min(info.height - 1)), false)
    };
    pixels.map(luma).sum::<f64>() / (across * down) as f64
}

/// The same as a code.
pub fn mean(info: &FrameInfo, frame: &TestFrame, at: (usize, usize)) -> u32 {
    (mean_luma(info, frame, at) + 0.5) as u32
}

pub const WIDTH: usize = 160;
pub const HEIGHT: usize = 96;

/// A picture of soft shapes and faint colours, each channel from about 0 to 1.
pub fn scene(x: usize, y: usize, number: usize) -> [f64; 3] {
    let (u, v) = (x as f64 / WIDTH as f64, y as f64 / HEIGHT as f64);
    let wave = |shift: f64| (7.0 * u + shift).sin() * (5.0 * v + 2.0 * shift).cos();
    let light = if number == 0 { 0.5 + 0.5 * wave(0.3) } else { 0.5 + 0.5 * (23.0 * (u - 0.3).hypot(v - 0.6)).sin() };
    let colour = 0.12 * light * (1.0 - light);
    [0.0, 2.0, 4.0].map(|shift| (light + colour * wave(4.0 * shift)).clamp(0.0, 1.0))
}

/// A tint, darker and hazier than what it tints: gain and offset of R, G and B.
pub const WARM: [(f64, f64); 3] = [(0.75, 0.08), (0.55, 0.10), (0.36, 0.06)];
pub const COLD: [(f64, f64); 3] = [(0.35, 0.05), (0.5, 0.12), (0.7, 0.10)];

/// Makes a frame of a picture whose R, G and B go from 0 to 1.
pub fn shoot(info: &FrameInfo, picture: impl Fn(usize, usize) -> [f64; 3]) -> TestFrame {
    let mut frame = TestFrame::new(info, Content::Flat, 0, 0);
    let (span, _, _) = scale(info);
    let code = |x: usize, y: usize| picture(x, y).map(|value| f64::from(info.range.black) + span * value);
    let (across, down) = site(info.format).unwrap_or((1, 1));
    for y in 0..info.height {
        for x in 0..info.width {
            let mut put = |lane: Lane, value: f64| {
                let (plane, row, sample) = find(info, lane, (x, y));
                let code = value.round().clamp(0.0, info.range.max.into()) as u16;
                let (packing, row) = (info.format.packing(), frame.input_planes_mut()[plane].row_mut(row));
                match packing {
                    Packing::BYTE => row[sample] = code as u8,
                    _ => row[2 * sample..][..2].copy_from_slice(&packing.with_code(0, code).to_le_bytes()),
                }
            };
            if info.format.is_rgb() {
                let rgb = code(x, y);
                [Lane::Red, Lane::Green, Lane::Blue].into_iter().zip(rgb).for_each(|(lane, value)| put(lane, value));
            } else {
                put(Lane::Luma, to_yuv(info, code(x, y))[0]);
                if x % across == 0 && y % down == 0 {
                    let [_, cb, cr] = to_yuv(info, code(x, y));
                    put(Lane::Cb, cb);
                    put(Lane::Cr, cr);
                }
            }
        }
    }
    frame
}

pub fn tinted(tint: [(f64, f64); 3], exposure: f64, number: usize) -> impl Fn(usize, usize) -> [f64; 3] {
    move |x, y| {
        let rgb = scene(x, y, number);
        std::array::from_fn(|i| exposure * (tint[i].0 * rgb[i] + tint[i].1))
    }
}

/// Levels frames with some settings.
pub struct Show {
    pub info: FrameInfo,
    leveler: Leveler<TestFrame>,
    frames: u64,
}

impl Show {
    pub fn new(format: Format, settings: &Settings) -> Show {
        let range = if format.is_rgb() { Range::FULL } else { Range::LIMITED };
        let info = FrameInfo::new(format, WIDTH, HEIGHT, range, LumaWeights::BT709);
        let settings = Settings { backend: BackendChoice::Cpu, ..settings.clone() };
        let leveler = Leveler::new(&info, &settings, true).unwrap();
        Show { info, leveler, frames: 0 }
    }

    pub fn frame(&mut self, picture: impl Fn(usize, usize) -> [f64; 3]) -> TestFrame {
        let timing = Timing { time: Some(Duration::from_millis(40 * self.frames)), votes: true };
        self.frames += 1;
        self.leveler.submit(shoot(&self.info, picture), timing);
        self.leveler.receive().expect("nothing is held back when live").memory
    }

    /// The darkest and the brightest of each channel, but for one in two hundred pixels, as shares of the range.
    pub fn ends(&self, frame: &TestFrame) -> [(f64, f64); 3] {
        let (span, _, _) = scale(&self.info);
        std::array::from_fn(|channel| {
            let at = |i: usize| pixel(&self.info, frame, (i % WIDTH, i / WIDTH), true)[channel];
            let mut values: Vec<f64> = (0..WIDTH * HEIGHT).map(at).collect();
            values.sort_by(f64::total_cmp);
            let share = |value: f64| (value - f64::from(self.info.range.black)) / span;
            (share(values[values.len() / 200]), share(values[values.len() - 1 - values.len() / 200]))
        })
    }

    pub fn means(&self, frame: &TestFrame) -> [f64; 3] {
        let mut sums = [0.0; 3];
        for i in 0..WIDTH * HEIGHT {
            let rgb = pixel(&self.info, frame, (i % WIDTH, i / WIDTH), true);
            sums.iter_mut().zip(rgb).for_each(|(sum, value)| *sum += value);
        }
        sums.map(|sum| sum / (WIDTH * HEIGHT) as f64)
    }
}

/// Angle of the colour of a pixel, if there is enough of it.
pub fn hue(info: &FrameInfo, rgb: [f64; 3]) -> Option<f64> {
    let [_, cb, cr] = to_yuv(info, rgb);
    let (b, r) = (cb - 128.0, cr - 128.0);
    (b.hypot(r) > 20.0).then(|| r.atan2(b))
}

/// A hazy picture of pure colours of every hue and value.
pub fn pure_colours(x: usize, y: usize) -> [f64; 3] {
    let (hue, value) = (6.0 * x as f64 / WIDTH as f64, (y as f64 + 0.5) / HEIGHT as f64);
    let pure = |shift: f64| (2.0 - ((hue - shift + 3.0).rem_euclid(6.0) - 3.0).abs()).clamp(0.0, 1.0);
    [0.0, 2.0, 4.0].map(|shift| 0.25 + 0.45 * value * pure(shift))
}

/// Share of the pixels of a picture that leave RGB by more than rounding does.
pub fn outside(format: Format, settings: &Settings, picture: impl Fn(usize, usize) -> [f64; 3]) -> f64 {
    let mut show = Show::new(format, settings);
    let frame = show.frame(picture);
    let (span, _, _) = scale(&show.info);
    let leaves = |i: &usize| {
        let rgb = pixel(&show.info, &frame, (i % WIDTH, i / WIDTH), true);
        let rgb = rgb.map(|value| (value - f64::from(show.info.range.black)) / span);
        rgb.iter().any(|value| !(-0.02..=1.02).contains(value))
    };
    (0..WIDTH * HEIGHT).filter(leaves).count() as f64 / (WIDTH * HEIGHT) as f64
}

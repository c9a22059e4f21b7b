//! Frames for tests: contents by name, in memory of chosen strides with guard bytes around every row.

use std::f64::consts::PI;

use autolevels::frame::{
    Access, FrameError, FrameInfo, FrameMemory, Lane, Plane, PlaneMut, PlaneShape, Planes, PlanesMut,
};
use autolevels::window::Window;

/// Windows of every kind: all, one unit in each corner, a row, a column, and some of odd placement.
pub fn windows(info: &FrameInfo) -> Vec<Window> {
    let Window { right, bottom, .. } = Window::whole(info);
    let rectangle = |left, right, top, bottom| Window { left, right, top, bottom }.within(info);
    vec![
        rectangle(0, right, 0, bottom),
        rectangle(0, 1, 0, 1),
        rectangle(right - 1, right, bottom - 1, bottom),
        rectangle(right / 2, right / 2 + 1, 0, bottom),
        rectangle(0, right, bottom / 3, bottom / 3 + 1),
        rectangle(right / 7 + 1, right - right / 5, bottom / 9 + 1, bottom - bottom / 4),
        rectangle(3, 6, 2, 5),
        rectangle(0, right, bottom / 8, bottom - bottom / 8),
    ]
}

/// What padding and the bytes around a plane hold; a vote of padding shows up at this code.
const GUARD: u8 = 0xEE;
/// Guard bytes before and after a plane. The first sample lies at an odd address, seen from the allocation.
const BEFORE: usize = 61;
const AFTER: usize = 67;

/// What a frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Every sample on its own.
    Noise,
    /// All codes, slowly across and down.
    Ramp,
    /// One code everywhere.
    Flat,
    /// Two codes, alternating from pixel to pixel.
    TwoLevels,
    /// Smooth shapes with edges and a little grain.
    Natural,
    /// Natural, between black bars.
    HalfBlack,
}

impl Content {
    pub const ALL: [Content; 6] =
        [Content::Noise, Content::Ramp, Content::Flat, Content::TwoLevels, Content::Natural, Content::HalfBlack];

    pub fn name(self) -> &'static str {
        match self {
            Content::Noise => "noise",
            Content::Ramp => "ramp",
            Content::Flat => "flat",
            Content::TwoLevels => "two levels",
            Content::Natural => "natural",
            Content::HalfBlack => "half black",
        }
    }

    /// The code of `lane` at (`across`, `down`), counted in samples of that lane, in a plane of the given size.
    fn code(self, lane: Lane, (across, down): (usize, usize), (width, height): (usize, usize), seed: u64) -> u8 {
        let random = hash(across, down, seed.wrapping_add(lane as u64 * 77));
        let is_chroma = matches!(lane, Lane::Cb | Lane::Cr);
        if lane == Lane::Alpha && self != Content::Noise && self != Content::Flat {
            // Runs of transparent pixels among opaque and half transparent ones.
            return [255, 0, 255, 128][(hash(across / 9, down / 4, seed) % 4) as usize];
        }
        match self {
            Content::Noise if lane == Lane::Alpha => (random as u8).saturating_sub(60),
            Content::Noise => random as u8,
            Content::Ramp => ((across * 256 / width.max(1) + down + seed as usize) % 256) as u8,
            Content::Flat if lane == Lane::Alpha => 255,
            Content::Flat => (if is_chroma { 128 } else { 90 }) + (seed % 7) as u8,
            Content::TwoLevels => [40, 200][(across + down + seed as usize) % 2],
            Content::HalfBlack if down < height / 4 || down >= height - height / 4 => {
                if is_chroma {
                    128
                } else {
                    16
                }
            }
            Content::Natural | Content::HalfBlack => {
                let (u, v) = (across as f64 / width as f64, down as f64 / height as f64);
                let shift = lane as u64 as f64 * 0.7 + seed as f64 * 0.1;
                let shade = (u * 3.1 * PI + shift).sin() * (v * 2.3 * PI + shift).cos();
                let edge = if u * 1.3 + (v * 5.0).sin() * 0.2 > 0.7 { 25.0 } else { 0.0 };
                let grain = (random % 5) as f64 - 2.0;
                let (middle, swing) = if is_chroma { (128.0, 25.0) } else { (105.0, 55.0) };
                (middle + swing * shade + edge + grain).clamp(0.0, 255.0) as u8
            }
        }
    }
}

/// A well mixed number for each place and seed.
fn hash(across: usize, down: usize, seed: u64) -> u64 {
    let mut x = (across as u64) << 32 ^ down as u64 ^ seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// One plane with guard bytes before, between and after its rows. Its data end with its last sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedPlane {
    bytes: Vec<u8>,
    stride: usize,
    samples: usize,
    rows: usize,
}

impl GuardedPlane {
    fn new(samples: usize, rows: usize, padding: usize) -> GuardedPlane {
        let stride = samples + padding;
        GuardedPlane { bytes: vec![GUARD; BEFORE + stride * rows - padding + AFTER], stride, samples, rows }
    }

    fn data(&self) -> &[u8] {
        &self.bytes[BEFORE..self.bytes.len() - AFTER]
    }

    fn data_mut(&mut self) -> &mut [u8] {
        let end = self.bytes.len() - AFTER;
        &mut self.bytes[BEFORE..end]
    }

    /// The samples of one row, without padding.
    pub fn row(&self, y: usize) -> &[u8] {
        &self.data()[y * self.stride..][..self.samples]
    }

    pub fn row_mut(&mut self, y: usize) -> &mut [u8] {
        let (start, samples) = (y * self.stride, self.samples);
        &mut self.data_mut()[start..][..samples]
    }

    /// The rows, without padding.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.rows).map(|y| self.row(y))
    }

    /// Panics if a byte around the rows was written.
    pub fn check_guards(&self) {
        let is_guard = |bytes: &[u8]| bytes.iter().all(|byte| *byte == GUARD);
        assert!(is_guard(&self.bytes[..BEFORE]), "bytes before the plane were written");
        assert!(is_guard(&self.bytes[self.bytes.len() - AFTER..]), "bytes after the plane were written");
        for (y, row) in self.data().chunks(self.stride).enumerate() {
            assert!(is_guard(&row[self.samples..]), "the padding of row {y} was written");
        }
    }
}

/// A frame in memory of its own, to be changed in place or copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFrame {
    input: Vec<GuardedPlane>,
    /// Apart from the input if the frame is copied.
    output: Option<Vec<GuardedPlane>>,
}

impl TestFrame {
    /// A frame as described by `info` that shows `content`, with `padding` bytes after each row but the last.
    pub fn new(info: &FrameInfo, content: Content, seed: u64, padding: usize) -> TestFrame {
        let make = |shape: &PlaneShape| {
            let mut plane = GuardedPlane::new(shape.samples, shape.rows, padding);
            for y in 0..shape.rows {
                for (x, sample) in plane.row_mut(y).iter_mut().enumerate() {
                    // Where this sample is among those of its lane.
                    let lane = shape.lanes[x % shape.lanes.len()];
                    let alike = shape.lanes.iter().filter(|other| **other == lane).count();
                    let before = shape.lanes[..x % shape.lanes.len()].iter().filter(|other| **other == lane).count();
                    let across = x / shape.lanes.len() * alike + before;
                    let width = shape.units() * alike;
                    *sample = content.code(lane, (across, y), (width, shape.rows), seed);
                }
            }
            plane
        };
        TestFrame { input: info.planes.iter().map(make).collect(), output: None }
    }

    /// The same frame, but copied: output beside the input, with padding of its own.
    pub fn copied(mut self, padding: usize) -> TestFrame {
        let beside = |plane: &GuardedPlane| GuardedPlane::new(plane.samples, plane.rows, padding);
        self.output = Some(self.input.iter().map(beside).collect());
        self
    }

    pub fn is_copied(&self) -> bool {
        self.output.is_some()
    }

    /// The planes that came in (and were changed, if in place).
    pub fn input_planes(&self) -> &[GuardedPlane] {
        &self.input
    }

    pub fn input_planes_mut(&mut self) -> &mut [GuardedPlane] {
        &mut self.input
    }

    /// The planes that came out.
    pub fn output_planes(&self) -> &[GuardedPlane] {
        self.output.as_ref().unwrap_or(&self.input)
    }

    /// Panics if a byte around the rows was written.
    pub fn check_guards(&self) {
        self.input.iter().chain(self.output.iter().flatten()).for_each(GuardedPlane::check_guards);
    }
}

impl FrameMemory for TestFrame {
    fn input(&self) -> Planes<'_> {
        read(&self.input)
    }

    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        Ok(match &mut self.output {
            None => Access::InPlace(write(&mut self.input)),
            Some(output) => Access::Copy { input: read(&self.input), output: write(output) },
        })
    }
}

fn read(planes: &[GuardedPlane]) -> Planes<'_> {
    planes.iter().map(|plane| Plane { data: plane.data(), stride: plane.stride }).collect()
}

fn write(planes: &mut [GuardedPlane]) -> PlanesMut<'_> {
    planes.iter_mut().map(|plane| PlaneMut { stride: plane.stride, data: plane.data_mut() }).collect()
}

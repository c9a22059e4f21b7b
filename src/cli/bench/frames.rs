//! The frames that `bench` levels: contents, and the memory that they lie in.

use std::fmt;
use std::time::Instant;

use autolevels::frame::{Access, FrameError, FrameInfo, FrameMemory, Plane, PlaneMut, Planes, PlanesMut};
use autolevels::gpu::pages::PageMemory;

/// What a frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Content {
    /// Soft shapes with a little noise
    Natural,
    /// Every level as likely as any other
    Noise,
    /// One level
    Flat,
    /// The upper half black, the lower half natural
    HalfBlack,
}

/// Whose memory frames lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Memory {
    /// Input and output on pages that a GPU can use in place
    Pages,
    /// The input in plain memory, the output on pages
    Foreign,
    /// Both in plain memory
    Plain,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Content::Natural => "natural",
            Content::Noise => "noise",
            Content::Flat => "flat",
            Content::HalfBlack => "half-black",
        })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Memory::Pages => "pages",
            Memory::Foreign => "foreign",
            Memory::Plain => "plain",
        })
    }
}

enum Bytes {
    Pages(PageMemory),
    Plain(Vec<u8>),
}

impl Bytes {
    fn new(length: usize, pages: bool) -> Bytes {
        match pages.then(|| PageMemory::new(length)).flatten() {
            Some(memory) => Bytes::Pages(memory),
            None => Bytes::Plain(vec![0; length]),
        }
    }

    fn get(&self) -> &[u8] {
        match self {
            Bytes::Pages(memory) => memory.as_ref(),
            Bytes::Plain(memory) => memory,
        }
    }

    fn get_mut(&mut self) -> &mut [u8] {
        match self {
            Bytes::Pages(memory) => memory.as_mut(),
            Bytes::Plain(memory) => memory,
        }
    }
}

/// One frame with its output, used over and over.
pub struct BenchFrame {
    input: Bytes,
    output: Bytes,
    /// Offset and stride of each plane, in input and output alike.
    places: Vec<(usize, usize)>,
}

impl BenchFrame {
    /// A frame of the given content, a little different for each `seed`.
    pub fn new(info: &FrameInfo, memory: Memory, content: Content, seed: u32) -> BenchFrame {
        let places = places(info);
        let length = bytes(info);
        let mut input = Bytes::new(length, memory == Memory::Pages);
        let packing = info.format.packing();
        let mut random = 0x2545_F491_u32 ^ (seed + 1).wrapping_mul(0x9E37_79B9);
        for ((offset, stride), shape) in places.iter().zip(&info.planes) {
            for y in 0..shape.rows {
                let row = &mut input.get_mut()[offset + y * stride..][..shape.bytes];
                for (x, sample) in row.chunks_mut(packing.bytes()).enumerate() {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let code = content.sample(x, y, shape.rows, random >> 24);
                    match sample {
                        [sample] => *sample = code,
                        _ => {
                            let more = packing.depth - 8;
                            let low =
                                if content == Content::Flat { 0 } else { (random >> 8) as u16 & ((1 << more) - 1) };
                            let deep = packing.with_code(0, u16::from(code) << more | low);
                            sample.copy_from_slice(&deep.to_le_bytes());
                        }
                    }
                }
            }
        }
        BenchFrame { input, output: Bytes::new(length, memory != Memory::Plain), places }
    }
}

impl Content {
    /// The sample at (x, y) of a plane; `random` is 0 to 255.
    fn sample(self, x: usize, y: usize, rows: usize, random: u32) -> u8 {
        let natural = || {
            let wave = 60.0 + 50.0 * (x as f32 / 97.0).sin() * (y as f32 / 61.0).cos();
            wave as u8 + (random / 24) as u8
        };
        match self {
            Content::Natural => natural(),
            Content::Noise => random as u8,
            Content::Flat => 90,
            Content::HalfBlack if y < rows / 2 => 16,
            Content::HalfBlack => natural(),
        }
    }
}

impl FrameMemory for BenchFrame {
    fn input(&self) -> Planes<'_> {
        planes(self.input.get(), &self.places)
    }

    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        let mut output = PlanesMut::new();
        let mut rest = self.output.get_mut();
        for (index, &(offset, stride)) in self.places.iter().enumerate() {
            let length = self.places.get(index + 1).map_or(rest.len(), |next| next.0 - offset);
            let (data, after) = rest.split_at_mut(length);
            output.push(PlaneMut { data, stride });
            rest = after;
        }
        Ok(Access::Copy { input: planes(self.input.get(), &self.places), output })
    }
}

fn planes<'a>(bytes: &'a [u8], places: &[(usize, usize)]) -> Planes<'a> {
    places.iter().map(|&(offset, stride)| Plane { data: &bytes[offset..], stride }).collect()
}

/// Planes one after the other, with rows of whole words, as GStreamer lays frames out.
fn places(info: &FrameInfo) -> Vec<(usize, usize)> {
    let mut offset = 0;
    let place = |shape: &autolevels::frame::PlaneShape| {
        let stride = shape.bytes.next_multiple_of(4);
        let place = (offset, stride);
        offset += stride * shape.rows;
        place
    };
    info.planes.iter().map(place).collect()
}

/// Bytes of a frame.
pub fn bytes(info: &FrameInfo) -> usize {
    info.planes.iter().map(|shape| shape.bytes.next_multiple_of(4) * shape.rows).sum()
}

/// GB read and written a second when a frame is copied by one thread: the best of several times.
pub fn copy_speed(info: &FrameInfo) -> f64 {
    let (from, mut to) = (vec![1_u8; bytes(info)], vec![0_u8; bytes(info)]);
    let best = (0..12).map(|_| {
        let began = Instant::now();
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        began.elapsed()
    });
    2.0 * from.len() as f64 / best.min().unwrap_or_default().as_secs_f64() / 1e9
}

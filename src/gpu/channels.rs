//! The passes that count R, G and B, and the constants of all passes that look at sites. Made when they are first
//! asked for.

use crate::backend::BackendError;
use crate::colour::{Matrix, Places, fraction};
use crate::frame::FrameInfo;
use crate::levels::statistics::{CHANNELS, Statistics};

use super::device::{Gpu, Ticket};
use super::memory::Download;
use super::passes::{Kind, Pass, bind, deep_constants, pass, shaders};

/// The bindings of the pass that counts, and of the one that adds up.
const COUNT: &[Kind] = &[Kind::Uniform, Kind::Read, Kind::ReadWrite];
const TOTAL: &[Kind] = &[Kind::Read, Kind::ReadWrite];
/// Most workgroups that count, each with tables of its own.
const MOST_WORKGROUPS: usize = 104;
/// Invocations of a workgroup that adds up. As in `totals.wgsl`.
const TOTAL_THREADS: usize = 32;

/// The passes, compiled.
pub struct Channels {
    /// What counts, and what sums up.
    count: [Pass; 2],
    total: Pass,
    workgroups: u32,
    /// Bins of a table.
    bins: usize,
}

/// The tables of one slot: the counts, and the sums.
pub struct Counting {
    halves: [Half; 2],
    bins: usize,
}

/// Tables, and what they are bound with.
struct Half {
    count: wgpu::BindGroup,
    total: wgpu::BindGroup,
    totals: Download,
}

impl Channels {
    /// Compiles the passes for frames as described by `info`, whose samples lie at `places`.
    pub fn new(gpu: &Gpu, info: &FrameInfo, places: &Places, threads: u32, edit: impl Fn(&str) -> String) -> Channels {
        let mut constants = site_constants(info, places);
        constants.extend(deep_constants(info));
        let alpha = places.alpha.map_or(4, |place| place.first);
        let rgb = u8::from(info.format.is_rgb());
        let unit = info.measured().unit_pixels;
        constants.extend([("threads", threads.into()), ("rgb", rgb.into())]);
        constants.extend([("alpha", alpha as f64), ("unit", unit as f64)]);
        constants.extend([("bin", info.range.bin_shift().into()), ("counted", places.counted(info) as f64)]);
        let make = |index: usize, kinds: &[Kind], constants: &[(&str, f64)]| {
            let (name, source) = shaders(info)[index];
            pass(gpu, name, edit(source), kinds, None, constants)
        };
        let count = [0.0, 1.0].map(|sums| {
            let constants: Vec<_> = constants.iter().copied().chain([("sums", sums)]).collect();
            make(4, COUNT, &constants)
        });
        Channels {
            count,
            total: make(5, TOTAL, &[]),
            workgroups: places.sites[1].min(MOST_WORKGROUPS) as u32,
            bins: info.range.bins(),
        }
    }

    /// Room for the counts of a slot with these texels.
    pub fn counting(&self, gpu: &Gpu, stream: &wgpu::Buffer, texels: &wgpu::Buffer) -> Counting {
        let words = (CHANNELS * self.bins) as u64;
        let half = |count: &Pass| {
            let counts = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("channels"),
                size: 4 * words * u64::from(self.workgroups),
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            });
            let totals = Download::new(gpu, "totals", 4 * words);
            let [stream, texels, counts] = [stream, texels, &counts].map(wgpu::Buffer::as_entire_binding);
            Half {
                count: bind(gpu, &count.group, &[stream, texels, counts.clone()]),
                total: bind(gpu, &self.total.group, &[counts, totals.bound().as_entire_binding()]),
                totals,
            }
        };
        Counting { halves: self.count.each_ref().map(half), bins: self.bins }
    }

    /// Records the dispatches that count a frame that is among its texels.
    pub fn record(&self, pass: &mut wgpu::ComputePass, counting: &Counting) {
        for (count, half) in self.count.iter().zip(&counting.halves) {
            count.dispatch(pass, &half.count, None, [self.workgroups, 1]);
        }
        for half in &counting.halves {
            self.total.dispatch(pass, &half.total, None, [(CHANNELS * self.bins / TOTAL_THREADS) as u32, 1]);
        }
    }
}

impl Counting {
    /// Takes the memory back for shaders.
    ///
    /// # Errors
    /// If the GPU fails.
    pub fn reclaim(&mut self, gpu: &Gpu) -> Result<(), BackendError> {
        self.halves.iter_mut().try_for_each(|half| half.totals.reclaim(gpu, "measuring"))
    }

    /// Makes the counts ready for the processor, after the pass.
    pub fn record_after(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.halves.iter_mut().for_each(|half| half.totals.record(encoder));
    }

    /// Asks for the counts after `submission`.
    pub fn submitted(&mut self, submission: &Ticket) {
        self.halves.iter_mut().for_each(|half| half.totals.submitted(submission));
    }

    /// Waits for the counts.
    ///
    /// # Errors
    /// If the GPU fails.
    pub fn read(&mut self, gpu: &Gpu, statistics: &mut Statistics) -> Result<(), BackendError> {
        let bins = self.bins;
        let take = |table: &mut Vec<u32>, counts: &[u32]| {
            table.clear();
            table.extend_from_slice(counts);
        };
        let [counts, sums] = &mut self.halves;
        counts.totals.read(gpu, "measuring", |bytes| {
            let words: &[u32] = bytemuck::cast_slice(bytes);
            statistics.channels.iter_mut().zip(words.chunks(bins)).for_each(|(table, counts)| take(table, counts));
        })?;
        sums.totals.read(gpu, "measuring", |bytes| {
            let words: &[u32] = bytemuck::cast_slice(bytes);
            // The first is luma's, at which they are summed up.
            statistics.colours.iter_mut().zip(words.chunks(bins).skip(1)).for_each(|(table, sums)| take(table, sums));
        })
    }
}

/// The constants of `shared/sites.wgsl`.
pub fn site_constants(info: &FrameInfo, places: &Places) -> Vec<(&'static str, f64)> {
    let [first, second, third] = places.lanes;
    let [across, down] = places.shift.map(f64::from);
    let factors = Matrix::new(info).factors().map(f64::from);
    let numbers =
        [first.step, first.first, second.plane, second.step, second.first, third.plane, third.step, third.first];
    let names = ["step0", "first0", "plane1", "step1", "first1", "plane2", "step2", "first2"];
    let mut constants: Vec<_> = names.into_iter().zip(numbers.map(|number| number as f64)).collect();
    constants.extend([("shift_x", across), ("shift_y", down)]);
    constants.extend([("neutral", info.range.neutral.into()), ("most", info.range.max.into())]);
    let names = ["cr_in_red", "cb_in_green", "cr_in_green", "cb_in_blue"];
    constants.extend(names.into_iter().zip(factors));
    constants
}

/// The constants of `matrix.wgsl`.
pub fn matrix_constants(info: &FrameInfo) -> Vec<(&'static str, f64)> {
    let names = [
        ["red_in_luma", "green_in_luma", "blue_in_luma"],
        ["red_in_cb", "green_in_cb", "blue_in_cb"],
        ["red_in_cr", "green_in_cr", "blue_in_cr"],
    ];
    let back = Matrix::new(info).factors().into_iter().skip(4).map(f64::from);
    names.into_iter().flatten().zip(back).collect()
}

/// The constants of `tone.wgsl`.
pub fn tone_constants(info: &FrameInfo) -> Vec<(&'static str, f64)> {
    let rgb = u8::from(info.format.is_rgb());
    let fine = fraction(info).into();
    vec![("rgb", rgb.into()), ("black", info.range.black.into()), ("white", info.range.white.into()), ("fine", fine)]
}

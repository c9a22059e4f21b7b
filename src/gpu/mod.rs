//! Measure and apply on the GPU.
//!
//! `measure` copies a frame in and `apply` its curves; both only note the work for the GPU. [`Backend::flush`], or
//! whatever needs a result, sends all that is noted as one submission, in which the measurement of a later frame
//! and the application of an earlier one lie side by side: they share nothing that they write, so the GPU does
//! them at the same time.

mod adapter;
mod channels;
mod device;
mod direct;
mod geometry;
mod memory;
mod overlay;
mod passes;
mod pretend;
mod slot;
mod timing;

use std::sync::Arc;

pub mod import;
pub mod pages;

use crate::backend::{Backend, BackendError};
use crate::colour::{LEFT_ALONE, Places};
use crate::frame::{Access, FrameError, FrameInfo, FrameMemory, MOST_BINS, Plane, Planes, PlanesMut};
use crate::grid::Grid;
use crate::levels::curves::{Curves, Of};
use crate::levels::dither::Dither;
use crate::levels::statistics::{Chunk, Statistics};
use crate::overlay::marks::Marks;
use crate::settings::{BackendChoice, Settings};
use crate::window::Window;

pub use adapter::{AdapterInfo, AdapterKind, adapters, automatic};
pub use device::{Sharing, Trouble};
pub use pretend::pretend;
pub use timing::{StageTime, time_stages};

use channels::Channels;
use device::{Gpu, Ticket};
use direct::Direct;
use geometry::{Geometry, Traffic};
use memory::Layout;
use overlay::{Drawn, Overlay};
use passes::{DITHER_WORDS, MOST_CURVES, MOST_PLANES, Passes, gains_at};
use slot::{Slot, Work};

/// Whether the GPU that these settings choose, if any, reads frames on [`Pages`](pages::Pages) where they lie: for
/// those who give out memory before there is a backend to ask.
pub fn expects_pages(settings: &Settings) -> bool {
    let any = match settings.backend {
        BackendChoice::Cpu => return false,
        BackendChoice::Gpu => true,
        BackendChoice::Auto => false,
    };
    adapter::find(&settings.adapter, any).is_ok_and(|(_, adapter)| import::can_import(adapter))
}

/// Opens the GPU backend for frames as described by `info`, with `slots` of them at a time.
///
/// `adapter` is part of an adapter's name or its index, empty for the best. With `any`, an adapter of type CPU
/// (lavapipe, SwiftShader) is taken too.
///
/// # Errors
/// [`BackendError::NoAdapter`] if none fits, [`BackendError::TooLarge`] if the frames do not fit its limits,
/// [`BackendError::Gpu`] if it cannot be opened or has no memory for the slots.
pub fn open(info: &FrameInfo, slots: usize, adapter: &str, any: bool) -> Result<Box<dyn Backend>, BackendError> {
    if let Some(open) = pretend::find(adapter) {
        return open(info, slots);
    }
    let gpu = Gpu::shared(adapter, any)?;
    Ok(Box::new(GpuBackend::new(gpu, info, slots, &Tampering::default())?))
}

/// What tests do to a backend that has a device of its own.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Tampering {
    /// Share memory with the processor in no better way, even where the adapter can.
    pub sharing: Sharing,
    /// Most invocations of a workgroup, where the adapter takes more.
    pub threads: Option<u32>,
    /// A piece of the shaders' source and what takes its place.
    pub edit: Option<(&'static str, &'static str)>,
    /// What goes wrong, and at which submission, counted from 0.
    pub trouble: Option<(usize, Trouble)>,
}

/// Opens a tampered backend on any adapter.
///
/// # Errors
/// As [`open`].
#[doc(hidden)]
pub fn open_tampered(info: &FrameInfo, slots: usize, how: &Tampering) -> Result<Box<dyn Backend>, BackendError> {
    let gpu = Gpu::alone("", true, how.sharing, wgpu::Features::empty())?;
    Ok(Box::new(GpuBackend::new(gpu, info, slots, how)?))
}

/// The GPU backend.
struct GpuBackend {
    gpu: Arc<Gpu>,
    info: FrameInfo,
    layout: Layout,
    passes: Passes,
    /// None for grey formats.
    places: Option<Places>,
    /// What applies in place of the usual pass, for each [`Drawn`]. Each made when it is first asked for.
    instead: [Option<Overlay>; 3],
    channels: Option<Channels>,
    counts_channels: bool,
    unmarked: Marks,
    /// What tests change in the shaders.
    edit: Option<(&'static str, &'static str)>,
    /// The constants of the stream.
    stream: wgpu::Buffer,
    window: Window,
    slots: Vec<Slot>,
    submissions: usize,
    last: Option<Ticket>,
    trouble: Option<(usize, Trouble)>,
}

impl Drop for GpuBackend {
    /// The GPU may be at work on frames' memory: that must not be given back before it is done, and never if it does
    /// not answer.
    fn drop(&mut self) {
        if let Some(last) = &self.last
            && !self.gpu.settle(last)
        {
            log::warn!(
                "the GPU {} does not answer: the memory that it may still use is left to it",
                self.gpu.info.name
            );
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

impl GpuBackend {
    fn new(gpu: Arc<Gpu>, info: &FrameInfo, slots: usize, how: &Tampering) -> Result<GpuBackend, BackendError> {
        let grid = Grid::new(info);
        let threads = gpu.limits.max_compute_invocations_per_workgroup;
        let traffic = if slots > 1 { Traffic::BothWays } else { Traffic::OneWay };
        let (layout, geometry) = fit(&gpu, info, &grid, how.threads.unwrap_or(threads), traffic)?;
        let edit = |source: &str| edited(source, how.edit);
        let (passes, stream, slots) = gpu.create("preparing", |gpu| {
            let passes = Passes::new(gpu, info, &geometry, edit);
            let stream = passes::constants(gpu, &geometry.stream(info, &grid));
            let slot = |_| Slot::new(gpu, info, &layout, grid.chunks(), &passes, &stream);
            let slots = (0..slots).map(slot).collect();
            (passes, stream, slots)
        })?;
        Ok(GpuBackend {
            gpu,
            info: info.clone(),
            layout,
            passes,
            places: Places::find(info),
            instead: [const { None }; 3],
            channels: None,
            counts_channels: false,
            unmarked: Marks::none(info.planes.len()),
            edit: how.edit,
            stream,
            window: Window::whole(info),
            slots,
            submissions: 0,
            last: None,
            trouble: how.trouble,
        })
    }
}

fn edited(source: &str, edit: Option<(&str, &str)>) -> String {
    edit.map_or_else(|| source.to_owned(), |(from, to)| source.replace(from, to))
}

/// How the frames lie in memory and are cut into workgroups, if they fit the adapter's limits.
fn fit(
    gpu: &Gpu,
    info: &FrameInfo,
    grid: &Grid,
    threads: u32,
    traffic: Traffic,
) -> Result<(Layout, Geometry), BackendError> {
    let too_large =
        |reason: String| BackendError::TooLarge { info: info.to_string(), adapter: gpu.info.name.clone(), reason };
    let limits = &gpu.limits;
    let codes = 1 << info.format.packing().depth;
    if info.range.codes() != codes || info.planes.len() > MOST_PLANES {
        return Err(too_large(format!("it takes {codes} codes and {MOST_PLANES} planes")));
    }
    let most = gpu.info.max_frame;
    let layout = Layout::packed(info).filter(|layout| layout.bytes <= most);
    let layout = layout.ok_or_else(|| too_large(format!("it takes {most} bytes at most")))?;
    let most = limits.max_compute_workgroups_per_dimension;
    let geometry = Geometry::new(info, grid, threads, traffic)
        .filter(|geometry| geometry.bring().into_iter().all(|groups| groups <= most));
    let geometry = geometry.ok_or_else(|| too_large(format!("it takes {most} workgroups at most")))?;
    Ok((layout, geometry))
}

impl Backend for GpuBackend {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn adapter(&self) -> &str {
        &self.gpu.info.name
    }

    fn uses_pages(&self) -> bool {
        self.gpu.imports
    }

    fn slots(&self) -> usize {
        self.slots.len()
    }

    fn set_window(&mut self, window: Window) -> Result<(), BackendError> {
        let window = window.within(&self.info);
        if window != self.window {
            // What is noted was to be measured in the window so far.
            self.flush()?;
            let words = geometry::window(&window);
            self.gpu.queue.write_buffer(&self.stream, geometry::WINDOW_OFFSET, bytemuck::cast_slice(&words));
            self.window = window;
        }
        Ok(())
    }

    fn count_channels(&mut self, count: bool) {
        self.counts_channels = count;
    }

    fn measure(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        const STAGE: &str = "measuring";
        let planes = memory.input();
        self.info.check(&planes)?;
        let slot = &mut self.slots[slot];
        slot.statistics.reclaim(&self.gpu, STAGE)?;
        if let (None, true, Some(places)) = (&self.channels, self.counts_channels, &self.places) {
            let edit = |source: &str| edited(source, self.edit);
            let make = |gpu: &Gpu| Channels::new(gpu, &self.info, places, self.passes.threads(), edit);
            self.channels = Some(self.gpu.create("preparing", make)?);
        }
        slot.count(&self.gpu, self.channels.as_ref().filter(|_| self.counts_channels), &self.stream)?;
        let (gpu, passes) = (&self.gpu, &self.passes);
        slot.source = Direct::find(gpu, &self.info, planes.iter().copied(), false, |places, words| {
            passes.bind_source(gpu, places, words)
        });
        if slot.source.is_none() {
            let input = slot.input(gpu, &self.layout, passes)?;
            input.write(gpu, STAGE, |buffer| self.layout.bring(&self.info, &planes, buffer))?;
        }
        slot.measure = Work::Noted;
        slot.apply = Work::None;
        Ok(())
    }

    fn statistics(&mut self, slot: usize, statistics: &mut Statistics) -> Result<(), BackendError> {
        if self.slots[slot].measure == Work::Noted {
            self.flush()?;
        }
        let bins = self.info.range.bins();
        let slot = &mut self.slots[slot];
        slot.statistics.read(&self.gpu, "measuring", |bytes| unpack(bytes, bins, statistics))?;
        statistics.forget_channels();
        if let Some(counting) = slot.counting() {
            counting.read(&self.gpu, statistics)?;
        }
        slot.measure = Work::None;
        Ok(())
    }

    fn apply_marked(
        &mut self,
        slot: usize,
        memory: &mut dyn FrameMemory,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), BackendError> {
        const STAGE: &str = "applying";
        let dithered = curves.dither.is_some() && self.info.format.packing().bytes() == 1;
        if dithered {
            self.passes.expect_dither(&self.gpu, &self.info, |source| edited(source, self.edit))?;
        }
        let slot = &mut self.slots[slot];
        slot.dithered = dithered;
        let (gpu, passes) = (&self.gpu, &self.passes);
        slot.destination = match memory.access(false)? {
            Access::Copy { output, .. } => {
                check(&self.info, &output)?;
                let planes = output.iter().map(|plane| Plane { data: plane.data, stride: plane.stride });
                Direct::find(gpu, &self.info, planes, true, |places, words| passes.bind_destination(gpu, places, words))
            }
            Access::InPlace(_) => None,
        };
        if slot.destination.is_none() {
            slot.output(gpu, &self.layout, passes)?.reclaim(gpu, STAGE)?;
        }
        slot.curves.write(&self.gpu, STAGE, |buffer| pack(&self.info, curves, buffer))?;
        slot.unmark();
        let drawn = match (curves.of, &self.places) {
            (Of::Channels, Some(_)) if !self.info.format.is_rgb() => Some(Drawn::Matrix),
            (Of::Tone, Some(_)) => Some(Drawn::Tone),
            _ => marks.map(|_| Drawn::Overlay),
        };
        if let Some(drawn) = drawn {
            let pass = &mut self.instead[drawn as usize];
            let made = match pass.take() {
                Some(made) => made,
                None => gpu.create("preparing", |gpu| {
                    let edit = |source: &str| edited(source, self.edit);
                    Overlay::new(gpu, &self.info, drawn, self.places.as_ref(), passes.destination(), edit)
                })?,
            };
            slot.mark(gpu, pass.insert(made), &self.stream, marks.unwrap_or(&self.unmarked), drawn)?;
        }
        slot.apply = Work::Noted;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BackendError> {
        const STAGE: &str = "submitting";
        if self.slots.iter().all(|slot| slot.measure != Work::Noted && slot.apply != Work::Noted) {
            return Ok(());
        }
        self.gpu.check(STAGE)?;
        if let Some((_, trouble)) = self.trouble.filter(|(at, _)| *at == self.submissions) {
            self.gpu.make(trouble);
        }
        self.submissions += 1;
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for slot in &mut self.slots {
            slot.record_before(&mut encoder);
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        // wgpu puts the barriers for what a pass uses first ahead of it, so none lies between these two lines.
        self.slots.iter().for_each(|slot| slot.record_measure(&self.passes, &mut pass));
        self.slots.iter().for_each(|slot| slot.record_apply(&self.passes, &self.instead, &mut pass, false));
        let channels = self.channels.as_ref();
        self.slots.iter().for_each(|slot| slot.record_collect(&self.passes, channels, &mut pass));
        self.slots.iter().for_each(|slot| slot.record_apply(&self.passes, &self.instead, &mut pass, true));
        drop(pass);
        for slot in &mut self.slots {
            slot.record_after(&mut encoder);
        }
        let submission = self.gpu.submit(Some(encoder.finish()));
        for slot in &mut self.slots {
            slot.submitted(&submission);
        }
        self.last = Some(submission);
        self.gpu.check(STAGE)
    }

    fn finish(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        if self.slots[slot].apply == Work::Noted {
            self.flush()?;
        }
        let (gpu, info, layout) = (&self.gpu, &self.info, &self.layout);
        let slot = &mut self.slots[slot];
        if slot.apply != Work::Sent {
            return Err(gpu.error("finishing", "nothing was applied to this frame"));
        }
        slot.apply = Work::None;
        if slot.destination.is_some() {
            return slot.wait(gpu);
        }
        let output = slot.output(gpu, layout, &self.passes)?;
        let fetched = output.read(gpu, "applying", |buffer| fetch(info, layout, buffer, memory))?;
        Ok(fetched?)
    }
}

/// Copies a frame's output from `buffer` into its memory.
fn fetch(info: &FrameInfo, layout: &Layout, buffer: &[u8], memory: &mut dyn FrameMemory) -> Result<(), FrameError> {
    let (Access::InPlace(mut planes) | Access::Copy { output: mut planes, .. }) = memory.access(true)?;
    check(info, &planes)?;
    layout.fetch(info, buffer, &mut planes);
    Ok(())
}

fn check(info: &FrameInfo, planes: &PlanesMut) -> Result<(), FrameError> {
    let planes: Planes = planes.iter().map(|plane| Plane { data: plane.data, stride: plane.stride }).collect();
    info.check(&planes)
}

/// Reads the words of the statistics buffer.
fn unpack(bytes: &[u8], bins: usize, statistics: &mut Statistics) {
    let words: &[u32] = bytemuck::cast_slice(bytes);
    let (luma, chunks) = words.split_at(bins);
    let chunks_len = chunks.len() / 2;
    statistics.luma.clear();
    statistics.luma.extend_from_slice(luma);
    statistics.chunks.clear();
    let (sums, counts) = chunks.split_at(chunks_len);
    statistics.chunks.extend(sums.iter().zip(counts).map(|(&sum, &count)| Chunk { sum, count }));
}

/// Writes curves with entries of the size of samples, one after the other, and what comes with them.
fn pack(info: &FrameInfo, curves: &Curves, mut buffer: wgpu::WriteOnly<[u8]>) {
    let before = curves.channels.iter().filter(|_| curves.has_channels());
    let size = info.range.bins() * info.format.packing().bytes();
    for (index, table) in curves.tables.iter().chain(before).enumerate() {
        let mut bytes = [0; 2 * MOST_BINS];
        let entries = table.iter().take(MOST_BINS);
        if info.format.packing().bytes() == 1 {
            bytes.iter_mut().zip(entries).for_each(|(byte, code)| *byte = (*code).min(255) as u8);
        } else {
            bytes.as_chunks_mut().0.iter_mut().zip(entries).for_each(|(bytes, code)| *bytes = code.to_le_bytes());
        }
        buffer.slice(index * size..(index + 1) * size).copy_from_slice(&bytes[..size]);
    }
    if info.format.packing().bytes() == 1 {
        pack_dither(info, curves.dither.as_ref(), buffer.slice(MOST_CURVES * size..));
    }
    if curves.of == Of::Tone {
        let mut gains = [LEFT_ALONE; MOST_BINS];
        gains.iter_mut().zip(&curves.gains).for_each(|(gain, from)| *gain = *from);
        let gains: &[u8] = bytemuck::cast_slice(&gains[..info.range.bins()]);
        let more = [u32::from(curves.plain_gain), curves.has_channels().into()];
        let (from, to) = (gains_at(info), gains_at(info) + gains.len());
        buffer.slice(from..to).copy_from_slice(gains);
        buffer.slice(to..to + 8).copy_from_slice(bytemuck::cast_slice(&more));
    }
}

/// Writes how the curves are dithered, if they are: as `dither.wgsl` reads it.
fn pack_dither(info: &FrameInfo, dither: Option<&Dither>, mut buffer: wgpu::WriteOnly<[u8]>) {
    const BYTES: usize = 4 * DITHER_WORDS;
    let step = info.measured().lanes.len() / info.measured().unit_pixels;
    let header =
        dither.map_or([0; DITHER_WORDS], |dither| [dither.seed(), dither.curves.min(3) as u32, step as u32, 0]);
    buffer.slice(..BYTES).copy_from_slice(bytemuck::cast_slice(&header));
    let Some(dither) = dither else { return };
    for curve in 0..dither.curves.min(dither.fine.len()) {
        let words = dither.places(curve).map(|place| u32::from(place.fine) | u32::from(place.gap) << 16);
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        buffer.slice(BYTES + curve * bytes.len()..BYTES + (curve + 1) * bytes.len()).copy_from_slice(bytes);
    }
}

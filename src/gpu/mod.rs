//! Measure and apply on the GPU.
//!
//! `measure` copies a frame in and `apply` its curves; both only note the work for the GPU. [`Backend::flush`], or
//! whatever needs a result, sends all that is noted as one submission, in which the measurement of a later frame
//! and the application of an earlier one lie side by side: they share nothing that they write, so the GPU does
//! them at the same time.

mod adapter;
mod direct;
mod geometry;
mod memory;
mod overlay;
mod passes;
mod slot;

use std::sync::Arc;

pub mod import;
pub mod pages;

use crate::backend::{Backend, BackendError};
use crate::frame::{Access, FrameError, FrameInfo, FrameMemory, Plane, Planes, PlanesMut};
use crate::grid::Grid;
use crate::levels::curves::Curves;
use crate::levels::statistics::{Chunk, Statistics};
use crate::overlay::marks::Marks;

pub use adapter::{AdapterInfo, AdapterKind, adapters, automatic};

use adapter::Gpu;
use direct::Direct;
use geometry::Geometry;
use memory::Layout;
use overlay::Overlay;
use passes::{CODES, MOST_PLANES, Passes};
use slot::{Constants, Slot, Work};

/// A texel is four samples of a row.
const TEXTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Uint;

/// Opens the GPU backend for frames as described by `info`, with `slots` of them at a time.
///
/// `adapter` is part of an adapter's name or its index, empty for the best. With `any`, an adapter of type CPU
/// (lavapipe, SwiftShader) is taken too.
///
/// # Errors
/// [`BackendError::NoAdapter`] if none fits, [`BackendError::TooLarge`] if the frames do not fit its limits,
/// [`BackendError::Gpu`] if it cannot be opened or has no memory for the slots.
pub fn open(info: &FrameInfo, slots: usize, adapter: &str, any: bool) -> Result<Box<dyn Backend>, BackendError> {
    let gpu = Gpu::shared(adapter, any)?;
    Ok(Box::new(GpuBackend::new(gpu, info, slots, &Tampering::default())?))
}

/// What tests do to a backend that has a device of its own.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Tampering {
    /// Copy between mapped memory and the shaders' even where the adapter need not.
    pub copies: bool,
    /// Most invocations of a workgroup, where the adapter takes more.
    pub threads: Option<u32>,
    /// A piece of the shaders' source and what takes its place.
    pub edit: Option<(&'static str, &'static str)>,
    /// The device is lost at this submission, counted from 0.
    pub lost_at: Option<usize>,
}

/// Opens a tampered backend on any adapter.
///
/// # Errors
/// As [`open`].
#[doc(hidden)]
pub fn open_tampered(info: &FrameInfo, slots: usize, how: &Tampering) -> Result<Box<dyn Backend>, BackendError> {
    let gpu = Gpu::alone("", true, !how.copies)?;
    Ok(Box::new(GpuBackend::new(gpu, info, slots, how)?))
}

/// The GPU backend.
struct GpuBackend {
    gpu: Arc<Gpu>,
    info: FrameInfo,
    layout: Layout,
    passes: Passes,
    /// Made when marks are first asked for.
    overlay: Option<Overlay>,
    constants: Constants,
    slots: Vec<Slot>,
    submissions: usize,
    lost_at: Option<usize>,
}

impl Drop for GpuBackend {
    /// The GPU may be writing to frames' memory: that must not be given back before it is done.
    fn drop(&mut self) {
        for slot in &mut self.slots {
            if slot.wait(&self.gpu).is_err() {
                break;
            }
        }
    }
}

impl GpuBackend {
    fn new(gpu: Arc<Gpu>, info: &FrameInfo, slots: usize, how: &Tampering) -> Result<GpuBackend, BackendError> {
        let grid = Grid::new(info);
        let threads = gpu.limits.max_compute_invocations_per_workgroup;
        let (layout, geometry) = fit(&gpu, info, &grid, how.threads.unwrap_or(threads))?;
        let edit = |source: &str| match how.edit {
            Some((from, to)) => source.replace(from, to),
            None => source.to_owned(),
        };
        let (passes, constants, slots) = gpu.create("preparing", |gpu| {
            let passes = Passes::new(gpu, info, &geometry, edit);
            let constants = Constants {
                stream: constants(gpu, &geometry.stream(info, &grid)),
                memory: constants(gpu, &geometry::memory(&layout.places)),
            };
            let slot = |_| Slot::new(gpu, info, grid.chunks(), &geometry, &layout, &passes, &constants);
            let slots = (0..slots).map(slot).collect();
            (passes, constants, slots)
        })?;
        Ok(GpuBackend {
            gpu,
            info: info.clone(),
            layout,
            passes,
            overlay: None,
            constants,
            slots,
            submissions: 0,
            lost_at: how.lost_at,
        })
    }
}

/// How the frames lie in memory and are cut into workgroups, if they fit the adapter's limits.
fn fit(gpu: &Gpu, info: &FrameInfo, grid: &Grid, threads: u32) -> Result<(Layout, Geometry), BackendError> {
    let too_large =
        |reason: String| BackendError::TooLarge { info: info.to_string(), adapter: gpu.info.name.clone(), reason };
    let limits = &gpu.limits;
    if info.range.codes() != CODES || info.planes.len() > MOST_PLANES {
        return Err(too_large(format!("it takes {CODES} codes and {MOST_PLANES} planes")));
    }
    let most = limits.max_texture_dimension_2d;
    for shape in &info.planes {
        let texels = shape.samples.div_ceil(crate::frame::TEXEL);
        if texels.max(shape.rows) > most as usize {
            return Err(too_large(format!("a plane of {texels}×{} texels, at most {most}", shape.rows)));
        }
    }
    let most = gpu.info.max_frame;
    let layout = Layout::packed(info).filter(|layout| layout.bytes <= most);
    let layout = layout.ok_or_else(|| too_large(format!("it takes {most} bytes at most")))?;
    let most = limits.max_compute_workgroups_per_dimension;
    let geometry = Geometry::new(info, grid, threads).filter(|geometry| geometry.longest() <= most);
    let geometry = geometry.ok_or_else(|| too_large(format!("it takes {most} workgroups at most")))?;
    Ok((layout, geometry))
}

/// A buffer of constants.
fn constants(gpu: &Gpu, words: &[u32]) -> wgpu::Buffer {
    use wgpu::util::DeviceExt;
    gpu.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("constants"),
        contents: bytemuck::cast_slice(words),
        usage: wgpu::BufferUsages::UNIFORM,
    })
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

    fn measure(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        const STAGE: &str = "measuring";
        let planes = memory.input();
        self.info.check(&planes)?;
        let slot = &mut self.slots[slot];
        slot.statistics.reclaim(&self.gpu, STAGE)?;
        let (gpu, passes) = (&self.gpu, &self.passes);
        slot.source = Direct::find(gpu, &self.info, planes.iter().copied(), false, |places, words| {
            passes.bind_source(gpu, &constants(gpu, &geometry::memory(places)), words)
        });
        if slot.source.is_none() {
            slot.input.write(gpu, STAGE, |buffer| self.layout.bring(&self.info, &planes, buffer))?;
        }
        slot.measure = Work::Noted;
        slot.apply = Work::None;
        Ok(())
    }

    fn statistics(&mut self, slot: usize, statistics: &mut Statistics) -> Result<(), BackendError> {
        if self.slots[slot].measure == Work::Noted {
            self.flush()?;
        }
        let slot = &mut self.slots[slot];
        slot.statistics.read(&self.gpu, "measuring", |bytes| unpack(bytes, statistics))?;
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
        let slot = &mut self.slots[slot];
        let (gpu, passes) = (&self.gpu, &self.passes);
        slot.destination = match memory.access(false)? {
            Access::Copy { output, .. } => {
                check(&self.info, &output)?;
                let planes = output.iter().map(|plane| Plane { data: plane.data, stride: plane.stride });
                Direct::find(gpu, &self.info, planes, true, |places, words| {
                    passes.bind_destination(gpu, &constants(gpu, &geometry::memory(places)), words)
                })
            }
            Access::InPlace(_) => None,
        };
        slot.output.reclaim(&self.gpu, STAGE)?;
        slot.curves.write(&self.gpu, STAGE, |buffer| pack(curves, buffer))?;
        slot.unmark();
        if let Some(marks) = marks {
            if self.overlay.is_none() {
                let make = |gpu: &Gpu| Overlay::new(gpu, &self.info, passes.destination());
                self.overlay = Some(gpu.create("preparing", make)?);
            }
            if let Some(overlay) = &self.overlay {
                slot.mark(gpu, overlay, &self.constants, marks)?;
            }
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
        if self.lost_at == Some(self.submissions) {
            self.gpu.lose();
        }
        self.submissions += 1;
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for slot in &mut self.slots {
            slot.record_before(&mut encoder);
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        // wgpu puts the barriers for what a pass uses first ahead of it, so none lies between these two lines.
        self.slots.iter().for_each(|slot| slot.record_measure(&self.passes, &mut pass));
        let overlay = self.overlay.as_ref();
        self.slots.iter().for_each(|slot| slot.record_apply(&self.passes, overlay, &mut pass, false));
        self.slots.iter().for_each(|slot| slot.record_reduce(&self.passes, &mut pass));
        self.slots.iter().for_each(|slot| slot.record_apply(&self.passes, overlay, &mut pass, true));
        drop(pass);
        for slot in &mut self.slots {
            slot.record_after(&mut encoder);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        for slot in &mut self.slots {
            slot.submitted(&submission);
        }
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
        let fetched = slot.output.read(gpu, "applying", |buffer| fetch(info, layout, buffer, memory))?;
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
fn unpack(bytes: &[u8], statistics: &mut Statistics) {
    let words: &[u32] = bytemuck::cast_slice(bytes);
    let (luma, chunks) = words.split_at(CODES);
    let chunks_len = chunks.len() / 2;
    statistics.luma.clear();
    statistics.luma.extend_from_slice(luma);
    statistics.chunks.clear();
    let (sums, counts) = chunks.split_at(chunks_len);
    statistics.chunks.extend(sums.iter().zip(counts).map(|(&sum, &count)| Chunk { sum, count }));
}

/// Writes curves as bytes, one after the other.
fn pack(curves: &Curves, buffer: &mut wgpu::BufferViewMut) {
    for (index, table) in curves.tables.iter().enumerate() {
        let mut bytes = [0; CODES];
        bytes.iter_mut().zip(table).for_each(|(byte, code)| *byte = (*code).min(255) as u8);
        buffer.slice(index * CODES..(index + 1) * CODES).copy_from_slice(&bytes);
    }
}

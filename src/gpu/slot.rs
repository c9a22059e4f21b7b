//! A slot: the buffers of one frame in flight, and how far the work on it has come.

use crate::backend::BackendError;
use crate::frame::FrameInfo;
use crate::overlay::marks::Marks;

use super::channels::{Channels, Counting};
use super::device::{Gpu, Ticket};
use super::direct::Direct;
use super::memory::{Download, Layout, Upload};
use super::overlay::{Drawing, Drawn, Overlay};
use super::passes::{Bound, Passes, Resources, curve_bytes, statistics_words};

/// How far a piece of work has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// There is none, or its result was taken.
    #[default]
    None,
    /// To be sent with the next flush.
    Noted,
    /// The GPU works on it.
    Sent,
}

/// Room for one frame on the GPU.
///
/// What refers to memory comes before it, so that it goes before it.
pub struct Slot {
    bound: Bound,
    /// Where frames are copied that the GPU cannot read or write in place, made when the first one comes.
    input: Option<Staging<Upload>>,
    output: Option<Staging<Download>>,
    pub curves: Upload,
    /// The counts of codes, then the sums of the chunks, then their counts, in words.
    pub statistics: Download,
    pub measure: Work,
    pub apply: Work,
    /// The frame's own memory, where the GPU reads or writes it in place; else it goes through `input` or `output`.
    pub source: Option<Direct>,
    pub destination: Option<Direct>,
    /// The submission that applies.
    applying: Option<Ticket>,
    /// The frame as it was brought in, in the GPU's memory.
    texels: wgpu::Buffer,
    /// Room for marks, once it was needed, and the pass that takes the usual one's place for the frame at hand.
    drawing: Option<Drawing>,
    drawn: Option<Drawn>,
    /// Whether the curves of the frame at hand are dithered.
    pub dithered: bool,
    /// Room for the counts of channels, once they were asked for, and whether those of the frame at hand are.
    counting: Option<Counting>,
    counts: bool,
}

/// Room for a frame that is copied, bound to be read or written.
pub struct Staging<T> {
    group: wgpu::BindGroup,
    pub buffer: T,
}

impl Slot {
    /// Makes the buffers and bind groups of a slot.
    pub fn new(
        gpu: &Gpu,
        info: &FrameInfo,
        layout: &Layout,
        chunks: usize,
        passes: &Passes,
        stream: &wgpu::Buffer,
    ) -> Slot {
        let curves = Upload::new(gpu, "curves", curve_bytes(info) as u64);
        let bytes = 4 * statistics_words(info, chunks) as u64;
        let statistics = Download::new(gpu, "statistics", bytes);
        // Zeros, as each frame leaves it.
        let totals = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("totals"),
            size: bytes,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let texels = texels(gpu, layout);
        let bound = passes.bind(
            gpu,
            &Resources {
                stream,
                texels: &texels,
                totals: &totals,
                statistics: statistics.bound(),
                curves: curves.bound(),
            },
        );
        Slot {
            bound,
            input: None,
            output: None,
            curves,
            statistics,
            measure: Work::None,
            apply: Work::None,
            source: None,
            destination: None,
            applying: None,
            texels,
            drawing: None,
            drawn: None,
            dithered: false,
            counting: None,
            counts: false,
        }
    }

    /// Takes the marks of the frame that is applied next, and the pass to apply it.
    ///
    /// # Errors
    /// If the GPU fails or has no memory for them.
    pub fn mark(
        &mut self,
        gpu: &Gpu,
        overlay: &Overlay,
        stream: &wgpu::Buffer,
        marks: &Marks,
        drawn: Drawn,
    ) -> Result<(), BackendError> {
        if self.drawing.is_none() {
            let make = |gpu: &Gpu| overlay.drawing(gpu, stream, &self.texels, self.curves.bound());
            self.drawing = Some(gpu.create("applying", make)?);
        }
        if let Some(drawing) = &mut self.drawing {
            drawing.write(gpu, marks)?;
            self.drawn = Some(drawn);
        }
        Ok(())
    }

    /// Notes that the frame that is applied next takes the usual pass.
    pub fn unmark(&mut self) {
        self.drawn = None;
    }

    /// Notes whether the channels of the frame that is measured next are counted, by `channels`.
    ///
    /// # Errors
    /// If the GPU fails or has no memory for them.
    pub fn count(&mut self, gpu: &Gpu, channels: Option<&Channels>, stream: &wgpu::Buffer) -> Result<(), BackendError> {
        self.counts = channels.is_some();
        if let (Some(channels), None) = (channels, &self.counting) {
            let make = |gpu: &Gpu| channels.counting(gpu, stream, &self.texels);
            self.counting = Some(gpu.create("measuring", make)?);
        }
        self.counting().map_or(Ok(()), |counting| counting.reclaim(gpu))
    }

    /// The counts of the frame at hand, if there are any.
    pub fn counting(&mut self) -> Option<&mut Counting> {
        self.counting.as_mut().filter(|_| self.counts)
    }

    /// The marks of the frame at hand, if it has any.
    fn marked(&mut self) -> Option<&mut Drawing> {
        self.drawing.as_mut().filter(|_| self.drawn.is_some())
    }

    /// Where an input is copied to, for the GPU to read.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn input(&mut self, gpu: &Gpu, layout: &Layout, passes: &Passes) -> Result<&mut Upload, BackendError> {
        let staging = match self.input.take() {
            Some(staging) => staging,
            None => gpu.create("copying in", |gpu| {
                let buffer = Upload::new(gpu, "input", layout.bytes);
                Staging { group: passes.bind_source(gpu, &layout.places, buffer.bound()), buffer }
            })?,
        };
        Ok(&mut self.input.insert(staging).buffer)
    }

    /// Where an output is copied from, when the GPU has written it.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn output(&mut self, gpu: &Gpu, layout: &Layout, passes: &Passes) -> Result<&mut Download, BackendError> {
        let staging = match self.output.take() {
            Some(staging) => staging,
            None => gpu.create("copying out", |gpu| {
                let buffer = Download::new(gpu, "output", layout.bytes);
                Staging { group: passes.bind_destination(gpu, &layout.places, buffer.bound()), buffer }
            })?,
        };
        Ok(&mut self.output.insert(staging).buffer)
    }

    /// The memory that is read.
    fn source(&self) -> Option<&wgpu::BindGroup> {
        let staged = self.input.as_ref().map(|staging| &staging.group);
        self.source.as_ref().map(|direct| &direct.group).or(staged)
    }

    /// The memory that is written.
    fn destination(&self) -> Option<&wgpu::BindGroup> {
        let staged = self.output.as_ref().map(|staging| &staging.group);
        self.destination.as_ref().map(|direct| &direct.group).or(staged)
    }

    /// Records the copies that must come before the pass.
    pub fn record_before(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let (Work::Noted, None, Some(input)) = (self.measure, &self.source, &mut self.input) {
            input.buffer.record(encoder);
        }
        if self.apply == Work::Noted {
            self.curves.record(encoder);
            if let Some(drawing) = self.marked() {
                drawing.record(encoder);
            }
        }
    }

    /// Records the measurement if it is noted.
    pub fn record_measure(&self, passes: &Passes, pass: &mut wgpu::ComputePass) {
        if let (Work::Noted, Some(source)) = (self.measure, self.source()) {
            passes.measure(pass, &self.bound, source);
        }
    }

    /// Records the collection of the counts if the measurement is noted.
    pub fn record_collect(&self, passes: &Passes, channels: Option<&Channels>, pass: &mut wgpu::ComputePass) {
        if self.measure == Work::Noted {
            passes.collect(pass, &self.bound);
            if let (Some(channels), Some(counting), true) = (channels, &self.counting, self.counts) {
                channels.record(pass, counting);
            }
        }
    }

    /// Records the application if it is noted and its frame's measurement is (`measured`) or is not in the
    /// same pass.
    pub fn record_apply(
        &self,
        passes: &Passes,
        instead: &[Option<Overlay>],
        pass: &mut wgpu::ComputePass,
        measured: bool,
    ) {
        if let (Work::Noted, Some(destination)) = (self.apply, self.destination())
            && (self.measure == Work::Noted) == measured
        {
            let drawn = self.drawn.and_then(|drawn| instead[drawn as usize].as_ref());
            match (drawn, &self.drawing) {
                (Some(drawn), Some(drawing)) => drawn.apply(pass, drawing, destination),
                _ => passes.apply(pass, &self.bound, destination, self.dithered),
            }
        }
    }

    /// Records the copies that must come after the pass.
    pub fn record_after(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if self.measure == Work::Noted {
            self.statistics.record(encoder);
            if let Some(counting) = self.counting() {
                counting.record_after(encoder);
            }
        }
        if let (Work::Noted, None, Some(output)) = (self.apply, &self.destination, &mut self.output) {
            output.buffer.record(encoder);
        }
    }

    /// Notes that what was recorded is on its way.
    pub fn submitted(&mut self, submission: &Ticket) {
        if self.measure == Work::Noted {
            if let (None, Some(input)) = (&self.source, &mut self.input) {
                input.buffer.submitted(submission);
            }
            self.statistics.submitted(submission);
            if let Some(counting) = self.counting() {
                counting.submitted(submission);
            }
            self.measure = Work::Sent;
        }
        if self.apply == Work::Noted {
            self.curves.submitted(submission);
            if let Some(drawing) = self.marked() {
                drawing.submitted(submission);
            }
            if let (None, Some(output)) = (&self.destination, &mut self.output) {
                output.buffer.submitted(submission);
            }
            self.applying = Some(submission.clone());
            self.apply = Work::Sent;
        }
    }

    /// Waits until the GPU has applied.
    ///
    /// # Errors
    /// If the GPU fails.
    pub fn wait(&mut self, gpu: &Gpu) -> Result<(), BackendError> {
        self.applying.take().map_or(Ok(()), |submission| gpu.wait(&submission, "applying"))
    }
}

/// Room in the GPU's memory for the quads of a frame.
pub fn texels(gpu: &Gpu, layout: &Layout) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("texels"),
        size: layout.bytes,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    })
}

//! How bytes get to the GPU and back: buffers that the processor maps, and how a frame lies in them.
//!
//! The passes see a frame's memory as one buffer of words and, for each plane, its first word and its stride
//! ([`Layout`]); they do not know whose memory it is.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::backend::BackendError;
use crate::cpu::pool;
use crate::frame::{FrameInfo, Planes, PlanesMut};

use super::device::{Gpu, Ticket};
use super::geometry::{QUAD, WORD};
use super::import;
use super::pages::{PageMemory, Pages};
use super::passes::MOST_PLANES;

/// For each plane its first word and the words from one row to the next; zeros for planes that are not.
pub type Places = [[u32; 2]; MOST_PLANES];

/// Where the planes of a frame lie in a buffer of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub places: Places,
    /// Bytes of all planes.
    pub bytes: u64,
}

impl Layout {
    /// Planes one after the other, each row padded to whole quads. `None` if that is more words than 32 bits count.
    pub fn packed(info: &FrameInfo) -> Option<Layout> {
        let mut places = [[0; 2]; MOST_PLANES];
        let mut words = 0u32;
        for (place, shape) in places.iter_mut().zip(&info.planes) {
            let stride = u32::try_from(shape.bytes.div_ceil(WORD * QUAD) * QUAD).ok()?;
            *place = [words, stride];
            words = u32::try_from(shape.rows).ok()?.checked_mul(stride)?.checked_add(words)?;
        }
        Some(Layout { places, bytes: u64::from(words) * WORD as u64 })
    }

    /// Copies the samples of a frame into a buffer of this layout.
    pub fn bring(&self, info: &FrameInfo, planes: &Planes, buffer: wgpu::WriteOnly<[u8]>) {
        let mut rest = Part(buffer);
        let planes = planes.iter().zip(&info.planes).zip(self.places);
        let bands = planes.flat_map(|((plane, shape), [_, words])| {
            let stride = words as usize * WORD;
            let mut target = rest.split_off(shape.rows * stride);
            let data = &plane.data[..plane.data.len().min(shape.rows * plane.stride)];
            data.chunks(band_rows(stride) * plane.stride).map(move |from| {
                let rows = from.len().div_ceil(plane.stride);
                let to = target.split_off(rows * stride);
                (from, plane.stride, to, stride, shape.bytes)
            })
        });
        pool::share_often(
            &mut [(); MOST_COPIERS][..self.copiers()],
            bands,
            |(), (from, from_stride, mut to, stride, bytes)| {
                if from_stride == stride {
                    to.0.slice(..from.len()).copy_from_slice(from);
                } else {
                    for (y, row) in from.chunks(from_stride).enumerate() {
                        to.0.slice(y * stride..y * stride + bytes).copy_from_slice(&row[..bytes]);
                    }
                }
            },
        );
    }

    /// Copies the samples of a frame out of a buffer of this layout; padding stays as it is.
    pub fn fetch(&self, info: &FrameInfo, buffer: &[u8], planes: &mut PlanesMut) {
        let planes = planes.iter_mut().zip(&info.planes).zip(self.places);
        let bands = planes.flat_map(|((plane, shape), [first, words])| {
            let (first, stride) = (first as usize * WORD, words as usize * WORD);
            let source = &buffer[first..first + shape.rows * stride];
            let from = source.chunks(band_rows(stride) * stride);
            let to_stride = plane.stride;
            let to = plane.data.chunks_mut(band_rows(stride) * to_stride);
            from.zip(to).map(move |(from, to)| (from, stride, to, to_stride, shape.bytes))
        });
        pool::share(
            &mut [(); MOST_COPIERS][..self.copiers()],
            bands,
            |(), (from, from_stride, to, to_stride, bytes)| {
                if from_stride == to_stride && to_stride == bytes {
                    to[..from.len()].copy_from_slice(from);
                } else {
                    for (from, to) in from.chunks(from_stride).zip(to.chunks_mut(to_stride)) {
                        to[..bytes].copy_from_slice(&from[..bytes]);
                    }
                }
            },
        );
    }

    /// Threads that copy a frame.
    fn copiers(&self) -> usize {
        ((self.bytes / BYTES_PER_COPIER) as usize).clamp(1, pool::threads().min(MOST_COPIERS))
    }
}

/// Part of a mapped buffer, on its way to the thread that writes it.
struct Part<'a>(wgpu::WriteOnly<'a, [u8]>);

// SAFETY: like `&mut [u8]`, it is the only way to its bytes, and bytes may be written by any thread. wgpu says the
// same of contents of known size and leaves slices out.
unsafe impl Send for Part<'_> {}

impl<'a> Part<'a> {
    /// Takes the first `bytes` off, or what is left if that is less.
    fn split_off(&mut self, bytes: usize) -> Part<'a> {
        let bytes = bytes.min(self.0.len());
        Part(self.0.split_off(..bytes).unwrap_or_default())
    }
}

/// More threads than this do not copy faster: memory is busy.
const MOST_COPIERS: usize = 12;
/// Below this many bytes a thread has not begun before the others are done.
const BYTES_PER_COPIER: u64 = 1 << 18;
/// About what a thread copies before it looks for more.
const BAND_BYTES: usize = 1 << 17;

/// Rows that are copied at a time.
fn band_rows(stride: usize) -> usize {
    (BAND_BYTES / stride).max(1)
}

/// The answer to a request to map a buffer, which may arrive on another thread that polls the device.
#[derive(Default)]
struct Answer {
    mapped: Mutex<Option<bool>>,
    arrived: Condvar,
}

/// A buffer that the processor maps between the GPU's uses of it, and the one that shaders see: the same where
/// the adapter can, else a copy in its own memory.
struct Mapped {
    mapped: wgpu::Buffer,
    copy: Option<wgpu::Buffer>,
    mode: wgpu::MapMode,
    answer: Arc<Answer>,
    /// The submission after which the buffer is mapped, while that is not yet known to have happened.
    awaited: Option<Ticket>,
}

impl Mapped {
    fn new(gpu: &Gpu, label: &str, bytes: u64, mode: wgpu::MapMode) -> Mapped {
        let (map, from, to) = match mode {
            wgpu::MapMode::Write => {
                (wgpu::BufferUsages::MAP_WRITE, wgpu::BufferUsages::COPY_SRC, wgpu::BufferUsages::COPY_DST)
            }
            wgpu::MapMode::Read => {
                (wgpu::BufferUsages::MAP_READ, wgpu::BufferUsages::COPY_DST, wgpu::BufferUsages::COPY_SRC)
            }
        };
        let buffer = |usage, mapped_at_creation| {
            let size = bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
            gpu.device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation })
        };
        let write = mode == wgpu::MapMode::Write;
        let storage = wgpu::BufferUsages::STORAGE;
        let (mapped, copy) = if gpu.mappable {
            (buffer(map | storage, write), None)
        } else {
            (buffer(map | from, write), Some(buffer(storage | to, false)))
        };
        Mapped { mapped, copy, mode, answer: Arc::default(), awaited: None }
    }

    fn bound(&self) -> &wgpu::Buffer {
        self.copy.as_ref().unwrap_or(&self.mapped)
    }

    fn request(&mut self, submission: &Ticket) {
        self.awaited = Some(submission.clone());
        *self.answer.mapped.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let answer = self.answer.clone();
        self.mapped.map_async(self.mode, .., move |result| {
            *answer.mapped.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.is_ok());
            answer.arrived.notify_all();
        });
    }

    /// Waits until a requested mapping is there.
    fn wait(&mut self, gpu: &Gpu, stage: &'static str) -> Result<(), BackendError> {
        let Some(submission) = self.awaited.take() else { return gpu.check(stage) };
        let deadline = Instant::now() + gpu.patience();
        if self.answer.mapped.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            gpu.poll(&submission, stage)?;
        }
        let mut mapped = self.answer.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *mapped {
                Some(true) => return Ok(()),
                Some(false) => {
                    gpu.check(stage)?;
                    return Err(gpu.error(stage, "the memory could not be mapped"));
                }
                None => {
                    // Another stream's wait has seen the end of the work and is about to pass it on.
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(gpu.error(stage, "the memory was not mapped in time"));
                    }
                    let waited = self.answer.arrived.wait_timeout(mapped, left);
                    mapped = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

/// Pages that the GPU reads and writes where they lie: the processor has them whenever the GPU is done.
struct Imported {
    // Gone before the memory that it stands for.
    buffer: wgpu::Buffer,
    memory: PageMemory,
    bytes: usize,
    /// The last submission that uses them.
    awaited: Option<Ticket>,
}

impl Imported {
    /// `None` if the device cannot import memory.
    fn new(gpu: &Gpu, bytes: u64) -> Option<Imported> {
        let bytes = usize::try_from(bytes).ok()?;
        let memory = PageMemory::new(bytes)?;
        let (pages, _) = Pages::find(memory.as_ref())?;
        let buffer = import::import(&gpu.device, &pages)?;
        Some(Imported { buffer, memory, bytes, awaited: None })
    }

    fn wait(&mut self, gpu: &Gpu, stage: &'static str) -> Result<(), BackendError> {
        self.awaited.take().map_or_else(|| gpu.check(stage), |ticket| gpu.wait(&ticket, stage))
    }
}

/// Memory that the processor and the GPU share by turns.
enum Shared {
    Imported(Imported),
    Mapped(Mapped),
}

impl Shared {
    fn new(gpu: &Gpu, label: &str, bytes: u64, mode: wgpu::MapMode) -> Shared {
        Imported::new(gpu, bytes).map_or_else(|| Shared::Mapped(Mapped::new(gpu, label, bytes, mode)), Shared::Imported)
    }

    fn bound(&self) -> &wgpu::Buffer {
        match self {
            Shared::Imported(imported) => &imported.buffer,
            Shared::Mapped(mapped) => mapped.bound(),
        }
    }

    fn submitted(&mut self, submission: &Ticket) {
        match self {
            Shared::Imported(imported) => imported.awaited = Some(submission.clone()),
            Shared::Mapped(mapped) => mapped.request(submission),
        }
    }
}

/// A buffer that the processor writes and shaders read.
pub struct Upload(Shared);

impl Upload {
    /// A buffer of `bytes`, ready to be written.
    pub fn new(gpu: &Gpu, label: &str, bytes: u64) -> Upload {
        Upload(Shared::new(gpu, label, bytes, wgpu::MapMode::Write))
    }

    /// The buffer for shaders to read.
    pub fn bound(&self) -> &wgpu::Buffer {
        self.0.bound()
    }

    /// Waits until the GPU has read what was written last, and writes anew.
    ///
    /// # Errors
    /// If the GPU fails at `stage`.
    pub fn write(
        &mut self,
        gpu: &Gpu,
        stage: &'static str,
        write: impl FnOnce(wgpu::WriteOnly<[u8]>),
    ) -> Result<(), BackendError> {
        match &mut self.0 {
            Shared::Imported(imported) => {
                imported.wait(gpu, stage)?;
                write(wgpu::WriteOnly::from_mut(&mut imported.memory.as_mut()[..imported.bytes]));
            }
            Shared::Mapped(mapped) => {
                mapped.wait(gpu, stage)?;
                let view = mapped.mapped.get_mapped_range_mut(..);
                write(view.map_err(|error| gpu.error(stage, error.to_string()))?.slice(..));
            }
        }
        Ok(())
    }

    /// Gives the buffer to the GPU, ahead of the pass that reads it.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let Shared::Mapped(mapped) = &self.0 {
            mapped.mapped.unmap();
            if let Some(copy) = &mapped.copy {
                encoder.copy_buffer_to_buffer(&mapped.mapped, 0, copy, 0, None);
            }
        }
    }

    /// Asks for the buffer back after `submission`.
    pub fn submitted(&mut self, submission: &Ticket) {
        self.0.submitted(submission);
    }
}

/// A buffer that shaders write and the processor reads.
pub struct Download {
    shared: Shared,
    /// Whether the processor has the buffer, or will have it.
    given: bool,
}

impl Download {
    /// A buffer of `bytes`, ready for shaders.
    pub fn new(gpu: &Gpu, label: &str, bytes: u64) -> Download {
        Download { shared: Shared::new(gpu, label, bytes, wgpu::MapMode::Read), given: false }
    }

    /// The buffer for shaders to write.
    pub fn bound(&self) -> &wgpu::Buffer {
        self.shared.bound()
    }

    /// Takes the buffer back for shaders if its contents were never read.
    ///
    /// # Errors
    /// If the GPU fails at `stage`.
    pub fn reclaim(&mut self, gpu: &Gpu, stage: &'static str) -> Result<(), BackendError> {
        if std::mem::take(&mut self.given)
            && let Shared::Mapped(mapped) = &mut self.shared
        {
            mapped.wait(gpu, stage)?;
            mapped.mapped.unmap();
        }
        Ok(())
    }

    /// Makes the contents ready for the processor, after the pass that writes them.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let Shared::Mapped(Mapped { mapped, copy: Some(copy), .. }) = &self.shared {
            encoder.copy_buffer_to_buffer(copy, 0, mapped, 0, None);
        }
    }

    /// Asks for the buffer after `submission`.
    pub fn submitted(&mut self, submission: &Ticket) {
        self.shared.submitted(submission);
        self.given = true;
    }

    /// Waits for the contents, reads them, and gives the buffer back to shaders.
    ///
    /// # Errors
    /// If the GPU fails at `stage`.
    pub fn read<T>(
        &mut self,
        gpu: &Gpu,
        stage: &'static str,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, BackendError> {
        self.given = false;
        match &mut self.shared {
            Shared::Imported(imported) => {
                imported.wait(gpu, stage)?;
                Ok(read(&imported.memory.as_ref()[..imported.bytes]))
            }
            Shared::Mapped(mapped) => {
                mapped.wait(gpu, stage)?;
                let view = mapped.mapped.get_mapped_range(..);
                let value = read(&view.map_err(|error| gpu.error(stage, error.to_string()))?);
                mapped.mapped.unmap();
                Ok(value)
            }
        }
    }
}

//! How bytes get to the GPU and back: buffers that the processor maps, and how a frame lies in them.
//!
//! The passes see a frame's memory as one buffer of words and, for each plane, its first word and its stride
//! ([`Layout`]); they do not know whose memory it is.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::backend::BackendError;
use crate::frame::{FrameInfo, Planes, PlanesMut, TEXEL};

use super::adapter::Gpu;
use super::passes::MOST_PLANES;

/// Where the planes of a frame lie in a buffer of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// For each plane its first word and the words from one row to the next; zeros for planes that are not.
    pub places: [[u32; 2]; MOST_PLANES],
    /// Bytes of all planes.
    pub bytes: u64,
}

impl Layout {
    /// Planes one after the other, each row padded to whole words. `None` if that is more words than 32 bits count.
    pub fn packed(info: &FrameInfo) -> Option<Layout> {
        let mut places = [[0; 2]; MOST_PLANES];
        let mut words = 0u32;
        for (place, shape) in places.iter_mut().zip(&info.planes) {
            let stride = u32::try_from(shape.samples.div_ceil(TEXEL)).ok()?;
            *place = [words, stride];
            words = u32::try_from(shape.rows).ok()?.checked_mul(stride)?.checked_add(words)?;
        }
        Some(Layout { places, bytes: u64::from(words) * TEXEL as u64 })
    }

    /// First byte and stride in bytes of a plane.
    fn bytes_of(&self, plane: usize) -> (usize, usize) {
        let [first, stride] = self.places[plane];
        (first as usize * TEXEL, stride as usize * TEXEL)
    }

    /// Copies the samples of a frame into a buffer of this layout.
    pub fn bring(&self, info: &FrameInfo, planes: &Planes, buffer: &mut wgpu::BufferViewMut) {
        for (index, (plane, shape)) in planes.iter().zip(&info.planes).enumerate() {
            let (first, stride) = self.bytes_of(index);
            if plane.stride == stride {
                let bytes = (shape.rows - 1) * stride + shape.samples;
                buffer.slice(first..first + bytes).copy_from_slice(&plane.data[..bytes]);
            } else {
                let mut target = buffer.slice(first..first + shape.rows * stride);
                for (y, row) in plane.data.chunks(plane.stride).take(shape.rows).enumerate() {
                    target.slice(y * stride..y * stride + shape.samples).copy_from_slice(&row[..shape.samples]);
                }
            }
        }
    }

    /// Copies the samples of a frame out of a buffer of this layout; padding stays as it is.
    pub fn fetch(&self, info: &FrameInfo, buffer: &[u8], planes: &mut PlanesMut) {
        for (index, (plane, shape)) in planes.iter_mut().zip(&info.planes).enumerate() {
            let (first, stride) = self.bytes_of(index);
            if plane.stride == stride && stride == shape.samples {
                let bytes = shape.rows * stride;
                plane.data[..bytes].copy_from_slice(&buffer[first..first + bytes]);
            } else {
                let rows = plane.data.chunks_mut(plane.stride).zip(buffer[first..].chunks(stride)).take(shape.rows);
                for (to, from) in rows {
                    to[..shape.samples].copy_from_slice(&from[..shape.samples]);
                }
            }
        }
    }
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
    awaited: Option<wgpu::SubmissionIndex>,
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

    fn request(&mut self, submission: &wgpu::SubmissionIndex) {
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
        gpu.wait(&submission, stage)?;
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

/// A buffer that the processor writes and shaders read.
pub struct Upload(Mapped);

impl Upload {
    /// A buffer of `bytes`, ready to be written.
    pub fn new(gpu: &Gpu, label: &str, bytes: u64) -> Upload {
        Upload(Mapped::new(gpu, label, bytes, wgpu::MapMode::Write))
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
        write: impl FnOnce(&mut wgpu::BufferViewMut),
    ) -> Result<(), BackendError> {
        self.0.wait(gpu, stage)?;
        let view = self.0.mapped.get_mapped_range_mut(..);
        write(&mut view.map_err(|error| gpu.error(stage, error.to_string()))?);
        Ok(())
    }

    /// Gives the buffer to the GPU, ahead of the pass that reads it.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.0.mapped.unmap();
        if let Some(copy) = &self.0.copy {
            encoder.copy_buffer_to_buffer(&self.0.mapped, 0, copy, 0, None);
        }
    }

    /// Asks for the buffer back after `submission`.
    pub fn submitted(&mut self, submission: &wgpu::SubmissionIndex) {
        self.0.request(submission);
    }
}

/// A buffer that shaders write and the processor reads.
pub struct Download {
    mapped: Mapped,
    /// Whether the processor has the buffer, or will have it.
    given: bool,
}

impl Download {
    /// A buffer of `bytes`, ready for shaders.
    pub fn new(gpu: &Gpu, label: &str, bytes: u64) -> Download {
        Download { mapped: Mapped::new(gpu, label, bytes, wgpu::MapMode::Read), given: false }
    }

    /// The buffer for shaders to write.
    pub fn bound(&self) -> &wgpu::Buffer {
        self.mapped.bound()
    }

    /// Takes the buffer back for shaders if its contents were never read.
    ///
    /// # Errors
    /// If the GPU fails at `stage`.
    pub fn reclaim(&mut self, gpu: &Gpu, stage: &'static str) -> Result<(), BackendError> {
        if self.given {
            self.mapped.wait(gpu, stage)?;
            self.mapped.mapped.unmap();
            self.given = false;
        }
        Ok(())
    }

    /// Makes the contents ready for the processor, after the pass that writes them.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(copy) = &self.mapped.copy {
            encoder.copy_buffer_to_buffer(copy, 0, &self.mapped.mapped, 0, None);
        }
    }

    /// Asks for the buffer after `submission`.
    pub fn submitted(&mut self, submission: &wgpu::SubmissionIndex) {
        self.mapped.request(submission);
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
        self.mapped.wait(gpu, stage)?;
        let view = self.mapped.mapped.get_mapped_range(..);
        let value = read(&view.map_err(|error| gpu.error(stage, error.to_string()))?);
        self.mapped.mapped.unmap();
        self.given = false;
        Ok(value)
    }
}

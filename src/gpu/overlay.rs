//! The passes that apply a frame with marks, or with curves of R, G and B, in place of the usual one. Made when they
//! are first asked for.

use crate::colour::Places;
use crate::frame::FrameInfo;
use crate::overlay::marks::{Deepen, Marks};
use crate::overlay::most_texels;

use super::channels::{matrix_constants, site_constants, tone_constants};
use super::device::{Gpu, Ticket};
use super::geometry::{QUAD, WORD};
use super::memory::Upload;
use super::passes::{Kind, MOST_PLANES, Pass, bind, deep_constants, pass, shaders};

/// What applies a frame in place of the usual pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// As usual, but to what marks say.
    Overlay,
    /// Curves of R, G and B.
    Matrix,
    /// A curve of luma, and gains of colours.
    Tone,
}

impl Drawn {
    /// Which of the [`shaders`] it is.
    fn shader(self) -> usize {
        match self {
            Drawn::Overlay => 3,
            Drawn::Matrix => 6,
            Drawn::Tone => 7,
        }
    }
}

/// The bindings of its first group.
const OVERLAY: &[Kind] = &[Kind::Uniform, Kind::Read, Kind::Read, Kind::Read];
/// Invocations of a workgroup, across and down, and words of a plane's description. As in `overlay.wgsl`.
const WORKGROUP: [usize; 2] = [8, 4];
const PLANE_WORDS: usize = 13;

/// The pass, compiled.
pub struct Overlay {
    pass: Pass,
    workgroups: [u32; 3],
    bytes: usize,
}

/// The marks of one slot, and what they are bound with.
pub struct Drawing {
    marks: Upload,
    group: wgpu::BindGroup,
}

impl Overlay {
    /// Compiles the pass `drawn` for frames as described by `info`, whose samples lie at `places` (all but grey ones).
    pub fn new(
        gpu: &Gpu,
        info: &FrameInfo,
        drawn: Drawn,
        places: Option<&Places>,
        destination: &wgpu::BindGroupLayout,
        edit: impl Fn(&str) -> String,
    ) -> Overlay {
        let (name, source) = shaders(info)[drawn.shader()];
        let mut constants = constants(info);
        if let (Drawn::Matrix | Drawn::Tone, Some(places)) = (drawn, places) {
            constants.extend(site_constants(info, places));
        }
        if drawn != Drawn::Overlay {
            constants.extend(matrix_constants(info));
        }
        if drawn == Drawn::Tone {
            constants.extend(tone_constants(info));
        }
        Overlay::compile(gpu, info, destination, name, edit(source), &constants)
    }

    fn compile(
        gpu: &Gpu,
        info: &FrameInfo,
        destination: &wgpu::BindGroupLayout,
        name: &str,
        source: String,
        constants: &[(&str, f64)],
    ) -> Overlay {
        let across = info.planes.iter().map(|shape| shape.bytes.div_ceil(QUAD * WORD)).max().unwrap_or(0);
        let down = info.planes.iter().map(|shape| shape.rows).max().unwrap_or(0);
        let [across, down] = [across.div_ceil(WORKGROUP[0]), down.div_ceil(WORKGROUP[1])];
        Overlay {
            pass: pass(gpu, name, source, OVERLAY, Some(destination), constants),
            workgroups: [across as u32, down as u32, info.planes.len() as u32],
            bytes: 4 * (PLANE_WORDS * MOST_PLANES + 2 * most_texels(info)),
        }
    }

    /// Room for the marks of a slot with these texels and curves, for any of these passes.
    pub fn drawing(&self, gpu: &Gpu, stream: &wgpu::Buffer, texels: &wgpu::Buffer, curves: &wgpu::Buffer) -> Drawing {
        let marks = Upload::new(gpu, "marks", self.bytes as u64);
        let resources = [stream, texels, curves, marks.bound()].map(wgpu::Buffer::as_entire_binding);
        Drawing { group: bind(gpu, &self.pass.group, &resources), marks }
    }

    /// Records the dispatch that writes a frame's output.
    pub fn apply(&self, pass: &mut wgpu::ComputePass, drawing: &Drawing, destination: &wgpu::BindGroup) {
        pass.set_pipeline(&self.pass.pipeline);
        pass.set_bind_group(0, &drawing.group, &[]);
        pass.set_bind_group(1, destination, &[]);
        let [across, down, planes] = self.workgroups;
        pass.dispatch_workgroups(across, down, planes);
    }
}

impl Drawing {
    /// Takes the marks of the next frame.
    ///
    /// # Errors
    /// If the GPU fails.
    pub fn write(&mut self, gpu: &Gpu, marks: &Marks) -> Result<(), crate::backend::BackendError> {
        self.marks.write(gpu, "applying", |mut buffer| {
            let mut end = PLANE_WORDS * MOST_PLANES;
            for plane in 0..MOST_PLANES {
                let mut words = [0; PLANE_WORDS];
                if let Some(marks) = marks.planes.get(plane) {
                    words[0] = marks.kept as u32;
                    for (patch, words) in marks.patches().into_iter().zip(words[1..].chunks_mut(6)) {
                        let numbers = [patch.left, patch.top, patch.across, patch.down, patch.stride, end];
                        words.iter_mut().zip(numbers).for_each(|(word, number)| *word = number as u32);
                        put(&mut buffer, end, bytemuck::cast_slice(&patch.texels));
                        end += 2 * patch.texels.len();
                    }
                }
                put(&mut buffer, plane * PLANE_WORDS, &words);
            }
        })
    }

    /// Gives the marks to the GPU, ahead of the pass that reads them.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.marks.record(encoder);
    }

    /// Asks for the memory back after `submission`.
    pub fn submitted(&mut self, submission: &Ticket) {
        self.marks.submitted(submission);
    }
}

/// The constants of what is drawn: how a value becomes a code, and how a sample holds it.
fn constants(info: &FrameInfo) -> Vec<(&'static str, f64)> {
    let Deepen { up, down } = Deepen::new(info);
    let mut constants = deep_constants(info);
    constants.extend([("up", f64::from(up)), ("down", f64::from(down))]);
    constants
}

/// Writes words from the word `at` on.
fn put(buffer: &mut wgpu::WriteOnly<[u8]>, at: usize, words: &[u32]) {
    buffer.slice(4 * at..4 * (at + words.len())).copy_from_slice(bytemuck::cast_slice(words));
}

//! The shaders, their pipelines and what they are bound to.

use std::borrow::Cow;

use crate::backend::BackendError;
use crate::frame::FrameInfo;

use super::device::Gpu;
use super::geometry::{self, Geometry, lane_constants, luma_constants};
use super::memory::Places;

/// Most planes of a frame.
pub const MOST_PLANES: usize = 3;
/// Fewest invocations of a workgroup that the passes are content with.
pub const FEWEST_THREADS: u32 = 32;
/// Most buffers that one of them reads and writes, constants aside.
pub const MOST_BUFFERS: u32 = 4;

/// Words of a frame's statistics: the counts of codes, then the chunks' sums, then their counts.
pub fn statistics_words(info: &FrameInfo, chunks: usize) -> usize {
    info.range.bins() + 2 * chunks
}

/// Words in which curves for samples of bytes say how they are dithered, and those of the dithered curves' places. As in
/// `dither.wgsl`.
pub const DITHER_WORDS: usize = 4;
const PLACE_WORDS: usize = 3 * 256;

/// Curves that there is room for: the three of a frame, and those of R, G and B that come before a tone.
pub const MOST_CURVES: usize = 6;

/// Bytes of the curves of a frame and of what dither needs, behind which the gains begin.
pub fn gains_at(info: &FrameInfo) -> usize {
    let tables = MOST_CURVES * info.range.bins() * info.format.packing().bytes();
    if info.format.packing().bytes() == 1 { tables + 4 * (DITHER_WORDS + PLACE_WORDS) } else { tables }
}

/// Bytes of the curves of a frame and all that comes with them.
pub fn curve_bytes(info: &FrameInfo) -> usize {
    // Behind the gains, that of the straight line, and whether curves come before.
    gains_at(info) + 2 * info.range.bins() + 8
}

macro_rules! shader {
    ($($file:literal),+) => { concat!($(include_str!(concat!("../../shaders/", $file))),+) };
}

/// A shader that reads or writes a frame.
macro_rules! frame_shader {
    ($($file:literal),+) => { shader!("shared/stream.wgsl", "shared/memory.wgsl", $($file),+) };
}

/// The shaders for samples of bytes, and of words.
macro_rules! shaders {
    ($samples:literal, [$($codes:literal),*], [$($curves:literal),*], $sites:literal, $apply:literal, $overlay:literal, $tone:literal) => {
        [
            ("histogram", frame_shader!("shared/read.wgsl", "shared/planes.wgsl", $samples, "histogram.wgsl")),
            ("collect", shader!("collect.wgsl")),
            (
                "apply",
                frame_shader!("shared/write.wgsl", "shared/planes.wgsl", "shared/texels.wgsl", $($codes,)* $($curves,)* $apply, "apply.wgsl"),
            ),
            (
                "overlay",
                frame_shader!("shared/write.wgsl", "shared/texels.wgsl", "shared/marks.wgsl", $($codes,)* $($curves,)* $overlay, "overlay.wgsl"),
            ),
            (
                "channels",
                shader!("shared/stream.wgsl", "shared/texels.wgsl", $samples, $($codes,)* $sites, "shared/sites.wgsl", "channels.wgsl"),
            ),
            ("totals", shader!($samples, "totals.wgsl")),
            (
                "matrix",
                frame_shader!(
                    "shared/write.wgsl",
                    "shared/texels.wgsl",
                    "shared/marks.wgsl",
                    $($codes,)*
                    $($curves,)*
                    $sites,
                    "shared/sites.wgsl",
                    "shared/mix.wgsl",
                    $overlay,
                    "matrix.wgsl"
                ),
            ),
            (
                "tone",
                frame_shader!(
                    "shared/write.wgsl",
                    "shared/texels.wgsl",
                    "shared/marks.wgsl",
                    $($codes,)*
                    $($curves,)*
                    $sites,
                    "shared/sites.wgsl",
                    "shared/mix.wgsl",
                    $overlay,
                    $tone,
                    "tone.wgsl"
                ),
            ),
        ]
    };
}

/// Names and sources of the shaders. The name is that of the entry point too.
type Shaders = [(&'static str, &'static str); 8];
const BYTES: Shaders = shaders!(
    "shared/bytes.wgsl",
    [],
    ["shared/dither.wgsl"],
    "shared/sites_bytes.wgsl",
    "apply_bytes.wgsl",
    "overlay_bytes.wgsl",
    "tone_bytes.wgsl"
);
const WORDS: Shaders = shaders!(
    "shared/words.wgsl",
    ["shared/codes.wgsl"],
    ["shared/deep.wgsl"],
    "shared/sites_words.wgsl",
    "apply_words.wgsl",
    "overlay_words.wgsl",
    "tone_words.wgsl"
);

/// Name and source of the shaders for frames as described by `info`.
pub fn shaders(info: &FrameInfo) -> Shaders {
    if info.format.packing().bytes() > 1 { WORDS } else { BYTES }
}

/// The constants that `codes.wgsl` is compiled with, where it is part of a shader.
pub fn deep_constants(info: &FrameInfo) -> Vec<(&'static str, f64)> {
    let packing = info.format.packing();
    match packing.bytes() {
        1 => Vec::new(),
        _ => vec![("depth", f64::from(packing.depth)), ("shift", f64::from(packing.shift))],
    }
}

/// The constants that `apply.wgsl` is compiled with.
fn apply_constants(info: &FrameInfo, geometry: &Geometry) -> Vec<(&'static str, f64)> {
    let mut constants = deep_constants(info);
    constants.extend(lane_constants(info));
    constants.extend([("threads", f64::from(geometry.threads)), ("ahead", f64::from(geometry.ahead))]);
    constants
}

/// What a binding is.
#[derive(Clone, Copy)]
pub enum Kind {
    Uniform,
    Read,
    ReadWrite,
}

use Kind::{Read, ReadWrite, Uniform};

/// The bindings of each pass's first group; the second is the frame's memory.
const HISTOGRAM: &[Kind] = &[Uniform, ReadWrite, ReadWrite];
const COLLECT: &[Kind] = &[ReadWrite, ReadWrite];
const APPLY: &[Kind] = &[Uniform, Read, Read];
const SOURCE: &[Kind] = &[Uniform, Read];
const DESTINATION: &[Kind] = &[Uniform, ReadWrite];

/// A compiled pass with its first group.
pub struct Pass {
    pub pipeline: wgpu::ComputePipeline,
    pub group: wgpu::BindGroupLayout,
}

/// The passes of a stream.
pub struct Passes {
    histogram: Pass,
    collect: Pass,
    apply: Pass,
    /// The same for curves that are dithered, made when it is first asked for.
    dither: Option<Pass>,
    source: wgpu::BindGroupLayout,
    destination: wgpu::BindGroupLayout,
    geometry: Geometry,
    statistics_words: u32,
}

/// What a slot's passes work on.
pub struct Resources<'a> {
    pub stream: &'a wgpu::Buffer,
    pub texels: &'a wgpu::Buffer,
    pub totals: &'a wgpu::Buffer,
    pub statistics: &'a wgpu::Buffer,
    pub curves: &'a wgpu::Buffer,
}

/// A slot's resources, bound.
pub struct Bound {
    histogram: wgpu::BindGroup,
    collect: wgpu::BindGroup,
    apply: wgpu::BindGroup,
}

impl Passes {
    /// Compiles the passes for frames as described by `info`. `edit` may change a shader's source.
    pub fn new(gpu: &Gpu, info: &FrameInfo, geometry: &Geometry, edit: impl Fn(&str) -> String) -> Passes {
        let source = layout(gpu, SOURCE);
        let destination = layout(gpu, DESTINATION);
        let threads = ("threads", f64::from(geometry.threads));
        let shaders = shaders(info);
        let mut luma = luma_constants(info);
        luma.extend([threads, ("across", f64::from(geometry.across)), ("ahead", f64::from(geometry.ahead))]);
        let make = |index: usize, kinds: &[Kind], memory: Option<&wgpu::BindGroupLayout>, constants: &[(&str, f64)]| {
            let (name, text) = shaders[index];
            pass(gpu, name, edit(text), kinds, memory, constants)
        };
        Passes {
            histogram: make(0, HISTOGRAM, Some(&source), &luma),
            collect: make(1, COLLECT, None, &[threads]),
            apply: make(2, APPLY, Some(&destination), &apply_constants(info, geometry)),
            dither: None,
            source,
            destination,
            geometry: geometry.clone(),
            statistics_words: statistics_words(info, geometry.chunks as usize) as u32,
        }
    }

    /// Compiles the pass for curves that are dithered, if there is none yet.
    ///
    /// # Errors
    /// If the GPU fails.
    pub fn expect_dither(
        &mut self,
        gpu: &Gpu,
        info: &FrameInfo,
        edit: impl Fn(&str) -> String,
    ) -> Result<(), BackendError> {
        if self.dither.is_none() {
            let mut constants = apply_constants(info, &self.geometry);
            constants.push(("dither", 1.0));
            let (name, text) = shaders(info)[2];
            let make = |gpu: &Gpu| pass(gpu, name, edit(text), APPLY, Some(&self.destination), &constants);
            self.dither = Some(gpu.create("preparing", make)?);
        }
        Ok(())
    }

    /// Binds the resources of a slot.
    pub fn bind(&self, gpu: &Gpu, resources: &Resources) -> Bound {
        let stream = resources.stream.as_entire_binding();
        let texels = resources.texels.as_entire_binding();
        let totals = resources.totals.as_entire_binding();
        let statistics = resources.statistics.as_entire_binding();
        let curves = resources.curves.as_entire_binding();
        Bound {
            histogram: bind(gpu, &self.histogram.group, &[stream.clone(), texels.clone(), totals.clone()]),
            collect: bind(gpu, &self.collect.group, &[totals, statistics]),
            apply: bind(gpu, &self.apply.group, &[stream, texels, curves]),
        }
    }

    /// How memory is bound that a frame is written to.
    pub fn destination(&self) -> &wgpu::BindGroupLayout {
        &self.destination
    }

    /// Invocations of a workgroup.
    pub fn threads(&self) -> u32 {
        self.geometry.threads
    }

    /// Binds memory that a frame is read from, its planes at `places`.
    pub fn bind_source(&self, gpu: &Gpu, places: &Places, words: &wgpu::Buffer) -> wgpu::BindGroup {
        let places = constants(gpu, &geometry::memory(places));
        bind(gpu, &self.source, &[places.as_entire_binding(), words.as_entire_binding()])
    }

    /// Binds memory that a frame is written to, its planes at `places`.
    pub fn bind_destination(&self, gpu: &Gpu, places: &Places, words: &wgpu::Buffer) -> wgpu::BindGroup {
        let places = constants(gpu, &geometry::memory(places));
        bind(gpu, &self.destination, &[places.as_entire_binding(), words.as_entire_binding()])
    }

    /// Records the dispatch that brings a frame in and counts it.
    pub fn measure(&self, pass: &mut wgpu::ComputePass, bound: &Bound, source: &wgpu::BindGroup) {
        self.histogram.dispatch(pass, &bound.histogram, Some(source), self.geometry.bring());
    }

    /// Records the dispatch that hands the totals to the processor.
    pub fn collect(&self, pass: &mut wgpu::ComputePass, bound: &Bound) {
        let workgroups = self.statistics_words.div_ceil(self.geometry.threads);
        self.collect.dispatch(pass, &bound.collect, None, [workgroups, 1]);
    }

    /// Records the dispatch that writes a frame's output, `dithered` if that is expected.
    pub fn apply(&self, pass: &mut wgpu::ComputePass, bound: &Bound, destination: &wgpu::BindGroup, dithered: bool) {
        let apply = self.dither.as_ref().filter(|_| dithered).unwrap_or(&self.apply);
        apply.dispatch(pass, &bound.apply, Some(destination), [self.geometry.apply, 1]);
    }
}

impl Pass {
    /// Records a dispatch of so many workgroups.
    pub fn dispatch(
        &self,
        pass: &mut wgpu::ComputePass,
        group: &wgpu::BindGroup,
        memory: Option<&wgpu::BindGroup>,
        [across, down]: [u32; 2],
    ) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, group, &[]);
        if let Some(memory) = memory {
            pass.set_bind_group(1, memory, &[]);
        }
        pass.dispatch_workgroups(across, down, 1);
    }
}

/// A buffer of constants.
pub fn constants(gpu: &Gpu, words: &[u32]) -> wgpu::Buffer {
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("constants"),
        size: 4 * words.len() as u64,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    // Unlike a buffer that is mapped when it is made, this one may be made when the device is lost.
    gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
    buffer
}

/// Compiles a pass.
pub fn pass(
    gpu: &Gpu,
    name: &str,
    source: String,
    kinds: &[Kind],
    memory: Option<&wgpu::BindGroupLayout>,
    constants: &[(&str, f64)],
) -> Pass {
    let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(Cow::Owned(source)),
    });
    let group = layout(gpu, kinds);
    let groups = [Some(&group), memory];
    let groups = if memory.is_some() { &groups[..] } else { &groups[..1] };
    let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(name),
        bind_group_layouts: groups,
        immediate_size: 0,
    });
    let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(name),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some(name),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants,
            // The shaders clear what they use, all invocations together.
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    });
    Pass { pipeline, group }
}

fn layout(gpu: &Gpu, kinds: &[Kind]) -> wgpu::BindGroupLayout {
    let buffer = |ty| wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
    let entries = kinds.iter().zip(0..).map(|(kind, binding)| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: match kind {
            Uniform => buffer(wgpu::BufferBindingType::Uniform),
            Read => buffer(wgpu::BufferBindingType::Storage { read_only: true }),
            ReadWrite => buffer(wgpu::BufferBindingType::Storage { read_only: false }),
        },
        count: None,
    });
    let entries: Vec<_> = entries.collect();
    gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
}

/// Binds resources in their order.
pub fn bind(gpu: &Gpu, layout: &wgpu::BindGroupLayout, resources: &[wgpu::BindingResource]) -> wgpu::BindGroup {
    let entries = resources.iter().zip(0..);
    let entries: Vec<_> =
        entries.map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource: resource.clone() }).collect();
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shader_is_valid_and_has_its_entry_point() {
        use wgpu::naga::{front::wgsl, valid};
        for (name, source) in BYTES.into_iter().chain(WORDS) {
            let module = wgsl::parse_str(source).unwrap_or_else(|error| panic!("{}", error.emit_to_string(source)));
            valid::Validator::new(valid::ValidationFlags::all(), valid::Capabilities::empty())
                .validate(&module)
                .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
            assert_eq!(module.entry_points.len(), 1);
            assert_eq!(module.entry_points[0].name, name);
        }
    }
}

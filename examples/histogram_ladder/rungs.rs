//! The rungs below ours, and what is compared beside them.

use anyhow::Result;

use crate::{Counts, Gpu, Outcome, Picture};

const SOURCE: &str = include_str!("ladder.wgsl");
/// The vote of the rung with subgroups: one vote for all if all have the same code.
const SUBGROUP_VOTE: &str = "
    if subgroupAll(code == subgroupBroadcastFirst(code)) {
        let all = subgroupAdd(1u);
        if subgroupExclusiveAdd(1u) == 0u { atomicAdd(&table[code], all); }
    } else {
        atomicAdd(&table[code], 1u);
    }";
/// Workgroups of the rungs whose workgroups go on to other rows.
const LASTING: u32 = 256;
/// Pixels that one invocation may count on an adapter in software, which ends longer loops without a word.
const MOST_ON_SOFTWARE: usize = 60_000;

struct Ladder<'a> {
    gpu: &'a Gpu,
    size: (u32, u32),
    module: wgpu::ShaderModule,
    layout: wgpu::BindGroupLayout,
    picture: wgpu::TextureView,
    bins: wgpu::Buffer,
    plain: wgpu::Buffer,
    chunks: wgpu::Buffer,
    most_chunks: u32,
}

/// Runs of a rung, of which the shortest counts.
const RUNS: usize = 12;

impl Ladder<'_> {
    fn new<'a>(gpu: &'a Gpu, picture: &Picture) -> Ladder<'a> {
        let (width, height) = (picture.info.width as u32, picture.info.height as u32);
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Uint,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        gpu.queue.write_texture(
            texture.as_image_copy(),
            bytemuck::cast_slice(&picture.pixels),
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * width), rows_per_image: None },
            texture.size(),
        );
        let module = module(gpu, SOURCE);
        let buffer = |binding, ty| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let storage = wgpu::BufferBindingType::Storage { read_only: false };
        let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[
                wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Texture {
                        sample_type: wgpu::TextureSampleType::Uint,
                        view_dimension: wgpu::TextureViewDimension::D2,
                        multisampled: false,
                    },
                    count: None,
                },
                buffer(1, storage),
                buffer(2, storage),
                buffer(3, storage),
                buffer(4, wgpu::BufferBindingType::Uniform),
            ],
        });
        // Chunks of 64 pixels and more, in either direction.
        let most_chunks = (width.div_ceil(8) * height.div_ceil(8)).max(width.div_ceil(64) * height);
        let most_chunks = most_chunks.max(height.div_ceil(64) * width);
        let usage = wgpu::BufferUsages::STORAGE;
        Ladder {
            gpu,
            size: (width, height),
            module,
            layout,
            picture: texture.create_view(&wgpu::TextureViewDescriptor::default()),
            bins: gpu.space(1024, usage),
            plain: gpu.space(256, usage),
            chunks: gpu.space(256 * most_chunks as usize, usage),
            most_chunks,
        }
    }

    fn pipeline(&self, module: &wgpu::ShaderModule, entry: &str, (across, down): (u32, u32)) -> wgpu::ComputePipeline {
        let layout = self.gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&self.layout)],
            immediate_size: 0,
        });
        self.gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(&layout),
            module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[("across", f64::from(across)), ("down", f64::from(down))],
                ..Default::default()
            },
            cache: None,
        })
    }

    /// Everything bound, with `chunks` chunks of which those `stride` apart are added.
    fn bound(&self, chunks: u32, stride: u32) -> wgpu::BindGroup {
        let pairs = self.gpu.buffer(&[chunks, stride, 0, 0], wgpu::BufferUsages::UNIFORM);
        let resources = [
            (0, wgpu::BindingResource::TextureView(&self.picture)),
            (1, self.bins.as_entire_binding()),
            (2, self.plain.as_entire_binding()),
            (3, self.chunks.as_entire_binding()),
            (4, pairs.as_entire_binding()),
        ];
        self.gpu.bind(&self.layout, &resources)
    }

    /// Workgroups that cover the picture, or the picture turned on its side.
    fn cover(&self, (across, down): (u32, u32), turned: bool) -> (u32, u32) {
        let (width, height) = if turned { (self.size.1, self.size.0) } else { self.size };
        (width.div_ceil(across), height.div_ceil(down))
    }

    /// One dispatch that leaves its counts in `result`, from byte `offset` on.
    fn single(
        &self,
        entry: &str,
        shape: (u32, u32),
        groups: (u32, u32),
        result: (&wgpu::Buffer, u64),
        runs: usize,
    ) -> Result<(f64, Counts)> {
        self.single_of(&self.module, entry, shape, groups, result, runs)
    }

    fn single_of(
        &self,
        module: &wgpu::ShaderModule,
        entry: &str,
        shape: (u32, u32),
        groups: (u32, u32),
        result: (&wgpu::Buffer, u64),
        runs: usize,
    ) -> Result<(f64, Counts)> {
        let pipeline = self.pipeline(module, entry, shape);
        let bound = self.bound(0, 0);
        self.gpu.time(runs, result.0, result, |pass| dispatch(pass, &pipeline, &bound, groups))
    }

    /// Chunks counted by workgroups of `shape`, then added up, by one workgroup or pair by pair.
    fn chunked(&self, shape: (u32, u32), turned: bool, by_pairs: bool) -> Result<(f64, Counts)> {
        let groups = self.cover(shape, turned);
        let count = groups.0 * groups.1;
        anyhow::ensure!(count <= self.most_chunks, "{count} chunks, room for {}", self.most_chunks);
        let chunk = self.pipeline(&self.module, if turned { "chunk_by_columns" } else { "chunk" }, shape);
        let pipeline = |entry| self.pipeline(&self.module, entry, (256, 1));
        let (sum, add_pairs, take_first) = (pipeline("sum"), pipeline("add_pairs"), pipeline("take_first"));
        let strides = std::iter::successors(Some(1), |stride| Some(2 * stride)).take_while(|stride| *stride < count);
        let strides: Vec<_> = strides.map(|stride| (stride, self.bound(count, stride))).collect();
        let bound = self.bound(count, 0);
        self.gpu.time(RUNS, &self.bins, (&self.bins, 0), |pass| {
            dispatch(pass, &chunk, &bound, groups);
            if by_pairs {
                for (stride, bound) in &strides {
                    dispatch(pass, &add_pairs, bound, (count.div_ceil(2 * stride), 1));
                }
                dispatch(pass, &take_first, &bound, (1, 1));
            } else {
                dispatch(pass, &sum, &bound, (1, 1));
            }
        })
    }
}

fn module(gpu: &Gpu, source: &str) -> wgpu::ShaderModule {
    gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(source.into()),
    })
}

fn dispatch(
    pass: &mut wgpu::ComputePass,
    pipeline: &wgpu::ComputePipeline,
    bound: &wgpu::BindGroup,
    (across, down): (u32, u32),
) {
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, bound, &[]);
    pass.dispatch_workgroups(across, down, 1);
}

fn outcome(name: impl Into<String>, (microseconds, counts): (f64, Counts), may_be_wrong: bool) -> Outcome {
    Outcome { name: name.into(), microseconds, counts, may_be_wrong }
}

/// Runs the rungs from the lowest to the last below ours.
pub fn climb(gpu: &Gpu, picture: &Picture, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let ladder = Ladder::new(gpu, picture);
    let (row, square) = ((256, 1), (16, 16));
    let plain = (&ladder.plain, 0);
    let bins = (&ladder.bins, 0);
    if gpu.software && picture.pixels.len() > MOST_ON_SOFTWARE {
        println!("left out: one invocation for all pixels (software ends loops after {MOST_ON_SOFTWARE} turns or so)");
    } else {
        outcomes.push(outcome("one invocation", ladder.single("one_invocation", (1, 1), (1, 1), plain, 1)?, false));
    }
    let cover = ladder.cover(row, false);
    outcomes.push(outcome("a pixel each, no atomics", ladder.single("race", row, cover, plain, RUNS)?, true));
    outcomes.push(outcome("a pixel each, atomicAdd", ladder.single("atomics", row, cover, bins, RUNS)?, false));
    for (shape, by_pairs) in [(row, false), (square, false), (row, true), (square, true)] {
        let how = if by_pairs { "added pair by pair" } else { "added by one workgroup" };
        let name = format!("chunks of {}×{}, {how}", shape.0, shape.1);
        outcomes.push(outcome(name, ladder.chunked(shape, false, by_pairs)?, false));
    }
    let groups = (LASTING, 1);
    let luma = (&ladder.bins, 3 * 1024);
    let four = ladder.single("four_channels", row, groups, luma, RUNS)?;
    outcomes.push(outcome("256 workgroups, R, G, B and luma at once", four, false));
    let lasting = ladder.single("lasting", row, groups, bins, RUNS)?;
    outcomes.push(outcome("256 workgroups, a table each", lasting, false));
    if gpu.subgroups {
        let source = SOURCE.replace("\n    atomicAdd(&table[code], 1u);\n}", &format!("{SUBGROUP_VOTE}\n}}"));
        let module = module(gpu, &source);
        let voted = ladder.single_of(&module, "lasting", row, groups, bins, RUNS)?;
        outcomes.push(outcome("256 workgroups, one vote for equal subgroups", voted, false));
    } else {
        println!("left out: subgroups, which this adapter lacks");
    }
    Ok(())
}

/// Compares ways to lay out what invocations do.
pub fn compare(gpu: &Gpu, picture: &Picture, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let ladder = Ladder::new(gpu, picture);
    let bins = (&ladder.bins, 0);
    let row = (256, 1);
    for groups in [2 * LASTING, 4 * LASTING] {
        let lasting = ladder.single("lasting", row, (groups, 1), bins, RUNS)?;
        outcomes.push(outcome(format!("beside: {groups} workgroups, a table each"), lasting, false));
    }
    let down = ladder.single("atomics_by_columns", row, ladder.cover(row, true), bins, RUNS)?;
    outcomes.push(outcome("beside: atomicAdd, neighbours below each other", down, false));
    outcomes.push(outcome("beside: chunks of 1×256, neighbours below", ladder.chunked(row, true, true)?, false));
    let limits = &gpu.limits;
    let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
    let sizes = std::iter::successors(Some(64), |size| Some(2 * size)).take_while(|size| *size <= most);
    for size in sizes {
        let counted = ladder.chunked((size, 1), false, true)?;
        outcomes.push(outcome(format!("beside: chunks of {size}×1, pair by pair"), counted, false));
    }
    for side in [8, 16, 32] {
        if side * side <= most && side <= limits.max_compute_workgroup_size_y {
            let counted = ladder.chunked((side, side), false, true)?;
            outcomes.push(outcome(format!("beside: chunks of {side}×{side}, pair by pair"), counted, false));
        }
    }
    Ok(())
}

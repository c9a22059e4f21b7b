//! The last rung: the shaders of the product, which also bring the picture in and sum up chunks.

use anyhow::Result;
use autolevels::grid::{COLUMNS, Grid, ROWS};

use crate::{Gpu, Outcome, Picture};

macro_rules! shader {
    ($($file:literal),+) => { concat!($(include_str!(concat!("../../shaders/", $file))),+) };
}

const HISTOGRAM: &str =
    shader!("shared/stream.wgsl", "shared/memory.wgsl", "shared/read.wgsl", "shared/slot.wgsl", "histogram.wgsl");
const REDUCE: &str = shader!("shared/stream.wgsl", "shared/slot.wgsl", "reduce.wgsl");
/// Words that a workgroup leaves.
const SLOT: usize = 256 + 2 * COLUMNS;
/// Workgroups that share a row of chunks, to choose from. In the product the bus sets the pace; here it is the GPU.
const BANDS: [u32; 5] = [4, 7, 11, 14, 21];

/// Counts the picture with as many workgroups as are fastest.
pub fn run(gpu: &Gpu, picture: &Picture) -> Result<Outcome> {
    let mut best = run_with(gpu, picture, BANDS[0])?;
    for bands in &BANDS[1..] {
        let other = run_with(gpu, picture, *bands)?;
        if other.microseconds < best.microseconds {
            best = other;
        }
    }
    Ok(best)
}

/// Counts the picture with `histogram.wgsl` and `reduce.wgsl`.
fn run_with(gpu: &Gpu, picture: &Picture, bands: u32) -> Result<Outcome> {
    let (width, height) = (picture.info.width as u32, picture.info.height as u32);
    let grid = Grid::new(&picture.info);
    let (across, down) = (grid.across() as u32, grid.down() as u32);
    let chunks = across * down;
    let [red, green, blue] = picture.info.weights.0;
    let mut stream = vec![red, green, blue, 0];
    stream.extend([width, height, 4 * width, 0]);
    stream.extend([[0, 0, 0, u32::MAX]; 2].concat());
    stream.extend([[0x0302_0100, 0, 0, 1]; 3].concat());
    stream.extend([width, across, chunks, bands]);
    for (edges, room) in [(&grid.columns, COLUMNS + 1), (&grid.rows, ROWS + 1)] {
        stream.extend((0..room).map(|index| edges.get(index).map_or(0, |edge| *edge as u32)));
    }
    stream.extend([width.div_ceil(4) * height, 0, 0, 0]);
    stream.extend([0, width, 0, height]);
    let whole = u32::from(width.is_multiple_of(4));
    let memory = [vec![0, width], vec![0; 10], vec![whole, 0, 0, 0]].concat();

    let uniform = wgpu::BufferUsages::UNIFORM;
    let storage = wgpu::BufferUsages::STORAGE;
    let stream = gpu.buffer(&stream, uniform);
    let memory = gpu.buffer(&memory, uniform);
    let mut words: Vec<u32> = picture.pixels.iter().map(|pixel| u32::from_le_bytes(*pixel)).collect();
    words.resize(words.len().next_multiple_of(4), 0);
    let words = gpu.buffer(&words, storage);
    let slots = gpu.space(SLOT * (bands * down) as usize, storage);
    let statistics = gpu.space(256 + 2 * chunks as usize, storage);
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: width.div_ceil(4), height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Uint,
        usage: wgpu::TextureUsages::STORAGE_BINDING,
        view_formats: &[],
    });
    let texture = texture.create_view(&wgpu::TextureViewDescriptor::default());

    let pipeline = |source: &str, entry: &str, constants: &[(&str, f64)]| {
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants,
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        })
    };
    let sort = [("sort", 2.0), ("red", 0.0), ("green", 1.0), ("blue", 2.0), ("alpha", 4.0), ("across", 128.0)];
    let histogram = pipeline(HISTOGRAM, "histogram", &sort);
    let reduce = pipeline(REDUCE, "reduce", &[]);
    let counting = gpu.bind(
        &histogram.get_bind_group_layout(0),
        &[
            (0, stream.as_entire_binding()),
            (1, wgpu::BindingResource::TextureView(&texture)),
            (2, slots.as_entire_binding()),
        ],
    );
    let source = gpu
        .bind(&histogram.get_bind_group_layout(1), &[(0, memory.as_entire_binding()), (1, words.as_entire_binding())]);
    let adding = gpu.bind(
        &reduce.get_bind_group_layout(0),
        &[(0, stream.as_entire_binding()), (1, slots.as_entire_binding()), (2, statistics.as_entire_binding())],
    );
    let (microseconds, counts) = gpu.time(20, &statistics, (&statistics, 0), |pass| {
        pass.set_pipeline(&histogram);
        pass.set_bind_group(0, &counting, &[]);
        pass.set_bind_group(1, &source, &[]);
        pass.dispatch_workgroups(bands, down, 1);
        pass.set_pipeline(&reduce);
        pass.set_bind_group(0, &adding, &[]);
        pass.dispatch_workgroups(16 + chunks.div_ceil(256), 1, 1);
    })?;
    let name = format!("ours, {} workgroups; also stores the picture, sums chunks", bands * down);
    Ok(Outcome { name, microseconds, counts, may_be_wrong: false })
}

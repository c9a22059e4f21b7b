//! The last rung: the measuring shader of the product, which also brings the picture in and sums up chunks.

use anyhow::{Context, Result};
use autolevels::grid::{COLUMNS, Grid, ROWS};

use crate::{Gpu, Outcome, Picture};

macro_rules! shader {
    ($($file:literal),+) => { concat!($(include_str!(concat!("../../shaders/", $file))),+) };
}

const HISTOGRAM: &str = shader!(
    "shared/stream.wgsl",
    "shared/memory.wgsl",
    "shared/read.wgsl",
    "shared/planes.wgsl",
    "shared/bytes.wgsl",
    "histogram.wgsl"
);
/// Workgroups that share a row of chunks, to choose from. In the product the bus sets the pace; here it is the GPU.
const BANDS: [u32; 5] = [7, 11, 14, 21, 28];

/// Counts the picture with as many workgroups as are fastest.
pub fn run(gpu: &Gpu, picture: &Picture) -> Result<Outcome> {
    fastest(gpu, picture, HISTOGRAM, "ours", "; also stores the picture, sums chunks")
}

/// The same without all that the other rungs do not do.
pub fn run_counting_alone(gpu: &Gpu, picture: &Picture) -> Result<Outcome> {
    // Nothing is stored at any row that there is, and columns are never looked at.
    let store = "texels[y * quads(0u) + x] = quad;";
    let source = HISTOGRAM.replace(store, &format!("if y == 0xffffffffu {{ {store} }}"));
    let end = "    }\n    workgroupBarrier();\n\n";
    let alone = source.split_once("// Columns begin at").and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some(format!("{before}\n{end}{after}"))
    });
    let alone = alone.filter(|alone| alone.len() < HISTOGRAM.len()).context("the shader reads otherwise by now")?;
    fastest(gpu, picture, &alone, "beside: ours", ", counting alone")
}

fn fastest(gpu: &Gpu, picture: &Picture, source: &str, name: &str, what: &str) -> Result<Outcome> {
    let mut best = run_with(gpu, picture, source, BANDS[0])?;
    for bands in &BANDS[1..] {
        let other = run_with(gpu, picture, source, *bands)?;
        if other.microseconds < best.microseconds {
            best = other;
        }
    }
    best.name = format!("{name}, {} workgroups{what}", best.name);
    Ok(best)
}

/// Counts the picture with a form of `histogram.wgsl`. Named after the number of workgroups.
fn run_with(gpu: &Gpu, picture: &Picture, source: &str, bands: u32) -> Result<Outcome> {
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
    stream.extend([width.div_ceil(4) * height, down, 0, 0]);
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
    let totals = gpu.space(256 + 2 * chunks as usize, storage);
    let texels = gpu.space(4 * (width.div_ceil(4) * height) as usize, storage);

    let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let histogram = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("histogram"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &[("sort", 2.0), ("red", 0.0), ("green", 1.0), ("blue", 2.0), ("alpha", 4.0), ("across", 128.0)],
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    });
    let counting = gpu.bind(
        &histogram.get_bind_group_layout(0),
        &[(0, stream.as_entire_binding()), (1, texels.as_entire_binding()), (2, totals.as_entire_binding())],
    );
    let frame = gpu
        .bind(&histogram.get_bind_group_layout(1), &[(0, memory.as_entire_binding()), (1, words.as_entire_binding())]);
    let (microseconds, counts) = gpu.time(20, &totals, (&totals, 0), |pass| {
        pass.set_pipeline(&histogram);
        pass.set_bind_group(0, &counting, &[]);
        pass.set_bind_group(1, &frame, &[]);
        pass.dispatch_workgroups(bands, down, 1);
    })?;
    let name = (bands * down).to_string();
    Ok(Outcome { name, microseconds, counts, may_be_wrong: false })
}

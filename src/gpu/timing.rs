//! How long a GPU takes for the passes of a frame that lies in its own memory, by its own clock.

use crate::backend::BackendError;
use crate::frame::{FrameInfo, Planes};
use crate::grid::Grid;
use crate::levels::curves::Curves;

use super::device::{Gpu, Sharing};
use super::geometry::Traffic;
use super::passes::{Passes, Resources, curve_bytes, statistics_words};
use super::slot::texels;
use super::{fit, pack, passes};

/// How often a frame is timed.
const RUNS: usize = 40;
/// What is timed: each of these by itself, and all of them as one pass, as a frame's output is made.
const STAGES: [(&str, &[Step]); 4] = [
    ("measure", &[Step::Measure]),
    ("collect", &[Step::Collect]),
    ("apply", &[Step::Apply]),
    ("all", &[Step::Measure, Step::Collect, Step::Apply]),
];

enum Step {
    Measure,
    Collect,
    Apply,
}

/// What one stage takes on the GPU.
#[derive(Clone, Copy, Debug)]
pub struct StageTime {
    /// `measure` (with the planes that are not measured brought in), `collect`, `apply`, or `all` of them.
    pub stage: &'static str,
    /// The median and the least of many runs.
    pub median_us: f64,
    pub least_us: f64,
}

/// Times the passes for a frame; everything that they read and write is in the GPU's memory. `None` if the adapter
/// has no timestamps.
///
/// # Errors
/// As [`open`](super::open), and if the planes do not fit `info`.
pub fn time_stages(info: &FrameInfo, frame: &Planes, adapter: &str) -> Result<Option<Vec<StageTime>>, BackendError> {
    info.check(frame)?;
    let gpu = Gpu::alone(adapter, true, Sharing::Copied, wgpu::Features::TIMESTAMP_QUERY)?;
    if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
        return Ok(None);
    }
    let times = gpu.create("timing", |gpu| prepare(gpu, info, frame))??.run(&gpu)?;
    let period = f64::from(gpu.queue.get_timestamp_period()) / 1e3;
    let stages = STAGES.iter().zip(times).map(|((stage, _), mut ticks)| {
        ticks.sort_unstable();
        let at = |index: usize| ticks.get(index).map_or(f64::NAN, |ticks| *ticks as f64 * period);
        StageTime { stage, median_us: at(ticks.len() / 2), least_us: at(0) }
    });
    Ok(Some(stages.collect()))
}

/// A frame in the GPU's memory, and what works on it.
struct Timed {
    passes: Passes,
    bound: passes::Bound,
    source: wgpu::BindGroup,
    destination: wgpu::BindGroup,
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    read: wgpu::Buffer,
}

const QUERIES: u32 = 2 * STAGES.len() as u32;

fn prepare(gpu: &Gpu, info: &FrameInfo, frame: &Planes) -> Result<Timed, BackendError> {
    let grid = Grid::new(info);
    let threads = gpu.limits.max_compute_invocations_per_workgroup;
    let (layout, geometry) = fit(gpu, info, &grid, threads, Traffic::OnDevice)?;
    let passes = Passes::new(gpu, info, &geometry, str::to_owned);
    let buffer = |bytes: u64, usage, mapped_at_creation| {
        let size = bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
        gpu.device.create_buffer(&wgpu::BufferDescriptor { label: Some("timing"), size, usage, mapped_at_creation })
    };
    let storage = wgpu::BufferUsages::STORAGE;
    let filled = |bytes: u64, fill: &dyn Fn(wgpu::WriteOnly<[u8]>)| {
        let buffer = buffer(bytes, storage | wgpu::BufferUsages::COPY_DST, true);
        let mapped = buffer.get_mapped_range_mut(..);
        fill(mapped.map_err(|error| gpu.error("timing", error.to_string()))?.slice(..));
        buffer.unmap();
        Ok::<_, BackendError>(buffer)
    };
    let input = filled(layout.bytes, &|buffer| layout.bring(info, frame, buffer))?;
    let curves = filled(curve_bytes(info) as u64, &|buffer| pack(info, &Curves::identity(info.range.codes()), buffer))?;
    let output = buffer(layout.bytes, storage, false);
    let words = 4 * statistics_words(info, grid.chunks()) as u64;
    let (totals, statistics) = (buffer(words, storage, false), buffer(words, storage, false));
    let stream = passes::constants(gpu, &geometry.stream(info, &grid));
    let texels = texels(gpu, &layout);
    let bound = passes.bind(
        gpu,
        &Resources { stream: &stream, texels: &texels, totals: &totals, statistics: &statistics, curves: &curves },
    );
    let times = 8 * u64::from(QUERIES);
    Ok(Timed {
        source: passes.bind_source(gpu, &layout.places, &input),
        destination: passes.bind_destination(gpu, &layout.places, &output),
        passes,
        bound,
        queries: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("timing"),
            ty: wgpu::QueryType::Timestamp,
            count: QUERIES,
        }),
        resolved: buffer(times, wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC, false),
        read: buffer(times, wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ, false),
    })
}

impl Timed {
    /// The ticks that each stage took, run by run.
    fn run(&self, gpu: &Gpu) -> Result<[Vec<u64>; STAGES.len()], BackendError> {
        let mut ticks: [Vec<u64>; STAGES.len()] = Default::default();
        for _ in 0..RUNS {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for ((_, steps), query) in STAGES.iter().zip((0..).step_by(2)) {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: None,
                    timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                        query_set: &self.queries,
                        beginning_of_pass_write_index: Some(query),
                        end_of_pass_write_index: Some(query + 1),
                    }),
                });
                for step in *steps {
                    match step {
                        Step::Measure => self.passes.measure(&mut pass, &self.bound, &self.source),
                        Step::Collect => self.passes.collect(&mut pass, &self.bound),
                        Step::Apply => self.passes.apply(&mut pass, &self.bound, &self.destination, false),
                    }
                }
            }
            encoder.resolve_query_set(&self.queries, 0..QUERIES, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, None);
            let ticket = gpu.submit(Some(encoder.finish()));
            self.read.map_async(wgpu::MapMode::Read, .., |_| ());
            gpu.poll(&ticket, "timing")?;
            let view = self.read.get_mapped_range(..).map_err(|error| gpu.error("timing", error.to_string()))?;
            let times: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
            drop(view);
            self.read.unmap();
            for (ticks, pair) in ticks.iter_mut().zip(times.chunks(2)) {
                if let [begin, end] = pair {
                    ticks.push(end.wrapping_sub(*begin));
                }
            }
        }
        Ok(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Format, LumaWeights, Plane, Range};

    #[test]
    fn every_stage_is_timed() {
        let info = FrameInfo::new(Format::Nv12, 64, 48, Range::LIMITED, LumaWeights::BT709);
        let bytes = [90; 64 * 48];
        let plane = Plane { data: &bytes, stride: 64 };
        let skip = std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip");
        let stages = match time_stages(&info, &[plane, plane].into_iter().collect(), "") {
            Err(BackendError::NoAdapter { .. }) if skip => return,
            stages => stages.unwrap_or_else(|error| panic!("{error}")),
        };
        // An adapter need not have timestamps.
        let Some(stages) = stages else { return };
        assert_eq!(stages.iter().map(|time| time.stage).collect::<Vec<_>>(), ["measure", "collect", "apply", "all"]);
        assert!(stages.iter().all(|time| time.least_us >= 0.0 && time.median_us >= time.least_us), "{stages:?}");
        assert!(time_stages(&info, &[plane].into_iter().collect(), "").is_err(), "a plane is missing");
    }
}

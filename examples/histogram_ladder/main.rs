//! The road to a fast histogram on a GPU, rung by rung, each timed on the same picture and checked.
//!
//! ```text
//! cargo run --release --example histogram_ladder -- [WIDTHxHEIGHT] [flat] [histogram.png]
//! ```
//!
//! Times are the GPU's own (timestamp queries), the best of several runs, without bringing the picture there. For every
//! rung the counts are cleared before its time begins, and are in the GPU's memory when it ends.
//! Draws the histogram as a PNG if a file is named.

mod ours;
mod rungs;

use std::time::Instant;

use anyhow::{Context, Result, bail};
use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};

/// The picture that all rungs count: RGBA, one word a pixel.
pub struct Picture {
    pub info: FrameInfo,
    pub pixels: Vec<[u8; 4]>,
}

/// Counts of the 256 luma codes.
pub type Counts = [u32; 256];

impl Picture {
    /// Soft shapes with some noise between dark bars, or one colour.
    fn new(width: usize, height: usize, flat: bool) -> Picture {
        let mut random = 7_u32;
        let pixel = |index: usize| {
            let (x, y) = ((index % width) as f32, (index / width) as f32);
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if flat || y < height as f32 / 12.0 {
                return [90, 80, 70, 255];
            }
            let wave = |shift: f32| 110.0 + 60.0 * (x / 190.0 + shift).sin() * (y / 140.0 - shift).cos();
            let noise = (random >> 29) as f32;
            [(wave(0.0) + noise) as u8, (wave(0.5) + noise) as u8, (wave(1.1) + noise) as u8, 255]
        };
        let info = FrameInfo::new(Format::Rgba, width, height, Range::FULL, LumaWeights::BT709);
        Picture { info, pixels: (0..width * height).map(pixel).collect() }
    }

    fn luma(&self, pixel: &[u8; 4]) -> usize {
        let [red, green, blue] = self.info.weights.0;
        let sum = red * u32::from(pixel[0]) + green * u32::from(pixel[1]) + blue * u32::from(pixel[2]);
        ((sum + 32768) >> 16) as usize
    }

    fn count(&self) -> Counts {
        let mut counts = [0; 256];
        self.pixels.iter().for_each(|pixel| counts[self.luma(pixel)] += 1);
        counts
    }
}

/// What a rung gave.
pub struct Outcome {
    pub name: String,
    pub microseconds: f64,
    pub counts: Counts,
    /// Whether wrong counts are what the rung is to show.
    pub may_be_wrong: bool,
}

/// An adapter with what the rungs need.
pub struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub limits: wgpu::Limits,
    pub software: bool,
    pub subgroups: bool,
    queries: wgpu::QuerySet,
    times: wgpu::Buffer,
    times_read: wgpu::Buffer,
}

impl Gpu {
    fn open() -> Result<Gpu> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = wait_for(instance.request_adapter(&options)).context("there is no adapter")?;
        let info = adapter.get_info();
        println!("{} ({:?}), {}", info.name, info.device_type, info.driver_info);
        let features = adapter.features() & (wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SUBGROUP);
        if !features.contains(wgpu::Features::TIMESTAMP_QUERY) {
            bail!("{} cannot tell how long it takes (no timestamp queries)", info.name);
        }
        let limits = adapter.limits();
        let (device, queue) = wait_for(adapter.request_device(&wgpu::DeviceDescriptor {
            required_features: features,
            required_limits: limits.clone(),
            ..Default::default()
        }))?;
        let buffer = |usage| {
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false })
        };
        Ok(Gpu {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            times: buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            times_read: buffer(wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ),
            limits,
            software: info.device_type == wgpu::DeviceType::Cpu,
            subgroups: features.contains(wgpu::Features::SUBGROUP),
            device,
            queue,
        })
    }

    /// A buffer with these words, which shaders read and write.
    pub fn buffer(&self, words: &[u32], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let buffer = self.space(words.len(), usage);
        self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
        buffer
    }

    /// A buffer of so many words.
    pub fn space(&self, words: usize, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * words as u64,
            usage: usage | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// Binds what a pipeline takes in `group`.
    pub fn bind(&self, layout: &wgpu::BindGroupLayout, resources: &[(u32, wgpu::BindingResource)]) -> wgpu::BindGroup {
        let entries = resources
            .iter()
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: *binding, resource: resource.clone() });
        let entries: Vec<_> = entries.collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
    }

    /// Runs a pass `runs` times, each after `cleared` is set to zeros; gives the shortest time in µs and what the
    /// first 256 words of `result` are in the end.
    pub fn time(
        &self,
        runs: usize,
        cleared: &wgpu::Buffer,
        result: (&wgpu::Buffer, u64),
        work: impl Fn(&mut wgpu::ComputePass),
    ) -> Result<(f64, Counts)> {
        let mut best = f64::INFINITY;
        for _ in 0..runs {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.clear_buffer(cleared, 0, None);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: &self.queries,
                    beginning_of_pass_write_index: Some(0),
                    end_of_pass_write_index: Some(1),
                }),
            });
            work(&mut pass);
            drop(pass);
            encoder.resolve_query_set(&self.queries, 0..2, &self.times, 0);
            encoder.copy_buffer_to_buffer(&self.times, 0, &self.times_read, 0, 16);
            self.queue.submit([encoder.finish()]);
            let times: Vec<u64> = self.read(&self.times_read)?;
            best = best.min((times[1] - times[0]) as f64 * f64::from(self.queue.get_timestamp_period()) / 1e3);
        }
        let read = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 1024,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(result.0, result.1, &read, 0, 1024);
        self.queue.submit([encoder.finish()]);
        let words: Vec<u32> = self.read(&read)?;
        Ok((best, std::array::from_fn(|code| words[code])))
    }

    fn read<T: bytemuck::Pod>(&self, buffer: &wgpu::Buffer) -> Result<Vec<T>> {
        buffer.map_async(wgpu::MapMode::Read, .., |_| ());
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        let values = bytemuck::pod_collect_to_vec(&buffer.get_mapped_range(..)?);
        buffer.unmap();
        Ok(values)
    }
}

fn main() -> Result<()> {
    let (mut size, mut flat, mut file) = ((2448, 1505), false, None);
    for argument in std::env::args().skip(1) {
        match argument.split_once('x').map(|(width, height)| (width.parse(), height.parse())) {
            Some((Ok(width), Ok(height))) => size = (width, height),
            _ if argument == "flat" => flat = true,
            _ => file = Some(argument),
        }
    }
    let picture = Picture::new(size.0, size.1, flat);
    println!("{}×{}, {}", size.0, size.1, if flat { "one colour" } else { "soft shapes, noise and a bar" });
    let gpu = Gpu::open()?;
    println!("timed: from cleared counts to counts in the GPU's memory");
    let began = Instant::now();
    let counts = picture.count();
    let on_cpu = began.elapsed().as_secs_f64() * 1e6;
    let mut outcomes =
        vec![Outcome { name: "CPU, one loop".into(), microseconds: on_cpu, counts, may_be_wrong: false }];
    rungs::climb(&gpu, &picture, &mut outcomes)?;
    let ours = ours::run(&gpu, &picture)?;
    let best = ours.microseconds;
    outcomes.push(ours);
    outcomes.push(ours::run_counting_alone(&gpu, &picture)?);
    rungs::compare(&gpu, &picture, &mut outcomes)?;

    let mut wrong = Vec::new();
    println!("{:58} {:>12} {:>9}", "", "µs", "ours = 1");
    for outcome in &outcomes {
        let counted: u32 = outcome.counts.iter().sum();
        let verdict = if outcome.counts == counts {
            String::new()
        } else if outcome.may_be_wrong {
            let lost = 1.0 - f64::from(counted) / picture.pixels.len() as f64;
            format!("  loses {:.1} % of the pixels", 100.0 * lost)
        } else {
            wrong.push(outcome.name.clone());
            "  WRONG".into()
        };
        println!("{:58} {:12.1} {:9.2}{verdict}", outcome.name, outcome.microseconds, outcome.microseconds / best);
    }
    if let Some(file) = file {
        draw(&counts, &file)?;
    }
    if !wrong.is_empty() {
        bail!("wrong counts: {}", wrong.join(", "));
    }
    Ok(())
}

/// Draws a histogram, two columns of pixels for each code.
fn draw(counts: &Counts, file: &str) -> Result<()> {
    const WIDTH: usize = 512;
    const HEIGHT: usize = 200;
    let highest = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let mut pixels = vec![255_u8; WIDTH * HEIGHT];
    for x in 0..WIDTH {
        let height = (f64::from(counts[x / 2]) / highest * HEIGHT as f64).round() as usize;
        (HEIGHT - height..HEIGHT).for_each(|y| pixels[y * WIDTH + x] = 60);
    }
    let mut encoder = png::Encoder::new(std::fs::File::create(file)?, WIDTH as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(())
}

fn wait_for<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

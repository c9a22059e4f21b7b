//! `autolevels bench`: how fast frames are levelled here, for sizes × formats × backends × contents.
//!
//! Frames lie in memory and go through the [`Leveler`] as those of a program would; nothing is decoded or shown.

mod frames;
mod kernels;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use autolevels::leveler::{Leveler, Timing};
use autolevels::settings::{BackendChoice, Mode, Settings};
use serde::Serialize;

use super::Ending;
use frames::{BenchFrame, Content, Memory};

/// Measures how fast frames are levelled on this machine
#[derive(clap::Args)]
#[command(after_help = "Ratios hold within one run: compare rows of one table, not of two.")]
pub struct Arguments {
    /// Sizes: 360p, 720p, 1080p, 4k, 8k or WIDTHxHEIGHT
    #[arg(long, value_delimiter = ',', default_value = "1080p,4k", value_name = "SIZE,…")]
    sizes: Vec<String>,
    /// Pixel formats, by GStreamer's names
    #[arg(long, value_delimiter = ',', default_value = "NV12,RGBA", value_name = "FORMAT,…")]
    formats: Vec<String>,
    /// Backends: cpu, gpu (left out when there is no GPU, unless named here)
    #[arg(long, value_delimiter = ',', value_name = "BACKEND,…")]
    backends: Vec<String>,
    /// Contents: natural, noise, flat, half-black
    #[arg(long, value_delimiter = ',', default_value = "natural,noise,flat,half-black", value_name = "CONTENT,…")]
    contents: Vec<Content>,
    /// Modes: stretch, equalize
    #[arg(long, value_delimiter = ',', default_value = "stretch", value_name = "MODE,…")]
    modes: Vec<String>,
    /// Whose memory the frames lie in: pages that a GPU reads in place, or anybody's, copied once
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pages", value_name = "MEMORY,…")]
    memory: Vec<Memory>,
    /// Frames in flight; 0 also tells how long one frame takes from submit to result
    #[arg(long, value_delimiter = ',', default_value = "-1", allow_negative_numbers = true, value_name = "N,…")]
    frames_in_flight: Vec<i64>,
    /// Part of an adapter's name, or its index
    #[arg(long, default_value = "")]
    adapter: String,
    /// Seconds that each row is measured
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Print what each stage takes on the GPU, by its clock, for frames in its own memory
    #[arg(long, conflicts_with_all = ["backends", "modes", "memory", "frames_in_flight", "seconds"])]
    kernels: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// One row of the table.
#[derive(Serialize)]
struct Row {
    backend: &'static str,
    adapter: String,
    format: &'static str,
    width: usize,
    height: usize,
    content: String,
    mode: &'static str,
    memory: String,
    frames_in_flight: usize,
    frames: usize,
    fps: f64,
    /// Mean time a frame.
    ms: f64,
    /// From submit to result, with nothing in flight.
    median_ms: Option<f64>,
    p99_ms: Option<f64>,
    measure_ms: f64,
    decide_ms: f64,
    apply_ms: f64,
    /// Bytes of the frame read and written, over the time.
    gigabytes_per_second: f64,
    /// The same over what a plain copy of the frame reaches in this run, on one thread.
    share_of_copy: f64,
}

/// Runs every combination and prints a row for each.
pub fn run(args: &Arguments) -> Result<Ending> {
    let mut header = !args.json;
    for size in &args.sizes {
        let (width, height) = parse_size(size)?;
        for format in &args.formats {
            let Some(format) = Format::find(format) else {
                let known: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
                bail!("'{format}' is no format that is levelled; there are {}", known.join(", "));
            };
            let range = if format.is_rgb() { Range::FULL } else { Range::LIMITED };
            let info = FrameInfo::new(format, width, height, range, LumaWeights::BT709);
            if args.kernels {
                for content in &args.contents {
                    kernels::print(&info, *content, &args.adapter, args.json, &mut header)?;
                }
                continue;
            }
            let copy = frames::copy_speed(&info);
            for settings in settings(args)? {
                for memory in &args.memory {
                    for content in &args.contents {
                        let row = measure(&info, &settings, *memory, *content, copy, args.seconds)?;
                        print(&row, args.json, &mut header)?;
                    }
                }
            }
        }
    }
    Ok(Ending::Done)
}

/// The settings to go through: backends × modes × frames in flight.
fn settings(args: &Arguments) -> Result<Vec<Settings>> {
    let mut all = Vec::new();
    let backends = match args.backends.as_slice() {
        [] if autolevels::gpu::automatic(&autolevels::gpu::adapters()).is_some() => {
            vec!["cpu".to_owned(), "gpu".to_owned()]
        }
        [] => vec!["cpu".to_owned()],
        named => named.to_vec(),
    };
    for backend in &backends {
        for mode in &args.modes {
            for frames in &args.frames_in_flight {
                let mut settings = Settings { adapter: args.adapter.clone(), ..Settings::default() };
                for (name, text) in [("backend", backend), ("mode", mode), ("frames-in-flight", &frames.to_string())] {
                    let setting = autolevels::settings::Setting::find(name);
                    let value = setting.map(|setting| setting.parse(text)).transpose()?;
                    if let Some(value) = value {
                        settings.set(name, value)?;
                    }
                }
                if settings.mode == Mode::Off || settings.backend == BackendChoice::Auto {
                    bail!("bench takes the modes stretch and equalize, and the backends cpu and gpu");
                }
                all.push(settings);
            }
        }
    }
    Ok(all)
}

/// Levels frames for `seconds`, after a fifth of that to warm up.
fn measure(
    info: &FrameInfo,
    settings: &Settings,
    memory: Memory,
    content: Content,
    copy: f64,
    seconds: f64,
) -> Result<Row> {
    let mut leveler = Leveler::<BenchFrame>::new(info, settings, false)?;
    let mut idle: Vec<BenchFrame> =
        (0..leveler.depth() as u32 + 2).map(|seed| BenchFrame::new(info, memory, content, seed)).collect();
    let mut latencies = Vec::new();
    let mut number = 0;
    let mut run = |leveler: &mut Leveler<BenchFrame>, seconds: f64, latencies: &mut Vec<Duration>| -> Result<usize> {
        let (began, mut frames) = (Instant::now(), 0);
        while began.elapsed().as_secs_f64() < seconds || frames < 3 {
            let Some(frame) = idle.pop() else { bail!("the leveler keeps more frames than it says") };
            let submitted = Instant::now();
            leveler.submit(frame, Timing { time: Some(Duration::from_millis(40) * number), votes: true });
            number += 1;
            while let Some(done) = leveler.receive() {
                done.outcome?;
                idle.insert(0, done.memory);
                frames += 1;
            }
            latencies.push(submitted.elapsed());
        }
        while let Some(done) = leveler.drain() {
            done.outcome?;
            idle.insert(0, done.memory);
            frames += 1;
        }
        Ok(frames)
    };
    run(&mut leveler, seconds / 5.0, &mut latencies)?;
    latencies.clear();
    let before = leveler.counters();
    let began = Instant::now();
    let frames = run(&mut leveler, seconds, &mut latencies)?;
    let each = began.elapsed().as_secs_f64() / frames as f64;
    let after = leveler.counters();
    latencies.sort();
    let at = |share: f64| {
        (leveler.depth() == 0).then(|| latencies[((latencies.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3)
    };
    let ms = |from: Duration, to: Duration| (to - from).as_secs_f64() * 1e3 / frames as f64;
    let speed = 2.0 * frames::bytes(info) as f64 / each / 1e9;
    Ok(Row {
        backend: leveler.backend().0,
        adapter: leveler.backend().1.to_owned(),
        format: info.format.name(),
        width: info.width,
        height: info.height,
        content: content.to_string(),
        mode: settings.mode.name(),
        memory: memory.to_string(),
        frames_in_flight: leveler.depth(),
        frames,
        fps: 1.0 / each,
        ms: each * 1e3,
        median_ms: at(0.5),
        p99_ms: at(0.99),
        measure_ms: ms(before.measure, after.measure),
        decide_ms: ms(before.decide, after.decide),
        apply_ms: ms(before.apply, after.apply),
        gigabytes_per_second: speed,
        share_of_copy: speed / copy,
    })
}

fn print(row: &Row, json: bool, header: &mut bool) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string(row)?);
        return Ok(());
    }
    if std::mem::take(header) {
        println!(
            "{:4} {:6} {:>9} {:10} {:8} {:7} {:>2}  {:>8} {:>8} {:>8} {:>8}  {:>8} {:>7} {:>8}  {:>6} {:>5}",
            "",
            "format",
            "size",
            "content",
            "mode",
            "memory",
            "n",
            "fps",
            "ms",
            "median",
            "p99",
            "measure",
            "decide",
            "apply",
            "GB/s",
            "copy"
        );
    }
    let optional = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.3}"));
    println!(
        "{:4} {:6} {:>9} {:10} {:8} {:7} {:>2}  {:8.1} {:8.3} {:>8} {:>8}  {:8.3} {:7.3} {:8.3}  {:6.2} {:5.2}",
        row.backend,
        row.format,
        format!("{}x{}", row.width, row.height),
        row.content,
        row.mode,
        row.memory,
        row.frames_in_flight,
        row.fps,
        row.ms,
        optional(row.median_ms),
        optional(row.p99_ms),
        row.measure_ms,
        row.decide_ms,
        row.apply_ms,
        row.gigabytes_per_second,
        row.share_of_copy,
    );
    Ok(())
}

fn parse_size(text: &str) -> Result<(usize, usize)> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "360p" => (640, 360),
        "720p" => (1280, 720),
        "1080p" => (1920, 1080),
        "4k" => (3840, 2160),
        "8k" => (7680, 4320),
        other => {
            let sides =
                other.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
            match sides {
                Some((width @ 1..=16384, height @ 1..=16384)) => (width, height),
                _ => bail!("'{text}' is no size: give 1080p, 4k or WIDTHxHEIGHT with sides from 1 to 16384"),
            }
        }
    })
}

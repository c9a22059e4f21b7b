//! Measure and apply on the CPU: 1080p NV12 in place, by content, curve and threads; other formats and sizes on
//! natural content. Throughput is in bytes of the frame. And what deciding on a frame takes.

#[path = "../tests/common/mod.rs"]
mod common;

use autolevels::backend::Backend;
use autolevels::cpu::{Cpu, Path};
use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use autolevels::grid::Grid;
use autolevels::levels::Levels;
use autolevels::levels::curves::{Curves, Of};
use autolevels::levels::statistics::Statistics;
use autolevels::settings::{Mode, Settings};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use common::frames::{Content, TestFrame};

const HD: (usize, usize) = (1920, 1080);

fn info(format: Format, (width, height): (usize, usize)) -> FrameInfo {
    FrameInfo::new(format, width, height, Range::LIMITED, LumaWeights::BT709)
}

/// A curve of 8-bit codes for as many codes as a format has.
fn table(codes: usize, curve: impl Fn(f64) -> f64) -> Vec<u16> {
    let (scale, most) = (codes as f64 / 256.0, codes as f64 - 1.0);
    (0..codes).map(|code| (curve(code as f64 / scale) * scale).round().clamp(0.0, most) as u16).collect()
}

/// A stretch, which of 10 bits is arithmetic, and a gamma curve, which is looked up.
fn curves(info: &FrameInfo) -> [(&'static str, Curves); 2] {
    let table = |curve: &dyn Fn(f64) -> f64| table(info.range.codes(), curve);
    let chroma = || table(&|x| 128.0 + 1.3 * (x - 128.0));
    let gamma = |x: f64| 255.0 * (x / 255.0).powf(0.8);
    [
        ("line", Curves::new([table(&|x| 1.3 * x - 21.0), chroma(), chroma()])),
        ("table", Curves::new([table(&gamma), chroma(), chroma()])),
    ]
}

fn contents(criterion: &mut Criterion) {
    let info = info(Format::Nv12, HD);
    let contents = [Content::Natural, Content::Noise, Content::Flat, Content::HalfBlack];
    for threads in [1, 2] {
        let mut group = criterion.benchmark_group(format!("1080p NV12, threads {threads}"));
        group.throughput(Throughput::Bytes((HD.0 * HD.1 * 3 / 2) as u64));
        let mut cpu = Cpu::with(&info, 1, Path::best(), threads);
        for content in contents {
            let mut frame = TestFrame::new(&info, content, 1, 0);
            group.bench_function(format!("measure {}", content.name()), |bencher| {
                bencher.iter(|| cpu.measure(0, &mut frame));
            });
        }
        for (name, curves) in curves(&info) {
            let mut frame = TestFrame::new(&info, Content::Natural, 1, 0);
            group.bench_function(format!("apply {name}"), |bencher| {
                bencher.iter(|| cpu.apply(0, &mut frame, &curves));
            });
            let mut frame = TestFrame::new(&info, Content::Natural, 1, 0).copied(0);
            group.bench_function(format!("apply {name}, copying"), |bencher| {
                bencher.iter(|| cpu.apply(0, &mut frame, &curves));
            });
        }
        group.finish();
    }
}

/// What each kind of instructions is worth, on one thread.
fn paths(criterion: &mut Criterion) {
    let info = info(Format::Nv12, HD);
    let [_, (_, table)] = curves(&info);
    for path in Path::ALL.iter().filter(|path| path.is_available()) {
        let mut group = criterion.benchmark_group(format!("{info}, {}, threads 1", path.name()));
        let mut cpu = Cpu::with(&info, 1, *path, 1);
        let mut frame = TestFrame::new(&info, Content::Natural, 1, 0);
        group.bench_function("measure", |bencher| bencher.iter(|| cpu.measure(0, &mut frame)));
        group.bench_function("apply", |bencher| bencher.iter(|| cpu.apply(0, &mut frame, &table)));
        group.finish();
    }
}

fn formats_and_sizes(criterion: &mut Criterion) {
    let formats = [Format::Yuy2, Format::Rgba, Format::Bgrx, Format::Rgb, Format::P010].map(|format| (format, HD));
    let sizes = [(640, 360), (3840, 2160), (7680, 4320)].map(|size| (Format::Nv12, size));
    for (format, size) in formats.into_iter().chain(sizes) {
        let info = info(format, size);
        let mut group = criterion.benchmark_group(format!("{info}, threads 1"));
        let bytes: usize = info.planes.iter().map(|plane| plane.bytes * plane.rows).sum();
        group.throughput(Throughput::Bytes(bytes as u64));
        let mut cpu = Cpu::with(&info, 1, Path::best(), 1);
        let mut frame = TestFrame::new(&info, Content::Natural, 1, 0);
        group.bench_function("measure", |bencher| bencher.iter(|| cpu.measure(0, &mut frame)));
        for (name, curves) in curves(&info) {
            group.bench_function(format!("apply {name}"), |bencher| {
                bencher.iter(|| cpu.apply(0, &mut frame, &curves));
            });
        }
        group.finish();
    }
}

/// Levels of R, G and B of their own.
fn channels(criterion: &mut Criterion) {
    for format in [Format::Nv12, Format::Yuy2, Format::Y444, Format::Rgba] {
        let info = info(format, HD);
        let [(_, line), _] = curves(&info);
        let curves = Curves { of: Of::Channels, ..line };
        let mut group = criterion.benchmark_group(format!("{info}, channels, threads 1"));
        let mut cpu = Cpu::with(&info, 1, Path::best(), 1);
        cpu.count_channels(true);
        let mut frame = TestFrame::new(&info, Content::Natural, 1, 0);
        group.bench_function("measure", |bencher| bencher.iter(|| cpu.measure(0, &mut frame)));
        group.bench_function("apply", |bencher| bencher.iter(|| cpu.apply(0, &mut frame, &curves)));
        group.finish();
    }
}

/// What is decided on each frame, by mode and by size: the noise of small pictures leaves more to explain.
fn decide(criterion: &mut Criterion) {
    for size in [(640, 360), HD, (3840, 2160)] {
        let info = info(Format::Nv12, size);
        let mut group = criterion.benchmark_group(format!("{info}, decide"));
        let mut cpu = Cpu::with(&info, 1, Path::best(), 1);
        let statistics = [1, 2].map(|seed| {
            let mut statistics = Statistics::empty(info.range.bins(), Grid::new(&info).chunks());
            let mut frame = TestFrame::new(&info, Content::Natural, seed, 0);
            let measured = cpu.measure(0, &mut frame).and_then(|()| cpu.statistics(0, &mut statistics));
            measured.expect("test frames hold what their description says");
            statistics
        });
        for mode in [Mode::Stretch, Mode::Equalize] {
            let settings = Settings { mode, ..Settings::default() };
            let (mut levels, mut frame) = (Levels::new(&info), 0);
            group.bench_function(mode.name(), |bencher| {
                bencher.iter(|| {
                    frame += 1;
                    levels.decide(&statistics[frame % 2], &settings, Some(frame as f64 * 0.04)).report.gain
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = contents, paths, formats_and_sizes, channels, decide
}
criterion_main!(benches);

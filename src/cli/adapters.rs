//! `autolevels adapters`: the GPUs that were seen, and the one that `auto` takes.

use std::fmt::Write as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde::Serialize;

use super::Ending;

/// Lists the GPUs, and which one is taken when none is asked for
#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// One adapter, as it is shown.
#[derive(Serialize)]
struct Adapter {
    /// What `--adapter` may name it by.
    index: usize,
    name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    kind: &'static str,
    driver: String,
    /// The interface to the driver: `vulkan`, `metal`, `dx12`, `gl`.
    api: String,
    /// Most invocations of a workgroup, and bytes that they share.
    workgroup_threads: u32,
    workgroup_bytes: u32,
    /// Longest side of a texture, in texels of four samples.
    texture_texels: u32,
    /// Whether `backend=auto` takes it, and why (or why not).
    auto: bool,
    reason: &'static str,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let adapters = list();
    let mut text = String::new();
    if arguments.json {
        for adapter in &adapters {
            writeln!(text, "{}", serde_json::to_string(adapter)?)?;
        }
    } else {
        for adapter in &adapters {
            let Adapter { index, name, kind, driver, api, workgroup_threads, workgroup_bytes, .. } = adapter;
            let mark = if adapter.auto { '*' } else { ' ' };
            writeln!(text, "{mark} {index}: {name} ({kind}, {api}, {driver})")?;
            writeln!(
                text,
                "     workgroups of {workgroup_threads} sharing {workgroup_bytes} bytes; {}",
                adapter.reason
            )?;
        }
        if !adapters.iter().any(|adapter| adapter.auto) {
            writeln!(text, "No adapter that --backend auto takes: the CPU does the work.")?;
        }
    }
    std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes())?;
    Ok(Ending::Done)
}

fn list() -> Vec<Adapter> {
    let backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let mut adapters: Vec<Adapter> = enumerate(backends).iter().enumerate().map(describe).collect();
    let rank =
        |adapter: &Adapter| ["discrete", "integrated", "virtual", "other"].iter().position(|k| *k == adapter.kind);
    let best = adapters.iter().filter_map(|adapter| Some((rank(adapter)?, adapter.index))).min().map(|best| best.1);
    for adapter in &mut adapters {
        adapter.auto = best == Some(adapter.index);
        adapter.reason = match adapter.kind {
            "cpu" => "software, slower than the CPU backend: taken only when asked for",
            _ if adapter.auto => "taken: the best kind of GPU here",
            _ => "not taken: another one is as good or better",
        };
    }
    adapters
}

fn describe((index, adapter): (usize, &wgpu::Adapter)) -> Adapter {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "cpu",
        wgpu::DeviceType::Other => "other",
    };
    Adapter {
        index,
        name: info.name,
        kind,
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        api: info.backend.to_str().to_owned(),
        workgroup_threads: limits.max_compute_invocations_per_workgroup,
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        texture_texels: limits.max_texture_dimension_2d,
        auto: false,
        reason: "",
    }
}

fn enumerate(backends: wgpu::Backends) -> Vec<wgpu::Adapter> {
    let descriptor = wgpu::InstanceDescriptor { backends, ..wgpu::InstanceDescriptor::new_without_display_handle() };
    let instance = wgpu::Instance::new(descriptor);
    let mut adapters = pin!(instance.enumerate_adapters(backends));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // Native adapters are there at once; only in a browser does this take time.
        match adapters.as_mut().poll(&mut context) {
            Poll::Ready(adapters) => return adapters,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

//! `autolevels adapters`: the GPUs that were seen, and the one that `auto` takes.

use std::fmt::Write as _;

use autolevels::gpu::{self, AdapterInfo, AdapterKind};
use serde::Serialize;

use super::Ending;

/// Lists the GPUs, and which one is taken when none is asked for
#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// One adapter, as `--json` shows it.
#[derive(Serialize)]
struct Row<'a> {
    /// What `--adapter` may name it by.
    index: usize,
    name: &'a str,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    kind: &'static str,
    driver: &'a str,
    /// The interface to the driver: `vulkan`, `metal`, `dx12`, `gl`.
    api: &'a str,
    /// Most invocations of a workgroup, and bytes that they share.
    workgroup_threads: u32,
    workgroup_bytes: u32,
    /// Most bytes of a frame.
    frame_bytes: u64,
    /// Whether `backend=auto` takes it, and why (or why not).
    auto: bool,
    reason: String,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let adapters = gpu::adapters();
    let auto = gpu::automatic(&adapters);
    let mut text = String::new();
    for adapter in &adapters {
        let row = row(adapter, auto == Some(adapter));
        if arguments.json {
            writeln!(text, "{}", serde_json::to_string(&row)?)?;
        } else {
            let mark = if row.auto { '*' } else { ' ' };
            writeln!(text, "{mark} {}: {} ({}, {}, {})", row.index, row.name, row.kind, row.api, row.driver)?;
            writeln!(
                text,
                "     workgroups of {} sharing {} bytes; frames up to {} MB; {}",
                row.workgroup_threads,
                row.workgroup_bytes,
                row.frame_bytes / 1_000_000,
                row.reason
            )?;
        }
    }
    if auto.is_none() && !arguments.json {
        writeln!(text, "No adapter that --backend auto takes: the CPU does the work.")?;
    }
    std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes())?;
    Ok(Ending::Done)
}

fn row(adapter: &AdapterInfo, auto: bool) -> Row<'_> {
    Row {
        index: adapter.index,
        name: &adapter.name,
        kind: adapter.kind.name(),
        driver: &adapter.driver,
        api: &adapter.backend,
        workgroup_threads: adapter.workgroup_threads,
        workgroup_bytes: adapter.workgroup_bytes,
        frame_bytes: adapter.max_frame,
        auto,
        reason: match (&adapter.unfit, adapter.kind) {
            (Some(reason), _) => format!("not taken: {reason}"),
            (None, AdapterKind::Cpu) => "software, slower than the CPU backend: taken only when asked for".into(),
            (None, _) if auto => "taken: the best kind of GPU here".into(),
            (None, _) => "not taken: another one is as good or better".into(),
        },
    }
}

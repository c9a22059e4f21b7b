//! The GPUs of this machine: listing them, and choosing one.

use std::sync::OnceLock;

use crate::backend::BackendError;

use super::device::wait_for;
use super::passes::{FEWEST_THREADS, MOST_BUFFERS};

/// What an adapter is, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdapterKind {
    /// A graphics card with its own memory.
    Discrete,
    /// Part of the processor.
    Integrated,
    /// A share of the host's GPU in a virtual machine.
    Virtual,
    /// The driver does not say.
    Other,
    /// Software: correct and slow. Taken only when asked for.
    Cpu,
}

impl AdapterKind {
    /// The name shown to people and programs.
    pub fn name(self) -> &'static str {
        match self {
            AdapterKind::Discrete => "discrete",
            AdapterKind::Integrated => "integrated",
            AdapterKind::Virtual => "virtual",
            AdapterKind::Other => "other",
            AdapterKind::Cpu => "cpu",
        }
    }
}

/// One adapter, as it is listed and chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterInfo {
    /// Its place in the list, by which the `adapter` setting may name it.
    pub index: usize,
    pub name: String,
    pub kind: AdapterKind,
    /// Name and version of the driver.
    pub driver: String,
    /// The interface to the driver: `vulkan`, `metal`, `dx12`, `gl`.
    pub backend: String,
    /// Most invocations of a workgroup, and bytes of memory that they share.
    pub workgroup_threads: u32,
    pub workgroup_bytes: u32,
    /// Most bytes of a frame.
    pub max_frame: u64,
    /// Whether shaders read and write the memory that the processor maps, which saves a copy each way.
    pub mappable: bool,
    /// Why it cannot be used, if it cannot.
    pub unfit: Option<String>,
}

impl AdapterInfo {
    fn of(index: usize, adapter: &wgpu::Adapter) -> AdapterInfo {
        let info = adapter.get_info();
        let limits = adapter.limits();
        AdapterInfo {
            index,
            name: info.name,
            kind: match info.device_type {
                wgpu::DeviceType::DiscreteGpu => AdapterKind::Discrete,
                wgpu::DeviceType::IntegratedGpu => AdapterKind::Integrated,
                wgpu::DeviceType::VirtualGpu => AdapterKind::Virtual,
                wgpu::DeviceType::Other => AdapterKind::Other,
                wgpu::DeviceType::Cpu => AdapterKind::Cpu,
            },
            driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
            backend: info.backend.to_str().to_owned(),
            workgroup_threads: limits.max_compute_invocations_per_workgroup,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            max_frame: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
            mappable: adapter.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
            unfit: unfit(adapter, &limits),
        }
    }
}

/// What the passes need and an adapter lacks.
fn unfit(adapter: &wgpu::Adapter, limits: &wgpu::Limits) -> Option<String> {
    if !adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
        Some("it has no compute shaders".into())
    } else if limits.max_compute_invocations_per_workgroup < FEWEST_THREADS
        || limits.max_compute_workgroup_size_x < FEWEST_THREADS
    {
        Some("its workgroups are too small".into())
    } else if limits.max_storage_buffers_per_shader_stage < MOST_BUFFERS {
        Some("its shaders take too few buffers".into())
    } else {
        None
    }
}

/// All adapters of this machine. OpenGL's are listed only where there is no other.
pub fn adapters() -> Vec<AdapterInfo> {
    enumerate(true).iter().map(|(info, _)| info.clone()).collect()
}

/// An adapter with its entry in the list.
pub type Found = (AdapterInfo, wgpu::Adapter);

/// The one of `adapters` that `backend=auto` takes, if there is a real GPU that is fit.
pub fn automatic(adapters: &[AdapterInfo]) -> Option<&AdapterInfo> {
    choose(adapters, "", false).ok().map(|index| &adapters[index])
}

/// The adapters, looked for once in a process; OpenGL's only if there is no other and any is good enough, and none
/// of its software, which has nothing for it that software through Vulkan has not.
fn enumerate(any: bool) -> &'static [Found] {
    static PRIMARY: OnceLock<Vec<Found>> = OnceLock::new();
    static GL: OnceLock<Vec<Found>> = OnceLock::new();
    let primary = PRIMARY.get_or_init(|| list(wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12));
    let gl = || {
        let found = list(wgpu::Backends::GL).into_iter();
        found.filter(|(info, _)| info.kind != AdapterKind::Cpu).collect()
    };
    if primary.is_empty() && any { GL.get_or_init(gl) } else { primary }
}

fn list(backends: wgpu::Backends) -> Vec<Found> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        // No validation layers by default: they are slow and may be missing; WGPU_VALIDATION=1 asks for them.
        flags: wgpu::InstanceFlags::empty().with_env(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let found = wait_for(instance.enumerate_adapters(backends));
    found.into_iter().enumerate().map(|(index, adapter)| (AdapterInfo::of(index, &adapter), adapter)).collect()
}

/// Chooses from the adapters that were seen: by index or part of the name if `wanted` is not empty, else the
/// best kind, the first of equals. With `any`, software is good enough if there is nothing else.
fn choose(seen: &[AdapterInfo], wanted: &str, any: bool) -> Result<usize, String> {
    let wanted = wanted.trim().to_lowercase();
    let by_index = wanted.parse::<usize>().ok().filter(|index| *index < seen.len());
    let named: Vec<&AdapterInfo> = match by_index {
        Some(index) => vec![&seen[index]],
        None => seen.iter().filter(|info| info.name.to_lowercase().contains(&wanted)).collect(),
    };
    let fit = named.iter().filter(|info| info.unfit.is_none());
    let best = fit.clone().filter(|info| any || info.kind != AdapterKind::Cpu).min_by_key(|info| info.kind);
    best.map(|info| info.index).ok_or_else(|| {
        if seen.is_empty() {
            "there is no adapter".into()
        } else if named.is_empty() {
            format!("no adapter is called '{wanted}'")
        } else if let Some(info) = fit.clone().next() {
            format!("{} is software", info.name)
        } else {
            let reasons = named.iter().filter_map(|info| Some(format!("{}: {}", info.name, info.unfit.as_ref()?)));
            reasons.collect::<Vec<_>>().join(", ")
        }
    })
}

/// The adapter that `wanted` (part of a name, or an index) and `any` (software too) choose.
///
/// # Errors
/// [`BackendError::NoAdapter`] if none fits.
pub fn find(wanted: &str, any: bool) -> Result<&'static Found, BackendError> {
    let found = enumerate(any);
    let seen: Vec<AdapterInfo> = found.iter().map(|(info, _)| info.clone()).collect();
    let index = choose(&seen, wanted, any).map_err(|reason| {
        let list = seen.iter().map(|info| format!("{} {} ({})", info.index, info.name, info.kind.name()));
        let list = list.collect::<Vec<_>>().join(", ");
        BackendError::NoAdapter { reason, seen: if list.is_empty() { "none".into() } else { list } }
    })?;
    Ok(&found[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(index: usize, name: &str, kind: AdapterKind) -> AdapterInfo {
        AdapterInfo {
            index,
            name: name.into(),
            kind,
            driver: String::new(),
            backend: "vulkan".into(),
            workgroup_threads: 1024,
            workgroup_bytes: 32768,
            max_frame: 1 << 27,
            mappable: true,
            unfit: None,
        }
    }

    fn machine() -> Vec<AdapterInfo> {
        vec![
            adapter(0, "llvmpipe (LLVM 15)", AdapterKind::Cpu),
            adapter(1, "Intel UHD 630", AdapterKind::Integrated),
            adapter(2, "NVIDIA RTX 4090", AdapterKind::Discrete),
        ]
    }

    #[test]
    fn the_best_kind_is_chosen_unless_another_is_named() {
        let seen = machine();
        assert_eq!(choose(&seen, "", false), Ok(2));
        assert_eq!(choose(&seen, "intel", false), Ok(1));
        assert_eq!(choose(&seen, "4090", false), Ok(2));
        assert_eq!(choose(&seen, "1", false), Ok(1));
        assert_eq!(choose(&seen, "llvm", true), Ok(0));
        assert_eq!(choose(&seen[..1], "", true), Ok(0));
    }

    #[test]
    fn software_is_never_taken_unasked() {
        let seen = machine();
        assert_eq!(choose(&seen[..1], "", false), Err("llvmpipe (LLVM 15) is software".into()));
        assert!(choose(&seen, "llvm", false).is_err());
        assert!(choose(&seen, "0", false).is_err());
        assert_eq!(choose(&seen, "arc", true), Err("no adapter is called 'arc'".into()));
        assert_eq!(choose(&[], "", true), Err("there is no adapter".into()));
    }

    #[test]
    fn unfit_adapters_are_passed_over_and_named() {
        let mut seen = machine();
        seen[2].unfit = Some("it has no compute shaders".into());
        assert_eq!(choose(&seen, "", false), Ok(1));
        assert_eq!(choose(&seen, "nvidia", true), Err("NVIDIA RTX 4090: it has no compute shaders".into()));
    }
}

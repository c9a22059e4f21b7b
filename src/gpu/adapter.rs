//! The GPUs of this machine: listing them, choosing one, and the device that all streams on it share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::backend::BackendError;

use super::import;
use super::passes::{FEWEST_THREADS, MOST_THREADS_DOWN};

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
    /// Largest plane: texels of four samples across, rows down.
    pub max_texels: u32,
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
            max_texels: limits.max_texture_dimension_2d,
            max_frame: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
            mappable: adapter.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
            unfit: unfit(adapter, &limits),
        }
    }
}

/// What the passes need and an adapter lacks.
fn unfit(adapter: &wgpu::Adapter, limits: &wgpu::Limits) -> Option<String> {
    let usages = wgpu::TextureUsages::STORAGE_BINDING | wgpu::TextureUsages::TEXTURE_BINDING;
    if !adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
        Some("it has no compute shaders".into())
    } else if !adapter.get_texture_format_features(super::TEXTURE_FORMAT).allowed_usages.contains(usages) {
        Some("it cannot store texels of four words".into())
    } else if limits.max_compute_invocations_per_workgroup < FEWEST_THREADS
        || limits.max_compute_workgroup_size_x < FEWEST_THREADS
        || limits.max_compute_workgroup_size_y < MOST_THREADS_DOWN
    {
        Some("its workgroups are too small".into())
    } else if limits.max_storage_textures_per_shader_stage < 2 || limits.max_storage_buffers_per_shader_stage < 3 {
        Some("its shaders take too few textures or buffers".into())
    } else {
        None
    }
}

/// All adapters of this machine. OpenGL's are listed only where there is no other.
pub fn adapters() -> Vec<AdapterInfo> {
    enumerate(true).iter().map(|(info, _)| info.clone()).collect()
}

/// An adapter with its entry in the list.
type Found = (AdapterInfo, wgpu::Adapter);

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

/// The first thing that went wrong on a device.
#[derive(Default)]
struct Fault(OnceLock<String>);

impl Fault {
    fn record(&self, reason: String) {
        log::warn!("GPU fault: {reason}");
        // Only the first counts: the others follow from it.
        let _ = self.0.set(reason);
    }
}

/// How the processor and the GPU share memory, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// The GPU uses the processor's memory in place.
    #[default]
    Imported,
    /// Shaders see the memory that the processor maps.
    Mappable,
    /// What the processor maps is copied for shaders.
    Copied,
}

/// An open adapter: one for each adapter in a process, shared by all streams on it.
pub struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub info: AdapterInfo,
    pub limits: wgpu::Limits,
    /// Whether buffers that are mapped are bound as well.
    pub mappable: bool,
    /// Whether the memory of pages can be imported.
    pub imports: bool,
    fault: Arc<Fault>,
    /// Submissions so far.
    submitted: Mutex<u64>,
    /// Submissions that are known to be done.
    done: AtomicU64,
}

/// A submission, to be waited for.
#[derive(Clone, Debug)]
pub struct Ticket {
    number: u64,
    index: wgpu::SubmissionIndex,
}

/// How long a frame may take before the GPU counts as hung; software on a busy machine gets longer.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_WITH_SOFTWARE: Duration = Duration::from_secs(60);

/// How long a wait for a real GPU keeps the processor busy: as long as most frames take.
const SPIN: Duration = Duration::from_micros(300);

impl Gpu {
    /// Opens the adapter that `wanted` and `any` choose, or shares it with the streams that have it open.
    ///
    /// # Errors
    /// [`BackendError::NoAdapter`] if none fits, [`BackendError::Gpu`] if it cannot be opened.
    pub fn shared(wanted: &str, any: bool) -> Result<Arc<Gpu>, BackendError> {
        static OPEN: Mutex<Vec<Weak<Gpu>>> = Mutex::new(Vec::new());
        let (info, adapter) = find(wanted, any)?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|gpu| gpu.strong_count() > 0);
        let usable = open.iter().filter_map(Weak::upgrade).find(|gpu| gpu.info == *info && gpu.fault.0.get().is_none());
        if let Some(gpu) = usable {
            return Ok(gpu);
        }
        let gpu = Arc::new(Gpu::new(info, adapter, Sharing::Imported)?);
        open.push(Arc::downgrade(&gpu));
        Ok(gpu)
    }

    /// A device of one's own that shares memory in no better way than `sharing`.
    ///
    /// # Errors
    /// As [`Gpu::shared`].
    pub fn alone(wanted: &str, any: bool, sharing: Sharing) -> Result<Arc<Gpu>, BackendError> {
        let (info, adapter) = find(wanted, any)?;
        Ok(Arc::new(Gpu::new(info, adapter, sharing)?))
    }

    fn new(info: &AdapterInfo, adapter: &wgpu::Adapter, sharing: Sharing) -> Result<Gpu, BackendError> {
        let mappable = info.mappable && sharing != Sharing::Copied;
        let features = if mappable { wgpu::Features::MAPPABLE_PRIMARY_BUFFERS } else { wgpu::Features::empty() };
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("autolevels"),
            required_features: features,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        };
        let importing = if sharing == Sharing::Imported { import::open(adapter, &descriptor) } else { None };
        let imports = importing.is_some();
        let opened = importing.unwrap_or_else(|| wait_for(adapter.request_device(&descriptor)));
        let (device, queue) = opened.map_err(|error| BackendError::Gpu {
            adapter: info.name.clone(),
            stage: "opening",
            reason: error.to_string(),
        })?;
        let fault = Arc::new(Fault::default());
        let on_error = fault.clone();
        device.on_uncaptured_error(Arc::new(move |error| on_error.record(describe(&error))));
        let on_loss = Arc::downgrade(&fault);
        device.set_device_lost_callback(move |reason, message| {
            // No fault is left when the device is dropped in good order.
            if let Some(fault) = on_loss.upgrade() {
                fault.record(format!("the device was lost ({reason:?}): {message}"));
            }
        });
        Ok(Gpu {
            device,
            queue,
            info: info.clone(),
            limits,
            mappable,
            imports,
            fault,
            submitted: Mutex::new(0),
            done: AtomicU64::new(0),
        })
    }

    /// An error of this GPU.
    pub fn error(&self, stage: &'static str, reason: impl Into<String>) -> BackendError {
        BackendError::Gpu { adapter: self.info.name.clone(), stage, reason: reason.into() }
    }

    /// Fails if anything went wrong on the device so far.
    pub fn check(&self, stage: &'static str) -> Result<(), BackendError> {
        self.fault.0.get().map_or(Ok(()), |reason| Err(self.error(stage, reason)))
    }

    /// How long to wait for a frame.
    pub fn patience(&self) -> Duration {
        if self.info.kind == AdapterKind::Cpu { PATIENCE_WITH_SOFTWARE } else { PATIENCE }
    }

    /// Sends commands off.
    pub fn submit(&self, commands: Option<wgpu::CommandBuffer>) -> Ticket {
        // Numbers rise in the order in which the GPU does the work.
        let mut submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
        let index = self.queue.submit(commands);
        *submitted += 1;
        Ticket { number: *submitted, index }
    }

    /// Waits until the GPU has done the work of `ticket`; returns at once if that is known already.
    ///
    /// # Errors
    /// If it does not within [`patience`](Gpu::patience), or the device is lost.
    pub fn wait(&self, ticket: &Ticket, stage: &'static str) -> Result<(), BackendError> {
        if self.done.load(Ordering::Acquire) >= ticket.number { self.check(stage) } else { self.poll(ticket, stage) }
    }

    /// As [`wait`](Gpu::wait), and calls back whoever waits for work that is done.
    ///
    /// # Errors
    /// As [`wait`](Gpu::wait).
    pub fn poll(&self, ticket: &Ticket, stage: &'static str) -> Result<(), BackendError> {
        self.check(stage)?;
        let poll = |timeout| {
            let wait = wgpu::PollType::Wait { submission_index: Some(ticket.index.clone()), timeout: Some(timeout) };
            // wgpu panics when the device is lost during the wait; for a stream that is a reason to go on without it.
            catch_unwind(AssertUnwindSafe(|| self.device.poll(wait)))
        };
        let began = Instant::now();
        let polled = loop {
            // Sleeping and waking up again takes longer than most waits.
            let spins = began.elapsed() < self.spin();
            match poll(if spins { Duration::ZERO } else { self.patience() }) {
                Ok(Err(wgpu::PollError::Timeout)) if spins => std::hint::spin_loop(),
                polled => break polled,
            }
        };
        let reason = match polled {
            Ok(Ok(_)) => {
                self.done.fetch_max(ticket.number, Ordering::AcqRel);
                return self.check(stage);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the device was lost".into(),
        };
        self.fault.record(reason);
        self.check(stage)
    }

    /// How long a wait keeps the processor busy before it sleeps.
    fn spin(&self) -> Duration {
        if self.info.kind == AdapterKind::Cpu { Duration::ZERO } else { SPIN }
    }

    /// Runs `make`, which creates things on the device, and turns what goes wrong in it into an error without
    /// harm to the other streams on the device.
    ///
    /// # Errors
    /// If the device refuses something or has no memory for it.
    pub fn create<T>(&self, stage: &'static str, make: impl FnOnce(&Gpu) -> T) -> Result<T, BackendError> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = make(self);
        let errors = [wait_for(internal.pop()), wait_for(validation.pop()), wait_for(memory.pop())];
        match errors.into_iter().flatten().next() {
            Some(error) => Err(self.error(stage, describe(&error))),
            None => self.check(stage).map(|()| made),
        }
    }

    /// Loses the device, as a driver that crashes does.
    pub fn lose(&self) {
        self.device.destroy();
    }
}

fn find(wanted: &str, any: bool) -> Result<&'static Found, BackendError> {
    let found = enumerate(any);
    let seen: Vec<AdapterInfo> = found.iter().map(|(info, _)| info.clone()).collect();
    let index = choose(&seen, wanted, any).map_err(|reason| {
        let list = seen.iter().map(|info| format!("{} {} ({})", info.index, info.name, info.kind.name()));
        let list = list.collect::<Vec<_>>().join(", ");
        BackendError::NoAdapter { reason, seen: if list.is_empty() { "none".into() } else { list } }
    })?;
    Ok(&found[index])
}

/// An error with its causes, on one line.
fn describe(error: &wgpu::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a future of wgpu to its end; on native platforms they are ready from the start.
fn wait_for<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
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
            max_texels: 16384,
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

    #[test]
    fn streams_share_a_device_until_it_fails() {
        let skip = std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip");
        let first = match Gpu::shared("", true) {
            Err(BackendError::NoAdapter { .. }) if skip => return,
            gpu => gpu.unwrap_or_else(|error| panic!("{error}")),
        };
        let open = || Gpu::shared("", true).unwrap_or_else(|error| panic!("{error}"));
        assert!(Arc::ptr_eq(&first, &open()));
        first.lose();
        assert!(first.wait(&first.submit(None), "testing").is_err());
        let second = open();
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(second.check("testing").is_ok());
    }
}

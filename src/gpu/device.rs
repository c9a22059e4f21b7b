//! An open adapter: its device and queue, what went wrong on them, and waiting for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::backend::BackendError;

use super::adapter::{AdapterInfo, AdapterKind, find};
use super::import;

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

/// What tests make go wrong on a device.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is lost, as when a driver crashes.
    Lost,
    /// It is asked for something invalid.
    Invalid,
    /// It answers no more.
    Silent,
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
    /// Submissions so far. Locked while work is given or asked about: when wgpu is asked without waiting, while another
    /// thread's call sees the last of the work done, it panics.
    submitted: Mutex<u64>,
    /// Submissions that are known to be done.
    done: AtomicU64,
    /// Whether a wait for it took too long, after which it may be at work still.
    hung: AtomicBool,
    /// Whether it is to look like that.
    silent: AtomicBool,
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
/// How long it sleeps then before it looks again.
const NAP: Duration = Duration::from_micros(20);

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
        let gpu = Arc::new(Gpu::new(info, adapter, Sharing::Imported, wgpu::Features::empty())?);
        open.push(Arc::downgrade(&gpu));
        Ok(gpu)
    }

    /// A device of one's own that shares memory in no better way than `sharing`, with those of the `features` that there
    /// are.
    ///
    /// # Errors
    /// As [`Gpu::shared`].
    pub fn alone(
        wanted: &str,
        any: bool,
        sharing: Sharing,
        features: wgpu::Features,
    ) -> Result<Arc<Gpu>, BackendError> {
        let (info, adapter) = find(wanted, any)?;
        Ok(Arc::new(Gpu::new(info, adapter, sharing, features)?))
    }

    fn new(
        info: &AdapterInfo,
        adapter: &wgpu::Adapter,
        sharing: Sharing,
        features: wgpu::Features,
    ) -> Result<Gpu, BackendError> {
        let mappable = info.mappable && sharing != Sharing::Copied;
        let mut features = adapter.features() & features;
        features.set(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, mappable);
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
            hung: AtomicBool::new(false),
            silent: AtomicBool::new(false),
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
        let reason = match self.ask_until_done(ticket) {
            Ok(Ok(_)) => {
                self.done.fetch_max(ticket.number, Ordering::AcqRel);
                return self.check(stage);
            }
            Ok(Err(error)) => {
                if matches!(error, wgpu::PollError::Timeout) {
                    self.hung.store(true, Ordering::Release);
                } else {
                    // If the error follows from the loss of the device, this makes wgpu say so.
                    let _submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
                    let _ = catch_unwind(AssertUnwindSafe(|| self.device.poll(wgpu::PollType::Poll)));
                }
                error.to_string()
            }
            Err(_) => "the device was lost".into(),
        };
        self.fault.record(reason);
        self.check(stage)
    }

    /// Asks the device again and again, as long as there is patience, whether it is done with the work of `ticket`;
    /// `Err` if it is lost.
    fn ask_until_done(&self, ticket: &Ticket) -> std::thread::Result<Result<wgpu::PollStatus, wgpu::PollError>> {
        let began = Instant::now();
        loop {
            let answer = self.ask(ticket);
            let waited = began.elapsed();
            let is_over = waited > self.patience() || self.silent.load(Ordering::Acquire);
            match answer {
                Ok(Err(wgpu::PollError::Timeout)) if is_over => return answer,
                // Sleeping and waking up again takes longer than most waits.
                Ok(Err(wgpu::PollError::Timeout)) if waited < self.spin() => std::hint::spin_loop(),
                Ok(Err(wgpu::PollError::Timeout)) => std::thread::sleep(NAP),
                answer => return answer,
            }
        }
    }

    /// Asks the device whether it is done with the work of `ticket`; `Err` if it is lost.
    fn ask(&self, ticket: &Ticket) -> std::thread::Result<Result<wgpu::PollStatus, wgpu::PollError>> {
        if self.silent.load(Ordering::Acquire) {
            return Ok(Err(wgpu::PollError::Timeout));
        }
        let _submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
        let timeout = Some(Duration::ZERO);
        let wait = wgpu::PollType::Wait { submission_index: Some(ticket.index.clone()), timeout };
        // wgpu panics when the device is lost during the wait; for a stream that is a reason to go on without it.
        catch_unwind(AssertUnwindSafe(|| self.device.poll(wait)))
    }

    /// Waits until the GPU is done with the work of `ticket`, even if something went wrong on it. False if it does
    /// not answer: then it may be at work still.
    pub fn settle(&self, ticket: &Ticket) -> bool {
        if self.done.load(Ordering::Acquire) >= ticket.number {
            return true;
        }
        // A lost device works no more.
        !self.hung.load(Ordering::Acquire) && !matches!(self.ask_until_done(ticket), Ok(Err(wgpu::PollError::Timeout)))
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

    /// Makes something go wrong.
    pub fn make(&self, trouble: Trouble) {
        match trouble {
            Trouble::Lost => self.device.destroy(),
            Trouble::Invalid => {
                let usage = wgpu::BufferUsages::empty();
                let descriptor =
                    wgpu::BufferDescriptor { label: Some("invalid"), size: 4, usage, mapped_at_creation: false };
                drop(self.device.create_buffer(&descriptor));
            }
            Trouble::Silent => self.silent.store(true, Ordering::Release),
        }
    }
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
pub fn wait_for<F: Future>(future: F) -> F::Output {
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

    #[test]
    fn streams_share_a_device_until_it_fails() {
        let skip = std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip");
        let first = match Gpu::shared("", true) {
            Err(BackendError::NoAdapter { .. }) if skip => return,
            gpu => gpu.unwrap_or_else(|error| panic!("{error}")),
        };
        let open = || Gpu::shared("", true).unwrap_or_else(|error| panic!("{error}"));
        assert!(Arc::ptr_eq(&first, &open()));
        first.make(Trouble::Lost);
        assert!(first.wait(&first.submit(None), "testing").is_err());
        let second = open();
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(second.check("testing").is_ok());
    }
}

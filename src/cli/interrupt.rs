//! Ctrl-C and requests to terminate: once to finish early, twice to stop at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long a pipeline may take to stop after the second interrupt before the process simply ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts the interrupts.
#[derive(Clone)]
pub struct Interrupts {
    count: Arc<AtomicUsize>,
    unfinished: Arc<Mutex<Option<PathBuf>>>,
}

impl Interrupts {
    /// Takes over the signals of the process.
    pub fn install() -> anyhow::Result<Interrupts> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for Ctrl-C")?;
        let interrupts = Interrupts { count: Arc::default(), unfinished: Arc::default() };
        let own = interrupts.clone();
        std::thread::Builder::new().name("interrupts".into()).spawn(move || {
            for _ in signals.forever() {
                own.add();
            }
        })?;
        Ok(interrupts)
    }

    /// One more, as by the key Ctrl-C on a terminal that sends no signals.
    pub fn add(&self) {
        if self.count.fetch_add(1, Ordering::SeqCst) == 1 {
            let own = self.clone();
            // Only when something is stuck does this come to an end.
            std::thread::spawn(move || own.end_by_force());
        }
    }

    /// How often there was an interrupt.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Names the file that must not be left behind.
    pub fn set_unfinished(&self, path: Option<&Path>) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = path.map(Path::to_owned);
    }

    fn end_by_force(&self) {
        std::thread::sleep(PATIENCE);
        if let Some(path) = &*self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may be gone already, and nobody is left to tell.
            let _ = std::fs::remove_file(path);
        }
        super::keys::terminal::restore();
        std::process::exit(130);
    }
}

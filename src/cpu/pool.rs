//! Work on the bands of a frame, shared out to a few threads.
//!
//! The threads belong to the process: all backends use the same ones, and the caller's thread works too.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// More threads than this only wait for memory.
const MOST_THREADS: usize = 8;

/// Threads that can work on a frame, the caller's among them.
pub fn threads() -> usize {
    available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// The threads beside the caller's; `None` if there is but one processor, or none can be started.
fn helpers() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let start = || {
        // Two at least, so that sharing can be tested on any machine.
        let count = threads().max(2) - 1;
        let builder = ThreadPoolBuilder::new().num_threads(count).thread_name(|i| format!("autolevels-{i}"));
        builder.build().inspect_err(|error| log::warn!("levels on one thread only: {error}")).ok()
    };
    POOL.get_or_init(start).as_ref()
}

/// Does `work` on every band, on as many threads as there are `places`, each with a place of its own.
pub fn share<P: Send, B: Iterator<Item: Send> + Send>(
    places: &mut [P],
    bands: B,
    work: impl Fn(&mut P, B::Item) + Sync,
) {
    let Some((own, others)) = places.split_first_mut() else { return };
    let helpers = if others.is_empty() { None } else { helpers() };
    let Some(helpers) = helpers else { return bands.for_each(|band| work(own, band)) };
    let bands = Mutex::new(bands);
    let next = || bands.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = |place: &mut P| {
        while let Some(band) = next() {
            work(place, band);
        }
    };
    helpers.in_place_scope(|scope| {
        for place in others {
            scope.spawn(|_| run(place));
        }
        run(own);
    });
}

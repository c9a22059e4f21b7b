//! Work on the bands of a frame, shared out to a few threads.
//!
//! The helping threads belong to the process: all backends use the same ones, one at a time, and the caller's
//! thread works too. A frame is small work, so what matters is that nothing is allocated, that helpers sleep
//! in between, and that the caller never waits for a helper that has not begun: on a busy machine it has done
//! the frame by itself before others get a processor. Only where the same short work comes again and again within
//! fractions of a millisecond do they stay awake for it, if the caller asks for that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

/// More threads than this only wait for memory, even if they do nothing but copy.
const MOST_THREADS: usize = 12;
/// Helpers for any work; the others sleep on while no more are wanted, so that it is ever the same ones that work.
const FIRST_HELPERS: usize = 7;

/// How long helpers stay awake for the next work, and how soon after the last one it has to come for that.
const AWAKE: Duration = Duration::from_micros(300);

/// Threads that can work on a frame, the caller's among them.
pub fn threads() -> usize {
    available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Does `work` on every band, on as many threads as there are `places`, each with a place of its own.
pub fn share<P, B>(places: &mut [P], bands: B, work: impl Fn(&mut P, B::Item) + Sync)
where
    P: Send,
    B: Iterator + Send,
{
    share_out(places, bands, work, false);
}

/// As [`share`], for work so short that waking helpers takes long beside it: if it comes again within [`AWAKE`], they
/// wait for it without sleeping.
pub fn share_often<P, B>(places: &mut [P], bands: B, work: impl Fn(&mut P, B::Item) + Sync)
where
    P: Send,
    B: Iterator + Send,
{
    share_out(places, bands, work, true);
}

fn share_out<P, B>(places: &mut [P], bands: B, work: impl Fn(&mut P, B::Item) + Sync, often: bool)
where
    P: Send,
    B: Iterator + Send,
{
    let Some((own, others)) = places.split_first_mut() else { return };
    // Someone else's frame has the helpers: better to go on alone than to wait.
    let turn = match TURN.try_lock() {
        Ok(turn) => Some(turn),
        Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    };
    let Some(_turn) = turn.filter(|_| !others.is_empty()) else { return bands.for_each(|band| work(own, band)) };
    let count = others.len();
    let bands = Mutex::new(bands);
    let others = Mutex::new(others.iter_mut());
    let run = |place: &mut P| {
        // The lock is held for taking a band only, not for the work on it.
        while let Some(band) = { lock(&bands).next() } {
            work(place, band);
        }
    };
    let help = || {
        if let Some(place) = { lock(&others).next() } {
            run(place);
        }
    };
    helpers().run_with(count, often, &help, || run(own));
}

/// Held by the frame that has the helpers.
static TURN: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What helpers do: the same for each, until nothing is left.
type Task = &'static (dyn Fn() + Sync);

#[derive(Default)]
struct State {
    /// The task, while more helpers may begin it.
    task: Option<Task>,
    /// Helpers that may still begin it, and those that are at it.
    wanted: usize,
    busy: usize,
    /// Helpers that sleep, of the first ones and of the others.
    asleep: [usize; 2],
    /// Whether they are to stay awake after this task.
    often: bool,
    /// When the last task ended that comes often.
    ended: Option<Instant>,
    /// Whether the task panicked in a helper.
    has_panicked: bool,
}

#[derive(Default)]
struct Helpers {
    state: Mutex<State>,
    /// For the first helpers and for the others: there is a task.
    begin: [Condvar; 2],
    /// For the caller: no helper is busy.
    idle: Condvar,
    /// Tasks so far, which helpers that are awake watch.
    tasks: AtomicU32,
}

/// The helpers of this process, started when they are first needed.
fn helpers() -> &'static Helpers {
    static HELPERS: OnceLock<Helpers> = OnceLock::new();
    static STARTED: OnceLock<()> = OnceLock::new();
    let helpers = HELPERS.get_or_init(Helpers::default);
    STARTED.get_or_init(|| {
        // One at least, so that sharing can be tested on any machine.
        for index in 1..threads().max(2) {
            let thread = thread::Builder::new().name(format!("autolevels-{index}"));
            if let Err(error) = thread.spawn(move || helpers.serve(usize::from(index > FIRST_HELPERS))) {
                log::warn!("fewer threads for levels on the CPU: {error}");
            }
        }
    });
    helpers
}

impl Helpers {
    /// Runs `own` here, and `task` on up to `count` helpers beside it; returns when all that began have ended.
    fn run_with(&self, count: usize, often: bool, task: &(dyn Fn() + Sync), own: impl FnOnce()) {
        /// Takes the task back, even when `own` panics.
        struct TakeBack<'a>(&'a Helpers);
        impl Drop for TakeBack<'_> {
            fn drop(&mut self) {
                let mut state = lock(&self.0.state);
                state.task = None;
                let began = Instant::now();
                while state.busy > 0 {
                    if state.often && began.elapsed() < AWAKE {
                        drop(state);
                        std::hint::spin_loop();
                        state = lock(&self.0.state);
                    } else {
                        state = self.0.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            }
        }

        // SAFETY: only the lifetime changes. Helpers begin the task only while it is in the state, and are busy
        // while they are at it; TakeBack removes it and waits for them before this function ends in any way.
        let task = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), Task>(task) };
        let asleep = {
            let mut state = lock(&self.state);
            state.often = often && state.ended.is_some_and(|ended| ended.elapsed() < AWAKE);
            (state.task, state.wanted, state.has_panicked) = (Some(task), count, false);
            self.tasks.fetch_add(1, Ordering::Release);
            state.asleep
        };
        let take_back = TakeBack(self);
        let first = count.min(FIRST_HELPERS);
        for ((begin, asleep), wanted) in self.begin.iter().zip(asleep).zip([first, count - first]) {
            for _ in 0..wanted.min(asleep) {
                begin.notify_one();
            }
        }
        own();
        drop(take_back);
        let has_panicked = {
            let mut state = lock(&self.state);
            if often {
                state.ended = Some(Instant::now());
            }
            state.has_panicked
        };
        assert!(!has_panicked, "a helping thread panicked");
    }

    /// The life of a helper: one of the first (0) or of the others (1).
    fn serve(&self, kind: usize) {
        let mut state = lock(&self.state);
        // The last task that this helper stayed awake after.
        let mut watched = None;
        loop {
            let Some(task) = state.task.filter(|_| state.wanted > 0) else {
                let tasks = self.tasks.load(Ordering::Acquire);
                if state.often && watched != Some(tasks) {
                    watched = Some(tasks);
                    drop(state);
                    let began = Instant::now();
                    while self.tasks.load(Ordering::Acquire) == tasks && began.elapsed() < AWAKE {
                        std::hint::spin_loop();
                    }
                    state = lock(&self.state);
                } else {
                    state.asleep[kind] += 1;
                    state = self.begin[kind].wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.asleep[kind] -= 1;
                }
                continue;
            };
            state.wanted -= 1;
            state.busy += 1;
            drop(state);
            let result = catch_unwind(AssertUnwindSafe(task));
            state = lock(&self.state);
            state.busy -= 1;
            state.has_panicked |= result.is_err();
            if state.busy == 0 {
                self.idle.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn every_band_is_done_once() {
        for places in 1..5 {
            let mut sums = vec![0; places];
            share(&mut sums, 1..=1000u64, |sum, band| *sum += band);
            assert_eq!(sums.iter().sum::<u64>(), 500_500);
        }
    }

    #[test]
    fn work_that_comes_often_is_done_once() {
        for pause in [0, 100, 1000] {
            for _ in 0..100 {
                let mut sums = [0; 4];
                share_often(&mut sums, 1..=100u64, |sum, band| *sum += band);
                assert_eq!(sums.iter().sum::<u64>(), 5050);
                thread::sleep(Duration::from_micros(pause));
            }
        }
    }

    #[test]
    fn many_callers_at_once() {
        thread::scope(|scope| {
            for caller in 0..4 {
                scope.spawn(move || {
                    for _ in 0..200 {
                        let mut sums = [0; 3];
                        share(&mut sums, 0..50, |sum, band| *sum += band + caller);
                        assert_eq!(sums.iter().sum::<u64>(), 1225 + 50 * caller);
                    }
                });
            }
        });
    }

    #[test]
    fn helpers_outlive_a_panic() {
        let done = AtomicUsize::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            share(&mut [(), ()], 0..100, |_, band| {
                assert!(band != 50, "on purpose");
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert!(outcome.is_err());
        assert!(done.load(Ordering::Relaxed) >= 50);
        let mut sums = [0, 0];
        share(&mut sums, 0..10, |sum, band| *sum += band);
        assert_eq!(sums[0] + sums[1], 45);
    }
}

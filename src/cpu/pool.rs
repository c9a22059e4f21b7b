//! Work on the bands of a frame, shared out to a few threads.
//!
//! The helping threads belong to the process: all backends use the same ones, one at a time, and the caller's
//! thread works too. A frame is small work, so what matters is that nothing is allocated, that helpers sleep
//! in between, and that the caller never waits for a helper that has not begun: on a busy machine it has done
//! the frame by itself before others get a processor. A helper takes as long to wake as a small frame takes; so where
//! the caller says that more comes at once, or where the same short work comes again and again within fractions of a
//! millisecond, they stay awake for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

/// More threads than this only wait for memory, even if they do nothing but copy.
const MOST_THREADS: usize = 12;
/// Helpers for any work; the others sleep on while no more are wanted, so that it is ever the same ones that work.
const FIRST_HELPERS: usize = 7;

/// How long helpers stay awake for work that comes often, and how soon after the last one it has to come for that.
const AWAKE: Duration = Duration::from_micros(300);
/// How long they stay awake for work that comes at once.
const AT_ONCE: Duration = Duration::from_micros(100);
/// How long they and the caller wait without sleeping for each other's last band, where work comes less often.
const LAST_BAND: Duration = Duration::from_micros(20);

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
    share_out(places, bands, work, Next::Unknown);
}

/// As [`share`], where more work follows within some microseconds: helpers wait for it without sleeping.
pub fn share_first<P, B>(places: &mut [P], bands: B, work: impl Fn(&mut P, B::Item) + Sync)
where
    P: Send,
    B: Iterator + Send,
{
    share_out(places, bands, work, Next::AtOnce);
}

/// As [`share`], for work so short that waking helpers takes long beside it: if it comes again within [`AWAKE`], they
/// wait for it without sleeping.
pub fn share_often<P, B>(places: &mut [P], bands: B, work: impl Fn(&mut P, B::Item) + Sync)
where
    P: Send,
    B: Iterator + Send,
{
    share_out(places, bands, work, Next::Often);
}

/// What the caller knows of the work that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Unknown,
    AtOnce,
    Often,
}

impl Next {
    /// How long a helper stays awake for it. One that came too late for a single task goes to sleep again: on a busy
    /// machine it may have taken the caller's processor.
    fn awake(self, took_part: bool) -> Duration {
        match self {
            Next::Often => AWAKE,
            Next::AtOnce if took_part => AT_ONCE,
            _ => Duration::ZERO,
        }
    }

    /// How long callers and helpers wait without sleeping for each other's last band.
    fn last_band(self) -> Duration {
        if self == Next::Often { AWAKE } else { LAST_BAND }
    }
}

fn share_out<P, B>(places: &mut [P], bands: B, work: impl Fn(&mut P, B::Item) + Sync, next: Next)
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
    helpers().run_with(count, next, &help, || run(own));
}

/// Held by the frame that has the helpers.
static TURN: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits without sleeping while something holds, but no longer than so long.
fn stay_awake(most: Duration, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while holds() && began.elapsed() < most {
        std::hint::spin_loop();
    }
}

/// What helpers do: the same for each, until nothing is left.
type Task = &'static (dyn Fn() + Sync);

#[derive(Default)]
struct State {
    /// The task, while more helpers may begin it.
    task: Option<Task>,
    /// Helpers that may still begin it.
    wanted: usize,
    /// Helpers that sleep, of the first ones and of the others.
    asleep: [usize; 2],
    /// What comes after this task.
    next: Next,
    /// When the last task ended that comes often.
    ended: Option<Instant>,
    /// Whether the task panicked in a helper.
    has_panicked: bool,
}

#[derive(Default)]
struct Helpers {
    state: Mutex<State>,
    /// Helpers that are at the task. Changed only while the state is locked.
    busy: AtomicUsize,
    /// For the first helpers and for the others: there is a task.
    begin: [Condvar; 2],
    /// For the caller: no helper is busy.
    idle: Condvar,
    /// Grows by one when a task is given and when it is taken back, so that it is odd in between. Helpers that are awake
    /// watch it.
    turn: AtomicU32,
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
    fn run_with(&self, count: usize, next: Next, task: &(dyn Fn() + Sync), own: impl FnOnce()) {
        /// Takes the task back, even when `own` panics.
        struct TakeBack<'a>(&'a Helpers);
        impl Drop for TakeBack<'_> {
            fn drop(&mut self) {
                let mut state = lock(&self.0.state);
                state.task = None;
                self.0.turn.fetch_add(1, Ordering::Release);
                let last_band = state.next.last_band();
                drop(state);
                stay_awake(last_band, || self.0.busy.load(Ordering::Acquire) > 0);
                let state = lock(&self.0.state);
                let is_busy = |_: &mut State| self.0.busy.load(Ordering::Acquire) > 0;
                drop(self.0.idle.wait_while(state, is_busy).unwrap_or_else(PoisonError::into_inner));
            }
        }

        // SAFETY: only the lifetime changes. Helpers begin the task only while it is in the state, and are busy
        // while they are at it; TakeBack removes it and waits for them before this function ends in any way.
        let task = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), Task>(task) };
        let asleep = {
            let mut state = lock(&self.state);
            let is_often = state.ended.is_some_and(|ended| ended.elapsed() < AWAKE);
            state.next = if next == Next::Often && !is_often { Next::Unknown } else { next };
            (state.task, state.wanted, state.has_panicked) = (Some(task), count, false);
            self.turn.fetch_add(1, Ordering::Release);
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
            if next == Next::Often {
                state.ended = Some(Instant::now());
            }
            state.has_panicked
        };
        assert!(!has_panicked, "a helping thread panicked");
    }

    /// The life of a helper: one of the first (0) or of the others (1).
    fn serve(&self, kind: usize) {
        let mut state = lock(&self.state);
        // The turns of the last task that this helper did, and of the last that it stayed awake after.
        let (mut did, mut watched) = (0, 0);
        loop {
            // That of the present task, or of the last one.
            let turn = self.turn.load(Ordering::Acquire).wrapping_sub(1) | 1;
            let Some(task) = state.task.filter(|_| state.wanted > 0) else {
                let awake = state.next.awake(did == turn);
                if !awake.is_zero() && watched != turn {
                    watched = turn;
                    let last_band = state.next.last_band();
                    drop(state);
                    // A caller that does not come to the end of its part may be waiting for this very processor.
                    stay_awake(last_band, || self.turn.load(Ordering::Acquire) == turn);
                    stay_awake(awake, || self.turn.load(Ordering::Acquire) == turn.wrapping_add(1));
                    state = lock(&self.state);
                } else {
                    state.asleep[kind] += 1;
                    state = self.begin[kind].wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.asleep[kind] -= 1;
                }
                continue;
            };
            did = turn;
            state.wanted -= 1;
            self.busy.fetch_add(1, Ordering::Relaxed);
            drop(state);
            let result = catch_unwind(AssertUnwindSafe(task));
            state = lock(&self.state);
            state.has_panicked |= result.is_err();
            if self.busy.fetch_sub(1, Ordering::Release) == 1 {
                self.idle.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_band_is_done_once() {
        for places in 1..5 {
            let mut sums = vec![0; places];
            share(&mut sums, 1..=1000u64, |sum, band| *sum += band);
            assert_eq!(sums.iter().sum::<u64>(), 500_500);
        }
    }

    #[test]
    fn work_that_comes_at_once_or_often_is_done_once() {
        for pause in [0, 100, 1000] {
            for _ in 0..100 {
                let mut sums = [0; 4];
                share_first(&mut sums, 1..=100u64, |sum, band| *sum += band);
                share_often(&mut sums, 1..=100u64, |sum, band| *sum += band);
                assert_eq!(sums.iter().sum::<u64>(), 10_100);
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

//! Frames in, levelled frames out, in order: measure, decide, apply, with several frames in flight if wanted.
//!
//! A frame goes through three steps: *measuring* (its backend works on it), *applying* (its curves are decided
//! and the backend works on its output), done. With n frames in flight, n − 1 of them are measuring while one
//! is applying, so that a GPU always has the next work before it ends the present one.
//! If the GPU fails, the frames in flight are done again on the CPU, with the curves that were decided.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::backend::{Backend, BackendError};
use crate::cpu::Cpu;
use crate::frame::{FrameInfo, FrameMemory};
use crate::gpu;
use crate::grid::Grid;
use crate::levels::curves::Curves;
use crate::levels::framing::Framing;
use crate::levels::statistics::Statistics;
use crate::levels::{Levels, Report, has_channels};
use crate::overlay::marks::Marks;
use crate::overlay::{Overlay, Shown};
use crate::settings::{BackendChoice, Mode, Settings};
use crate::window::Window;

/// Frames in flight that hide a GPU's waits: two measuring, one applying.
const HIDING_DEPTH: usize = 3;

/// When a frame is shown, and whether it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Running time of the frame, if it has a timestamp.
    pub time: Option<Duration>,
    /// Whether the frame votes: a gap or a damaged frame is levelled as the one before it, and not measured.
    pub votes: bool,
}

/// A frame that came out.
pub struct Done<M> {
    /// The memory that was submitted.
    pub memory: M,
    /// What was decided, or why this frame could not be levelled (its memory is then as it was submitted).
    pub outcome: Result<Outcome, BackendError>,
}

/// What happened to a frame.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// False if the frame is to go on as it came: the curve was the identity, and no output was written.
    pub changed: bool,
    pub report: Report,
    /// The luma histogram of the frame if it was asked for with [`Leveler::keep_histograms`].
    pub histogram: Option<Vec<u32>>,
}

/// Counts and mean times since the leveler was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that came out.
    pub frames: u64,
    /// Scenes that started afresh.
    pub cuts: u64,
    /// Times that the GPU failed, or could not take such frames, and the CPU took over.
    pub failovers: u64,
    /// Time spent so far starting and awaiting measurements, deciding, and starting and awaiting output.
    pub measure: Duration,
    pub decide: Duration,
    pub apply: Duration,
}

enum Step {
    Measuring,
    /// With what was decided; the curves are in the job.
    Applying(Outcome),
    Failed(BackendError),
}

/// What the backend is asked to do.
#[derive(Clone, Copy)]
enum Stage {
    Measure,
    Statistics,
    Apply,
    Flush,
    Finish,
}

struct Job<M> {
    memory: M,
    timing: Timing,
    /// What votes of it.
    window: Window,
    slot: usize,
    step: Step,
    curves: Curves,
    marks: Marks,
}

/// Levels the frames of one stream.
pub struct Leveler<M> {
    info: FrameInfo,
    settings: Settings,
    backend: Box<dyn Backend>,
    framing: Framing,
    levels: Levels,
    statistics: Statistics,
    jobs: VecDeque<Job<M>>,
    free_slots: Vec<usize>,
    /// Curves and marks of jobs that are done.
    spare: Vec<(Curves, Marks)>,
    depth: usize,
    counters: Counters,
    keep_histograms: bool,
    overlay: Overlay,
    /// Number of the frame that is decided next, for the pattern of dither.
    number: u32,
    failure: Option<BackendError>,
}

impl<M: FrameMemory> Leveler<M> {
    /// A leveler for frames as described by `info`.
    ///
    /// `live` decides what `frames-in-flight=-1` means: nothing is held back when live.
    ///
    /// # Errors
    /// With `backend=gpu`, if there is no adapter or it cannot take such frames.
    pub fn new(info: &FrameInfo, settings: &Settings, live: bool) -> Result<Leveler<M>, BackendError> {
        let asked = usize::try_from(settings.frames_in_flight).ok();
        let gpu_depth = asked.unwrap_or(if live { 0 } else { HIDING_DEPTH });
        let cpu_depth = asked.unwrap_or(0);
        let adapter = &settings.adapter;
        let mut failure = None;
        let (backend, depth) = match settings.backend {
            BackendChoice::Cpu => (cpu(info, cpu_depth), cpu_depth),
            BackendChoice::Gpu => (gpu::open(info, gpu_depth + 1, adapter, true)?, gpu_depth),
            BackendChoice::Auto => match gpu::open(info, gpu_depth + 1, adapter, false) {
                Ok(backend) => (backend, gpu_depth),
                Err(reason) => {
                    log::info!("levels on the CPU: {reason}");
                    // Many machines have no GPU; that there is one which does not work is worth a word.
                    failure = Some(reason).filter(|reason| !matches!(reason, BackendError::NoAdapter { .. }));
                    (cpu(info, cpu_depth), cpu_depth)
                }
            },
        };
        let mut leveler = Leveler::with_backend(info, settings, backend, depth);
        leveler.counters.failovers = u64::from(failure.is_some());
        leveler.failure = failure;
        Ok(leveler)
    }

    /// A leveler on a backend of the caller's choice, with `depth` frames in flight.
    ///
    /// # Panics
    /// If the backend has fewer than `depth + 1` slots.
    pub fn with_backend(info: &FrameInfo, settings: &Settings, backend: Box<dyn Backend>, depth: usize) -> Leveler<M> {
        assert!(backend.slots() > depth, "{depth} frames in flight need {} slots, not {}", depth + 1, backend.slots());
        Leveler {
            info: info.clone(),
            settings: settings.clone(),
            framing: Framing::new(info),
            levels: Levels::new(info),
            statistics: Statistics::empty(info.range.bins(), Grid::new(info).chunks()),
            jobs: VecDeque::with_capacity(depth + 1),
            free_slots: (0..=depth).rev().collect(),
            spare: vec![(Curves::identity(info.range.codes()), Marks::none(info.planes.len())); depth + 1],
            backend,
            depth,
            counters: Counters::default(),
            keep_histograms: false,
            overlay: Overlay::new(info),
            number: 0,
            failure: None,
        }
    }

    /// The frames that this leveler takes.
    pub fn info(&self) -> &FrameInfo {
        &self.info
    }

    /// The backend in use: its name and its adapter's.
    pub fn backend(&self) -> (&'static str, &str) {
        (self.backend.name(), self.backend.adapter())
    }

    /// Whether it pays to have frames on [`Pages`](crate::gpu::pages::Pages).
    pub fn uses_pages(&self) -> bool {
        self.backend.uses_pages()
    }

    /// Frames that are held back before the first comes out.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Counts and times so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Why the GPU was given up, at the start or since, once after it happened.
    pub fn take_failure(&mut self) -> Option<BackendError> {
        self.failure.take()
    }

    /// Changes the settings for the frames that are decided from now on. Backend, adapter and frames in flight
    /// stay what they were at the start.
    pub fn set_settings(&mut self, settings: &Settings) {
        self.settings.clone_from(settings);
    }

    /// Whether frames come out with their luma histograms.
    pub fn keep_histograms(&mut self, keep: bool) {
        self.keep_histograms = keep;
    }

    /// Forgets past frames, as after a seek: the next frame that is decided starts afresh.
    pub fn reset(&mut self) {
        self.framing.reset();
        self.levels.reset();
    }

    /// Takes the next frame. After each, call [`receive`](Leveler::receive) until it gives nothing.
    ///
    /// # Panics
    /// If frames were submitted without receiving.
    pub fn submit(&mut self, memory: M, timing: Timing) {
        let slot = self.free_slots.pop().expect("each submit is followed by receive until it gives nothing");
        let (curves, marks) = self.spare.pop().expect("there are as many curves as slots");
        let started = Instant::now();
        let window = if timing.votes {
            let time = timing.time.map(|time| time.as_secs_f64());
            self.framing.window(&memory.input(), &self.settings, time)
        } else {
            self.framing.present()
        };
        self.counters.decide += started.elapsed();
        self.jobs.push_back(Job { memory, timing, window, slot, step: Step::Measuring, curves, marks });
        let newest = self.jobs.len() - 1;
        let started = Instant::now();
        self.run(newest, Stage::Measure);
        self.counters.measure += started.elapsed();
        let measuring = self.jobs.iter().filter(|job| matches!(job.step, Step::Measuring)).count();
        if measuring > self.depth.saturating_sub(1) {
            self.decide_oldest();
        }
        self.run(newest, Stage::Flush);
    }

    /// The next frame in order, if more than [`depth`](Leveler::depth) are inside.
    pub fn receive(&mut self) -> Option<Done<M>> {
        (self.jobs.len() > self.depth).then(|| self.finish_oldest()).flatten()
    }

    /// The next frame in order, even if few are inside; nothing when all are out.
    pub fn drain(&mut self) -> Option<Done<M>> {
        self.finish_oldest()
    }

    /// Decides on the oldest frame that is measuring, and starts to apply its curves.
    fn decide_oldest(&mut self) {
        let Some(index) = self.jobs.iter().position(|job| matches!(job.step, Step::Measuring)) else { return };
        let timing = self.jobs[index].timing;
        if timing.votes {
            let started = Instant::now();
            self.run(index, Stage::Statistics);
            self.counters.measure += started.elapsed();
            if matches!(self.jobs[index].step, Step::Failed(_)) {
                return;
            }
        }
        let started = Instant::now();
        let decision = if timing.votes {
            self.levels.set_window(self.jobs[index].window);
            self.levels.decide(&self.statistics, &self.settings, timing.time.map(|time| time.as_secs_f64()))
        } else {
            self.levels.hold()
        };
        let report = decision.report;
        let job = &mut self.jobs[index];
        job.curves.clone_from(&decision.curves);
        if self.settings.mode == Mode::Off {
            job.curves.set_identity();
        }
        if let Some(dither) = &mut job.curves.dither {
            dither.frame = self.number;
        }
        self.number = self.number.wrapping_add(1);
        if timing.votes {
            self.overlay.count(&job.memory.input(), &self.settings);
        }
        let shown = Shown { luma: &self.statistics.luma, report: &report, curves: &job.curves };
        self.overlay.mark(&self.settings, &shown, &mut job.marks);
        let untouched = job.curves.is_identity() || job.marks.keep_all(&self.info);
        let changed = job.marks.draw() || !untouched;
        let histogram = (self.keep_histograms && timing.votes).then(|| self.statistics.luma.clone());
        job.step = Step::Applying(Outcome { changed, report, histogram });
        self.counters.cuts += u64::from(timing.votes && report.cut > 0.5);
        let decided = Instant::now();
        self.counters.decide += decided - started;
        if changed {
            self.run(index, Stage::Apply);
            self.counters.apply += decided.elapsed();
        }
    }

    fn finish_oldest(&mut self) -> Option<Done<M>> {
        while matches!(self.jobs.front()?.step, Step::Measuring) {
            self.decide_oldest();
        }
        if matches!(&self.jobs[0].step, Step::Applying(outcome) if outcome.changed) {
            let started = Instant::now();
            self.run(0, Stage::Finish);
            self.counters.apply += started.elapsed();
        }
        let job = self.jobs.pop_front()?;
        self.free_slots.push(job.slot);
        self.spare.push((job.curves, job.marks));
        self.counters.frames += 1;
        let outcome = match job.step {
            Step::Applying(outcome) => Ok(outcome),
            Step::Failed(error) => Err(error),
            Step::Measuring => unreachable!("the oldest frame was decided above"),
        };
        Some(Done { memory: job.memory, outcome })
    }

    /// Lets the backend do one thing for one job. If the GPU fails, the CPU does it instead; if that cannot be,
    /// the job has failed.
    fn run(&mut self, index: usize, stage: Stage) {
        let Err(error) = self.attempt(index, stage) else { return };
        let again = match (error, self.settings.backend) {
            (error @ BackendError::Frame(_), _) | (error, BackendChoice::Gpu) => Err(error),
            (error, _) if self.backend.name() == "cpu" => Err(error),
            (error, _) => {
                self.take_over(error);
                // Taking over has measured and applied anew what had been begun; only waits are left to do.
                match stage {
                    Stage::Statistics | Stage::Finish if !matches!(self.jobs[index].step, Step::Failed(_)) => {
                        self.attempt(index, stage)
                    }
                    _ => Ok(()),
                }
            }
        };
        let job = &mut self.jobs[index];
        // Of several errors the first tells why.
        if let (Err(error), false) = (again, matches!(job.step, Step::Failed(_))) {
            job.step = Step::Failed(error);
        }
    }

    fn attempt(&mut self, index: usize, stage: Stage) -> Result<(), BackendError> {
        let job = &mut self.jobs[index];
        match stage {
            Stage::Measure => {
                self.backend.set_window(job.window)?;
                self.backend.count_channels(self.settings.independence > 0.0 && has_channels(&self.info));
                self.backend.measure(job.slot, &mut job.memory)
            }
            Stage::Statistics => self.backend.statistics(job.slot, &mut self.statistics),
            Stage::Apply => {
                let marks = (!job.marks.is_empty()).then_some(&job.marks);
                self.backend.apply_marked(job.slot, &mut job.memory, &job.curves, marks)
            }
            Stage::Flush => self.backend.flush(),
            Stage::Finish => self.backend.finish(job.slot, &mut job.memory),
        }
    }

    /// Replaces a failed GPU by the CPU and does the frames in flight again. What was decided on them stays, so
    /// the picture does not jump.
    fn take_over(&mut self, failure: BackendError) {
        log::warn!("{failure}; the CPU takes over");
        self.failure = Some(failure);
        self.counters.failovers += 1;
        self.backend = cpu(&self.info, self.depth);
        for index in 0..self.jobs.len() {
            let stage = match &self.jobs[index].step {
                Step::Measuring => Stage::Measure,
                Step::Applying(outcome) if outcome.changed => Stage::Apply,
                _ => continue,
            };
            if let Err(error) = self.attempt(index, stage) {
                self.jobs[index].step = Step::Failed(error);
            }
        }
    }
}

fn cpu(info: &FrameInfo, depth: usize) -> Box<dyn Backend> {
    Box::new(Cpu::new(info, depth + 1))
}

#[cfg(test)]
mod tests;

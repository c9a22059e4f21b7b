use std::collections::HashSet;

use super::*;
use crate::frame::{Access, Format, FrameError, LumaWeights, Plane, PlaneMut, Planes, Range};
use crate::window::Window;

/// A small grey frame in two pieces of memory.
struct Grey {
    input: Vec<u8>,
    output: Vec<u8>,
    deny: bool,
}

impl FrameMemory for Grey {
    fn input(&self) -> Planes<'_> {
        Planes::from_iter([Plane { data: &self.input, stride: WIDTH }])
    }

    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        if self.deny {
            return Err(FrameError::Memory("denied".into()));
        }
        let input = Planes::from_iter([Plane { data: &self.input, stride: WIDTH }]);
        let output = [PlaneMut { data: &mut self.output, stride: WIDTH }].into_iter().collect();
        Ok(Access::Copy { input, output })
    }
}

const WIDTH: usize = 40;

fn info() -> FrameInfo {
    FrameInfo::new(Format::Gray8, WIDTH, 20, Range::FULL, LumaWeights::BT709)
}

/// Every second run of three frames has black bars.
fn frame(seed: usize) -> Grey {
    let is_black = |i: usize| seed / 3 % 2 == 1 && !(3..17).contains(&(i / WIDTH));
    let code = |i: usize| if is_black(i) { 1 } else { (60 + (i * 7 + seed * 13) % 90) as u8 };
    let input = (0..WIDTH * 20).map(code).collect();
    Grey { input, output: vec![0; WIDTH * 20], deny: false }
}

/// The CPU under a GPU's name, which fails at the n-th call of some kind.
struct Failing {
    cpu: Cpu,
    calls: Vec<&'static str>,
    at: (&'static str, usize),
}

impl Failing {
    fn call(&mut self, stage: &'static str) -> Result<(), BackendError> {
        self.calls.push(stage);
        if self.calls.iter().filter(|call| **call == stage).count() == self.at.1 && stage == self.at.0 {
            return Err(BackendError::Gpu { adapter: "fake".into(), stage, reason: "told to fail".into() });
        }
        Ok(())
    }
}

impl Backend for Failing {
    fn name(&self) -> &'static str {
        "gpu"
    }
    fn adapter(&self) -> &str {
        "fake"
    }
    fn slots(&self) -> usize {
        self.cpu.slots()
    }
    fn set_window(&mut self, window: Window) -> Result<(), BackendError> {
        self.cpu.set_window(window)
    }

    fn count_channels(&mut self, count: bool) {
        self.cpu.count_channels(count);
    }
    fn measure(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        self.call("measure")?;
        self.cpu.measure(slot, memory)
    }
    fn statistics(&mut self, slot: usize, statistics: &mut Statistics) -> Result<(), BackendError> {
        self.call("statistics")?;
        self.cpu.statistics(slot, statistics)
    }
    fn apply_marked(
        &mut self,
        slot: usize,
        memory: &mut dyn FrameMemory,
        curves: &Curves,
        marks: Option<&Marks>,
    ) -> Result<(), BackendError> {
        self.call("apply")?;
        self.cpu.apply_marked(slot, memory, curves, marks)
    }
    fn flush(&mut self) -> Result<(), BackendError> {
        self.call("flush")
    }
    fn finish(&mut self, slot: usize, memory: &mut dyn FrameMemory) -> Result<(), BackendError> {
        self.call("finish")?;
        self.cpu.finish(slot, memory)
    }
}

fn timing(frame: usize) -> Timing {
    Timing { time: Some(Duration::from_millis(40 * frame as u64)), votes: true }
}

/// The outputs of `count` frames, and how the leveler ended.
fn run(mut leveler: Leveler<Grey>, count: usize) -> (Vec<Vec<u8>>, Leveler<Grey>) {
    let mut outputs = Vec::new();
    for seed in 0..count {
        leveler.submit(frame(seed), timing(seed));
        while let Some(done) = leveler.receive() {
            assert!(done.outcome.unwrap().changed);
            outputs.push(done.memory.output);
        }
        assert_eq!(outputs.len(), (seed + 1).saturating_sub(leveler.depth()));
    }
    while let Some(done) = leveler.drain() {
        outputs.push(done.memory.output);
    }
    (outputs, leveler)
}

#[test]
fn frames_in_flight_change_nothing_but_when_frames_come() {
    let (one_by_one, _) = run(Leveler::with_backend(&info(), &Settings::default(), cpu(&info(), 0), 0), 12);
    assert_eq!(one_by_one.iter().collect::<HashSet<_>>().len(), 12);
    for depth in [1, 2, 3, 7, 16] {
        let leveler = Leveler::with_backend(&info(), &Settings::default(), cpu(&info(), depth), depth);
        assert_eq!(run(leveler, 12).0, one_by_one, "depth {depth}");
    }
}

#[test]
fn when_the_gpu_fails_the_cpu_does_every_frame_once_and_in_order() {
    let (truth, _) = run(Leveler::with_backend(&info(), &Settings::default(), cpu(&info(), 0), 0), 12);
    for stage in ["measure", "statistics", "apply", "flush", "finish"] {
        for at in [1, 2, 6, 12] {
            for depth in [0, 1, 3] {
                let backend = Failing { cpu: Cpu::new(&info(), depth + 1), calls: Vec::new(), at: (stage, at) };
                let leveler = Leveler::with_backend(&info(), &Settings::default(), Box::new(backend), depth);
                let (outputs, mut leveler) = run(leveler, 12);
                assert_eq!(outputs, truth, "failing at {stage} {at} with {depth} in flight");
                assert_eq!(leveler.counters().failovers, 1);
                assert_eq!(leveler.backend().0, "cpu");
                assert!(leveler.take_failure().is_some() && leveler.take_failure().is_none());
            }
        }
    }
}

#[test]
fn a_gpu_that_was_asked_for_by_name_is_not_replaced() {
    let settings = Settings { backend: BackendChoice::Gpu, ..Settings::default() };
    let backend = Failing { cpu: Cpu::new(&info(), 1), calls: Vec::new(), at: ("finish", 2) };
    let mut leveler = Leveler::with_backend(&info(), &settings, Box::new(backend), 0);
    for seed in 0..3 {
        leveler.submit(frame(seed), timing(seed));
        let done = leveler.receive().unwrap();
        assert_eq!(done.outcome.is_err(), seed == 1);
        assert_eq!(done.memory.input, frame(seed).input);
    }
    assert_eq!(leveler.counters().failovers, 0);
}

#[test]
fn a_frame_without_memory_fails_alone() {
    let mut leveler = Leveler::with_backend(&info(), &Settings::default(), cpu(&info(), 2), 2);
    let mut outcomes = Vec::new();
    for seed in 0..6 {
        leveler.submit(Grey { deny: seed == 3, ..frame(seed) }, timing(seed));
        while let Some(done) = leveler.receive() {
            outcomes.push(done.outcome.is_ok());
        }
    }
    while let Some(done) = leveler.drain() {
        outcomes.push(done.outcome.is_ok());
    }
    assert_eq!(outcomes, [true, true, true, false, true, true]);
}

#[test]
fn off_and_strength_zero_measure_and_leave_the_frame_alone() {
    for settings in
        [Settings { mode: Mode::Off, ..Settings::default() }, Settings { strength: 0.0, ..Settings::default() }]
    {
        let mut leveler = Leveler::with_backend(&info(), &settings, cpu(&info(), 0), 0);
        leveler.keep_histograms(true);
        leveler.submit(frame(1), timing(1));
        let done = leveler.receive().unwrap();
        let outcome = done.outcome.unwrap();
        assert!(!outcome.changed);
        assert_eq!(outcome.histogram.unwrap().iter().sum::<u32>(), (WIDTH * 20) as u32);
        assert_eq!(done.memory.output, vec![0; WIDTH * 20], "no output is written");
    }
}

#[test]
fn bars_do_not_vote() {
    let mut leveler = Leveler::with_backend(&info(), &Settings::default(), cpu(&info(), 0), 0);
    leveler.keep_histograms(true);
    for seed in 0..8 {
        leveler.submit(frame(seed), timing(seed));
        let outcome = leveler.receive().unwrap().outcome.unwrap();
        let rows = if (3..6).contains(&seed) { 14 } else { 20 };
        assert_eq!(outcome.histogram.unwrap().iter().sum::<u32>(), (WIDTH * rows) as u32, "frame {seed}");
        assert!((outcome.report.black - 60.0).abs() < 2.0, "{:?}", outcome.report);
    }
}

#[test]
fn a_frame_that_does_not_vote_is_levelled_as_the_one_before() {
    let mut leveler = Leveler::with_backend(&info(), &Settings::default(), cpu(&info(), 0), 0);
    leveler.submit(frame(1), timing(1));
    let voted = leveler.receive().unwrap().memory.output;
    let odd = Grey { input: vec![255; WIDTH * 20], ..frame(1) };
    leveler.submit(odd, Timing { votes: false, ..timing(2) });
    assert!(leveler.receive().unwrap().outcome.is_ok());
    leveler.submit(frame(1), timing(3));
    assert_eq!(leveler.receive().unwrap().memory.output, voted);
}

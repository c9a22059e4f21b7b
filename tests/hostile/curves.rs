//! From statistics that no frame has to curves that every frame can bear.

use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use autolevels::levels::statistics::{Chunk, Statistics};
use autolevels::levels::{Decision, Levels, Report};
use autolevels::settings::{Chroma, Mode, Settings};
use autolevels::window::Window;

use crate::cases;

/// Numbers at random, the same in every run (xorshift64*).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// A number from 0 to `end` − 1.
    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// From 0 to 1, its ends more often than chance has it.
    fn share(&mut self) -> f64 {
        match self.below(4) {
            0 => 0.0,
            1 => 1.0,
            _ => self.below(1 << 30) as f64 / (1u64 << 30) as f64,
        }
    }

    fn count(&mut self) -> u32 {
        match self.below(8) {
            0..=2 => 0,
            3..=5 => self.below(1000) as u32,
            6 => self.roll() as u32,
            _ => u32::MAX,
        }
    }
}

/// Tables of no, one, two, some or all codes, of the right length or not, and chunks that do not go with them.
fn fill(statistics: &mut Statistics, codes: usize, dice: &mut Dice) {
    let length = match dice.below(16) {
        0 => dice.below(2 * codes as u64) as usize,
        _ => codes,
    };
    statistics.luma.clear();
    statistics.luma.resize(length, 0);
    match dice.below(4) {
        0 if length > 0 => {
            for _ in 0..dice.below(4) {
                statistics.luma[dice.below(length as u64) as usize] = dice.count();
            }
        }
        1 => {
            let (low, span) = (dice.below(length as u64 + 1) as usize, dice.below(60) as usize);
            statistics.luma.iter_mut().skip(low).take(span).for_each(|count| *count = dice.count());
        }
        _ => statistics.luma.iter_mut().for_each(|count| *count = dice.count()),
    }
    let chunks = match dice.below(16) {
        0 => dice.below(700) as usize,
        _ => 48,
    };
    for table in statistics.channels.iter_mut().chain(&mut statistics.colours) {
        table.clear();
        let length = [0, codes, codes, codes, dice.below(2 * codes as u64) as usize][dice.below(5) as usize];
        table.extend((0..length).map(|_| dice.count()));
    }
    let flat = dice.below(3) == 0;
    let (sum, count) = (dice.count(), dice.count());
    statistics.chunks.clear();
    statistics.chunks.extend((0..chunks).map(|_| match flat {
        true => Chunk { sum, count },
        false => Chunk { sum: dice.count(), count: dice.count() },
    }));
}

fn settings(dice: &mut Dice) -> Settings {
    let white = dice.share().max(0.01);
    Settings {
        mode: dice.one_of(&[Mode::Stretch, Mode::Stretch, Mode::Equalize, Mode::Equalize, Mode::Off]),
        strength: dice.share(),
        clip_low: 25.0 * dice.share(),
        clip_high: 25.0 * dice.share(),
        black: dice.share() * 0.99 * white,
        white,
        smoothing: dice.one_of(&[0.0, 0.001, 0.5, 10.0, 60.0]),
        cut: dice.share(),
        max_gain: 1.0 + 99.0 * dice.share(),
        midtone: dice.share(),
        independence: dice.one_of(&[0.0, 1.0]) * dice.share(),
        chroma: dice.one_of(&[Chroma::Follow, Chroma::Keep]),
        freeze: dice.below(20) == 0,
        ..Settings::default()
    }
}

/// The time of the next frame: usually a little later, at times anything.
fn next(now: &mut f64, dice: &mut Dice) -> Option<f64> {
    match dice.below(12) {
        0 => None,
        1 => Some(dice.one_of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -1.0, 0.0])),
        2 => {
            *now = dice.share() * 1e9;
            Some(*now)
        }
        _ => {
            *now += 0.08 * dice.share();
            Some(*now)
        }
    }
}

fn check(decision: &Decision, range: &Range, what: &dyn Fn() -> String) {
    let Report { black, white, gain, exposure, cut, mean } = decision.report;
    let numbers = [black, white, gain, exposure, cut, mean];
    assert!(numbers.iter().all(|x| x.is_finite()), "{:?} {}", decision.report, what());
    let fits = black <= white && gain > 0.0 && exposure > 0.0 && (0.0..=1.0).contains(&cut);
    assert!(fits, "{:?} {}", decision.report, what());
    for table in &decision.curves.tables {
        assert_eq!(table.len(), range.bins());
        assert!(table.iter().all(|code| *code <= range.max), "{table:?} {}", what());
        assert!(table.windows(2).all(|pair| pair[0] <= pair[1]), "it falls: {table:?} {}", what());
    }
}

#[test]
fn every_decision_is_finite_in_range_and_monotonic() {
    let decisions = cases(20_000);
    let mut dice = Dice(0x5EED_0F1E_4E15);
    let mut statistics = Statistics::default();
    let mut made = 0;
    while made < decisions {
        let range = dice.one_of(&[Range::LIMITED, Range::FULL]);
        let eight = [Format::I420, Format::Rgba, Format::Gray8, Format::Yuy2];
        let deep = [Format::P010, Format::I422p12, Format::Gray16, Format::Rgba64];
        let format = if dice.below(4) == 0 { dice.one_of(&deep) } else { dice.one_of(&eight) };
        let info = FrameInfo::new(format, 64, 48, range, LumaWeights::BT709);
        let range = info.range;
        let mut levels = Levels::new(&info);
        let mut now = 0.0;
        let mut settings = settings(&mut dice);
        for _ in 0..dice.below(24) {
            if dice.below(6) == 0 {
                settings = self::settings(&mut dice);
            }
            fill(&mut statistics, range.bins(), &mut dice);
            let time = next(&mut now, &mut dice);
            if dice.below(8) == 0 {
                let edges: [usize; 4] = std::array::from_fn(|_| dice.one_of(&[0, 1, 7, 16, 48, usize::MAX]));
                let window = Window { left: edges[0], right: edges[1], top: edges[2], bottom: edges[3] };
                levels.set_window(window.within(&info));
            }
            let what = || format!("{settings:?} {time:?} {statistics:?}");
            let decision = levels.decide(&statistics, &settings, time);
            check(decision, &range, &what);
            // Counts of codes that there are not do not vote, and without votes the curve stays what it was.
            let votes = statistics.luma.iter().take(range.bins()).any(|count| *count > 0);
            let left = settings.strength == 0.0 || settings.mode == Mode::Off;
            assert!(!left || settings.freeze || !votes || decision.curves.is_identity(), "{}", what());
            check(levels.hold(), &range, &what);
            if dice.below(50) == 0 {
                levels.reset();
            }
            made += 1;
        }
    }
}

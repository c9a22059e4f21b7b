//! The CPU backend against the plain answer, exactly: every format, size, stride, content, path and number of threads.

mod common;

use autolevels::backend::{Backend, BackendError};
use autolevels::cpu::{Cpu, Path};
use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use autolevels::grid::Grid;
use autolevels::levels::curves::Curves;
use autolevels::levels::dither::Dither;
use autolevels::levels::statistics::Statistics;
use proptest::prelude::*;

use common::frames::{Content, TestFrame, windows};
use common::oracle;

const SIZES: [(usize, usize); 7] = [(1, 1), (2, 1), (5, 3), (63, 65), (321, 33), (640, 272), (4101, 5)];

fn infos() -> impl Iterator<Item = FrameInfo> {
    let weights = [LumaWeights::BT709, LumaWeights::BT601, LumaWeights::BT2020];
    Format::ALL.iter().enumerate().flat_map(move |(index, format)| {
        SIZES.map(|(width, height)| FrameInfo::new(*format, width, height, Range::FULL, weights[index % 3]))
    })
}

/// Every path of this machine, on one and on two threads.
fn backends(info: &FrameInfo) -> impl Iterator<Item = (Cpu, String)> {
    let paths = Path::ALL.iter().filter(|path| path.is_available());
    paths.flat_map(|path| [1, 2].map(|threads| (*path, threads))).map(move |(path, threads)| {
        (Cpu::with(info, 2, path, threads), format!("{info}, {}, {threads} threads", path.name()))
    })
}

fn measure(cpu: &mut Cpu, slot: usize, info: &FrameInfo, frame: &mut TestFrame) -> Statistics {
    let mut statistics = Statistics::empty(info.range.bins(), Grid::new(info).chunks());
    cpu.measure(slot, frame).unwrap();
    cpu.statistics(slot, &mut statistics).unwrap();
    statistics
}

/// Applies `curves` with every path, in place and copying, and compares.
fn check_apply(info: &FrameInfo, content: Content, curves: &Curves) {
    let frame = TestFrame::new(info, content, 3, 5);
    let wanted = oracle::apply(info, frame.input_planes(), curves);
    for (mut cpu, name) in backends(info) {
        for mut frame in [frame.clone(), TestFrame::new(info, content, 3, 0), frame.clone().copied(9)] {
            let is_copied = frame.is_copied();
            cpu.apply(0, &mut frame, curves).unwrap();
            cpu.finish(0, &mut frame).unwrap();
            for (plane, rows) in frame.output_planes().iter().zip(&wanted) {
                assert!(plane.rows().eq(rows.iter()), "{name}, copied: {is_copied}");
            }
            frame.check_guards();
            if is_copied {
                let before = TestFrame::new(info, content, 3, 5);
                assert!(frame.input_planes() == before.input_planes(), "{name}: the input was changed");
            }
        }
    }
}

/// Curves for frames as described by `info` that do to 8-bit codes what these tables do.
fn curves(info: &FrameInfo, tables: [&Vec<u16>; 3]) -> Curves {
    let (bins, codes) = (info.range.bins(), info.range.codes());
    let scale = codes / 256;
    let deepen = |table: &Vec<u16>| {
        // Straight between the codes, from 256 on.
        let entry = |entry: usize| {
            let (code, past) = (entry * 256 / bins, entry * 256 % bins);
            let (from, to) = (usize::from(table[code]), table.get(code + 1).map_or(256, |to| usize::from(*to)));
            ((from * (bins - past) + to * past) * scale / bins).min(codes - 1) as u16
        };
        (0..bins).map(entry).collect()
    };
    Curves { shift: info.range.bin_shift(), ..Curves::new(tables.map(deepen)) }
}

fn table(curve: impl Fn(f64) -> f64) -> Vec<u16> {
    (0..256).map(|code| curve(f64::from(code)).round().clamp(0.0, 255.0) as u16).collect()
}

/// A stretch within the limited range, of slope one outside it.
fn stretch(gain: f64, black: f64) -> Vec<u16> {
    let inside = move |x: f64| (16.0 + gain * (x - black)).clamp(16.0, 235.0);
    table(|x| inside(x.clamp(16.0, 235.0)) + (x - x.clamp(16.0, 235.0)))
}

/// Chroma gain around neutral.
fn chroma(gain: f64) -> Vec<u16> {
    table(|x| 128.0 + gain * (x - 128.0))
}

/// A table without any order.
fn scrambled(seed: u16) -> Vec<u16> {
    (0..256u16).map(|code| (code * 167 + seed * 31 + code / 7) % 256).collect()
}

#[test]
fn measures_exactly() {
    for info in infos() {
        for (seed, content) in Content::ALL.into_iter().enumerate() {
            let mut frame = TestFrame::new(&info, content, seed as u64, [0, 13][seed % 2]);
            let wanted = oracle::measure(&info, frame.input_planes());
            for (mut cpu, name) in backends(&info) {
                assert!(measure(&mut cpu, 0, &info, &mut frame) == wanted, "{name}, {}", content.name());
            }
        }
    }
}

#[test]
fn only_pixels_of_the_window_are_counted() {
    for (number, info) in infos().enumerate() {
        let mut backends: Vec<_> = backends(&info).collect();
        for (turn, window) in windows(&info).into_iter().enumerate() {
            let content = Content::ALL[(number + turn) % Content::ALL.len()];
            let mut frame = TestFrame::new(&info, content, turn as u64, [0, 13][turn % 2]);
            let wanted = oracle::measure_in(&info, frame.input_planes(), &window);
            for (cpu, name) in &mut backends {
                cpu.set_window(window).unwrap();
                assert!(measure(cpu, 0, &info, &mut frame) == wanted, "{name}, {}, {window:?}", content.name());
            }
        }
    }
}

#[test]
fn slots_and_later_frames_do_not_mix() {
    let infos = [Format::Nv12, Format::Yuy2, Format::Argb, Format::Bgr, Format::I422p12, Format::Rgba64];
    for info in infos.map(|format| FrameInfo::new(format, 330, 77, Range::LIMITED, LumaWeights::BT709)) {
        for (mut cpu, name) in backends(&info) {
            for pair in Content::ALL.chunks(2) {
                let mut frames = [0, 1].map(|slot| TestFrame::new(&info, pair[slot], slot as u64, 3));
                let wanted = frames.each_ref().map(|frame| oracle::measure(&info, frame.input_planes()));
                for (slot, frame) in frames.iter_mut().enumerate() {
                    cpu.measure(slot, frame).unwrap();
                }
                for slot in [1, 0] {
                    let mut statistics = Statistics::default();
                    cpu.statistics(slot, &mut statistics).unwrap();
                    assert!(statistics == wanted[slot], "{name}, {}", pair[slot].name());
                }
            }
        }
    }
}

#[test]
fn sums_of_tall_white_chunks_do_not_overflow() {
    let info = FrameInfo::new(Format::Rgba, 3, 18 * 700, Range::FULL, LumaWeights::BT709);
    let mut frame = TestFrame::new(&info, Content::Flat, 0, 0);
    for y in 0..info.height {
        frame.input_planes_mut()[0].row_mut(y).copy_from_slice(&[255, 255, 255, 1, 255, 255, 255, 0, 255, 255, 255, 9]);
    }
    let wanted = oracle::measure(&info, frame.input_planes());
    for (mut cpu, name) in backends(&info) {
        assert!(measure(&mut cpu, 1, &info, &mut frame) == wanted, "{name}");
    }
}

#[test]
fn sums_of_tall_white_chunks_of_deep_samples_do_not_overflow() {
    for format in [Format::P010, Format::Gray16, Format::Rgba64] {
        let info = FrameInfo::new(format, 5, 18 * 300, Range::FULL, LumaWeights::BT709);
        let mut frame = TestFrame::new(&info, Content::Flat, 0, 0);
        (0..info.height).for_each(|y| frame.input_planes_mut()[0].row_mut(y).fill(0xFF));
        let wanted = oracle::measure(&info, frame.input_planes());
        assert_eq!(wanted.luma[1023], 5 * 18 * 300);
        for (mut cpu, name) in backends(&info) {
            assert!(measure(&mut cpu, 1, &info, &mut frame) == wanted, "{name}");
        }
    }
}

#[test]
fn applies_exactly() {
    for info in infos() {
        let [one, two, three] = [1, 2, 3].map(scrambled);
        let keep = chroma(1.0);
        // Every way in which tables can be equal to each other or the identity.
        for tables in [
            [&one, &one, &one],
            [&one, &two, &three],
            [&one, &two, &two],
            [&one, &one, &two],
            [&keep, &one, &one],
            [&keep, &one, &two],
            [&one, &keep, &two],
            [&one, &keep, &keep],
            [&keep, &keep, &one],
            [&keep, &keep, &keep],
        ] {
            check_apply(&info, Content::Noise, &curves(&info, tables));
        }
    }
}

#[test]
fn lines_of_ten_bits_apply_exactly() {
    let line = |(low, high): (i32, i32), gain: i32, black: i32| -> Vec<u16> {
        let at = |code: i32| {
            let end = code.clamp(low, high);
            (low + gain * (end - black) / 100).clamp(low, high) + code - end
        };
        (0..1024).map(|code| at(code) as u16).collect()
    };
    let curves = [
        // One line for luma and none for chroma, whole and of limited range.
        [line((0, 1023), 131, 77), scrambled_bins(1), scrambled_bins(2)],
        [line((64, 940), 277, 300), line((64, 960), 100, 64), line((64, 960), 120, 200)],
        [scrambled_bins(3), line((64, 960), 277, 350), line((64, 960), 277, 350)],
    ];
    for info in infos().filter(|info| info.range.max == 1023) {
        for tables in &curves {
            check_apply(&info, Content::Noise, &Curves::new(tables.clone()));
        }
    }
}

fn scrambled_bins(seed: u16) -> Vec<u16> {
    (0..1024u32).map(|bin| ((bin * 167 + u32::from(seed) * 31 + bin / 7) % 1024) as u16).collect()
}

/// Curves for 8-bit frames that are dithered, of the three channels or of luma alone.
fn with_dither(info: &FrameInfo, fine: [impl Fn(usize) -> usize; 3], frame: u32) -> Curves {
    let fine = fine.map(|curve| std::array::from_fn(|code| curve(code).min(65280) as u16));
    let tables = fine.map(|fine: [u16; 256]| fine.iter().map(|out| ((u32::from(*out) + 128) >> 8) as u16).collect());
    let curves = if info.format.is_rgb() { 3 } else { 1 };
    Curves { dither: Some(Dither { fine, curves, frame }), ..Curves::new(tables) }
}

#[test]
fn dithers_exactly() {
    for (number, info) in infos().enumerate().filter(|(_, info)| info.range.max == 255) {
        let frame = 0xFFFF_FF00 + number as u32;
        type Fine = fn(usize) -> usize;
        let line: Fine = |code| (code * 571).saturating_sub(9999);
        let bent: Fine = |code| code * code + 9 * code;
        let noise: Fine = |code| code * 40_503 % 65_281;
        let keep: Fine = |code| code * 256;
        for fine in [[line, line, line], [bent, line, noise], [keep, bent, bent]] {
            check_apply(&info, Content::Noise, &with_dither(&info, fine, frame));
        }
    }
}

#[test]
fn curves_of_one_frame_do_not_stay_for_the_next() {
    let info = FrameInfo::new(Format::Nv12, 66, 34, Range::LIMITED, LumaWeights::BT709);
    let sequence = [
        Curves::new([scrambled(1), chroma(1.5), chroma(1.5)]),
        Curves::identity(256),
        with_dither(&info, [|code| code * 200, |code| code * 256, |code| code * 99], 5),
        Curves::new([stretch(1.5, 20.0), chroma(1.5), scrambled(4)]),
        with_dither(&info, [|code| code * 250, |code| code * 256, |code| code * 99], 6),
        Curves::new([stretch(1.5, 20.0), chroma(1.5), chroma(1.5)]),
    ];
    for (mut cpu, name) in backends(&info) {
        for (index, curves) in sequence.iter().enumerate() {
            let mut frame = TestFrame::new(&info, Content::Noise, index as u64, 0);
            let wanted = oracle::apply(&info, frame.input_planes(), curves);
            cpu.apply(index % 2, &mut frame, curves).unwrap();
            for (plane, rows) in frame.output_planes().iter().zip(&wanted) {
                assert!(plane.rows().eq(rows.iter()), "{name}, frame {index}");
            }
        }
    }
}

#[test]
fn memory_that_is_too_small_is_an_error() {
    let small = FrameInfo::new(Format::I420, 64, 32, Range::LIMITED, LumaWeights::BT709);
    let large = FrameInfo::new(Format::I420, 64, 33, Range::LIMITED, LumaWeights::BT709);
    let mut cpu = Cpu::new(&large, 1);
    let mut frame = TestFrame::new(&small, Content::Noise, 0, 0);
    assert!(matches!(cpu.measure(0, &mut frame), Err(BackendError::Frame(_))));
    let curves = Curves::new([scrambled(1), scrambled(1), scrambled(1)]);
    let before = frame.input_planes().to_vec();
    assert!(matches!(cpu.apply(0, &mut frame, &curves), Err(BackendError::Frame(_))));
    assert!(frame.input_planes() == before);
    let mut frame = frame.copied(1);
    assert!(matches!(cpu.apply(0, &mut frame, &curves), Err(BackendError::Frame(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any size, stride, content and line.
    #[test]
    fn any_frame_comes_out_exactly(
        format in proptest::sample::select(Format::ALL), width in 1usize..200, height in 1usize..50,
        content in proptest::sample::select(&Content::ALL[..]), padding in 0usize..40, seed in 0u64..1000,
        gain in 0.2..6.0f64, black in 0.0..200.0f64,
    ) {
        let info = FrameInfo::new(format, width, height, Range::LIMITED, LumaWeights::BT601);
        let curves = curves(&info, [&stretch(gain, black), &chroma(gain), &chroma(gain)]);
        for (mut cpu, name) in backends(&info) {
            let mut frame = TestFrame::new(&info, content, seed, padding);
            let statistics = oracle::measure(&info, frame.input_planes());
            let wanted = oracle::apply(&info, frame.input_planes(), &curves);
            prop_assert!(measure(&mut cpu, 0, &info, &mut frame) == statistics, "{}", name);
            cpu.apply(0, &mut frame, &curves).unwrap();
            for (plane, rows) in frame.output_planes().iter().zip(&wanted) {
                prop_assert!(plane.rows().eq(rows.iter()), "{}", name);
            }
            frame.check_guards();
        }
    }
}

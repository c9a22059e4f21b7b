//! The CPU backend against the plain answer, exactly: every format, size, stride, content, path and number of threads.

mod common;

use autolevels::backend::Backend;
use autolevels::cpu::Cpu;
use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use autolevels::grid::Grid;
use autolevels::levels::curves::Curves;
use autolevels::levels::statistics::Statistics;

use common::frames::{Content, TestFrame};
use common::oracle;

const SIZES: [(usize, usize); 7] = [(1, 1), (2, 1), (5, 3), (63, 65), (321, 33), (640, 272), (4101, 5)];

fn infos() -> impl Iterator<Item = FrameInfo> {
    let weights = [LumaWeights::BT709, LumaWeights::BT601, LumaWeights::BT2020];
    Format::ALL.iter().enumerate().flat_map(move |(index, format)| {
        SIZES.map(|(width, height)| FrameInfo::new(*format, width, height, Range::FULL, weights[index % 3]))
    })
}

#[test]
fn measures_exactly() {
    for info in infos() {
        let mut cpu = Cpu::new(&info, 1);
        let mut statistics = Statistics::empty(256, Grid::new(&info).chunks());
        for (seed, content) in Content::ALL.into_iter().enumerate() {
            let mut frame = TestFrame::new(&info, content, seed as u64, [0, 13][seed % 2]);
            cpu.measure(0, &mut frame).unwrap();
            cpu.statistics(0, &mut statistics).unwrap();
            let wanted = oracle::measure(&info, frame.input_planes());
            assert!(statistics == wanted, "{info} {}", content.name());
        }
    }
}

#[test]
fn applies_exactly() {
    let line =
        |gain: f64, offset: f64| (0..256).map(move |x| (f64::from(x) * gain + offset).round().clamp(0.0, 255.0) as u16);
    let curves = Curves { tables: [line(1.4, -30.0).collect(), line(1.4, -51.0).collect(), line(0.7, 8.0).collect()] };
    for info in infos() {
        let mut cpu = Cpu::new(&info, 1);
        for copied in [false, true] {
            let mut frame = TestFrame::new(&info, Content::Noise, 3, 5);
            if copied {
                frame = frame.copied(9);
            }
            let wanted = oracle::apply(&info, frame.input_planes(), &curves);
            cpu.apply(0, &mut frame, &curves).unwrap();
            cpu.finish(0, &mut frame).unwrap();
            for (plane, rows) in frame.output_planes().iter().zip(&wanted) {
                assert!(plane.rows().eq(rows.iter()), "{info} copied={copied}");
            }
            frame.check_guards();
        }
    }
}

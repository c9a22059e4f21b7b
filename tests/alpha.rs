//! Alpha is straight, not premultiplied: its bytes stay, colours are levelled as they are, and what nobody sees does not
//! vote.

mod common;

use autolevels::frame::{Format, FrameInfo, LumaWeights, Range};
use autolevels::leveler::{Leveler, Timing};
use autolevels::settings::{BackendChoice, Mode, Settings};
use common::frames::{Content, TestFrame};

const WIDTH: usize = 64;
const HEIGHT: usize = 40;
const FORMATS: [Format; 4] = [Format::Rgba, Format::Bgra, Format::Argb, Format::Abgr];

/// A frame of pixels: R, G, B and alpha.
fn frame(info: &FrameInfo, pixel: impl Fn(usize, usize) -> [u8; 4]) -> TestFrame {
    let mut frame = TestFrame::new(info, Content::Flat, 0, 5);
    let places = "RGBA".chars().map(|letter| info.format.name().find(letter).unwrap());
    let places: Vec<usize> = places.collect();
    for y in 0..HEIGHT {
        let row = frame.input_planes_mut()[0].row_mut(y);
        for (x, samples) in row.chunks_exact_mut(4).enumerate() {
            places.iter().zip(pixel(x, y)).for_each(|(place, value)| samples[*place] = value);
        }
    }
    frame
}

fn level(info: &FrameInfo, settings: &Settings, frame: TestFrame) -> TestFrame {
    let settings = Settings { backend: BackendChoice::Cpu, ..settings.clone() };
    let mut leveler = Leveler::new(info, &settings, true).unwrap();
    leveler.submit(frame, Timing { time: None, votes: true });
    leveler.receive().unwrap().memory
}

fn each(check: impl Fn(&FrameInfo, &Settings)) {
    for format in FORMATS {
        let info = FrameInfo::new(format, WIDTH, HEIGHT, Range::FULL, LumaWeights::BT709);
        for mode in [Mode::Stretch, Mode::Equalize] {
            for independence in [0.0, 1.0] {
                check(&info, &Settings { mode, independence, ..Settings::default() });
            }
        }
    }
}

#[test]
fn alpha_stays_and_colours_are_levelled_whatever_it_is() {
    each(|info, settings| {
        let shade = |x: usize, y: usize| [60 + x as u8, 70 + y as u8, 80 + (x as u8 ^ y as u8)];
        let with = |alpha: &dyn Fn(usize, usize) -> u8| {
            let frame = frame(info, |x, y| {
                let [r, g, b] = shade(x, y);
                [r, g, b, alpha(x, y)]
            });
            level(info, settings, frame)
        };
        let (opaque, veiled) = (with(&|_, _| 255), with(&|x, y| 1 + (x * 7 + y * 3) as u8 % 250));
        let place = info.format.name().find('A').unwrap();
        for y in 0..HEIGHT {
            let rows = [&opaque, &veiled].map(|frame| frame.output_planes()[0].row(y).chunks_exact(4));
            let [opaque, veiled] = rows;
            for (x, (opaque, veiled)) in opaque.zip(veiled).enumerate() {
                assert_eq!((opaque[place], veiled[place]), (255, 1 + (x * 7 + y * 3) as u8 % 250));
                let colours = |pixel: &[u8]| (0..4).filter(|i| *i != place).map(|i| pixel[i]).collect::<Vec<_>>();
                assert_eq!(colours(opaque), colours(veiled), "{info} at {x}, {y}");
            }
        }
    });
}

#[test]
fn what_is_wholly_transparent_does_not_vote() {
    each(|info, settings| {
        let see = |hidden: [u8; 3]| {
            let frame = frame(info, |x, y| {
                if x < WIDTH / 2 {
                    let [r, g, b] = hidden;
                    [r, g, b, 0]
                } else {
                    [60 + x as u8, 70 + y as u8, 80, 255]
                }
            });
            level(info, settings, frame)
        };
        let outputs = [[0, 0, 0], [255, 255, 255], [255, 0, 40]].map(see);
        for y in 0..HEIGHT {
            let seen = |frame: &TestFrame| frame.output_planes()[0].row(y)[2 * WIDTH..].to_vec();
            assert_eq!(seen(&outputs[0]), seen(&outputs[1]), "{info}");
            assert_eq!(seen(&outputs[0]), seen(&outputs[2]), "{info}");
        }
    });
}

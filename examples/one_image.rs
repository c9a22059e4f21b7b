//! One image in memory through the leveler: no pipeline, no files.
//!
//!     cargo run --example one_image
//!
//! Makes a hazy grey ramp, levels it, and prints the darkest and brightest value before and after.

use autolevels::frame::{
    Access, Format, FrameError, FrameInfo, FrameMemory, LumaWeights, Plane, PlaneMut, Planes, Range,
};
use autolevels::leveler::{Leveler, Timing};
use autolevels::settings::{BackendChoice, Settings};

const WIDTH: usize = 320;
const HEIGHT: usize = 200;

/// An RGBA picture, and room for the levelled one.
struct Picture {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl FrameMemory for Picture {
    fn input(&self) -> Planes<'_> {
        [Plane { data: &self.before, stride: WIDTH * 4 }].into_iter().collect()
    }

    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        Ok(Access::Copy {
            input: [Plane { data: &self.before, stride: WIDTH * 4 }].into_iter().collect(),
            output: [PlaneMut { data: &mut self.after, stride: WIDTH * 4 }].into_iter().collect(),
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let grey = |i: usize| 70 + (i % WIDTH * 90 / WIDTH) as u8;
    let before: Vec<u8> = (0..WIDTH * HEIGHT).flat_map(|i| [grey(i), grey(i), grey(i), 255]).collect();
    println!("before: {:?}", extremes(&before));
    let picture = Picture { after: vec![0; before.len()], before };

    let info = FrameInfo::new(Format::Rgba, WIDTH, HEIGHT, Range::FULL, LumaWeights::BT709);
    // A single picture has no past to be smoothed with, and is hardly worth waking up a GPU.
    let settings = Settings { smoothing: 0.0, backend: BackendChoice::Cpu, ..Settings::default() };
    let mut leveler = Leveler::new(&info, &settings, true)?;
    leveler.submit(picture, Timing { time: None, votes: true });
    let done = leveler.drain().ok_or("what goes in comes out")?;
    let outcome = done.outcome?;

    // A picture that needs no change is not written again.
    let levelled = if outcome.changed { &done.memory.after } else { &done.memory.before };
    println!("after:  {:?}", extremes(levelled));
    let report = outcome.report;
    println!("black {:.1}, white {:.1}, gain {:.2}", report.black, report.white, report.gain);
    Ok(())
}

/// Darkest and brightest red of the picture.
fn extremes(rgba: &[u8]) -> (u8, u8) {
    let red = || rgba.chunks_exact(4).map(|pixel| pixel[0]);
    (red().min().unwrap_or_default(), red().max().unwrap_or_default())
}

//! Frames to look at, since figures can like what eyes do not.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};

use crate::clip::{FRAME, HEIGHT, PIXELS, WIDTH};

/// Pictures beside each other in a sheet.
const COLUMNS: usize = 3;

/// Writes frame `number` of each of the clips into one PNG, in rows of three.
pub fn write(path: &Path, clips: &[Vec<u8>], number: usize) -> Result<()> {
    let rows = clips.len().div_ceil(COLUMNS);
    let mut sheet = vec![0; COLUMNS * rows * PIXELS * 3];
    for (place, frames) in clips.iter().enumerate() {
        let frame = frames.chunks_exact(FRAME).nth(number).context("there is no such frame")?;
        let corner = (place / COLUMNS * HEIGHT * COLUMNS + place % COLUMNS) * WIDTH;
        for at in 0..PIXELS {
            let to = (corner + at / WIDTH * WIDTH * COLUMNS + at % WIDTH) * 3;
            sheet[to..to + 3].copy_from_slice(&rgb(frame, at));
        }
    }
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), (COLUMNS * WIDTH) as u32, (rows * HEIGHT) as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&sheet)?;
    Ok(())
}

fn rgb(frame: &[u8], at: usize) -> [u8; 3] {
    let coarse = PIXELS + (at / WIDTH / 2) * (WIDTH / 2) + at % WIDTH / 2;
    let y = (f32::from(frame[at]) - 16.0) / 219.0;
    let [cb, cr] = [coarse, coarse + PIXELS / 4].map(|at| (f32::from(frame[at]) - 128.0) / 224.0);
    [y + 1.5748 * cr, y - 0.1873 * cb - 0.4681 * cr, y + 1.8556 * cb].map(|value| (value * 255.0).round() as u8)
}

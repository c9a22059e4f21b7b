//! A small picture with coverage, to draw on.

/// Coverage of paint that hides what is under it.
pub const OPAQUE: u32 = 256;

/// R, G and B times coverage, and coverage up to [`OPAQUE`]; sums of these over pixels as well.
pub type Paint = [u32; 4];

#[derive(Clone, Debug, Default)]
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<[u16; 4]>,
}

impl Canvas {
    /// Takes this size and becomes clear.
    pub fn clear(&mut self, (width, height): (usize, usize)) {
        (self.width, self.height) = (width, height);
        self.pixels.clear();
        self.pixels.resize(width * height, [0; 4]);
    }

    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Paints one pixel; nothing happens outside of the canvas.
    pub fn paint(&mut self, x: usize, y: usize, colour: [u8; 3], coverage: u32) {
        if x >= self.width || y >= self.height {
            return;
        }
        let pixel = &mut self.pixels[y * self.width + x];
        let over = |new: u32, old: u16| (new + u32::from(old) * (OPAQUE - coverage) / OPAQUE) as u16;
        for (place, channel) in pixel.iter_mut().zip(colour) {
            *place = over(u32::from(channel) * coverage, *place);
        }
        pixel[3] = over(coverage, pixel[3]);
    }

    /// Paints the pixels from one corner up to, without, the other.
    pub fn fill(&mut self, from: (usize, usize), to: (usize, usize), colour: [u8; 3], coverage: u32) {
        for y in from.1..to.1 {
            for x in from.0..to.0 {
                self.paint(x, y, colour, coverage);
            }
        }
    }

    /// The sum of a rectangle of pixels, all of them within the canvas.
    pub fn sum(&self, (left, top): (usize, usize), (across, down): (usize, usize)) -> Paint {
        let mut sum = [0; 4];
        for y in top..top + down {
            for pixel in &self.pixels[y * self.width + left..][..across] {
                sum.iter_mut().zip(pixel).for_each(|(sum, part)| *sum += u32::from(*part));
            }
        }
        sum
    }
}

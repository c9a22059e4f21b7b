//! A canvas for the plot that brings its own letters, so that no font has to be installed.

use embedded_graphics::Drawable;
use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::ascii::{FONT_7X13, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::BinaryColor;
use embedded_graphics::text::{Baseline, Text};
use plotters::prelude::BitMapBackend;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};

/// An RGB bitmap to draw on.
pub struct Canvas<'a>(pub BitMapBackend<'a>);

fn font(size: f64) -> &'static MonoFont<'static> {
    if size < 17.0 { &FONT_7X13 } else { &FONT_10X20 }
}

fn size_of(text: &str, font: &MonoFont) -> (u32, u32) {
    (text.chars().count() as u32 * (font.character_size.width + font.character_spacing), font.character_size.height)
}

/// Takes the letters' dots and sets them as pixels.
struct Dots<'c, 'a> {
    canvas: &'c mut BitMapBackend<'a>,
    color: BackendColor,
}

type CanvasError = <BitMapBackend<'static> as DrawingBackend>::ErrorType;

impl OriginDimensions for Dots<'_, '_> {
    fn size(&self) -> Size {
        let (width, height) = self.canvas.get_size();
        Size::new(width, height)
    }
}

impl DrawTarget for Dots<'_, '_> {
    type Color = BinaryColor;
    type Error = DrawingErrorKind<CanvasError>;
    fn draw_iter<I: IntoIterator<Item = Pixel<BinaryColor>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
        for Pixel(Point { x, y }, _) in pixels.into_iter().filter(|pixel| pixel.1.is_on()) {
            self.canvas.draw_pixel((x, y), self.color)?;
        }
        Ok(())
    }
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = CanvasError;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }
    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<CanvasError>> {
        self.0.ensure_prepared()
    }
    fn present(&mut self) -> Result<(), DrawingErrorKind<CanvasError>> {
        self.0.present()
    }
    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<CanvasError>> {
        self.0.draw_pixel(point, color)
    }
    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<CanvasError>> {
        self.0.draw_line(from, to, style)
    }
    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<CanvasError>> {
        self.0.draw_rect(upper_left, bottom_right, style, fill)
    }
    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<CanvasError>> {
        let font = font(style.size());
        let (width, height) = size_of(text, font);
        let (width, height) = (width as i32, height as i32);
        let anchor = style.anchor();
        let x = match anchor.h_pos {
            HPos::Left => x,
            HPos::Center => x - width / 2,
            HPos::Right => x - width,
        };
        let y = match anchor.v_pos {
            VPos::Top => y,
            VPos::Center => y - height / 2,
            VPos::Bottom => y - height,
        };
        let mut dots = Dots { canvas: &mut self.0, color: style.color() };
        let letters = MonoTextStyle::new(font, BinaryColor::On);
        Text::with_baseline(text, Point::new(x, y), letters, Baseline::Top).draw(&mut dots).map(|_| ())
    }
    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<CanvasError>> {
        Ok(size_of(text, font(style.size())))
    }
}

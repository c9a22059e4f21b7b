//! The picture of a file's levels: histogram over time with the points and cuts over it, the gain below, and
//! the histograms of all frames before and after.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::history::{BINS, Column, History};
use super::text::Canvas;

const WIDTH: u32 = 1280;
const HEIGHT: u32 = 960;
const PAPER: RGBColor = RGBColor(18, 20, 24);
const INK: RGBColor = RGBColor(205, 208, 214);
const GRID: RGBColor = RGBColor(60, 64, 72);
const BLACK_POINT: RGBColor = RGBColor(80, 190, 255);
const WHITE_POINT: RGBColor = RGBColor(255, 170, 60);
const GAIN: RGBColor = RGBColor(140, 230, 120);
const CUT: RGBColor = RGBColor(255, 80, 110);
/// From here a cut is marked: more likely one than not.
const SURE: f64 = 0.5;
/// Share of the pixels at one code that is drawn at full brightness.
const FULL: f32 = 0.05;

type Area<'a> = DrawingArea<Canvas<'a>, Shift>;

/// Draws `history` to the PNG file `path`.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, title: &str, history: &History) -> Result<()> {
    let mut rgb = vec![0; (WIDTH * HEIGHT * 3) as usize];
    draw(&mut rgb, title, history)?;
    let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&rgb)?;
    Ok(())
}

fn draw(rgb: &mut [u8], title: &str, history: &History) -> Result<()> {
    let page = Canvas(BitMapBackend::with_buffer(rgb, (WIDTH, HEIGHT))).into_drawing_area();
    let broken = |error: DrawingAreaErrorKind<_>| anyhow!("the plot cannot be drawn: {error}");
    page.fill(&PAPER).map_err(broken)?;
    let (head, rest) = page.split_vertically(36);
    head.draw(&Text::new(title.to_owned(), (20, 10), letters(20, INK))).map_err(broken)?;
    let (over_time, rest) = rest.split_vertically(460);
    let (gains, shares) = rest.split_vertically(190);
    let means = history.means();
    let seconds = history.seconds().max(f64::MIN_POSITIVE);
    levels_over_time(&over_time, &means, history.width, seconds).map_err(broken)?;
    gain_over_time(&gains, &means, history.width, seconds).map_err(broken)?;
    let (before, after) = shares.split_horizontally(WIDTH / 2);
    histogram(&before, "before: all frames", &history.before, BLACK_POINT).map_err(broken)?;
    histogram(&after, "after", &history.after, WHITE_POINT).map_err(broken)?;
    page.present().map_err(broken)
}

fn letters(size: u32, color: RGBColor) -> TextStyle<'static> {
    TextStyle { color: color.to_backend_color(), ..TextStyle::from(("sans-serif", size).into_font()) }
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<Canvas<'a> as plotters_backend::DrawingBackend>::ErrorType>>;

fn levels_over_time<'a>(area: &Area<'a>, means: &[Column], width: f64, seconds: f64) -> Drawn<'a> {
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .x_label_area_size(24)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..seconds, 0.0..1.0)?;
    // The histogram as a picture, pixel by pixel, so that no column is left out or drawn in halves.
    let picture = chart.plotting_area().strip_coord_spec();
    let (across, down) = picture.dim_in_pixel();
    for x in 0..across {
        let index = (f64::from(x) / f64::from(across) * means.len() as f64) as usize;
        let Some(column) = means.get(index) else { continue };
        for y in 0..down {
            let top = (f64::from(down - 1 - y) / f64::from(down) * BINS as f64) as usize;
            let heat = heat(column.histogram[top.min(BINS - 1)]);
            picture.draw_pixel((x as i32, y as i32), &heat)?;
        }
    }
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(GRID)
        .label_style(letters(13, INK))
        .y_labels(6)
        .y_label_formatter(&|share| format!("{:.0} %", share * 100.0))
        .x_label_formatter(&|seconds| clock(*seconds))
        .draw()?;
    for (at, _) in cuts(means, width) {
        chart.draw_series(LineSeries::new([(at, 0.0), (at, 1.0)], CUT.mix(0.7)))?;
    }
    let points = |level: fn(&Column) -> f64| {
        means.iter().enumerate().map(move |(index, column)| ((index as f64 + 0.5) * width, level(column)))
    };
    chart.draw_series(LineSeries::new(points(|column| column.black), BLACK_POINT.stroke_width(2)))?;
    chart.draw_series(LineSeries::new(points(|column| column.white), WHITE_POINT.stroke_width(2)))?;
    legend(area, 12, &[("white point", WHITE_POINT), ("black point", BLACK_POINT), ("cut", CUT)])
}

fn gain_over_time<'a>(area: &Area<'a>, means: &[Column], width: f64, seconds: f64) -> Drawn<'a> {
    let most = means.iter().map(|column| column.gain).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .margin_top(10)
        .x_label_area_size(24)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..seconds, 0.0..most * 1.1)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(GRID)
        .label_style(letters(13, INK))
        .y_labels(5)
        .y_label_formatter(&|gain| format!("{gain:.1}"))
        .x_label_formatter(&|seconds| clock(*seconds))
        .draw()?;
    for (at, _) in cuts(means, width) {
        chart.draw_series(LineSeries::new([(at, 0.0), (at, most * 1.1)], CUT.mix(0.7)))?;
    }
    let gains = means.iter().enumerate().map(|(index, column)| ((index as f64 + 0.5) * width, column.gain));
    chart.draw_series(LineSeries::new(gains, GAIN.stroke_width(2)))?;
    // Gains are above 1, so that there is room below.
    legend(area, area.dim_in_pixel().1 as i32 - 60, &[("gain", GAIN)])
}

fn histogram<'a>(area: &Area<'a>, title: &str, counts: &[u64], color: RGBColor) -> Drawn<'a> {
    let total = counts.iter().sum::<u64>().max(1) as f64;
    let shares: Vec<f64> = counts.iter().map(|count| *count as f64 / total).collect();
    // As tall as the tallest, unless that is a lone spike: then the rest should still be seen.
    let tallest = shares.iter().copied().fold(0.0, f64::max);
    let top = tallest.min(5.0 / BINS as f64).max(f64::MIN_POSITIVE);
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .margin_top(24)
        .margin_bottom(6)
        .x_label_area_size(24)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..100.0, 0.0..top * 1.02)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(GRID)
        .label_style(letters(13, INK))
        .x_labels(6)
        .y_labels(4)
        .x_label_formatter(&|level| format!("{level:.0} %"))
        .y_label_formatter(&|share| format!("{:.1} %", share * 100.0))
        .draw()?;
    let bar = |(bin, share): (usize, &f64)| {
        let level = |bin: usize| bin as f64 / BINS as f64 * 100.0;
        Rectangle::new([(level(bin), 0.0), (level(bin + 1), share.min(top))], color.mix(0.8).filled())
    };
    chart.draw_series(shares.iter().enumerate().filter(|(_, share)| **share > 0.0).map(bar))?;
    area.draw(&Text::new(title.to_owned(), (56, 4), letters(13, INK)))
}

/// Names in their colours at the right, `y` pixels below the top.
fn legend<'a>(area: &Area<'a>, y: i32, names: &[(&str, RGBColor)]) -> Drawn<'a> {
    let mut x = area.dim_in_pixel().0 as i32 - 30;
    for (name, color) in names {
        x -= name.len() as i32 * 7 + 16;
        let box_end = x + name.len() as i32 * 7 + 8;
        area.draw(&Rectangle::new([(x - 4, y), (box_end - 4, y + 18)], PAPER.mix(0.75).filled()))?;
        area.draw(&Text::new((*name).to_owned(), (x, y + 3), letters(13, *color)))?;
    }
    Ok(())
}

fn cuts(means: &[Column], width: f64) -> impl Iterator<Item = (f64, f64)> {
    means
        .iter()
        .enumerate()
        .filter(|(_, column)| column.frames > 0 && column.cut > SURE)
        .map(move |(index, column)| (index as f64 * width, column.cut))
}

/// Dark to bright for no pixel to many, on a scale on which a hundredth is still seen.
fn heat(share: f32) -> RGBColor {
    let x = ((share / FULL).clamp(0.0, 1.0) * 100.0 + 1.0).ln() / 101f32.ln();
    const STOPS: [[f32; 3]; 4] = [[10.0, 11.0, 14.0], [62.0, 44.0, 110.0], [196.0, 78.0, 120.0], [252.0, 236.0, 190.0]];
    let at = x * (STOPS.len() - 1) as f32;
    let index = (at as usize).min(STOPS.len() - 2);
    let mix = |i: usize| STOPS[index][i] + (STOPS[index + 1][i] - STOPS[index][i]) * (at - index as f32);
    RGBColor(mix(0) as u8, mix(1) as u8, mix(2) as u8)
}

/// Seconds as people read them on an axis.
fn clock(seconds: f64) -> String {
    let minutes = (seconds / 60.0).floor();
    let rest = seconds - minutes * 60.0;
    if minutes > 0.0 { format!("{minutes}:{rest:02.0}") } else { format!("{} s", (rest * 100.0).round() / 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_pixels_are_brighter() {
        let brightness = |share| {
            let RGBColor(r, g, b) = heat(share);
            u32::from(r) + u32::from(g) + u32::from(b)
        };
        let steps = [0.0, 0.0002, 0.001, 0.01, 0.04, 0.5].map(brightness);
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    }

    #[test]
    fn an_empty_history_is_drawn_all_the_same() {
        let mut rgb = vec![0; (WIDTH * HEIGHT * 3) as usize];
        draw(&mut rgb, "nothing", &History::new()).unwrap();
        assert!(rgb.chunks_exact(3).any(|pixel| pixel == [INK.0, INK.1, INK.2]), "the title is there");
    }
}

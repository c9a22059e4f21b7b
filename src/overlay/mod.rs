//! What is drawn into frames: the histogram panel and the edge of the split view.
//!
//! Decided here once a frame, in whole numbers, for both backends: `panel` draws onto a `canvas`, which becomes
//! a patch of samples for each plane ([`marks`]). A backend only blends patches in, so both give the same bits.

mod canvas;
pub mod channels;
mod colour;
pub mod marks;
mod panel;
mod sites;

use crate::frame::{FrameInfo, Planes, TEXEL};
use crate::levels::Report;
use crate::levels::curves::Curves;
use crate::settings::{Mode, Overlay as Kind, Settings};
use canvas::Canvas;
use channels::Channels;
use colour::Conversion;
use marks::{Marks, Patch};
use panel::Panel;
use sites::Sites;

/// What the panel shows of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The luma histogram: pixels of each code.
    pub luma: &'a [u32],
    pub report: &'a Report,
    pub curves: &'a Curves,
}

/// Draws what is shown in the frames of one stream.
pub struct Overlay {
    info: FrameInfo,
    sites: Sites,
    conversion: Conversion,
    channels: Channels,
    /// None where frames are too small for it.
    panel: Option<Panel>,
    canvas: Canvas,
    line: Canvas,
}

impl Overlay {
    /// Draws into frames as described by `info`.
    pub fn new(info: &FrameInfo) -> Overlay {
        let sites = Sites::new(info);
        let panel = Panel::fit(info, &sites);
        Overlay {
            conversion: Conversion::new(info),
            channels: Channels::new(info),
            panel,
            canvas: Canvas::default(),
            line: split_line(info, &sites),
            info: info.clone(),
            sites,
        }
    }

    /// Counts R, G and B of the frame that is marked next, if they are to be shown.
    pub fn count(&mut self, planes: &Planes, settings: &Settings) {
        if settings.overlay == Kind::Histogram && self.panel.is_some() {
            self.channels.count(&self.info, planes);
        }
    }

    /// Writes to `marks` what `settings` want to see in a frame.
    pub fn mark(&mut self, settings: &Settings, shown: &Shown, marks: &mut Marks) {
        marks.clear();
        let edge = match settings.mode {
            Mode::Off => 0,
            _ => self.edge(settings.split),
        };
        if edge > 0 {
            for (mark, shape) in marks.planes.iter_mut().zip(&self.info.planes) {
                let whole = shape.samples.div_ceil(TEXEL);
                let unit_texels = shape.lanes.len() / TEXEL;
                mark.kept = if edge == self.info.width { whole } else { edge / shape.unit_pixels * unit_texels };
            }
        }
        if (1..self.info.width).contains(&edge) {
            for (plane, shape) in self.info.planes.iter().enumerate() {
                let patch = &mut marks.planes[plane].line;
                self.sites.convert(plane, &self.line, (edge, 0), &self.conversion, patch);
                (patch.down, patch.stride) = (shape.rows, 0);
            }
        }
        if let Some(panel) = self.panel.as_ref().filter(|_| settings.overlay == Kind::Histogram) {
            panel.draw(shown, self.channels.counts(), &mut self.canvas);
            for plane in 0..self.info.planes.len() {
                let patch = &mut marks.planes[plane].panel;
                self.sites.convert(plane, &self.canvas, panel.corner(), &self.conversion, patch);
            }
        }
    }

    /// The first pixel of a row that is not shown as it came: on a whole unit in every plane.
    fn edge(&self, split: f64) -> usize {
        let (width, unit) = (self.info.width, self.sites.unit().0);
        // `as` takes NaN to 0.
        let edge = (split.clamp(0.0, 1.0) * width as f64 / unit as f64).round() as usize * unit;
        if split >= 1.0 { width } else { edge.min(width) }
    }
}

/// The most texels that the patches of a frame have together.
pub fn most_texels(info: &FrameInfo) -> usize {
    let sites = Sites::new(info);
    let line = split_line(info, &sites);
    let panel = Panel::fit(info, &sites).map_or((0, 0), |panel| panel.size());
    let texels = |plane: usize, size| sites.rectangle(plane, (0, 0), size).texels();
    (0..info.planes.len()).map(|plane| texels(plane, panel) + texels(plane, line.size())).sum()
}

/// A bright line and a dark one beside it, to be seen on any picture; as high as a unit.
fn split_line(info: &FrameInfo, sites: &Sites) -> Canvas {
    let (across, down) = sites.unit();
    let thick = (info.width / 960).max(1);
    let mut canvas = Canvas::default();
    canvas.clear(((2 * thick).next_multiple_of(across), down));
    canvas.fill((0, 0), (thick, down), [255; 3], 208);
    canvas.fill((thick, 0), (2 * thick, down), [0; 3], 144);
    canvas
}

impl Sites {
    /// Turns a canvas, whose corner lies at a pixel on a whole unit, into the patch of a plane.
    fn convert(&self, plane: usize, canvas: &Canvas, corner: (usize, usize), to: &Conversion, patch: &mut Patch) {
        let place = self.rectangle(plane, corner, canvas.size());
        place.put(patch);
        let sites = self.plane(plane);
        // What the last sample at each place of a unit was made of, and made into: most of a panel is ground.
        let mut last = [([0; 4], (0, 0)); sites::LONGEST_UNIT];
        for row in 0..place.down {
            for unit in 0..place.across * TEXEL / sites.samples.len() {
                let mut words = [[0u32; 2]; sites::LONGEST_UNIT / TEXEL];
                for (index, site) in sites.samples.iter().enumerate() {
                    let left = unit * sites.pixels + site.first;
                    let paint = canvas.sum((left, row * sites.rows), (site.pixels, sites.rows));
                    let (made_of, made) = &mut last[index];
                    if *made_of != paint {
                        *made_of = paint;
                        *made = to.sample(site.lane, paint, site.pixels * sites.rows);
                    }
                    let shift = 8 * (index % TEXEL);
                    words[index / TEXEL][0] |= u32::from(made.0) << shift;
                    words[index / TEXEL][1] |= u32::from(made.1) << shift;
                }
                patch.texels.extend_from_slice(&words[..sites.samples.len() / TEXEL]);
            }
        }
    }
}

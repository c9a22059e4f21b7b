//! Overlay: blends the patches of a frame's marks into what was applied.

use crate::frame::{FrameInfo, PlaneMut, TEXEL};
use crate::overlay::marks::{Marks, blend};

/// Draws `marks` into planes that hold what `info` says.
pub fn draw(info: &FrameInfo, planes: &mut [PlaneMut], marks: Option<&Marks>) {
    let Some(marks) = marks else { return };
    for ((plane, shape), marks) in planes.iter_mut().zip(&info.planes).zip(&marks.planes) {
        for patch in marks.patches() {
            for y in patch.top..(patch.top + patch.down).min(shape.rows) {
                let row = &mut plane.data[y * plane.stride..][..shape.samples];
                let samples = row.get_mut(patch.left * TEXEL..).unwrap_or_default();
                for (samples, [values, weights]) in samples.chunks_mut(TEXEL).zip(patch.row(y).unwrap_or_default()) {
                    let bytes = values.to_le_bytes().into_iter().zip(weights.to_le_bytes());
                    for (sample, (value, weight)) in samples.iter_mut().zip(bytes) {
                        *sample = blend(*sample, value.into(), weight.into());
                    }
                }
            }
        }
    }
}

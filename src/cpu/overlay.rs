//! Overlay: blends the patches of a frame's marks into what was applied.

use crate::frame::{FrameInfo, PlaneMut, TEXEL};
use crate::overlay::marks::{Deepen, Marks, blend};

/// Draws `marks` into planes that hold what `info` says.
pub fn draw(info: &FrameInfo, planes: &mut [PlaneMut], marks: Option<&Marks>) {
    let Some(marks) = marks else { return };
    let (packing, deepen) = (info.format.packing(), Deepen::new(info));
    let bytes = packing.bytes();
    for ((plane, shape), marks) in planes.iter_mut().zip(&info.planes).zip(&marks.planes) {
        for patch in marks.patches() {
            for y in patch.top..(patch.top + patch.down).min(shape.rows) {
                let row = &mut plane.data[y * plane.stride..][..shape.bytes];
                let samples = row.get_mut(patch.left * TEXEL * bytes..).unwrap_or_default();
                let texels = samples.chunks_mut(TEXEL * bytes).zip(patch.row(y).unwrap_or_default());
                for (samples, [values, weights]) in texels {
                    let drawn = values.to_le_bytes().into_iter().zip(weights.to_le_bytes());
                    for (sample, (value, weight)) in samples.chunks_mut(bytes).zip(drawn) {
                        let value = deepen.value(value.into());
                        match sample {
                            [low, high] => {
                                let old = u16::from_le_bytes([*low, *high]);
                                let code = blend(packing.code(old), value, weight.into());
                                [*low, *high] = packing.with_code(old, code).to_le_bytes();
                            }
                            _ => sample[0] = blend(sample[0].into(), value, weight.into()) as u8,
                        }
                    }
                }
            }
        }
    }
}

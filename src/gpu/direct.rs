//! Frames that the GPU reads and writes where they lie: planes found in [`Pages`], and bound.

use std::sync::Arc;

use crate::frame::{FrameInfo, Plane};

use super::device::Gpu;
use super::geometry::WORD;
use super::memory::Places;
use super::pages::{Binding, Pages};

/// A frame that the GPU reads or writes where it lies.
pub struct Direct {
    pub group: wgpu::BindGroup,
    /// Kept until the GPU is done with them.
    _pages: Arc<Pages>,
}

impl Direct {
    /// Finds the planes, each with its first byte and stride, in pages that the GPU can use; binds them with
    /// `bind`. `None` if they lie elsewhere, or not on whole words.
    pub fn find<'a>(
        gpu: &Gpu,
        info: &FrameInfo,
        planes: impl Iterator<Item = Plane<'a>>,
        written: bool,
        bind: impl FnOnce(&Places, &wgpu::Buffer) -> wgpu::BindGroup,
    ) -> Option<Direct> {
        let mut places = Places::default();
        let mut found: Option<Arc<Pages>> = None;
        for ((place, shape), plane) in places.iter_mut().zip(&info.planes).zip(planes) {
            let (pages, offset) = Pages::find(plane.data.get(..1)?)?;
            let row = shape.bytes.next_multiple_of(WORD);
            let end = (shape.rows - 1).checked_mul(plane.stride)?.checked_add(row)?.checked_add(offset)?;
            let whole_words = offset % WORD == 0 && plane.stride % WORD == 0 && plane.stride >= row;
            if !whole_words || end > pages.range().1 || found.as_ref().is_some_and(|found| !Arc::ptr_eq(found, &pages))
            {
                return None;
            }
            *place = [u32::try_from(offset / WORD).ok()?, u32::try_from(plane.stride / WORD).ok()?];
            found = Some(pages);
        }
        let pages = found.filter(|pages| pages.range().1 as u64 <= gpu.info.max_frame)?;
        let group = pages.bound(&gpu.device, Binding { written, places }, |buffer| bind(&places, buffer))?;
        Some(Direct { group, _pages: pages })
    }
}

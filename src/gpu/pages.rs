//! Page-aligned memory for frames that a GPU reads and writes in place, without a copy.
//!
//! A buffer pool hands such memory to GStreamer as ordinary system memory. When a frame comes back, its address
//! tells which [`Pages`] it lies in, and they remember the GPU buffer that stands for them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::memory::Places;

/// Alignment of address and length; what every driver seen asks of memory that it imports.
pub const PAGE: usize = 4096;
/// Ways of binding the same pages that are remembered.
const MOST_BINDINGS: usize = 4;

/// A run of whole pages. Freed when the owner and everybody who found it have let go.
pub struct Pages {
    pointer: NonNull<u8>,
    length: usize,
    /// What stands for these pages on a GPU: made on first use, for the last device that used them.
    import: Mutex<Option<Import>>,
}

/// Pages as one device sees them.
struct Import {
    device: wgpu::Device,
    /// None if the device cannot import them.
    buffer: Option<wgpu::Buffer>,
    /// The buffer bound in each way that was asked for.
    groups: Vec<(Binding, wgpu::BindGroup)>,
}

/// How pages are bound: read or written, with the planes of a frame at these places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub written: bool,
    pub places: Places,
}

// SAFETY: the pages are plain memory without thread affinity. Their bytes are reached only through the one
// `PageMemory` that owns them, whose borrows the compiler checks, and by the GPU under `Pages::buffer`'s rules.
unsafe impl Send for Pages {}
// SAFETY: as above; shared references give no access to the bytes.
unsafe impl Sync for Pages {}

/// All pages in use, by address.
static ALL: Mutex<BTreeMap<usize, Weak<Pages>>> = Mutex::new(BTreeMap::new());

impl Pages {
    fn layout(length: usize) -> Option<Layout> {
        Layout::from_size_align(length, PAGE).ok()
    }

    /// The pages in which `bytes` lie whole, and the offset at which they begin.
    pub fn find(bytes: &[u8]) -> Option<(Arc<Pages>, usize)> {
        let address = bytes.as_ptr() as usize;
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = all.range(..=address).next_back()?.1.upgrade()?;
        let offset = address - pages.pointer.as_ptr() as usize;
        (offset + bytes.len() <= pages.length).then_some((pages, offset))
    }

    /// Address and length, for importing.
    pub fn range(&self) -> (NonNull<u8>, usize) {
        (self.pointer, self.length)
    }

    /// Pages bound for a shader on `device`: imported with [`import`](super::import::import) and bound with
    /// `bind` when they are first used so; `None` if the device cannot import them.
    ///
    /// Whoever lets the GPU use the group keeps these pages, and sees to it that nobody reaches the bytes that
    /// the GPU writes, or writes those that it reads, until it is done.
    pub fn bound(
        &self,
        device: &wgpu::Device,
        binding: Binding,
        bind: impl FnOnce(&wgpu::Buffer) -> wgpu::BindGroup,
    ) -> Option<wgpu::BindGroup> {
        let mut known = self.import.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|import| import.device != *device) {
            let buffer = super::import::import(device, self);
            *known = Some(Import { device: device.clone(), buffer, groups: Vec::new() });
        }
        let Import { buffer, groups, .. } = known.as_mut()?;
        let buffer = buffer.as_ref()?;
        if let Some((_, group)) = groups.iter().find(|(known, _)| *known == binding) {
            return Some(group.clone());
        }
        // A pool's pages are bound in one way or two; who binds them ever otherwise gets the last few.
        groups.truncate(MOST_BINDINGS - 1);
        let group = bind(buffer);
        groups.insert(0, (binding, group.clone()));
        Some(group)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // The GPU's claim on the pages goes before the pages.
        self.import.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        ALL.lock().unwrap_or_else(PoisonError::into_inner).remove(&(self.pointer.as_ptr() as usize));
        if let Some(layout) = Pages::layout(self.length) {
            // SAFETY: `PageMemory::new` allocated the pointer with this very layout, and nobody refers to it any more.
            unsafe { dealloc(self.pointer.as_ptr(), layout) };
        }
    }
}

/// The owner of [`Pages`]: lends their bytes as any other owner of memory does.
pub struct PageMemory(Arc<Pages>);

impl PageMemory {
    /// Zeroed pages for at least `bytes` bytes; `None` if there is no memory.
    pub fn new(bytes: usize) -> Option<PageMemory> {
        let length = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let layout = Pages::layout(length)?;
        // SAFETY: the layout's size is at least one page, never zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let pages = Arc::new(Pages { pointer, length, import: Mutex::new(None) });
        let address = pointer.as_ptr() as usize;
        ALL.lock().unwrap_or_else(PoisonError::into_inner).insert(address, Arc::downgrade(&pages));
        Some(PageMemory(pages))
    }
}

impl AsRef<[u8]> for PageMemory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: pointer and length are those of the live allocation, initialized at first with zeros; only this
        // owner, which is borrowed here, gives access to the bytes.
        unsafe { std::slice::from_raw_parts(self.0.pointer.as_ptr(), self.0.length) }
    }
}

impl AsMut<[u8]> for PageMemory {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `as_ref`, and the owner is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.pointer.as_ptr(), self.0.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_the_address_of_bytes_that_lie_in_them() {
        let mut memory = PageMemory::new(3 * PAGE - 5).unwrap();
        memory.as_mut()[7] = 1;
        assert_eq!((memory.as_ref().len(), memory.as_ref().as_ptr() as usize % PAGE), (3 * PAGE, 0));
        let (pages, offset) = Pages::find(&memory.as_ref()[100..200]).unwrap();
        assert_eq!((offset, pages.range().1), (100, 3 * PAGE));
        assert!(Pages::find(&[1, 2, 3]).is_none());
        drop(memory);
        drop(pages);
        let other = PageMemory::new(1).unwrap();
        assert_eq!(Pages::find(other.as_ref()).unwrap().1, 0);
    }
}

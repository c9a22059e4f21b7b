//! A buffer pool whose memory a GPU can use in place: whole pages, found again by their address.
//!
//! To everybody else its buffers are ordinary system memory with a video meta.

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// A pool of buffers on [`Pages`](crate::gpu::pages::Pages).
    pub struct PagePool(ObjectSubclass<imp::PagePool>) @extends gst::BufferPool, gst::Object;
}

impl PagePool {
    /// A pool for the frames that `info` describes, which keeps at least `min` buffers; `None` if it refuses.
    pub fn new(info: &gst_video::VideoInfo, min: u32) -> Option<PagePool> {
        let pool: PagePool = glib::Object::new();
        let caps = info.to_caps().ok()?;
        let mut config = pool.config();
        config.set_params(Some(&caps), u32::try_from(info.size()).ok()?, min, 0);
        config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
        pool.set_config(config).ok()?;
        Some(pool)
    }
}

mod imp {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    use gst::glib;
    use gst::subclass::prelude::*;
    use gst_video::{VideoFrameFlags, VideoInfo, VideoMeta};

    use crate::gpu::pages::PageMemory;

    /// Buffers on pages that exist at a time. An encoder with a long look-ahead holds dozens of frames, and memory
    /// that a GPU uses cannot be paged out: beyond this many, buffers are plain memory, which is copied.
    const MOST_ON_PAGES: usize = 24;

    #[derive(Default)]
    pub struct PagePool {
        info: Mutex<Option<VideoInfo>>,
        on_pages: AtomicUsize,
    }

    #[glib::object_subclass]
    impl ObjectSubclass for PagePool {
        const NAME: &'static str = "GstAutoLevelsPagePool";
        type Type = super::PagePool;
        type ParentType = gst::BufferPool;
    }

    impl ObjectImpl for PagePool {}
    impl GstObjectImpl for PagePool {}

    impl BufferPoolImpl for PagePool {
        fn options() -> &'static [&'static str] {
            &["GstBufferPoolOptionVideoMeta"]
        }

        fn set_config(&self, config: &mut gst::BufferPoolConfigRef) -> bool {
            let Some((Some(caps), _, min, max)) = config.params() else { return false };
            let Ok(info) = VideoInfo::from_caps(&caps) else { return false };
            let Ok(size) = u32::try_from(info.size()) else { return false };
            config.set_params(Some(&caps), size, min, max);
            *self.info.lock().unwrap_or_else(PoisonError::into_inner) = Some(info);
            self.parent_set_config(config)
        }

        fn alloc_buffer(&self, _params: Option<&gst::BufferPoolAcquireParams>) -> Result<gst::Buffer, gst::FlowError> {
            let info = self
                .info
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
                .ok_or(gst::FlowError::NotNegotiated)?;
            let mut buffer = gst::Buffer::new();
            let writable = buffer.get_mut().ok_or(gst::FlowError::Error)?;
            let pages = match self.on_pages.fetch_add(1, Ordering::Relaxed) < MOST_ON_PAGES {
                true => PageMemory::new(info.size()),
                false => None,
            };
            match pages {
                Some(pages) => {
                    writable.append_memory(gst::Memory::from_mut_slice(pages));
                    // The rest of the last page is nobody's business.
                    writable.set_size(info.size());
                }
                None => writable.append_memory(gst::Memory::with_size(info.size())),
            }
            let planes = info.n_planes() as usize;
            let (offset, stride) = (&info.offset()[..planes], &info.stride()[..planes]);
            let flags = VideoFrameFlags::empty();
            VideoMeta::add_full(writable, flags, info.format(), info.width(), info.height(), offset, stride)
                .map_err(|_| gst::FlowError::Error)?;
            Ok(buffer)
        }

        fn free_buffer(&self, buffer: gst::Buffer) {
            self.on_pages.fetch_sub(1, Ordering::Relaxed);
            self.parent_free_buffer(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::pages::Pages;

    #[test]
    fn buffers_lie_on_pages_and_have_the_size_of_a_frame() {
        gst::init().unwrap();
        let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Nv12, 321, 33).build().unwrap();
        let pool = PagePool::new(&info, 2).unwrap();
        pool.set_active(true).unwrap();
        let first = pool.acquire_buffer(None).unwrap();
        assert_eq!(first.size(), info.size());
        let meta = first.meta::<gst_video::VideoMeta>().unwrap();
        assert_eq!(meta.stride()[..2], info.stride()[..2]);
        let address = |buffer: &gst::BufferRef| {
            let map = buffer.map_readable().unwrap();
            let (_, offset) = Pages::find(map.as_slice()).unwrap();
            assert_eq!(offset, 0);
            map.as_slice().as_ptr() as usize
        };
        let (a, second) = (address(&first), pool.acquire_buffer(None).unwrap());
        assert_ne!(a, address(&second));
        drop(first);
        let again = pool.acquire_buffer(None).unwrap();
        assert_eq!(address(&again), a, "a buffer that came back is used again");
        let held: Vec<_> = (0..40).map(|_| pool.acquire_buffer(None).unwrap()).collect();
        let map = held[39].map_readable().unwrap();
        assert!(Pages::find(map.as_slice()).is_none(), "beyond the bound, memory is plain");
        drop(map);
        pool.set_active(false).unwrap();
    }
}

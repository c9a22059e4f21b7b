//! Memory for the frames that come out: a pool, so that nothing is allocated once the pipeline runs.

use std::sync::Arc;

use gst::prelude::*;
use gst_video::VideoInfo;

use crate::frame::FrameError;
use crate::pool::PagePool;
use crate::video::OutputProvider;

/// A running buffer pool. Buffers that are still out when it goes live on.
struct Pool(gst::BufferPool);

impl Drop for Pool {
    fn drop(&mut self) {
        // Fails only if it never ran.
        let _ = self.0.set_active(false);
    }
}

/// Gives buffers for frames of `caps` from a pool of its own, with the metadata of the input; on pages if a GPU
/// writes them in place.
///
/// # Errors
/// If GStreamer refuses the pool, e.g. because a frame is too large.
pub fn pooled(caps: &gst::Caps, info: &VideoInfo, on_pages: bool) -> Result<OutputProvider, FrameError> {
    let refused = |error: gst::glib::BoolError| FrameError::Memory(error.to_string());
    let pages = if on_pages { PagePool::new(info, 0) } else { None };
    let pool = match pages {
        Some(pages) => Pool(pages.upcast()),
        None => Pool(plain(caps, info)?),
    };
    pool.0.set_active(true).map_err(refused)?;
    Ok(Arc::new(move |input: &gst::BufferRef| {
        let mut buffer =
            pool.0.acquire_buffer(None).map_err(|flow| FrameError::Memory(format!("the buffer pool says {flow}")))?;
        let output = buffer.get_mut().expect("a pool gives buffers that nobody else holds");
        // Metas that describe the memory itself (strides, its owner) are left out by this.
        let flags = gst::BufferCopyFlags::FLAGS | gst::BufferCopyFlags::TIMESTAMPS | gst::BufferCopyFlags::META;
        input.copy_into(output, flags, ..).map_err(refused)?;
        Ok(buffer)
    }))
}

/// A pool of plain memory, not yet running.
fn plain(caps: &gst::Caps, info: &VideoInfo) -> Result<gst::BufferPool, FrameError> {
    let size = u32::try_from(info.size()).map_err(|_| FrameError::Memory("a frame of 4 GiB or more".into()))?;
    let pool = gst_video::VideoBufferPool::new();
    let mut config = pool.config();
    // No upper limit: an encoder may hold dozens of frames.
    config.set_params(Some(caps), size, 0, 0);
    config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META);
    pool.set_config(config).map_err(|error| FrameError::Memory(error.to_string()))?;
    Ok(pool.upcast())
}

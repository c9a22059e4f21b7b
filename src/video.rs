//! GStreamer's buffers as frames: caps to [`FrameInfo`], buffers to [`FrameMemory`].
//!
//! Offsets and strides are taken from each buffer's video meta where it has one. Planes are cut out of the
//! mapped bytes, checked against their true size, so that a wrong meta is an error and never a wild pointer.

use std::sync::Arc;

use arrayvec::ArrayVec;
use gst::buffer::{MappedBuffer, Readable, Writable};
use gst_video::{VideoColorMatrix, VideoColorPrimaries, VideoColorRange, VideoColorimetry, VideoInfo, VideoMeta};

use crate::frame::{
    Access, Format, FrameError, FrameInfo, FrameMemory, LumaWeights, Plane, PlaneMut, Planes, PlanesMut, Range,
};

/// Describes the frames of a stream from its caps; `None` if the format is not one of [`Format`].
pub fn frame_info(caps: &gst::CapsRef) -> Option<(VideoInfo, FrameInfo)> {
    let info = VideoInfo::from_caps(caps).ok()?;
    let format = Format::find(info.format().to_str())?;
    if info.width() == 0 || info.height() == 0 {
        return None;
    }
    // GStreamer drops a colorimetry without a matrix whole, the range with it; caps of JPEG and some H.264 say no more.
    let said = caps.structure(0).and_then(|structure| structure.get::<&str>("colorimetry").ok()?.parse().ok());
    let colorimetry: VideoColorimetry = said.unwrap_or_else(|| info.colorimetry());
    let range = match colorimetry.range() {
        VideoColorRange::Range16_235 => Range::LIMITED,
        VideoColorRange::Range0_255 => Range::FULL,
        _ if format.is_rgb() => Range::FULL,
        _ => Range::LIMITED,
    };
    // The matrix of RGB caps says RGB, so their weights follow the primaries.
    let weights = match (colorimetry.matrix(), colorimetry.primaries()) {
        (VideoColorMatrix::Bt2020, _) => LumaWeights::BT2020,
        (VideoColorMatrix::Bt709, _) => LumaWeights::BT709,
        (VideoColorMatrix::Bt601, _) => LumaWeights::BT601,
        (_, VideoColorPrimaries::Bt2020) => LumaWeights::BT2020,
        (_, VideoColorPrimaries::Smpte170m | VideoColorPrimaries::Bt470bg | VideoColorPrimaries::Bt470m) => {
            LumaWeights::BT601
        }
        _ => LumaWeights::BT709,
    };
    let frames = FrameInfo::new(format, info.width() as usize, info.height() as usize, range, weights);
    Some((info, frames))
}

/// Planes that a video meta has room for.
const MOST_PLANES: u32 = 4;

/// Where the planes lie in a buffer's bytes: offset and stride of each.
#[derive(Clone, Debug)]
struct Places(ArrayVec<(usize, usize), 4>);

impl Places {
    /// From the buffer's video meta, else from the caps.
    fn of(buffer: &gst::BufferRef, info: &VideoInfo) -> Result<Places, FrameError> {
        match buffer.meta::<VideoMeta>() {
            Some(meta)
                if meta.format() != info.format() || meta.width() != info.width() || meta.height() != info.height() =>
            {
                let wrong = format!("the video meta says {} {}×{}", meta.format(), meta.width(), meta.height());
                Err(FrameError::Memory(wrong))
            }
            Some(meta) if meta.n_planes() > MOST_PLANES => {
                Err(FrameError::Memory(format!("the video meta says {} planes", meta.n_planes())))
            }
            Some(meta) => Places::new(meta.offset(), meta.stride()),
            None => Places::new(info.offset(), info.stride()),
        }
    }

    fn new(offsets: &[usize], strides: &[i32]) -> Result<Places, FrameError> {
        let place = |(offset, stride): (&usize, &i32)| {
            usize::try_from(*stride)
                .map(|stride| (*offset, stride))
                .map_err(|_| FrameError::Memory(format!("stride {stride}")))
        };
        offsets.iter().zip(strides).take(4).map(place).collect::<Result<_, _>>().map(Places)
    }

    /// Whether each plane ends before the next one in memory begins, and the last before `size` bytes do, so
    /// that all of them can be written at once.
    fn are_apart(&self, info: &VideoInfo, size: usize) -> bool {
        let end = |plane: usize| {
            let components = (0..info.n_components() as u8).filter(|c| info.comp_plane(*c) as usize == plane);
            let span =
                |c: u8| (info.comp_height(c) as usize, info.comp_width(c) as usize * info.comp_pstride(c) as usize);
            // Of a packed format's components, the one that reaches farthest.
            let (rows, row) = components.map(span).max_by_key(|span| span.1)?;
            let (offset, stride) = self.0[plane];
            rows.saturating_sub(1).checked_mul(stride)?.checked_add(row)?.checked_add(offset)
        };
        (0..self.0.len()).all(|plane| {
            let begin = self.0[plane].0;
            let next = self.0.iter().map(|place| place.0).filter(|offset| *offset > begin).min().unwrap_or(size);
            let alone = self.0.iter().filter(|place| place.0 == begin).count() == 1;
            alone && end(plane).is_some_and(|end| end <= next.min(size))
        })
    }

    fn planes<'a>(&self, bytes: &'a [u8]) -> Planes<'a> {
        // An offset past the end gives an empty plane, which the check of the frame refuses.
        let plane =
            |&(offset, stride): &(usize, usize)| Plane { data: bytes.get(offset..).unwrap_or_default(), stride };
        self.0.iter().map(plane).collect()
    }

    /// The planes to write; each ends where the next one in memory begins.
    fn planes_mut<'a>(&self, mut bytes: &'a mut [u8]) -> PlanesMut<'a> {
        let mut order: ArrayVec<usize, 4> = (0..self.0.len()).collect();
        order.sort_unstable_by_key(|&i| self.0[i].0);
        let mut planes: ArrayVec<Option<PlaneMut>, 4> = order.iter().map(|_| None).collect();
        for &index in order.iter().rev() {
            let (offset, stride) = self.0[index];
            let (before, data) = bytes.split_at_mut(offset.min(bytes.len()));
            planes[index] = Some(PlaneMut { data, stride });
            bytes = before;
        }
        planes.into_iter().flatten().collect()
    }
}

/// Finds memory for the output of a frame, given its input: a pool, downstream's allocator, plain memory.
/// The buffer that it gives carries the metadata that the output is to have.
pub type OutputProvider = Arc<dyn Fn(&gst::BufferRef) -> Result<gst::Buffer, FrameError> + Send + Sync>;

enum Input {
    /// Others read this buffer too.
    Readable(MappedBuffer<Readable>),
    /// It is ours alone: the output is written in its place.
    Writable(MappedBuffer<Writable>),
}

impl Input {
    fn bytes(&self) -> &[u8] {
        match self {
            Input::Readable(mapped) => mapped.as_slice(),
            Input::Writable(mapped) => mapped.as_slice(),
        }
    }

    fn buffer(&self) -> &gst::BufferRef {
        match self {
            Input::Readable(mapped) => mapped.buffer(),
            Input::Writable(mapped) => mapped.buffer(),
        }
    }
}

/// A GStreamer buffer on its way through the leveler, and the buffer that it is written to.
pub struct GstFrame {
    input: Input,
    places: Places,
    info: VideoInfo,
    output: Option<(MappedBuffer<Writable>, Places)>,
    provider: OutputProvider,
}

impl GstFrame {
    /// Maps `buffer`. The output is written in place where the buffer is writable and its planes lie apart, else
    /// to memory from `provider`.
    ///
    /// # Errors
    /// With the buffer, if it cannot be mapped or its meta does not fit `info`.
    pub fn new(
        buffer: gst::Buffer,
        info: &VideoInfo,
        provider: OutputProvider,
    ) -> Result<GstFrame, (gst::Buffer, FrameError)> {
        let places = match Places::of(&buffer, info) {
            Ok(places) => places,
            Err(error) => return Err((buffer, error)),
        };
        let ours = buffer.is_writable() && buffer.is_all_memory_writable() && places.are_apart(info, buffer.size());
        let mapped = if ours {
            buffer.into_mapped_buffer_writable().map(Input::Writable)
        } else {
            buffer.into_mapped_buffer_readable().map(Input::Readable)
        };
        match mapped {
            Ok(input) => Ok(GstFrame { input, places, info: info.clone(), output: None, provider }),
            Err(buffer) => Err((buffer, FrameError::Memory("the buffer cannot be mapped".into()))),
        }
    }

    /// The input buffer and, unless it was written in place or not at all, the output buffer.
    pub fn into_buffers(self) -> (gst::Buffer, Option<gst::Buffer>) {
        let input = match self.input {
            Input::Readable(mapped) => mapped.into_buffer(),
            Input::Writable(mapped) => mapped.into_buffer(),
        };
        (input, self.output.map(|(mapped, _)| mapped.into_buffer()))
    }
}

impl FrameMemory for GstFrame {
    fn input(&self) -> Planes<'_> {
        self.places.planes(self.input.bytes())
    }

    fn access(&mut self, in_place: bool) -> Result<Access<'_>, FrameError> {
        if in_place && self.output.is_none() && matches!(self.input, Input::Writable(_)) {
            return match &mut self.input {
                Input::Writable(mapped) => Ok(Access::InPlace(self.places.planes_mut(mapped.as_mut_slice()))),
                Input::Readable(_) => unreachable!("matched above"),
            };
        }
        if self.output.is_none() {
            let buffer = (self.provider)(self.input.buffer())?;
            let places = Places::of(&buffer, &self.info)?;
            if !places.are_apart(&self.info, buffer.size()) {
                return Err(FrameError::Memory("the output buffer's planes do not fit into it".into()));
            }
            let output = buffer
                .into_mapped_buffer_writable()
                .map_err(|_| FrameError::Memory("the output buffer cannot be mapped for writing".into()))?;
            self.output = Some((output, places));
        }
        match &mut self.output {
            Some((output, places)) => Ok(Access::Copy {
                input: self.places.planes(self.input.bytes()),
                output: places.planes_mut(output.as_mut_slice()),
            }),
            None => unreachable!("found above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(caps: &str) -> Range {
        gst::init().unwrap();
        let caps: gst::Caps = format!("video/x-raw,width=64,height=48,framerate=25/1,{caps}").parse().unwrap();
        frame_info(&caps).unwrap().1.range
    }

    #[test]
    fn the_range_is_the_one_that_the_caps_say() {
        assert_eq!(range("format=I420"), Range::LIMITED);
        assert_eq!(range("format=I420,colorimetry=bt709"), Range::LIMITED);
        assert_eq!(range("format=I420,colorimetry=1:4:0:0"), Range::FULL);
        assert_eq!(range("format=I420,colorimetry=1:0:0:0"), Range::FULL);
        assert_eq!(range("format=I420,colorimetry=2:0:0:0"), Range::LIMITED);
        assert_eq!(range("format=RGBA"), Range::FULL);
        assert_eq!(range("format=RGB,colorimetry=2:1:7:1"), Range::LIMITED);
        assert_eq!(range("format=GRAY8"), Range::FULL);
    }

    #[test]
    fn luma_weights_of_rgb_follow_the_primaries() {
        gst::init().unwrap();
        let weights = |colorimetry: &str| {
            let caps = format!("video/x-raw,format=RGBA,width=64,height=48,colorimetry={colorimetry}");
            frame_info(&caps.parse::<gst::Caps>().unwrap()).unwrap().1.weights
        };
        assert_eq!(weights("sRGB"), LumaWeights::BT709);
        assert_eq!(weights("1:1:7:4"), LumaWeights::BT601);
        assert_eq!(weights("1:1:7:7"), LumaWeights::BT2020);
    }
}

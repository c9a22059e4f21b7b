//! Timestamps, flags, metas and strides: out as they came in.

use autolevels::settings::BackendChoice;
use gst::prelude::*;
use gst_video::prelude::*;
use gst_video::{VideoFrameFlags, VideoInfo, VideoMeta, VideoRegionOfInterestMeta};

use crate::common::*;

/// The picture in a buffer whose rows are longer than the caps say, with a gap before each plane.
fn padded(info: &VideoInfo, number: usize) -> gst::Buffer {
    const PADDING: u8 = 0xEE;
    let plain = gst::Buffer::from_slice(picture(info, number));
    let view = gst_video::VideoFrameRef::from_buffer_ref_readable(&plain, info).unwrap();
    let frame = autolevels::video::frame_info(&info.to_caps().unwrap()).unwrap().1;
    let (mut bytes, mut offsets, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    for (plane, shape) in frame.planes.iter().enumerate() {
        bytes.resize(bytes.len() + 37, PADDING);
        let stride = shape.bytes + 13;
        offsets.push(bytes.len());
        strides.push(stride as i32);
        for row in 0..shape.rows {
            let from = row * view.plane_stride()[plane] as usize;
            bytes.extend_from_slice(&view.plane_data(plane as u32).unwrap()[from..][..shape.bytes]);
            bytes.resize(bytes.len() + 13, PADDING);
        }
    }
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    let writable = buffer.get_mut().unwrap();
    let (format, width, height) = (info.format(), info.width(), info.height());
    let empty = VideoFrameFlags::empty();
    VideoMeta::add_full(writable, empty, format, width, height, &offsets, &strides).unwrap();
    writable.set_pts(FRAME * number as u64);
    buffer
}

#[test]
fn strides_and_offsets_are_taken_from_the_buffer() {
    for backend in backends() {
        for format in ["NV12", "I420", "YUY2", "RGBA", "BGR", "GRAY8"] {
            for shared in [false, true] {
                let info = video_info(format, 61, 33);
                let mut harness = harness(&element(backend), &info);
                let mut reference = Reference::new(&info, &settings(backend));
                for number in 0..2 {
                    let input = padded(&info, number);
                    let before = input.map_readable().unwrap().to_vec();
                    let (held, address) = (shared.then(|| input.clone()), input.as_ptr());
                    harness.push(input).unwrap();
                    let output = harness.pull().unwrap();
                    let expected = plain_samples(reference.picture(number), &info);
                    assert!(samples(&output, &info) == expected, "{format}, shared: {shared}");
                    match held {
                        Some(held) => assert!(held.map_readable().unwrap().as_slice() == before, "{format}"),
                        // The GPU may have written to another buffer, which has no padding of ours.
                        None if output.as_ptr() != address => assert_ne!(backend, BackendChoice::Cpu),
                        None => {
                            let after = output.map_readable().unwrap();
                            let kept = before.iter().zip(after.iter()).filter(|(x, y)| **x == 0xEE && x == y).count();
                            let padding = before.iter().filter(|x| **x == 0xEE).count();
                            assert_eq!(kept, padding, "{format}: padding was written to");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn timestamps_flags_and_metas_come_out_as_they_went_in() {
    for backend in backends() {
        for shared in [false, true] {
            let info = video_info("NV12", 64, 48);
            let mut harness = harness(&element(backend), &info);
            let mut input = buffer(&info, 3);
            {
                let input = input.get_mut().unwrap();
                input.set_dts(FRAME * 2);
                input.set_duration(gst::ClockTime::from_mseconds(33));
                input.set_offset(17);
                input.set_offset_end(18);
                input.set_flags(gst::BufferFlags::MARKER | gst::BufferFlags::DISCONT);
                input.set_video_flags(gst_video::VideoBufferFlags::INTERLACED | gst_video::VideoBufferFlags::TFF);
                VideoRegionOfInterestMeta::add(input, "face", (1, 2, 3, 4));
                let clock = gst::Caps::builder("timestamp/x-test").build();
                gst::ReferenceTimestampMeta::add(input, &clock, FRAME, None);
            }
            let (flags, held) = (input.flags(), shared.then(|| input.clone()));
            harness.push(input).unwrap();
            let output = harness.pull().unwrap();
            assert_eq!(output.pts(), Some(FRAME * 3));
            assert_eq!(output.dts(), Some(FRAME * 2));
            assert_eq!(output.duration(), Some(gst::ClockTime::from_mseconds(33)));
            assert_eq!((output.offset(), output.offset_end()), (17, 18), "shared: {shared}");
            // Who may free the memory is the pool's business.
            assert_eq!(output.flags() - gst::BufferFlags::TAG_MEMORY, flags - gst::BufferFlags::TAG_MEMORY);
            let region = output.meta::<VideoRegionOfInterestMeta>().expect("the region is lost");
            assert_eq!(region.rect(), (1, 2, 3, 4));
            let time = output.meta::<gst::ReferenceTimestampMeta>().expect("the reference time is lost");
            assert_eq!(time.timestamp(), FRAME);
            drop(held);
        }
    }
}

#[test]
fn a_missing_timestamp_or_duration_stays_missing() {
    let info = video_info("NV12", 64, 48);
    for shared in [false, true] {
        let mut harness = harness(&element(BackendChoice::Cpu), &info);
        let input = gst::Buffer::from_mut_slice(picture(&info, 0));
        let _held = shared.then(|| input.clone());
        harness.push(input).unwrap();
        let output = harness.pull().unwrap();
        assert_eq!((output.pts(), output.dts(), output.duration()), (None, None, None));
    }
}

#[test]
fn a_buffer_in_several_memories_is_levelled() {
    let info = video_info("I420", 64, 48);
    for shared in [false, true] {
        let mut harness = harness(&element(BackendChoice::Cpu), &info);
        let mut reference = Reference::new(&info, &settings(BackendChoice::Cpu));
        let bytes = picture(&info, 0);
        let mut input = gst::Buffer::new();
        let ends = [info.offset()[1], info.offset()[2], info.size()];
        for (begin, end) in [0, ends[0], ends[1]].into_iter().zip(ends) {
            input.get_mut().unwrap().append_memory(gst::Memory::from_mut_slice(bytes[begin..end].to_vec()));
        }
        let _held = shared.then(|| input.clone());
        harness.push(input).unwrap();
        let output = harness.pull().unwrap();
        assert!(samples(&output, &info) == plain_samples(reference.picture(0), &info));
    }
}

#[test]
fn interlaced_frames_pass() {
    let info = video_info("NV12", 64, 48);
    let mut caps = info.to_caps().unwrap();
    caps.get_mut().unwrap().set("interlace-mode", "interleaved");
    let mut harness = harness(&element(BackendChoice::Cpu), &info);
    harness.set_src_caps(caps.clone());
    harness.push(buffer(&info, 0)).unwrap();
    let output = harness.pull().unwrap();
    let mut reference = Reference::new(&info, &settings(BackendChoice::Cpu));
    assert!(samples(&output, &info) == plain_samples(reference.picture(0), &info));
    assert_eq!(harness.sinkpad().unwrap().current_caps(), Some(caps));
}

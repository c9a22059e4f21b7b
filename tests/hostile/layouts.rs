//! Planes anywhere in a buffer: either the frame is refused, or exactly its samples are read and written.

use std::sync::Arc;

use autolevels::backend::BackendError;
use autolevels::frame::{Format, FrameInfo};
use autolevels::gpu::pages::PageMemory;
use autolevels::leveler::{Leveler, Timing};
use autolevels::settings::BackendChoice;
use autolevels::video::{GstFrame, OutputProvider, frame_info};
use gst_video::{VideoFrameFlags, VideoInfo, VideoMeta};
use proptest::prelude::*;

use crate::cases;
use crate::common::*;

/// Where somebody says that the planes of a frame lie.
#[derive(Clone, Debug)]
struct Layout {
    bytes: usize,
    offsets: Vec<usize>,
    strides: Vec<i32>,
    /// Whether others read the buffer too, so that it is not written in place.
    shared: bool,
    /// Whether the memory is one that a GPU may use in place.
    on_pages: bool,
}

/// Layouts that are right, then perhaps spoiled in one place.
fn layouts(info: &FrameInfo) -> impl Strategy<Value = Layout> + use<> {
    let shapes: Vec<(usize, usize)> = info.planes.iter().map(|shape| (shape.samples, shape.rows)).collect();
    let paddings = prop::collection::vec((0..40usize, 0..40usize, prop_oneof![Just(1usize), Just(4), Just(16)]), 3);
    let spoil = prop_oneof![
        5 => Just(None),
        4 => (0..8usize, prop_oneof![
            2 => -70..70i64,
            1 => any::<i64>(),
            1 => Just(i64::from(i32::MAX)),
            1 => Just(0),
        ]).prop_map(Some)
    ];
    (paddings, spoil, 0..60usize, any::<bool>(), any::<bool>()).prop_map(
        move |(paddings, spoil, behind, shared, on_pages)| {
            let (mut end, mut offsets, mut strides) = (0_usize, Vec::new(), Vec::new());
            for ((samples, rows), (before, padding, align)) in shapes.iter().zip(&paddings) {
                let stride = (samples + padding).next_multiple_of(*align);
                let offset = (end + before).next_multiple_of(*align);
                offsets.push(offset);
                strides.push(stride as i32);
                end = offset + stride * (rows - 1) + samples;
            }
            let mut layout = Layout { bytes: end + behind, offsets, strides, shared, on_pages };
            if let Some((place, change)) = spoil {
                let index = place % shapes.len();
                match place / 2 {
                    0 => layout.bytes = layout.bytes.saturating_add_signed(change as isize).min(100_000),
                    1 => layout.offsets[index] = layout.offsets[index].wrapping_add_signed(change as isize),
                    2 => layout.strides[index] = layout.strides[index].wrapping_add(change as i32),
                    // Planes over each other.
                    _ => layout.offsets[index] = layout.offsets[0],
                }
            }
            layout
        },
    )
}

fn noise(index: usize) -> u8 {
    (60 + (index.wrapping_mul(2_654_435_761) >> 13) % 121) as u8
}

/// A buffer of this layout.
fn buffer(info: &VideoInfo, layout: &Layout) -> gst::Buffer {
    let bytes = (0..layout.bytes).map(noise);
    let mut buffer = if layout.on_pages {
        let mut pages = PageMemory::new(layout.bytes).unwrap();
        bytes.zip(pages.as_mut()).for_each(|(byte, place)| *place = byte);
        gst::Buffer::from_mut_slice(pages)
    } else {
        gst::Buffer::from_mut_slice(bytes.collect::<Vec<_>>())
    };
    let writable = buffer.get_mut().unwrap();
    writable.set_size(layout.bytes);
    let (format, width, height) = (info.format(), info.width(), info.height());
    let empty = VideoFrameFlags::empty();
    VideoMeta::add_full(writable, empty, format, width, height, &layout.offsets, &layout.strides).unwrap();
    buffer
}

/// Where the samples of a plane's row lie in the buffer, if the row lies in it.
fn row(layout: &Layout, plane: usize, y: usize, samples: usize) -> Option<std::ops::Range<usize>> {
    let stride = usize::try_from(layout.strides[plane]).ok().filter(|stride| *stride >= samples)?;
    let start = y.checked_mul(stride)?.checked_add(layout.offsets[plane])?;
    let end = start.checked_add(samples)?;
    (end <= layout.bytes).then_some(start..end)
}

/// The frame in the layout that its caps have by themselves, if the buffer holds all its rows.
fn plain(info: &VideoInfo, frame: &FrameInfo, layout: &Layout) -> Option<Vec<u8>> {
    let mut bytes = vec![0; info.size()];
    for (plane, shape) in frame.planes.iter().enumerate() {
        for y in 0..shape.rows {
            let from = row(layout, plane, y, shape.samples)?;
            let to = info.offset()[plane] + y * info.stride()[plane] as usize;
            from.zip(&mut bytes[to..to + shape.samples]).for_each(|(index, byte)| *byte = noise(index));
        }
    }
    Some(bytes)
}

/// Plain memory for the output.
fn provider(info: &VideoInfo) -> OutputProvider {
    let size = info.size();
    Arc::new(move |_| Ok(gst::Buffer::with_size(size).unwrap()))
}

/// Runs a frame of this layout through `leveler`, and checks what came of it.
fn check(info: &VideoInfo, leveler: &mut Leveler<GstFrame>, reference: &mut Reference, layout: &Layout) {
    let (_, frame) = frame_info(&info.to_caps().unwrap()).unwrap();
    let wanted = plain(info, &frame, layout);
    let input = buffer(info, layout);
    let held = layout.shared.then(|| input.clone());
    let (outcome, input, output) = match GstFrame::new(input, info, provider(info)) {
        Err((buffer, error)) => (Err(BackendError::Frame(error)), buffer, None),
        Ok(memory) => {
            leveler.submit(memory, Timing { time: None, votes: true });
            let done = leveler.drain().unwrap();
            let (input, output) = done.memory.into_buffers();
            (done.outcome, input, output)
        }
    };
    let Some(wanted) = wanted else {
        assert!(matches!(outcome, Err(BackendError::Frame(_))), "not refused: {layout:?}");
        let bytes = input.map_readable().unwrap();
        assert!(bytes.iter().enumerate().all(|(index, byte)| *byte == noise(index)), "written to: {layout:?}");
        return;
    };
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}: {layout:?}"));
    let expected = plain_samples(reference.level(wanted, gst::ClockTime::ZERO, true), info);
    let levelled = output.as_ref().filter(|_| outcome.changed).unwrap_or(&input);
    assert!(samples(levelled, info) == expected, "{layout:?}");
    if output.is_some() || held.is_some() {
        let bytes = held.as_ref().unwrap_or(&input).map_readable().unwrap();
        assert!(bytes.iter().enumerate().all(|(index, byte)| *byte == noise(index)), "written to: {layout:?}");
    } else {
        let mut bytes = input.map_readable().unwrap().to_vec();
        for (plane, shape) in frame.planes.iter().enumerate() {
            for y in 0..shape.rows {
                for index in row(layout, plane, y, shape.samples).into_iter().flatten() {
                    bytes[index] = noise(index);
                }
            }
        }
        assert!(bytes.iter().enumerate().all(|(index, byte)| *byte == noise(index)), "more was written: {layout:?}");
    }
}

/// Tries layouts of every format on one leveler each, which has to be none the worse for what it refused.
fn run(backend: BackendChoice, cases: u32) {
    init();
    for format in Format::ALL {
        let info = video_info(format.name(), 37, 9);
        let (_, frame) = frame_info(&info.to_caps().unwrap()).unwrap();
        let mut leveler = Leveler::new(&frame, &settings(backend), true).unwrap();
        let mut reference = Reference::new(&info, &settings(BackendChoice::Cpu));
        let leveler = std::cell::RefCell::new((&mut leveler, &mut reference));
        let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
        let result = proptest::test_runner::TestRunner::new(config).run(&layouts(&frame), |layout| {
            let (leveler, reference) = &mut *leveler.borrow_mut();
            check(&info, leveler, reference, &layout);
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{} on {backend:?}: {error}", format.name()));
    }
}

#[test]
fn on_the_cpu_a_frame_is_refused_or_its_very_samples_are_levelled() {
    run(BackendChoice::Cpu, cases(200));
}

#[test]
fn on_the_gpu_a_frame_is_refused_or_its_very_samples_are_levelled() {
    if backends().len() > 1 {
        run(BackendChoice::Gpu, cases(200) / 10);
    }
}

//! The GPU backend gives the statistics and the output of the CPU backend, bit for bit.
//!
//! Needs an adapter; lavapipe will do. AUTOLEVELS_TEST_GPU=skip passes without one.

mod common;

use autolevels::backend::{Backend, BackendError};
use autolevels::cpu::Cpu;
use autolevels::frame::{
    Access, Format, FrameError, FrameInfo, FrameMemory, LumaWeights, Plane, PlaneMut, PlaneShape, Planes, PlanesMut,
    Range,
};
use autolevels::gpu::pages::PageMemory;
use autolevels::gpu::{self, Sharing, Tampering, Trouble};
use autolevels::grid::Grid;
use autolevels::levels::curves::{Curves, Of};
use autolevels::levels::dither::Dither;
use autolevels::levels::statistics::Statistics;
use common::frames::{Content, TestFrame, windows};

const SLOTS: usize = 3;

/// The backend under test, or nothing if there is no adapter and that is allowed.
fn opened(backend: Result<Box<dyn Backend>, BackendError>) -> Option<Box<dyn Backend>> {
    match backend {
        Err(BackendError::NoAdapter { .. })
            if std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip") =>
        {
            None
        }
        backend => Some(backend.unwrap_or_else(|error| panic!("{error} (AUTOLEVELS_TEST_GPU=skip to go without)"))),
    }
}

fn open(info: &FrameInfo) -> Option<Box<dyn Backend>> {
    opened(gpu::open(info, SLOTS, "", true))
}

fn info(format: Format, (width, height): (usize, usize)) -> FrameInfo {
    let (range, weights) =
        if format.is_rgb() { (Range::FULL, LumaWeights::BT601) } else { (Range::LIMITED, LumaWeights::BT709) };
    FrameInfo::new(format, width, height, range, weights)
}

/// A line, a bent curve, no curve at all and noise, by turns; different for each lane.
fn curves(info: &FrameInfo, number: usize) -> Curves {
    let most = f64::from(info.range.max);
    let shift = info.range.bin_shift();
    let table = |lane: usize| {
        let value = |entry: usize| {
            let share = (entry << shift) as f64 / most;
            match (number + lane) % 4 {
                0 => (((share - 0.08) * 1.3 + 0.004 * lane as f64).clamp(0.0, 1.0) * most) as u16,
                1 => (share.powf(0.6 + 0.2 * lane as f64) * most) as u16,
                2 => (entry << shift) as u16,
                _ => ((entry * 10_007 + 13 * number + 71 * lane) % info.range.codes()) as u16,
            }
        };
        (0..info.range.bins()).map(value).collect::<Vec<u16>>()
    };
    // Those of some frames are of R, G and B, or of luma alone, whatever the format.
    let of = [Of::Samples, Of::Tone, Of::Channels][number % 3];
    // Gains of some rise, and those of others are noise up to far more than fits.
    let gain = |entry: usize| match number % 2 {
        0 => (200 + entry * 700 / info.range.bins()) as u16,
        _ => ((entry * 7919 + 1000 * number) % 65_536) as u16,
    };
    let gains = (0..info.range.bins()).map(gain).collect();
    let plain_gain = [256, 300, 5000][number % 3];
    // Those of every other one are dithered: by a bent curve, by what the tables do, or by noise.
    let fine = |lane: usize| {
        let value = |code: usize| match (number + lane) % 3 {
            0 => ((code as f64 / 255.0).powf(0.5 + 0.1 * lane as f64) * 65280.0) as u16,
            1 => (code << 8) as u16,
            _ => ((code * 40_503 + 77 * number) % 65_280) as u16,
        };
        std::array::from_fn(value)
    };
    let dither = (info.range.max == 255 && number % 2 == 1).then(|| Dither {
        fine: [fine(0), fine(1), fine(2)],
        curves: if info.format.is_rgb() { 3 } else { 1 },
        frame: 1000 * number as u32,
    });
    // Before the tone of some come curves of R, G and B.
    let channels = if number.is_multiple_of(2) { [table(3), table(4), table(5)] } else { Default::default() };
    Curves { tables: [table(0), table(1), table(2)], shift, of, gains, plain_gain, channels, dither }
}

/// Paddings of the rows of the input and, if it is copied, of the output.
const PADDINGS: [(usize, Option<usize>); 5] = [(0, None), (1, Some(0)), (12, None), (3, Some(32)), (0, Some(0))];

fn frame(info: &FrameInfo, content: Content, number: usize) -> TestFrame {
    let (padding, copied) = PADDINGS[number % PADDINGS.len()];
    let frame = TestFrame::new(info, content, number as u64, padding);
    copied.into_iter().fold(frame, TestFrame::copied)
}

/// What a stream of frames gave: statistics and memory of each.
type Results = Vec<(Statistics, TestFrame)>;

/// Sends frames through a backend as the leveler does: while one is measured, the one before it is applied and
/// the one before that awaited.
fn run(backend: &mut dyn Backend, info: &FrameInfo, frames: &[TestFrame]) -> Result<Results, BackendError> {
    run_in(backend, info, frames.to_vec())
}

/// As [`run`], with frames in any memory.
fn run_in<M: FrameMemory>(
    backend: &mut dyn Backend,
    info: &FrameInfo,
    frames: Vec<M>,
) -> Result<Vec<(Statistics, M)>, BackendError> {
    let count = frames.len();
    let mut results: Vec<_> = frames.into_iter().map(|frame| (Statistics::default(), frame)).collect();
    for step in 0..count + 2 {
        if let Some((_, memory)) = results.get_mut(step) {
            backend.count_channels(step % 4 != 1);
            backend.measure(step % SLOTS, memory)?;
        }
        if let Some((statistics, memory)) = step.checked_sub(1).and_then(|number| results.get_mut(number)) {
            *statistics = Statistics::empty(info.range.bins(), Grid::new(info).chunks());
            let slot = (step - 1) % SLOTS;
            backend.statistics(slot, statistics)?;
            backend.apply(slot, memory, &curves(info, step - 1))?;
        }
        backend.flush()?;
        if let Some((_, memory)) = step.checked_sub(2).and_then(|number| results.get_mut(number)) {
            backend.finish((step - 2) % SLOTS, memory)?;
        }
    }
    Ok(results)
}

/// The first difference between two runs, in words.
fn difference(gpu: &Results, cpu: &Results) -> Option<String> {
    gpu.iter().zip(cpu).enumerate().find_map(|(number, ((statistics, frame), (wanted, wanted_frame)))| {
        if let Some(code) = (0..wanted.luma.len()).find(|code| statistics.luma[*code] != wanted.luma[*code]) {
            let (got, wanted) = (statistics.luma[code], wanted.luma[code]);
            return Some(format!("frame {number}: {got} pixels of code {code}, not {wanted}"));
        }
        let tables = |statistics: &Statistics| {
            let Statistics { channels, colours, .. } = statistics.clone();
            channels.into_iter().chain(colours).collect::<Vec<_>>()
        };
        for (channel, (table, wanted)) in tables(statistics).into_iter().zip(tables(wanted)).enumerate() {
            if table.len() != wanted.len() {
                return Some(format!(
                    "frame {number}: {} codes of channel {channel}, not {}",
                    table.len(),
                    wanted.len()
                ));
            }
            if let Some(code) = (0..table.len()).find(|code| table[*code] != wanted[*code]) {
                let (got, wanted) = (table[code], wanted[code]);
                return Some(format!("frame {number}: {got} sites of code {code} in channel {channel}, not {wanted}"));
            }
        }
        if statistics.chunks.len() != wanted.chunks.len() {
            return Some(format!("frame {number}: {} chunks, not {}", statistics.chunks.len(), wanted.chunks.len()));
        }
        if let Some(chunk) = (0..wanted.chunks.len()).find(|chunk| statistics.chunks[*chunk] != wanted.chunks[*chunk]) {
            let (got, wanted) = (statistics.chunks[chunk], wanted.chunks[chunk]);
            return Some(format!("frame {number}: chunk {chunk} is {got:?}, not {wanted:?}"));
        }
        frame.output_planes().iter().zip(wanted_frame.output_planes()).enumerate().find_map(|(plane, (got, wanted))| {
            let y = got.rows().zip(wanted.rows()).position(|(got, wanted)| got != wanted)?;
            let x = got.row(y).iter().zip(wanted.row(y)).position(|(got, wanted)| got != wanted)?;
            let (got, wanted) = (got.row(y)[x], wanted.row(y)[x]);
            Some(format!("frame {number}: plane {plane}, row {y}, byte {x} is {got}, not {wanted}"))
        })
    })
}

fn frames(info: &FrameInfo, contents: &[Content], first: usize) -> Vec<TestFrame> {
    contents.iter().enumerate().map(|(number, content)| frame(info, *content, first + number)).collect()
}

/// Panics unless `gpu` gives what the CPU gives, and touches nothing but samples.
fn compare(gpu: &mut dyn Backend, info: &FrameInfo, contents: &[Content], first: usize) {
    let frames = frames(info, contents, first);
    let got = run(gpu, info, &frames).unwrap_or_else(|error| panic!("{info}: {error}"));
    let wanted = run(&mut Cpu::new(info, SLOTS), info, &frames).expect("the CPU takes every frame");
    if let Some(difference) = difference(&got, &wanted) {
        panic!("{info}, frames {first} and on of {contents:?}: {difference}");
    }
    for ((_, after), before) in got.iter().zip(&frames) {
        after.check_guards();
        if !std::ptr::eq(after.input_planes(), after.output_planes()) {
            assert!(after.input_planes() == before.input_planes(), "{info}: the input was written");
        }
    }
}

#[test]
fn every_format_at_small_sizes() {
    for (number, format) in Format::ALL.iter().enumerate() {
        for (turn, size) in [(1, 1), (2, 1), (5, 3), (63, 65), (321, 33)].into_iter().enumerate() {
            let info = info(*format, size);
            let Some(mut gpu) = open(&info) else { return };
            let contents: [Content; 5] = std::array::from_fn(|i| Content::ALL[(number + turn + i) % 6]);
            compare(gpu.as_mut(), &info, &contents, number + turn);
        }
    }
}

#[test]
fn every_format_with_every_content() {
    for (number, format) in Format::ALL.iter().enumerate() {
        let info = info(*format, (640, 272));
        let Some(mut gpu) = open(&info) else { return };
        compare(gpu.as_mut(), &info, &Content::ALL, number);
    }
}

/// Wider than 4096 texels, and with more rows than a workgroup has iterations to spare on lavapipe.
#[test]
fn large_frames() {
    let sizes = [
        (Format::Rgba, (4803, 700)),
        (Format::Gray8, (17001, 500)),
        (Format::Rgb, (5555, 37)),
        (Format::Gray16, (9001, 500)),
        // Of which every second row of sites is counted.
        (Format::Argb64, (4101, 1101)),
    ];
    for (number, (format, size)) in sizes.into_iter().chain([(Format::Nv12, (66, 9001))]).enumerate() {
        let info = info(format, size);
        let Some(mut gpu) = open(&info) else { return };
        compare(gpu.as_mut(), &info, &[Content::Noise, Content::HalfBlack], number);
    }
}

/// A frame on pages that the GPU can use in place, with rows of words, quads or neither.
struct PageFrame {
    input: PageMemory,
    output: PageMemory,
    /// Offset and stride of each plane, in the input and in the output.
    places: [Vec<(usize, usize)>; 2],
}

/// What lies around the samples of the output.
const GUARD: u8 = 0xEE;

impl PageFrame {
    /// Holds the samples of `frame`, with rows of a multiple of `align` bytes and a little more between planes.
    fn new(info: &FrameInfo, frame: &TestFrame, align: [usize; 2]) -> PageFrame {
        let places = align.map(|align| {
            let mut offset = align;
            let place = |shape: &PlaneShape| {
                let stride = shape.bytes.next_multiple_of(align);
                let place = (offset, stride);
                offset += stride * shape.rows + align;
                place
            };
            info.planes.iter().map(place).collect::<Vec<_>>()
        });
        let [mut input, mut output] = places.each_ref().map(|places| {
            let (offset, stride) = places[places.len() - 1];
            PageMemory::new(offset + stride * info.planes[places.len() - 1].rows).unwrap()
        });
        for (plane, (offset, stride)) in frame.input_planes().iter().zip(&places[0]) {
            for (y, row) in plane.rows().enumerate() {
                input.as_mut()[offset + y * stride..][..row.len()].copy_from_slice(row);
            }
        }
        output.as_mut().fill(GUARD);
        PageFrame { input, output, places }
    }

    /// Moves the output to a frame that can be compared. Panics if anything was written past the last words of rows.
    fn into_compared(mut self, info: &FrameInfo, frame: &TestFrame) -> TestFrame {
        let mut moved = frame.clone();
        for ((plane, shape), (offset, stride)) in
            moved.input_planes_mut().iter_mut().zip(&info.planes).zip(&self.places[1])
        {
            for y in 0..shape.rows {
                // Where rows are not whole words the frame is copied, to the byte.
                let width = if stride % 4 == 0 { shape.bytes.next_multiple_of(4) } else { shape.bytes };
                let row = &mut self.output.as_mut()[offset + y * stride..][..width];
                plane.row_mut(y).copy_from_slice(&row[..shape.bytes]);
                row.fill(GUARD);
            }
        }
        assert!(self.output.as_ref().iter().all(|byte| *byte == GUARD), "{info}: more than samples was written");
        moved
    }
}

impl FrameMemory for PageFrame {
    fn input(&self) -> Planes<'_> {
        let plane = |&(offset, stride): &(usize, usize)| Plane { data: &self.input.as_ref()[offset..], stride };
        self.places[0].iter().map(plane).collect()
    }

    fn access(&mut self, _in_place: bool) -> Result<Access<'_>, FrameError> {
        let mut output = PlanesMut::new();
        let (mut rest, mut begin) = (self.output.as_mut(), 0);
        for (index, &(offset, stride)) in self.places[1].iter().enumerate() {
            let end = self.places[1].get(index + 1).map_or(begin + rest.len(), |next| next.0);
            let (data, after) = rest[offset - begin..].split_at_mut(end - offset);
            output.push(PlaneMut { data, stride });
            (rest, begin) = (after, end);
        }
        let plane = |&(offset, stride): &(usize, usize)| Plane { data: &self.input.as_ref()[offset..], stride };
        Ok(Access::Copy { input: self.places[0].iter().map(plane).collect(), output })
    }
}

/// Frames on pages are read and written in place where their rows are whole words, and copied where they are not.
#[test]
fn frames_on_pages() {
    let formats = [
        Format::Nv12,
        Format::I420,
        Format::Rgb,
        Format::Yuy2,
        Format::Argb,
        Format::P010,
        Format::Y444p12,
        Format::Rgba64,
    ];
    for (number, format) in formats.iter().enumerate() {
        for (turn, align) in [[16, 16], [4, 16], [16, 4], [4, 4], [16, 1], [1, 64]].into_iter().enumerate() {
            let info = info(*format, [(322, 65), (126, 70), (1, 1), (64, 34)][(number + turn) % 4]);
            let Some(mut gpu) = open(&info) else { return };
            let frames: Vec<TestFrame> =
                Content::ALL.iter().map(|content| TestFrame::new(&info, *content, turn as u64, 0)).collect();
            let pages = frames.iter().map(|frame| PageFrame::new(&info, frame, align)).collect();
            let got = run_in(gpu.as_mut(), &info, pages).unwrap_or_else(|error| panic!("{info}: {error}"));
            let got: Results = got
                .into_iter()
                .zip(&frames)
                .map(|((statistics, pages), frame)| (statistics, pages.into_compared(&info, frame)))
                .collect();
            let wanted = run(&mut Cpu::new(&info, SLOTS), &info, &frames).expect("the CPU takes every frame");
            if let Some(difference) = difference(&got, &wanted) {
                panic!("{info}, rows of {align:?} bytes: {difference}");
            }
        }
    }
}

/// Adapters that cannot use the processor's memory map their own, or copy it to where shaders see it.
#[test]
fn with_mapped_memory() {
    for (number, format) in [Format::I420, Format::Uyvy, Format::Bgr, Format::I420p10].into_iter().enumerate() {
        for sharing in [Sharing::Mappable, Sharing::Copied] {
            let info = info(format, (321, 65));
            let tampering = Tampering { sharing, ..Tampering::default() };
            let Some(mut gpu) = opened(gpu::open_tampered(&info, SLOTS, &tampering)) else { return };
            compare(gpu.as_mut(), &info, &Content::ALL, number);
        }
    }
}

/// Adapters with small workgroups take more of them.
#[test]
fn with_small_workgroups() {
    for (number, threads) in [32, 64, 128, 32].into_iter().enumerate() {
        let info = info([Format::Yv12, Format::Abgr, Format::Y444, Format::Argb64][number], (321, 65));
        let tampering = Tampering { threads: Some(threads), ..Tampering::default() };
        let Some(mut gpu) = opened(gpu::open_tampered(&info, SLOTS, &tampering)) else { return };
        compare(gpu.as_mut(), &info, &Content::ALL, number);
    }
}

/// Only the pixels of the window are counted, and a frame that is measured already keeps the window that it had.
#[test]
fn windows_are_the_same() {
    for (number, format) in Format::ALL.iter().enumerate() {
        let info = info(*format, [(321, 65), (63, 130), (5, 3), (640, 33)][number % 4]);
        let Some(mut gpu) = open(&info) else { return };
        let mut cpu = Cpu::new(&info, SLOTS);
        let backends: [&mut dyn Backend; 2] = [gpu.as_mut(), &mut cpu];
        let [got, wanted] = backends.map(|backend| {
            let mut results = Vec::new();
            for (turn, pair) in windows(&info).chunks(2).enumerate() {
                for (slot, window) in pair.iter().enumerate() {
                    let mut frame = frame(&info, Content::ALL[(turn + 3 * slot + number) % 6], turn);
                    backend.count_channels(slot != 1);
                    backend.set_window(*window).unwrap();
                    backend.measure(slot, &mut frame).unwrap();
                }
                for slot in 0..pair.len() {
                    let mut statistics = Statistics::empty(info.range.bins(), Grid::new(&info).chunks());
                    backend.statistics(slot, &mut statistics).unwrap();
                    results.push(statistics);
                }
            }
            results
        });
        assert!(got == wanted, "{info}");
    }
}

/// Several streams share a device, each from its own thread.
#[test]
fn streams_beside_each_other() {
    std::thread::scope(|scope| {
        for (number, format) in [Format::Nv12, Format::Yuy2, Format::Bgrx].into_iter().enumerate() {
            scope.spawn(move || {
                let info = info(format, (200, 101));
                let Some(mut gpu) = open(&info) else { return };
                for turn in 0..5 {
                    compare(gpu.as_mut(), &info, &Content::ALL, number + turn);
                }
            });
        }
    });
}

/// A frame may be measured and not applied, applied without its statistics (it does not vote), or both at once
/// without a flush between.
#[test]
fn steps_may_be_left_out() {
    let info = info(Format::Nv12, (126, 70));
    let Some(mut gpu) = open(&info) else { return };
    let mut cpu = Cpu::new(&info, SLOTS);
    let backends: [&mut dyn Backend; 2] = [gpu.as_mut(), &mut cpu];
    let [gpu, cpu] = backends.map(|backend| {
        let mut results = frames(&info, &Content::ALL, 1).into_iter().map(|frame| (Statistics::default(), frame));
        let mut results: Results = results.by_ref().collect();
        for (number, (statistics, frame)) in results.iter_mut().enumerate() {
            *statistics = Statistics::empty(256, Grid::new(&info).chunks());
            backend.measure(0, frame).unwrap();
            if number % 3 == 0 {
                backend.flush().unwrap();
            }
            if number % 2 == 0 {
                backend.apply(0, frame, &curves(&info, number)).unwrap();
                backend.finish(0, frame).unwrap();
            } else if number % 3 == 0 {
                backend.statistics(0, statistics).unwrap();
            }
        }
        results
    });
    assert_eq!(difference(&gpu, &cpu), None);
}

/// The comparison can fail: with one constant of a shader changed, it does.
#[test]
fn a_wrong_shader_is_noticed() {
    let edits = [
        (Format::Rgba, "32768u", "32767u", "luma is rounded down"),
        (Format::Nv12, "if left > 3u {", "if left > 9u {", "the fourth sample does not vote"),
        (
            Format::Yuy2,
            "left > 1u { sum += vote(sample(a, luma",
            "left > 0u { sum += vote(sample(a, luma",
            "padding votes",
        ),
        (Format::Bgr, "& 0xff00u)", "& 0xfe00u)", "a bit of the output is lost"),
        (Format::Gray8, "(code + 1u) % COPIES", "code % COPIES", "a table is left out of the sum"),
        (Format::I420, "place.x + y", "y", "planes are mixed up"),
        (Format::I420p12, "((1i << fine) >> 1u)", "0", "what lies between entries is rounded down"),
        (Format::P010, "sample & ~", "0u & ~", "bits below the code are lost"),
        (Format::Rgba64, "index > 1u", "index > 2u", "blue is taken for red"),
        (Format::Gray16, "2 * before", "before", "the curve ends before the last codes"),
        (Format::Nv21, "(above + luma_at(left, bottom)", "(above + above + luma_at(left, bottom)", "means are wrong"),
        (Format::Yuy2, "(sum + 32768)", "(sum + 0)", "changes are rounded down"),
        (Format::Argb, "alpha < 4u &&", "alpha > 4u &&", "transparent pixels are counted"),
        (Format::P010, "i32(chroma.x) - neutral", "i32(chroma.x) - 128", "neutral is that of 8 bits"),
        (Format::I422p10, "16u * (x % 2u))) & 0xffffu)", "16u * (x % 2u))) & 0xffu)", "codes are cut to 8 bits"),
        (Format::Y444p12, "clamp(value, 0, most)", "clamp(value, 0, 1023)", "curves end before the last codes"),
        (Format::Y42b, "/ u32(highest - highest_plain)", "/ u32(highest)", "colours go too short a way back"),
        (Format::Nv12, "mixed_luma(CHANNELS, luma, chroma)", "luma", "what comes before the tone is left out"),
        (
            Format::Rgb,
            "look_up(CHANNELS + 2u, channels.z)",
            "look_up(CHANNELS + 1u, channels.z)",
            "blue takes green's curve",
        ),
        (Format::Bgra, "more * gain + 128", "more * gain", "gains are rounded down"),
        (Format::I420p12, "code >> (depth - 10u)", "code >> (depth - 9u)", "the gain is that of another level"),
        (Format::Rgba64, "(channels.z >> bin)", "(channels.y >> bin)", "blue is not counted"),
    ];
    for (format, from, to, what) in edits {
        let info = info(format, (321, 129));
        let tampering = Tampering { edit: Some((from, to)), ..Tampering::default() };
        let Some(mut gpu) = opened(gpu::open_tampered(&info, SLOTS, &tampering)) else { return };
        let contents = [Content::Noise, Content::Natural, Content::Noise, Content::Noise, Content::Natural];
        let frames = frames(&info, &contents, 0);
        let got = run(gpu.as_mut(), &info, &frames).expect("the shader is valid");
        let wanted = run(&mut Cpu::new(&info, SLOTS), &info, &frames).expect("the CPU takes every frame");
        assert_ne!(difference(&got, &wanted), None, "not noticed: {what}");
    }
}

/// A lost device is an error, whenever it happens, and the next stream gets a device that works.
#[test]
fn a_lost_device_is_an_error() {
    let info = info(Format::Nv12, (160, 90));
    for lost_at in 0..4 {
        let tampering = Tampering { trouble: Some((lost_at, Trouble::Lost)), ..Tampering::default() };
        let Some(mut gpu) = opened(gpu::open_tampered(&info, SLOTS, &tampering)) else { return };
        let frames = frames(&info, &Content::ALL, 0);
        for _ in 0..2 {
            let error = run(gpu.as_mut(), &info, &frames).expect_err("the device is lost");
            assert!(matches!(error, BackendError::Gpu { .. }), "{error}");
        }
    }
    let Some(mut gpu) = open(&info) else { return };
    compare(gpu.as_mut(), &info, &Content::ALL, 0);
}

#[test]
fn an_invalid_shader_is_an_error() {
    let tampering = Tampering { edit: Some(("workgroupBarrier", "noSuchThing")), ..Tampering::default() };
    let result = gpu::open_tampered(&info(Format::Rgb, (8, 8)), 1, &tampering);
    if matches!(result, Err(BackendError::NoAdapter { .. })) {
        opened(result);
        return;
    }
    let error = result.err().expect("the shader is invalid");
    assert!(matches!(error, BackendError::Gpu { stage: "preparing", .. }), "{error}");
}

#[test]
fn frames_beyond_the_limits_are_refused() {
    let info = info(Format::Rgba, (1 << 15, 1 << 15));
    let result = gpu::open(&info, SLOTS, "", true);
    if matches!(result, Err(BackendError::NoAdapter { .. })) {
        opened(result);
        return;
    }
    let error = result.err().expect("no adapter takes 4 GiB");
    assert!(matches!(error, BackendError::TooLarge { .. }), "{error}");
}

#[test]
fn memory_that_does_not_hold_the_frame_is_refused() {
    let (small, large) = (info(Format::Nv12, (64, 36)), info(Format::Nv12, (64, 38)));
    let Some(mut gpu) = open(&large) else { return };
    let error = gpu.measure(0, &mut frame(&small, Content::Ramp, 0)).expect_err("two rows are missing");
    assert!(matches!(error, BackendError::Frame(_)), "{error}");
    compare(gpu.as_mut(), &large, &Content::ALL, 0);
}

#[test]
fn software_is_not_taken_unasked() {
    let adapters = gpu::adapters();
    let index = adapters.iter().position(|adapter| adapter.kind == gpu::AdapterKind::Cpu);
    let Some(index) = index else { return };
    let error = gpu::open(&info(Format::Nv12, (64, 36)), 1, &index.to_string(), false).err();
    assert!(matches!(error, Some(BackendError::NoAdapter { .. })), "{error:?}");
}

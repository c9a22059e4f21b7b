//! How fast the element itself is, when its frames come from the memory that it offers: one buffer in, one out.
//!
//!     cargo bench --bench element -- [BACKEND] [FORMAT]
//!
//! The frames are made once, and the same few go round, so that nothing but the element is measured. An `identity`
//! in its place tells what pushing costs.

use std::time::{Duration, Instant};

use autolevels::pool::PagePool;
use gst::prelude::*;
use gst_video::VideoInfo;

const SIZES: [(u32, u32); 3] = [(1920, 1080), (3840, 2160), (7680, 4320)];
const LENGTH: Duration = Duration::from_secs(2);

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let backend = arguments.next().unwrap_or_else(|| "auto".into());
    let format = arguments.next().unwrap_or_else(|| "NV12".into());
    gst::init().expect("GStreamer starts");
    autolevels::plugin_register_static().expect("the element can be registered");
    println!("{format}, backend={backend}: element, identity");
    for (width, height) in SIZES {
        let format = format.parse().expect("a format of GStreamer");
        let info = VideoInfo::builder(format, width, height).fps(60).build().expect("such frames exist");
        let element = gst::ElementFactory::make("autolevels").property_from_str("backend", &backend);
        let element = element.build().expect("it was registered");
        let fps = fps(&element, &info);
        let stats = element.property::<gst::Structure>("stats");
        let name = stats.get::<&str>("adapter").unwrap_or_default().to_owned();
        let identity = gst::ElementFactory::make("identity").build().expect("it is one of GStreamer's own");
        println!(
            "{width}×{height}: {fps:.0} fps, {:.3} ms on {name}; {:.0} fps",
            1e3 / fps,
            self::fps(&identity, &info)
        );
    }
}

/// Frames a second through an element.
fn fps(element: &gst::Element, info: &VideoInfo) -> f64 {
    let mut harness = gst_check::Harness::with_element(element, Some("sink"), Some("src"));
    harness.set_src_caps(info.to_caps().expect("such frames have caps"));
    harness.play();
    let pool = PagePool::new(info, 0).expect("such frames have a pool");
    pool.set_active(true).expect("there is memory");
    let frames: Vec<gst::Buffer> = (0..6).map(|number| frame(&pool, info, number)).collect();
    let mut count = 0;
    let mut push = |harness: &mut gst_check::Harness| {
        // A new buffer around the same memory.
        let mut buffer = frames[count % frames.len()].copy();
        count += 1;
        buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(count as u64 * 16));
        harness.push(buffer).expect("the element takes frames");
        drop(harness.pull().expect("one comes out for one that goes in"));
    };
    (0..30).for_each(|_| push(&mut harness));
    let (started, mut pushed) = (Instant::now(), 0);
    while started.elapsed() < LENGTH {
        push(&mut harness);
        pushed += 1;
    }
    f64::from(pushed) / started.elapsed().as_secs_f64()
}

/// A picture with many levels, between two thirds of the range.
fn frame(pool: &PagePool, info: &VideoInfo, number: usize) -> gst::Buffer {
    let mut buffer = pool.acquire_buffer(None).expect("the pool has no limit");
    let writable = buffer.get_mut().expect("nobody else holds it");
    let mut map = writable.map_writable().expect("system memory can be written");
    let width = info.width() as usize;
    for (index, byte) in map.as_mut_slice().iter_mut().enumerate() {
        let (x, y) = (index % width, index / width);
        *byte = (40 + (x / 13 + y / 7 + number + (x * 7 + y * 13) % 11) % 160) as u8;
    }
    drop(map);
    buffer
}

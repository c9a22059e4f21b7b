//! Live, when something else stalls: what is late is dropped and counted, nothing piles up, and once the stall is over
//! frames are on time again.

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "element/common.rs"]
mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use autolevels::bridge::{Bridge, Options};
use autolevels::settings::{BackendChoice, Settings};
use gst::prelude::*;

use common::*;

/// For how long something stalls.
const STALL: Duration = Duration::from_secs(2);
/// Frames that arrive later than this have piled up behind the stall. Far more than on a quiet machine, far less than
/// the stall.
const ON_TIME: Duration = Duration::from_millis(600);
const LIVE: &str = "videotestsrc is-live=true pattern=ball background-color=0xff404040 foreground-color=0xff909090 \
                    ! video/x-raw,format=NV12,width=64,height=36,framerate=100/1";
/// A sink as windows are: it says when frames come too late, and shows none of those.
const SINK: &str = "fakesink name=sink sync=true qos=true max-lateness=20000000";

/// What arrives at the sink: the timestamp, and how much later than it.
#[derive(Clone, Default)]
struct Arrivals {
    seen: Arc<Mutex<Vec<(gst::ClockTime, Duration)>>>,
    stalls: Arc<AtomicBool>,
}

impl Arrivals {
    fn watch(pipeline: &gst::Pipeline) -> Arrivals {
        let arrivals = Arrivals::default();
        let noted = arrivals.clone();
        let clocked = pipeline.downgrade();
        let pad = pipeline.by_name("sink").unwrap().static_pad("sink").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            if noted.stalls.swap(false, Ordering::SeqCst) {
                sleep(STALL);
            }
            let now = clocked.upgrade().and_then(|pipeline| pipeline.current_running_time());
            if let (Some(now), Some(time)) = (now, info.buffer().and_then(|buffer| buffer.pts())) {
                noted.seen.lock().unwrap().push((time, now.saturating_sub(time).into()));
            }
            gst::PadProbeReturn::Ok
        });
        arrivals
    }

    fn stall(&self) {
        self.stalls.store(true, Ordering::SeqCst);
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// Waits until frames flow, and are on time.
    fn settle(&self, what: &str) {
        let (started, before) = (Instant::now(), self.count());
        loop {
            let recent: Vec<Duration> = self.seen.lock().unwrap().iter().skip(before).map(|seen| seen.1).collect();
            if recent.len() >= 20 && recent[recent.len() - 20..].iter().all(|late| *late < ON_TIME) {
                return;
            }
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "{what}: {} frames, the last {:?}",
                recent.len(),
                recent.last()
            );
            sleep(Duration::from_millis(20));
        }
    }

    /// Panics unless each frame came once and in order.
    fn check_order(&self) {
        let seen = self.seen.lock().unwrap();
        assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "frames are out of order");
    }
}

fn start(pipeline: &gst::Pipeline) {
    pipeline.set_state(gst::State::Playing).unwrap();
}

/// Stops at once; panics if there was an error before. (The sink warns that frames are late.)
fn stop(pipeline: &gst::Pipeline) {
    let trouble = pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Error]);
    let started = Instant::now();
    pipeline.set_state(gst::State::Null).unwrap();
    assert!(started.elapsed() < Duration::from_secs(5), "stopping took {:?}", started.elapsed());
    assert!(trouble.is_none(), "{trouble:?}");
}

fn element_line(size: &str) -> gst::Pipeline {
    init();
    let live = LIVE.replace("width=64,height=36", size);
    let line = format!("{live} ! queue name=before ! autolevels name=l backend=cpu ! {SINK}");
    gst::parse::launch(&line).unwrap().downcast().unwrap()
}

#[test]
fn behind_a_sink_that_blocks_the_element_drops_what_is_late_and_counts_it() {
    let pipeline = element_line("width=64,height=36");
    let (element, queue) = (pipeline.by_name("l").unwrap(), pipeline.by_name("before").unwrap());
    let arrivals = Arrivals::watch(&pipeline);
    start(&pipeline);
    arrivals.settle("at first");
    let late = stat::<u64>(&element, "late");
    arrivals.stall();
    sleep(STALL);
    arrivals.settle("after the stall");
    // Two seconds are two hundred frames; those that came in time are not among them.
    let dropped = stat::<u64>(&element, "late") - late;
    assert!(dropped >= 100, "{dropped}");
    assert!(queue.property::<u32>("current-level-buffers") < 50, "frames pile up");
    arrivals.check_order();
    stop(&pipeline);
}

#[test]
fn a_starved_processor_costs_frames_and_no_latency_afterwards() {
    let pipeline = element_line("width=640,height=360");
    let arrivals = Arrivals::watch(&pipeline);
    start(&pipeline);
    arrivals.settle("at first");
    let busy = Arc::new(AtomicBool::new(true));
    let threads = 4 * std::thread::available_parallelism().map_or(4, usize::from);
    let starving: Vec<_> = (0..threads)
        .map(|_| {
            let busy = busy.clone();
            std::thread::spawn(move || {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            })
        })
        .collect();
    sleep(STALL);
    busy.store(false, Ordering::Relaxed);
    starving.into_iter().for_each(|thread| thread.join().unwrap());
    arrivals.settle("after the load");
    assert!(pipeline.by_name("before").unwrap().property::<u32>("current-level-buffers") < 50, "frames pile up");
    arrivals.check_order();
    stop(&pipeline);
}

/// A camera that stamps its frames with the time, a hundred in a second, and may pause.
fn camera(source: &gst_app::AppSrc, pauses: &Arc<AtomicBool>, frames: usize) -> std::thread::JoinHandle<usize> {
    let (source, pauses) = (source.clone(), pauses.clone());
    let info = video_info("NV12", 64, 36);
    std::thread::spawn(move || {
        (0..frames)
            .take_while(|number| {
                if pauses.swap(false, Ordering::SeqCst) {
                    sleep(STALL);
                }
                sleep(Duration::from_millis(10));
                source.push_buffer(gst::Buffer::from_mut_slice(picture(&info, *number))).is_ok()
            })
            .count()
    })
}

fn camera_source() -> gst_app::AppSrc {
    let caps = video_info("NV12", 64, 36).to_caps().unwrap();
    gst_app::AppSrc::builder().format(gst::Format::Time).is_live(true).do_timestamp(true).caps(&caps).build()
}

#[test]
fn after_a_camera_that_pauses_frames_are_on_time_at_once() {
    init();
    let pipeline: gst::Pipeline =
        gst::parse::launch(&format!("autolevels name=l backend=cpu ! {SINK}")).unwrap().downcast().unwrap();
    let source = camera_source();
    pipeline.add(&source).unwrap();
    source.link(&pipeline.by_name("l").unwrap()).unwrap();
    let arrivals = Arrivals::watch(&pipeline);
    start(&pipeline);
    let pauses = Arc::<AtomicBool>::default();
    let pushed = camera(&source, &pauses, 300);
    arrivals.settle("at first");
    pauses.store(true, Ordering::SeqCst);
    sleep(STALL + Duration::from_millis(200));
    arrivals.settle("after the pause");
    let pushed = pushed.join().unwrap();
    source.end_of_stream().unwrap();
    wait_for_end(&pipeline);
    let element = pipeline.by_name("l").unwrap();
    let (came, late) = (arrivals.count(), stat::<u64>(&element, "late") as usize);
    assert_eq!((pushed, came + late), (300, 300), "{came} came, {late} were late");
    arrivals.check_order();
    stop(&pipeline);
}

#[test]
fn behind_a_sink_that_blocks_a_live_bridge_keeps_few_frames_and_drops_the_rest() {
    init();
    let settings = Settings { backend: BackendChoice::Cpu, ..Settings::default() };
    let bridge = Bridge::new(&settings, Options { live: true }).unwrap();
    let line = format!("{LIVE} ! identity name=last  {SINK}");
    let pipeline: gst::Pipeline = gst::parse::launch(&line).unwrap().downcast().unwrap();
    pipeline.add_many([bridge.appsink().upcast_ref::<gst::Element>(), bridge.appsrc().upcast_ref()]).unwrap();
    pipeline.by_name("last").unwrap().link(bridge.appsink()).unwrap();
    bridge.appsrc().link(&pipeline.by_name("sink").unwrap()).unwrap();
    let came = Arc::<AtomicUsize>::default();
    let counted = came.clone();
    bridge.appsink().static_pad("sink").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        gst::PadProbeReturn::Ok
    });
    let arrivals = Arrivals::watch(&pipeline);
    start(&pipeline);
    arrivals.settle("at first");
    arrivals.stall();
    sleep(STALL / 2);
    // In the middle of the stall the source goes on, and no more than a few frames wait.
    let before = came.load(Ordering::SeqCst);
    sleep(STALL / 4);
    assert!(came.load(Ordering::SeqCst) > before + 10, "the source is held back");
    assert!(bridge.appsrc().current_level_buffers() <= 3, "{}", bridge.appsrc().current_level_buffers());
    sleep(STALL / 4);
    arrivals.settle("after the stall");
    let lost = came.load(Ordering::SeqCst) - arrivals.count();
    assert!(lost >= 100, "{lost}");
    arrivals.check_order();
    stop(&pipeline);
}

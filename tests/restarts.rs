//! States, seeks, caps and properties change at any moment, from several threads at once: nothing hangs, nothing
//! panics, and afterwards it works as on the first day.
//!
//! `AUTOLEVELS_SECONDS` says for how long each test does so.

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "element/common.rs"]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use autolevels::bridge::{Bridge, Options};
use autolevels::settings::{BackendChoice, Mode, Settings};
use gst::prelude::*;

use common::*;

/// How long a call may take before it counts as hung: thousands of times what it should.
const PATIENCE: Duration = Duration::from_secs(30);

fn seconds() -> Duration {
    let seconds = std::env::var("AUTOLEVELS_SECONDS");
    Duration::from_secs(seconds.map_or(4, |seconds| seconds.parse().expect("AUTOLEVELS_SECONDS is a number")))
}

/// Numbers at random (a linear congruence is enough to be unpredictable together with the threads' timing).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pause(&mut self, most: u64) {
        std::thread::sleep(Duration::from_millis(self.below(most)));
    }
}

/// Threads that do something over and over.
struct Crowd {
    stop: Arc<AtomicBool>,
    threads: Vec<(String, Arc<AtomicU64>, std::thread::JoinHandle<()>)>,
}

impl Crowd {
    fn new() -> Crowd {
        Crowd { stop: Arc::default(), threads: Vec::new() }
    }

    fn join_in(&mut self, what: &str, mut act: impl FnMut(&mut Dice) + Send + 'static) {
        let (stop, done) = (self.stop.clone(), Arc::<AtomicU64>::default());
        let counted = done.clone();
        let mut dice = Dice(self.threads.len() as u64 + 1);
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                act(&mut dice);
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        self.threads.push((what.into(), done, thread));
    }

    /// Lets them, and gives how often each did its thing. Panics when one hangs or panics.
    fn run(self, time: Duration) -> Vec<(String, u64)> {
        let end = Instant::now() + time;
        let mut seen: Vec<(u64, Instant)> = self.threads.iter().map(|_| (0, Instant::now())).collect();
        loop {
            std::thread::sleep(Duration::from_millis(50));
            let over = Instant::now() >= end;
            self.stop.store(over, Ordering::SeqCst);
            for ((what, done, thread), (last, since)) in self.threads.iter().zip(&mut seen) {
                let now = done.load(Ordering::SeqCst);
                if now != *last || thread.is_finished() {
                    (*last, *since) = (now, Instant::now());
                }
                assert!(since.elapsed() < PATIENCE, "{what} hangs");
            }
            if over && self.threads.iter().all(|(_, _, thread)| thread.is_finished()) {
                break;
            }
        }
        let end = |(what, done, thread): (String, Arc<AtomicU64>, std::thread::JoinHandle<()>)| {
            thread.join().unwrap_or_else(|_| panic!("{what} panicked"));
            (what, done.load(Ordering::SeqCst))
        };
        self.threads.into_iter().map(end).collect()
    }
}

/// Those who do things to a pipeline: states, seeks and flushes, caps.
fn disturb(crowd: &mut Crowd, pipeline: &gst::Pipeline) {
    let stopped = pipeline.clone();
    crowd.join_in("states", move |dice| {
        use gst::State::{Null, Paused, Playing, Ready};
        let state = [Null, Ready, Paused, Playing, Playing, Playing][dice.below(6) as usize];
        // May fail, as when a flush comes in between.
        let _ = stopped.set_state(state);
        dice.pause(40);
    });
    let seeking = pipeline.clone();
    crowd.join_in("seeks", move |dice| {
        let place = gst::ClockTime::from_mseconds(dice.below(10_000));
        // Refused by a pipeline that is stopped. Without a flush GStreamer itself hangs in PAUSED: the seek holds the
        // lock of the state, and waits for a sink that waits for the next state.
        let _ = seeking.seek_simple(gst::SeekFlags::FLUSH, place);
        dice.pause(60);
    });
    let filter = pipeline.by_name("caps").unwrap();
    crowd.join_in("caps", move |dice| {
        let format = ["NV12", "I420", "RGBA"][dice.below(3) as usize];
        let width = 32 + 16 * dice.below(3);
        let caps = format!("video/x-raw,format={format},width={width},height=18,framerate=100/1");
        filter.set_property("caps", caps.parse::<gst::Caps>().unwrap());
        dice.pause(100);
    });
}

/// Empties the bus; panics on an error. The source may say that it cannot negotiate: with caps that change while states
/// do, it says so now and then with `identity` in our place as well.
fn read(bus: &gst::Bus) {
    while let Some(message) = bus.pop() {
        if let gst::MessageView::Error(error) = message.view()
            && !message.src().is_some_and(|source| source.name().starts_with("videotestsrc"))
        {
            panic!("{error:?}");
        }
    }
}

const SOURCE: &str = "videotestsrc pattern=ball background-color=0xff404040 foreground-color=0xff909090 \
                      ! capsfilter name=caps caps=video/x-raw,format=NV12,width=32,height=18,framerate=100/1 ! queue";

#[test]
fn the_element_bears_changes_of_everything_at_any_moment() {
    init();
    for backend in backends() {
        let line = format!("{SOURCE} ! autolevels name=l backend={} ! queue ! fakesink sync=true", backend.name());
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        let bus = pipeline.bus().unwrap();
        let element = pipeline.by_name("l").unwrap();
        let mut crowd = Crowd::new();
        disturb(&mut crowd, &pipeline);
        let changed = element.clone();
        crowd.join_in("properties", move |dice| {
            let share = dice.below(1001) as f64 / 1000.0;
            match dice.below(8) {
                0 => changed.set_property_from_str("mode", ["stretch", "equalize", "off"][dice.below(3) as usize]),
                1 => changed.set_property("strength", share),
                2 => changed.set_property("smoothing", 60.0 * share * share * share),
                3 => changed.set_property("max-gain", 1.0 + 99.0 * share),
                4 => changed.set_property("split", share),
                5 => changed.set_property_from_str("overlay", ["none", "histogram"][dice.below(2) as usize]),
                6 => changed.set_property("midtone", share),
                _ => changed.set_property("freeze", share > 0.8),
            }
            dice.pause(5);
        });
        let watched = element.clone();
        crowd.join_in("stats", move |dice| {
            let frames: u64 = stat(&watched, "frames");
            assert!(frames < 1_000_000);
            assert!(watched.property::<f64>("strength") <= 1.0);
            read(&bus);
            dice.pause(5);
        });
        let done = crowd.run(seconds());
        eprintln!("{backend:?}: {done:?}");
        let started = Instant::now();
        pipeline.set_state(gst::State::Null).unwrap();
        assert!(started.elapsed() < PATIENCE, "stopping took {:?}", started.elapsed());

        pipeline.set_state(gst::State::Playing).unwrap();
        let started = Instant::now();
        while stat::<u64>(&element, "frames") < 5 {
            assert!(started.elapsed() < PATIENCE, "no frames come any more");
            std::thread::sleep(Duration::from_millis(10));
        }
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn the_bridge_bears_the_same_and_its_own_end() {
    init();
    let started = Instant::now();
    let mut rounds = 0;
    let mut frames = 0;
    while started.elapsed() < seconds() {
        rounds += 1;
        let settings = Settings { backend: BackendChoice::Cpu, frames_in_flight: rounds % 4, ..Settings::default() };
        let bridge = Bridge::new(&settings, Options { live: rounds % 2 == 0 }).unwrap();
        let line = format!("{SOURCE} ! identity name=last  queue name=next ! fakesink sync=true");
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        pipeline.add_many([bridge.appsink().upcast_ref::<gst::Element>(), bridge.appsrc().upcast_ref()]).unwrap();
        pipeline.by_name("last").unwrap().link(bridge.appsink()).unwrap();
        bridge.appsrc().link(&pipeline.by_name("next").unwrap()).unwrap();
        let bus = pipeline.bus().unwrap();
        let mut crowd = Crowd::new();
        disturb(&mut crowd, &pipeline);
        let bridge = Arc::new(bridge);
        let (changed, wanted) = (Arc::downgrade(&bridge), settings.clone());
        let finishes = rounds % 5 == 0;
        crowd.join_in("settings", move |dice| {
            let Some(bridge) = changed.upgrade() else { return dice.pause(5) };
            let mode = [Mode::Stretch, Mode::Equalize, Mode::Off][dice.below(3) as usize];
            bridge.set_settings(&Settings { mode, ..wanted.clone() }).unwrap();
            if finishes && dice.below(20) == 0 {
                bridge.finish(|_| {});
            }
            read(&bus);
            dice.pause(5);
        });
        let mut bridge = Some(bridge);
        let frames_out = Arc::<AtomicU64>::default();
        let counted = frames_out.clone();
        // In the middle of it the bridge goes, for whoever holds it last.
        let mut turns = 0;
        crowd.join_in("the end", move |dice| {
            if let Some(bridge) = &bridge {
                counted.store(bridge.progress().frames, Ordering::SeqCst);
            }
            turns += 1;
            if turns > 15 {
                bridge = None;
            }
            dice.pause(30);
        });
        crowd.run(Duration::from_millis(400));
        let stopping = Instant::now();
        pipeline.set_state(gst::State::Null).unwrap();
        assert!(stopping.elapsed() < PATIENCE, "stopping took {:?}", stopping.elapsed());
        frames += frames_out.load(Ordering::SeqCst);
    }
    eprintln!("{rounds} bridges, {frames} frames");
    assert!(frames > 0, "no frame came through");
}

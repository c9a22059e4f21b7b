//! `autolevels webcam`: a camera, levelled, in a window, a recording, a virtual camera.
//!
//! ```text
//!  camera ─▶ videoconvert ─▶ appsink ··▶ Bridge ··▶ appsrc ─▶ tee ─▶ queue ─▶ window
//!  └─────── input pipeline ───────┘                 │          ├──▶ queue ─▶ encoder ─▶ file
//!                                                   │          └──▶ queue ─▶ virtual camera
//!                                                   └────── output pipeline ──────┘
//! ```
//!
//! The two pipelines have one clock and base time, so that the input may be lost and started anew while the
//! output, with its recording, goes on. Queues keep only the newest frame: what is late is dropped.

mod camera;
mod input;
mod output;
mod traffic;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use autolevels::bridge::{Bridge, Options};
use autolevels::settings::{Settings, Value};
use gst::prelude::*;

use super::args::SettingFlags;
use super::interrupt::Interrupts;
use super::keys::terminal::Terminal;
use super::keys::{self, Action, Adjustable, Hand};
use super::launch::closed_window;
use super::status::{Status, StatusLine};
use super::{Ending, Usage};
use camera::Wish;
use input::{Event, Input, Source};
use output::{Output, Targets};
use traffic::Traffic;

/// How often keys are looked at.
const TICK: gst::ClockTime = gst::ClockTime::from_mseconds(40);
/// How long the end may take to come through.
const PATIENCE: Duration = Duration::from_secs(10);

/// Shows a camera levelled, and records it or passes it on as a virtual camera if wanted
///
/// Keys change the settings, on the terminal and in the window (? shows them). Late frames are dropped. If the camera
/// is unplugged, this waits for it, and goes on with the same recording. Ctrl-C or q ends the recording properly.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  autolevels webcam\n  autolevels webcam --device 'HD Pro' --size 1280x720 --record talk.mkv\n  autolevels webcam --no-window --virtual-camera /dev/video10"
)]
pub struct Arguments {
    /// The camera: a /dev/video node or a part of its name; the first one if left out
    #[arg(long, value_name = "DEV")]
    device: Option<String>,
    /// Picture size to ask the camera for
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    size: Option<(i32, i32)>,
    /// Frames per second to ask the camera for
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..=1000))]
    rate: Option<i32>,
    /// Show the window as a mirror does; recording and virtual camera stay as they are
    #[arg(long)]
    mirror: bool,
    /// Record to a file: .mkv (plays even if cut short), .mp4, .mov or .webm
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Replace the recording if it exists
    #[arg(long)]
    overwrite: bool,
    /// Send the picture to a virtual camera (v4l2loopback)
    #[arg(long, value_name = "DEV")]
    virtual_camera: Option<String>,
    /// Any source in place of a camera, as a launch line
    #[arg(long, value_name = "LAUNCH", conflicts_with_all = ["device", "size", "rate"])]
    source: Option<String>,
    /// Any sink in place of the window, as a launch line
    #[arg(long, value_name = "LAUNCH", conflicts_with = "no_window")]
    sink: Option<String>,
    /// Open no window
    #[arg(long)]
    no_window: bool,
    /// Leave the keyboard alone
    #[arg(long)]
    no_keys: bool,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

fn size(text: &str) -> Result<(i32, i32), String> {
    let parts = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    parts.filter(|(width, height)| *width > 0 && *height > 0).ok_or_else(|| "a size is like 1280x720".into())
}

/// Runs until the source ends or somebody quits.
pub fn run(args: &Arguments) -> Result<Ending> {
    super::start_gstreamer()?;
    // A source or sink of the person's own may have the element in it.
    autolevels::plugin_register_static().context("the element cannot be registered")?;
    let interrupts = Interrupts::install()?;
    let settings = &args.settings.0;
    if args.no_window && args.record.is_none() && args.virtual_camera.is_none() {
        bail!(Usage("with --no-window the picture goes nowhere; add --record or --virtual-camera".into()));
    }
    if let Some(path) = args.record.as_deref().filter(|path| path.exists() && !args.overwrite) {
        bail!("{} exists; --overwrite replaces it", path.display());
    }
    let wish = Wish { device: args.device.clone(), size: args.size, rate: args.rate };
    let source = args.source.clone().map_or(Source::Camera(wish), Source::Line);
    let targets = Targets {
        window: window(args)?,
        mirror: args.mirror,
        record: args.record.clone(),
        virtual_camera: args.virtual_camera.clone(),
    };
    let traffic = Arc::new(Traffic::default());
    let bridge = Bridge::new(settings, Options { live: true })?;
    let output = Output::new(&targets, bridge.appsrc(), &traffic)?;
    let mut input = Input::new(source, bridge.appsink(), traffic.clone())?;
    share_clock(&[input.pipeline(), output.pipeline()]);
    // The camera first: without one, no file is begun.
    input.start()?;
    // Why it could not start is on the bus.
    let started = output.pipeline().set_state(gst::State::Playing);
    let terminal = if args.no_keys { None } else { Terminal::open() };
    let mut show = Show {
        knobs: Knobs { bridge, settings: settings.clone() },
        input,
        output,
        traffic,
        status: StatusLine::new(args.quiet),
        hand: Hand::default(),
        paused: false,
        ending: None,
        window_closed: false,
    };
    let end = show.run(terminal.as_ref(), started.is_ok(), &interrupts);
    show.status.clear();
    drop(terminal);
    end
}

/// The launch line of the window.
fn window(args: &Arguments) -> Result<Option<String>> {
    if args.no_window {
        return Ok(None);
    }
    if let Some(sink) = &args.sink {
        return Ok(Some(sink.clone()));
    }
    let no_display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|name| std::env::var_os(name).is_none_or(|x| x.is_empty()));
    if cfg!(target_os = "linux") && no_display {
        bail!("there is no display for the window; --no-window does without");
    }
    // Shown at once: what is late already would not be shown at all otherwise.
    Ok(Some("autovideosink sync=false".into()))
}

/// Lets running times mean the same in all of the pipelines, also in one that is started anew.
fn share_clock(pipelines: &[&gst::Pipeline]) {
    let clock = gst::SystemClock::obtain();
    let now = clock.time();
    for pipeline in pipelines {
        pipeline.use_clock(Some(&clock));
        pipeline.set_start_time(gst::ClockTime::NONE);
        pipeline.set_base_time(now);
    }
}

struct Show {
    knobs: Knobs,
    input: Input,
    output: Output,
    traffic: Arc<Traffic>,
    status: StatusLine,
    hand: Hand,
    paused: bool,
    /// When and how the end was asked for.
    ending: Option<(Instant, Ending)>,
    window_closed: bool,
}

impl Show {
    fn run(&mut self, terminal: Option<&Terminal>, started: bool, interrupts: &Interrupts) -> Result<Ending> {
        let bus = self.output.pipeline().bus().context("a pipeline has a bus")?;
        if terminal.is_some() && self.status.shown() {
            self.status.note("? for keys");
        }
        loop {
            let mut wait = TICK;
            while let Some(message) = bus.timed_pop(wait) {
                wait = gst::ClockTime::ZERO;
                if let Some(end) = self.message(&message, interrupts)? {
                    return Ok(end);
                }
            }
            if !started {
                bail!("the output does not start");
            }
            self.look_after_input()?;
            while let Some(action) = terminal.and_then(Terminal::action) {
                self.act(action, interrupts);
            }
            match interrupts.count() {
                0 => {}
                1 => self.end(Ending::Interrupted),
                _ => return Ok(Ending::Interrupted),
            }
            if let Some((since, end)) = self.ending {
                if self.window_closed && self.output.is_recorded() {
                    return Ok(end);
                }
                if since.elapsed() > PATIENCE {
                    if !self.output.is_recorded() {
                        self.status.print("warning: the end did not come through; the recording may be incomplete");
                    }
                    return Ok(end);
                }
            }
            self.show();
        }
    }

    fn look_after_input(&mut self) -> Result<()> {
        if self.ending.is_some() {
            return Ok(());
        }
        for event in self.input.look_after()? {
            match event {
                Event::Lost(reason) => self.status.print(&format!("the camera is gone ({reason}); waiting for it")),
                Event::Back => self.status.print("the camera is back"),
                Event::Warning(text) => self.status.print(&format!("warning: {text}")),
                Event::Ended => self.end(Ending::Done),
            }
        }
        Ok(())
    }

    fn message(&mut self, message: &gst::Message, interrupts: &Interrupts) -> Result<Option<Ending>> {
        match message.view() {
            gst::MessageView::Eos(_) => return Ok(Some(self.ending.map_or(Ending::Done, |(_, end)| end))),
            gst::MessageView::Error(error) if closed_window(error) => {
                self.window_closed = true;
                self.end(Ending::Done);
            }
            // What an error leaves behind, when the end is near anyway.
            gst::MessageView::Error(_) if self.window_closed => {}
            gst::MessageView::Error(error) => {
                let who = error.src().map(|source| source.name().to_string()).unwrap_or_default();
                bail!("{who}: {}", error.error().message());
            }
            gst::MessageView::Warning(warning) => {
                self.status.print(&format!("warning: {}", warning.error().message()));
            }
            gst::MessageView::Latency(_) => {
                let _ = self.output.pipeline().recalculate_latency();
            }
            gst::MessageView::Element(_) => {
                let key = keys::pressed_in_window(message);
                if let Some(action) = key.and_then(|key| keys::action(&key)) {
                    self.act(action, interrupts);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn act(&mut self, action: Action, interrupts: &Interrupts) {
        match action {
            Action::Quit => self.end(Ending::Done),
            Action::Interrupt => interrupts.add(),
            Action::Help => self.status.print(&keys::help()),
            Action::Pause => {
                self.paused = !self.paused;
                self.status.note(if self.paused { "paused" } else { "playing" });
                // The clock goes on, and frames that come meanwhile are not kept: what follows is the present.
                let state = if self.paused { gst::State::Paused } else { gst::State::Playing };
                let _ = self.input.pipeline().set_state(state);
            }
            Action::Turn(knob) => {
                if let Some(told) = self.hand.turn(knob, &mut self.knobs) {
                    self.status.note(told);
                }
            }
        }
    }

    /// Asks for the end, so that the recording is finished.
    fn end(&mut self, end: Ending) {
        if self.ending.is_none() {
            self.ending = Some((Instant::now(), end));
            self.knobs.bridge.finish(|_| {});
        }
    }

    fn show(&mut self) {
        let (bridge, late) = (&self.knobs.bridge, self.traffic.dropped());
        self.status.update(|| {
            let progress = bridge.progress();
            let (backend, adapter) = progress.backend.unwrap_or_default();
            let counters = progress.counters;
            let busy = counters.measure + counters.decide + counters.apply;
            Status {
                backend: backend.into(),
                adapter,
                frames: progress.frames,
                late,
                levels: progress.report.map(|report| (report.black, report.white, report.gain)),
                busy: busy / u32::try_from(counters.frames.max(1)).unwrap_or(u32::MAX),
            }
        });
    }
}

/// The settings of the bridge.
struct Knobs {
    bridge: Bridge,
    settings: Settings,
}

impl Adjustable for Knobs {
    fn get(&self, name: &str) -> Option<Value> {
        self.settings.get(name)
    }

    fn set(&mut self, name: &str, value: Value) {
        let mut settings = self.settings.clone();
        // Refused are values that do not fit the others; then all stays as it is.
        if settings.set(name, value).is_ok() && self.knobs_fit(&settings) {
            self.settings = settings;
        }
    }
}

impl Knobs {
    fn knobs_fit(&self, settings: &Settings) -> bool {
        self.bridge.set_settings(settings).is_ok()
    }
}

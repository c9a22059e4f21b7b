//! Plays a pipeline: its bus, the keys, the status line, and a proper end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gst::prelude::*;

use autolevels::settings::Value;

use super::super::Ending;
use super::super::interrupt::Interrupts;
use super::super::keys::terminal::Terminal;
use super::super::keys::{self, Action, Adjustable, Hand};
use super::super::status::{Status, StatusLine};

/// How often keys are looked at.
const TICK: gst::ClockTime = gst::ClockTime::from_mseconds(40);
/// How long the end may take to come through the pipeline.
const PATIENCE: Duration = Duration::from_secs(10);

/// Plays until the end of the stream, an error, or a person who wants to quit.
pub fn play(pipeline: &gst::Pipeline, no_keys: bool, quiet: bool, interrupts: &Interrupts) -> Result<Ending> {
    let terminal = if no_keys { None } else { Terminal::open() };
    let mut player = Player {
        pipeline: pipeline.clone(),
        status: StatusLine::new(quiet),
        filter: None,
        hand: Hand::default(),
        levels: None,
        late: 0,
        paused: false,
        buffering: false,
        ending: None,
        missing: None,
        closed: None,
    };
    let end = player.run(terminal.as_ref(), interrupts);
    player.status.clear();
    drop(terminal);
    pipeline.set_state(gst::State::Null)?;
    end
}

struct Player {
    pipeline: gst::Pipeline,
    status: StatusLine,
    /// The `autolevels` that gets the keys. Some pipelines only make it when they start.
    filter: Option<gst::Element>,
    hand: Hand,
    levels: Option<(f64, f64, f64)>,
    late: u64,
    paused: bool,
    buffering: bool,
    /// When and how the end was asked for.
    ending: Option<(Instant, Ending)>,
    missing: Option<String>,
    /// The window that was closed.
    closed: Option<gst::Object>,
}

impl Player {
    fn run(&mut self, terminal: Option<&Terminal>, interrupts: &Interrupts) -> Result<Ending> {
        let bus = self.pipeline.bus().context("a pipeline has a bus")?;
        self.find_filter();
        if terminal.is_some() && self.status.shown() {
            self.status.note("? for keys");
        }
        // Why it could not start is on the bus.
        let started = self.pipeline.set_state(gst::State::Playing);
        let before = interrupts.count();
        loop {
            let mut wait = TICK;
            while let Some(message) = bus.timed_pop(wait) {
                wait = gst::ClockTime::ZERO;
                if let Some(end) = self.message(&message, interrupts)? {
                    return Ok(end);
                }
            }
            if started.is_err() {
                bail!("it does not start");
            }
            self.find_filter();
            while let Some(action) = terminal.and_then(Terminal::action) {
                self.act(action, interrupts);
            }
            match interrupts.count() - before {
                0 => {}
                1 => self.end(Ending::Interrupted),
                _ => return Ok(Ending::Interrupted),
            }
            let others_ended = self.closed.as_ref().is_some_and(|window| all_ended_but(&self.pipeline, window));
            if let Some((since, end)) = self.ending
                && (since.elapsed() > PATIENCE || others_ended || !needs_ending(&self.pipeline))
            {
                if since.elapsed() > PATIENCE {
                    self.status.print("warning: the end did not come through; what was written may be incomplete");
                }
                return Ok(end);
            }
            self.show();
        }
    }

    /// Looks for the first `autolevels` in the line, and asks it for its levels if anybody sees them.
    fn find_filter(&mut self) {
        if self.filter.is_some() {
            return;
        }
        let mut last = None;
        // The elements of a bin come last added first.
        for element in self.pipeline.iterate_recurse().into_iter().flatten() {
            if element.factory().is_some_and(|factory| factory.name() == "autolevels") {
                last = Some(element);
            }
        }
        if let Some(filter) = &last
            && self.status.shown()
            && Filter(filter).get("post-messages") == Some(Value::Text("none".into()))
        {
            filter.set_property_from_str("post-messages", "levels");
        }
        self.filter = last;
    }

    fn act(&mut self, action: Action, interrupts: &Interrupts) {
        match action {
            Action::Quit => self.end(Ending::Done),
            Action::Interrupt => interrupts.add(),
            Action::Help => self.status.print(&keys::help()),
            Action::Pause => {
                self.paused = !self.paused;
                self.status.note(if self.paused { "paused" } else { "playing" });
                self.set_playing();
            }
            Action::Turn(knob) => {
                let told = match &self.filter {
                    Some(filter) => self.hand.turn(knob, &mut Filter(filter)),
                    None => Some("no autolevels in this line".into()),
                };
                if let Some(told) = told {
                    self.status.note(told);
                }
            }
        }
    }

    fn set_playing(&self) {
        let state = if self.paused || self.buffering { gst::State::Paused } else { gst::State::Playing };
        // If it fails, an error is on the bus.
        let _ = self.pipeline.set_state(state);
    }

    /// Asks for the end, so that files are finished.
    fn end(&mut self, end: Ending) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some((Instant::now(), end));
        if needs_ending(&self.pipeline) {
            if end == Ending::Interrupted {
                self.status.print("finishing; again to stop at once");
            }
            (self.paused, self.buffering) = (false, false);
            self.set_playing();
            self.pipeline.send_event(gst::event::Eos::new());
        }
    }

    fn message(&mut self, message: &gst::Message, interrupts: &Interrupts) -> Result<Option<Ending>> {
        match message.view() {
            gst::MessageView::Eos(_) => return Ok(Some(self.ending.map_or(Ending::Done, |(_, end)| end))),
            gst::MessageView::Error(error) => {
                let who = error.src().map(|source| source.name().to_string()).unwrap_or_default();
                if closed_window(error) {
                    self.closed = error.src().cloned();
                    self.end(Ending::Done);
                    return Ok(None);
                }
                // What a closed window leaves behind; the rest is about to end anyway.
                if self.closed.is_some() {
                    return Ok(None);
                }
                match &self.missing {
                    Some(missing) => bail!("GStreamer lacks a {missing}"),
                    None => bail!("{who}: {}{}", error.error().message(), why(error)),
                }
            }
            gst::MessageView::Warning(warning) => {
                let who = warning.src().map(|source| source.name().to_string()).unwrap_or_default();
                self.status.print(&format!("warning: {who}: {}", warning.error().message()));
            }
            gst::MessageView::Latency(_) => {
                let _ = self.pipeline.recalculate_latency();
            }
            gst::MessageView::ClockLost(_) => {
                let _ = self.pipeline.set_state(gst::State::Paused);
                self.set_playing();
            }
            gst::MessageView::RequestState(request) => {
                let _ = self.pipeline.set_state(request.requested_state());
            }
            gst::MessageView::Buffering(buffering) => self.buffer(buffering.percent()),
            gst::MessageView::Qos(qos) => {
                // The filter counts those that it dropped itself; sinks tell theirs here.
                if let (gst::GenericFormattedValue::Buffers(Some(dropped)), true) =
                    (qos.stats().1, qos.src() != self.filter.as_ref().map(|filter| filter.upcast_ref()))
                {
                    self.late = self.late.max(*dropped);
                }
            }
            gst::MessageView::Element(_) => {
                if let Ok(missing) = gst_pbutils::MissingPluginMessage::parse(message) {
                    self.missing = Some(missing.description().to_string());
                } else if let Some(key) = keys::pressed_in_window(message) {
                    self.key_in_window(&key, interrupts);
                } else {
                    self.hear_levels(message);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn key_in_window(&mut self, key: &str, interrupts: &Interrupts) {
        if let Some(action) = keys::action(key) {
            self.act(action, interrupts);
        }
    }

    /// Network sources want to wait until enough has come; live ones never.
    fn buffer(&mut self, percent: i32) {
        let mut query = gst::query::Latency::new();
        let live = self.pipeline.query(&mut query) && query.result().0;
        let buffering = !live && percent < 100;
        if buffering != self.buffering {
            self.buffering = buffering;
            self.set_playing();
        }
    }

    fn hear_levels(&mut self, message: &gst::Message) {
        let ours = self.filter.as_ref().is_some_and(|filter| message.src() == Some(filter.upcast_ref()));
        let Some(levels) = message.structure().filter(|structure| ours && structure.name() == "autolevels") else {
            return;
        };
        let level = |name| levels.get::<f64>(name).ok();
        if let (Some(black), Some(white), Some(gain)) = (level("black"), level("white"), level("gain")) {
            self.levels = Some((black, white, gain));
        }
    }

    fn show(&mut self) {
        let (filter, levels, late) = (&self.filter, self.levels, self.late);
        self.status.update(|| {
            let mut status = filter.as_ref().map(stats).unwrap_or_default();
            status.levels = levels;
            status.late += late;
            status
        });
    }
}

/// What the element's `stats` tell.
fn stats(filter: &gst::Element) -> Status {
    let stats = filter.property::<gst::Structure>("stats");
    let count = |name| stats.get::<u64>(name).unwrap_or_default();
    let text = |name| stats.get::<String>(name).unwrap_or_default();
    Status {
        backend: text("backend"),
        adapter: text("adapter"),
        frames: count("frames"),
        late: count("late"),
        levels: None,
        busy: Duration::from_nanos(count("measure-time") + count("decide-time") + count("apply-time")),
    }
}

/// Whether something in the pipeline is written properly only if it is told the end.
fn needs_ending(pipeline: &gst::Pipeline) -> bool {
    let writes = |element: &gst::Element| {
        let class = element.metadata(gst::ELEMENT_METADATA_KLASS).unwrap_or_default();
        class.contains("Muxer") || class.contains("Encoder")
    };
    pipeline.iterate_recurse().into_iter().flatten().any(|element| writes(&element))
}

/// Whether every sink but the one that is, or holds, the closed window has got the end of its stream.
fn all_ended_but(pipeline: &gst::Pipeline, window: &gst::Object) -> bool {
    let ended = |sink: &gst::Element| {
        let is_window = window == sink.upcast_ref::<gst::Object>() || window.has_as_ancestor(sink);
        is_window || sink.sink_pads().iter().all(|pad| pad.sticky_event::<gst::event::Eos>(0).is_some())
    };
    pipeline.iterate_sinks().into_iter().flatten().all(|sink| ended(&sink))
}

/// Whether an error only says that the window was closed.
pub fn closed_window(error: &gst::message::Error) -> bool {
    error.error().matches(gst::ResourceError::NotFound) && error.error().message().contains("window was closed")
}

/// The last line of an error's details, where the reason is.
fn why(error: &gst::message::Error) -> String {
    let details = error.debug().unwrap_or_default();
    let last = details.lines().last().map(str::trim).unwrap_or_default();
    if details.lines().count() < 2 || last.is_empty() { String::new() } else { format!(" ({last})") }
}

/// The element's properties as settings.
struct Filter<'a>(&'a gst::Element);

impl Adjustable for Filter<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        let spec = self.0.find_property(name)?;
        let value = self.0.property_value(spec.name());
        if let Some((_, choice)) = gst::glib::EnumValue::from_value(&value) {
            return Some(Value::Text(choice.nick().into()));
        }
        let number = value.get().ok().map(Value::Number);
        number.or_else(|| value.get().ok().map(Value::Switch)).or_else(|| value.get().ok().map(Value::Text))
    }

    fn set(&mut self, name: &str, value: Value) {
        match value {
            Value::Number(x) => self.0.set_property(name, x),
            Value::Switch(x) => self.0.set_property(name, x),
            Value::Whole(x) => self.0.set_property(name, x),
            Value::Text(x) => self.0.set_property_from_str(name, &x),
        }
    }
}

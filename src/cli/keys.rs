//! Keys that change settings while something plays, on the terminal and in the video window.

pub mod terminal;

use gst_video::{NavigationEvent, NavigationMessage};

use autolevels::settings::{Kind, Setting, Value};

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    Quit,
    /// Ctrl-C: quit, and say so in the exit code.
    Interrupt,
    Pause,
    Help,
    Turn(Knob),
}

/// A setting and how a key turns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knob {
    setting: &'static str,
    turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    /// The next choice, or the other way of a switch, or between 0 and the middle.
    Next,
    /// The next of these values, up or down.
    Step(&'static [f64], Direction),
    /// Between off and what it was.
    Bypass,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

const STRENGTHS: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
const SMOOTHINGS: &[f64] = &[0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Keys by the names that GStreamer's windows use; the first is the one that help shows.
struct Key {
    names: &'static [&'static str],
    shown: &'static str,
    action: Action,
    help: &'static str,
}

const fn turn(setting: &'static str, turn: Turn) -> Action {
    Action::Turn(Knob { setting, turn })
}

/// Keys whose setting does not exist are left out.
static KEYS: &[Key] = &[
    key(&["m"], "m", turn("mode", Turn::Next), "next mode"),
    key(&["Up", "plus", "equal"], "up", turn("strength", Turn::Step(STRENGTHS, Direction::Up)), "stronger"),
    key(&["Down", "minus"], "down", turn("strength", Turn::Step(STRENGTHS, Direction::Down)), "weaker"),
    key(&["bracketright", "]"], "]", turn("smoothing", Turn::Step(SMOOTHINGS, Direction::Up)), "smoother"),
    key(&["bracketleft", "["], "[", turn("smoothing", Turn::Step(SMOOTHINGS, Direction::Down)), "quicker"),
    key(&["b"], "b", turn("mode", Turn::Bypass), "before / after"),
    key(&["v"], "v", turn("split", Turn::Next), "split view"),
    key(&["h"], "h", turn("overlay", Turn::Next), "histogram"),
    key(&["f"], "f", turn("freeze", Turn::Next), "freeze the levels"),
    key(&["space"], "space", Action::Pause, "pause"),
    key(&["q", "Escape"], "q", Action::Quit, "quit"),
    key(&["question", "?", "F1"], "?", Action::Help, "this help"),
];

const fn key(names: &'static [&'static str], shown: &'static str, action: Action, help: &'static str) -> Key {
    Key { names, shown, action, help }
}

impl Key {
    fn exists(&self) -> bool {
        match self.action {
            Action::Turn(knob) => Setting::find(knob.setting).is_some(),
            _ => true,
        }
    }
}

/// What the key of that name does.
pub fn action(name: &str) -> Option<Action> {
    KEYS.iter().find(|key| key.names.contains(&name) && key.exists()).map(|key| key.action)
}

/// The name of the key that a message from a video window tells of.
pub fn pressed_in_window(message: &gst::MessageRef) -> Option<String> {
    let NavigationMessage::Event(navigation) = NavigationMessage::parse(message).ok()?;
    match NavigationEvent::parse(&navigation.event).ok()? {
        NavigationEvent::KeyPress { key, .. } => Some(key),
        _ => None,
    }
}

/// All keys and what they do, a line each.
pub fn help() -> String {
    let line = |key: &Key| format!("  {:<6} {}\n", key.shown, key.help);
    KEYS.iter().filter(|key| key.exists()).map(line).collect()
}

/// Something whose settings can be turned while it plays.
pub trait Adjustable {
    /// The present value of a setting, `None` if it has no such setting.
    fn get(&self, name: &str) -> Option<Value>;
    /// Changes a setting to a value of its kind and range.
    fn set(&mut self, name: &str, value: Value);
}

/// Turns knobs, and remembers what was bypassed.
#[derive(Default)]
pub struct Hand {
    bypassed: Option<Value>,
}

impl Hand {
    /// Turns a knob of `on`. Returns what to tell the person, `None` if `on` has no such setting.
    pub fn turn(&mut self, knob: Knob, on: &mut dyn Adjustable) -> Option<String> {
        let setting = Setting::find(knob.setting)?;
        let now = on.get(setting.name)?;
        let value = match knob.turn {
            Turn::Bypass => self.bypass(now),
            Turn::Next => next(setting, &now)?,
            Turn::Step(steps, direction) => step(&now, steps, direction)?,
        };
        let told = match (knob.turn, &self.bypassed) {
            (Turn::Bypass, Some(_)) => "before".into(),
            (Turn::Bypass, None) => "after".into(),
            _ => format!("{} {value}", setting.name),
        };
        on.set(setting.name, value);
        Some(told)
    }

    fn bypass(&mut self, now: Value) -> Value {
        let off = Value::Text("off".into());
        match self.bypassed.take() {
            Some(before) if now == off => before,
            _ if now == off => Value::Text("stretch".into()),
            _ => {
                self.bypassed = Some(now);
                off
            }
        }
    }
}

fn next(setting: &Setting, now: &Value) -> Option<Value> {
    Some(match (&setting.kind, now) {
        (Kind::Choice { choices, .. }, Value::Text(name)) => {
            let index = choices.iter().position(|choice| choice.0 == name)?;
            Value::Text(choices[(index + 1) % choices.len()].0.into())
        }
        (Kind::Switch { .. }, Value::Switch(on)) => Value::Switch(!on),
        (Kind::Number { min, max, .. }, Value::Number(x)) if x > min => Value::Number(*min),
        (Kind::Number { min, max, .. }, Value::Number(_)) => Value::Number((min + max) / 2.0),
        _ => return None,
    })
}

fn step(now: &Value, steps: &[f64], direction: Direction) -> Option<Value> {
    let Value::Number(now) = *now else { return None };
    // A little tolerance, so that 0.30000000000000004 counts as 0.3.
    let next = match direction {
        Direction::Up => steps.iter().copied().find(|step| *step > now + 1e-9),
        Direction::Down => steps.iter().rev().copied().find(|step| *step < now - 1e-9),
    };
    Some(Value::Number(next.unwrap_or(now)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use autolevels::settings::Settings;

    impl Adjustable for Settings {
        fn get(&self, name: &str) -> Option<Value> {
            Settings::get(self, name)
        }
        fn set(&mut self, name: &str, value: Value) {
            Settings::set(self, name, value).expect("keys stay in range");
        }
    }

    fn press(keys: &[&str], settings: &mut Settings) -> Vec<String> {
        let mut hand = Hand::default();
        let told = |name: &&str| match action(name) {
            Some(Action::Turn(knob)) => hand.turn(knob, settings),
            other => Some(format!("{other:?}")),
        };
        keys.iter().filter_map(told).collect()
    }

    #[test]
    fn keys_turn_settings_and_stay_in_range() {
        let mut settings = Settings::default();
        assert_eq!(press(&["m", "m", "m"], &mut settings), ["mode equalize", "mode off", "mode stretch"]);
        assert_eq!(press(&["Down", "Down", "Up"], &mut settings), ["strength 0.9", "strength 0.8", "strength 0.9"]);
        assert_eq!(press(&["Up", "Up"], &mut settings), ["strength 1", "strength 1"]);
        assert_eq!(press(&["]", "[", "["], &mut settings), ["smoothing 1", "smoothing 0.5", "smoothing 0.2"]);
        assert_eq!(press(&["f", "f"], &mut settings), ["freeze true", "freeze false"]);
        settings.strength = 0.25;
        assert_eq!(press(&["Down"], &mut settings), ["strength 0.2"]);
    }

    #[test]
    fn bypass_goes_back_to_what_it_was() {
        let mut settings = Settings::default();
        press(&["m", "b"], &mut settings);
        assert_eq!(settings.mode.name(), "off");
        press(&["m", "m"], &mut settings);
        assert_eq!(press(&["b", "b"], &mut settings), ["before", "after"]);
        assert_eq!(settings.mode.name(), "equalize");
        // From off there is nothing to go back to but the default.
        press(&["m"], &mut settings);
        assert_eq!(press(&["b"], &mut settings), ["after"]);
        assert_eq!(settings.mode.name(), "stretch");
    }

    #[test]
    fn help_shows_the_keys_that_work() {
        let help = help();
        assert!(help.contains("space  pause") && help.contains("freeze the levels"));
        assert_eq!(help.contains("split view"), Setting::find("split").is_some());
        assert_eq!(action("q"), Some(Action::Quit));
        assert_eq!(action("F7"), None);
        let names: Vec<_> = KEYS.iter().flat_map(|key| key.names).collect();
        assert!(names.iter().enumerate().all(|(i, name)| !names[..i].contains(name)), "each key does one thing");
    }
}

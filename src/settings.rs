//! Every setting, once: its name, kind, range, default and meaning.
//!
//! The element's properties, the command line's flags and the table in the README are all made from
//! [`SETTINGS`]. To add a setting, add a line to the `settings!` block below.

mod roi;

use std::fmt;

use gst::glib;

pub use roi::{NoRoi, Roi};

/// Declares an enum whose variants are the choices of a setting, with the name used everywhere.
macro_rules! choices {
    ($(#[$doc:meta])* $enum:ident, $gtype:literal { $($(#[$default:meta])* $variant:ident = $name:literal: $blurb:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
        #[enum_type(name = $gtype)]
        #[repr(i32)]
        pub enum $enum {
            $(#[doc = $blurb] #[enum_value(name = $blurb, nick = $name)] $(#[$default])* $variant,)+
        }
        impl $enum {
            /// Name and meaning of each choice, in order.
            pub const CHOICES: &'static [(&'static str, &'static str)] = &[$(($name, $blurb)),+];
            /// The name used in flags, properties and documentation.
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name),+ }
            }
        }
        impl Field for $enum {
            fn value(&self) -> Value { Value::Text(self.name().into()) }
            fn assign(&mut self, value: &Value) {
                match value { $(Value::Text(text) if text == $name => *self = $enum::$variant,)+ _ => {} }
            }
        }
    };
}

choices! {
    /// What is done to the levels.
    Mode, "GstAutoLevelsMode" {
        #[default] Stretch = "stretch": "The darkest and brightest levels go to black and white",
        Equalize = "equalize": "The levels are spread evenly over the range",
        Off = "off": "Frames are measured and pass untouched",
    }
}
choices! {
    /// What happens to colour when the luma gains contrast.
    Chroma, "GstAutoLevelsChroma" {
        #[default] Follow = "follow": "Colours gain with luma, as levels in RGB would",
        Keep = "keep": "Colours stay as they are",
    }
}
choices! {
    /// Where the work is done.
    BackendChoice, "GstAutoLevelsBackend" {
        #[default] Auto = "auto": "A real GPU if there is one, else the CPU",
        Gpu = "gpu": "The GPU, or an error",
        Cpu = "cpu": "The CPU",
    }
}
choices! {
    /// What is drawn into the picture.
    Overlay, "GstAutoLevelsOverlay" {
        #[default] None = "none": "Nothing",
        Histogram = "histogram": "The histograms, the kept range and the curve",
    }
}
choices! {
    /// What is posted on the bus for each frame.
    PostMessages, "GstAutoLevelsPostMessages" {
        #[default] None = "none": "Nothing",
        Levels = "levels": "Running time, black, white, gain, exposure change and cut",
        Histogram = "histogram": "The same and the luma histogram",
    }
}

/// The value of a setting, as text, flags and properties exchange it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Whole(i64),
    Switch(bool),
    /// Free text, the name of a choice, or a rectangle.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Number(x) => write!(f, "{x}"),
            Value::Whole(x) => write!(f, "{x}"),
            Value::Switch(x) => write!(f, "{x}"),
            Value::Text(x) => f.write_str(x),
        }
    }
}

/// What values a setting takes, and its default. A rectangle is a [`Roi`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Number { min: f64, max: f64, default: f64 },
    Whole { min: i64, max: i64, default: i64 },
    Switch { default: bool },
    Choice { choices: &'static [(&'static str, &'static str)], default: &'static str },
    Text { default: &'static str },
    Rectangle { default: &'static str },
}

/// When a setting may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// At any time, and, unless it is text, by a controller over time.
    Playing,
    /// Before the stream starts.
    Ready,
}

/// Who offers a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    Everywhere,
    /// Programs that keep several frames in flight; the element is synchronous.
    Programs,
    /// The element.
    Element,
}

/// One setting: a line of the table.
pub struct Setting {
    pub name: &'static str,
    pub kind: Kind,
    /// Unit of the value, empty for shares and choices.
    pub unit: &'static str,
    pub change: Change,
    pub offered: Offered,
    pub blurb: &'static str,
    /// GLib's type of the value, for properties.
    pub value_type: fn() -> glib::Type,
    get: fn(&Settings) -> Value,
    set: fn(&mut Settings, &Value),
}

/// A field of [`Settings`]: a Rust type that stands for a [`Value`].
trait Field {
    fn value(&self) -> Value;
    /// Takes a value that was checked against the setting's kind.
    fn assign(&mut self, value: &Value);
}

macro_rules! fields {
    ($($type:ty: $variant:ident),+) => {$(
        impl Field for $type {
            fn value(&self) -> Value { Value::$variant(self.clone()) }
            fn assign(&mut self, value: &Value) {
                if let Value::$variant(x) = value { *self = x.clone(); }
            }
        }
    )+};
}
fields!(f64: Number, i64: Whole, bool: Switch, String: Text);

macro_rules! kind {
    (f64, $default:expr, $min:literal, $max:literal) => {
        Kind::Number { min: $min, max: $max, default: $default }
    };
    (i64, $default:expr, $min:literal, $max:literal) => {
        Kind::Whole { min: $min, max: $max, default: $default }
    };
    (bool, $default:expr) => {
        Kind::Switch { default: $default }
    };
    (Roi, $default:expr) => {
        Kind::Rectangle { default: $default }
    };
    (String, $default:expr) => {
        Kind::Text { default: $default }
    };
    ($choice:ident, $default:expr) => {
        Kind::Choice { choices: $choice::CHOICES, default: $default }
    };
}

macro_rules! settings {
    ($($field:ident $name:literal: $type:ident = $default:literal $(in $min:literal to $max:literal)? $([$unit:literal])?, $change:ident, $offered:ident, $blurb:literal;)+) => {
        /// The values of all settings. Made with [`Settings::default`], changed with [`Settings::set`] or
        /// directly; [`Settings::check`] tells whether they fit together.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings { $(#[doc = $blurb] pub $field: $type,)+ }

        /// Every setting, in the order in which they are shown.
        pub static SETTINGS: &[Setting] = &[$(Setting {
            name: $name,
            kind: kind!($type, $default $(, $min, $max)?),
            unit: concat!($($unit)?),
            change: Change::$change,
            offered: Offered::$offered,
            blurb: $blurb,
            value_type: <$type as glib::types::StaticType>::static_type,
            get: |settings| settings.$field.value(),
            set: |settings, value| settings.$field.assign(value),
        },)+];

        impl Default for Settings {
            fn default() -> Self {
                let mut settings = Settings { $($field: <$type>::default(),)+ };
                for setting in SETTINGS {
                    (setting.set)(&mut settings, &setting.kind.default());
                }
                settings
            }
        }
    };
}

settings! {
    mode "mode": Mode = "stretch", Playing, Everywhere, "What is done to the levels";
    strength "strength": f64 = 1.0 in 0.0 to 1.0, Playing, Everywhere, "Share of the correction; 0 is the input, bit for bit";
    clip_low "clip-low": f64 = 0.01 in 0.0 to 25.0 ["%"], Playing, Everywhere, "Share of the pixels let go to black";
    clip_high "clip-high": f64 = 0.01 in 0.0 to 25.0 ["%"], Playing, Everywhere, "Share of the pixels let go to white";
    black "black": f64 = 0.0 in 0.0 to 1.0, Playing, Everywhere, "Where the darkest kept level goes, as a share of the nominal range";
    white "white": f64 = 1.0 in 0.0 to 1.0, Playing, Everywhere, "Where the brightest kept level goes, as a share of the nominal range; above black";
    smoothing "smoothing": f64 = 0.5 in 0.0 to 60.0 ["s"], Playing, Everywhere, "Time constant of the levels in running time, which scales every time constant inside; 0: each frame on its own";
    cut "cut": f64 = 0.5 in 0.0 to 1.0, Playing, Everywhere, "How readily a change of scene starts afresh; 0: never";
    max_gain "max-gain": f64 = 4.0 in 1.0 to 100.0, Playing, Everywhere, "Limit on the contrast gain, so that noise and flat frames stay what they are";
    independence "independence": f64 = 0.0 in 0.0 to 1.0, Playing, Everywhere, "How far red, green and blue have levels of their own; 0: they share one curve and hues stay, 1: casts go";
    midtone "midtone": f64 = 0.0 in 0.0 to 1.0, Playing, Everywhere, "How far a soft curve moves the median level towards the middle of the range; 0: not at all";
    dither "dither": bool = false, Playing, Everywhere, "Fill the gaps that more contrast tears between codes of 8 bits with fine noise, against bands in skies";
    roi "roi": Roi = "0,0,1,1", Playing, Everywhere, "The part of the picture that is measured";
    letterbox "letterbox": bool = true, Playing, Everywhere, "Leave black bars at top and bottom or at the sides out of the measurement";
    chroma "chroma": Chroma = "follow", Playing, Everywhere, "What happens to colour when luma gains contrast (formats with separate chroma)";
    freeze "freeze": bool = false, Playing, Everywhere, "Hold the present curve";
    overlay "overlay": Overlay = "none", Playing, Everywhere, "What is drawn into the picture";
    split "split": f64 = 0.0 in 0.0 to 1.0, Playing, Everywhere, "Left share of the picture shown as it came, for comparing";
    backend "backend": BackendChoice = "auto", Ready, Everywhere, "Where the work is done";
    adapter "adapter": String = "", Ready, Everywhere, "Part of the name of the GPU adapter to use, or its index";
    frames_in_flight "frames-in-flight": i64 = -1 in -1 to 16, Ready, Programs, "Frames worked on at a time; -1: automatic (0 when live, enough to hide the waits when not)";
    post_messages "post-messages": PostMessages = "none", Playing, Element, "Post an element message named autolevels for each frame; a bus that nobody reads grows";
}

impl Kind {
    /// The default as a value.
    pub fn default(&self) -> Value {
        match *self {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Whole { default, .. } => Value::Whole(default),
            Kind::Switch { default } => Value::Switch(default),
            Kind::Choice { default, .. } | Kind::Text { default } | Kind::Rectangle { default } => {
                Value::Text(default.into())
            }
        }
    }

    /// The values that are taken, in words.
    pub fn range(&self) -> String {
        match self {
            Kind::Number { min, max, .. } => format!("{min} to {max}"),
            Kind::Whole { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Switch { .. } => "true or false".into(),
            Kind::Choice { choices, .. } => choices.iter().map(|c| c.0).collect::<Vec<_>>().join(", "),
            Kind::Text { .. } => "text".into(),
            Kind::Rectangle { .. } => Roi::RANGE.into(),
        }
    }

    /// Reads a value from text and checks it against the range; `None` if it does not fit.
    fn parse(&self, text: &str) -> Option<Value> {
        let value = match self {
            Kind::Number { .. } => Value::Number(text.parse().ok()?),
            Kind::Whole { .. } => Value::Whole(text.parse().ok()?),
            Kind::Switch { .. } => Value::Switch(match text {
                "true" | "yes" | "on" | "1" => true,
                "false" | "no" | "off" | "0" => false,
                _ => return None,
            }),
            Kind::Choice { .. } | Kind::Text { .. } | Kind::Rectangle { .. } => Value::Text(text.into()),
        };
        self.takes(&value).then_some(value)
    }

    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Kind::Number { min, max, .. }, Value::Number(x)) => (min..=max).contains(&x),
            (Kind::Whole { min, max, .. }, Value::Whole(x)) => (min..=max).contains(&x),
            (Kind::Choice { choices, .. }, Value::Text(x)) => choices.iter().any(|c| c.0 == x),
            (Kind::Rectangle { .. }, Value::Text(x)) => x.parse::<Roi>().is_ok(),
            (Kind::Switch { .. }, Value::Switch(_)) | (Kind::Text { .. }, Value::Text(_)) => true,
            _ => false,
        }
    }
}

impl Setting {
    /// The setting of that name.
    pub fn find(name: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Reads a value of this setting from text, e.g. from a command line.
    pub fn parse(&self, text: &str) -> Result<Value, SettingError> {
        self.kind.parse(text).ok_or_else(|| self.out_of_range(text.into()))
    }

    fn out_of_range(&self, value: String) -> SettingError {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        SettingError::Range { name: self.name, value, range: self.kind.range() + &unit }
    }
}

/// Why a setting was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    #[error("there is no setting '{0}'")]
    Unknown(String),
    #[error("{name} takes {range}, not '{value}'")]
    Range { name: &'static str, value: String, range: String },
    #[error("black ({black}) must lie below white ({white})")]
    Order { black: f64, white: f64 },
}

impl Settings {
    /// The value of the setting `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        Setting::find(name).map(|setting| (setting.get)(self))
    }

    /// Changes one setting.
    ///
    /// # Errors
    /// If there is no such setting, or the value is of another kind or out of range.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), SettingError> {
        let setting = Setting::find(name).ok_or_else(|| SettingError::Unknown(name.into()))?;
        if !setting.kind.takes(&value) {
            return Err(setting.out_of_range(value.to_string()));
        }
        (setting.set)(self, &value);
        Ok(())
    }

    /// Checks that every value is in its range and that they fit together.
    ///
    /// # Errors
    /// Names the first setting that is out of range, or black and white if they are the wrong way round.
    pub fn check(&self) -> Result<(), SettingError> {
        for setting in SETTINGS {
            let value = (setting.get)(self);
            if !setting.kind.takes(&value) {
                return Err(setting.out_of_range(value.to_string()));
            }
        }
        if self.black >= self.white {
            return Err(SettingError::Order { black: self.black, white: self.white });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_come_from_the_table_and_are_in_range() {
        let settings = Settings::default();
        assert_eq!(settings.mode, Mode::Stretch);
        assert_eq!(settings.frames_in_flight, -1);
        assert_eq!(settings.check(), Ok(()));
        for setting in SETTINGS {
            assert_eq!(settings.get(setting.name), Some(setting.kind.default()), "{}", setting.name);
        }
    }

    #[test]
    fn every_setting_reads_back_from_its_own_text() {
        let mut settings = Settings::default();
        for setting in SETTINGS {
            let text = settings.get(setting.name).expect("a setting of the table").to_string();
            let value = setting.parse(&text).expect("the default is in range");
            settings.set(setting.name, value).expect("the default is in range");
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn errors_name_setting_value_and_range() {
        let mut settings = Settings::default();
        let error = settings.set("clip-low", Value::Number(30.0)).unwrap_err();
        assert_eq!(error.to_string(), "clip-low takes 0 to 25 %, not '30'");
        let mode = Setting::find("mode").expect("a setting of the table");
        assert_eq!(mode.parse("loud").unwrap_err().to_string(), "mode takes stretch, equalize, off, not 'loud'");
        let error = settings.set("roi", Value::Text("0,0,2,1".into())).unwrap_err().to_string();
        assert!(error.starts_with("roi takes x,y,w,h as shares") && error.ends_with("not '0,0,2,1'"), "{error}");
        assert!(Setting::find("strength").expect("in the table").parse("NaN").is_err());
        assert_eq!(settings.set("gamma", Value::Number(1.0)).unwrap_err(), SettingError::Unknown("gamma".into()));
        (settings.black, settings.white) = (0.5, 0.5);
        assert!(settings.check().unwrap_err().to_string().contains("below white"));
    }
}

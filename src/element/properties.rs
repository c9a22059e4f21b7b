//! The settings' table as GObject properties.

use glib::translate::*;
use gst::glib;
use gst::prelude::*;

use crate::settings::{Change, Kind, Offered, SETTINGS, Setting, SettingError, Settings, Value};

/// The settings that are properties of the element.
fn offered() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.offered != Offered::Programs)
}

/// A property for each setting that the element offers, and `stats`.
pub fn specs() -> Vec<glib::ParamSpec> {
    let stats = glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
        .nick("Statistics")
        .blurb("Frames, backend, adapter, cuts, late and untouched frames, failovers, mean times of measure, decide and apply in ns")
        .read_only()
        .build();
    offered().map(spec).chain([stats]).collect()
}

fn spec(setting: &'static Setting) -> glib::ParamSpec {
    let mut flags = glib::ParamFlags::READWRITE;
    flags |= match (setting.change, &setting.kind) {
        (Change::Ready, _) => gst::PARAM_FLAG_MUTABLE_READY,
        (Change::Playing, Kind::Text { .. } | Kind::Rectangle { .. }) => gst::PARAM_FLAG_MUTABLE_PLAYING,
        (Change::Playing, _) => gst::PARAM_FLAG_MUTABLE_PLAYING | gst::PARAM_FLAG_CONTROLLABLE,
    };
    let (name, nick) = (setting.name, nick(setting.name));
    let blurb = match setting.unit {
        "" => setting.blurb.to_string(),
        unit => format!("{} ({unit})", setting.blurb),
    };
    macro_rules! build {
        ($builder:expr) => {
            $builder.nick(&nick).blurb(&blurb).flags(flags).build()
        };
    }
    match setting.kind {
        Kind::Number { min, max, default } => {
            build!(glib::ParamSpecDouble::builder(name).minimum(min).maximum(max).default_value(default))
        }
        Kind::Whole { min, max, default } => {
            build!(glib::ParamSpecInt64::builder(name).minimum(min).maximum(max).default_value(default))
        }
        Kind::Switch { default } => build!(glib::ParamSpecBoolean::builder(name).default_value(default)),
        Kind::Text { default } | Kind::Rectangle { default } => {
            build!(glib::ParamSpecString::builder(name).default_value(Some(default)))
        }
        Kind::Choice { default, .. } => choice(name, &nick, &blurb, (setting.value_type)(), default, flags),
    }
}

/// glib's own builder wants to know the enum's Rust type; this takes it from the table.
fn choice(
    name: &str,
    nick: &str,
    blurb: &str,
    gtype: glib::Type,
    default: &str,
    flags: glib::ParamFlags,
) -> glib::ParamSpec {
    let class = glib::EnumClass::with_type(gtype).expect("choices are enums");
    let default = class.value_by_nick(default).expect("the default is one of the choices").value();
    // SAFETY: the strings live through the call, the type is an enum and the default is one of its values; the
    // new param spec's floating reference is taken over.
    unsafe {
        from_glib_none(glib::gobject_ffi::g_param_spec_enum(
            name.to_glib_none().0,
            nick.to_glib_none().0,
            blurb.to_glib_none().0,
            gtype.into_glib(),
            default,
            flags.into_glib(),
        ))
    }
}

/// `clip-low` is "Clip low" where people read it.
fn nick(name: &str) -> String {
    let mut nick = name.replace('-', " ");
    if let Some(first) = nick.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    nick
}

/// Sets the setting of a property; GObject has checked the type and, for numbers, the range.
pub fn set(settings: &mut Settings, spec: &glib::ParamSpec, value: &glib::Value) -> Result<(), SettingError> {
    let unknown = || SettingError::Unknown(spec.name().into());
    let setting = Setting::find(spec.name()).ok_or_else(unknown)?;
    let value = match setting.kind {
        Kind::Number { .. } => value.get().ok().map(Value::Number),
        Kind::Whole { .. } => value.get().ok().map(Value::Whole),
        Kind::Switch { .. } => value.get().ok().map(Value::Switch),
        Kind::Text { .. } | Kind::Rectangle { .. } => {
            value.get().ok().map(|text: Option<String>| Value::Text(text.unwrap_or_default()))
        }
        Kind::Choice { .. } => glib::EnumValue::from_value(value).map(|(_, choice)| Value::Text(choice.nick().into())),
    };
    settings.set(setting.name, value.ok_or_else(unknown)?)
}

/// The value of a property; `None` if it is not a setting.
pub fn get(settings: &Settings, spec: &glib::ParamSpec) -> Option<glib::Value> {
    let setting = Setting::find(spec.name())?;
    Some(match settings.get(setting.name)? {
        Value::Number(x) => x.to_value(),
        Value::Whole(x) => x.to_value(),
        Value::Switch(x) => x.to_value(),
        Value::Text(nick) => match glib::EnumClass::with_type((setting.value_type)()) {
            Some(class) => class.to_value_by_nick(&nick)?,
            None => nick.to_value(),
        },
    })
}

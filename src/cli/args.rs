//! Flags that are made from the table of settings.

use autolevels::settings::{Kind, Offered, SETTINGS, Setting, Settings, Value};
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

/// The settings, one flag each, with the names, ranges and defaults of the table.
#[derive(Clone, Debug)]
pub struct SettingFlags(pub Settings);

fn offered() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.offered != Offered::Element)
}

fn flag(setting: &'static Setting) -> Arg {
    let range = match setting.kind {
        // Possible values show themselves.
        Kind::Choice { .. } | Kind::Switch { .. } | Kind::Text { .. } => String::new(),
        _ => format!(" ({}{}{})", setting.kind.range(), if setting.unit.is_empty() { "" } else { " " }, setting.unit),
    };
    let value_name = match setting.kind {
        Kind::Number { .. } => "NUMBER",
        Kind::Whole { .. } => "N",
        Kind::Text { .. } => "TEXT",
        Kind::Rectangle { .. } => "X,Y,W,H",
        Kind::Choice { .. } | Kind::Switch { .. } => "CHOICE",
    };
    let flag = Arg::new(setting.name)
        .long(setting.name)
        .help(format!("{}{range}", setting.blurb))
        .help_heading("Settings")
        .value_name(value_name)
        .allow_negative_numbers(true)
        .value_parser(parser(setting));
    let flag = match setting.kind {
        Kind::Switch { .. } => flag.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => flag,
    };
    match setting.kind.default() {
        Value::Text(text) if text.is_empty() => flag,
        // Clap wants text that lives as long as the program; there are few settings.
        default => flag.default_value(&*default.to_string().leak()),
    }
}

fn parser(setting: &'static Setting) -> ValueParser {
    let read = move |text: String| setting.parse(&text);
    match setting.kind {
        Kind::Choice { choices, .. } => {
            let choices = choices.iter().map(|(name, blurb)| PossibleValue::new(*name).help(*blurb));
            PossibleValuesParser::new(choices).try_map(read).into()
        }
        Kind::Switch { .. } => PossibleValuesParser::new(["true", "false"]).try_map(read).into(),
        _ => StringValueParser::new().try_map(read).into(),
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        offered().fold(command, |command, setting| command.arg(flag(setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = SettingFlags(Settings::default());
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let refused = |error| clap::Error::raw(clap::error::ErrorKind::ValueValidation, error);
        for setting in offered() {
            if let Some(value) = matches.get_one::<Value>(setting.name) {
                self.0.set(setting.name, value.clone()).map_err(refused)?;
            }
        }
        self.0.check().map_err(refused)
    }
}

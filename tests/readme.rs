//! What the README says of settings is what the program does.

use autolevels::settings::{Kind, SETTINGS, Setting};

fn row(setting: &Setting) -> String {
    let unit = if setting.unit.is_empty() { String::new() } else { format!(" {}", setting.unit) };
    let range = match setting.kind {
        Kind::Number { min, max, .. } => format!("{min} – {max}{unit}"),
        Kind::Whole { min, max, .. } => format!("{min} – {max}{unit}"),
        Kind::Rectangle { .. } => "x,y,w,h in shares of the picture".into(),
        _ => setting.kind.range(),
    };
    let default = setting.kind.default().to_string();
    let default = if default.is_empty() { "–" } else { &default };
    format!("| `{}` | {range} | {default} | {} |", setting.name, setting.blurb)
}

#[test]
fn the_table_of_settings_is_the_one_of_the_code() {
    let rows: Vec<String> = SETTINGS.iter().map(row).collect();
    let wanted = format!("| setting | values | default | meaning |\n|---|---|---|---|\n{}\n", rows.join("\n"));
    let readme = include_str!("../README.md");
    assert!(readme.contains(&wanted), "the README should have this table:\n\n{wanted}");
}

//! `.launch` files: a launch line over several lines, with comments and placeholders.
//!
//! Lines that begin with `#` are comments. `${name:-default}` stands for a value given as NAME=VALUE, else for
//! the default, which may hold placeholders itself; `${name}` must be given. A shell reads the same text the
//! same way, so that `gst-launch-1.0` can play it too.

use std::collections::BTreeMap;

/// Why a launch line cannot be made of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchFileError {
    #[error("the placeholder '${{{0}' has no closing brace")]
    Open(String),
    #[error("'{0}' is no name for a placeholder: letters, digits and _ are")]
    Name(String),
    #[error("{0}=VALUE is missing: there is no default for it")]
    Missing(String),
    #[error("there is no placeholder '{name}'; there {}", list(.known))]
    Unknown { name: String, known: Vec<String> },
}

fn list(names: &[String]) -> String {
    match names {
        [] => "is none".into(),
        names => format!("are {}", names.join(", ")),
    }
}

/// The launch line in `text`, with `values` in place of the placeholders.
///
/// # Errors
/// If a placeholder is malformed or has neither value nor default, or a value has no placeholder.
pub fn launch_line(text: &str, values: &BTreeMap<String, String>) -> Result<String, LaunchFileError> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).map(str::trim).collect();
    let text = lines.join(" ");
    let mut names = Vec::new();
    let line = fill(&text, values, &mut names)?;
    if let Some(name) = values.keys().find(|name| !names.contains(name)) {
        names.sort();
        names.dedup();
        return Err(LaunchFileError::Unknown { name: name.clone(), known: names });
    }
    Ok(line.trim().to_owned())
}

/// Replaces the placeholders in `text` and adds their names to `names`, those in unused defaults as well.
fn fill(text: &str, values: &BTreeMap<String, String>, names: &mut Vec<String>) -> Result<String, LaunchFileError> {
    let mut line = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let end = closing_brace(after).ok_or_else(|| LaunchFileError::Open(start_of(after)))?;
        let (name, default) = match after[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&after[..end], None),
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(LaunchFileError::Name(name.to_owned()));
        }
        names.push(name.to_owned());
        let default = default.map(|default| fill(default, values, names));
        line.push_str(before);
        match (values.get(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => line.push_str(value),
            (None, Some(default)) => line.push_str(&default?),
            (None, None) => return Err(LaunchFileError::Missing(name.to_owned())),
        }
        rest = &after[end + 1..];
    }
    line.push_str(rest);
    Ok(line)
}

/// Where the brace that belongs to a `${` before `text` closes.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (index, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(index),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn start_of(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(text: &str, values: &[(&str, &str)]) -> Result<String, LaunchFileError> {
        let values = values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        launch_line(text, &values)
    }

    #[test]
    fn comments_go_and_lines_are_joined() {
        let text = "# what for\n#  ${not} read\n\nvideotestsrc\n  ! autolevels # 1 !\n  ! fakesink\n";
        assert_eq!(line(text, &[]).unwrap(), "videotestsrc ! autolevels # 1 ! ! fakesink");
    }

    #[test]
    fn values_take_the_place_of_defaults_also_of_nested_ones() {
        let text = "${source:-v4l2src device=${device:-/dev/video0}} ! ${sink:-autovideosink}";
        assert_eq!(line(text, &[]).unwrap(), "v4l2src device=/dev/video0 ! autovideosink");
        assert_eq!(line(text, &[("device", "/dev/video2")]).unwrap(), "v4l2src device=/dev/video2 ! autovideosink");
        let given = [("source", "videotestsrc"), ("sink", "fakesink sync=true")];
        assert_eq!(line(text, &given).unwrap(), "videotestsrc ! fakesink sync=true");
        // As in a shell, an empty value counts as none.
        assert_eq!(line("a${b:-c}", &[("b", "")]).unwrap(), "ac");
        assert_eq!(line("${a:-b{c}}d", &[]).unwrap(), "b{c}d");
    }

    #[test]
    fn a_value_is_not_read_for_placeholders() {
        assert_eq!(line("${a} ${b:-x}", &[("a", "${b:-y}")]).unwrap(), "${b:-y} x");
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(line("a ${b", &[]).unwrap_err().to_string(), "the placeholder '${b' has no closing brace");
        assert_eq!(line("${a b}", &[]), Err(LaunchFileError::Name("a b".into())));
        assert_eq!(line("${in}", &[]), Err(LaunchFileError::Missing("in".into())));
        let unknown = line("${b:-${a:-1}} ${b:-2}", &[("c", "3")]).unwrap_err();
        assert_eq!(unknown.to_string(), "there is no placeholder 'c'; there are a, b");
        assert_eq!(line("x", &[("c", "3")]).unwrap_err().to_string(), "there is no placeholder 'c'; there is none");
    }

    /// A piece of a launch file: text, or a placeholder with its default.
    #[derive(Clone, Debug)]
    enum Piece {
        Text(String),
        Placeholder(String, Option<Vec<Piece>>),
    }

    fn pieces() -> impl Strategy<Value = Vec<Piece>> {
        let text = "[ a-z!=/\"'$ü-]{0,6}".prop_map(|text| Piece::Text(text.replace("${", "")));
        // Pieces of one letter and few names, so that defaults and values meet.
        let name = || "[a-c_0]{1,2}";
        let leaf = prop_oneof![text, name().prop_map(|name| Piece::Placeholder(name, None))];
        let piece = leaf.prop_recursive(4, 24, 4, move |inner| {
            (name(), prop::collection::vec(inner, 0..4))
                .prop_map(|(name, default)| Piece::Placeholder(name, Some(default)))
        });
        prop::collection::vec(piece, 0..6)
    }

    /// The pieces as they stand in a file.
    fn written(pieces: &[Piece]) -> String {
        let written = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Placeholder(name, None) => format!("${{{name}}}"),
            Piece::Placeholder(name, Some(default)) => format!("${{{name}:-{}}}", written(default)),
        };
        pieces.iter().map(written).collect()
    }

    /// What they stand for; nothing if a value is missing.
    fn filled(pieces: &[Piece], values: &BTreeMap<String, String>) -> Option<String> {
        let filled = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Placeholder(name, default) => match (values.get(name), default) {
                (Some(value), _) if !value.is_empty() => Some(value.clone()),
                (_, Some(default)) => filled(default, values),
                (_, None) => None,
            },
        };
        pieces.iter().map(filled).collect()
    }

    fn cases(usual: u32) -> u32 {
        std::env::var("AUTOLEVELS_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(500)) })]

        #[test]
        fn placeholders_stand_for_what_they_say(
            pieces in pieces(),
            values in prop::collection::btree_map("[a-c_0]{1,2}", ".{0,5}", 0..4),
        ) {
            let mut text = written(&pieces);
            // A text that is no comment, and each value used: by a placeholder with a default.
            values.keys().for_each(|name| text.push_str(&format!("${{{name}:-}}")));
            let text = format!("x{text}");
            let ends: String = values.values().map(String::as_str).collect();
            match filled(&pieces, &values) {
                Some(line) => prop_assert_eq!(launch_line(&text, &values), Ok(format!("x{line}{ends}").trim().to_owned())),
                None => prop_assert!(matches!(launch_line(&text, &values), Err(LaunchFileError::Missing(_)))),
            }
        }

        #[test]
        fn no_text_is_too_broken(
            text in prop_oneof![any::<String>(), "[${}:a# \n-]{0,40}"],
            values in prop::collection::btree_map(prop_oneof![any::<String>(), "a{0,2}"], any::<String>(), 0..3),
        ) {
            if let Err(error) = launch_line(&text, &values) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

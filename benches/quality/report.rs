//! The results, as tables for people (Markdown) and as JSON.

use serde_json::{Map, Value, json};

use crate::score::{Scores, mean_of_some};
use crate::spoil::{KINDS, Kind};

/// Scores of one filter on one clip that was spoiled in one way.
pub struct Entry {
    pub clip: String,
    pub kind: Kind,
    pub filter: String,
    pub scores: Scores,
}

/// One table of restoration and flicker and one of the rest for every clip, and for their means if there are more.
pub fn tables(entries: &[Entry]) -> String {
    let clips = in_order(entries.iter().map(|entry| entry.clip.as_str()));
    let mut text: String = clips.iter().map(|clip| both(clip, entries, |entry| entry.clip == *clip)).collect();
    if clips.len() > 1 {
        text += &both(&format!("mean of {} clips", clips.len()), entries, |_| true);
    }
    text
}

fn both(title: &str, entries: &[Entry], chosen: impl Fn(&Entry) -> bool) -> String {
    let picture = |scores: &Scores| vec![Some(scores.restoration), Some(scores.flicker)];
    let harm = |scores: &Scores| vec![scores.banding, scores.noise_gain, Some(100.0 * scores.outside)];
    format!("## {title}\n\n")
        + &table("dB / flicker", entries, &chosen, &[1, 2], picture)
        + &table("banding / noise / outside", entries, &chosen, &[1, 1, 1], harm)
}

/// A row for every filter, a column for every kind; each cell holds the means of `figures` with `digits` decimals.
fn table(
    title: &str,
    entries: &[Entry],
    chosen: &impl Fn(&Entry) -> bool,
    digits: &[usize],
    figures: impl Fn(&Scores) -> Vec<Option<f64>>,
) -> String {
    let mut rows = vec![vec![title.to_owned()]];
    rows[0].extend(KINDS.map(|kind| kind.name().to_owned()));
    for filter in in_order(entries.iter().map(|entry| entry.filter.as_str())) {
        let mut row = vec![filter.to_owned()];
        for kind in KINDS {
            let here = entries.iter().filter(|entry| entry.filter == filter && entry.kind == kind && chosen(entry));
            let found: Vec<_> = here.map(|entry| figures(&entry.scores)).collect();
            let cell = digits.iter().enumerate().map(|(at, &digits)| {
                let mean = mean_of_some(found.iter().filter_map(|figures| figures[at]));
                mean.map_or("–".to_owned(), |mean| format!("{mean:.digits$}"))
            });
            row.push(cell.collect::<Vec<_>>().join(" / "));
        }
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate();
        text += &cells
            .map(
                |(at, (cell, &width))| {
                    if at == 0 { format!("| {cell:width$} |") } else { format!(" {cell:>width$} |") }
                },
            )
            .collect::<String>();
        text.push('\n');
        if number == 0 {
            let rule = |(at, width): (usize, &usize)| match at {
                0 => format!("|{}|", "-".repeat(width + 2)),
                _ => format!("{}:|", "-".repeat(width + 1)),
            };
            text += &widths.iter().enumerate().map(rule).collect::<String>();
            text.push('\n');
        }
    }
    text + "\n"
}

/// `{"versions": …, "missing": {filter: reason}, "clips": {clip: {kind: {filter: {score: figure}}}}}`
pub fn json(entries: &[Entry], versions: &str, missing: &[(String, String)]) -> Value {
    let mut clips = Map::new();
    for Entry { clip, kind, filter, scores } in entries {
        let round = |value: f64| (value * 1e4).round() / 1e4;
        clips.entry(clip).or_insert_with(|| json!({}))[kind.name()][filter.as_str()] = json!({
            "restoration": round(scores.restoration),
            "flicker": round(scores.flicker),
            "banding": scores.banding.map(round),
            "noise_gain": scores.noise_gain.map(round),
            "outside": round(scores.outside),
        });
    }
    let missing: Map<String, Value> = missing.iter().map(|(name, reason)| (name.clone(), json!(reason))).collect();
    json!({ "versions": versions, "missing": missing, "clips": clips })
}

/// Each name once, in the order in which they first come.
fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

//! Whom the program trusts: unsafe code is listed and explained, no other program is started, and dependencies have the
//! licences and sources that deny.toml allows.

use std::path::{Path, PathBuf};

/// The files of src/, with their text.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, files) } else { files.push(path) }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(&root.join("src"), &mut files);
    files.sort();
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// The lines of code, without comments, that have `word` in them.
fn lines_with<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    let words = move |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word);
    text.lines().enumerate().filter(move |(_, line)| is_code(line) && words(line)).map(|(number, _)| number)
}

#[test]
fn files_with_unsafe_code_are_those_that_the_architecture_lists() {
    let page = include_str!("../ARCHITECTURE.md");
    let section = page.split("## Unsafe code").nth(1).expect("the section").split("\n## ").next().unwrap();
    // The first column of the table, which may name several files.
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let mut listed: Vec<String> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    listed.sort();
    let unsafe_files: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| lines_with(text, "unsafe").next().is_some())
        .map(|(name, _)| name)
        .collect();
    assert_eq!(listed, unsafe_files);
}

#[test]
fn each_use_says_why_it_is_safe() {
    for (name, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for number in lines_with(&text, "unsafe") {
            let before = &lines[number.saturating_sub(4)..number];
            assert!(before.iter().any(|line| line.contains("// SAFETY:")), "{name}:{}", number + 1);
        }
    }
}

/// What people type can then not reach a shell.
#[test]
fn no_other_program_is_started() {
    for (name, text) in sources() {
        let found = text.lines().position(|line| line.contains("process::Command") || line.contains("Command::new("));
        assert_eq!(found, None, "{name}");
    }
}

#[test]
fn dependencies_have_licences_and_sources_that_are_allowed() {
    let allowed: Vec<&str> = include_str!("../deny.toml")
        .split("allow = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .map(|list| list.split('"').skip(1).step_by(2).collect())
        .expect("the list of licences");
    // What is not for this platform was perhaps never fetched.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", &platform])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default().replace('/', " OR ").replace(['(', ')'], "");
        let is_allowed = |choices: &str| choices.split(" OR ").any(|choice| allowed.contains(&choice.trim()));
        assert!(licence.split(" AND ").all(is_allowed), "{name}: {licence}");
        let source = package["source"].as_str();
        let from_registry = source == Some("registry+https://github.com/rust-lang/crates.io-index");
        assert!(from_registry || name == env!("CARGO_PKG_NAME"), "{name}: {source:?}");
    }
}

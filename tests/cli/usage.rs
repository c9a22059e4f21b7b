//! Help, wrong usage, and errors.

use crate::{fail, run};

#[test]
fn help_lists_every_setting_with_its_range_and_default() {
    let result = run(["file", "--help"]);
    assert_eq!(result.status.code(), Some(0));
    let text = String::from_utf8(result.stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for setting in autolevels::settings::SETTINGS {
        let offered = setting.offered != autolevels::settings::Offered::Element;
        assert_eq!(
            text.contains(&format!("--{} ", setting.name)) || text.contains(&format!("--{}[", setting.name)),
            offered,
            "{}",
            setting.name
        );
    }
    assert!(text.contains("0 to 25 %"), "{text}");
    assert!(text.contains("[default: 0.01]"), "{text}");
    assert!(text.contains("stretch") && text.contains("equalize"), "{text}");
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    for (arguments, wanted) in [
        (vec!["file", "a.mp4", "b.mp4", "--strength", "2"], "strength takes 0 to 1, not '2'"),
        (vec!["file", "a.mp4", "b.mp4", "--strenth", "1"], "--strength"),
        (vec!["file", "a.mp4", "b.mp4", "--mode", "loud"], "equalize"),
        (vec!["file", "a.mp4", "b.mp4", "--black", "0.6", "--white", "0.5"], "black (0.6) must lie below white (0.5)"),
        (vec!["file", "a.mp4", "b.mp4", "--quality", "11"], "1..=10"),
        (
            vec!["file", "a.mp4", "b.mp4", "--frames-in-flight", "-2"],
            "frames-in-flight takes a whole number from -1 to 16",
        ),
        (vec!["file"], "IN"),
        (vec!["file", "a.mp4"], "OUT"),
        (vec!["file", "a.mp4", "b.xyz"], "use .mp4, .m4v, .mov, .mkv or .webm"),
        (vec!["fyle", "a.mp4"], "unrecognized subcommand 'fyle'"),
    ] {
        let error = fail(&arguments, 2);
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
}

#[test]
fn adapters_are_listed_as_json() {
    let result = run(["adapters", "--json"]);
    assert_eq!(result.status.code(), Some(0), "{}", String::from_utf8_lossy(&result.stderr));
    for line in String::from_utf8(result.stdout).unwrap().lines() {
        let adapter: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(adapter["name"].is_string() && adapter["reason"].is_string(), "{line}");
        assert_eq!(
            adapter["auto"] == true,
            adapter["kind"] != "cpu" && adapter["auto"] == true,
            "software is not taken: {line}"
        );
    }
    assert_eq!(run(["adapters"]).status.code(), Some(0));
}

#[test]
fn the_debug_log_of_gstreamer_has_our_lines() {
    let folder = crate::folder();
    let input = crate::clips::usual(folder.path(), "a.mp4");
    let output = folder.path().join("b.mp4");
    let mut command = assert_cmd::Command::cargo_bin("autolevels").unwrap();
    command.args(["file", input.to_str().unwrap(), output.to_str().unwrap(), "--backend", "auto", "--quiet"]);
    let result = command.env("GST_DEBUG", "autolevels*:6").timeout(crate::LIMIT).output().unwrap();
    let text = String::from_utf8_lossy(&result.stderr);
    assert_eq!(result.status.code(), Some(0), "{text}");
    assert!(text.lines().any(|line| line.contains(" autolevels")), "{text}");
}

#[test]
fn the_version_names_what_a_report_needs() {
    let result = run(["--version"]);
    assert_eq!(result.status.code(), Some(0));
    let text = String::from_utf8(result.stdout).unwrap();
    assert!(text.starts_with(concat!("autolevels ", env!("CARGO_PKG_VERSION"))), "{text}");
    let gstreamer = gst::version_string().replace("GStreamer ", "");
    assert!(text.contains(&format!("\nGStreamer  {gstreamer}\n")), "{text}");
    assert!(text.contains("\nwgpu       30.") && text.contains("\nplugin     "), "{text}");
}

#[test]
fn man_pages_and_completions_know_every_command_and_setting() {
    let generate = |arguments: &[&str]| {
        let result = run(std::iter::once("generate").chain(arguments.iter().copied()));
        assert_eq!(result.status.code(), Some(0), "{arguments:?}");
        String::from_utf8(result.stdout).unwrap()
    };
    let page = generate(&["man"]);
    for job in ["file", "webcam", "launch", "analyze", "adapters", "bench", "generate"] {
        assert!(page.contains(&format!("autolevels\\-{job}(1)")), "{job}: {page}");
        assert!(generate(&["man", job]).contains(&format!(".TH autolevels-{job} 1")), "{job}");
    }
    let job = generate(&["man", "file"]).replace('\\', "");
    for text in [job, generate(&["bash"]), generate(&["zsh"]), generate(&["fish"])] {
        for name in ["overwrite", "max-gain", "frames-in-flight"] {
            assert!(text.contains(name), "{name}: {text}");
        }
    }
    assert!(fail(&["generate", "man", "nothing"], 2).contains("there are file, webcam"));
    assert!(fail(&["generate", "bash", "file"], 2).contains("leave COMMAND out"));
}

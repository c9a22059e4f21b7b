//! `autolevels launch`: mistakes are explained, keys work, recordings are ended properly, the terminal is restored.

mod support;

use std::process::{Command, Stdio};

use support::{OnTerminal, autolevels, frames, is_larger, run, signal, stderr, wait_until};

/// A recording that never ends by itself.
fn recording(file: &str) -> String {
    format!(
        "videotestsrc is-live=true ! video/x-raw,width=320,height=240 ! autolevels backend=cpu ! videoconvert \
         ! x264enc tune=zerolatency speed-preset=ultrafast ! h264parse ! mp4mux ! filesink location={file}"
    )
}

#[test]
fn mistakes_are_explained_in_one_line() {
    let cases = [
        (&["launch", "videotestsrc ! nothingsink"][..], 1, "no element nothingsink"),
        (&["launch", "videotestsrc foo=1 ! fakesink"], 1, "foo"),
        (&["launch", "videotestsrc", "!", "fakesink"], 2, "in quotes"),
        (&["launch", "nothing.launch"], 1, "cannot read nothing.launch"),
        (&["launch", "videotestsrc ! ${sink}"], 2, "sink=VALUE is missing"),
        (&["launch", "videotestsrc ! ${sink:-fakesink}", "sing=1"], 2, "no placeholder 'sing'; there are sink"),
        (&["launch", "filesrc location=/nothing ! fakesink"], 1, "filesrc0: Resource not found"),
    ];
    for (arguments, code, words) in cases {
        let output = run(arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.starts_with("error: ") && text.trim_end().lines().count() == 1, "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_line_plays_to_its_end_and_stdout_stays_clean() {
    let output = run(&["launch", "videotestsrc num-buffers=5 ! autolevels backend=${b:-gpu} ! fakesink", "b=cpu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn keys_and_status_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let line = "videotestsrc is-live=true ! video/x-raw,width=320,height=240 ! autolevels backend=cpu ! fakesink";
    let mut program = OnTerminal::start(folder.path(), &["launch", line]);
    program.wait_for(" fps");
    program.wait_for("gain ");
    for (key, told) in [
        ("m", "[mode equalize]"),
        ("b", "[before]"),
        ("b", "[after]"),
        ("\x1b[B", "[strength 0.9]"),
        ("+", "[strength 1]"),
        ("]", "[smoothing 1]"),
        ("f", "[freeze true]"),
        (" ", "[paused]"),
        (" ", "[playing]"),
        ("?", "freeze the levels"),
    ] {
        program.press(key);
        program.wait_for(told);
    }
    assert!(program.text().contains("cpu "), "the backend is told");
    program.press("q");
    assert_eq!(program.end(), 0);
}

#[test]
fn q_and_ctrl_c_end_a_recording_properly() {
    for (key, code) in [("q", 0), ("\x03", 130)] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.mp4");
        let mut program = OnTerminal::start(folder.path(), &["launch", &recording(file.to_str().unwrap())]);
        wait_until("the recording", || is_larger(&file, 10_000));
        program.press(key);
        assert_eq!(program.end(), code);
        assert!(frames(&file) > 5);
    }
}

#[test]
fn signals_end_a_recording_without_a_terminal() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.mp4");
        let mut command = Command::new(autolevels());
        command.args(["launch", &recording(file.to_str().unwrap())]).stdin(Stdio::null()).stderr(Stdio::null());
        let mut program = command.spawn().unwrap();
        wait_until("the recording", || is_larger(&file, 10_000));
        signal(&program, name);
        wait_until("the end", || program.try_wait().unwrap().is_some());
        assert_eq!(program.wait().unwrap().code(), Some(130));
        assert!(frames(&file) > 5);
    }
}

#[test]
fn the_terminal_is_restored_after_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let line = "videotestsrc is-live=true ! identity error-after=10 ! autolevels backend=cpu ! fakesink";
    let program = OnTerminal::start(folder.path(), &["launch", line]);
    program.wait_for("Failed after iterations");
    assert_eq!(program.end(), 1);
}

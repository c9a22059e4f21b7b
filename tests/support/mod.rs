//! What the tests of the command line share: clips, a terminal, and a look at what was written.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub fn autolevels() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_autolevels"))
}

/// Runs the program without a terminal.
pub fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.arg("60").arg(autolevels()).args(arguments).stdin(Stdio::null());
    command.output().unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Makes a file with ffmpeg.
pub fn ffmpeg(arguments: &[&str], file: &Path) {
    let status = Command::new("ffmpeg").args(["-v", "error", "-y"]).args(arguments).arg(file).status().unwrap();
    assert!(status.success(), "ffmpeg {arguments:?}");
}

/// Frames that a player finds in a file; panics if it is broken.
pub fn frames(file: &Path) -> usize {
    let show = ["-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames"];
    let output = Command::new("ffprobe").args(show).args(["-of", "csv=p=0"]).arg(file).output().unwrap();
    let errors = stderr(&output);
    assert!(errors.is_empty(), "{}: {errors}", file.display());
    let text = String::from_utf8_lossy(&output.stdout).trim().trim_end_matches(',').to_owned();
    text.parse().unwrap_or_else(|_| panic!("{}: '{text}'", file.display()))
}

/// Waits until something is so; panics if it takes too long.
pub fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < Duration::from_secs(40), "{what} took too long");
        sleep(Duration::from_millis(50));
    }
}

pub fn is_larger(file: &Path, bytes: u64) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.len() > bytes)
}

/// The program on a terminal of its own.
pub struct OnTerminal {
    child: Child,
    keys: ChildStdin,
    log: PathBuf,
}

impl OnTerminal {
    /// Starts it; all that appears on the terminal goes to a file in `folder`.
    pub fn start(folder: &Path, arguments: &[&str]) -> OnTerminal {
        let log = folder.join("terminal.log");
        let quoted = |word: &str| format!("'{word}'");
        let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        let program = quoted(autolevels().to_str().unwrap());
        // After the program the state of the terminal is shown.
        let line = format!("stty cols 150; {program} {}; echo code=$?; stty -a; sleep 0.2", words.join(" "));
        let mut command = Command::new("timeout");
        command.args(["60", "script", "-qfc", &line]).arg(&log);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let keys = child.stdin.take().unwrap();
        OnTerminal { child, keys, log }
    }

    pub fn press(&mut self, keys: &str) {
        use std::io::Write;
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// What has appeared so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    pub fn wait_for(&self, text: &str) {
        wait_until(text, || self.text().contains(text));
    }

    /// Waits for the end, checks that the terminal is as it was, and returns the exit code.
    pub fn end(mut self) -> i32 {
        wait_until("the end", || self.child.try_wait().unwrap().is_some());
        let text = self.text();
        let (_, after) = text.rsplit_once("code=").unwrap_or_else(|| panic!("no exit code in {text}"));
        let modes: Vec<&str> = after.split_whitespace().collect();
        for mode in ["icanon", "echo", "isig", "opost", "icrnl"] {
            assert!(modes.contains(&mode), "{mode} in {after}");
        }
        after.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process.
pub fn signal(process: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap().success());
}

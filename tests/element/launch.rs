//! The plugin as users meet it: loaded from a file by gst-launch-1.0, gst-inspect-1.0 and Python.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::common::*;

/// A folder with the plugin that was built along with these tests, and nothing else.
static PLUGINS: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = std::env::current_exe().unwrap().with_file_name("libautolevels.so");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    std::fs::create_dir_all(&folder).unwrap();
    let plugin = folder.join("libautolevels.so");
    let _ = std::fs::remove_file(&plugin);
    std::os::unix::fs::symlink(built, plugin).unwrap();
    folder
});

/// Runs a program with the plugin in its path and gives what it said.
///
/// # Panics
/// If it fails, or GLib or GStreamer complain.
fn run(command: &mut Command) -> String {
    // The registry of the user is left alone.
    let registry = Path::new(env!("CARGO_TARGET_TMPDIR")).join("registry.bin");
    let output = command
        .env("GST_PLUGIN_PATH", &*PLUGINS)
        .env("GST_REGISTRY", registry)
        .env("G_DEBUG", "fatal-criticals")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    assert!(!text.contains("CRITICAL"), "{text}");
    text
}

/// Runs a launch line as a user types it.
fn gst_launch(line: &str) -> String {
    run(Command::new("sh").args(["-c", &format!("timeout 60 gst-launch-1.0 {line}")]))
}

#[test]
fn gst_inspect_describes_the_element_and_the_plugin() {
    let text = run(Command::new("gst-inspect-1.0").arg("autolevels"));
    for part in ["Filter/Effect/Video", "GstAutoLevels", "MIT/X11", "clip-low", "Share of the pixels", "controllable"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(!text.contains("frames-in-flight"), "{text}");
}

#[test]
fn raw_video() {
    for backend in backends() {
        let backend = backend.name();
        gst_launch(&format!("videotestsrc num-buffers=30 ! autolevels backend={backend} ! fakesink"));
        gst_launch(&format!(
            "videotestsrc num-buffers=10 ! video/x-raw,format=RGB,width=321,height=241 ! videoconvert \
             ! autolevels backend={backend} mode=equalize ! videoconvert ! video/x-raw,format=BGRA ! fakesink"
        ));
    }
    gst_launch("videotestsrc num-buffers=10 ! videoconvert ! autolevels ! videoconvert ! fakesink");
}

#[test]
fn live_video() {
    for backend in backends() {
        gst_launch(&format!(
            "videotestsrc is-live=true num-buffers=20 ! autolevels backend={} ! queue ! fakesink sync=true",
            backend.name()
        ));
    }
}

#[test]
fn messages_are_shown_by_gst_launch() {
    let text = gst_launch("-m videotestsrc num-buffers=2 ! autolevels backend=cpu post-messages=levels ! fakesink");
    assert_eq!(text.matches("autolevels, running-time=(guint64)").count(), 2, "{text}");
}

#[test]
fn into_an_encoder_and_from_a_decoded_file() {
    for backend in backends() {
        let (backend, folder) = (backend.name(), tempfile::tempdir().unwrap());
        let (raw, levelled) = (folder.path().join("raw.mp4"), folder.path().join("levelled.mp4"));
        gst_launch(&format!(
            "-e videotestsrc num-buffers=30 pattern=ball ! video/x-raw,width=320,height=240 \
             ! autolevels backend={backend} ! x264enc speed-preset=ultrafast ! mp4mux ! filesink location={}",
            raw.display()
        ));
        gst_launch(&format!(
            "filesrc location={} ! decodebin ! autolevels backend={backend} ! x264enc speed-preset=ultrafast \
             ! mp4mux ! filesink location={}",
            raw.display(),
            levelled.display()
        ));
        // What was written plays, and has as many frames.
        let text = gst_launch(&format!(
            "-v filesrc location={} ! decodebin ! identity silent=false ! fakesink",
            levelled.display()
        ));
        let frames = text.matches("last-message = chain").count();
        assert_eq!(frames, 30, "{text}");
    }
}

#[test]
fn what_the_log_crate_gets_is_in_the_debug_log() {
    // Without a driver, `auto` says through the log crate that it takes the CPU.
    let text = run(Command::new("gst-launch-1.0")
        .args(["videotestsrc", "num-buffers=2", "!", "autolevels", "!", "fakesink"])
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .env("GST_DEBUG_NO_COLOR", "1")
        .env("GST_DEBUG", "autolevels:4"));
    assert!(text.contains("autolevels::leveler: levels on the CPU"), "{text}");
    for backend in backends().into_iter().filter(|backend| backend.name() == "gpu") {
        let line = format!("autolevels backend={}", backend.name());
        let text = run(Command::new("sh")
            .args(["-c", &format!("gst-launch-1.0 videotestsrc num-buffers=2 ! {line} ! fakesink")])
            .env("GST_DEBUG_NO_COLOR", "1")
            .env("GST_DEBUG", "autolevels-wgpu:7"));
        assert!(text.contains(" autolevels-wgpu ") && text.contains("wgpu_core"), "{text}");
    }
}

/// A Python that has the bindings: the one in front in the path may not be the system's.
fn python() -> String {
    let named = std::env::var("PYTHON").ok();
    let mut candidates = named.into_iter().chain(["python3".into(), "/usr/bin/python3".into()]);
    let has_gi = |python: &String| {
        Command::new(python).args(["-c", "import gi"]).output().is_ok_and(|output| output.status.success())
    };
    candidates.find(has_gi).expect("no Python with gi (python3-gi); PYTHON names one")
}

#[test]
fn python_sets_properties_and_reads_statistics_and_messages() {
    let python = python();
    for backend in backends() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/levels.py");
        let text = run(Command::new("timeout").args(["60", &python]).arg(script).arg(backend.name()));
        assert!(text.contains("ok"), "{text}");
    }
}

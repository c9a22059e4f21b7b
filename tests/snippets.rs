//! The blocks of code in docs/other-programs.md run as they stand there, and the farm's scripts as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder that holds a short clip with sound.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    clip(folder.path(), "in.mp4");
    folder
}

fn clip(folder: &Path, name: &str) {
    let picture = "testsrc=size=96x64:rate=25:duration=0.6,eq=contrast=0.4";
    let sound = "sine=duration=0.6";
    let made = Command::new("ffmpeg")
        .args(["-v", "error", "-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound, "-pix_fmt", "yuv420p", name])
        .current_dir(folder)
        .status();
    assert!(made.unwrap().success());
}

/// A command in the folder that finds the program and the plugin that were built, and ends in any case.
fn command(folder: &Path, program: &str) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_autolevels")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(built.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = Command::new("timeout");
    command.arg("60").arg(program).current_dir(folder).env("PATH", path.unwrap()).env("GST_PLUGIN_PATH", built);
    command
}

/// Runs it and gives what it said on stdout.
fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The blocks of a language, in order.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/other-programs.md")).unwrap();
    let blocks = page.split("\n```").skip(1).step_by(2);
    let found: Vec<_> =
        blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).map(str::to_owned).collect();
    assert!(!found.is_empty(), "no blocks of {language}");
    found
}

/// Runs a block with its interpreter.
fn interpret(folder: &Path, interpreter: &str, block: &str) -> String {
    fs::write(folder.join("block"), block).unwrap();
    let mut command = command(folder, interpreter);
    command.arg("block");
    output(command)
}

fn video_frames(file: &Path) -> String {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-count_frames", "-select_streams", "v"]);
    command.args(["-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"]).arg(file);
    output(command).trim().trim_end_matches(',').to_owned()
}

#[test]
fn shell_blocks_make_a_whole_file() {
    for block in blocks("sh") {
        let folder = folder();
        interpret(folder.path(), "sh", &block);
        assert_eq!(video_frames(&folder.path().join("out.mp4")), "15", "{block}");
    }
}

#[test]
fn python_blocks_level_and_tell() {
    let folder = folder();
    let said: Vec<String> =
        blocks("python").iter().map(|block| interpret(folder.path(), "/usr/bin/python3", block)).collect();
    assert!(said[0].contains("15 frames on the"), "{said:?}");
    assert!(said[1].contains("100 163 became"), "{said:?}");
}

#[test]
fn the_c_block_compiles_without_warnings_and_levels() {
    let folder = folder();
    for block in blocks("c") {
        fs::write(folder.path().join("level.c"), block).unwrap();
        let mut build = command(folder.path(), "sh");
        build.args(["-c", "cc -Wall -Wextra -Werror level.c -o level $(pkg-config --cflags --libs gstreamer-1.0)"]);
        output(build);
        assert!(output(command(folder.path(), "./level")).contains("15 frames on the"));
    }
}

fn farm(name: &str) -> PathBuf {
    root().join("examples/farm").join(name)
}

/// A folder of four clips and a list of them.
fn footage() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a.mp4", "b b.mp4", "c.mp4", "d.mp4"];
    names.iter().for_each(|name| clip(folder.path(), name));
    fs::write(folder.path().join("list.txt"), names.join("\n") + "\n").unwrap();
    folder
}

fn levelled(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".mp4"))
        .collect();
    names.sort();
    names
}

#[test]
fn tasks_of_an_array_share_the_list_and_skip_what_is_done() {
    let folder = footage();
    let task = |number: &str| {
        let mut command = command(folder.path(), "bash");
        command.arg(farm("slurm.sh")).args(["list.txt", "out"]);
        command.env("SLURM_ARRAY_TASK_COUNT", "2").env("SLURM_ARRAY_TASK_ID", number);
        output(command)
    };
    assert!(task("0").contains("\"done\":2"));
    assert_eq!(levelled(&folder), ["b b.mp4", "d.mp4"]);
    task("1");
    assert_eq!(levelled(&folder), ["a.mp4", "b b.mp4", "c.mp4", "d.mp4"]);
    assert!(task("0").contains("\"skipped\":2"), "nothing is done twice");
}

#[test]
fn parallel_levels_what_it_is_told() {
    let folder = footage();
    let script = farm("parallel.sh");
    let mut shell = command(folder.path(), "sh");
    shell.args(["-c", "exec bash \"$0\" out < list.txt"]).arg(&script).env("JOBS", "2").env("HOME", folder.path());
    output(shell);
    assert_eq!(levelled(&folder).len(), 4);
}

#[test]
fn the_job_for_kubernetes_is_one_document_that_shards_as_the_array_does() {
    let read = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", read]).arg(farm("kubernetes.yaml"));
    let job: serde_json::Value = serde_json::from_str(&output(python)).unwrap();
    assert_eq!((&job["kind"], &job["spec"]["completionMode"]), (&"Job".into(), &"Indexed".into()));
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["value"], job["spec"]["completions"].to_string());
    let folder = footage();
    let line = container["command"][2].as_str().unwrap().replace("--into levelled", "--into out");
    let mut shell = command(folder.path(), "sh");
    shell.args(["-c", &line]).env("TASKS", "4").env("JOB_COMPLETION_INDEX", "2");
    output(shell);
    assert_eq!(levelled(&folder), ["b b.mp4"]);
}

//! Several files.

use std::fs;

use crate::clips::usual;
use crate::decode::decode;
use crate::{fail, folder, names, run};

#[test]
fn several_files_go_into_a_folder() {
    let folder = folder();
    let inputs = ["a.mp4", "b.mkv"].map(|name| usual(folder.path(), name));
    let other = usual(folder.path(), "c.mov");
    let avi = folder.path().join("c.avi");
    fs::rename(other, &avi).unwrap();
    let broken = folder.path().join("broken.mp4");
    fs::write(&broken, "no video").unwrap();
    let into = folder.path().join("into");
    let (into_text, texts) = (into.to_str().unwrap(), inputs.each_ref().map(|path| path.to_str().unwrap()));
    let all = [
        "file",
        texts[0],
        broken.to_str().unwrap(),
        texts[1],
        avi.to_str().unwrap(),
        "--into",
        into_text,
        "--backend",
        "cpu",
    ];
    let result = run(all);
    let text = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{text}");
    assert!(
        text.contains("4 files: 3 done, 0 skipped, 1 failed") && text.contains("broken.mp4 is not a video"),
        "{text}"
    );
    for name in ["a.mp4", "b.mkv", "c.mkv"] {
        assert_eq!(decode(&into.join(name)).frames.len(), 50, "{name}");
    }
    // Again: what is there is skipped, and what is missing is made.
    fs::remove_file(into.join("b.mkv")).unwrap();
    let before = fs::metadata(into.join("a.mp4")).unwrap().modified().unwrap();
    let result =
        run(["file", texts[0], texts[1], "--into", into_text, "--skip-existing", "--json", "--backend", "cpu"]);
    assert_eq!(result.status.code(), Some(0), "{}", String::from_utf8_lossy(&result.stderr));
    let text = String::from_utf8(result.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["done"], &last["skipped"]), (&"summary".into(), &1.into(), &1.into()));
    assert_eq!(fs::metadata(into.join("a.mp4")).unwrap().modified().unwrap(), before);
    assert_eq!(names(&folder), ["a.mp4", "b.mkv", "broken.mp4", "c.avi", "into"]);
    assert_eq!(fs::read_dir(&into).unwrap().count(), 3);
}

#[test]
fn wrong_lists_of_files_are_refused() {
    let folder = folder();
    let into = folder.path().join("into");
    let into = into.to_str().unwrap();
    assert!(fail(&["file", "a.mp4", "b.mp4", "c.mp4"], 2).contains("--into"));
    assert!(fail(&["file", "x/a.avi", "y/a.flv", "--into", into], 2).contains("two inputs"));
    assert!(fail(&["file", "-", "--into", into], 2).contains("name IN and OUT"));
    assert!(fail(&["file", "a.mp4", "-", "--json"], 2).contains("--json"));
}

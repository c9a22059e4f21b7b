//! Files that are cut off, have bytes flipped or say absurd things: each is levelled as far as it goes or refused in
//! one line, in time, and nothing broken is left under OUT's name.
//!
//! `AUTOLEVELS_DAMAGED_FILES` says how many are tried (40), `AUTOLEVELS_DAMAGE_SEED` with which random numbers (1).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::clips::{H264, TONE, clip};
use crate::folder;

/// Longest time that one file may take.
const EACH: Duration = Duration::from_secs(40);

/// Where a size, rate or length is written: a mark, and the distance of the field from it.
type Field = (&'static [u8], usize);

/// What the clips are, how their sound is kept, and which fields get hostile values.
const KINDS: [(&str, &str, &[Field]); 6] = [
    (
        "mp4",
        "-c:a aac",
        &[
            (b"tkhd", 80),
            (b"tkhd", 84),
            (b"mdhd", 16),
            (b"mvhd", 16),
            (b"avc1", 28),
            (b"stts", 12),
            (b"stsz", 8),
            (b"stco", 8),
        ],
    ),
    (
        "mkv",
        "-c:a aac",
        &[(b"\xb0", 1), (b"\xba", 1), (b"\x23\xe3\x83", 3), (b"\x2a\xd7\xb1", 3), (b"\x44\x89", 2), (b"\xb5", 1)],
    ),
    (
        "webm",
        "-c:a libopus",
        &[(b"\xb0", 1), (b"\xba", 1), (b"\x23\xe3\x83", 3), (b"\x2a\xd7\xb1", 3), (b"\x44\x89", 2)],
    ),
    (
        "avi",
        "-c:a libmp3lame",
        &[(b"avih", 8), (b"avih", 40), (b"strh", 28), (b"strh", 32), (b"strf", 12), (b"strf", 16), (b"idx1", 4)],
    ),
    ("ts", "-c:a mp2", &[(b"\x47\x40\x00", 4), (b"\x47\x50\x00", 8)]),
    ("mov", "-c:a pcm_s16le", &[(b"tkhd", 80), (b"mdhd", 16), (b"stsz", 8), (b"ctts", 12)]),
];

/// Hostile values of a field.
const HOSTILE: [[u8; 4]; 6] =
    [[0; 4], [0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0], [0, 0, 0, 1], [0xff, 0xff, 0, 0]];

/// A small generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Damages the bytes in one of four ways, which it tells.
fn damage(bytes: &mut Vec<u8>, marks: &[Field], random: &mut Random) -> String {
    match random.below(4) {
        0 => {
            let length = 1 + random.below(bytes.len() - 1);
            bytes.truncate(length);
            format!("cut off after {length} bytes")
        }
        1 => {
            // Anywhere.
            let count = 1 + random.below(30);
            for _ in 0..count {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            format!("{count} bits flipped")
        }
        2 => {
            // Where the headers are: at the start, or at the end.
            let reach = bytes.len().min(1500);
            let start = if random.below(2) == 0 { 0 } else { bytes.len() - reach };
            let count = 1 + random.below(6);
            for _ in 0..count {
                bytes[start + random.below(reach)] = random.below(256) as u8;
            }
            format!("{count} bytes of the header replaced")
        }
        _ => {
            let (mark, distance) = marks[random.below(marks.len())];
            let value = HOSTILE[random.below(HOSTILE.len())];
            let places: Vec<usize> = bytes
                .windows(mark.len())
                .enumerate()
                .filter(|(_, window)| *window == mark)
                .map(|(at, _)| at)
                .take(4)
                .collect();
            if let Some(&place) = (!places.is_empty()).then(|| &places[random.below(places.len())]) {
                let width = 1 + random.below(4);
                for (byte, hostile) in bytes.iter_mut().skip(place + distance).zip(value).take(width) {
                    *byte = hostile;
                }
            }
            format!("{mark:x?} + {distance} says {value:x?}")
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Levels the file and checks what comes of it; gives whether there is an OUT.
fn try_file(input: &Path, output: &Path, what: &str) -> bool {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("autolevels"));
    command.arg("file").args([input, output]).args(["--backend", "cpu"]).env("AUTOLEVELS_PATIENCE", "10");
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > EACH {
            child.kill().unwrap();
            panic!("{what}: it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let result = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&result.stderr);
    assert!(!said.contains("panicked"), "{what}: {said}");
    match result.status.code() {
        Some(0) => {
            let show =
                ["-v", "error", "-count_frames", "-select_streams", "v:0", "-show_entries", "stream=nb_read_frames"];
            let probe = Command::new("ffprobe").args(show).args(["-of", "csv=p=0"]).arg(output).output().unwrap();
            let frames = String::from_utf8_lossy(&probe.stdout).trim().trim_end_matches(',').parse::<u64>();
            assert!(
                frames.is_ok_and(|frames| frames > 0),
                "{what}: OUT is broken: {}",
                String::from_utf8_lossy(&probe.stderr)
            );
            std::fs::remove_file(output).unwrap();
            true
        }
        Some(1) => {
            let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
            let others =
                said.lines().filter(|line| !line.starts_with("error: ") && !line.starts_with("note: ")).count();
            assert_eq!((errors, others), (1, 0), "{what}: {said}");
            assert!(!output.exists(), "{what}: OUT is there");
            false
        }
        code => panic!("{what}: exit code {code:?}: {said}"),
    }
}

#[test]
fn damaged_files_are_levelled_or_refused_and_never_worse() {
    let folder = folder();
    let seed = setting("AUTOLEVELS_DAMAGE_SEED", 1);
    let count = setting("AUTOLEVELS_DAMAGED_FILES", 40);
    let whole: Vec<(PathBuf, Vec<u8>)> = KINDS
        .iter()
        .map(|(extension, sound, _)| {
            let pictures = if *extension == "webm" { "-c:v libvpx -deadline realtime -cpu-used 8" } else { H264 };
            let source = "-f lavfi -i testsrc2=size=48x32:rate=25";
            let line = format!("{source} {TONE} -t 0.8 {pictures} -g 5 {sound}");
            let path = clip(folder.path(), &format!("whole.{extension}"), &line);
            let bytes = std::fs::read(&path).unwrap();
            (path, bytes)
        })
        .collect();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let (mut kept, mut refused) = (0, 0);
    for number in 0..count {
        // Each has a start of its own, so that it can be done again by itself.
        let mut random = Random((seed << 32 | (number + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.below(2);
        let kind = number as usize % KINDS.len();
        let mut bytes = whole[kind].1.clone();
        let (extension, _, marks) = KINDS[kind];
        let how = damage(&mut bytes, marks, &mut random);
        let what = format!("seed {seed}, number {number}: {extension}, {how}");
        let input = folder.path().join(format!("damaged.{extension}"));
        std::fs::write(&input, &bytes).unwrap();
        let output = out.join(["o.mkv", "o.mp4"][random.below(2)]);
        if try_file(&input, &output, &what) {
            kept += 1
        } else {
            refused += 1
        }
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "{what}: something is left behind");
    }
    eprintln!("{count} files: {kept} levelled, {refused} refused");
    assert!(kept > 0 && refused > 0, "the damage is neither harmless nor total: {kept}, {refused}");
}

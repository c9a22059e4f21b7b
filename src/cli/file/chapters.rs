//! Chapters of mp4 and mov files, which GStreamer's demuxer passes over without a word.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Most bytes of an index that are looked through.
const MOST: u64 = 64 << 20;

/// Whether the file is one of these and has chapters: a list of them (`chpl`), or a track that others refer to as theirs
/// (`tref`, `chap`). False if it cannot be read; whoever plays it will tell.
pub fn are_in(path: &Path) -> bool {
    index(path).is_some_and(|index| {
        let has = |wanted: &[u8]| index.windows(wanted.len()).any(|bytes| bytes == wanted);
        has(b"chpl") || index.windows(12).any(|bytes| bytes.starts_with(b"tref") && bytes.ends_with(b"chap"))
    })
}

/// The box `moov`, which is one of the outermost: each begins with its length, 4 bytes, and its name.
fn index(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut head = [0; 8];
    file.read_exact(&mut head).ok()?;
    if &head[4..] != b"ftyp" {
        return None;
    }
    // Ordinary files have a handful of boxes before it.
    for _ in 0..1000 {
        let [a, b, c, d, name @ ..] = head;
        let mut room = u64::from(u32::from_be_bytes([a, b, c, d]));
        let mut header = 8;
        if room == 1 {
            let mut long = [0; 8];
            file.read_exact(&mut long).ok()?;
            room = u64::from_be_bytes(long);
            header = 16;
        }
        let rest = room.checked_sub(header)?;
        if &name == b"moov" {
            let mut index = Vec::new();
            file.take(rest.min(MOST)).read_to_end(&mut index).ok()?;
            return Some(index);
        }
        file.seek(SeekFrom::Current(i64::try_from(rest).ok()?)).ok()?;
        file.read_exact(&mut head).ok()?;
    }
    None
}

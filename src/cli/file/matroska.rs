//! Damaged Matroska and WebM files: what cannot be an element is hidden from the demuxer up to the next cluster.
//!
//! In such a file each element says how long it is. GStreamer's demuxer believes it, so that a few bytes too many or too few
//! may take it past the end of the file. Here the chain of elements is followed just ahead of the demuxer; where it
//! breaks, the demuxer reads a `Void` element, which it passes over, in place of what is there. (RFC 8794 describes the
//! elements, RFC 9559 which there are.)

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrayvec::ArrayVec;
use gst::prelude::*;

const EBML: u64 = 0x1a45_dfa3;
const SEGMENT: u64 = 0x1853_8067;
const CLUSTER: u64 = 0x1f43_b675;
const VOID: u64 = 0xec;
/// The other elements of a segment: seek heads, info, tracks, cues, attachments, chapters, tags, checksums.
const OF_SEGMENT: [u64; 8] =
    [0x114d_9b74, 0x1549_a966, 0x1654_ae6b, 0x1c53_bb6b, 0x1941_a469, 0x1043_a770, 0x1254_c367, 0xbf];
/// The elements of a cluster: its time, silent tracks, positions, blocks.
const OF_CLUSTER: [u64; 7] = [0xe7, 0x5854, 0xa7, 0xab, 0xa3, 0xa0, 0xaf];
/// How far from what was followed a read may begin that is mended. The demuxer looks at the end of a file first.
const NEAR: u64 = 1 << 24;

/// What of a file is hidden from its demuxer.
#[derive(Clone)]
pub struct Mended(Arc<Mutex<Chain<File>>>);

impl Mended {
    /// Mends what is read through the source pad of a `filesrc`. None if the file is of another kind.
    pub fn watch(path: &Path, source: &gst::Pad) -> Option<Mended> {
        // Whether the file can be read is for the source to say.
        let mut file = File::open(path).ok()?;
        let mut magic = [0; 4];
        file.read_exact(&mut magic).ok()?;
        if u64::from(u32::from_be_bytes(magic)) != EBML {
            return None;
        }
        let length = file.seek(SeekFrom::End(0)).ok()?;
        let mended = Mended(Arc::new(Mutex::new(Chain::new(file, length).ok()?)));
        let chain = mended.clone();
        source.add_probe(gst::PadProbeType::PULL | gst::PadProbeType::BUFFER, move |_, info| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                chain.mend(buffer, info.offset);
            }
            gst::PadProbeReturn::Ok
        });
        Some(mended)
    }

    /// Bytes that were hidden, if there are any, and their share of the file.
    pub fn lost(&self) -> Option<(u64, f64)> {
        let chain = self.lock();
        let lost: u64 = chain.gaps.iter().map(|gap| gap.end - gap.start).sum();
        (lost > 0).then(|| (lost, lost as f64 / chain.length as f64))
    }

    fn mend(&self, buffer: &mut gst::Buffer, offset: u64) {
        let end = offset + buffer.size() as u64;
        let mut chain = self.lock();
        if offset < chain.position + NEAR {
            chain.follow(end);
        }
        let first = chain.gaps.partition_point(|gap| gap.end <= offset);
        for gap in chain.gaps[first..].iter().take_while(|gap| gap.start < end) {
            let Ok(mut map) = buffer.make_mut().map_writable() else { return };
            for (at, byte) in (gap.start..).zip(gap.void()) {
                if let Some(there) = at.checked_sub(offset).and_then(|index| map.get_mut(index as usize)) {
                    *there = byte;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Chain<File>> {
        // Each step leaves the chain whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a file that is no chain of elements. It is at least two bytes long.
struct Gap {
    start: u64,
    end: u64,
}

impl Gap {
    /// The head of a `Void` element of its length.
    fn void(&self) -> ArrayVec<u8, 9> {
        let mut head = ArrayVec::from_iter([VOID as u8]);
        match self.end - self.start {
            length @ 0..10 => head.push(0x80 | length.saturating_sub(2) as u8),
            length => head.extend(((1 << 56) | (length - 9)).to_be_bytes()),
        }
        head
    }
}

/// The head of an element.
struct Head {
    id: u64,
    /// Bytes of the head.
    bytes: u64,
    /// Bytes of what follows; None if it lasts to the next of its kind.
    length: Option<u64>,
}

impl Head {
    /// Whether an element of its kind can be so long.
    fn is_plausible(&self) -> bool {
        match (self.id, self.length) {
            // Numbers: a cluster's time and positions.
            (0xe7 | 0xa7 | 0xab, length) => length.is_some_and(|length| length <= 8),
            // A checksum.
            (0xbf, length) => length == Some(4),
            // A block: its track, time and flags at least.
            (0xa3 | 0xa0 | 0xaf, length) => length.is_some_and(|length| length >= 4),
            _ => true,
        }
    }
}

/// The chain of elements of a file, as far as it was followed.
struct Chain<R> {
    file: BufReader<R>,
    /// Where in it the next byte is read.
    at: u64,
    /// Bytes of the file.
    length: u64,
    /// Where the next element begins, and where the one before it did.
    position: u64,
    last: u64,
    /// Where the present cluster ends, or the file.
    limit: u64,
    /// In their order, none over another.
    gaps: Vec<Gap>,
}

impl<R: Read + Seek> Chain<R> {
    fn new(mut file: R, length: u64) -> io::Result<Chain<R>> {
        file.rewind()?;
        let file = BufReader::new(file);
        Ok(Chain { file, at: 0, length, position: 0, last: 0, limit: length, gaps: Vec::new() })
    }

    /// Follows the chain past all elements that begin before `end`: what comes behind an element tells whether to believe
    /// how long it says it is.
    fn follow(&mut self, end: u64) {
        while self.last < end && self.position < self.length {
            match self.next() {
                Ok(true) => {}
                Ok(false) => match self.next_cluster() {
                    Ok(Some(cluster)) => {
                        let start = if cluster < self.position + 2 { self.last } else { self.position };
                        self.gaps.push(Gap { start, end: cluster });
                        (self.position, self.last, self.limit) = (cluster, cluster, self.length);
                    }
                    // The file ends within an element: that the demuxer understands.
                    Ok(None) | Err(_) => self.position = self.length,
                },
                // What cannot be read is for the source to say.
                Err(_) => self.position = self.length,
            }
        }
    }

    /// Goes to the next element. False if there is none.
    fn next(&mut self) -> io::Result<bool> {
        if self.position >= self.limit {
            self.limit = self.length;
        }
        let Some(head) = self.head(self.position)? else { return Ok(false) };
        let content = self.position + head.bytes;
        let end = head.length.map(|length| content.saturating_add(length));
        if !head.is_plausible() {
            return Ok(false);
        }
        let next = match (head.id, end) {
            (CLUSTER | SEGMENT, end) => {
                self.limit = end.map_or(self.length, |end| end.min(self.length));
                content
            }
            (id, Some(end)) if OF_CLUSTER.contains(&id) && end <= self.limit => end,
            (id, Some(end)) if (id == EBML || id == VOID || OF_SEGMENT.contains(&id)) && end <= self.length => end,
            // An element that is not known, but has one behind it.
            (_, Some(end)) if end <= self.limit && self.is_known(end)? => end,
            _ => return Ok(false),
        };
        (self.last, self.position) = (self.position, next);
        Ok(true)
    }

    /// Where the next cluster begins after the last element did.
    fn next_cluster(&mut self) -> io::Result<Option<u64>> {
        let mark = (CLUSTER as u32).to_be_bytes();
        let mut window = vec![0; 1 << 16];
        let mut start = self.last + 2;
        loop {
            let count = self.read(start, &mut window)?;
            let marks = window[..count].windows(4).enumerate().filter(|(_, bytes)| *bytes == mark);
            for (index, _) in marks {
                let found = start + index as u64;
                if self.is_cluster(found)? {
                    return Ok(Some(found));
                }
            }
            if count < window.len() {
                return Ok(None);
            }
            // A mark may lie across the edge of the window.
            start += count as u64 - 3;
        }
    }

    /// Whether a cluster begins there, and not only four bytes that look like one.
    fn is_cluster(&mut self, position: u64) -> io::Result<bool> {
        let Some(cluster) = self.head(position)? else { return Ok(false) };
        Ok(cluster.id == CLUSTER && self.is_known(position + cluster.bytes)?)
    }

    /// Whether an element begins there that is known, or the file ends.
    fn is_known(&mut self, position: u64) -> io::Result<bool> {
        let known =
            |id| [SEGMENT, CLUSTER, EBML, VOID].contains(&id) || OF_SEGMENT.contains(&id) || OF_CLUSTER.contains(&id);
        Ok(position == self.length || self.head(position)?.is_some_and(|head| known(head.id) && head.is_plausible()))
    }

    /// The head of an element. None if there is none.
    fn head(&mut self, position: u64) -> io::Result<Option<Head>> {
        let mut bytes = [0; 12];
        let count = self.read(position, &mut bytes)?;
        let bytes = &bytes[..count];
        let Some((id, first)) = number(bytes).filter(|(_, count)| *count <= 4) else { return Ok(None) };
        let Some((length, second)) = number(&bytes[first..]) else { return Ok(None) };
        let unknown = (1 << (7 * second)) - 1;
        let length = length & unknown;
        Ok(Some(Head { id, bytes: (first + second) as u64, length: (length != unknown).then_some(length) }))
    }

    /// Reads as many bytes as there are. What is near was read already.
    fn read(&mut self, position: u64, bytes: &mut [u8]) -> io::Result<usize> {
        // Files are shorter than 2^63 bytes.
        self.file.seek_relative(position as i64 - self.at as i64)?;
        self.at = position;
        let mut count = 0;
        while count < bytes.len() {
            match self.file.read(&mut bytes[count..])? {
                0 => break,
                read => count += read,
            }
            self.at = position + count as u64;
        }
        Ok(count)
    }
}

/// A number of variable length, with the bit that tells it, and its bytes.
fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let count = bytes.first()?.leading_zeros() as usize + 1;
    let bytes = bytes.get(..count).filter(|_| count <= 8)?;
    Some((bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)), count))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn element(id: u32, content: &[u8]) -> Vec<u8> {
        let id: Vec<u8> = id.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
        let length = (0x4000 | content.len() as u16).to_be_bytes();
        [&id[..], &length, content].concat()
    }

    fn cluster(time: u8) -> Vec<u8> {
        let mut content = element(0xe7, &[time]);
        for block in 0..10 {
            content.extend(element(0xa3, &[block; 100]));
        }
        element(CLUSTER as u32, &content)
    }

    /// Three clusters, and where they begin.
    fn file() -> (Vec<u8>, [usize; 3]) {
        let mut bytes = element(EBML as u32, b"head");
        bytes.extend(0x1853_8067_u32.to_be_bytes());
        bytes.extend([1, 255, 255, 255, 255, 255, 255, 255]);
        bytes.extend(element(0x1654_ae6b, b"tracks"));
        bytes.extend(element(0x1b53_8667, b"unknown, and yet an element"));
        let starts = [0, 1, 2].map(|time| {
            let start = bytes.len();
            bytes.extend(cluster(time));
            start
        });
        bytes.extend(element(0x1c53_bb6b, b"cues"));
        (bytes, starts)
    }

    /// What is hidden.
    fn gaps(bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut chain = Chain::new(Cursor::new(bytes), bytes.len() as u64).unwrap();
        // What is hidden of the bytes that are read is known when they are.
        let mut known = Vec::new();
        for end in 0..=bytes.len() as u64 {
            chain.follow(end);
            known.push(chain.gaps.iter().filter(|gap| gap.start < end).count());
        }
        let hidden = |end: u64| chain.gaps.iter().filter(|gap| gap.start < end).count();
        assert!(known.iter().zip(0..).all(|(known, end)| *known == hidden(end)));
        // What is hidden is an element of that length.
        for gap in &chain.gaps {
            let void = gap.void();
            let (id, first) = number(&void).unwrap();
            let (length, second) = number(&void[first..]).unwrap();
            let length = length & ((1 << (7 * second)) - 1);
            assert_eq!((id, length + (first + second) as u64), (VOID, gap.end - gap.start));
        }
        chain.gaps.iter().map(|gap| (gap.start as usize, gap.end as usize)).collect()
    }

    #[test]
    fn nothing_of_a_sound_file_is_hidden_and_nothing_of_one_that_ends_early() {
        let (bytes, _) = file();
        for length in 0..=bytes.len() {
            assert_eq!(gaps(&bytes[..length]), []);
        }
    }

    #[test]
    fn from_damage_to_the_next_cluster_all_is_hidden() {
        let (bytes, [_, second, third]) = file();
        // The fifth block of the second cluster.
        let block = second + 6 + 4 + 4 * 103;
        let mut overwritten = bytes.clone();
        overwritten[block..block + 3].fill(0);
        assert_eq!(gaps(&overwritten), [(block, third)]);
        let mut shorter = bytes.clone();
        shorter.drain(block + 20..block + 80);
        assert_eq!(gaps(&shorter), [(block + 103, third - 60)]);
        let mut longer = bytes.clone();
        longer.splice(block + 20..block + 20, [0; 50]);
        assert_eq!(gaps(&longer), [(block + 103, third + 50)]);
        let mut huge = bytes.clone();
        huge[block + 1] = 0x7f;
        assert_eq!(gaps(&huge), [(block, third)]);
    }

    #[test]
    fn a_cluster_that_begins_too_early_is_found() {
        let (mut bytes, [_, second, third]) = file();
        // The last block of the second cluster would end in the third one.
        let block = second + 6 + 4 + 9 * 103;
        bytes.drain(block + 20..block + 50);
        assert_eq!(gaps(&bytes), [(block, third - 30)]);
    }

    #[test]
    fn no_bytes_make_it_panic_or_hide_what_overlaps() {
        let (bytes, _) = file();
        let mut state = 1_u32;
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            for _ in 0..8 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let index = (state >> 8) as usize % damaged.len();
                damaged[index] = (state >> 3) as u8;
            }
            let gaps = gaps(&damaged);
            assert!(gaps.iter().all(|(start, end)| start + 2 <= *end && *end <= damaged.len()));
            assert!(gaps.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}

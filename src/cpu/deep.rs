//! The inner loops for samples of 16 bits, and the tables that they look codes up in.
//!
//! Codes of more than 8 bits are looked up one by one, unless their curve is a line: a table of them is too long for
//! shuffles. Each curve is written out for every code first, so that a look-up costs no more at 12 or 16 bits than at 10.

use crate::frame::{MOST_BINS, Packing};
use crate::levels::curves::Curves;

use super::kernels::RgbPixel;
use super::line::Line;

/// Bytes of a sample.
pub const SAMPLE: usize = 2;
/// Samples that are looked up together, in one word of 64 bits.
const GROUP: usize = 4;

/// Counts by bin, in four tables, so that equal neighbours do not wait for each other's count to be stored.
pub type DeepTables = [[u32; MOST_BINS]; GROUP];

/// Four times the same 16 bits.
const fn repeat(bits: u16) -> u64 {
    bits as u64 * 0x0001_0001_0001_0001
}

/// The bins of the luma of pixels of four samples of 16 bits.
#[inline(always)]
pub fn deep_weigh(row: &[u8], pixel: &RgbPixel, bins: &mut [[u8; SAMPLE]]) {
    let [red, green, blue] = pixel.places.map(|place| 16 * (place & 3) as u32);
    let [wr, wg, wb] = pixel.weights;
    for (bin, samples) in bins.iter_mut().zip(row.as_chunks::<{ SAMPLE * GROUP }>().0) {
        let samples = u64::from_le_bytes(*samples);
        let at = |place: u32| u32::from((samples >> place) as u16);
        // The weights sum to 65536, so this fits.
        let sum = wr * at(red) + wg * at(green) + wb * at(blue) + 32768;
        *bin = ((sum >> 22) as u16).to_le_bytes();
    }
}

/// Finds the pixels of four samples with an alpha of 0: writes 1 to `blind` for each, sets its bin to 0, and says
/// how many there are.
#[inline(always)]
pub fn deep_find_blind(row: &[u8], alpha: usize, bins: &mut [[u8; SAMPLE]], blind: &mut [u8]) -> u32 {
    let mut found = 0;
    let mask = 0xFFFF << (16 * (alpha & 3));
    for ((bin, blind), samples) in bins.iter_mut().zip(blind.iter_mut()).zip(row.as_chunks::<{ SAMPLE * GROUP }>().0) {
        *blind = u8::from(u64::from_le_bytes(*samples) & mask == 0);
        let keep = blind.wrapping_sub(1);
        *bin = bin.map(|byte| byte & keep);
        found += u32::from(*blind);
    }
    found
}

/// Counts a row of samples, of which the bits from `shift` on are the bin, into `tables`, and adds each bin to the sum
/// of its column, of which there are as many. A column's sum holds 64 rows.
#[inline(always)]
pub fn deep_count(row: &[u8], shift: u32, tables: &mut DeepTables, columns: &mut [u16]) {
    const BLOCK: usize = 4 * GROUP;
    const BINS: u64 = repeat((MOST_BINS - 1) as u16);
    let (blocks, rest) = row.as_chunks::<{ SAMPLE * BLOCK }>();
    let (column_blocks, column_rest) = columns.as_chunks_mut::<BLOCK>();
    // Both in one loop, so that vectors work while the tables keep the rest of the processor busy.
    for (block, columns) in blocks.iter().zip(column_blocks) {
        deep_add(block, shift, columns);
        let bytes = |group: usize| std::array::from_fn(|byte| block[SAMPLE * GROUP * group + byte]);
        // Bits of the next sample come in from above.
        let groups: [u64; 4] = std::array::from_fn(|group| u64::from_le_bytes(bytes(group)) >> (shift & 15));
        let first = groups[0];
        let unlike = groups.iter().fold(first ^ first.rotate_left(16), |unlike, group| unlike | (group ^ first));
        if unlike & BINS == 0 {
            tables[0][first as usize % MOST_BINS] += BLOCK as u32;
            continue;
        }
        for group in groups {
            for (i, table) in tables.iter_mut().enumerate() {
                table[(group >> (16 * i)) as usize % MOST_BINS] += 1;
            }
        }
    }
    deep_add(rest, shift, column_rest);
    for (sample, table) in rest.as_chunks().0.iter().zip((0..GROUP).cycle()) {
        tables[table][usize::from(bin(*sample, shift))] += 1;
    }
}

/// Adds the bin of each sample of a row to the sum of its column.
#[inline(always)]
pub fn deep_add(row: &[u8], shift: u32, columns: &mut [u16]) {
    for (column, sample) in columns.iter_mut().zip(row.as_chunks().0) {
        *column = column.wrapping_add(bin(*sample, shift));
    }
}

#[inline(always)]
fn bin(sample: [u8; SAMPLE], shift: u32) -> u16 {
    (u16::from_le_bytes(sample) >> (shift & 15)) & (MOST_BINS - 1) as u16
}

/// Curves written out: for each the bits of a sample that hold the output of a code.
#[derive(Clone, Debug)]
pub struct DeepCurves {
    packing: Packing,
    outputs: [Vec<u16>; 3],
    /// Those of the curves that are lines.
    lines: [Option<Line>; 3],
}

impl DeepCurves {
    pub fn new(packing: Packing) -> DeepCurves {
        let none = || vec![0; 1 << packing.depth];
        DeepCurves { packing, outputs: [none(), none(), none()], lines: [None; 3] }
    }

    /// Writes one of the curves out.
    pub fn fill(&mut self, curves: &Curves, curve: usize) {
        let outputs = &mut self.outputs[curve];
        curves.expand(curve, outputs);
        let line = &mut self.lines[curve];
        // A line is mostly that of the frame before.
        *line = line.filter(|line| line.has(outputs)).or_else(|| Line::find(outputs));
        if self.packing.shift > 0 {
            outputs.iter_mut().for_each(|out| *out <<= self.packing.shift);
        }
    }
}

/// What the samples of a plane are looked up in: the curve of each of four lanes, which may be none of the three.
#[derive(Clone, Copy)]
pub struct DeepLookup<'a> {
    pub curves: &'a DeepCurves,
    pub lanes: [usize; GROUP],
}

/// Looks each sample up in its lane's curve. The bits around a code stay.
#[inline(always)]
pub fn deep_tables(row: &mut [u8], lookup: &DeepLookup) {
    let DeepCurves { packing, lines, .. } = lookup.curves;
    if let Some(Some(line)) = lines.get(lookup.lanes[0])
        && lookup.lanes == [lookup.lanes[0]; GROUP]
    {
        return line.change(row, *packing);
    }
    match packing.depth {
        10 => look_up::<{ 1 << 10 }>(row, lookup),
        12 => look_up::<{ 1 << 12 }>(row, lookup),
        _ => look_up::<{ 1 << 16 }>(row, lookup),
    }
}

/// The same, of so many codes.
#[inline(always)]
fn look_up<const CODES: usize>(row: &mut [u8], lookup: &DeepLookup) {
    let DeepCurves { packing, outputs, .. } = lookup.curves;
    let tables: [Option<&[u16; CODES]>; GROUP] =
        lookup.lanes.map(|lane| outputs.get(lane).and_then(|outputs| outputs.first_chunk()));
    // Formats whose lanes share a table are most of them.
    if let [Some(table), ..] = tables
        && lookup.lanes == [lookup.lanes[0]; GROUP]
    {
        change::<CODES>(row, *packing, [Some(table); GROUP]);
    } else {
        change::<CODES>(row, *packing, tables);
    }
}

#[inline(always)]
fn change<const CODES: usize>(row: &mut [u8], packing: Packing, tables: [Option<&[u16; CODES]>; GROUP]) {
    let (shift, mask, codes) = (packing.shift & 15, repeat(packing.mask()), repeat((CODES - 1) as u16));
    let mut changed = 0;
    for (place, _) in tables.iter().enumerate().filter(|(_, table)| table.is_some()) {
        changed |= (mask & 0xFFFF) << (16 * place);
    }
    let look = |samples: u64| {
        let codes = (samples >> shift) & codes;
        let mut out = samples & !changed;
        for (place, table) in tables.iter().enumerate() {
            if let Some(table) = table {
                out |= u64::from(table[usize::from((codes >> (16 * place)) as u16) % CODES]) << (16 * place);
            }
        }
        out
    };
    let (groups, rest) = row.as_chunks_mut::<{ SAMPLE * GROUP }>();
    for group in groups {
        *group = look(u64::from_le_bytes(*group)).to_le_bytes();
    }
    let mut last = [0; SAMPLE * GROUP];
    last[..rest.len()].copy_from_slice(rest);
    rest.copy_from_slice(&look(u64::from_le_bytes(last)).to_le_bytes()[..rest.len()]);
}

//! The table lookups for AVX-512 with VBMI: a table fits into four vectors, and one instruction looks 64 samples up
//! in two of them. Everything else is done as for AVX2 ([`super::x86`]).

use std::arch::x86_64::*;

use arrayvec::ArrayVec;

use super::kernels::{self, LANES, Lookup};
pub use super::x86::*;

/// Samples of a vector.
const WIDTH: usize = 64;

#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; WIDTH]) -> __m512i {
    // SAFETY: the array has the vector's size, and any address will do for this load.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store(bytes: &mut [u8; WIDTH], vector: __m512i) {
    // SAFETY: the array has the vector's size, and any address will do for this store.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

/// A table, 64 entries to a vector.
struct TableVectors([__m512i; 4]);

impl TableVectors {
    #[target_feature(enable = "avx512f")]
    fn new(table: &[u8; 256]) -> TableVectors {
        let (rows, _) = table.as_chunks();
        TableVectors(std::array::from_fn(|i| load(&rows[i])))
    }

    /// Looks every sample up in both halves by its low seven bits, and chooses the half by the topmost.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn at(&self, x: __m512i) -> __m512i {
        let low = _mm512_permutex2var_epi8(self.0[0], x, self.0[1]);
        let high = _mm512_permutex2var_epi8(self.0[2], x, self.0[3]);
        _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub fn table(row: &mut [u8], table: &[u8; 256]) {
    let vectors = TableVectors::new(table);
    let (blocks, rest) = row.as_chunks_mut::<WIDTH>();
    for block in blocks {
        store(block, vectors.at(load(block)));
    }
    kernels::table(rest, table);
}

/// Looks every sample up in each of the tables, and chooses by lane.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub fn tables(row: &mut [u8], lookup: &Lookup) {
    // Lanes repeat after 12 samples, and vectors with them after 192.
    let mask = |table: usize, vector: usize| {
        let is_its = |i: &usize| lookup.lanes[(vector * WIDTH + i) % LANES] == table;
        (0..WIDTH).filter(is_its).fold(0, |mask, i| mask | 1 << i)
    };
    let mut tables = ArrayVec::<(TableVectors, [u64; 3]), 3>::new();
    for table in (0..Lookup::IDENTITY).filter(|table| lookup.lanes.contains(table)) {
        tables.push((TableVectors::new(&lookup.tables[table]), [mask(table, 0), mask(table, 1), mask(table, 2)]));
    }
    let (groups, rest) = row.as_chunks_mut::<{ 3 * WIDTH }>();
    for group in groups {
        for (i, block) in group.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            let x = load(block);
            let choose =
                |out, (table, masks): &(TableVectors, [u64; 3])| _mm512_mask_mov_epi8(out, masks[i], table.at(x));
            store(block, tables.iter().fold(x, choose));
        }
    }
    kernels::tables(rest, lookup);
}

//! The inner loops compiled for AVX2, and table lookups by its shuffles.

use super::kernels::{self, Lines, RgbPixel, Tables};
use super::line::Line;

/// Compiles loops of [`kernels`] for AVX2.
macro_rules! with_avx2 {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+) => {
        $(#[target_feature(enable = "avx2")]
        pub fn $name($($argument: $type),*) $(-> $result)? {
            kernels::$name($($argument),*)
        })+
    };
}

with_avx2! {
    fn count(luma: &[u8], tables: &mut Tables, columns: &mut [u16]);
    fn every_second(row: &[u8], first: usize, luma: &mut [u8]);
    fn weigh3(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]);
    fn weigh4(row: &[u8], pixel: &RgbPixel, luma: &mut [u8]);
    fn find_blind(row: &[u8], alpha: usize, luma: &mut [u8], blind: &mut [u8]) -> u32;
    fn add(marks: &[u8], columns: &mut [u16]);
    fn line(row: &mut [u8], line: &Line);
    fn lines(row: &mut [u8], lines: &Lines);
    fn table(row: &mut [u8], table: &[u8; 256]);
}

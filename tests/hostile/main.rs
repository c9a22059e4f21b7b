//! Input made up at random by somebody who means harm: nothing of it panics, overflows, or reaches memory that is not
//! the frame's.
//!
//! `AUTOLEVELS_CASES` says how many cases each test tries; the defaults are small enough for every run.

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "../element/common.rs"]
mod common;
mod curves;
mod layouts;
mod text;

/// How many cases to try.
fn cases(usual: u32) -> u32 {
    std::env::var("AUTOLEVELS_CASES").map_or(usual, |cases| cases.parse().expect("AUTOLEVELS_CASES is a number"))
}

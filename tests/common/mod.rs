//! What the tests share: frames to work on, and the plain answer to what should come out.

// Each test and benchmark uses its own part of this.
#![allow(dead_code)]

pub mod colours;
pub mod frames;
pub mod oracle;

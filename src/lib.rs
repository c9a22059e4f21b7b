//! Real-time auto levels for video.

pub mod backend;
pub mod bridge;
pub mod cpu;
pub mod frame;
pub mod gpu;
pub mod grid;
pub mod leveler;
pub mod levels;
pub mod settings;
pub mod video;

//! Scripted sequences with known truth, and properties that hold whatever comes.

mod bars;
mod exposure;
mod footage;
mod motion;
mod properties;
mod scenes;

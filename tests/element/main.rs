//! The element in harnesses and real pipelines, on each backend.

mod common;
mod errors;
mod events;
mod formats;
mod gaps;
mod launch;
mod metadata;
mod negotiation;
mod pages;
mod pipelines;
mod properties;
mod window;

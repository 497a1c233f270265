//! Shared code of tests, fuzz targets and benches. Never part of a normal build.
//!
//! # Layer
//! Above all others: it may use anything, and only tests use it.

pub mod campaign;
pub mod generators;
pub mod model;
pub mod opening;
pub mod random;
pub mod sim_disk;

#[cfg(test)]
#[cfg(feature = "ingest")]
mod model_test;

//! What tests, fuzz targets and benches share. Never part of a normal build.
//!
//! # Layer
//! Above all others: it may use whatever it tests, and nothing but tests uses it.

pub mod campaign;
pub mod generators;
pub mod model;
pub mod opening;
pub mod random;
pub mod sim_disk;

#[cfg(test)]
#[cfg(feature = "ingest")]
mod model_test;

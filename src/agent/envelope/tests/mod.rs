//! Tests of the envelope.
//!
//! `generator` makes hostile texts and records from a seed; the tables are hand-made.

mod admission;
mod assembly;
mod generator;
mod hostile;
mod line;
mod properties;
mod reader;
mod refusals;
mod render;
mod scrub;

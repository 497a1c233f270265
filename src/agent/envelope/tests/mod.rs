//! Tests of the envelope.
//!
//! `generator` makes hostile texts and records of them from a seed; the tables are hand-made.

mod admission;
mod generator;
mod hostile;
mod making;
mod parse;
mod properties;
mod render;
mod scrub;
mod shown;

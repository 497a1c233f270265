//! Merge: brings what another line wrote into this line, field by field.
//!
//! # Layer
//! Layer 5.

mod base;
mod fields;
mod text;

//! The pure text code of Treering: ranked search, the scan of texts, and what both need.
//!
//! Everything here computes its answer from its input alone. It reads no clock, no file and no random number, keeps no
//! state, and knows nothing of stores, commits or agents. The package `treering` builds the memory of an agent on it.
//!
//! This package is a part of Treering, not a library of its own: its interface may change with each version.
//!
//! # Layer
//! Layer 0 of the workspace. Inside: `tables`, `visible` and `calendar` below, `recall` and `scan` above. `recall` and
//! `scan` do not import each other.

#[macro_use]
mod named;

pub mod calendar;
#[cfg(feature = "analysis")]
pub mod recall;
#[cfg(feature = "analysis")]
pub mod scan;
pub mod tables;
#[cfg(feature = "analysis")]
pub mod visible;

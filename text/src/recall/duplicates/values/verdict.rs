//! The decision about two statements.
//!
//! # Layer
//! Imports nothing of the comparison.

use crate::recall::duplicates::contradiction::Contradiction;

/// Why two statements do not contradict each other; tests show it.
pub(super) type Reason = &'static str;

/// A contradiction, or the reason why there is none.
pub(super) type Verdict = Result<Contradiction, Reason>;

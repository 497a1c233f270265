//! Attempts: a change that passes its checks is committed whole; otherwise nothing is committed.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - ATT-1: an error, a panic or a failed check leaves the state unchanged; the staged changes are kept under
//!   `rejected/`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

use super::{Committed, Draft};

/// A condition that a change must meet. The error is a text for a person or a model, and names the failed condition and
/// the reason.
pub type Check<'a> = dyn Fn(&Draft) -> Result<(), String> + 'a;

/// The error of a refused change, and the name under which its draft is kept.
pub(crate) struct Refusal {
    /// The error that the caller receives.
    pub(crate) error: Error,
    /// The name of the kept draft, such as `rejected/17`; `None` if nothing was staged, or if the draft could not be
    /// kept.
    #[cfg_attr(not(feature = "agent"), expect(dead_code, reason = "only the guard uses it"))]
    pub(crate) kept: Option<String>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error, kept: None }
    }
}

/// The result of an attempt that passed its checks and was committed.
#[derive(Debug)]
pub struct Attempted<T> {
    /// The value that the closure with the change returned.
    pub value: T,
    /// The commit of the change.
    pub committed: Committed,
}

/// Runs a part of an attempt and catches a panic. Returns the text of the panic as an error. The panic affects only the
/// draft.
pub(super) fn caught<T>(what: &str, run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        format!("{what} panicked: {}", text.as_deref().unwrap_or("no message"))
    })
}

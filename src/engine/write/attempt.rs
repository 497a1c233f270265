//! Attempts: a change that passes its checks is committed whole; otherwise nothing is committed.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - ATT-1: an error, a panic or a failed check leaves the state unchanged; the staged changes are kept under
//!   `rejected/`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorCode, Result};

use super::{Committed, Draft, Writer};
use crate::engine::memory::Memory;

/// A condition that a change must meet. Its error names, for a person or a model, the condition that failed and the
/// reason.
pub type Check<'a> = dyn Fn(&Draft) -> Result<(), String> + 'a;

/// The refusal of a change, and the name under which its draft is kept.
pub(crate) struct Refusal {
    /// The error that the caller gets.
    pub(crate) error: Error,
    /// The name of the kept draft, such as `rejected/17`; `None` if nothing was staged or it could not be kept.
    #[cfg_attr(not(feature = "agent"), expect(dead_code, reason = "only the guard tells it"))]
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
    /// The value that the change returned.
    pub value: T,
    /// The commit of the change.
    pub committed: Committed,
}

/// Runs a part of an attempt. Returns the text of a panic, which affects only the draft, as an error.
fn caught<T>(what: &str, run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        format!("{what} panicked: {}", text.as_deref().unwrap_or("no message"))
    })
}

impl Memory {
    /// As [`Self::attempt`], on a draft, with a commit of operation `op`. The function `told` redacts a reason before
    /// it is written.
    pub(crate) fn attempt_as<T>(
        &self,
        op: &str,
        mut draft: Draft,
        change: impl FnOnce(&mut Draft) -> Result<T>,
        checks: &[&Check<'_>],
        told: &dyn Fn(&str) -> String,
    ) -> Result<Attempted<T>, Refusal> {
        draft.snapshot_before();
        // ATT-1: until `commit` below, only the draft is touched.
        let value = match caught("the change", || change(&mut draft)) {
            Ok(Ok(value)) => value,
            Ok(Err(error)) => {
                let why = format!("the change failed: {error}");
                return Err(self.refused(&draft, &told(&why), Some(error)));
            }
            Err(why) => return Err(self.refused(&draft, &told(&why), None)),
        };
        for check in checks {
            if let Err(why) = caught("a check", || check(&draft)).and_then(|verdict| verdict) {
                return Err(self.refused(&draft, &told(&why), None));
            }
        }
        let committed = self.commit(draft, op)?;
        Ok(Attempted { value, committed })
    }

    /// Keeps the staged changes of a draft under `rejected/` with the reason, for a person to review; the state does
    /// not change. Returns the name for [`Self::open_draft`]; `None` if nothing is staged.
    ///
    /// A change that the same actor and session repeat for the same reason is kept once. A store keeps changes of a
    /// total weight of 200. A change weighs 1, and 1 more for each thousand objects. Above the total, a new change
    /// replaces the oldest changes of the actor and session with the largest weight. Its reason names the replaced
    /// ones. A change that weighs more than the changes of any actor and session replaces none, and may exceed the
    /// total.
    ///
    /// # Errors
    /// The errors of [`Self::save_draft`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn quarantine(&self, draft: &Draft, reason: &str) -> Result<Option<String>> {
        self.inner.check_writer(&draft.writer)?;
        self.inner.reject(draft, reason)
    }

    /// Runs `change` on a draft, then the checks. Then commits the draft, with an automatic snapshot of the state
    /// before. If the change fails or panics, or a check refuses it, nothing is committed, and the staged changes are
    /// kept under `rejected/` with the reason.
    ///
    /// # Errors
    /// The change's own error; `Denied` (code `rejected`) if a check refused or the change panicked; as
    /// [`Self::commit`].
    ///
    /// ```
    /// use treering::{Draft, Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let no_removals = |draft: &Draft| match draft.counts().removed {
    ///     0 => Ok(()),
    ///     count => Err(format!("it removes {count} objects")),
    /// };
    /// let id = Id::new("plan")?;
    /// memory.put(NewObject::new(id.clone(), Kind::new("note")?), &Writer::user())?;
    /// let refused = memory.attempt(&Writer::user(), |draft| draft.remove(&id), &[&no_removals]);
    /// assert!(refused.is_err());
    /// assert!(memory.view().contains(&id)?);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn attempt<T>(
        &self,
        writer: &Writer,
        change: impl FnOnce(&mut Draft) -> Result<T>,
        checks: &[&Check<'_>],
    ) -> Result<Attempted<T>> {
        self.inner.check_writer(writer)?;
        let attempted = self.attempt_as("attempt", self.draft(writer), change, checks, &str::to_owned);
        attempted.map_err(|refusal| refusal.error)
    }

    /// Keeps the staged changes of a refused draft. Reports the change's own error, or else the reason.
    fn refused(&self, draft: &Draft, reason: &str, own: Option<Error>) -> Refusal {
        let rejected = || Error::denied(ErrorCode::Rejected, format!("the change was rejected: {reason}"));
        let error = own.unwrap_or_else(rejected);
        let kept = self.inner.reject(draft, reason);
        let hint = match &kept {
            Ok(None) => return error.into(),
            Ok(Some(name)) => format!("nothing was changed; the staged change is kept as {name}"),
            Err(lost) => format!("nothing was changed, and the staged change could not be kept: {lost}"),
        };
        let error = match error.hint() {
            Some(_) => error,
            None => error.with_hint(hint),
        };
        let kept = kept.ok().flatten();
        Refusal { error, kept }
    }
}

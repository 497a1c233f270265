//! Work that is planned on the head before the lock, so others write meanwhile.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - PLN-1: a plan is written only on the head that it was made for, and on the log that it was read from. If the plan
//!   was outdated [`PLANS_MAX`] times, it is made under the lock.

use std::sync::Arc;

use super::{Draft, LogHandle, Writer};
use crate::engine::inner::Inner;
use crate::error::Result;

/// The number of plans that are made before the lock.
pub(crate) const PLANS_MAX: usize = 3;

impl Inner {
    /// Plans with `plan`, then writes the plan under the lock with `write`. Each plan has a draft on the head for which it
    /// was made.
    ///
    /// # Errors
    /// The errors of `plan` and `write`, and of a write.
    pub(super) fn write_planned<P, T>(
        &self,
        writer: &Writer,
        plan: &dyn Fn() -> Result<(P, Draft)>,
        write: &dyn Fn(&mut LogHandle, P, &Draft) -> Result<T>,
    ) -> Result<T> {
        self.check_writer(writer)?;
        self.follow()?;
        for _ in 0..PLANS_MAX {
            let (planned, draft) = plan()?;
            let written = self.write_as(writer, |writing| {
                let (store, base) = (self.store(), draft.base());
                let is_head = store.head()?.digest == base.entry.digest;
                // PLN-1: a rewrite of the log moves no head, but it may drop the versions of the plan.
                let is_current = is_head && Arc::ptr_eq(&store, &base.state.store);
                is_current.then(|| write(writing, planned, &draft)).transpose()
            })?;
            if let Some(written) = written {
                return Ok(written);
            }
        }
        self.write_as(writer, |writing| {
            let (planned, draft) = plan()?;
            write(writing, planned, &draft)
        })
    }
}

//! Work that is planned on the head before the lock, so others write meanwhile.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - PLN-1: a plan is written only on the head that it was made for, and on the log that it was read from. If the plan
//!   was outdated [`PLANS_MAX`] times, it is made under the lock.
//! - PLN-2: no function of the host is called under the lock. A plan that calls one fails if it was outdated
//!   [`HOST_PLANS_MAX`] times.

use std::sync::Arc;

use super::rollback::head_moved;
use super::{Draft, LogHandle, Writer};
use crate::engine::inner::Inner;
use crate::error::Result;

/// The number of plans that are made before the lock.
pub(crate) const PLANS_MAX: usize = 3;
/// The number of plans that call a function of the host. There are more, because none is made under the lock.
const HOST_PLANS_MAX: usize = 20;

impl Inner {
    /// Plans with `plan`, then writes the plan under the lock with `write`. Each plan has a draft on the head for which it
    /// was made.
    ///
    /// # Errors
    /// The errors of `plan` and `write`, and of a write. `Conflict` (code `head_moved`) by PLN-2.
    pub(super) fn write_planned<P, T>(
        &self,
        writer: &Writer,
        calls_host: bool,
        plan: &dyn Fn() -> Result<(P, Draft)>,
        write: &dyn Fn(&mut LogHandle, P, &Draft) -> Result<T>,
    ) -> Result<T> {
        self.check_writer(writer)?;
        self.follow()?;
        let plans = if calls_host { HOST_PLANS_MAX } else { PLANS_MAX };
        for _ in 0..plans {
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
        // PLN-2
        if calls_host {
            return Err(head_moved(self.store().head()?.seq()));
        }
        self.write_as(writer, |writing| {
            let (planned, draft) = plan()?;
            write(writing, planned, &draft)
        })
    }
}

//! Writes derived files.
//!
//! # Layer
//! Layer 5.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::log::CompactionLock;

use super::derived_files::{check_name, was_erased_since, write_derived};
use crate::engine::memory::Memory;
use crate::engine::read::derived::{Derived, Keep};
use crate::engine::read::view::View;

/// The minimal number of objects changed since the last write that justifies another write. A reader applies fewer
/// changes faster.
const CHANGES_MIN: u64 = 500;
/// The value is written only if at least one in this many contributions changed.
const SHARE: u64 = 8;

impl Memory {
    /// Writes `bytes` as the derived file `name`. They must derive from the state `of`, or from it and later states.
    /// Returns false, without writing, if something was erased since that state or another process rewrites the log.
    /// Other processes may commit meanwhile.
    ///
    /// # Errors
    /// As [`Self::derived`]; `Io` with the code `read_only` for a read-only handle.
    ///
    /// # Durability
    /// When the call returns, the bytes are durable. A crash before that leaves the old file, or none.
    pub(crate) fn keep_derived(&self, name: &str, bytes: &[u8], of: &View) -> Result<bool> {
        check_name(name)?;
        self.inner.opened().check_writable()?;
        // INVARIANT DER-2: an erasure holds this lock until its commit can be read.
        let Some(_alone) = CompactionLock::take_if_free(self.inner.disk(), Duration::ZERO)? else {
            return Ok(false);
        };
        self.inner.follow()?;
        self.inner.source.stamps.lock().may_be_behind();
        if was_erased_since(self.inner.opened(), of.entry.seq())? {
            return Ok(false);
        }
        write_derived(self.inner.opened(), name, bytes)?;
        Ok(true)
    }

    /// Writes a derived value of `view` to its file if enough changed since the last write. Returns whether it wrote.
    ///
    /// # Errors
    /// As [`Self::keep_derived`]; `InvalidInput` if the value is of another state than the view.
    pub(crate) fn keep<T: Keep>(&self, value: &mut Derived<T>, view: &View) -> Result<bool> {
        if value.root() != view.root() {
            return Err(Error::invalid(
                "the derived value belongs to another state than the view",
            ));
        }
        if value.changes() < CHANGES_MIN || value.changes().saturating_mul(SHARE) < value.value().len() {
            return Ok(false);
        }
        let mut bytes = vec![T::VERSION];
        bytes.extend_from_slice(view.entry.digest.as_bytes());
        let bytes = postcard::to_extend(value.value(), bytes).map_err(|error| {
            Error::internal(format!("cannot serialise the derived file {}: {error}", T::NAME))
        })?;
        let kept = self.keep_derived(T::NAME, &bytes, view)?;
        if kept {
            value.set_kept();
        }
        Ok(kept)
    }
}

//! Writes derived files, and removes them at an erasure.
//!
//! # Layer
//! Layer 5.

use std::time::Duration;

use crate::disk::if_there;
use crate::error::{Error, Result};
use crate::log::CompactionLock;
use crate::store::Store;
use crate::trie::Trie;

use super::derived_files::{FOLDER, write_derived};
use super::last_access::{USES, USES_NEW};
use crate::engine::inner::Inner;

/// The minimal number of objects changed since the last write that justifies another write. A reader applies fewer
/// changes faster.
pub(super) const CHANGES_MIN: u64 = 500;
/// The value is written only if at least one in this many contributions changed.
pub(super) const SHARE: u64 = 8;

impl Inner {
    /// Removes every derived file except the last-access times. These are rewritten as one file, without the objects
    /// that are absent from `left`.
    pub(crate) fn forget_derived(&self, left: &Trie, store: &Store) -> Result<()> {
        let removing = |error| Error::io(format!("cannot remove a file in {FOLDER}"), error);
        let names = if_there(self.disk().list(FOLDER)).map_err(removing)?;
        let names = names.unwrap_or_default();
        let mut stamps = self.source.stamps.lock();
        let rows = stamps.merged(self.opened(), left, store)?;
        for name in names.iter().filter(|name| *name != USES) {
            let removed = self.disk().remove(&format!("{FOLDER}/{name}"));
            removed.map_err(removing)?;
        }
        if !names.is_empty() {
            self.disk().sync_dir(FOLDER).map_err(removing)?;
        }
        if names.iter().any(|name| name == USES || name == USES_NEW) {
            write_derived(self.opened(), USES, &rows)?;
        }
        stamps.retain(left, store)
    }

    /// Writes the last-access times. Skips them if another process rewrites the log for longer than `patience`.
    pub(crate) fn keep_stamps(&self, patience: Duration) {
        if self.settings().read_only {
            return;
        }
        if let Err(error) = self.write_stamps(patience) {
            self.opened()
                .warn(format!("cannot write the last-access times: {error}"));
        }
    }

    fn write_stamps(&self, patience: Duration) -> Result<()> {
        if !self.source.stamps.lock().has_news(self.opened())? {
            return Ok(());
        }
        let Some(_alone) = CompactionLock::take_if_free(self.disk(), patience)? else {
            return Ok(());
        };
        // This process must first read all commits. Otherwise it would drop the times of objects that it does not know
        // yet.
        if !self.follow()? {
            return Ok(());
        }
        let store = self.store();
        let state = store.state(&*store.head()?)?;
        self.source.stamps.lock().write(self.opened(), &state, &store)
    }
}

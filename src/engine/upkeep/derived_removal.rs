//! Removes the derived files at an erasure.
//!
//! # Layer
//! Layer 5.

use crate::disk::if_there;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::trie::Trie;

use super::derived_files::{FOLDER, write_derived};
use super::last_access::{USES, USES_NEW};
use crate::engine::inner::Inner;

impl Inner {
    /// Removes every derived file except the last-access times. These are rewritten as one file, without the objects
    /// that are absent from `left`.
    pub(crate) fn forget_derived(&self, left: &Trie, store: &Store) -> Result<()> {
        let removing = |error| Error::io(format!("cannot remove a file in {FOLDER}"), error);
        let names = if_there(self.disk().list(FOLDER))
            .map_err(removing)?
            .unwrap_or_default();
        let stamps = self.source.stamps.lock().merged(self.opened(), left, store)?;
        for name in names.iter().filter(|name| *name != USES) {
            let path = format!("{FOLDER}/{name}");
            self.disk().remove(&path).map_err(removing)?;
        }
        if !names.is_empty() {
            self.disk().sync_dir(FOLDER).map_err(removing)?;
        }
        if names.iter().any(|name| name == USES || name == USES_NEW) {
            write_derived(self.opened(), USES, &stamps)?;
        }
        self.source.stamps.lock().retain(left, store)
    }
}

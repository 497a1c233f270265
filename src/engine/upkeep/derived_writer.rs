//! Writes derived files, and removes them at an erasure.
//!
//! # Layer
//! Layer 5.

#[cfg(feature = "agent")]
use std::sync::Arc;
#[cfg(feature = "agent")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::disk::if_there;
use crate::error::{Error, Result};
use crate::log::CompactionLock;
use crate::object::Op;
use crate::store::Store;
use crate::trie::Trie;
#[cfg(feature = "agent")]
use treering_text::tables::Builder;

use super::derived_files::{FOLDER, Layout, check_name, write_derived};
use super::last_access::{USES, USES_NEW};
use crate::engine::inner::Inner;
use crate::engine::memory::Memory;
use crate::engine::read::State;
#[cfg(feature = "agent")]
use crate::engine::read::{
    Holder, View,
    derived::{Derived, Keep},
    holder::Reached,
};

/// The minimal number of objects that must change before a value is written again. For fewer changes, updating the old
/// value is faster than writing a new value.
const CHANGES_MIN: u64 = 500;
/// A value is written again only if the number of changes is at least the number of its contributions divided by this
/// number.
const SHARE: u64 = 8;
/// The number of changes after which a value is written again, however large the value is. Each process applies the
/// changes since the last write, so their number bounds the time that a process takes.
const CHANGES_MAX: u64 = 4_000;

impl Inner {
    /// Removes every derived file except the last-access times. Writes the last-access times to one file again, without
    /// the objects that `left` does not contain.
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
            write_derived(self.opened(), USES, &rows, Layout::Whole)?;
        }
        stamps.retain(left, store)
    }

    /// Writes the last-access times. If another process rewrites the log for longer than `patience`, writes nothing.
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
        // Reads all commits first. Otherwise, this process would drop the times of objects that it does not know yet.
        if !self.follow()? {
            return Ok(());
        }
        let store = self.store();
        let state = store.state(&*store.head()?)?;
        self.source.stamps.lock().write(self.opened(), &state, &store)
    }
}

/// Writes `bytes` as the derived file `name`. The bytes must derive from the state `of`, or from `of` and later states.
/// Returns false and writes nothing if a record was erased since that state, or if another process rewrites the log.
/// Other processes may commit meanwhile.
///
/// # Errors
/// The errors of [`Memory::derived`]; `Io` with the code `read_only` if the handle is read-only.
///
/// # Durability
/// When the call returns, the bytes are durable. A crash before that leaves the old file, or no file.
pub(crate) fn keep_derived(memory: &Memory, name: &str, bytes: &[u8], of: &State) -> Result<bool> {
    keep_as(memory, name, bytes, Layout::Whole, of)
}

/// Does what [`keep_derived`] does, in a file of another layout.
pub(crate) fn keep_as(memory: &Memory, name: &str, bytes: &[u8], layout: Layout, of: &State) -> Result<bool> {
    check_name(name)?;
    // The files are those of the main line. A fork follows them by diff.
    if memory.inner.main.is_some() {
        return Ok(false);
    }
    memory.inner.opened().check_writable()?;
    // INVARIANT DER-2: an erasure holds this lock until other processes can read its commit.
    let Some(_alone) = CompactionLock::take_if_free(memory.inner.disk(), Duration::ZERO)? else {
        return Ok(false);
    };
    memory.inner.follow()?;
    memory.inner.source.stamps.lock().may_be_behind();
    for commit in memory.commits() {
        let commit = commit?.commit;
        if commit.seq <= of.seq {
            break;
        }
        if commit.op.as_str() == Op::ERASE {
            return Ok(false);
        }
    }
    write_derived(memory.inner.opened(), name, bytes, layout)?;
    Ok(true)
}

/// Returns the names of the derived files, also of unfinished ones.
///
/// # Errors
/// `Io` if the folder cannot be read.
#[cfg(feature = "agent")]
pub(crate) fn derived_names(memory: &Memory) -> Result<Vec<String>> {
    let names = if_there(memory.inner.disk().list(FOLDER));
    let names = names.map_err(|error| Error::io(format!("cannot list {FOLDER}"), error))?;
    Ok(names.unwrap_or_default())
}

/// Removes the derived files whose names `is_old` accepts, also unfinished ones. Returns how many were removed; none if
/// another process rewrites the log.
///
/// # Errors
/// `Io` if a file cannot be removed, with the code `read_only` if the handle is read-only.
#[cfg(feature = "agent")]
pub(crate) fn remove_derived(memory: &Memory, is_old: impl Fn(&str) -> bool) -> Result<usize> {
    memory.inner.opened().check_writable()?;
    let Some(_alone) = CompactionLock::take_if_free(memory.inner.disk(), Duration::ZERO)? else {
        return Ok(0);
    };
    let removing = |error| Error::io(format!("cannot remove a file in {FOLDER}"), error);
    let disk = memory.inner.disk();
    let mut count = 0;
    for name in derived_names(memory)? {
        if is_old(name.strip_suffix(".tmp").unwrap_or(&name)) {
            if_there(disk.remove(&format!("{FOLDER}/{name}"))).map_err(removing)?;
            count += 1;
        }
    }
    if count > 0 {
        disk.sync_dir(FOLDER).map_err(removing)?;
    }
    Ok(count)
}

#[cfg(feature = "agent")]
impl<T: Keep + Clone, const KEPT: usize> Holder<T, KEPT> {
    /// Returns the value of a view, and how it was prepared. Updates the value of an earlier process if there is no other.
    ///
    /// # Errors
    /// The errors of [`Holder::reach`].
    pub(crate) fn of(&self, view: &View) -> Result<(Arc<Derived<T>>, Reached)> {
        let (opened, state) = (view.opened(), view.state());
        let load = || Derived::load(opened);
        self.reach(
            (opened, state),
            |_| true,
            load,
            |made| {
                made.pack();
                Ok(())
            },
        )
    }

    /// Calls `read` with the value of a view that [`Self::of`] or [`Holder::reach`] returned. If the value was read from a
    /// damaged file, builds it from all objects and calls `read` again.
    ///
    /// # Errors
    /// The errors of `read` and of [`Holder::reach`].
    pub(crate) fn read<R>(
        &self,
        view: &View,
        (found, reached): (Arc<Derived<T>>, Reached),
        mut read: impl FnMut(&Derived<T>, Reached) -> Result<R>,
    ) -> Result<R> {
        let done = read(&found, reached);
        if !found.value().is_damaged() {
            return done;
        }
        drop(found);
        self.slots.retain(|kept| !kept.value().is_damaged());
        self.written.store(0, Ordering::Relaxed);
        let (opened, state) = (view.opened(), view.state());
        let built = self.slots.get_at(
            state.clone(),
            |_| false,
            || {
                let built = Derived::build(opened, state.clone(), self.empty.clone())?;
                Ok((usize::from(self.is_past(state)), built))
            },
        )?;
        read(&built, Reached::Built)
    }

    /// Saves the value of the head to its file if it changed much since the last save. Returns whether the value was
    /// saved.
    ///
    /// # Errors
    /// The errors of [`Self::of`] and [`keep_derived`].
    pub(crate) fn keep(&self, memory: &Memory) -> Result<bool> {
        if self.newest().is_none() {
            return Ok(false);
        }
        // Updates the value to the head first, because the file must not contain an erased text. Holds no lock during the
        // write, so that readers do not wait for the disk.
        let (found, _) = self.of(&memory.view())?;
        found.keep(memory, &self.written)
    }
}

#[cfg(feature = "agent")]
impl<T: Keep> Derived<T> {
    /// Writes the value to its file if enough changed since the last write. `written` is the number of changes at that
    /// write, which a write updates. Returns whether the call wrote the file.
    ///
    /// # Errors
    /// The errors of [`keep_derived`].
    pub(crate) fn keep(&self, memory: &Memory, written: &AtomicU64) -> Result<bool> {
        let enough = (self.value().len() / SHARE).clamp(CHANGES_MIN, CHANGES_MAX);
        if self.changes.saturating_sub(written.load(Ordering::Relaxed)) < enough {
            return Ok(false);
        }
        self.write(memory, written)
    }

    /// Writes the value to its file, as [`Self::keep`] does.
    ///
    /// # Errors
    /// The errors of [`keep_derived`].
    pub(crate) fn write(&self, memory: &Memory, written: &AtomicU64) -> Result<bool> {
        let mut image = Builder::default();
        image.section(|head| {
            head.push(T::VERSION);
            head.extend_from_slice(self.state().commit.as_bytes());
        });
        self.value().write(&mut image);
        // What was read from a damaged file must not be written again.
        if self.value().is_damaged() {
            return Ok(false);
        }
        let kept = keep_as(memory, T::NAME, &image.finish(), Layout::Image, self.state())?;
        if kept {
            written.store(self.changes, Ordering::Relaxed);
        }
        Ok(kept)
    }
}

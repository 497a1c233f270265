//! When objects were last used: no part of the state, so that reading makes no version and no commit.
//!
//! The stamps of a handle are in memory until it is synced or closed; then they are merged into a derived file. A crash
//! loses those since.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - STP-1: of two stamps of one object the later one counts, whoever writes first.
//! - STP-2: what is written has no stamp of an object that the newest state does not have.
//!
//! # Format
//! docs/format.md, "Derived files".

use std::collections::{BTreeMap, HashMap};

use crate::bytes::Bytes;
use crate::disk::{Access, read_full};
use crate::error::Result;
use crate::object::{Id, Time};
use crate::store::Store;
use crate::trie::Trie;

use super::derived::HEADER_BYTES;
use super::memory::{Inner, Memory};
use super::view::View;

/// The name of the derived file.
pub(super) const USES: &str = "uses";
/// The first bytes of a key path: enough to tell objects apart.
const KEY_BYTES: usize = 16;
/// Bytes of a row: a key and a time.
const ROW_BYTES: usize = KEY_BYTES + 8;

type Key = [u8; KEY_BYTES];

/// The stamps that a handle knows.
#[derive(Default)]
pub(super) struct Stamps {
    /// Those that are not written yet, in microseconds.
    own: HashMap<Key, i64>,
    /// The file as it was last read, with its header.
    file: Option<Bytes>,
    /// Whether the file was read since somebody else may have written it.
    is_read: bool,
}

impl Memory {
    /// Notes that the objects were used at `time`. No version and no commit comes of it. It is written when the handle is synced
    /// or closed, by one that may write; a crash before loses it. Of two times the later one counts.
    pub fn touch<'a>(&self, ids: impl IntoIterator<Item = &'a Id>, time: Time) {
        let suite = self.suite();
        let mut stamps = self.inner.stamps.lock();
        for id in ids {
            let own = stamps.own.entry(key_of(suite.key_path(id.as_str()).as_bytes()));
            let own = own.or_insert(i64::MIN);
            *own = (*own).max(time.as_micros());
        }
    }

    /// When the object was last said to be used ([`Self::touch`]), as far as this handle knows: what other processes wrote, it
    /// knows after [`Self::refresh`]. `None` if nobody said so, or it was forgotten since.
    ///
    /// # Errors
    /// `Io` if the stamps cannot be read.
    pub fn last_used(&self, id: &Id) -> Result<Option<Time>> {
        let key = key_of(self.suite().key_path(id.as_str()).as_bytes());
        let mut stamps = self.inner.stamps.lock();
        stamps.read(&self.inner)?;
        Ok(stamps.of(&key).map(Time::from_micros))
    }
}

impl View {
    /// When the object was last said to be used, as [`Memory::last_used`] says: of now, whatever state this is.
    ///
    /// # Errors
    /// As [`Memory::last_used`].
    pub fn last_used(&self, id: &Id) -> Result<Option<Time>> {
        let memory = Memory {
            inner: std::sync::Arc::clone(&self.inner),
        };
        memory.last_used(id)
    }
}

impl Inner {
    /// Writes the stamps that are not written yet. What cannot be written now may be the next time.
    pub(super) fn keep_stamps(&self) {
        if self.options.read_only || self.stamps.lock().own.is_empty() {
            return;
        }
        if let Err(error) = self.write_stamps() {
            self.warn(format!("when memories were used could not be written: {error}"));
        }
    }

    fn write_stamps(&self) -> Result<()> {
        let Some(_alone) = self.nobody_rewrites()? else {
            return Ok(());
        };
        // What this process does not know yet is not gone: others made it meanwhile.
        self.follow()?;
        let store = self.store();
        let state = store.state(&*store.head()?)?;
        let mut stamps = self.stamps.lock();
        let rows = stamps.merged(self, &state, &store)?;
        self.write_derived(USES, &rows)?;
        stamps.own.clear();
        stamps.is_read = false;
        Ok(())
    }
}

impl Stamps {
    /// Somebody else may have written meanwhile.
    pub(super) fn may_be_behind(&mut self) {
        self.is_read = false;
    }

    /// Takes the file in, if it is not known already.
    fn read(&mut self, inner: &Inner) -> Result<()> {
        if !self.is_read {
            let is_same = self.file.as_ref().is_some_and(|known| is_of_header(inner, known));
            if !is_same {
                self.file = inner.derived(USES)?;
            }
            self.is_read = true;
        }
        Ok(())
    }

    fn rows(&self) -> &[[u8; ROW_BYTES]] {
        let file = self.file.as_deref().unwrap_or_default();
        file.get(HEADER_BYTES..).unwrap_or_default().as_chunks().0
    }

    fn of(&self, key: &Key) -> Option<i64> {
        let rows = self.rows();
        let found = rows.binary_search_by(|row| row[..KEY_BYTES].cmp(key)).ok();
        let written = found.and_then(|index| rows.get(index)).map(time_of);
        written.max(self.own.get(key).copied())
    }

    /// All stamps of objects that `state` has, as they are written.
    pub(super) fn merged(&mut self, inner: &Inner, state: &Trie, store: &Store) -> Result<Vec<u8>> {
        self.is_read = false;
        self.read(inner)?;
        let mut all: BTreeMap<Key, i64> = BTreeMap::new();
        let written = self.rows().iter().map(|row| (key_of(row), time_of(row)));
        for (key, time) in written.chain(self.own.iter().map(|(key, time)| (*key, *time))) {
            // STP-1
            let known = all.entry(key).or_insert(time);
            *known = (*known).max(time);
        }
        let mut rows = Vec::with_capacity(all.len() * ROW_BYTES);
        for (key, time) in all {
            // STP-2
            if state.get_by_prefix(&key, store)?.is_some() {
                rows.extend_from_slice(&key);
                rows.extend_from_slice(&time.to_le_bytes());
            }
        }
        Ok(rows)
    }

    /// Forgets the stamps of objects that `state` does not have.
    pub(super) fn retain(&mut self, state: &Trie, store: &Store) -> Result<()> {
        let mut gone = Vec::new();
        for key in self.own.keys() {
            if state.get_by_prefix(key, store)?.is_none() {
                gone.push(*key);
            }
        }
        for key in gone {
            self.own.remove(&key);
        }
        (self.file, self.is_read) = (None, false);
        Ok(())
    }
}

/// Whether the file on disk begins as the one that is known.
fn is_of_header(inner: &Inner, known: &Bytes) -> bool {
    let mut header = [0; HEADER_BYTES];
    let file = inner.disk.open(&format!("derived/{USES}"), Access::Read);
    let read = file.and_then(|file| read_full(&*file, 0, &mut header));
    read.is_ok() && known.starts_with(&header)
}

fn key_of(bytes: &[u8]) -> Key {
    let mut key = [0; KEY_BYTES];
    key.copy_from_slice(&bytes[..KEY_BYTES]);
    key
}

fn time_of(row: &[u8; ROW_BYTES]) -> i64 {
    let mut time = [0; 8];
    time.copy_from_slice(&row[KEY_BYTES..]);
    i64::from_le_bytes(time)
}

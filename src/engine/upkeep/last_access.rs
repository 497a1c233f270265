//! Last-access times of objects. Last-access times are not part of the state, so reading an object makes no version and
//! no commit.
//!
//! A handle keeps its new times in memory until the handle is synced or closed. Then the handle merges these times into
//! a small derived file. When the small file gets too large, the handle merges the small file into a large file. The
//! handle writes a time only if the time is at least ten minutes later than the written time of the object, so readers
//! write little. A crash loses unwritten times.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STP-1: the later of two times of one object is kept, whatever the order of the writes.
//! - STP-2: the files contain times only of objects in the newest state.
//!
//! # Format
//! docs/format.md, "Derived files".

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use crate::digest::HashSuite;
use crate::disk::{Access, read_full};
use crate::error::Result;
use crate::object::{Id, Time};
use crate::store::Store;
use crate::trie::Trie;

use super::derived_files::{HEADER_BYTES, Layout, derived, write_derived};
use crate::engine::opened::Opened;

/// The name of the derived file with all times.
pub(crate) const USES: &str = "uses";
/// The name of the derived file with the newest times.
pub(crate) const USES_NEW: &str = "uses-new";
/// The number of rows above which the small file is merged into the large file.
const NEW_MAX: usize = 1_000;
/// A time is written if it is later than the written time of the object by at least this many microseconds.
const NEWS_MICROS: i64 = 10 * 60 * 1_000_000;
const NAMES: [&str; 2] = [USES, USES_NEW];
/// The number of leading bytes of a key path in a row: enough to distinguish objects.
const KEY_BYTES: usize = 16;
/// The length of a row in bytes: a key and a time.
const ROW_BYTES: usize = KEY_BYTES + 8;

type Key = [u8; KEY_BYTES];

/// The last-access times that a handle knows.
#[derive(Default)]
pub(crate) struct Stamps {
    /// The times that are not written yet, in microseconds.
    own: HashMap<Key, i64>,
    /// The two files as last read, with their headers: first the file of all times, then the file of the newest times.
    files: [Option<Bytes>; 2],
    /// Whether the files were read after the last moment at which another process may have written them.
    is_read: bool,
}

impl Stamps {
    /// Records that objects were used at `time`.
    pub(crate) fn touch<'a>(&mut self, suite: HashSuite, ids: impl IntoIterator<Item = &'a Id>, time: Time) {
        for id in ids {
            let own = self.own.entry(key_of(suite.key_path(id.as_str()).as_bytes()));
            let own = own.or_insert(i64::MIN);
            *own = (*own).max(time.as_micros());
        }
    }

    /// Returns the newest last-access time of an object that this handle has recorded or read.
    pub(crate) fn last_used(&mut self, opened: &Opened, id: &Id) -> Result<Option<Time>> {
        let key = key_of(opened.store().suite.key_path(id.as_str()).as_bytes());
        self.read(opened)?;
        let time = self.written(&key).max(self.own.get(&key).copied());
        Ok(time.map(Time::from_micros))
    }

    /// Marks the files as unread, because another process may have written them since.
    pub(crate) fn may_be_behind(&mut self) {
        self.is_read = false;
    }

    /// Reads the files if another process may have written them since.
    fn read(&mut self, opened: &Opened) -> Result<()> {
        if !self.is_read {
            for (name, file) in NAMES.iter().zip(&mut self.files) {
                if !file
                    .as_ref()
                    .is_some_and(|known| is_of_header(opened, name, known))
                {
                    *file = derived(opened, name)?;
                }
            }
            self.is_read = true;
        }
        Ok(())
    }

    /// Returns whether an unwritten time is late enough to be written.
    pub(crate) fn has_news(&mut self, opened: &Opened) -> Result<bool> {
        if self.own.is_empty() {
            return Ok(false);
        }
        self.read(opened)?;
        let is_news = |(key, time): (&Key, &i64)| {
            let written = self.written(key);
            written.is_none_or(|written| time.saturating_sub(written) >= NEWS_MICROS)
        };
        Ok(self.own.iter().any(is_news))
    }

    fn written(&self, key: &Key) -> Option<i64> {
        let found = self.files.iter().map(|file| {
            let rows = rows(file.as_ref());
            let found = rows.binary_search_by(|row| row[..KEY_BYTES].cmp(key)).ok();
            found.and_then(|index| rows.get(index)).map(time_of)
        });
        found.max().flatten()
    }

    /// Writes the times of the objects in `state`. The caller must ensure that no other process writes last-access
    /// times at the same time.
    pub(crate) fn write(&mut self, opened: &Opened, state: &Trie, store: &Store) -> Result<()> {
        self.is_read = false;
        self.read(opened)?;
        let newest = self.rows_of(1, state, store)?;
        if newest.len() <= NEW_MAX * ROW_BYTES {
            write_derived(opened, USES_NEW, &newest, Layout::Whole)?;
        } else {
            // Writes the large file first, so that a crash between the two writes loses no time.
            write_derived(opened, USES, &self.rows_of(0, state, store)?, Layout::Whole)?;
            write_derived(opened, USES_NEW, &[], Layout::Whole)?;
        }
        self.own.clear();
        self.is_read = false;
        Ok(())
    }

    /// Returns the rows of one file with the times of all objects in `state`.
    pub(crate) fn merged(&mut self, opened: &Opened, state: &Trie, store: &Store) -> Result<Vec<u8>> {
        self.is_read = false;
        self.read(opened)?;
        self.rows_of(0, state, store)
    }

    /// Merges the times of the files from index `first` on with the unwritten times. Returns the merged times as rows.
    fn rows_of(&self, first: usize, state: &Trie, store: &Store) -> Result<Vec<u8>> {
        let mut all: BTreeMap<Key, i64> = BTreeMap::new();
        let rows = self.files[first..].iter().flat_map(|file| rows(file.as_ref()));
        let written = rows.map(|row| (key_of(row), time_of(row)));
        for (key, time) in written.chain(self.own.iter().map(|(key, time)| (*key, *time))) {
            // INVARIANT STP-1: the later of two times of one object is kept, whatever the order of the writes.
            let known = all.entry(key).or_insert(time);
            *known = (*known).max(time);
        }
        let mut rows = Vec::with_capacity(all.len() * ROW_BYTES);
        for (key, time) in all {
            // INVARIANT STP-2: the files contain times only of objects in the newest state.
            if state.get_by_prefix(&key, store)?.is_some() {
                rows.extend_from_slice(&key);
                rows.extend_from_slice(&time.to_le_bytes());
            }
        }
        Ok(rows)
    }

    /// Drops the times of objects that are not in `state`.
    pub(crate) fn retain(&mut self, state: &Trie, store: &Store) -> Result<()> {
        for (key, time) in std::mem::take(self).own {
            if state.get_by_prefix(&key, store)?.is_some() {
                self.own.insert(key, time);
            }
        }
        Ok(())
    }
}

/// Returns the rows of a file.
fn rows(file: Option<&Bytes>) -> &[[u8; ROW_BYTES]] {
    let file: &[u8] = file.map_or(&[], |file| file);
    file.get(HEADER_BYTES..).unwrap_or_default().as_chunks().0
}

/// Returns whether the file on disk has the same header as `known`, so the file was not written since.
fn is_of_header(opened: &Opened, name: &str, known: &Bytes) -> bool {
    let mut header = [0; HEADER_BYTES];
    let file = opened.disk.open(&format!("derived/{name}"), Access::Read);
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

//! An open checkpoint: a chain of files, each of which contains what is new since the files before it.
//!
//! A table of the checkpoint is the rows of all its files together. A node is in one of the files, and its place names
//! the file.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.
//!
//! # Invariants
//! - CKC-1: each file of a chain names the files before it, with their checksums. A chain is used only if it has exactly
//!   these files.
//! - CKC-2: the commits, states and gaps of a file follow those of the files before it.

use std::collections::HashMap;
use std::sync::Arc;

use super::files::damaged;
use super::header::{LINKS_MAX, Link, LogId, Section};
use super::part::Part;
use super::rows::{ChildRow, CommitRow, DigestRow, FirstWritten, Rows, StateRow, bisect, prefix_of};
use crate::digest::{DIGEST_LEN, HashSuite, KeyPath};
use crate::error::{Cause, Result};
use crate::log::{Fixed, Position};
use crate::object::HistoryTree;
use crate::store::commits::Gap;
use crate::trie::{NodeSource, StoredNode, Trie};

/// An open checkpoint.
#[derive(Clone)]
pub(crate) struct Checkpoint {
    /// The files, oldest first; at least one.
    parts: Vec<Arc<Part>>,
}

impl Checkpoint {
    /// Makes a checkpoint of the given files. Returns `None` if there are none.
    pub(super) fn of(parts: Vec<Arc<Part>>) -> Option<Self> {
        (!parts.is_empty()).then_some(Self { parts })
    }

    pub(super) fn extend(&mut self, parts: &[Arc<Part>]) {
        self.parts.extend_from_slice(parts);
    }

    pub(super) fn parts(&self) -> &[Arc<Part>] {
        &self.parts
    }

    /// Returns the links to the files, for a file that builds on them. Returns `None` if there are too many.
    pub(super) fn links(parts: &[Arc<Part>]) -> Option<Vec<Link>> {
        (parts.len() <= LINKS_MAX).then(|| parts.iter().map(|part| part.header().link()).collect())
    }

    pub(super) fn newest(&self) -> &Part {
        self.parts.last().expect("a checkpoint has a file")
    }

    /// Returns the path of the newest file, relative to the store.
    pub(crate) fn name(&self) -> &str {
        self.newest().name()
    }

    /// Returns the number of the newest file. Newer files have higher numbers.
    #[cfg(test)]
    pub(crate) fn number(&self) -> u64 {
        self.newest().header().number
    }

    /// Returns the identity of the log from which the checkpoint was made.
    pub(crate) fn log(&self) -> LogId {
        self.newest().header().log
    }

    /// Returns the position up to which the checkpoint covers the log. Opening the store reads the log from this
    /// position on.
    pub(crate) fn position(&self) -> Position {
        self.newest().header().position
    }

    /// Returns the number of kept versions of objects up to the position.
    pub(crate) fn versions(&self) -> u64 {
        self.newest().header().versions
    }

    /// Returns the number of erased versions of objects up to the position.
    pub(crate) fn erased(&self) -> u64 {
        self.newest().header().erased
    }

    fn part_of(&self, stored: &StoredNode) -> Option<(&Part, u64)> {
        let find = |part| Some((part, Part::node_offset(part, stored.place)?));
        self.parts.iter().rev().map(|part| &**part).find_map(find)
    }

    /// Returns whether a file of this checkpoint contains the node.
    pub(crate) fn has_node(&self, stored: &StoredNode) -> bool {
        self.part_of(stored).is_some()
    }

    /// Returns the states in this checkpoint, by rising `seq`. The last state is the state of the head.
    pub(crate) fn states(&self) -> Table<'_, StateRow> {
        Table::new(&self.parts, Section::States)
    }

    /// Returns the state of the newest commit.
    ///
    /// # Errors
    /// `Corrupt` if its row is damaged.
    pub(crate) fn head(&self) -> Result<Option<StateRow>> {
        self.last_state(self.parts.len())
    }

    /// Opens a state as a trie whose nodes are loaded from this checkpoint.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the state has one entry and its node cannot be read.
    pub(crate) fn trie(&self, state: &StateRow) -> Result<Trie> {
        Trie::from_stored(state.top(), self)
    }

    /// Returns the locators of records by digest: of objects if `of_objects` is true, or else of contents and texts.
    pub(crate) fn digests(&self, of_objects: bool) -> Table<'_, DigestRow> {
        let section = if of_objects {
            Section::Objects
        } else {
            Section::Texts
        };
        Table::new(&self.parts, section)
    }

    /// Returns an index of [`Self::commits`] by root if `by_root` is true, or else by digest. The values are row
    /// numbers. In each file, they rise among rows with the same root.
    pub(crate) fn commit_index(&self, by_root: bool) -> Table<'_, DigestRow> {
        let section = if by_root {
            Section::CommitsByRoot
        } else {
            Section::CommitsByDigest
        };
        Table::new(&self.parts, section)
    }

    /// Returns the kept commits, by rising `seq`.
    pub(crate) fn commits(&self) -> Table<'_, CommitRow> {
        Table::new(&self.parts, Section::Commits)
    }

    /// Returns the commit with this seq, if it is kept.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the commit's row cannot be read.
    #[cfg(test)]
    pub(crate) fn commit(&self, seq: u64) -> Result<Option<CommitRow>> {
        let commits = self.commits();
        let index = commits.count_before(|row| row.seq < seq)?;
        let found = (index < commits.len()).then(|| commits.row(index)).transpose()?;
        Ok(found.filter(|row| row.seq == seq))
    }

    /// Returns the first write times of ids that the newest state lacks. In each file, they are sorted by key.
    pub(crate) fn first_written_rows(&self) -> Table<'_, FirstWritten> {
        Table::new(&self.parts, Section::FirstWritten)
    }

    /// Returns the first write time of an id that an earlier state contained and the newest state lacks.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a row cannot be read.
    pub(crate) fn first_written(&self, key: &KeyPath) -> Result<Option<i64>> {
        let mut earliest = None;
        for rows in self.first_written_rows().by_part() {
            let found = rows.find(key, |row| row.key)?.map(|row| row.created);
            earliest = earliest.into_iter().chain(found).min();
        }
        Ok(earliest)
    }

    /// Returns the objects in the newest state that may be children of `parent`. The caller must confirm each object,
    /// because only the start of the parent's key path is stored.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a row cannot be read.
    pub(crate) fn children(&self, parent: &KeyPath) -> Result<Vec<KeyPath>> {
        let prefix = prefix_of(parent.as_bytes());
        let mut children = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            let rows: Rows<'_, ChildRow> = part.rows(Section::Children);
            let first = rows.count_before(|row| row.parent < prefix)?;
            for row in rows.iter_from(first) {
                let row = row?;
                if row.parent != prefix {
                    break;
                }
                if !is_replaced(&self.parts[index + 1..], &row.child)? {
                    children.push(row.child);
                }
            }
        }
        children.sort_unstable();
        Ok(children)
    }

    /// Returns the pairs of parent and child in the newest state, in no order.
    #[cfg(test)]
    pub(crate) fn child_rows(&self) -> Result<Vec<ChildRow>> {
        let mut found = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            for row in part.rows::<ChildRow>(Section::Children).iter() {
                let row = row?;
                if !is_replaced(&self.parts[index + 1..], &row.child)? {
                    found.push(row);
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the runs of thinned commits, in rising order.
    pub(crate) fn gaps(&self) -> Table<'_, Gap> {
        Table::new(&self.parts, Section::Gaps)
    }

    /// Returns the records of references up to the checkpoint's position, in the order of the log. Each item contains the
    /// batch number and the canonical bytes of the reference.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn references(&self) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut found = Vec::new();
        for part in &self.parts {
            found.append(&mut part.references()?);
        }
        Ok(found)
    }

    /// Returns all lines besides the main one, each as bytes.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a line cannot be read.
    pub(crate) fn lines(&self) -> Result<Vec<&[u8]>> {
        self.newest().lines()
    }

    /// Returns the history tree over all commits up to the checkpoint's position, including thinned commits.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the history tree cannot be read.
    pub(crate) fn history(&self) -> Result<HistoryTree> {
        self.newest().history()
    }

    /// Returns the place of every node by the node's digest.
    ///
    /// # Errors
    /// `Corrupt` if a node is damaged.
    pub(crate) fn nodes(&self) -> Result<HashMap<[u8; DIGEST_LEN], u64>> {
        let mut nodes = HashMap::new();
        for part in &self.parts {
            nodes.extend(part.nodes()?);
        }
        Ok(nodes)
    }
}

/// Returns whether one of the files replaces the rows of `child` in earlier files.
pub(super) fn is_replaced(newer: &[Arc<Part>], child: &KeyPath) -> Result<bool> {
    for part in newer.iter().rev() {
        let rows: Rows<'_, KeyPath> = part.rows(Section::Replaced);
        if rows.find(child, |key| *key)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

impl NodeSource for Checkpoint {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        match self.part_of(stored) {
            Some((part, offset)) => part.node(offset),
            None => Err(damaged(self.name(), 0, Cause::NodeOutside)),
        }
    }

    fn suite(&self) -> HashSuite {
        HashSuite::new(self.log().hash)
    }
}

/// The rows of one section in all files of a checkpoint.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a, R> {
    parts: &'a [Arc<Part>],
    section: Section,
    row: std::marker::PhantomData<R>,
}

impl<'a, R: Fixed> Table<'a, R> {
    fn new(parts: &'a [Arc<Part>], section: Section) -> Self {
        Self {
            parts,
            section,
            row: std::marker::PhantomData,
        }
    }

    /// Iterates the rows of each file, oldest file first.
    pub(super) fn by_part(&self) -> impl DoubleEndedIterator<Item = Rows<'a, R>> + use<'a, R> {
        let (parts, section) = (self.parts, self.section);
        parts.iter().map(move |part| part.rows(section))
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.by_part().map(|rows| rows.len()).sum()
    }

    /// Returns the row with this index.
    ///
    /// # Errors
    /// `Corrupt` if the index is too high, or if the row's block is damaged; `Io`.
    pub(crate) fn row(&self, index: u64) -> Result<R> {
        let mut before = self.len();
        for rows in self.by_part().rev() {
            before -= rows.len();
            if index >= before {
                return rows.row(index - before);
            }
        }
        let name = self.parts.last().map_or("", |part| part.name());
        Err(damaged(name, 0, Cause::RowMissing))
    }

    /// Iterates all rows: the rows of the oldest file first.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<R>> + 'a
    where
        R: 'a,
    {
        self.by_part().flat_map(Rows::iter)
    }

    /// Returns the number of leading rows for which `before` is true. Uses binary search, so the keys must rise across
    /// the files (CKC-2).
    ///
    /// # Errors
    /// The errors of [`Self::row`].
    pub(crate) fn count_before(&self, before: impl Fn(&R) -> bool) -> Result<u64> {
        bisect(0..self.len(), |index| Ok(before(&self.row(index)?)))
    }
}

impl<'a> Table<'a, DigestRow> {
    /// Returns the rows whose digest may be between `low` and `high`. In each file, they are in rising order. The caller
    /// must confirm each match, because only the first bytes of the digests are stored.
    ///
    /// # Errors
    /// The errors of [`Self::row`].
    pub(crate) fn between(
        self,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<impl Iterator<Item = Result<DigestRow>> + use<'a>> {
        let mut found = Vec::with_capacity(self.parts.len());
        for rows in self.by_part() {
            found.push(rows.between(low, high)?);
        }
        Ok(found.into_iter().flatten())
    }
}

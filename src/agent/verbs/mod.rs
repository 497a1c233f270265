//! The methods of [`Agent`] that search memory, render it, shorten it, and exchange it with files.
//!
//! # Layer
//! L7, inside `agent`.

mod guarded;
mod items;
mod sessions;

use super::agent::Agent;
use super::blocks::{self, BlockTexts, FoundFile, TakeBlocks, TakenBlocks};
use super::decay::{self, Decayed, Pass};
use super::envelope::{self, EnvelopeAnswer, EnvelopeRequest};
use super::import::{self, Foreign, ForeignTaken};
use super::remember::DuplicateIndex;
use super::scope::{Place, Reach};
use super::search::{self, RecallQuery, Recalled};
use crate::engine::{View, Writer};
use crate::error::Result;
use crate::object::Time;
use crate::recall::{Index, Scratch};

impl Agent {
    /// Answers `query` from the state of `view`, at the time of the view.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read; as [`Agent::with_index`].
    pub fn recall(&self, view: &View, query: &RecallQuery) -> Result<Recalled> {
        search::recall(self, view, query)
    }

    /// Gives `read` the recall index of the state of `view`. Others may read and write meanwhile.
    ///
    /// # Errors
    /// Those of `read`; `Corrupt` or `Io` if an object cannot be read; `InvalidInput` (code `over_limit`) after some
    /// thousand million words.
    pub fn with_index<T>(
        &self,
        view: &View,
        read: impl FnOnce(&Index, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        let (indexed, _) = self.recall_index().of(self.memory(), view)?;
        self.recall_index()
            .lend(|scratch| read(&indexed.value().index, scratch))
    }

    /// Renders the items for a prompt into one text, from one state.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn envelope(&self, view: &View, request: &EnvelopeRequest) -> Result<EnvelopeAnswer> {
        envelope::assemble(self, view, request)
    }

    /// Moves every item one level down that was not used for as long as the settings say. Reads all items. Pinned and
    /// expired items and items of a tree stay as they are.
    ///
    /// A text that cannot get shorter stays, and moves to the level below all the same.
    ///
    /// # Errors
    /// As [`Memory::commit`](crate::Memory::commit); earlier commits of the pass stay.
    pub fn decay(&self, pass: &Pass<'_>, writer: &Writer) -> Result<Decayed> {
        decay::run(self, pass, writer)
    }

    /// A pass of decay at `now`, by the actor `decay`.
    ///
    /// # Errors
    /// As [`Self::decay`].
    pub fn tick(&self, now: Option<Time>) -> Result<Decayed> {
        let pass = Pass {
            now,
            ..Pass::default()
        };
        self.decay(&pass, &Writer::user().actor("decay"))
    }

    /// Imports a file of another system, in one commit of the operation `import`.
    ///
    /// # Errors
    /// `InvalidInput` (code `unreadable`) if the whole file cannot be read; as a commit. A fault in a part of it is a
    /// finding.
    pub fn take_foreign(&self, foreign: &Foreign<'_>, writer: &Writer) -> Result<ForeignTaken> {
        import::take(self, foreign, writer)
    }

    /// Returns the files of the blocks in `reach`.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn block_texts(&self, view: &View, place: &Place, reach: &Reach) -> Result<BlockTexts> {
        blocks::texts(view, place, reach)
    }

    /// Whether overwriting a block file loses no edit: the file equals its block in `view`, or equals the block at the time
    /// in its line `updated`.
    ///
    /// # Errors
    /// As [`View::get`].
    pub fn is_unedited(&self, view: &View, place: &Place, path: &str, bytes: &[u8]) -> Result<bool> {
        blocks::is_unedited(self.memory(), view, place, path, bytes)
    }

    /// Imports edited block files, in one commit of the operation `import`.
    ///
    /// # Errors
    /// As a commit; `Denied` (code `less_trusted`): the writer would prune blocks that are more trusted. A fault in one
    /// file costs no other file.
    pub fn take_blocks(
        &self,
        files: &[FoundFile],
        take: &TakeBlocks,
        writer: &Writer,
    ) -> Result<TakenBlocks> {
        blocks::take(self, files, take, writer)
    }

    /// Keeps the recall index on disk for the next process if much changed since it was kept. Returns whether it did.
    ///
    /// # Errors
    /// `Io` if it cannot be written; with the code `read_only` for a handle that only reads.
    pub fn keep_index(&self) -> Result<bool> {
        self.recall_index().keep(self.memory())
    }

    /// Keeps the known texts on disk for the next process if much changed since they were kept. Returns whether it did.
    ///
    /// # Errors
    /// `Io` if they cannot be written; with the code `read_only` for a handle that only reads.
    pub fn keep_duplicate_index(&self) -> Result<bool> {
        DuplicateIndex::keep_newest(self.duplicate_index(), self.memory())
    }

    /// Keeps the recall index and the known texts on disk if that is worth it, and closes the memory.
    ///
    /// # Errors
    /// As [`Memory::close`](crate::Memory::close).
    pub fn close(self) -> Result<()> {
        // Both are derived: without them the next process takes longer.
        drop(self.keep_index());
        drop(self.keep_duplicate_index());
        self.memory().clone().close()
    }
}

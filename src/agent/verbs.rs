//! The methods of [`Agent`] whose work is in several files: each calls the function that does it.
//!
//! Recall, the envelope, notes, forgetting, trust and the guard have their methods beside the code.
//!
//! # Layer
//! L7, inside `agent`.

use super::agent::Agent;
use super::audit::{self, Audit, AuditRequest};
use super::blocks::{self, BlockTexts, FoundFile, TakeBlocks, TakenBlocks};
use super::decay::{self, Decayed, Pass};
use super::import::{self, Foreign, ForeignTaken};
use super::item::{Item, NewItem};
use super::remember::{
    self, DuplicateIndex, LinesBatch, LinesOptions, LinesRemembered, RememberOptions, Remembered,
};
use super::scope::{Place, Reach};
use super::session::{self, Append, Appended, DueSummary, EndPrompt, Ended, Summarised, SummaryRead};
use crate::engine::{View, Writer};
use crate::error::Result;
use crate::object::Time;
use crate::recall::{Index, Scratch};

impl Agent {
    /// Calls `read` with the recall index of the state of `view`. Other callers may read and write meanwhile.
    ///
    /// # Errors
    /// The errors of `read`; `Corrupt` or `Io` if an object cannot be read; `InvalidInput` (code `over_limit`) after
    /// some thousand million words.
    pub(crate) fn with_index<T>(
        &self,
        view: &View,
        read: impl FnOnce(&Index, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        let (indexed, _) = self.recall_index().of(self.memory(), view)?;
        self.recall_index()
            .lend(|scratch| read(&indexed.value().index, scratch))
    }

    /// Moves every item down one level that was unused for the time of the settings. Reads all items. Pinned and expired items and
    /// items of a tree stay unchanged.
    ///
    /// A text that cannot become shorter stays, and still moves to the level below.
    ///
    /// # Errors
    /// As [`Memory::commit`](crate::Memory::commit); earlier commits of the pass stay.
    pub fn decay(&self, pass: &Pass<'_>, writer: &Writer) -> Result<Decayed> {
        decay::run(self, pass, writer)
    }

    /// Runs a pass of decay at `now`, by the actor `decay`.
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

    /// Imports a file of another system in one commit of the operation `import`.
    ///
    /// # Errors
    /// `InvalidInput` (code `unreadable`) if the file cannot be read as a whole; also the errors of a commit. A fault
    /// in one part is a finding.
    pub(crate) fn take_foreign(&self, foreign: &Foreign<'_>, writer: &Writer) -> Result<ForeignTaken> {
        import::take(self, foreign, writer)
    }

    /// Returns the files of the blocks in `reach`.
    ///
    /// # Errors
    /// The errors of [`View::query`].
    pub(crate) fn block_texts(&self, view: &View, place: &Place, reach: &Reach) -> Result<BlockTexts> {
        blocks::texts(view, place, reach)
    }

    /// Returns whether overwriting a block file loses no edit. The file must equal its block in `view`, or the block at
    /// the time in its line `updated`.
    ///
    /// # Errors
    /// As [`View::get`].
    pub(crate) fn is_unedited(&self, view: &View, place: &Place, path: &str, bytes: &[u8]) -> Result<bool> {
        blocks::is_unedited(self.memory(), view, place, path, bytes)
    }

    /// Imports edited block files, in one commit of the operation `import`.
    ///
    /// # Errors
    /// The errors of a commit; `Denied` (code `less_trusted`): the writer would prune blocks that are more trusted. A
    /// fault in one file does not affect the others.
    pub(crate) fn take_blocks(
        &self,
        files: &[FoundFile],
        take: &TakeBlocks,
        writer: &Writer,
    ) -> Result<TakenBlocks> {
        blocks::take(self, files, take, writer)
    }

    /// Saves the recall index to disk for the next process if much changed since the last save. Returns whether it did.
    ///
    /// # Errors
    /// `Io` if it cannot be written, with the code `read_only` for a read-only handle.
    pub(crate) fn keep_index(&self) -> Result<bool> {
        self.recall_index().keep(self.memory())
    }

    /// Keeps the duplicate index on disk for the next process if much changed since it was kept. Returns whether it did.
    ///
    /// # Errors
    /// `Io` if the index cannot be written, with the code `read_only` for a read-only handle.
    pub(crate) fn keep_duplicate_index(&self) -> Result<bool> {
        DuplicateIndex::keep_newest(self.duplicate_index(), self.memory())
    }

    /// Keeps the recall index and the duplicate index on disk if much changed, and closes the memory.
    ///
    /// # Errors
    /// As [`Memory::close`](crate::Memory::close).
    pub fn close(self) -> Result<()> {
        // Errors are ignored, because both indexes are derived. Without them the next process only takes longer.
        drop(self.keep_index());
        drop(self.keep_duplicate_index());
        self.memory().clone().close()
    }

    /// The matching commits up to that of `view`, newest first. A filter by kind or id also reads the changes of each commit.
    pub(crate) fn audit(&self, view: &View, request: AuditRequest) -> Audit {
        audit::audit(self, view, request)
    }

    /// Remembers an item as one commit of op `remember`.
    ///
    /// An item without an id is not stored if another item of its scope and kind has the same text, is live, is not superseded, and
    /// is at least as trusted as the writer. Two concurrent writers may both store it.
    ///
    /// # Errors
    /// `Denied` (code `refused`): the scan blocks the item; (code `less_trusted`): it would replace a more trusted
    /// object; (code `not_owner`): it would replace an object of a session. `Conflict`: the version is not the expected
    /// one, the key was used for another text (code `key_taken`), or the id belongs to another scope (code
    /// `other_scope`). `NotFound`: an item that it supersedes does not exist. `InvalidInput`: it exceeds a quota (code
    /// `over_limit`) or is not a valid item. Also as [`Memory::commit`](crate::Memory::commit).
    pub fn remember(&self, item: NewItem, options: &RememberOptions, writer: &Writer) -> Result<Remembered> {
        remember::remember(self, item, options, writer)
    }

    /// Remembers items from lines of JSON, with one commit of op `remember` for each batch.
    ///
    /// A line with an id is always stored. A line without an id whose text exists counts as unchanged. There is no search for near
    /// duplicates.
    ///
    /// # Errors
    /// The errors of `lines`; as [`Memory::commit`](crate::Memory::commit). Earlier batches stay stored.
    pub fn remember_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
    ) -> Result<LinesRemembered> {
        remember::follow_lines(self, lines, options, writer, |_| ())
    }

    /// As [`Self::remember_lines`]; `progress` is called before and after the commit of each batch.
    pub(crate) fn follow_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
        progress: impl FnMut(&LinesBatch<'_>),
    ) -> Result<LinesRemembered> {
        remember::follow_lines(self, lines, options, writer, progress)
    }

    /// Appends entries to the transcript of a session, in one commit.
    ///
    /// # Errors
    /// `InvalidInput`: too many entries for one commit, or a wrong place for the session (`other_scope`,
    /// `other_parent`, `cycle`, `over_limit`). `Denied` (code `less_trusted`): a writer who is neither the person nor
    /// the host names the person, or gives a parent to a session that one of them created; (code `refused`): a name
    /// fails the review. Also the errors of a commit.
    pub fn append(&self, append: &Append, writer: &Writer) -> Result<Appended> {
        session::follow_append(self, append, writer, |_| ())
    }

    /// As [`Self::append`]; `progress` is called with the answer before each attempt to commit.
    pub(crate) fn follow_append(
        &self,
        append: &Append,
        writer: &Writer,
        progress: impl FnMut(&Appended),
    ) -> Result<Appended> {
        session::follow_append(self, append, writer, progress)
    }

    /// Returns the entries of a session in their order (SAE-1).
    ///
    /// # Errors
    /// `InvalidInput` (code `other_scope`) if the session is out of reach; as [`View::query`].
    pub fn entries(
        &self,
        view: &View,
        reach: &Reach,
        session: &str,
    ) -> Result<impl Iterator<Item = Result<Item>> + use<>> {
        session::entries(view, reach, session)
    }

    /// Returns the prompt for a model at the end of a session. `is_enabled` decides whether facts are extracted from
    /// this session; without it the settings decide.
    ///
    /// # Errors
    /// `NotFound` (code `no_session`) if the session does not exist; `InvalidInput` (code `other_scope`) if it is out
    /// of reach; as [`View::query`].
    pub(crate) fn end_prompt(
        &self,
        view: &View,
        reach: &Reach,
        session: &str,
        is_enabled: Option<bool>,
    ) -> Result<EndPrompt> {
        session::end_prompt(self, view, reach, session, is_enabled)
    }

    /// Ends a session with a model's reply. Without a reply the episode is made of sentences of the session, and no fact is stored.
    ///
    /// # Errors
    /// `NotFound` (code `no_session`) if the session does not exist; `InvalidInput` (code `other_scope`) if it is out
    /// of reach; `Denied` (code `less_trusted`): an untrusted writer ends a session whose episode is more trusted; also
    /// the errors of a commit. An unreadable reply is not an error.
    pub(crate) fn end_session(
        &self,
        reach: &Reach,
        session: &str,
        reply: Option<&str>,
        is_enabled: Option<bool>,
        writer: &Writer,
    ) -> Result<Ended> {
        session::end_session(self, reach, session, reply, is_enabled, writer)
    }

    /// Returns the due summaries of a session: past time spans with an entry that no summary covers.
    /// Weeks and months wait for the summaries of their days.
    ///
    /// # Errors
    /// `InvalidInput` (code `other_scope`) if the session is out of reach; as [`View::query`].
    pub(crate) fn due_summaries(&self, view: &View, reach: &Reach, session: &str) -> Result<Vec<DueSummary>> {
        session::due_summaries(view, reach, session)
    }

    /// Writes the due summaries in one commit. `host` may give each text; otherwise sentences of the entries form it.
    ///
    /// # Errors
    /// The errors of `host`; `InvalidInput` if the id of a summary belongs to another object (code `id_taken`), or the
    /// session is out of reach (`other_scope`); `Denied` (code `less_trusted`): an untrusted writer replaces a summary
    /// that is more trusted; also the errors of a commit.
    pub(crate) fn summarise(
        &self,
        reach: &Reach,
        session: &str,
        host: &mut dyn FnMut(&DueSummary) -> Result<Option<String>>,
        writer: &Writer,
    ) -> Result<Summarised> {
        session::summarise(self, reach, session, host, writer)
    }

    /// Returns the summaries of a session that match `query`, in order of time. With `when`, it returns only the
    /// nearest summary before that time, those that cover it, and the nearest one after it.
    ///
    /// # Errors
    /// `InvalidInput` (code `other_scope`) if the session is out of reach; as [`View::query`].
    pub(crate) fn session_summaries(
        &self,
        view: &View,
        reach: &Reach,
        session: &str,
        query: &str,
        when: Option<Time>,
    ) -> Result<Vec<SummaryRead>> {
        session::session_summaries(view, reach, session, query, when)
    }
}

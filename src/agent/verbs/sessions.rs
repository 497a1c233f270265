//! The methods of [`Agent`] for notes and sessions.
//!
//! # Layer
//! L7, inside `agent`.

use super::super::agent::Agent;
use super::super::item::Item;
use super::super::notes::{self, NewNote, NoteFound, NoteRead, NoteWritten};
use super::super::scope::Reach;
use super::super::session::{self, Append, Appended, DueSummary, EndPrompt, Ended, Summarised, SummaryRead};
use crate::engine::{CommitInfo, View, Writer};
use crate::error::Result;
use crate::object::{Id, Scope, Time};

impl Agent {
    /// Returns the note `id` of `scope`; `None` if there is none.
    ///
    /// # Errors
    /// As [`View::get`].
    pub fn find_note(&self, view: &View, id: &Id, scope: &Scope) -> Result<Option<NoteRead>> {
        notes::find_note(view, id, scope)
    }

    /// The same, and keeps that the note was read now, which lifts it in [`Self::search_notes`]. Nothing is kept of a note
    /// that is not there.
    ///
    /// # Errors
    /// As [`View::get`].
    pub fn read_note(&self, view: &View, id: &Id, scope: &Scope) -> Result<Option<NoteRead>> {
        notes::read_note(self, view, id, scope)
    }

    /// Returns the notes of `scope`, newest first; only those that belong to the root of `session`, if one is named.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn notes(&self, view: &View, scope: &Scope, session: Option<&str>) -> Result<Vec<NoteRead>> {
        notes::notes(view, scope, session)
    }

    /// Returns at most `limit` notes of `scope` that fit `query`, best first: by words, freshness, and when they were read;
    /// those of the root of `session` before others with the same score.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn search_notes(
        &self,
        view: &View,
        query: &str,
        scope: &Scope,
        session: &str,
        limit: usize,
    ) -> Result<Vec<NoteFound>> {
        notes::search_notes(self, view, query, scope, session, limit)
    }

    /// Writes a note.
    ///
    /// # Errors
    /// `Denied` (code `not_owner`) if the note to be replaced belongs to another session, (`less_trusted`) if a note that would
    /// go is more trusted than the writer, (`refused`) if the scan refuses the text; `InvalidInput` if the text is empty and nothing is to be replaced, or the id belongs to something
    /// else (`id_taken`); as a commit.
    pub fn write_note(&self, note: &NewNote, writer: &Writer) -> Result<NoteWritten> {
        notes::write_note(self, note, writer)
    }

    /// Deletes the note `id` of `scope`, whichever session wrote it. Answers whether there was one, and the commit.
    ///
    /// # Errors
    /// `InvalidInput` (code `id_taken`) if the id belongs to something that is no note; `Denied` (code `less_trusted`) if it is
    /// more trusted than the writer; as a commit.
    pub fn delete_note(&self, id: &Id, scope: &Scope, writer: &Writer) -> Result<(bool, CommitInfo)> {
        notes::delete_note(self, id, scope, writer)
    }

    /// Appends entries to the transcript of a session, in one commit.
    ///
    /// # Errors
    /// `InvalidInput`: too many entries for a commit, or as a session's place says (`other_scope`, `other_parent`,
    /// `cycle`, `over_limit`). `Denied` (code `less_trusted`): a writer who is neither the person nor the host says who the
    /// person is, or puts a session of theirs below another; code `refused`: a name holds what no name may. As a commit.
    pub fn append(&self, append: &Append, writer: &Writer) -> Result<Appended> {
        session::follow_append(self, append, writer, |_| ())
    }

    /// As [`Self::append`]; `told` hears before each try to commit what the answer will be.
    pub(crate) fn follow_append(
        &self,
        append: &Append,
        writer: &Writer,
        told: impl FnMut(&Appended),
    ) -> Result<Appended> {
        session::follow_append(self, append, writer, told)
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

    /// Returns the prompt for a model at the end of a session. With `is_enabled` the host decides for this session whether facts
    /// are extracted, else the settings do.
    ///
    /// # Errors
    /// `NotFound` (code `no_session`) if there is no such session; `InvalidInput` (code `other_scope`) if it is out of reach; as
    /// [`View::query`].
    pub fn end_prompt(
        &self,
        view: &View,
        reach: &Reach,
        session: &str,
        is_enabled: Option<bool>,
    ) -> Result<EndPrompt> {
        session::end_prompt(self, view, reach, session, is_enabled)
    }

    /// Ends a session with a model's reply, or without one: then the episode is made of sentences of the session, and
    /// nothing is learned.
    ///
    /// # Errors
    /// `NotFound` (code `no_session`) if there is no such session; `InvalidInput` (code `other_scope`) if it is out of reach; as
    /// a commit; `Denied` (code `less_trusted`): an untrusted writer ends a session whose episode is more trusted. A reply that
    /// cannot be read is no error.
    pub fn end_session(
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
    pub fn due_summaries(&self, view: &View, reach: &Reach, session: &str) -> Result<Vec<DueSummary>> {
        session::due_summaries(view, reach, session)
    }

    /// Writes the due summaries in one commit. `host` may give each text; else it is made of sentences of the entries.
    ///
    /// # Errors
    /// What `host` returns; `InvalidInput` if the id of a summary belongs to something else (code `id_taken`), or the session is
    /// out of reach (`other_scope`); `Denied` (code `less_trusted`): an untrusted writer replaces a summary that is more trusted; as a
    /// commit.
    pub fn summarise(
        &self,
        reach: &Reach,
        session: &str,
        host: &mut dyn FnMut(&DueSummary) -> Result<Option<String>>,
        writer: &Writer,
    ) -> Result<Summarised> {
        session::summarise(self, reach, session, host, writer)
    }

    /// Returns the summaries of a session that fit `query` in order of time: all of them, or what lies around `when`, which is
    /// the nearest one before, those of that very stretch, and the nearest one after.
    ///
    /// # Errors
    /// `InvalidInput` (code `other_scope`) if the session is out of reach; as [`View::query`].
    pub fn session_summaries(
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

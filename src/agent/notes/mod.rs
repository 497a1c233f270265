//! Notes of sessions: the owner writes and replaces them, and every session of the project can find them.
//!
//! A note is an object of the kind `note` in the scope of its project. Its attribute `owner` names the root session of
//! the session that wrote the note. The root session is the topmost ancestor of a session. Notes never expire.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! Only sessions with the same root may replace a note. Any session of the project may delete a note, because a
//! deletion can be undone and is in the log.
//!
//! # Limits
//! - `note` and `remember` check the owner of a note or session (`not_owner`); `put` and a guarded draft do not.
//!
//! # Invariants
//! - NTR-1: reading makes no commit, leaves the root unchanged, and returns notes of one scope only.
//! - NTW-1: a write replaces only notes of the same scope and owner.
//! - NTW-2: a replaced note keeps its id and its creation time.
//! - NTW-3: a write removes or replaces no note that is more trusted than the writer. In a tainted session, a write
//!   replaces no trusted note.

pub(crate) mod rank;

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::rank::{NoteFound, NoteRead};
use self::rank::{rank_notes, snippet};
use crate::agent::Agent;
use crate::agent::change::review::refusal;
use crate::agent::change::{Change, Fate, Rule, admit, change};
use crate::agent::item::{Item, NewItem, known_kind};
use crate::agent::session::root_session;
use crate::agent::stored_text::clean;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::ObjectDigest;
use crate::engine::{CommitInfo, Query, Staged, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object, Origin, Scope};
use treering_text::scan::Verdict;

/// Checks whether an object is a note of this scope.
fn is_note_in(object: &Object, scope: &Scope) -> bool {
    object.kind() == kind::NOTE && object.scope() == scope.as_str()
}

/// Returns the notes of a scope. With `owner`, returns only the notes of that root session.
fn note_objects(
    view: &View,
    scope: &Scope,
    owner: Option<&str>,
) -> Result<impl Iterator<Item = Result<Object>> + use<>> {
    let notes = Query::default().kind(known_kind(kind::NOTE)).scope(scope.clone());
    let mut notes = notes.with_expired();
    if let Some(owner) = owner {
        notes = notes.attribute(attribute::OWNER, owner);
    }
    view.query(&notes)
}

/// Returns the note `id` of `scope`, or `None` if it does not exist.
///
/// # Errors
/// The errors of [`View::get`].
pub fn find_note(view: &View, id: &Id, scope: &Scope) -> Result<Option<NoteRead>> {
    let found = view.get(id)?.filter(|object| is_note_in(object, scope));
    found.map(|object| note_read(view, object)).transpose()
}

impl Agent {
    /// Returns a note of a scope. Also records the time of the read, which raises the score of the note in
    /// [`Self::search_notes`]. A read of a missing note is not recorded.
    ///
    /// # Errors
    /// The errors of [`View::get`].
    pub fn read_note(&self, view: &View, id: &Id, scope: &Scope) -> Result<Option<NoteRead>> {
        let found = find_note(view, id, scope)?;
        if found.is_some() {
            self.memory().touch([id], view.now());
        }
        Ok(found)
    }

    /// Returns the notes of `scope`, newest first. With `session`, returns only the notes that the root of that session
    /// owns.
    ///
    /// # Errors
    /// The errors of [`View::query`].
    pub fn notes(&self, view: &View, scope: &Scope, session: Option<&str>) -> Result<Vec<NoteRead>> {
        let owner = session.map(|session| root_session(view, session)).transpose()?;
        let mut notes = note_objects(view, scope, owner.as_deref())?
            .map(|object| note_read(view, object?))
            .collect::<Result<Vec<_>>>()?;
        notes.sort_by_cached_key(|note| (Reverse(note.updated), note.id().clone()));
        Ok(notes)
    }

    /// Returns at most `limit` notes of `scope` that match `query`, best first. The score combines matching words,
    /// freshness and the last read. Among equal scores, the notes that the root of `session` owns come first.
    ///
    /// # Errors
    /// The errors of [`View::query`].
    pub fn search_notes(
        &self,
        view: &View,
        query: &str,
        scope: &Scope,
        session: &str,
        limit: usize,
    ) -> Result<Vec<NoteFound>> {
        let own = root_session(view, session)?;
        let notes = self.notes(view, scope, None)?;
        let settings = &self.settings().notes;
        let mut found = rank_notes(query, notes, &own, view.now(), settings);
        found.truncate(limit);
        for one in &mut found {
            // INVARIANT STX-1: a snippet shows no secret, not even a part that the scan does not recognise.
            let (text, _) = clean(self, one.note.item.text(), one.note.item.object().origin());
            one.snippet = snippet(&text, query, settings);
        }
        Ok(found)
    }

    /// Writes a note.
    ///
    /// # Errors
    /// `Denied`: the note to replace belongs to another session (code `not_owner`), a note to remove is more trusted
    /// than the writer (`less_trusted`), or the scan refuses the text (`refused`). `InvalidInput`: the text is empty
    /// and `replace` is `None`, or the id belongs to another kind of object (`id_taken`). Also the errors of a
    /// commit.
    ///
    /// # Example
    /// ```
    /// use treering::agent::{Agent, NewNote, Settings};
    /// use treering::{Memory, Scope, Writer};
    ///
    /// let agent = Agent::new(Memory::in_memory()?, Settings::default());
    /// let (garden, model) = (Scope::new("garden")?, Writer::model("agent").session("monday"));
    /// let note = NewNote {
    ///     text: "Ask about the greenhouse.".to_owned(),
    ///     scope: garden.clone(),
    ///     session: "monday".to_owned(),
    ///     replace: None,
    /// };
    /// let id = agent.write_note(&note, &model)?.id.unwrap();
    ///
    /// // Every session of the project finds it.
    /// let found = agent.search_notes(&agent.memory().view(), "greenhouse", &garden, "tuesday", 5)?;
    /// assert_eq!(found[0].note.item.object().id(), &id);
    /// assert!(!found[0].is_own);
    /// agent.delete_note(&id, &garden, &model)?;
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn write_note(&self, note: &NewNote, writer: &Writer) -> Result<NoteWritten> {
        admit(self, writer, writer.trust, Some(&note.session))?;
        if note.text.trim().is_empty() && note.replace.is_none() {
            return Err(Error::invalid("the note is empty").with_hint("give the note a text"));
        }
        let done = change(self, writer, &Rule::NOTE, |change| {
            stage_note(change, note, writer)
        })?;
        Ok(NoteWritten {
            held: done.held.into_iter().next(),
            commit: done.committed.commit,
            ..done.value
        })
    }

    /// Deletes the note `id` of `scope`, even if another session wrote it. Returns whether the note existed, and the
    /// commit.
    ///
    /// # Errors
    /// `InvalidInput` (code `id_taken`) if the id belongs to an object that is not a note; `Denied` (code
    /// `less_trusted`) if the note is more trusted than the writer; also the errors of a commit.
    pub fn delete_note(&self, id: &Id, scope: &Scope, writer: &Writer) -> Result<(bool, CommitInfo)> {
        let done = change(self, writer, &Rule::NOTE, |change| remove_note(change, id, scope))?;
        Ok((done.value, done.committed.commit))
    }
}

fn note_read(view: &View, object: Object) -> Result<NoteRead> {
    let id = object.id().clone();
    let (created, updated) = view.stamps(&id)?.unzip();
    let item = Item::from(object);
    Ok(NoteRead {
        owner: item.owner(),
        item,
        created,
        updated,
        read: view.last_used(&id)?,
    })
}

/// The notes that a new note replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replace {
    /// The note with this id, if the note exists.
    One(Id),
    /// Every note of the scope with the same owner.
    Own,
}

/// A note to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    /// The text. An empty text only removes the notes in [`Self::replace`].
    pub text: String,
    /// The scope of the note: the scope of its project.
    pub scope: Scope,
    /// The session that writes the note. The root of this session owns the note.
    pub session: String,
    /// The notes that the new note replaces.
    pub replace: Option<Replace>,
}

named! {
    /// The result of a write.
    pub enum NoteAction {
        /// A new note was written.
        Created => "created",
        /// The note replaced an earlier text or other notes.
        Replaced => "replaced",
        /// The note already has this text.
        Unchanged => "unchanged",
        /// The notes in `replace` were removed, and no note was written.
        Deleted => "deleted",
        /// The whole write is in quarantine, and the state is unchanged.
        Quarantined => "quarantined",
    }
}

/// The answer to [`Agent::write_note`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NoteWritten {
    /// The id of the note; `None` if the write only removed notes.
    pub id: Option<Id>,
    /// The result of the write.
    pub action: NoteAction,
    /// The version of the note; `None` if no note was stored.
    pub digest: Option<ObjectDigest>,
    /// The root session that owns the note.
    pub owner: String,
    /// The scope of the note.
    pub scope: Scope,
    /// The number of removed notes.
    pub cleared: u64,
    /// The verdict of the scan.
    pub verdict: Verdict,
    /// The rules of the scan that matched.
    pub rules: Vec<&'static str>,
    /// The name of the draft under `rejected/` that contains the quarantined note.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

fn stage_note(change: &mut Change<'_>, note: &NewNote, writer: &Writer) -> Result<NoteWritten> {
    change.enter(Some(&note.session));
    let owner = root_session(change.base(), &note.session)?;
    let is_empty = note.text.trim().is_empty();
    let mut target = None;
    let mut cleared = 0;
    let mut is_there = false;
    match &note.replace {
        Some(Replace::One(id)) if is_empty => {
            cleared = u64::from(remove_note(change, id, &note.scope)?);
        }
        Some(Replace::One(id)) => {
            check_owner(change, id, &note.scope, &owner)?;
            is_there = change.get(id)?.is_some();
            target = Some(id.clone());
        }
        Some(Replace::Own) => {
            for found in note_objects(change.base(), &note.scope, Some(&owner))? {
                let found = found?;
                check_trust(change, &found)?;
                change.remove(found.id())?;
                cleared += 1;
            }
        }
        None => {}
    }
    let mut written = NoteWritten {
        action: NoteAction::Deleted,
        id: None,
        digest: None,
        owner,
        scope: note.scope.clone(),
        cleared,
        verdict: Verdict::Allow,
        rules: Vec::new(),
        held: None,
        commit: change.base().commit(),
    };
    if is_empty {
        return Ok(written);
    }
    let id = match target {
        Some(id) => id,
        None => change.new_id(&note.scope, &known_kind(kind::NOTE))?,
    };
    let mut item = NewItem::new(note.text.clone());
    item.kind = known_kind(kind::NOTE);
    item.scope = note.scope.clone();
    item.session = Some(note.session.clone());
    item.source.clone_from(&writer.source);
    drop(item.others.insert(attribute::OWNER, written.owner.as_str()));
    let passed = change.put(id.clone(), item, writer.trust, |_| {})?;
    written.action = match passed.fate {
        Fate::Refused => return Err(refusal(&passed.rules)),
        // A quarantined note replaces no other note.
        Fate::Held => {
            change.keep_only_held();
            written.cleared = 0;
            NoteAction::Quarantined
        }
        Fate::Staged(Staged::Unchanged) => NoteAction::Unchanged,
        Fate::Staged(_) if is_there || cleared > 0 => NoteAction::Replaced,
        Fate::Staged(_) => NoteAction::Created,
    };
    if written.action != NoteAction::Quarantined {
        written.digest = change.digest(&id)?;
    }
    written.id = Some(id);
    (written.verdict, written.rules) = (passed.verdict, passed.rules);
    Ok(written)
}

/// Stages the removal of a note of this scope. Returns false if the note does not exist.
fn remove_note(change: &mut Change<'_>, id: &Id, scope: &Scope) -> Result<bool> {
    match change.get(id)? {
        None => Ok(false),
        Some(object) if is_note_in(&object, scope) => change.remove(id),
        Some(_) => Err(taken(id)),
    }
}

/// Fails if a note to replace is more trusted than the writer or the session of the change (NTW-3).
fn check_trust(change: &Change<'_>, note: &Object) -> Result<()> {
    let class = change.class_of(Origin::DirectUser)?;
    if !note.origin().is_above(class) {
        return Ok(());
    }
    let message = format!(
        "a text of class {class} may not replace the more trusted note '{}'",
        note.id()
    );
    Err(Error::denied(ErrorCode::LessTrusted, message)
        .with_ids(vec![note.id().to_string()])
        .with_hint("write a new note that replaces nothing"))
}

/// Fails if the object with this id is not a note of the same scope and owner (NTW-1).
fn check_owner(change: &Change<'_>, id: &Id, scope: &Scope, owner: &str) -> Result<()> {
    let Some(object) = change.get(id)? else {
        return Ok(());
    };
    if !is_note_in(&object, scope) {
        return Err(taken(id));
    }
    check_trust(change, &object)?;
    match Item::from(object).owner() {
        Some(other) if other != owner => Err(Error::denied(
            ErrorCode::NotOwner,
            format!("only the session '{other}' may replace the note '{id}'"),
        )
        .with_hint("delete that note, or write a new note")),
        _ => Ok(()),
    }
}

fn taken(id: &Id) -> Error {
    Error::invalid(format!(
        "the id '{id}' belongs to an object that is not a note of this scope"
    ))
    .with_code(ErrorCode::IdTaken)
    .with_hint("choose another id; `note list` lists the notes")
}

#[cfg(test)]
mod tests;

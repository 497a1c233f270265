//! Notes, transcripts and summaries.
//!
//! # Layer
//! L8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::notes::{NoteFound, NoteRead};
use crate::agent::session::summaries::{Bucket, Granularity};
use crate::agent::session::{Appended, DueSummary, EndPrompt, Ended, FactFate, SummaryRead};
use crate::digest::ObjectDigest;
use crate::engine::CommitInfo;
use crate::object::{Id, Object, Origin, Scope, Time};
use crate::scan::Verdict;

/// A note, as `note read` and a line of `note list` show it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NoteLine {
    pub(crate) id: String,
    pub(crate) text: String,
    #[serde(flatten)]
    pub(crate) about: AboutNote,
}

/// Everything about a note but its text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AboutNote {
    pub(crate) owner: Option<String>,
    pub(crate) scope: String,
    pub(crate) created: Option<Time>,
    pub(crate) updated: Option<Time>,
    pub(crate) read: Option<Time>,
    pub(crate) origin: Origin,
    pub(crate) digest: ObjectDigest,
    pub(crate) flags: Vec<String>,
    #[serde(skip)]
    pub(crate) object: Object,
}

impl From<NoteRead> for NoteLine {
    fn from(note: NoteRead) -> Self {
        Self {
            id: note.item.object().id().to_owned(),
            text: note.item.text().to_owned(),
            about: note.into(),
        }
    }
}

impl From<NoteRead> for AboutNote {
    fn from(note: NoteRead) -> Self {
        let object = note.item.object();
        Self {
            owner: note.owner,
            scope: object.scope().to_owned(),
            created: note.created,
            updated: note.updated,
            read: note.read,
            origin: object.origin(),
            digest: object.digest(),
            flags: note.item.flags(),
            object: object.clone(),
        }
    }
}

/// A note that fits a query, as a line of `note search`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NoteHit {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) about: AboutNote,
    pub(crate) score: f64,
    pub(crate) snippet: String,
    pub(crate) own: bool,
}

impl From<NoteFound> for NoteHit {
    fn from(found: NoteFound) -> Self {
        Self {
            id: found.note.item.object().id().to_owned(),
            about: found.note.into(),
            score: found.score,
            snippet: found.snippet,
            own: found.is_own,
        }
    }
}

/// The answer of `note delete`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NoteDeleted {
    pub(crate) deleted: bool,
    pub(crate) id: Id,
    pub(crate) scope: Scope,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// The answer of `session append`: all batches together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntriesAppended {
    pub(crate) session: String,
    pub(crate) root_session: String,
    pub(crate) scope: Scope,
    pub(crate) appended: u64,
    pub(crate) flagged: u64,
    pub(crate) first: Option<Id>,
    pub(crate) last: Option<Id>,
    pub(crate) not_stored: Vec<EntryRefused>,
    pub(crate) held: Vec<String>,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
    /// The entries that were read.
    #[serde(skip)]
    pub(crate) seen: usize,
}

/// An entry that the scan kept out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntryRefused {
    /// Its place among the entries of the call, from 0.
    pub(crate) place: usize,
    pub(crate) verdict: Verdict,
    pub(crate) rules: Vec<&'static str>,
}

impl EntriesAppended {
    /// The first batch of a session.
    pub(crate) fn new(session: String, batch: Appended) -> Self {
        let mut all = Self {
            session,
            root_session: batch.root_session.clone(),
            scope: batch.scope.clone(),
            appended: 0,
            flagged: 0,
            first: batch.ids.first().cloned(),
            last: None,
            not_stored: Vec::new(),
            held: Vec::new(),
            commit: batch.commit.clone(),
            seen: 0,
        };
        all.add(batch);
        all
    }

    /// Adds the next batch.
    pub(crate) fn add(&mut self, batch: Appended) {
        let seen = self.seen;
        self.seen += batch.ids.len() + batch.not_stored.len();
        self.appended += batch.ids.len() as u64;
        self.flagged += batch.flagged;
        self.first = self.first.take().or_else(|| batch.ids.first().cloned());
        self.last = batch.ids.last().cloned().or_else(|| self.last.take());
        let refused = batch.not_stored.into_iter().map(|one| EntryRefused {
            place: seen + one.place,
            verdict: one.verdict,
            rules: one.rules,
        });
        self.not_stored.extend(refused);
        self.held.extend(batch.held);
        (self.root_session, self.scope, self.commit) = (batch.root_session, batch.scope, batch.commit);
    }
}

/// The answer of `session end` without a reply.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Prompt {
    pub(crate) session: String,
    pub(crate) prompt: String,
    /// Why nothing would be learned.
    pub(crate) gate: Option<String>,
    pub(crate) turns: usize,
    pub(crate) entries: u64,
    pub(crate) trusted: bool,
}

impl Prompt {
    /// The prompt for the end of a session.
    pub(crate) fn new(session: String, prompt: EndPrompt) -> Self {
        Self {
            session,
            prompt: prompt.prompt,
            gate: prompt.gate.map(|gate| gate.to_string()),
            turns: prompt.turns,
            entries: prompt.entries,
            trusted: prompt.is_trusted,
        }
    }
}

/// The answer of `session end`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionEnded {
    pub(crate) session: String,
    /// Why the reply changed nothing.
    pub(crate) reason: Option<String>,
    pub(crate) episode: Option<Id>,
    pub(crate) facts: Vec<FactLine>,
    /// Parts of the reply that are not facts.
    pub(crate) skipped: Vec<PartSkipped>,
    pub(crate) held: Option<String>,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// A fact of the reply.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FactLine {
    pub(crate) about: &'static str,
    pub(crate) text: String,
    /// stored, known, quarantined or refused
    pub(crate) fate: &'static str,
    pub(crate) id: Option<Id>,
    pub(crate) reason: Option<String>,
}

/// A part of the reply that is not a fact.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PartSkipped {
    pub(crate) place: usize,
    pub(crate) reason: String,
}

impl SessionEnded {
    /// What became of a session.
    pub(crate) fn new(session: String, ended: Ended) -> Self {
        let facts = ended.facts.into_iter().map(|(fact, fate)| FactLine {
            about: fact.scope.name(),
            text: fact.text,
            fate: fate.name(),
            id: match &fate {
                FactFate::Stored(id) => Some(id.clone()),
                _ => None,
            },
            reason: match fate {
                FactFate::Quarantined(reason) | FactFate::Refused(reason) => Some(reason),
                FactFate::Stored(_) | FactFate::Known => None,
            },
        });
        let skipped = ended.skipped.into_iter().map(|one| PartSkipped {
            place: one.place,
            reason: one.reason.to_string(),
        });
        Self {
            session,
            reason: ended.reason,
            episode: ended.episode,
            facts: facts.collect(),
            skipped: skipped.collect(),
            held: ended.held,
            commit: ended.commit,
        }
    }
}

/// A summary, as a line of `session summaries`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SummaryLine {
    pub(crate) id: String,
    pub(crate) bucket: Bucket,
    pub(crate) granularity: Granularity,
    pub(crate) text: String,
    pub(crate) score: f64,
    pub(crate) origin: Origin,
    pub(crate) time: Option<Time>,
}

impl From<SummaryRead> for SummaryLine {
    fn from(summary: SummaryRead) -> Self {
        let object = summary.item.object();
        Self {
            id: object.id().to_owned(),
            bucket: summary.bucket,
            granularity: summary.bucket.granularity(),
            text: summary.item.text().to_owned(),
            score: summary.score,
            origin: object.origin(),
            time: object.event_time(),
        }
    }
}

/// A summary that is due, as a line of `session summaries --due`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DueLine {
    pub(crate) bucket: Bucket,
    pub(crate) granularity: Granularity,
    pub(crate) text: String,
    pub(crate) entries: usize,
    pub(crate) unseen: usize,
    pub(crate) left_out: usize,
}

impl From<DueSummary> for DueLine {
    fn from(due: DueSummary) -> Self {
        Self {
            bucket: due.bucket,
            granularity: due.bucket.granularity(),
            text: due.text,
            entries: due.entries,
            unseen: due.unseen,
            left_out: due.left_out,
        }
    }
}

/// A session, as a line of `session list`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionLine {
    pub(crate) session: String,
    pub(crate) scope: String,
    pub(crate) parent: Option<String>,
    pub(crate) root_session: String,
    pub(crate) objects: u64,
    pub(crate) created: Option<Time>,
    pub(crate) updated: Option<Time>,
}

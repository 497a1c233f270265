//! The answers of `note` and `session`.
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use treering::agent::{Agent, Appended, NotStored, NoteFound, NoteRead, StoredText};
use treering::inspect::agent::session::SummaryRead;
use treering::inspect::agent::session::summaries::{Bucket, Granularity};
use treering::{CommitInfo, ObjectDigest};
use treering::{Id, Origin, Scope, Time};

/// A note, as the answer of `note read` and as a line of `note list`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NoteLine {
    #[serde(flatten)]
    pub(crate) about: AboutNote,
    #[serde(flatten)]
    pub(crate) shown: StoredText,
}

/// The fields of a note beside its text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AboutNote {
    pub(crate) id: String,
    pub(crate) owner: Option<String>,
    pub(crate) scope: String,
    pub(crate) created: Option<Time>,
    pub(crate) updated: Option<Time>,
    pub(crate) read: Option<Time>,
    pub(crate) origin: Origin,
    pub(crate) digest: ObjectDigest,
}

impl NoteLine {
    /// Returns the line of a note. Withholds an untrusted text unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, note: NoteRead, with_untrusted: bool) -> Self {
        Self {
            shown: StoredText::of(agent, note.item.object(), with_untrusted),
            about: note.into(),
        }
    }
}

impl From<NoteRead> for AboutNote {
    fn from(note: NoteRead) -> Self {
        let object = note.item.object();
        Self {
            id: object.id().to_string(),
            owner: note.owner,
            scope: object.scope().to_owned(),
            created: note.created,
            updated: note.updated,
            read: note.read,
            origin: object.origin(),
            digest: object.digest(),
        }
    }
}

/// A note that matches a query, as a line of `note search`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NoteHit {
    #[serde(flatten)]
    pub(crate) about: AboutNote,
    pub(crate) trust: Origin,
    pub(crate) flags: Vec<String>,
    pub(crate) withheld: bool,
    pub(crate) score: f64,
    /// The part of the text around the match. Null if the text is withheld.
    pub(crate) snippet: Option<String>,
    pub(crate) own: bool,
}

impl NoteHit {
    /// Returns the line of a hit. Withholds an untrusted text unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, found: NoteFound, with_untrusted: bool) -> Self {
        let shown = StoredText::of(agent, found.note.item.object(), with_untrusted);
        Self {
            about: found.note.into(),
            trust: shown.trust,
            flags: shown.flags,
            withheld: shown.is_withheld,
            score: found.score,
            snippet: shown.text.map(|_| found.snippet),
            own: found.is_own,
        }
    }

    /// Returns the snippet with its trust.
    pub(crate) fn shown(&self) -> StoredText {
        StoredText {
            trust: self.trust,
            flags: self.flags.clone(),
            text: self.snippet.clone(),
            is_withheld: self.withheld,
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

/// The answer of `session append`, for all batches of a call.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntriesAppended {
    pub(crate) session: String,
    pub(crate) root_session: String,
    pub(crate) scope: Scope,
    pub(crate) appended: u64,
    /// The number of entries that the session already had.
    pub(crate) unchanged: u64,
    pub(crate) flagged: u64,
    pub(crate) first: Option<Id>,
    pub(crate) last: Option<Id>,
    pub(crate) not_stored: Vec<NotStored>,
    pub(crate) held: Vec<String>,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
    /// The number of entries in the batches so far.
    #[serde(skip)]
    pub(crate) seen: usize,
}

impl EntriesAppended {
    /// Returns the answer for the first batch of a session.
    pub(crate) fn new(session: String, batch: Appended) -> Self {
        let mut all = Self {
            session,
            root_session: batch.root_session.clone(),
            scope: batch.scope.clone(),
            appended: 0,
            unchanged: 0,
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

    /// Adds the next batch to the answer.
    pub(crate) fn add(&mut self, batch: Appended) {
        let seen = self.seen;
        self.seen += batch.ids.len() + batch.not_stored.len() + batch.unchanged as usize;
        self.unchanged += batch.unchanged;
        self.appended += batch.ids.len() as u64;
        self.flagged += batch.flagged;
        self.first = self.first.take().or_else(|| batch.ids.first().cloned());
        self.last = batch.ids.last().cloned().or_else(|| self.last.take());
        let refused = batch.not_stored.into_iter().map(|one| NotStored {
            place: seen + one.place,
            ..one
        });
        self.not_stored.extend(refused);
        self.held.extend(batch.held);
        (self.root_session, self.scope, self.commit) = (batch.root_session, batch.scope, batch.commit);
    }
}

/// A summary, as a line of `session summaries`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SummaryLine {
    pub(crate) id: String,
    pub(crate) bucket: Bucket,
    pub(crate) granularity: Granularity,
    #[serde(flatten)]
    pub(crate) shown: StoredText,
    pub(crate) score: f64,
    pub(crate) origin: Origin,
    pub(crate) time: Option<Time>,
}

impl SummaryLine {
    /// Returns the line of a summary. Withholds an untrusted text unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, summary: &SummaryRead, with_untrusted: bool) -> Self {
        let object = summary.item.object();
        Self {
            id: object.id().to_string(),
            bucket: summary.bucket(),
            granularity: summary.granularity,
            shown: StoredText::of(agent, object, with_untrusted),
            score: summary.score,
            origin: object.origin(),
            time: object.event_time(),
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

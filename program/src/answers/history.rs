//! The answers of verbs that read the history and its snapshots.
//!
//! # Layer
//! Layer 8, part of answers.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use treering::ChangeCounts;
use treering::blame::BlamedPart;
use treering::inspect::agent::vocabulary::attribute;
use treering::inspect::ingest::json::value_to_json;
use treering::{
    CommitDigest, CommitInfo, Error, ErrorCode, ErrorKind, HistoryEntry, Id, Memory, ObjectDigest, Origin,
    Result, Root, SnapshotInfo, TextDigest, Time, Value,
};

/// A commit, as a line of `log`.
#[derive(Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the fields of the JSON document")]
pub(crate) struct LogLine {
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    pub(crate) parents: Vec<CommitDigest>,
    pub(crate) root: Root,
    pub(crate) time: Time,
    pub(crate) op: String,
    /// The commit whose state a rollback restored, whose changes an undo reversed, or whose changes a redo repeated.
    pub(crate) target: Option<CommitDigest>,
    pub(crate) actor: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) source_digest: Option<TextDigest>,
    pub(crate) source_erased: bool,
    pub(crate) source_lost: bool,
    pub(crate) trust: Origin,
    pub(crate) reason: Option<String>,
    pub(crate) reason_digest: Option<TextDigest>,
    pub(crate) reason_erased: bool,
    pub(crate) reason_lost: bool,
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
}

impl LogLine {
    /// Returns the line of a commit.
    pub(crate) fn of(memory: &Memory, info: &CommitInfo) -> Result<Self> {
        Self::with_counts(memory, info, memory.commit_counts(info)?)
    }

    /// Returns the line of a commit whose counts the caller knows.
    pub(crate) fn with_counts(memory: &Memory, info: &CommitInfo, counts: ChangeCounts) -> Result<Self> {
        let commit = &info.commit;
        let source = Recorded::of(memory, commit.source)?;
        let reason = Recorded::of(memory, commit.reason)?;
        Ok(Self {
            commit: info.digest,
            seq: commit.seq,
            parents: commit.parents.clone(),
            root: commit.root,
            time: commit.time,
            op: commit.op.as_str().to_owned(),
            target: commit.target,
            actor: commit.actor.clone(),
            session: commit.session.clone(),
            source_digest: commit.source,
            source_erased: source.erased,
            source_lost: source.lost,
            source: source.text,
            trust: memory.seen_origin(commit.trust),
            reason_digest: commit.reason,
            reason_erased: reason.erased,
            reason_lost: reason.lost,
            reason: reason.text,
            counts,
        })
    }
}

/// The reason or source of a commit.
pub(crate) struct Recorded {
    /// The text. `None` if the commit has no such text, or if the text is erased or lost.
    pub(crate) text: Option<String>,
    erased: bool,
    lost: bool,
}

impl Recorded {
    /// Reads the text with the given digest.
    ///
    /// # Errors
    /// Fails if the text cannot be read for a reason other than its loss or erasure.
    pub(crate) fn of(memory: &Memory, digest: Option<TextDigest>) -> Result<Self> {
        let read = digest.map(|digest| memory.text(&digest)).transpose();
        let missing = read
            .as_ref()
            .err()
            .filter(|error| error.kind() == ErrorKind::NotFound);
        let missing = missing.map(Error::code);
        Ok(Self {
            text: if missing.is_some() { None } else { read? },
            erased: missing == Some(ErrorCode::Erased),
            lost: missing == Some(ErrorCode::Lost),
        })
    }
}

/// A change of one object, as a line of `history`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HistoryLine {
    pub(crate) digest: Option<ObjectDigest>,
    pub(crate) erased: bool,
    pub(crate) lost: bool,
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    pub(crate) time: Time,
    /// The operation. This field and the fields up to `reason` are null if the commit of the change was thinned.
    pub(crate) op: Option<String>,
    pub(crate) actor: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) trust: Option<Origin>,
    pub(crate) reason: Option<String>,
    pub(crate) thinned: bool,
    /// The commit of another line that made the change, if `commit` is a merge that brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<CommitDigest>,
}

impl HistoryLine {
    /// Returns the line of a change, with the metadata of its commit.
    pub(crate) fn of(memory: &Memory, entry: &HistoryEntry) -> Result<Self> {
        let maker = entry.maker().map(|maker| &maker.commit);
        let text = |digest| Recorded::of(memory, digest).map(|recorded| recorded.text);
        Ok(Self {
            digest: entry.digest,
            erased: entry.erased,
            lost: entry.lost,
            commit: entry.commit.digest,
            seq: entry.commit.commit.seq,
            time: entry.time,
            op: maker.map(|commit| commit.op.as_str().to_owned()),
            actor: maker.and_then(|commit| commit.actor.clone()),
            session: maker.and_then(|commit| commit.session.clone()),
            source: text(maker.and_then(|commit| commit.source))?,
            trust: maker.map(|commit| memory.seen_origin(commit.trust)),
            reason: text(maker.and_then(|commit| commit.reason))?,
            thinned: entry.thinned,
            from: entry.from.as_ref().map(|from| from.digest),
        })
    }

    /// Adds where the text of the version was read, if the commit does not say it: what the version names as its source.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    pub(crate) fn with_source_of_version(mut self, memory: &Memory) -> Result<Self> {
        let digest = self.digest.filter(|_| !self.erased && !self.lost);
        if let Some(digest) = digest.filter(|_| self.source.is_none()) {
            let source = memory
                .version(digest)?
                .and_then(|version| version.attribute(attribute::SOURCE));
            self.source = source.and_then(|source| source.as_text().map(str::to_owned));
        }
        Ok(self)
    }
}

/// A part of an object, as a line of `blame`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BlameLine {
    /// The name of the part: `line:3`, `attr:todo`, `kind`, `scope` and so on.
    pub(crate) part: String,
    /// The value. A value that is not a text is written as JSON.
    pub(crate) text: String,
    /// The change that wrote the part. `trust` is the origin of the version that had the part first.
    #[serde(flatten)]
    pub(crate) by: HistoryLine,
}

impl BlameLine {
    /// Returns the line of a part.
    pub(crate) fn of(memory: &Memory, blamed: &BlamedPart) -> Result<Self> {
        Ok(Self {
            part: blamed.part.to_string(),
            text: text_of(&blamed.value),
            by: HistoryLine {
                trust: Some(memory.seen_origin(blamed.trust)),
                ..HistoryLine::of(memory, &blamed.change)?
            },
        })
    }
}

/// Returns a value as a text. A value that is not a text is written as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        value => value_to_json(value).to_string(),
    }
}

/// The answer of `bisect`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BisectAnswer {
    pub(crate) first_bad: LogLine,
    /// If `first_bad` is a merge: the commit of the other line that turned the state of that line into a bad one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<LogLine>,
    /// The answer in the state before the commit: the text of the first hit or of the object, or how the command ended.
    /// Null if there is no hit or object.
    pub(crate) before: Option<String>,
    /// The answer in the state after the commit.
    pub(crate) after: Option<String>,
    /// The version whose text `before` is. Null with `--run`.
    pub(crate) before_version: Option<ShownVersion>,
    /// The version whose text `after` is. Null with `--run`.
    pub(crate) after_version: Option<ShownVersion>,
    /// The number of states that were tested between the good and the bad revision. With `--id`, the number of changes
    /// of the object that were read.
    pub(crate) steps: u64,
    /// The seq of the kept commit before `first_bad`.
    pub(crate) last_good: u64,
    /// The number of thinned commits between `last_good` and `first_bad`. If it is not 0, one of them may have made the
    /// change.
    pub(crate) thinned: u64,
}

/// A version of an object that an answer shows.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct ShownVersion {
    pub(crate) id: Id,
    pub(crate) digest: ObjectDigest,
    pub(crate) trust: Origin,
    pub(crate) flags: Vec<String>,
}

/// A snapshot, as a line of `snapshots`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SnapshotLine {
    /// The index of the snapshot in the ring of its lane. Null for a named snapshot.
    pub(crate) index: Option<usize>,
    pub(crate) name: Option<String>,
    #[serde(flatten)]
    pub(crate) info: SnapshotInfo,
}

impl SnapshotLine {
    /// Returns the names of the snapshots of each commit, by the seq of the commit. The name of a snapshot in the ring
    /// of a lane other than `lane` includes the other lane.
    pub(crate) fn names(memory: &Memory, lane: &str) -> Result<HashMap<u64, Vec<String>>> {
        let mut names: HashMap<u64, Vec<String>> = HashMap::new();
        for info in memory.snapshots()? {
            let snapshot = Self::from(info);
            let other = snapshot.info.lane.as_deref();
            let name = match other.filter(|other| snapshot.index.is_some() && *other != lane) {
                Some(other) => format!("{} of {other}", snapshot.revision()),
                None => snapshot.revision(),
            };
            names.entry(snapshot.info.seq).or_default().push(name);
        }
        Ok(names)
    }

    /// Returns the revision of the snapshot in the form that the user types.
    pub(crate) fn revision(&self) -> String {
        match self.index {
            Some(index) => format!("snap:{index}"),
            None => self.name.clone().unwrap_or_default(),
        }
    }
}

impl From<SnapshotInfo> for SnapshotLine {
    fn from(info: SnapshotInfo) -> Self {
        Self {
            name: info.index.is_none().then(|| info.name.clone()),
            index: info.index,
            info,
        }
    }
}

/// The answer of `snapshot`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SnapshotTaken {
    #[serde(flatten)]
    pub(crate) snapshot: SnapshotLine,
    /// Whether the verb deleted the snapshot.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) deleted: bool,
}

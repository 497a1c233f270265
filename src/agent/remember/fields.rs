//! The JSON fields of the answer to `remember`.
//!
//! # Layer
//! Layer 7, inside `agent`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Alike, Remembered, Status};
use crate::digest::{CommitDigest, ObjectDigest, Root};
use crate::engine::CommitInfo;
use crate::object::{Id, Scope};
use treering_text::scan::Verdict;

/// The JSON of a [`Remembered`].
#[derive(Serialize, JsonSchema)]
pub(super) struct RememberedFields {
    id: Id,
    digest: Option<ObjectDigest>,
    #[serde(flatten)]
    commit: CommitIfAny,
    status: Status,
    disabled: bool,
    scope: Scope,
    duplicates: Vec<Alike>,
    conflicts: Vec<Conflict>,
    verdict: Verdict,
    rules: Vec<&'static str>,
    redacted: bool,
    held_as: Option<String>,
}

/// An item that contradicts the new item.
#[derive(Serialize, JsonSchema)]
struct Conflict {
    #[serde(flatten)]
    item: Alike,
    new_text: String,
}

impl From<Remembered> for RememberedFields {
    fn from(answer: Remembered) -> Self {
        let disabled = answer.status == Status::Disabled;
        let conflicts = answer.conflicts.into_iter().map(|item| Conflict {
            item,
            new_text: answer.text.clone(),
        });
        Self {
            id: answer.id,
            digest: answer.digest,
            commit: (!disabled).then_some(&answer.commit).into(),
            status: answer.status,
            disabled,
            scope: answer.scope,
            duplicates: answer.duplicates,
            conflicts: conflicts.collect(),
            verdict: answer.verdict,
            rules: answer.rules,
            redacted: answer.is_redacted,
            held_as: answer.held_as,
        }
    }
}

/// The commit of an answer in JSON. All fields are null if the verb made no commit.
#[derive(Default, Serialize, JsonSchema)]
pub struct CommitIfAny {
    commit: Option<CommitDigest>,
    seq: Option<u64>,
    root: Option<Root>,
}

impl From<Option<&CommitInfo>> for CommitIfAny {
    fn from(info: Option<&CommitInfo>) -> Self {
        Self {
            commit: info.map(|info| info.digest),
            seq: info.map(|info| info.commit.seq),
            root: info.map(|info| info.commit.root),
        }
    }
}

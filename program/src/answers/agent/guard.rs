//! The answers of `guard` and `import`.
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::objects::StoredLine;
use treering::agent::Report;
use treering::inspect::agent::CommitIfAny;
use treering::inspect::agent::guard::ChangedObject;
use treering::inspect::engine::{ChangeKind, ReferenceInfo};
use treering::inspect::ingest::json::stored_object_to_json;
use treering::revert::Reverted;
use treering::{CommitDigest, Result};
use treering::{Id, Object};

/// The answer of `guard check`; the exit code is 4 if `passed` is false.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GuardReport {
    pub(crate) name: String,
    pub(crate) passed: bool,
    #[serde(flatten)]
    pub(crate) report: Report,
}

impl GuardReport {
    /// Returns the answer for the results of the checks.
    pub(crate) fn new(name: String, report: Report) -> Self {
        Self {
            name,
            passed: report.is_passed(),
            report,
        }
    }
}

/// The answer of `guard commit`. If `passed` is false, the exit code is 4 and there is no commit.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GuardCommit {
    #[serde(flatten)]
    pub(crate) report: GuardReport,
    #[serde(flatten)]
    pub(crate) names: CommitIfAny,
    /// The objects that the guard reverted after a refusal, if the policy sets `refused.revert_session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reverted: Option<Box<Reverted>>,
}

/// The answer of `guard drop`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GuardDropped {
    pub(crate) name: String,
    pub(crate) dropped: bool,
}

/// An object that a staged change would write, as a line of `guard show`. Both versions have the form of `export`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StagedObject {
    pub(crate) id: Id,
    pub(crate) change: ChangeKind,
    pub(crate) old: Option<StoredLine>,
    pub(crate) new: Option<StoredLine>,
}

impl StagedObject {
    /// Returns the line of a changed object.
    ///
    /// # Errors
    /// Fails if a content was not loaded.
    pub(crate) fn of(changed: ChangedObject) -> Result<Self> {
        let line = |object: &Option<Object>| -> Result<Option<StoredLine>> {
            let line = object.as_ref().map(|object| stored_object_to_json(object, false));
            Ok(line.transpose()?.map(StoredLine))
        };
        Ok(Self {
            change: changed.kind(),
            old: line(&changed.old)?,
            new: line(&changed.new)?,
            id: changed.id,
        })
    }
}

/// A staged change, as a line of `guard list`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StagedLine {
    /// The commit that the change is based on.
    pub(crate) base: Option<CommitDigest>,
    #[serde(flatten)]
    pub(crate) staged: ReferenceInfo,
}

/// The answer of `import`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Imported<T> {
    pub(crate) format: &'static str,
    #[serde(flatten)]
    pub(crate) taken: T,
}

//! The ways back of the page: a revert of a session or commit, and a rollback to a commit. Each has a preview.
//!
//! # Layer
//! Layer 9, part of serve.

use serde::{Deserialize, Serialize};

use super::ROWS;
use super::changes::{ChangeRow, change_of, row};
use super::objects::lane_number;
use super::reader::Reader;
use crate::answers::commits::{Moved, RollbackPreview};
use treering::inspect::agent::clean_writer;
use treering::revert::{KeptObject, Selection};
use treering::{ChangeCounts, CommitDigest, Id};
use treering::{CommitInfo, Error, ErrorCode, Result, Writer};

/// The request of a revert, with the head that the person saw.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevertAsked {
    lane: Option<String>,
    commit: Option<String>,
    #[serde(default)]
    with_derived: bool,
    #[serde(flatten)]
    step: Step,
}

/// The request of a rollback, with the head that the person saw.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RollbackAsked {
    to: String,
    /// Also takes back commits of other lanes.
    #[serde(default)]
    all: bool,
    #[serde(flatten)]
    step: Step,
}

/// A preview, or the change itself.
#[derive(Deserialize)]
pub(crate) struct Step {
    /// The digest of the head that the person saw. Only a preview may leave it out.
    head: Option<String>,
    reason: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

/// The answer of a revert.
#[derive(Serialize)]
pub(crate) struct RevertAnswer {
    #[serde(flatten)]
    commit: CommitInfo,
    selected: u64,
    #[serde(flatten)]
    counts: ChangeCounts,
    /// The first changes.
    rows: Vec<ChangeRow>,
    kept: Vec<KeptObject>,
    kept_total: usize,
    derived: Vec<Id>,
    derived_total: usize,
    dry_run: bool,
}

/// The answer of a rollback.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum RollbackAnswer {
    Preview {
        #[serde(flatten)]
        preview: RollbackPreview,
        /// The other lanes, each with its key if its name may look like another one.
        lanes: Vec<OtherLane>,
    },
    Done(Moved),
}

/// A lane whose work a rollback would take back.
#[derive(Serialize)]
pub(crate) struct OtherLane {
    lane: String,
}

/// Returns the writer of a step, and the head, after a check that the page may write and that the head is the one that the
/// person saw (PAG-3).
fn writer(reader: &Reader, step: &Step, usual_reason: &str) -> Result<(Writer, CommitDigest)> {
    let writer = writer_of(reader, step.reason.as_deref(), usual_reason)?;
    let head = reader.head()?.commit();
    let is_seen = step.head.as_deref() == Some(&head.digest.to_hex());
    if !step.dry_run && !is_seen {
        return Err(
            Error::conflict(format!("the head moved to seq:{} meanwhile", head.commit.seq))
                .with_code(ErrorCode::HeadMoved)
                .with_hint("look at the preview again"),
        );
    }
    Ok((writer, head.digest))
}

/// Returns the writer of the page, after a check that the page may write.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads.
pub(super) fn writer_of(reader: &Reader, reason: Option<&str>, usual_reason: &str) -> Result<Writer> {
    let writer = reader.writer().ok_or_else(|| {
        Error::denied(ErrorCode::ReadOnly, "this page only reads")
            .with_hint("end the server, and start it with: treering serve --ui --write")
    })?;
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let writer = writer.clone().reason(reason.unwrap_or(usual_reason));
    clean_writer(reader.agent.scanner(), &writer)
}

/// Takes back what a lane or commit wrote, or returns what this would change.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; `Conflict` (code `head_moved`) if others committed since the
/// preview; the errors of [`Revert::by`](treering::revert::Revert::by).
pub(crate) fn revert(reader: &Reader, asked: &RevertAsked) -> Result<RevertAnswer> {
    let (selection, what) = selection(reader, asked)?;
    let (writer, head) = writer(reader, &asked.step, &format!("reverts {what}"))?;
    let revert = reader.memory().revert(selection);
    let revert = if asked.with_derived {
        revert.with_derived()
    } else {
        revert
    };
    let answer = if asked.step.dry_run {
        revert.preview(&writer)?
    } else {
        // PAG-3: another process may have committed since the check above.
        revert.expect_head(head).by(&writer)?
    };
    let head = reader.head()?;
    let sides = answer
        .reverted
        .iter()
        .map(|object| (object.from.is_some(), object.to.is_some()));
    let rows = answer.reverted.iter().take(ROWS).map(|object| {
        row(
            reader,
            &head,
            &change_of(object.id.as_str(), object.from, object.to)?,
        )
    });
    Ok(RevertAnswer {
        counts: ChangeCounts::of(sides),
        rows: rows.collect::<Result<_>>()?,
        selected: answer.selected,
        kept_total: answer.kept.len(),
        kept: answer.kept.into_iter().take(ROWS).collect(),
        derived_total: answer.derived.len(),
        derived: answer.derived.into_iter().take(ROWS).collect(),
        commit: answer.committed.commit,
        dry_run: asked.step.dry_run,
    })
}

/// Returns the commits that a revert takes back, and a description of them.
fn selection(reader: &Reader, asked: &RevertAsked) -> Result<(Selection, String)> {
    let selection = Selection::default();
    match (&asked.lane, &asked.commit) {
        (Some(lane), None) => {
            let ledger = reader.ledger()?;
            let lane = &ledger.lanes()[lane_number(reader, &ledger, lane)? as usize];
            // A session and an actor without a session may have one name, and the writer of a lane without a session may
            // have other sessions. So the commits of the lane are selected one by one, as the page shows them.
            let commits = lane.commits.iter();
            let commits = commits.map(|number| ledger.commits()[*number as usize].digest);
            let selection = commits.fold(selection, Selection::commit);
            Ok((selection, format!("session {}", lane.name)))
        }
        (None, Some(commit)) => {
            let commit = reader.commit(commit)?;
            let what = format!("commit seq:{}", commit.commit.seq);
            Ok((selection.commit(commit.digest), what))
        }
        _ => Err(Error::invalid("the request must name either a lane or a commit")
            .with_code(ErrorCode::Usage)
            .with_hint("give lane, or commit")),
    }
}

/// Restores the state of a commit, or returns what this would change.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; `Conflict` (code `head_moved`) if others committed since the
/// preview; the errors of [`Rollback::by`](treering::Rollback::by).
pub(crate) fn rollback(reader: &Reader, asked: &RollbackAsked) -> Result<RollbackAnswer> {
    let target = reader.commit(&asked.to)?;
    let usual_reason = format!("rolls back to seq:{}", target.commit.seq);
    let (writer, head) = writer(reader, &asked.step, &usual_reason)?;
    let (memory, to) = (reader.memory(), target.digest.into());
    if asked.step.dry_run {
        let (preview, ..) = RollbackPreview::of(memory, &to, asked.all, &writer)?;
        let lanes = preview.other_lanes.iter().cloned();
        let lanes = lanes.map(|lane| OtherLane { lane }).collect();
        return Ok(RollbackAnswer::Preview { preview, lanes });
    }
    let rollback = memory.rollback(&to).expect_head(head);
    let rollback = if asked.all {
        rollback.across_lanes()
    } else {
        rollback
    };
    Ok(RollbackAnswer::Done(Moved::of(memory, &rollback.by(&writer)?)?))
}

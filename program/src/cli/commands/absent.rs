//! Errors for missing objects and commits.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::hints::history_of;
use crate::cli::nearest::nearest;
use treering::{Error, ErrorCode, ErrorKind, HistoryEntry, Id, Memory, Result, View};

/// The number of ids that are compared with a mistyped id.
const IDS_COMPARED: usize = 20_000;

/// Returns the error for an object that is missing from a state. `other` is a change of the object in another commit.
/// The hint names that commit.
pub(super) fn no_object(memory: &Memory, id: &Id, view: &View, other: Option<&HistoryEntry>) -> Error {
    let seq = view.commit().commit.seq;
    let error = Error::not_found(format!("there is no object '{id}' at seq:{seq}"));
    match other.map(|other| (other.commit.commit.seq, other)) {
        None => match memory.damage() {
            Some(damage) => cannot_be_said(&format!("the object '{id}' exists"), damage),
            None => error.with_hint(match nearest_ids(view, id) {
                Some(ids) => format!("the nearest ids are {ids}"),
                None => "no commit that can be read contains this object; treering list lists the objects"
                    .to_owned(),
            }),
        },
        Some((when, other)) => {
            let what = match (other.digest, other.commit.commit.op.as_str()) {
                _ if other.thinned => "contains another version",
                (Some(_), "put" | "ingest") => "stored the object",
                (Some(_), _) => "restored the object",
                (None, _) => "removed the object",
            };
            error.with_hint(format!("commit seq:{when} {what}: see {}", history_of(id)))
        }
    }
}

/// Adds the ids that are most like `id` to the error of a verb that did not find `id` at the head.
pub(super) fn with_nearest(error: Error, memory: &Memory, id: &Id) -> Error {
    let is_missing = error.kind() == ErrorKind::NotFound && error.code() == ErrorCode::NotFound;
    match nearest_ids(&memory.view(), id).filter(|_| is_missing) {
        Some(ids) => error.with_hint(format!("the nearest ids are {ids}")),
        None => error,
    }
}

/// Returns the ids of the state that are most like `id`. Looks only at the first [`IDS_COMPARED`] objects.
pub(super) fn nearest_ids(view: &View, id: &Id) -> Option<String> {
    let objects = view.objects().take(IDS_COMPARED).filter_map(Result::ok);
    nearest(id.as_str(), objects.map(|object| object.id().to_string()))
}

/// Returns the error for a search that stopped at damage. The object may exist in a commit after the damage, so the
/// error "not found" would be wrong.
pub(super) fn cannot_be_said(what: &str, damage: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("cannot determine whether {what}, because reading stopped at damage ({damage})"),
    )
    .with_hint("commits after the damage cannot be read; treering verify lists all damage")
}

//! Errors for missing objects and commits.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::engine::{HistoryEntry, Memory, View};
use crate::error::{Error, ErrorKind};
use crate::object::Id;

/// Returns the error for an object that is missing from a state. `other` is a change of this object in another state.
pub(super) fn no_object(memory: &Memory, id: &Id, view: &View, other: Option<&HistoryEntry>) -> Error {
    let seq = view.commit().commit.seq;
    let error = Error::not_found(format!("there is no object '{id}' at seq:{seq}"));
    match other.map(|other| (other.commit.commit.seq, other)) {
        None => match memory.damage() {
            Some(damage) => cannot_be_said(&format!("there is an object '{id}'"), damage),
            None => error.with_hint("no kept commit has this object; treering list shows the objects"),
        },
        Some((when, other)) => {
            let what = match (other.digest, other.commit.commit.op.as_str()) {
                _ if other.thinned => "has another version",
                (Some(_), "put" | "ingest") => "stored it",
                (Some(_), _) => "restored it",
                (None, _) => "removed it",
            };
            error.with_hint(format!("commit seq:{when} {what}: see treering history '{id}'"))
        }
    }
}

/// Returns the error for a search that stopped at damage. The object may exist after the damage, so "not found" would
/// be wrong.
pub(super) fn cannot_be_said(what: &str, damage: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("cannot say whether {what}: reading stopped at damage: {damage}"),
    )
    .with_hint("commits after the damage are not shown; treering verify lists all damage")
}

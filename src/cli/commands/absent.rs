//! Errors for missing objects and commits.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::engine::{HistoryEntry, Memory, View};
use crate::error::{Error, ErrorKind};
use crate::object::Id;

/// Returns the error for an object that is missing from a state. `other` is a change of the object in another commit.
/// The hint names that commit.
pub(super) fn no_object(memory: &Memory, id: &Id, view: &View, other: Option<&HistoryEntry>) -> Error {
    let seq = view.commit().commit.seq;
    let error = Error::not_found(format!("there is no object '{id}' at seq:{seq}"));
    match other.map(|other| (other.commit.commit.seq, other)) {
        None => match memory.damage() {
            Some(damage) => cannot_be_said(&format!("the object '{id}' exists"), damage),
            None => error.with_hint(
                "no commit that can be read contains this object; treering list lists the objects",
            ),
        },
        Some((when, other)) => {
            let what = match (other.digest, other.commit.commit.op.as_str()) {
                _ if other.thinned => "contains another version",
                (Some(_), "put" | "ingest") => "stored the object",
                (Some(_), _) => "restored the object",
                (None, _) => "removed the object",
            };
            error.with_hint(format!("commit seq:{when} {what}: see treering history '{id}'"))
        }
    }
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

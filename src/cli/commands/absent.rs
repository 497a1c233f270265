//! The refusals of what is not there.
//!
//! # Layer
//! L10, part of cli.

use crate::engine::{HistoryEntry, Memory, View};
use crate::error::{Error, ErrorKind};
use crate::object::Id;

/// There is no such object in a state; `other` is a change of it in another one.
pub(super) fn no_object(memory: &Memory, id: &Id, view: &View, other: Option<&HistoryEntry>) -> Error {
    let seq = view.commit().commit.seq;
    let error = Error::not_found(format!("there is no object '{id}' at seq:{seq}"));
    match other.map(|other| (other.commit.commit.seq, other)) {
        None => match memory.damage() {
            Some(damage) => cannot_be_said(&format!("there is an object '{id}'"), damage),
            None => error.with_hint("no kept commit has it; treering list shows what there is"),
        },
        Some((when, other)) => {
            let what = match (other.digest, other.commit.commit.op.as_str()) {
                _ if other.thinned => "has it otherwise",
                (Some(_), "put" | "ingest") => "put it",
                (Some(_), _) => "brought it back",
                (None, _) => "removed it",
            };
            error.with_hint(format!("seq:{when} {what}: see treering history '{id}'"))
        }
    }
}

/// What is absent before the damage may stand behind it: that is no answer of "not found".
pub(super) fn cannot_be_said(what: &str, damage: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("whether {what} cannot be said: reading stopped at damage: {damage}"),
    )
    .with_hint(
        "what was committed behind the damage is not served; treering verify names all that is damaged",
    )
}

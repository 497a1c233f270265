//! Raising the trust of one item: a person's act, in a commit of its own that names the version.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Limits
//! - A promotion is part of the state: `redo`, `restore` and `rollback` by any trusted writer bring it back.

use super::person;
use crate::agent::Agent;
use crate::agent::change::{Rule, change};
use crate::agent::vocabulary::attribute;
use crate::digest::ObjectDigest;
use crate::engine::{Committed, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Origin};

/// How the caller knows that a person asks, and not a program for one. No code path of an agent has any business
/// making one from what a model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonSays {
    /// The person said yes at a terminal.
    AtTerminal,
    /// The person gave an option that says so.
    ByOption,
    /// The person acted in a program of the host.
    InHost,
}

impl PersonSays {
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::AtTerminal => "a person said so at a terminal",
            Self::ByOption => "a person said so with --yes",
            Self::InHost => "a person said so to the host",
        }
    }
}

/// A promotion.
#[derive(Clone, Debug)]
pub struct Promoted {
    /// The version that is trusted now.
    pub digest: ObjectDigest,
    /// The class that the item had.
    pub from: Origin,
    /// The class that it has.
    pub to: Origin,
    /// The commit; the head if the item was trusted as much already.
    pub committed: Committed,
}

/// See [`Agent::promote`].
pub(in crate::agent) fn promote(
    agent: &Agent,
    id: &Id,
    expected: ObjectDigest,
    says: PersonSays,
    writer: &Writer,
) -> Result<Promoted> {
    let writer = person(writer, says, "promote")?;
    let to = writer.trust;
    let done = change(agent, &writer, &Rule::PROMOTE, |change| {
        let object = change.get(id)?.ok_or_else(|| {
            Error::not_found(format!("there is no item '{id}'")).with_hint("`list` shows what there is")
        })?;
        if object.digest() != expected {
            return Err(
                Error::conflict(format!("'{id}' is not the version {expected} any more"))
                    .with_code(ErrorCode::Changed)
                    .with_ids(vec![id.to_string()])
                    .with_hint("look at it again: `get` shows the version that there is"),
            );
        }
        let from = object.origin();
        change.expect(id, Some(expected));
        if to.is_above(from) {
            let mut new = object.to_new()?;
            drop(new.attributes.insert(attribute::PROMOTED, expected.to_hex()));
            change.promote(new)?;
        }
        Ok((from, change.digest(id)?.unwrap_or(expected)))
    })?;
    let (from, digest) = done.value;
    Ok(Promoted {
        digest,
        from,
        to,
        committed: done.committed,
    })
}

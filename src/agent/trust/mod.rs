//! Trust: promotion by a person, and the quarantine.
//!
//! The engine stamps each item with a class ([`Origin`]), at most the class of its sources. Only a person promotes an item, and
//! only a person releases a quarantined change.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! A promotion is part of the state, so any trusted writer can bring it into force again by `redo`, `restore` or
//!   `rollback`.
//!
//! # Invariants
//! - TRU-1: an item is at most as trusted as its least trusted source, through merges, summaries, imports, rollbacks, forks and
//!   drafts. Only [`Agent::promote`](super::Agent::promote) raises trust.
//! - TRU-2: a release keeps the origins of the quarantined objects.

mod quarantine;

pub use quarantine::Quarantined;
pub(super) use quarantine::{discard, quarantined, release};
pub(crate) use quarantine::{held_objects, held_reason, preview};

use crate::agent::Agent;
use crate::agent::change::{Rule, change};
use crate::agent::vocabulary::attribute;
use crate::digest::ObjectDigest;
use crate::engine::{Committed, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Origin};

named! {
    /// The way in which a person confirmed. An agent must never create this value from the text of a model.
    pub enum PersonSays {
        /// The person confirmed at a terminal.
        AtTerminal => "a person confirmed it at a terminal",
        /// The person gave a confirming option.
        ByOption => "a person confirmed it with --yes",
        /// The person acted in a program of the host.
        InHost => "a person confirmed it to the host",
    }
}

/// A promotion.
#[derive(Clone, Debug)]
pub struct Promoted {
    /// The version that is trusted now.
    pub digest: ObjectDigest,
    /// The class of the item before.
    pub from: Origin,
    /// The class of the item now.
    pub to: Origin,
    /// The commit; the head if the item was already as trusted.
    pub committed: Committed,
}

/// Does the work of [`Agent::promote`].
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
            Error::not_found(format!("there is no item '{id}'")).with_hint("`list` shows the items")
        })?;
        if object.digest() != expected {
            return Err(
                Error::conflict(format!("'{id}' is no longer the version {expected}"))
                    .with_code(ErrorCode::Changed)
                    .with_ids(vec![id.to_string()])
                    .with_hint("review the item again: `get` shows the current version"),
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

/// Returns the writer as a person. The reason of the commit records how the caller knows.
///
/// # Errors
/// `Denied` (code `not_a_person`): the writer is not of the class of a person.
fn person(writer: &Writer, says: PersonSays, what: &str) -> Result<Writer> {
    if writer.trust != Origin::DirectUser {
        return Err(Error::denied(
            ErrorCode::NotAPerson,
            format!("only a person may {what}; this writer is {}", writer.trust),
        )
        .with_hint("leave --trust out, and ask the person"));
    }
    let mut writer = writer.clone();
    writer.reason = Some(match writer.reason {
        Some(reason) => format!("{reason} ({says})"),
        None => says.to_string(),
    });
    Ok(writer)
}

#[cfg(test)]
mod tests;

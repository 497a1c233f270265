//! Raising the trust of one item: a person's act, in a commit of its own that names the version.
//!
//! # Layer
//! L7, inside `agent`.

use super::person;
use crate::agent::Agent;
use crate::agent::vocabulary::{attribute, op};
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

/// What a promotion did.
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

impl Agent {
    /// Raises the item to the class of the writer, who is a person, whatever it was made from. It becomes a new version
    /// with the attribute `promoted`: the digest of the version that the person looked at, which must be the current one.
    ///
    /// # Errors
    /// `NotFound`: there is no such item. `Conflict` (code `changed`): it is not as it was when the person looked at it.
    /// `Denied` (code `not_a_person`): the writer is of another class. As [`Memory::commit`](crate::Memory::commit).
    pub fn promote(
        &self,
        id: &Id,
        expected: ObjectDigest,
        says: PersonSays,
        writer: &Writer,
    ) -> Result<Promoted> {
        let writer = person(writer, says, "promote")?;
        let to = writer.trust;
        let mut draft = self.draft(&writer)?;
        let object = draft.get(id)?.ok_or_else(|| {
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
        draft.expect(id, Some(expected));
        if Origin::least(to, from) != to {
            let mut new = object.to_new()?;
            drop(new.attributes.insert(attribute::PROMOTED, expected.to_hex()));
            draft.put_promoted(new)?;
        }
        let digest = draft.digest(id)?.unwrap_or(expected);
        let committed = self.memory().commit(draft, op::PROMOTE)?;
        Ok(Promoted {
            digest,
            from,
            to,
            committed,
        })
    }
}

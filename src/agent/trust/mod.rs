//! Trust: promotion by a person, and the quarantine.
//!
//! Where an item comes from is a class that the engine stamps ([`Origin`]), never better than
//! anything the item was made from. Two things are left to a person: to promote an item, and to decide about what the
//! scan or a gate held back.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - TRU-1: no item is ever more trusted than the least of what it was made from, through merges, summaries, imports,
//!   rollbacks, forks and drafts; only [`Agent::promote`](super::Agent::promote) raises.
//! - TRU-2: nothing leaves the quarantine more trusted than it came in.

mod promote;
mod quarantine;
#[cfg(test)]
mod tests;

pub(super) use promote::promote;
pub use promote::{PersonSays, Promoted};
pub use quarantine::{HeldObject, Quarantined};
pub(super) use quarantine::{discard, held_objects, held_reason, quarantined, release};

use crate::error::{Error, ErrorCode, Result};
use crate::object::Origin;

use crate::engine::Writer;

/// The writer as a person. The reason of the commit says how the caller knows.
///
/// # Errors
/// `Denied` (code `not_a_person`): the writer is of another class than a person's.
fn person(writer: &Writer, says: PersonSays, what: &str) -> Result<Writer> {
    if writer.trust != Origin::DirectUser {
        return Err(Error::denied(
            ErrorCode::NotAPerson,
            format!("only a person may {what}, and this writer is {}", writer.trust),
        )
        .with_hint("leave --trust away, and ask the person"));
    }
    let mut writer = writer.clone();
    writer.reason = Some(match writer.reason {
        Some(reason) => format!("{reason} ({})", says.told()),
        None => says.told().to_owned(),
    });
    Ok(writer)
}

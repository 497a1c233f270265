//! Notes of sessions, which last: written, replaced and deleted by their owners, found by the whole project.
//!
//! A note is an object of the kind `note` in the scope of its project, with the root of the session that wrote it as the
//! attribute `owner`. Notes never expire.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Limits
//! - `note` and `remember` check the owner of a note or session (`not_owner`); `put` and a guarded draft do not.

pub mod rank;
mod read;
mod write;

use crate::agent::item::known_kind;
use crate::agent::vocabulary::{attribute, kind};
use crate::engine::{Query, View};
use crate::error::Result;
use crate::object::{Object, Scope, Value};

pub use self::read::{NoteFound, NoteRead};
pub(super) use self::read::{find_note, notes, read_note, search_notes};
pub use self::write::{NewNote, NoteAction, NoteWritten, Replace};
pub(super) use self::write::{delete_note, write_note};

/// Whether an object is a note of this scope.
fn is_note_in(object: &Object, scope: &Scope) -> bool {
    object.kind() == kind::NOTE && object.scope() == scope.as_str()
}

/// The notes of a scope, by id; only those of one owner, if one is named.
fn note_objects(
    view: &View,
    scope: &Scope,
    owner: Option<&str>,
) -> Result<impl Iterator<Item = Result<Object>> + use<>> {
    view.query(&Query {
        kind: Some(known_kind(kind::NOTE)),
        scope: Some(scope.clone()),
        attributes: owner
            .map(|owner| (attribute::OWNER.to_owned(), Value::from(owner)))
            .into_iter()
            .collect(),
        include_expired: true,
        ..Query::default()
    })
}

#[cfg(test)]
mod tests;

//! The objects of a change, each with its old and its new version.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - The checks of an unstaged change run on the state at the beginning of the change, not on later commits of other
//!   writers. The checks of a staged change run on the head.

use serde_json::{Value as Json, json};

use crate::agent::remember::unless_erased;
use crate::engine::{ChangeKind, Draft};
use crate::error::Result;
use crate::ingest::json::stored_object_to_json;
use crate::object::{Id, Object, Origin};

/// One object that a change adds, rewrites or removes.
#[derive(Clone, Debug)]
pub struct ChangedObject {
    /// The id of the object.
    pub id: Id,
    /// The old version; `None` if the object is new, or if its old version was erased.
    pub old: Option<Object>,
    /// The new version; `None` if the object is removed.
    pub new: Option<Object>,
}

impl ChangedObject {
    /// Returns the kind of change.
    pub fn kind(&self) -> ChangeKind {
        ChangeKind::of(self.old.is_some(), self.new.is_some())
    }

    /// Returns the scope of the new version, or the scope of the old version if the object is removed.
    pub(crate) fn scope(&self) -> &str {
        self.object().map_or("", Object::scope)
    }

    /// Returns the text of the new version, or the text of the old version if the object is removed.
    pub(crate) fn text(&self) -> &str {
        self.object().and_then(Object::content).unwrap_or_default()
    }

    pub(crate) fn object(&self) -> Option<&Object> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Returns the change as JSON. Both versions have the format of JSON Lines exports.
    ///
    /// # Errors
    /// Fails if the content of a version is not loaded.
    pub(crate) fn to_json(&self) -> Result<Json> {
        let line = |object: &Option<Object>| -> Result<Json> {
            let line = object.as_ref().map(|object| stored_object_to_json(object, false));
            Ok(line.transpose()?.unwrap_or_default())
        };
        Ok(json!({
            "id": self.id.as_str(),
            "change": self.kind().name(),
            "old": line(&self.old)?,
            "new": line(&self.new)?,
        }))
    }
}

/// Returns the objects that a draft changes, sorted by id.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(in crate::agent) fn changes_of(draft: &Draft) -> Result<Vec<ChangedObject>> {
    let changed = |id: Id| -> Result<ChangedObject> {
        Ok(ChangedObject {
            old: unless_erased(draft.base().get(&id))?,
            new: draft.get(&id)?,
            id,
        })
    };
    let changes = draft.changes().into_iter();
    changes.map(|change| changed(change.id)).collect()
}

/// All objects of a change, and the draft that contains them.
pub(super) struct Turn<'a> {
    pub(super) draft: &'a Draft,
    pub(super) changes: Vec<ChangedObject>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(draft: &'a Draft) -> Result<Self> {
        let changes = changes_of(draft)?;
        Ok(Self { draft, changes })
    }

    /// Iterates the added and rewritten objects with their new versions.
    pub(super) fn written(&self) -> impl Iterator<Item = (&ChangedObject, &Object)> {
        self.changes
            .iter()
            .filter_map(|one| Some((one, one.new.as_ref()?)))
    }

    /// Returns the class of the writer.
    pub(super) fn class(&self) -> Origin {
        self.draft.writer().trust
    }

    /// Returns the whole change as one document, for a checking program.
    pub(super) fn to_json(&self) -> Result<Json> {
        let writer = self.draft.writer();
        let base = self.draft.base();
        let changes = self.changes.iter().map(ChangedObject::to_json);
        let changes: Vec<Json> = changes.collect::<Result<_>>()?;
        Ok(json!({
            "actor": writer.actor,
            "session": writer.session,
            "source": writer.source,
            "trust": writer.trust.name(),
            "base": base.root().to_hex(),
            "changes": changes,
        }))
    }
}

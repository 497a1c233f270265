//! Stages items in one change: chooses their ids, finds duplicates, and checks scope, trust and superseding.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::HashMap;

use super::duplicate_index::{has_text, text_hash};
use super::near::unite;
use crate::agent::agent::Agent;
use crate::agent::change::{Change, ids};
use crate::agent::decay::original_of;
use crate::agent::item::{Item, NewItem, Sensitivity, item_of};
use crate::agent::session::{SESSION_PREFIX, session_of};
use crate::agent::superseding::has_the_right;
use crate::agent::vocabulary::kind;
use crate::agent::words::are_same;
use crate::engine::Staged;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object, Origin};

/// The change of one commit, and the texts of the items in the change.
pub(super) struct Intake<'c, 'a> {
    pub(super) change: &'c mut Change<'a>,
    /// The class of the item that is being staged.
    class: Origin,
    /// The ids of staged items, by text hash. The ids are recorded here because the duplicate index contains only the
    /// texts of the state.
    texts: HashMap<u64, Id>,
}

impl<'c, 'a> Intake<'c, 'a> {
    pub(super) fn new(change: &'c mut Change<'a>) -> Self {
        Self {
            class: change.class(),
            change,
            texts: HashMap::new(),
        }
    }

    /// Begins to stage an item: enters its session, and determines its class from the writer, the speaker, the class
    /// that the caller states, and the session.
    pub(super) fn begin(&mut self, item: &NewItem) -> Result<()> {
        self.change.enter(item.session.as_deref());
        self.class = self.change.class_of(item.class())?;
        Ok(())
    }

    /// Returns the class of the item that is being staged.
    pub(super) fn class(&self) -> Origin {
        self.class
    }

    /// Returns the id for an item: the id in the item if it has one, otherwise an id derived from `key`, otherwise a
    /// new id.
    pub(super) fn id_of(&mut self, item: &NewItem, key: Option<&str>) -> Result<Id> {
        match (&item.id, key) {
            (Some(id), _) => Ok(id.clone()),
            (None, Some(key)) => ids::of_key(self.change.agent().names_key(), &item.scope, &item.kind, key),
            (None, None) => self.change.new_id(&item.scope, &item.kind),
        }
    }

    /// Checks whether an object is at least as trusted as the item. Only such an object counts as a duplicate of
    /// the item.
    pub(super) fn is_trusted_enough(&self, object: &Object) -> bool {
        !self.class.is_above(object.origin())
    }

    /// Checks whether the item is at least as trusted as an object, and may replace it.
    pub(super) fn is_replaceable(&self, object: &Object) -> bool {
        !object.origin().is_above(self.class)
    }

    /// Checks whether the item and an object are equally trusted. Then a merge changes the trust of neither text.
    pub(super) fn is_as_trusted(&self, object: &Object) -> bool {
        self.is_trusted_enough(object) && self.is_replaceable(object)
    }

    /// Checks whether an object is untrusted although the item is trusted. Such an object never counts as a duplicate
    /// of the item.
    pub(super) fn is_of_outsider(&self, object: &Object) -> bool {
        self.class.is_trusted() && !object.origin().is_trusted()
    }

    /// Returns the object that an item would replace. Fails if the object is in another scope, belongs to a session
    /// (RMB-3), or is more trusted than the writer (RMB-2).
    pub(super) fn check_replaced(&self, id: &Id, item: &NewItem) -> Result<Option<Object>> {
        let Some(object) = self.change.present(id)? else {
            return Ok(None);
        };
        if object.scope() != item.scope.as_str() {
            let error = Error::conflict(format!("the id '{id}' belongs to an item of another scope"));
            return Err(error
                .with_code(ErrorCode::OtherScope)
                .with_ids(vec![id.to_string()])
                .with_hint("choose another id, or omit the id to get a generated one"));
        }
        // RMB-3: `remember` never replaces an object of a session.
        if let Some(session) = owner_of(&object) {
            let error = format!("`remember` cannot replace '{id}', which belongs to the session '{session}'");
            return Err(Error::denied(ErrorCode::NotOwner, error)
                .with_ids(vec![id.to_string()])
                .with_hint("use `note write --replace` or `session append`, or choose another id"));
        }
        self.check_trust(&object, "replace")?;
        Ok(Some(object))
    }

    /// Fails if a superseded item is absent, is the new item itself, is in another scope, or is more trusted than the
    /// writer (RMB-2).
    pub(super) fn check_superseded(&self, id: &Id, item: &NewItem) -> Result<()> {
        for old in &item.supersedes {
            if old == id {
                return Err(Error::invalid(format!("the item '{id}' cannot supersede itself"))
                    .with_hint("store the new text under the same id; history keeps the old version"));
            }
            let Some(object) = self.change.present(old)? else {
                return Err(Error::not_found(format!("the superseded item '{old}' is absent"))
                    .with_ids(vec![old.to_string()]));
            };
            if object.scope() != item.scope.as_str() {
                // The scope is not named, because a caller outside of it may not learn it.
                let message = format!("'{old}' can be superseded only by an item of its own scope");
                return Err(Error::conflict(message)
                    .with_code(ErrorCode::OtherScope)
                    .with_ids(vec![old.to_string()])
                    .with_hint("store the new item in that scope (--scope)"));
            }
            self.check_trust(&object, "supersede")?;
        }
        Ok(())
    }

    fn check_trust(&self, object: &Object, what: &str) -> Result<()> {
        if self.is_replaceable(object) {
            return Ok(());
        }
        Err(less_trusted(self.class, object, what))
    }

    /// Returns an existing item with the same text, from the staged changes or the state. The existing item must
    /// supersede all items that the new item supersedes.
    pub(super) fn said_by(&self, item: &NewItem) -> Result<Option<Object>> {
        let wanted = (item.scope.as_str(), item.kind.as_str(), item.text.as_str());
        let hash = hash_of(item);
        let takes_all = |object: &Object| {
            let superseded = Item::from(object.clone()).supersedes();
            let mut asked = item.supersedes.iter();
            asked.all(|old| superseded.iter().any(|id| id == old.as_str()))
        };
        if let Some(id) = self.texts.get(&hash)
            && let Some(object) = self.change.present(id)?
            && has_text(&object, wanted)
            && takes_all(&object)
        {
            return Ok(Some(object));
        }
        let agent = self.change.agent();
        let base = self.change.base();
        agent.with_duplicate_index(base, |known| {
            known.find(base, hash, wanted, |object| {
                // The staged changes may have replaced the object.
                let current = self.change.digest(object.id());
                let is_current = current.is_ok_and(|digest| digest == Some(object.digest()));
                self.is_trusted_enough(object) && is_current && takes_all(object)
            })
        })
    }

    /// Merges the expiry, pin, sensitivity, tags and citations of an item into the existing item with the same text.
    /// Returns `Unchanged` if no field differs, the trust differs, a quota is exceeded, or the existing item belongs to
    /// a session.
    pub(super) fn restate(&mut self, said: &Object, item: &NewItem) -> Result<Staged> {
        if !self.is_as_trusted(said) || owner_of(said).is_some() {
            return Ok(Staged::Unchanged);
        }
        let before = Item::from(said.clone());
        let mut object = said.to_new()?;
        object.expires = object
            .expires
            .zip(item.expires)
            .map(|(one, other)| one.max(other));
        unite(&mut object, &before, item);
        let after = item_of(object.clone());
        let quotas = &self.change.agent().settings().quotas;
        if after.tags.len() > quotas.tags_max || after.citations.len() > quotas.citations_max {
            return Ok(Staged::Unchanged);
        }
        self.change.restate(object)
    }

    /// Stages a reviewed item. `present` is the current object with its id. An item without a sensitivity inherits the
    /// strictest sensitivity of the items that it replaces or supersedes. Otherwise the new text would be less
    /// protected.
    pub(super) fn put(&mut self, id: Id, mut item: NewItem, present: Option<&Object>) -> Result<Staged> {
        let superseded = item.supersedes.iter();
        let superseded: Vec<Object> = superseded
            .filter_map(|old| self.change.present(old).transpose())
            .collect::<Result<_>>()?;
        if item.sensitivity.is_none() {
            let replaced = superseded.iter().chain(present);
            let strictest = replaced.map(|old| Item::from(old.clone()).sensitivity()).max();
            item.sensitivity = strictest.filter(|one| *one > Sensitivity::None);
        }
        let hash = hash_of(&item);
        let staged = self
            .change
            .say(item.into_object(id.clone())?, self.class, present, &superseded)?;
        if let Some(stored) = self.change.present(&id)? {
            for old in &superseded {
                // INVARIANT SUP-1: the stored class decides. It may be lower than the class of the writer.
                if !has_the_right(stored.scope(), stored.origin(), old) {
                    return Err(less_trusted(stored.origin(), old, "supersede"));
                }
            }
        }
        self.texts.insert(hash, id);
        Ok(staged)
    }
}

/// Returns the error of an item of `class` that would replace or supersede a more trusted object.
fn less_trusted(class: Origin, object: &Object, what: &str) -> Error {
    let error = format!(
        "an item of class {class} may not {what} '{}', which has the more trusted class {}",
        object.id(),
        object.origin()
    );
    Error::denied(ErrorCode::LessTrusted, error)
        .with_ids(vec![object.id().to_string()])
        .with_hint("store the text as a new item that supersedes nothing")
}

/// Returns the hash of an item's text in its scope and kind.
fn hash_of(item: &NewItem) -> u64 {
    text_hash(item.scope.as_str(), item.kind.as_str(), &item.text)
}

/// Returns the session that an object belongs to: the owner of a note, the parent session, or the session itself.
pub(super) fn owner_of(object: &Object) -> Option<String> {
    let item = Item::from(object.clone());
    let note = item.owner().filter(|_| object.kind() == kind::NOTE);
    let above = object
        .parent()
        .and_then(|parent| parent.strip_prefix(SESSION_PREFIX));
    note.or_else(|| session_of(object).or(above).map(str::to_owned))
}

/// Checks whether an object has this text. For a shortened object, compares its original text.
pub(super) fn says(agent: &Agent, object: &Object, text: &str) -> Result<bool> {
    let full = original_of(agent.memory(), &Item::from(object.clone()))?;
    let said = full.as_ref().unwrap_or(object).content();
    Ok(said.is_some_and(|said| are_same(said, text)))
}

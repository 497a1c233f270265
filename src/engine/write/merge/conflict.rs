//! Conflicts that a merge leaves open: objects of their own, which name all versions.
//!
//! A conflict has the id `merge-conflict/` and the key path of its object. So whether an object has an open conflict
//! costs one look-up.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - CFL-1: a conflict is derived from exactly the versions that it names. So garbage collection keeps them, and the
//!   conflict is no more trusted than any of them. An object that breaks this rule is no conflict.
//! - CFL-2: two conflicts of one object are one, with the versions of both.
//! - CFL-3: while a conflict says that this store refused a version, this store neither takes nor replaces that version in a
//!   remote, and the conflict stays here. So a refusal changes nothing for others, and stops nothing.

use std::collections::BTreeSet;

use crate::digest::{DIGEST_LEN, KeyPath, ObjectDigest, to_hex};
use crate::engine::read::State;
use crate::error::Result;
use crate::object::{Id, Kind, NewObject, Object, Value};
use crate::store::Store;
use crate::trie::Entry;

/// The kind of an object that holds an open conflict.
pub const MERGE_CONFLICT: &str = "merge-conflict";
/// The field of a conflict about a change that the policy of this store refused, or its cap of a remote.
pub(super) const REFUSED: &str = "refused";
/// The side that lacks the object.
pub(super) const REMOVED: &str = "removed";

const OF: &str = "of";
const SIDES: &str = "sides";
const BASE: &str = "base";
const FIELDS: &str = "fields";

/// An object that both sides of a merge changed, so that somebody must decide.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct MergeConflict {
    /// The object.
    pub id: Id,
    /// The fields in which the sides differ, sorted. `removed`: a side removed the object. `attr:NAME`: an attribute.
    pub fields: Vec<String>,
}

/// The versions of an open conflict.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) of: Id,
    pub(crate) fields: BTreeSet<String>,
    /// The versions, sorted; `None` if a side removed the object.
    pub(crate) sides: BTreeSet<Option<ObjectDigest>>,
    pub(crate) base: Option<ObjectDigest>,
}

/// Returns whether an id has the form of [`conflict_id`].
pub(crate) fn is_conflict_id(id: &str) -> bool {
    let key = id
        .strip_prefix(MERGE_CONFLICT)
        .and_then(|rest| rest.strip_prefix('/'));
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    key.is_some_and(|key| key.len() == 2 * DIGEST_LEN && key.bytes().all(is_hex))
}

/// Returns the id of the conflict of the object with this key path.
///
/// # Errors
/// None in practice: the id is valid.
pub(crate) fn conflict_id(key: &KeyPath) -> Result<Id> {
    Id::new(&format!("{MERGE_CONFLICT}/{}", to_hex(key.as_bytes())))
}

impl Named {
    /// Reads an open conflict. Returns `None` for another object, also for one that breaks CFL-1.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a version cannot be read.
    pub(crate) fn of(object: &Object, store: &Store) -> Result<Option<Self>> {
        let Some(named) = Self::decode(object).filter(|_| is_conflict_id(object.id().as_str())) else {
            return Ok(None);
        };
        let derived: BTreeSet<ObjectDigest> = object.derived_from().collect();
        let is_own = *object.id() == conflict_id(&store.suite.key_path(named.of.as_str()))?;
        if !is_own || derived != named.versions().collect() {
            return Ok(None);
        }
        for version in named.versions() {
            let found = store.records.find_object(version)?;
            let fits = |version: &Object| {
                let is_of = version.is_placeholder() || *version.id() == named.of;
                is_of && !object.origin().is_above(version.origin())
            };
            if found.is_some_and(|(_, version)| !fits(&version)) {
                return Ok(None);
            }
        }
        Ok(Some(named))
    }

    /// Reads the open conflict of the object with this key path in a state.
    fn open_in(state: &State, key: &KeyPath) -> Result<Option<Self>> {
        let conflict = state.store.suite.key_path(conflict_id(key)?.as_str());
        let found = state.object_at(&conflict)?;
        found.map_or(Ok(None), |object| Self::of(&object, &state.store))
    }

    /// Reads the open conflict as [`Self::open_in`] does, if it says that this store refused a version.
    fn refused_in(state: &State, key: &KeyPath) -> Result<Option<Self>> {
        let named = Self::open_in(state, key)?;
        Ok(named.filter(|named| named.fields.contains(REFUSED)))
    }

    fn decode(object: &Object) -> Option<Self> {
        let texts = |name: &str| -> Option<Vec<String>> {
            let Some(Value::List(values)) = object.attribute(name) else {
                return None;
            };
            let texts = values.iter().map(|value| value.as_text().map(str::to_owned));
            texts.collect()
        };
        let digest = |text: &str| text.parse::<ObjectDigest>().ok();
        if object.kind() != MERGE_CONFLICT {
            return None;
        }
        let base = match object.attribute(BASE) {
            Some(base) => Some(digest(base.as_text()?)?),
            None => None,
        };
        let sides = texts(SIDES)?;
        let sides = sides.iter().map(|side| match side.as_str() {
            REMOVED => Some(None),
            side => digest(side).map(Some),
        });
        Some(Self {
            of: Id::new(object.attribute(OF)?.as_text()?).ok()?,
            fields: texts(FIELDS)?.into_iter().collect(),
            sides: sides.collect::<Option<_>>()?,
            base,
        })
    }

    /// Adds the versions and fields of another conflict of the object (CFL-2).
    pub(crate) fn unite(&mut self, other: Self) {
        self.fields.extend(other.fields);
        self.sides.extend(other.sides);
        // Of two bases the smaller one, so the order of the merges does not matter.
        self.base = self.base.into_iter().chain(other.base).min();
    }

    /// Returns the object of the conflict. `id` is its [`conflict_id`].
    ///
    /// # Errors
    /// None in practice: the kind is valid.
    pub(crate) fn to_object(&self, id: Id) -> Result<NewObject> {
        let texts = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::from).collect());
        let mut object = NewObject::new(id, Kind::new(MERGE_CONFLICT)?);
        let sides = self.sides.iter();
        let sides = sides.map(|side| side.map_or_else(|| REMOVED.to_owned(), |side| side.to_string()));
        object.attributes.insert(OF, self.of.as_str());
        object.attributes.insert(SIDES, texts(sides.collect()));
        object
            .attributes
            .insert(FIELDS, texts(self.fields.iter().cloned().collect()));
        if let Some(base) = self.base {
            object.attributes.insert(BASE, base.to_string());
        }
        // CFL-1
        let named: BTreeSet<ObjectDigest> = self.versions().collect();
        object.derived_from = named.into_iter().collect();
        Ok(object)
    }

    /// Iterates the versions, the base too.
    pub(crate) fn versions(&self) -> impl Iterator<Item = ObjectDigest> + '_ {
        self.sides.iter().flatten().copied().chain(self.base)
    }

    pub(crate) fn summary(&self) -> MergeConflict {
        MergeConflict {
            id: self.of.clone(),
            fields: self.fields.iter().cloned().collect(),
        }
    }
}

/// Returns whether a state and a remote have these two versions of an object because this store refused one of them (CFL-3).
/// What was written here since the refusal waits for its decision, too.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn is_refused(state: &State, key: &KeyPath, versions: [Option<ObjectDigest>; 2]) -> Result<bool> {
    let Some(named) = Named::refused_in(state, key)? else {
        return Ok(false);
    };
    let shown = digest_of(state.entry_at(key)?);
    let is_side = |version| named.sides.contains(version);
    let is_known = |version| is_side(version) || *version == shown;
    Ok(versions.iter().any(is_side) && versions.iter().all(is_known))
}

/// Returns whether a version at this key path is the conflict of the state that says what this store refused (CFL-3).
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn is_refusal(state: &State, key: &KeyPath, version: &Object) -> Result<bool> {
    if !is_conflict_id(version.id().as_str()) || digest_of(state.entry_at(key)?) != Some(version.digest()) {
        return Ok(false);
    }
    let named = Named::of(version, &state.store)?;
    Ok(named.is_some_and(|named| named.fields.contains(REFUSED)))
}

/// Returns the digest of the version of an entry.
pub(super) fn digest_of(entry: Option<Entry>) -> Option<ObjectDigest> {
    entry.map(|entry| ObjectDigest::from_bytes(entry.digest))
}

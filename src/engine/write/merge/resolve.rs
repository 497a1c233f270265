//! The open conflicts of merges, and the decisions about them.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;

use super::conflict::{MERGE_CONFLICT, MergeConflict, Named, REMOVED, conflict_id};
use crate::digest::ObjectDigest;
use crate::engine::read::query::Query;
use crate::engine::read::{CommitInfo, View};
use crate::engine::write::Draft;
use crate::engine::write::authorisation::less_trusted;
use crate::engine::write::incoming::OriginRule;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Id, Kind, Object, Origin};
use crate::store::Store;

/// A version of an open conflict.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConflictSide {
    /// The version; `None` if the side removed the object.
    pub version: Option<ObjectDigest>,
    /// The class of the version. `None` if the side removed the object, or the version is not kept.
    pub trust: Option<Origin>,
    /// The commit that wrote the version, if it is kept.
    pub by: Option<CommitInfo>,
}

/// An object about which somebody must decide, because both sides of a merge changed it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenConflict {
    /// The object.
    pub id: Id,
    /// The version of the conflict. It changes with the versions that the conflict names.
    pub digest: ObjectDigest,
    /// The fields in which the sides differ; see [`MergeConflict::fields`].
    pub fields: Vec<String>,
    /// The versions, sorted by digest.
    pub sides: Vec<ConflictSide>,
    /// The version from which all sides come, if it is one version.
    pub base: Option<ObjectDigest>,
    /// The version that the object has now, if it is none of the sides.
    pub present: Option<ConflictSide>,
}

/// A decision about an open conflict.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Resolution {
    /// The object gets this version: one of the sides, or the one that it has now.
    Take(ObjectDigest),
    /// The object is removed.
    Remove,
    /// The object as it is now gets this text.
    Content(String),
}

impl View {
    /// Returns the open conflict of an object. Costs one look-up.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn conflict(&self, id: &Id) -> Result<Option<MergeConflict>> {
        Ok(self.named_conflict(id)?.map(|(_, named)| named.summary()))
    }

    /// Returns the open conflict of an object with its sides.
    ///
    /// # Errors
    /// `NotFound` (code `no_conflict`) if there is none; the errors of [`Self::get`].
    #[doc(hidden)]
    pub fn open_conflict(&self, id: &Id) -> Result<OpenConflict> {
        let named = self.named_conflict(id)?;
        let (object, named) = named.ok_or_else(|| no_conflict(id))?;
        open(self, named, object.digest(), &mut Vec::new())
    }

    /// Returns whether the store knows another line, with which a merge could leave conflicts. Reads no object.
    #[doc(hidden)]
    pub fn has_other_lines(&self) -> bool {
        self.state.store.has_lines()
    }

    /// Returns the open conflicts, each with its object. The first call may read the whole state, as a query does.
    ///
    /// # Errors
    /// The errors of [`Self::query`].
    #[doc(hidden)]
    pub fn open_conflicts(&self) -> Result<Vec<(Object, MergeConflict)>> {
        let named = |object: Result<Object>| -> Result<_> {
            let object = object?;
            let named = Named::of(&object, &self.state.store)?;
            Ok(named.map(|named| (object, named.summary())))
        };
        let query = Query::default().kind(Kind::new(MERGE_CONFLICT)?);
        let all = self.query(&query)?.map(named);
        all.filter_map(Result::transpose).collect()
    }

    /// Returns the object of the open conflict, and what it names. An object that somebody put there is none.
    fn named_conflict(&self, id: &Id) -> Result<Option<(Object, Named)>> {
        let found = match self.get(&conflict_id(&self.key(id))?) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => found?,
        };
        let Some(object) = found else {
            return Ok(None);
        };
        let named = Named::of(&object, &self.state.store)?.filter(|named| named.of == *id);
        Ok(named.map(|named| (object, named)))
    }
}

/// Returns the open conflicts of a state, sorted by id.
///
/// # Errors
/// `Corrupt` or `Io` if an object or commit cannot be read.
pub(in crate::engine::write) fn conflicts_in(view: &View) -> Result<Vec<OpenConflict>> {
    let query = Query::default().kind(Kind::new(MERGE_CONFLICT)?);
    let (mut all, mut lines) = (Vec::new(), Vec::new());
    for object in view.query(&query)? {
        let object = object?;
        if let Some(named) = Named::of(&object, &view.state.store)? {
            all.push(open(view, named, object.digest(), &mut lines)?);
        }
    }
    all.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    Ok(all)
}

impl Draft {
    /// Stages a decision about an open conflict. With `seen`, only about this version of the conflict.
    ///
    /// A version that somebody wrote after the merge is dropped only if [`Self::expect`] named it before.
    ///
    /// # Errors
    /// `Conflict` (code `changed`) if the conflict has another version, or the decision drops a later one; the errors of
    /// [`Memory::resolve_conflict`](crate::Memory::resolve_conflict), except those of the commit.
    #[doc(hidden)]
    pub fn resolve_conflict(
        &mut self,
        id: &Id,
        seen: Option<ObjectDigest>,
        resolution: Resolution,
    ) -> Result<()> {
        let (conflict, named) = self.base().named_conflict(id)?.ok_or_else(|| no_conflict(id))?;
        if seen.is_some_and(|seen| seen != conflict.digest()) {
            return Err(
                Error::conflict(format!("the conflict about '{id}' changed meanwhile"))
                    .with_code(ErrorCode::Changed)
                    .with_hint("`conflicts` lists the open conflicts"),
            );
        }
        check_sides(self, (id, &conflict, &named), &resolution)?;
        let shown = self.digest(id)?;
        let taken = match resolution {
            Resolution::Take(version) => Some(version),
            _ => None,
        };
        let keeps = matches!(resolution, Resolution::Content(_)) || shown == taken;
        let is_named = self
            .expected
            .iter()
            .any(|(of, version)| of == id && *version == shown);
        if !keeps && !is_named && is_later(self.base(), &conflict, &named, shown)? {
            return Err(later_version(id, shown));
        }
        self.expect(id, shown);
        match resolution {
            Resolution::Take(version) if shown == taken || named.sides.contains(&Some(version)) => {
                self.restore_version(id, version)?;
            }
            Resolution::Take(version) => {
                let text = format!("the version {version} is not in the conflict about '{id}'");
                return Err(Error::invalid(text).with_hint("`conflicts` lists the versions"));
            }
            Resolution::Remove => drop(self.remove(id)?),
            Resolution::Content(text) => put_text(self, id, &named, text)?,
        }
        close(self, conflict.id())?;
        self.expect(conflict.id(), Some(conflict.digest()));
        Ok(())
    }
}

/// Returns whether somebody wrote the present version after the merge. What a merge shows meanwhile is of its own commit.
fn is_later(view: &View, conflict: &Object, named: &Named, shown: Option<ObjectDigest>) -> Result<bool> {
    let store = &view.state.store;
    let written = |version: ObjectDigest| -> Result<_> {
        let found = store.records.find_object(version)?;
        let commit = found.map(|(place, _)| store.commit_behind(place)).transpose()?;
        Ok(commit.flatten().map(|(_, commit)| commit.digest))
    };
    match shown {
        _ if named.sides.contains(&shown) => Ok(false),
        Some(shown) => {
            // A thinned commit names no writer, so the version may be a later one.
            let by = written(shown)?;
            Ok(by.is_none() || by != written(conflict.digest())?)
        }
        None => Ok(true),
    }
}

/// Returns the error for a decision that drops a version which is newer than the conflict.
fn later_version(id: &Id, shown: Option<ObjectDigest>) -> Error {
    let shown = shown.map_or_else(|| REMOVED.to_owned(), ObjectDigest::to_hex);
    let hint =
        format!("`conflicts` lists it; keep it with `--take {shown}`, or drop it with `--expected {shown}`");
    Error::conflict(format!(
        "'{id}' was changed after the merge, and the decision drops that change"
    ))
    .with_code(ErrorCode::Changed)
    .with_ids(vec![id.to_string()])
    .with_hint(hint)
}

/// Returns the error for an object about which nobody need decide.
fn no_conflict(id: &Id) -> Error {
    Error::not_found(format!("'{id}' has no open conflict"))
        .with_code(ErrorCode::NoConflict)
        .with_hint("`conflicts` lists the open conflicts")
}

/// Stages the removal of the object of a conflict, with whatever somebody put below it.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(super) fn close(draft: &mut Draft, conflict: &Id) -> Result<()> {
    let mut waiting = vec![conflict.clone()];
    while let Some(next) = waiting.pop() {
        waiting.extend(draft.children(&next)?);
        draft.stage_removal(&next)?;
    }
    Ok(())
}

/// Returns an error if the decision drops a side that is more trusted than the writer. A removal is as trusted as the
/// conflict, which has the class of the least trusted version.
fn check_sides(
    draft: &Draft,
    (id, conflict, named): (&Id, &Object, &Named),
    resolution: &Resolution,
) -> Result<()> {
    let class = draft.writer().trust;
    if named.sides.contains(&None) && conflict.origin().is_above(class) {
        return Err(less_trusted(class, vec![id.to_string()]));
    }
    for side in named.sides.iter().flatten() {
        if matches!(resolution, Resolution::Take(version) if version == side) {
            continue;
        }
        let found = draft.store().records.find_object(*side)?;
        if found.is_some_and(|(_, side)| side.origin().is_above(class)) {
            return Err(less_trusted(class, vec![id.to_string()]));
        }
    }
    Ok(())
}

/// Stages the object as it is now, or as a side has it, with another text.
fn put_text(draft: &mut Draft, id: &Id, named: &Named, text: String) -> Result<()> {
    let mut object = draft.get(id)?;
    for version in named.versions() {
        if object.is_none() {
            let found = draft.store().records.find_object(version)?;
            object = found.map(|(_, object)| object).filter(|object| object.id() == id);
        }
    }
    let object = object.ok_or_else(|| Error::not_found(format!("no version of '{id}' is kept")))?;
    let mut new = object.to_new()?;
    new.content = Some(text);
    if draft.writer().trust != Origin::DirectUser {
        // A program or model has read the sides, and its text may repeat them.
        new.derived_from.extend(named.versions());
    }
    // The other fields stay those of the object, so its class counts too.
    let class = Origin::least(draft.writer().trust, object.origin());
    draft.stage(new, OriginRule::AtMost(class)).map(drop)
}

/// Describes an open conflict. Adds the lines of its sides to `lines`, so that they stay open for the next one.
fn open(
    view: &View,
    named: Named,
    digest: ObjectDigest,
    lines: &mut Vec<Arc<Store>>,
) -> Result<OpenConflict> {
    let store = &view.state.store;
    let mut side = |version: Option<ObjectDigest>| -> Result<ConflictSide> {
        let found = version.map(|version| store.records.find_object(version));
        let found = found.transpose()?.flatten();
        let by = found.as_ref().map(|(place, _)| store.commit_behind(*place));
        let by = by.transpose()?.flatten().map(|(line, by)| {
            if !lines.iter().any(|known| Arc::ptr_eq(known, &line)) {
                lines.push(line);
            }
            CommitInfo::of(&by)
        });
        Ok(ConflictSide {
            version,
            trust: found.map(|(_, object)| object.origin()),
            by,
        })
    };
    let shown = view.state.entry_at(&view.key(&named.of))?;
    let shown = shown.map(|entry| ObjectDigest::from_bytes(entry.digest));
    let is_side = named.sides.contains(&shown);
    Ok(OpenConflict {
        fields: named.fields.iter().cloned().collect(),
        sides: named
            .sides
            .iter()
            .map(|version| side(*version))
            .collect::<Result<_>>()?,
        present: (!is_side).then(|| side(shown)).transpose()?,
        base: named.base,
        id: named.of,
        digest,
    })
}

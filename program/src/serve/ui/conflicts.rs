//! The conflicts that merges left open, each with its sides, and the decision of a person about one.
//!
//! # Layer
//! Layer 9, part of serve.

use serde::{Deserialize, Serialize};

use super::acts::{Acted, How, changed};
use super::changes::{ChangeRow, change_of, row};
use super::reader::Reader;
use super::shown::key_of;
use super::summary::Nothing;
use super::ways_back::writer_of;
use treering::inspect::object::Op;
use treering::merge::{ConflictSide, OpenConflict, Resolution};
use treering::{Error, ErrorCode, ErrorKind, ObjectDigest, Origin, Result, Time, View};

/// The side that lacks the object, as a request names it.
const REMOVED: &str = "removed";

/// The open conflicts.
#[derive(Serialize)]
pub(crate) struct ConflictsPage {
    rows: Vec<ConflictRow>,
}

/// An object about which somebody must decide.
#[derive(Serialize)]
struct ConflictRow {
    id: String,
    /// The version of the conflict, and the one that the memory shows.
    digest: ObjectDigest,
    present: String,
    fields: Vec<String>,
    /// The versions that a person may take; last the present one, if it is none of the sides.
    sides: Vec<SideRow>,
}

/// A version of an open conflict.
#[derive(Serialize)]
struct SideRow {
    /// The version, or `removed`.
    name: String,
    session: Option<String>,
    time: Option<Time>,
    trust: Option<Origin>,
    /// Whether the memory shows this version at present.
    present: bool,
    /// How the side differs from the version from which all sides come.
    change: ChangeRow,
}

/// A decision about an open conflict.
#[derive(Deserialize)]
pub(crate) struct OnConflict {
    id: String,
    /// What the person saw: the version of the conflict, and the one that the memory showed.
    digest: String,
    present: String,
    /// The chosen side.
    take: String,
    #[serde(flatten)]
    how: How,
}

/// Returns the open conflicts.
///
/// # Errors
/// `Corrupt` or `Io` if an object or commit cannot be read.
pub(crate) fn conflicts(reader: &Reader, _: &Nothing) -> Result<ConflictsPage> {
    let head = reader.head()?;
    let all = reader.memory().conflicts()?;
    let rows = all.iter().take(super::ROWS_MAX).map(|conflict| {
        let present = present(&head, conflict)?;
        let side = |side: &ConflictSide| SideRow::of(reader, &head, conflict, side, present);
        Ok(ConflictRow {
            id: conflict.id.to_string(),
            digest: conflict.digest,
            present: name(present),
            fields: conflict.fields.clone(),
            sides: choices(conflict).map(side).collect::<Result<_>>()?,
        })
    });
    Ok(ConflictsPage {
        rows: rows.collect::<Result<_>>()?,
    })
}

/// Decides about an open conflict.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; `Conflict` (code `changed`) if the conflict or the item changed since
/// the person saw it (PAG-4); `NotFound` (code `no_conflict`) if it is decided; the errors of [`Memory::resolve_conflict`](treering::Memory::resolve_conflict).
pub(crate) fn resolve(reader: &Reader, asked: &OnConflict) -> Result<Acted> {
    let reason = format!("decides about {}", asked.id);
    let writer = writer_of(reader, asked.how.reason.as_deref(), &reason)?;
    let (head, suite) = (reader.head()?, reader.memory().suite());
    let is_asked = |conflict: &OpenConflict| {
        let id = conflict.id.as_str();
        id == asked.id || key_of(suite, id) == asked.id
    };
    let found = reader.memory().conflicts()?.into_iter().find(is_asked);
    let conflict = found.ok_or_else(|| {
        Error::not_found("this conflict is decided already")
            .with_code(ErrorCode::NoConflict)
            .with_hint("look at the inbox again")
    })?;
    let present = present(&head, &conflict)?;
    if conflict.digest.to_hex() != asked.digest || name(present) != asked.present {
        return Err(changed(&conflict.id));
    }
    let side = choices(&conflict).find(|side| name(side.version) == asked.take);
    let side = side.ok_or_else(|| {
        Error::invalid("the request names no side of the conflict")
            .with_code(ErrorCode::Usage)
            .with_hint("give take")
    })?;
    let mut acted = Acted::of(&asked.how);
    if present != side.version {
        let change = change_of(conflict.id.as_str(), present, side.version)?;
        acted.rows.push(row(reader, &head, &change)?);
    }
    if !acted.dry_run {
        let resolution = side.version.map_or(Resolution::Remove, Resolution::Take);
        let mut draft = reader.memory().draft(&writer);
        // INVARIANT PAG-4: another process may change both before the commit.
        draft.expect(&conflict.id, present);
        draft.resolve_conflict(&conflict.id, Some(conflict.digest), resolution)?;
        let done = reader.memory().commit(draft, Op::RESOLVE)?;
        acted.commit = done.changed.then_some(done.commit);
    }
    Ok(acted)
}

impl SideRow {
    fn of(
        reader: &Reader,
        head: &View,
        conflict: &OpenConflict,
        side: &ConflictSide,
        present: Option<ObjectDigest>,
    ) -> Result<Self> {
        let by = side.by.as_ref().map(|by| &by.commit);
        let change = change_of(conflict.id.as_str(), conflict.base, side.version)?;
        Ok(Self {
            name: name(side.version),
            session: by.and_then(|by| by.session.clone()),
            time: by.map(|by| by.time),
            trust: side.trust,
            present: side.version == present,
            change: row(reader, head, &change)?,
        })
    }
}

/// Iterates the versions that a person may take.
fn choices(conflict: &OpenConflict) -> impl Iterator<Item = &ConflictSide> {
    conflict.sides.iter().chain(&conflict.present)
}

fn name(version: Option<ObjectDigest>) -> String {
    let version = version.map(ObjectDigest::to_hex);
    version.unwrap_or_else(|| REMOVED.to_owned())
}

/// Returns the version that the memory shows.
fn present(head: &View, conflict: &OpenConflict) -> Result<Option<ObjectDigest>> {
    match head.get(&conflict.id) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => Ok(found?.map(|object| object.digest())),
    }
}

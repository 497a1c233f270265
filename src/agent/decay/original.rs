//! Finds the original version of a shortened item, and the time when its full text was stored.
//!
//! # Layer
//! Layer 7, inside `agent`.

use crate::agent::item::{Item, integer_of};
use crate::agent::vocabulary::attribute;
use crate::engine::{Memory, View};
use crate::error::Result;
use crate::object::{Object, Time};

/// Returns the version with the full text, if the item was shortened and history contains that version. A writer can
/// set the attribute `original` to any version. So the version must have the id and scope of the item, and be one of
/// the sources of the item. The version and the item must both be trusted, or both be untrusted.
pub(in crate::agent) fn original_of(memory: &Memory, item: &Item) -> Result<Option<Object>> {
    let object = item.object();
    let named = item.original().filter(|_| item.level().is_some());
    let Some(digest) = named.filter(|named| object.derived_from().any(|source| source == *named)) else {
        return Ok(None);
    };
    let version = memory.version(digest)?;
    // An untrusted item must not restore a trusted text, for example after a promotion was undone. A trusted item must
    // not restore an untrusted text: a person who promoted a shortened text has not seen the original.
    let is_alike = |version: &Object| object.origin().is_trusted() == version.origin().is_trusted();
    Ok(version.filter(|version| {
        version.id() == object.id() && version.scope() == object.scope() && is_alike(version)
    }))
}

/// Returns the time when the text of an item was stored. For a shortened item, returns the time of the full text.
pub(in crate::agent) fn written(view: &View, item: &Item) -> Result<Time> {
    let noted = integer_of(item.object(), attribute::WRITTEN);
    if let Some(micros) = noted.filter(|_| item.level().is_some()) {
        return Ok(Time::from_micros(micros));
    }
    let stamps = view.stamps(item.object().id())?;
    Ok(stamps.map_or(view.commit().commit.time, |(_, updated)| updated))
}

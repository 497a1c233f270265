//! Stages the objects of a change, sources before the objects derived from them. The engine sets the origin of an
//! object when the object is staged, and treats a missing source as imported.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::plan::{Change, Write};
use crate::digest::ObjectDigest;
use crate::engine::{Draft, Memory, OriginRule};
use crate::error::{Error, Result};
use crate::object::{NewObject, Origin, object_class};

/// Stages every version and object that `change` writes.
pub(super) fn stage(draft: &mut Draft, memory: &Memory, change: &Change) -> Result<()> {
    let mut puts = change.put.iter();
    if change.past.is_empty() && puts.all(|write| write.object.derived_from.is_empty()) {
        // Without sources, any order is right.
        return draft
            .stage_all(change.put.iter().map(said))
            .try_for_each(|staged| staged.map(drop));
    }
    let past = change.past.iter().map(|write| (write, true));
    let writes: Vec<_> = past
        .chain(change.put.iter().map(|write| (write, false)))
        .collect();
    let mut staged = HashSet::new();
    // `waiting` contains the writes that wait for each version; `missing` counts the missing sources of each write.
    let mut waiting: HashMap<ObjectDigest, Vec<usize>> = HashMap::new();
    let mut missing = vec![0_usize; writes.len()];
    for (place, (write, _)) in writes.iter().enumerate() {
        for source in write.object.derived_from.iter().copied().collect::<BTreeSet<_>>() {
            if !staged.contains(&source) && memory.version(source)?.is_none() {
                waiting.entry(source).or_default().push(place);
                missing[place] += 1;
            }
        }
        let mut ready = Vec::from_iter((missing[place] == 0).then_some(place));
        while let Some(place) = ready.pop() {
            let digest = put(draft, writes[place])?;
            staged.insert(digest);
            for waiting in waiting.remove(&digest).unwrap_or_default() {
                missing[waiting] -= 1;
                ready.extend((missing[waiting] == 0).then_some(waiting));
            }
        }
    }
    // The remaining writes depend on versions that do not exist. These writes get the origin of an import, so their
    // order does not matter.
    for (write, missing) in writes.into_iter().zip(missing) {
        if missing > 0 {
            put(draft, write)?;
        }
    }
    Ok(())
}

/// Returns the object of a write, with the rule for its origin.
fn said(write: &Write) -> (NewObject, OriginRule) {
    let class = object_class(&write.object, write.origin);
    (write.object.clone(), OriginRule::Said(class))
}

/// Stages an object, or an earlier version, and returns its digest.
fn put(draft: &mut Draft, (write, is_past): (&Write, bool)) -> Result<ObjectDigest> {
    if is_past {
        return draft.put_past(&write.object, write.origin.unwrap_or(Origin::Import));
    }
    let (object, rule) = said(write);
    draft.stage(object, rule)?;
    let digest = draft.digest(&write.object.id)?;
    digest.ok_or_else(|| Error::internal("a staged object is missing in its draft"))
}

//! Stages the objects of a change, sources first, because the engine sets an origin when an object is staged and treats
//! a missing source as imported.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{HashMap, HashSet};

use super::plan::{Change, Write};
use crate::digest::ObjectDigest;
use crate::engine::{Draft, Memory};
use crate::error::{Error, Result};
use crate::object::Origin;

/// Stages every version and object that `change` writes.
pub(super) fn stage(draft: &mut Draft, memory: &Memory, change: &Change) -> Result<()> {
    let past = change.past.iter().map(|write| (write, true));
    let mut staging = Staging {
        draft,
        memory,
        writes: past
            .chain(change.put.iter().map(|write| (write, false)))
            .collect(),
        staged: HashSet::new(),
        waiting: HashMap::new(),
        missing: Vec::new(),
    };
    staging.missing = vec![0; staging.writes.len()];
    for place in 0..staging.writes.len() {
        staging.begin(place)?;
    }
    // The remaining writes depend on versions that do not exist. They get the origin of an import, so their order does
    // not matter.
    for place in 0..staging.writes.len() {
        if staging.missing[place] > 0 {
            staging.missing[place] = 0;
            staging.put(place)?;
        }
    }
    Ok(())
}

struct Staging<'a> {
    draft: &'a mut Draft,
    memory: &'a Memory,
    /// The objects to stage, each with a flag for an earlier version.
    writes: Vec<(&'a Write, bool)>,
    staged: HashSet<ObjectDigest>,
    /// For each version, the writes that depend on it.
    waiting: HashMap<ObjectDigest, Vec<usize>>,
    /// The number of missing sources of each write.
    missing: Vec<usize>,
}

impl Staging<'_> {
    /// Stages the write with this index. If it still has missing sources, registers it to wait for them.
    fn begin(&mut self, place: usize) -> Result<()> {
        let mut sources = self.writes[place].0.object.derived_from.clone();
        sources.sort_unstable();
        sources.dedup();
        for source in sources {
            if !self.staged.contains(&source) && self.memory.version(source)?.is_none() {
                self.waiting.entry(source).or_default().push(place);
                self.missing[place] += 1;
            }
        }
        if self.missing[place] == 0 {
            self.put(place)
        } else {
            Ok(())
        }
    }

    /// Stages the write with this index. Then stages every write for which it was the last missing source.
    fn put(&mut self, place: usize) -> Result<()> {
        let mut ready = vec![place];
        while let Some(place) = ready.pop() {
            let digest = self.put_one(place)?;
            self.staged.insert(digest);
            for waiting in self.waiting.remove(&digest).unwrap_or_default() {
                let missing = &mut self.missing[waiting];
                *missing = missing.saturating_sub(1);
                if *missing == 0 {
                    ready.push(waiting);
                }
            }
        }
        Ok(())
    }

    fn put_one(&mut self, place: usize) -> Result<ObjectDigest> {
        let (write, past) = self.writes[place];
        if past {
            return self
                .draft
                .put_past(&write.object, write.origin.unwrap_or(Origin::Import));
        }
        match write.origin {
            Some(origin) => self.draft.put_at_most(write.object.clone(), origin)?,
            None => self.draft.put(write.object.clone())?,
        };
        let digest = self.draft.digest(&write.object.id)?;
        digest.ok_or_else(|| Error::internal("a staged object is missing in its draft"))
    }
}

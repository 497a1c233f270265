//! Converts staged changes to records and the resulting state.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STG-1: a batch contains no version and no content that history already has, and none twice.

use std::collections::{BTreeMap, HashSet};

use crate::digest::{KeyPath, ObjectDigest};
use crate::error::Result;
use crate::log::{BODY_BYTES_MAX, BatchBuilder, RecordKind, UNLINKED};
use crate::store::Store;
use crate::trie::{Entry, NodeSource, Trie};

use super::draft::{StagedChange, StagedObject};

/// Whether the versions of a batch become part of the state or only of history.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Linked,
    Unlinked,
}

/// Adds the records of `past` and of `changes` to the batch, and edits the trie, whose nodes are in `nodes`. Returns
/// the content of the object records.
pub(crate) fn add_changes<'a>(
    store: &Store,
    nodes: &dyn NodeSource,
    batch: &mut BatchBuilder,
    trie: &mut Trie,
    past: &BTreeMap<ObjectDigest, StagedObject>,
    changes: impl Iterator<Item = (&'a KeyPath, &'a StagedChange)>,
    keep: Keep,
) -> Result<Vec<(KeyPath, ObjectDigest)>> {
    let flags = if keep == Keep::Linked { 0 } else { UNLINKED };
    let mut objects = Vec::new();
    let mut contents = HashSet::new();
    let (mut links, mut unlinks) = (Vec::new(), Vec::new());
    let mut add_content = |batch: &mut BatchBuilder, staged: &StagedObject| -> Result<()> {
        if let Some((digest, bytes)) = &staged.content
            && contents.insert(*digest)
            && store.records.find_content(*digest)?.is_none()
        {
            batch.add(RecordKind::Content, 0, bytes);
        }
        Ok(())
    };
    let mut add = |batch: &mut BatchBuilder, key: KeyPath, staged: &StagedObject, flags: u8| -> Result<()> {
        batch.add(RecordKind::Object, flags, staged.object.bytes());
        objects.push((key, staged.object.digest()));
        Ok(())
    };
    for (digest, staged) in past {
        if store.records.find_place(*digest)?.is_none() {
            add_content(batch, staged)?;
            add(
                batch,
                store.suite.key_path(staged.object.id().as_str()),
                staged,
                UNLINKED,
            )?;
        }
    }
    for (key, change) in changes {
        let Some(staged) = &change.new else {
            unlinks.extend_from_slice(key.as_bytes());
            trie.remove(key, nodes)?;
            continue;
        };
        let digest = staged.object.digest();
        // Adds the content even if the version is known, because the content may have been erased since.
        add_content(batch, staged)?;
        // The locator and the first commit are still unknown. The store sets them when it applies the batch.
        trie.insert(
            Entry {
                key: *key,
                digest: *digest.as_bytes(),
                place: 0,
                created: 0,
            },
            nodes,
        )?;
        // STG-1. A digest covers the id, so no version can be staged for two ids of a batch.
        if store.records.find_place(digest)?.is_some() {
            links.extend_from_slice(key.as_bytes());
            links.extend_from_slice(digest.as_bytes());
            continue;
        }
        add(batch, *key, staged, flags)?;
    }
    if keep == Keep::Linked {
        add_links(batch, &links, &unlinks);
    }
    Ok(objects)
}

/// Adds link and unlink records, split so that each is within the size limit of a record.
pub(crate) fn add_links(batch: &mut BatchBuilder, links: &[u8], unlinks: &[u8]) {
    for (kind, bytes) in [(RecordKind::Link, links), (RecordKind::Unlink, unlinks)] {
        // The limit is a multiple of the length of an entry of either kind.
        for part in bytes.chunks(BODY_BYTES_MAX) {
            batch.add(kind, 0, part);
        }
    }
}

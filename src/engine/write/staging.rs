//! Converts staged changes to records of a batch, and applies them to the trie.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STG-1: a batch contains no version and no content twice, and no version or content that history already has.

use std::collections::HashSet;

use crate::digest::{KeyPath, ObjectDigest};
use crate::error::Result;
use crate::log::{BODY_BYTES_MAX, BatchBuilder, RecordKind, UNLINKED};
use crate::store::Store;
use crate::trie::{Entry, NodeSource, Trie};

use super::{Draft, StagedChange, StagedObject};
use crate::engine::read::not_kept;

/// Adds the draft's earlier versions and `changes` to the batch. Applies the changes to `trie`; `nodes` is the source
/// of the stored nodes of `trie`. With the flag [`UNLINKED`], the batch does not add the changed versions to the state.
/// Returns the key path and digest of each added object record.
///
/// # Errors
/// `NotFound` (code `erased` or `lost` if so) if history no longer keeps a version that the draft links (DRA-3).
pub(crate) fn add_changes<'a>(
    store: &Store,
    draft: &Draft,
    batch: &mut BatchBuilder,
    trie: &mut Trie,
    nodes: &dyn NodeSource,
    changes: impl Iterator<Item = (&'a KeyPath, &'a StagedChange)>,
    flags: u8,
) -> Result<Vec<(KeyPath, ObjectDigest)>> {
    let (mut objects, mut contents) = (Vec::new(), HashSet::new());
    let (mut links, mut unlinks) = (Vec::new(), Vec::new());
    // Adds one version to the batch, and returns whether the version is new.
    let mut add =
        |batch: &mut BatchBuilder, key: KeyPath, staged: &StagedObject, flags: u8| -> Result<bool> {
            // Adds the content even if history has the version, because the content may have been erased.
            if let Some((digest, bytes)) = &staged.content
                && contents.insert(*digest)
                && store.records.find_content(*digest)?.is_none()
            {
                batch.add(RecordKind::Content, 0, bytes);
            }
            // STG-1. A digest covers the id, so two ids of a batch cannot have the same version.
            let digest = staged.object.digest();
            let is_new = store.records.find_place(digest)?.is_none();
            if is_new && staged.is_linked {
                // INVARIANT DRA-3: the commit links a version of history only if history still keeps it.
                let what = format!("version {digest} of '{}'", staged.object.id());
                return Err(not_kept(store, digest.as_bytes(), &what)?);
            }
            if is_new {
                batch.add(RecordKind::Object, flags, staged.object.bytes());
                objects.push((key, digest));
            }
            Ok(is_new)
        };
    for staged in draft.past.values() {
        let key = store.suite.key_path(staged.object.id().as_str());
        add(batch, key, staged, UNLINKED)?;
    }
    for (key, change) in changes {
        let Some(staged) = &change.new else {
            unlinks.extend_from_slice(key.as_bytes());
            trie.remove(key, nodes)?;
            continue;
        };
        let digest = *staged.object.digest().as_bytes();
        // The locator and the first commit are still unknown. The store sets both when the batch is applied.
        let entry = Entry {
            key: *key,
            digest,
            place: 0,
            created: 0,
        };
        trie.insert(entry, nodes)?;
        if !add(batch, *key, staged, flags)? {
            links.extend_from_slice(key.as_bytes());
            links.extend_from_slice(&digest);
        }
    }
    if flags != UNLINKED {
        add_links(batch, &links, &unlinks);
    }
    Ok(objects)
}

/// Adds link and unlink records. Splits these records so that each record stays within the size limit of a record.
pub(crate) fn add_links(batch: &mut BatchBuilder, links: &[u8], unlinks: &[u8]) {
    for (kind, bytes) in [(RecordKind::Link, links), (RecordKind::Unlink, unlinks)] {
        // The limit is a multiple of the length of an entry of either kind.
        for part in bytes.chunks(BODY_BYTES_MAX) {
            batch.add(kind, 0, part);
        }
    }
}

//! The references that travel with a push: named snapshots, taints of sessions, and signatures of heads.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - TRV-1: what comes from a remote replaces no name of this store. A snapshot `NAME` of the remote `origin` is
//!   `remote:origin/NAME` here, and a signature names the side line of the machine that signed.
//! - TRV-2: taints only add.
//! - TRV-3: nothing that came from a remote is sent back to it.
//! - TRV-4: a snapshot that travels names a commit that the remote has or gets with it.

use std::sync::Arc;

use super::intake::is_side_line;
use super::remote::{Known, MAIN, Position, SIDE};
use crate::digest::{CommitDigest, to_hex};
use crate::engine::inner::Inner;
use crate::error::Result;
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Reference, ReferenceClass, ReferenceName, check_snapshot_name};
use crate::store::{REMOTE, ReferenceEntry, Store};

impl Known<'_> {
    /// Returns a reference of the remote as this store names it (TRV-1); `None` if it does not travel.
    ///
    /// # Errors
    /// `InvalidInput` if the name is too long.
    pub(crate) fn of_remote(&self, mut reference: Reference) -> Result<Option<Reference>> {
        let rest = reference.name.rest().to_owned();
        match reference.name.class() {
            _ if reference.commit.is_none() || reference.lane.is_some() => return Ok(None),
            ReferenceClass::Snapshots if check_snapshot_name(&rest).is_ok() => {
                let name = format!("{REMOTE}{}/{rest}", self.name);
                reference.name = ReferenceName::of(ReferenceClass::Snapshots, &name)?;
            }
            ReferenceClass::Pins if reference.name.is_taint() => {
                reference.reason = None;
                let from = self.name.as_bytes().to_vec();
                reference.reserved.insert(Reference::FROM, from);
            }
            ReferenceClass::Signatures
                if rest.split_once('/').is_some_and(|(line, _)| is_side_line(line)) => {}
            _ => return Ok(None),
        }
        Ok(Some(reference))
    }

    /// Returns a reference of this store as the remote names it; `None` if it does not travel.
    fn to_remote(self, store: &Arc<Store>, instance: [u8; 16], own: &Reference) -> Result<Option<Reference>> {
        let (rest, mut reference) = (own.name.rest(), own.clone());
        let Some(commit) = own.commit.filter(|_| own.lane.is_none()) else {
            return Ok(None);
        };
        let travels = match own.name.class() {
            ReferenceClass::Snapshots => {
                check_snapshot_name(rest).is_ok() && store.by_digest(commit)?.is_some()
            }
            // TRV-3
            ReferenceClass::Pins if own.name.is_taint() => {
                own.reserved.get(&Reference::FROM).map(Vec::as_slice) != Some(self.name.as_bytes())
            }
            ReferenceClass::Signatures => match rest.split_once('/') {
                Some((MAIN, key)) => {
                    let name = format!("{SIDE}{}/{key}", to_hex(&instance));
                    reference.name = ReferenceName::of(ReferenceClass::Signatures, &name)?;
                    true
                }
                _ => false,
            },
            _ => false,
        };
        reference.reserved.remove(&Reference::FROM);
        Ok(travels.then_some(reference))
    }
}

impl Inner {
    /// Returns a batch with the references that a remote lacks, and the position of the newest one; `None` if it has all.
    ///
    /// It goes by their order in this log, because their times come from the clocks of many machines.
    pub(super) fn references_for(&self, known: Known<'_>) -> Result<Option<(BatchBuilder, Position)>> {
        // The epoch is read first. So a store that is newer shows as changed.
        let epoch = self.log.lock().log.epoch();
        let (store, sent) = (self.main().store(), self.sent_before(known)?);
        let newer: Vec<ReferenceEntry> = {
            let references = store.references();
            // A rewrite may put a reference in the batch of the one that notes what was sent.
            let newer = references.iter().filter(|entry| entry.batch >= sent);
            newer.cloned().collect()
        };
        let newest = newer.iter().map(|entry| entry.batch).max().unwrap_or(0);
        let mut batch = BatchBuilder::new();
        for own in newer {
            let Some(reference) = known.to_remote(&store, self.opened().instance, &own.reference)? else {
                continue;
            };
            let text = reference
                .reason
                .map_or(Ok(None), |text| store.records.find_text(text))?;
            if let Some(text) = text {
                batch.add(RecordKind::Text, 0, &text);
            }
            batch.add(RecordKind::Reference, 0, &reference.encode()?);
        }
        let until = Position { epoch, batch: newest };
        Ok((!batch.is_empty()).then_some((batch, until)))
    }
}

/// Returns the commits that the named snapshots of this store name.
pub(super) fn snapshots_that_travel(store: &Store) -> Vec<CommitDigest> {
    let references = store.references();
    let named = references.iter().map(|entry| &entry.reference).filter(|own| {
        own.name.class() == ReferenceClass::Snapshots
            && own.lane.is_none()
            && check_snapshot_name(own.name.rest()).is_ok()
    });
    named.filter_map(|own| own.commit).collect()
}

//! Drafts in the store that outlive their process: saved drafts under `drafts/`, refused drafts under `rejected/`.
//!
//! History contains the new versions of such a draft, but no state contains them. A reference lists the ids that the
//! draft changes, each with its new version.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - KEP-1: if a writer's change is refused again on the same line for the same reason, it is kept once, with the time of the last
//!   refusal.
//! - KEP-2: when the cap is exceeded, a newly refused change replaces the oldest changes of the writer who uses the
//!   largest share. The reason of the new change names the replaced changes. A change larger than every writer's share
//!   replaces none; it alone may exceed the cap.
//! - KEP-3: long texts weigh more, so the kept changes have a bounded number of bytes, not only a bounded number.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Object, Reference, ReferenceClass, ReferenceName, StagedChange, Time};
use crate::store::Store;
use crate::trie::Shape;
use treering_text::calendar::DAY_MICROS;

use super::staging::{self, add_changes};
use super::{Draft, Writer, newest_references};
use crate::engine::inner::Inner;
use crate::engine::read::text_of;

/// The time for which a refused change is kept for a person to review: 7 days.
const REJECTED_MICROS: i64 = 7 * DAY_MICROS;
/// The cap on the total weight of the refused changes that a store keeps. A change weighs 1, and 1 more for each
/// [`REJECTED_OBJECTS`] objects or [`REJECTED_BYTES`] bytes, whichever is more. So long texts use about 64 MiB.
pub(in crate::engine) const REJECTED_MAX: usize = 1_000;
/// The number of objects that add 1 to the weight of a refused change.
const REJECTED_OBJECTS: usize = 1_000;
/// The number of bytes that add 1 to the weight of a refused change.
pub(in crate::engine) const REJECTED_BYTES: u64 = 64 << 10;
/// The bytes of an object that its number already counts.
const OBJECT_BYTES: u64 = 512;
/// The maximal length of a reason, in bytes.
const REASON_BYTES_MAX: usize = 1 << 16;
/// The text between the reason of a refused change and the names of the changes that it replaced.
const GAVE_WAY: &str = "; to make room, it dropped ";

/// The name under which a draft is kept, its writer with the reason, and the names of the drafts that it replaces.
type Place = (ReferenceName, Writer, Vec<ReferenceName>);

/// Returns the weight of a refused change, which counts toward [`REJECTED_MAX`] (KEP-3).
fn weight(objects: usize, bytes: u64) -> usize {
    let by_bytes = usize::try_from(bytes / REJECTED_BYTES).unwrap_or(usize::MAX);
    1 + by_bytes.min(REJECTED_MAX).max(objects / REJECTED_OBJECTS)
}

/// Returns the bytes of a version that count toward the weight of its change.
fn bytes_of(object: &Object) -> u64 {
    let content = object.content_digest().map_or(0, |(_, length)| length);
    (object.bytes().len() as u64 + content).saturating_sub(OBJECT_BYTES)
}

/// Returns the weight of a change that the store keeps. Reads all of its versions: a writer who knew which ones are read
/// could place the long texts beside them.
fn kept_weight(store: &Store, changes: &[StagedChange]) -> usize {
    let digests = changes.iter().filter_map(|change| change.digest);
    // An unreadable version has no size, and must not prevent that another change is kept.
    let found = digests.filter_map(|digest| store.records.find_object(digest).ok().flatten());
    weight(changes.len(), found.map(|(_, object)| bytes_of(&object)).sum())
}

/// Chooses the name under which a refused change is kept, and the kept changes that it replaces.
pub(super) fn rejected(
    store: &Store,
    (changes, bytes): (&[StagedChange], u64),
    number: u64,
    reason: &str,
    writer: &Writer,
) -> Result<Place> {
    let references = newest_references(store);
    let mut kept: Vec<_> = references.iter().rev().collect();
    kept.retain(|one| one.name.class() == ReferenceClass::Rejected);
    let own = (&writer.actor, &writer.session);
    // INVARIANT KEP-1: if a writer's change is refused again on the same line for the same reason, it is kept once, with
    // the time of the last refusal.
    let again = kept.iter().find_map(|one| {
        let is_again = (&one.actor, &one.session) == own && one.line.as_deref() == store.line_name();
        if !is_again || one.changes != changes {
            return None;
        }
        let told = text_of(store, one.reason).unwrap_or_default();
        let rest = told.strip_prefix(reason)?;
        let is_same = rest.is_empty() || rest.starts_with(GAVE_WAY);
        is_same.then(|| (one.name.clone(), told))
    });
    if let Some((name, told)) = again {
        return Ok((name, writer.clone().reason(told), Vec::new()));
    }
    // INVARIANT KEP-2: when the cap is exceeded, a newly refused change replaces the oldest changes of the writer who
    // uses the largest share.
    let mut gone = Vec::new();
    let new = weight(changes.len(), bytes);
    let weights = kept
        .iter()
        .map(|one| (one.name.clone(), kept_weight(store, &one.changes)));
    let weights: HashMap<ReferenceName, usize> = weights.collect();
    let weight_of = |one: &Reference| weights.get(&one.name).copied().unwrap_or(1);
    let mut taken: usize = kept.iter().map(|one| weight_of(one)).sum();
    while taken + new > REJECTED_MAX && !kept.is_empty() {
        let mut shares = HashMap::from([(own, new)]);
        for one in &kept {
            *shares.entry((&one.actor, &one.session)).or_default() += weight_of(one);
        }
        let share = |one: &&Reference| shares.get(&(&one.actor, &one.session)).copied();
        let most = kept.iter().map(share).max();
        if taken <= REJECTED_MAX && shares.get(&own).copied() > most.flatten() {
            break;
        }
        let oldest = kept.iter().position(|one| Some(share(one)) == most).unwrap_or(0);
        let one = kept.remove(oldest);
        taken -= weight_of(one);
        gone.push(one.name.clone());
    }
    let mut told = reason.to_owned();
    if !gone.is_empty() {
        let names: Vec<&str> = gone.iter().map(ReferenceName::as_str).collect();
        let all = format!("{reason}{GAVE_WAY}{}", names.join(", "));
        // If the names of the replaced changes would make the reason too long, the reason omits them.
        if all.len() <= REASON_BYTES_MAX {
            told = all;
        }
    }
    let name = ReferenceName::of(ReferenceClass::Rejected, &number.to_string())?;
    Ok((name, writer.clone().reason(told), gone))
}

/// Returns the reference of a kept draft.
pub(super) fn draft_named(store: &Store, name: &ReferenceName) -> Result<Reference> {
    let reference = store
        .references()
        .get(name)
        .map(|entry| Reference::clone(&entry.reference));
    reference
        .filter(|reference| reference.root.is_some())
        .ok_or_else(|| {
            Error::not_found(format!("no draft has the name {name}"))
                .with_hint("`log --refs` lists references")
        })
}

impl Inner {
    /// Keeps the staged changes of a draft under `rejected/`, with the reason; the state does not change. Returns the
    /// name, or `None` if nothing is staged.
    pub(crate) fn reject(&self, draft: &Draft, reason: &str) -> Result<Option<String>> {
        if draft.is_empty() {
            return Ok(None);
        }
        let staged = draft.staged.values().filter_map(|change| change.new.as_ref());
        let bytes = staged.map(|staged| bytes_of(&staged.object)).sum();
        let kept = self.keep_draft(draft, |store, changes, number| {
            rejected(store, (changes, bytes), number, reason, draft.writer())
        })?;
        Ok(Some(kept.as_str().to_owned()))
    }

    /// Deletes changes that were refused more than [`REJECTED_MICROS`] before `now`. History keeps their versions until
    /// garbage collection removes them.
    pub(crate) fn drop_old_rejected(&self, now: Time) -> Result<()> {
        let is_old = |reference: &Reference| {
            reference.name.class() == ReferenceClass::Rejected
                && now.as_micros().saturating_sub(reference.time.as_micros()) > REJECTED_MICROS
        };
        let old = || newest_references(&self.store()).into_iter().filter(is_old);
        // Usually no refused change is old enough, so the function writes nothing.
        if old().next().is_none() {
            return Ok(());
        }
        self.write(|writing| {
            let mut names = old().map(|reference| reference.name);
            names.try_for_each(|name| self.drop_reference(writing, name, &Writer::user()))
        })
    }

    /// Stages one change of a kept draft in a new draft.
    pub(super) fn stage_kept(&self, draft: &mut Draft, change: &StagedChange) -> Result<()> {
        let records = &self.store().records;
        match change.digest {
            Some(digest) => {
                if let Some((_, object)) = records.find_object(digest)? {
                    return draft.stage_version(object);
                }
                if records.erasure(digest.as_bytes())?.is_none() {
                    return Err(Error::corrupt(format!(
                        "the staged version {digest} is missing from the store"
                    )));
                }
                draft.left_out.push(digest);
                Ok(())
            }
            None => {
                let object = draft.base().state.object_at(&change.key)?;
                match object {
                    // The draft cannot stage an erased version, because its id is unknown.
                    Some(object) if object.is_placeholder() => draft.left_out.push(object.digest()),
                    Some(object) => drop(draft.remove(object.id())?),
                    None => {}
                }
                Ok(())
            }
        }
    }

    /// Writes a draft's versions and a reference that lists the versions. The function `place` receives the changes and
    /// the number of the batch, and returns the name of the reference.
    pub(super) fn keep_draft(
        &self,
        draft: &Draft,
        place: impl FnOnce(&Store, &[StagedChange], u64) -> Result<Place>,
    ) -> Result<ReferenceName> {
        self.check_own(draft)?;
        self.write(|writing| {
            let (store, head, tip) = self.tip(writing)?;
            let mut batch = BatchBuilder::new();
            // INVARIANT TNT-1: whoever commits the draft later, its sessions are tainted from now on.
            drop(self.new_taints(&store, &mut batch, &tip, draft)?);
            let (base, trie) = (draft.base(), draft.base().state.trie.clone());
            let nodes = &*base.state.store;
            let changed = add_changes(&store, draft, &mut batch, trie, nodes, staging::Place::Unlinked)?;
            let changes = draft.staged.sorted().into_iter();
            let changes = changes.map(|(key, change)| (key, change.new_digest()));
            let changes: Vec<_> = changes
                .map(|(key, digest)| StagedChange { key, digest })
                .collect();
            let (name, writer, gone) = place(&store, &changes, tip.end.next_batch)?;
            let (commit, time) = (Some(base.entry.digest), head.commit.time);
            let mut reference = self.reference(&mut batch, name.clone(), commit, time, &writer)?;
            reference.root = Some(changed.trie.root(nodes.suite, Shape::State, nodes)?);
            reference.changes = changes;
            reference.line = store.line_name().map(str::to_owned);
            batch.add(RecordKind::Reference, 0, &reference.encode()?);
            for gone in gone {
                let gone = self.reference(&mut batch, gone, None, time, &Writer::user())?;
                batch.add(RecordKind::Reference, 0, &gone.encode()?);
            }
            self.write_references(writing, batch, Vec::new())?;
            Ok(name)
        })
    }
}

//! The history of ids as if selected commits had written nothing.
//!
//! [`Without::of`] reads the changes of the commits from the first selected one to the head, oldest first. It follows
//! each id from the first selected change on: which version the id has, and which version it would have without the
//! selected commits (the *standing* version).
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - WTH-1: a selected commit leaves the standing version of every id as it is.
//! - WTH-2: a version that undo, redo, rollback, restore, revert or unforget brought back counts as written by whoever
//!   wrote it first. Undo, redo and rollback go back to a moment, so the version stands that stood at that moment. The
//!   others name no moment: if the selected commits wrote the version first, or it is an absence, the version stands
//!   that stood when the id last had it. Else it stands itself. Versions in between were taken back, so they stand no
//!   longer.
//! - WTH-3: thinned commits may have made a change behind a gap. It counts for the commit only if the commit wrote the
//!   version itself. Else its writer is unknown, so never selected, and an earlier version counts as brought back.
//!
//! # Cost
//! Proportional to the number of changes since the first selected commit. The size of the state and older commits do
//! not matter.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::digest::{KeyPath, ObjectDigest};
use crate::engine::read::State;
use crate::engine::read::selection::Chosen;
use crate::engine::settings::Settings;
use crate::engine::write::settle::{is_erased, is_same};
use crate::error::{Error, Result};
use crate::object::Op;
use crate::store::{CommitEntry, IdChanges, Store};
use crate::trie::{Change, Entry, Trie};

type Digest = [u8; 32];

/// The version that stands for an id, or `None` if the id is absent.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    pub(super) entry: Option<Entry>,
    /// The seq of the commit that made the version current. `None` if only the version itself tells its writer.
    pub(super) by: Option<u64>,
    /// Whether thinned commits may have written a newer version.
    pub(super) thinned: bool,
}

/// An id after a commit that changed it.
struct Moment {
    /// The seq of the commit.
    seq: u64,
    actual: Option<Entry>,
    standing: Standing,
}

/// One commit of the history that is read.
struct Step<'a> {
    store: &'a Arc<Store>,
    commit: &'a CommitEntry,
    /// Whether no thinned commits are between the commit and the one before.
    follows: bool,
    selected: &'a Chosen,
    /// The seq of the newest commit to which an undo, redo or rollback may have gone back.
    went_back_to: Option<u64>,
}

impl Step<'_> {
    /// Returns two flags: whether a selected commit made the change, and whether that is a commit of another line which
    /// this merge brought in.
    fn is_selected(&self, change: &Change) -> Result<(bool, bool)> {
        let (seq, selected) = (self.commit.seq(), self.selected);
        let is_own = selected.own.contains(&seq);
        if !self.commit.is_merge() || !selected.sees_through || !(is_own || selected.merges.contains(&seq)) {
            return Ok((is_own, false));
        }
        let maker = self.store.maker_behind(self.commit, &change.key, change.new)?;
        Ok(match maker {
            Some(maker) if maker.digest != self.commit.digest => {
                (selected.brought.contains_key(&maker.digest), true)
            }
            None if change.new.is_some() => (false, false),
            _ => (is_own, false),
        })
    }
}

/// The history of one id since the first selected change.
pub(super) struct Track {
    /// The first moment is before the first selected change.
    moments: Vec<Moment>,
    /// The seq of the newest commit that cannot have a moment.
    before: u64,
    /// The index of the newest moment that a selected commit made.
    last_selected: usize,
    /// The seq of that commit.
    pub(super) last_selected_seq: u64,
}

/// The histories of the ids that the selected commits changed.
pub(super) struct Without {
    pub(super) tracks: HashMap<KeyPath, Track>,
    /// The ids that got a version derived from a version of the selected commits.
    pub(super) derived_ids: BTreeSet<KeyPath>,
    /// The versions that the selected commits wrote first.
    written: HashSet<Digest>,
    /// The versions of others that are derived from `written`, directly or indirectly.
    derived: HashSet<Digest>,
    with_derived: bool,
    /// The other lines of the merges. They stay open, so each is read once.
    lines: Vec<Arc<Store>>,
}

impl Without {
    /// Follows the ids that the `selected` commits changed. With `with_derived`, versions of other commits that are
    /// derived from versions of the selected commits count as selected too.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit, state or object cannot be read.
    pub(super) fn of(
        store: &Arc<Store>,
        selected: &Chosen,
        with_derived: bool,
        settings: &Settings,
    ) -> Result<Self> {
        let mut without = Self {
            tracks: HashMap::new(),
            derived_ids: BTreeSet::new(),
            written: HashSet::new(),
            derived: HashSet::new(),
            with_derived,
            lines: Vec::new(),
        };
        let first = selected.first().unwrap_or(u64::MAX);
        let (Ok(first) | Err(first)) = store.position(first)?;
        let before = first
            .checked_sub(1)
            .map_or(Ok(None), |before| store.commit_at(before))?;
        let mut trie = before
            .as_ref()
            .map_or(Ok(Trie::new()), |before| store.state(before))?;
        let mut parent = before.map(|before| before.digest);
        let total = (store.kept() - first) as u64;
        for (done, index) in (1..).zip(first..store.kept()) {
            settings.step("commits", done, total)?;
            let commit = store.commit_at(index)?;
            let commit = commit.ok_or_else(|| Error::internal("a kept commit is missing"))?;
            let after = store.state(&commit)?;
            for parent in commit.commit.parents.iter().skip(1) {
                without
                    .lines
                    .extend(store.commit_of_any(*parent)?.map(|(line, _)| line));
            }
            let step = Step {
                store,
                commit: &commit,
                follows: commit.commit.parents.first().copied() == parent,
                selected,
                went_back_to: went_back_to(store, &commit)?,
            };
            for change in trie.diff(&after, &**store) {
                without.note(&step, &change?)?;
            }
            (trie, parent) = (after, Some(commit.digest));
        }
        Ok(without)
    }

    /// Notes one change of a commit.
    fn note(&mut self, step: &Step<'_>, change: &Change) -> Result<()> {
        let (store, commit, seq) = (step.store, step.commit, step.commit.seq());
        // WTH-3
        let is_known = step.follows || is_writer(store, commit, change)?;
        let (step_is_selected, is_brought) = step.is_selected(change)?;
        let is_selected = match change.new {
            Some(new) if step_is_selected && is_known => {
                if is_brought || is_writer(store, commit, change)? {
                    self.written.insert(new.digest);
                }
                true
            }
            Some(new) if self.is_derived(step, &new)? => {
                self.derived_ids.insert(change.key);
                self.with_derived
            }
            _ => step_is_selected && is_known,
        };
        let until = self.back_until(step, change, is_known);
        let track = match self.tracks.get_mut(&change.key) {
            Some(track) => track,
            None if is_selected => {
                let track = Track::starting(change.old, seq.saturating_sub(1));
                self.tracks.entry(change.key).or_insert(track)
            }
            None => return Ok(()),
        };
        let standing = if is_selected {
            // WTH-1
            let mut standing = track.newest().standing;
            standing.thinned |= !step.follows && is_rewritten(commit, change);
            standing
        } else if let Some(earlier) = until.and_then(|until| track.last_with(change.new, until)) {
            // WTH-2
            earlier.standing
        } else {
            Standing {
                entry: change.new,
                by: is_known.then_some(seq),
                thinned: false,
            }
        };
        let actual = change.new;
        track.moments.push(Moment {
            seq,
            actual,
            standing,
        });
        if is_selected {
            (track.last_selected, track.last_selected_seq) = (track.moments.len() - 1, seq);
        }
        Ok(())
    }

    /// Returns the newest seq of the moments from which a commit may have brought a version back. Returns `None` if the
    /// version stands itself (WTH-2).
    fn back_until(&self, step: &Step<'_>, change: &Change, is_known: bool) -> Option<u64> {
        let brings_back = step.commit.commit.op.goes_back();
        if brings_back && step.went_back_to.is_some() {
            return step.went_back_to;
        }
        let is_own = change.new.is_none_or(|new| self.written.contains(&new.digest));
        // WTH-3
        (!is_known || (brings_back && is_own)).then_some(u64::MAX)
    }

    /// Returns whether the version of another commit is derived from a version of the selected commits.
    fn is_derived(&mut self, step: &Step<'_>, new: &Entry) -> Result<bool> {
        if self.derived.contains(&new.digest) {
            return Ok(true);
        }
        let brought = &step.selected.brought;
        if self.written.contains(&new.digest) || self.written.is_empty() && brought.is_empty() {
            return Ok(false);
        }
        let records = &step.store.records;
        let object = records.object_at(new.place, ObjectDigest::from_bytes(new.digest))?;
        for source in object.derived_from() {
            let known = source.as_bytes();
            let mut is_source = self.written.contains(known) || self.derived.contains(known);
            // A merge makes one version of two, of which this line never had the other one.
            if !is_source && !brought.is_empty() && step.commit.is_merge() {
                let place = records.find_place(source)?;
                let maker = place.map_or(Ok(None), |place| step.store.commit_behind(place))?;
                is_source = maker.is_some_and(|(_, maker)| brought.contains_key(&maker.digest));
            }
            if is_source {
                self.derived.insert(new.digest);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether thinned commits may have written a newer version of the id than the one that stands.
    pub(super) fn misses(&self, key: KeyPath) -> bool {
        self.tracks
            .get(&key)
            .is_some_and(|track| track.standing().thinned)
    }

    /// Returns whether the state has a derived version of the id.
    pub(super) fn has_derived(&self, entry: &Entry) -> bool {
        self.derived.contains(&entry.digest)
    }
}

impl Track {
    fn starting(entry: Option<Entry>, before: u64) -> Self {
        let first = Moment {
            seq: before,
            actual: entry,
            standing: Standing {
                entry,
                by: None,
                thinned: false,
            },
        };
        Self {
            moments: vec![first],
            before,
            last_selected: 0,
            last_selected_seq: before,
        }
    }

    fn newest(&self) -> &Moment {
        &self.moments[self.moments.len() - 1]
    }

    /// Returns the newest moment at or before commit `until` at which the id had the version.
    fn last_with(&self, version: Option<Entry>, until: u64) -> Option<&Moment> {
        let moments = self.moments.iter();
        moments
            .rev()
            .find(|moment| moment.seq <= until && is_same(moment.actual, version))
    }

    /// Returns the seqs of the commits that changed the id, from the first selected change on.
    pub(super) fn changed_by(&self) -> impl Iterator<Item = u64> + '_ {
        self.moments.iter().skip(1).map(|moment| moment.seq)
    }

    /// Returns the version that stands at the head.
    pub(super) fn standing(&self) -> Standing {
        self.newest().standing
    }

    /// Returns whether others changed the id after the newest selected change, to a version that stands.
    pub(super) fn changed_later(&self) -> bool {
        !is_same(
            self.standing().entry,
            self.moments[self.last_selected].standing.entry,
        )
    }

    /// Returns the newest version that stands and was not erased. With `later`, versions after the newest selected
    /// change count too. Returns `None` if the id is absent.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a version or the history of the id cannot be read.
    pub(super) fn kept(&self, state: &State, key: &KeyPath, later: bool) -> Result<Option<Entry>> {
        let newest = if later {
            self.moments.len() - 1
        } else {
            self.last_selected
        };
        for moment in self.moments[..=newest].iter().rev() {
            match moment.standing.entry {
                Some(entry) if is_erased(state, &entry)? => {}
                standing => return Ok(standing),
            }
        }
        // Every version since was erased, so the newest older one that is left stands.
        let mut changes = IdChanges::new(Arc::clone(&state.store), *key)?;
        while let Some(change) = changes.next()? {
            match change.entry {
                _ if change.commit.seq() > self.before => {}
                Some(entry) if is_erased(state, &entry)? => {}
                entry => return Ok(entry),
            }
        }
        Ok(None)
    }

    /// Returns a version of the id that names it, newest first, for an id that is absent now.
    pub(super) fn versions(&self) -> impl Iterator<Item = Entry> + '_ {
        self.moments.iter().rev().filter_map(|moment| moment.actual)
    }
}

/// Returns whether the commit is the writer of the version that the change brings.
fn is_writer(store: &Arc<Store>, commit: &CommitEntry, change: &Change) -> Result<bool> {
    let writer = change.new.map_or(Ok(None), |new| store.writer_of(&new))?;
    Ok(writer.is_some_and(|writer| writer.digest == commit.digest))
}

/// Returns whether the id existed before the commit, according to the version that the commit wrote.
fn is_rewritten(commit: &CommitEntry, change: &Change) -> bool {
    let created = change.new.map(|new| new.created);
    created.is_some_and(|created| created < commit.commit.time.as_micros())
}

/// Returns the seq of the commit whose state an undo, redo or rollback restored, at least for the ids that it changed.
/// Returns `None` for another operation, or if the commit that it names was thinned.
fn went_back_to(store: &Store, commit: &CommitEntry) -> Result<Option<u64>> {
    let target = commit.commit.target.map(|target| store.by_digest(target));
    let target = target.transpose()?.flatten();
    let seq = target.map(|target| target.seq());
    Ok(match commit.commit.op.as_str() {
        Op::UNDO => seq.and_then(|seq| seq.checked_sub(1)),
        Op::REDO | Op::ROLLBACK => seq,
        _ => None,
    })
}

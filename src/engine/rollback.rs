//! Going back: rollback of the whole store, undo and redo of a lane's own commits.
//!
//! Each is a new commit, so each can be undone. A batch that brings back a kept state holds only its target.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - ROL-1: rolling back twice to one commit gives one root, whatever happened in between.
//! - ROL-2: undo and redo touch only the ids of the commit they reverse, or nothing at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::digest::{KeyPath, ObjectDigest};
use crate::error::{Error, Result};
use crate::log::BatchBuilder;
use crate::object::{Id, Object};
use crate::store::{ChangeCounts, CommitEntry};
use crate::trie::{Entry, NoSource, Shape, Trie};

use super::commit::{Committed, Note, Ready, Tip, changed_meanwhile};
use super::history::{Change, count};
use super::index::Family;
use super::memory::{Inner, Memory};
use super::revision::{self, Revision};
use super::staging::add_links;
use super::tree::{Placement, Tree};
use super::view::{CommitInfo, View};
use super::writer::Writer;
use super::writing::Writing;

/// What an undo or redo would do.
#[derive(Clone)]
pub struct Reversing {
    /// The commit that it would reverse, or do again.
    pub target: CommitInfo,
    /// A state in which the changed ids are as they would be; other ids may differ.
    pub state: View,
    /// What would change, sorted by id.
    pub changes: Vec<Change>,
}

/// The reversals that an undo or redo is made of.
struct Plan {
    target: Arc<CommitEntry>,
    to: Arc<CommitEntry>,
    reversals: BTreeMap<KeyPath, Reversal>,
}

/// One id that an undo or redo sets to what it was.
struct Reversal {
    now: Option<Entry>,
    then: Option<Entry>,
}

impl Memory {
    /// Brings back the whole state of the commit that `revision` names, as a new commit. Costs one sync.
    ///
    /// # Errors
    /// `NotFound` if there is no such commit; `Conflict` listing them if other lanes committed since, unless
    /// `all`; `Conflict` if the head moved while this was called; as [`Self::commit`].
    ///
    /// # Durability
    /// As a commit.
    pub fn rollback(&self, revision: &Revision, all: bool, writer: &Writer) -> Result<Committed> {
        let inner = &self.inner;
        inner.check_writable()?;
        writer.check()?;
        let expected = self.view().commit().digest;
        let target = revision::resolve(&inner.store.catalog.read(), revision, writer.lane())?;
        inner.write(|writing| inner.rollback_to(writing, &target, expected, all, writer))
    }

    /// What [`Self::rollback`] would do: the commit it would bring back and how much would change.
    ///
    /// # Errors
    /// As [`Self::rollback`].
    pub fn rollback_preview(
        &self,
        revision: &Revision,
        all: bool,
        writer: &Writer,
    ) -> Result<(CommitInfo, ChangeCounts)> {
        let target = revision::resolve(&self.inner.store.catalog.read(), revision, writer.lane())?;
        self.inner.check_lanes(&target, all, writer)?;
        let counts = count(&*self.inner.store.head()?, &target)?;
        Ok((CommitInfo::of(&target), counts))
    }

    /// Reverses the newest commit of the writer's lane that is not undone.
    ///
    /// # Errors
    /// `NotFound` if there is none; `Conflict` listing the ids if somebody has changed one of them since;
    /// as [`Self::commit`].
    ///
    /// # Durability
    /// As a commit.
    pub fn undo(&self, writer: &Writer) -> Result<Committed> {
        self.reverse("undo", writer)
    }

    /// Does again what the lane's newest undo reversed, if the lane has not committed since.
    ///
    /// # Errors
    /// As [`Self::undo`].
    ///
    /// # Durability
    /// As a commit.
    pub fn redo(&self, writer: &Writer) -> Result<Committed> {
        self.reverse("redo", writer)
    }

    /// What [`Self::undo`] would do.
    ///
    /// # Errors
    /// As [`Self::undo`].
    pub fn undo_preview(&self, writer: &Writer) -> Result<Reversing> {
        self.reverse_preview("undo", writer)
    }

    /// What [`Self::redo`] would do.
    ///
    /// # Errors
    /// As [`Self::redo`].
    pub fn redo_preview(&self, writer: &Writer) -> Result<Reversing> {
        self.reverse_preview("redo", writer)
    }

    fn reverse_preview(&self, op: &'static str, writer: &Writer) -> Result<Reversing> {
        let inner = &self.inner;
        let plan = inner.plan_reversal(&*inner.store.head()?, op, writer)?;
        let mut changes = Vec::new();
        for reversal in plan.reversals.values() {
            let digest = |entry: &Entry| ObjectDigest::from_bytes(entry.digest);
            if let Some(entry) = reversal.now.as_ref().or(reversal.then.as_ref()) {
                changes.push(Change {
                    id: Id::new(inner.object(entry)?.id())?,
                    old: reversal.now.as_ref().map(digest),
                    new: reversal.then.as_ref().map(digest),
                });
            }
        }
        changes.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(Reversing {
            target: CommitInfo::of(&plan.target),
            state: View::new(Arc::clone(inner), plan.to),
            changes,
        })
    }

    fn reverse(&self, op: &'static str, writer: &Writer) -> Result<Committed> {
        let inner = &self.inner;
        inner.check_writable()?;
        writer.check()?;
        inner.write(|writing| inner.reverse(writing, op, writer))
    }
}

impl Inner {
    fn check_lanes(&self, target: &CommitEntry, all: bool, writer: &Writer) -> Result<()> {
        let catalog = self.store.catalog.read();
        let since = catalog.commits().iter().skip(target.seq() as usize + 1);
        let mut lanes: BTreeMap<&str, u64> = BTreeMap::new();
        for commit in since.filter(|commit| commit.lane() != writer.lane()) {
            *lanes.entry(commit.lane()).or_default() += 1;
        }
        if all || lanes.is_empty() {
            return Ok(());
        }
        let named: Vec<_> = lanes
            .iter()
            .map(|(lane, commits)| {
                format!(
                    "{lane} ({commits} commit{})",
                    if *commits == 1 { "" } else { "s" }
                )
            })
            .collect();
        Err(Error::conflict(format!(
            "other lanes committed since seq:{}: {}",
            target.seq(),
            named.join(", ")
        ))
        .with_code("other_lanes")
        .with_ids(lanes.keys().map(ToString::to_string).collect())
        .with_hint("`--all` rolls their work back too; `undo` reverses only your own newest commit"))
    }

    fn rollback_to(
        &self,
        writing: &mut Writing,
        target: &CommitEntry,
        expected: crate::digest::CommitDigest,
        all: bool,
        writer: &Writer,
    ) -> Result<Committed> {
        let head = self.store.head()?;
        if head.digest != expected {
            return Err(
                Error::conflict(format!("the head moved to seq:{} meanwhile", head.seq()))
                    .with_code("head_moved")
                    .with_hint("look at what came in (`log`, `diff`), then try again"),
            );
        }
        self.check_lanes(target, all, writer)?;
        // ROL-1: the new state is the target's own trie.
        let note = Note {
            op: "rollback",
            target: Some(target.digest),
            writer,
        };
        self.commit_state(writing, &head, target.trie.clone(), BatchBuilder::new(), &note)
    }

    /// Commits a state that is a kept one (nothing in `batch`) or comes from the batch's links and unlinks.
    fn commit_state(
        &self,
        writing: &mut Writing,
        head: &CommitEntry,
        trie: Trie,
        mut batch: BatchBuilder,
        note: &Note<'_>,
    ) -> Result<Committed> {
        let root = trie.root(self.store.suite, Shape::State, &NoSource)?;
        if root == head.commit.root && note.op == "rollback" {
            return Ok(Committed {
                commit: CommitInfo::of(head),
                changed: false,
            });
        }
        let mut tip = Tip::of(head, writing);
        let mark = self.add_commit(&mut batch, &mut tip, trie, root, note)?;
        let ready = Ready {
            batch,
            mark,
            state: None,
            counts: ChangeCounts::default(),
        };
        let entry = self.write_group(writing, vec![ready])?.pop();
        let entry = entry.ok_or_else(|| Error::internal("a batch was not written"))?;
        Ok(Committed {
            commit: CommitInfo::of(&entry),
            changed: true,
        })
    }

    /// What an undo or redo on `head` sets to what.
    fn plan_reversal(&self, head: &CommitEntry, op: &'static str, writer: &Writer) -> Result<Plan> {
        let (target, before) = self.to_reverse(op, writer)?;
        // Undo goes from the commit's state to its parent's, redo the other way.
        let (from, to) = if op == "undo" {
            (&target, &before)
        } else {
            (&before, &target)
        };
        let mut reversals = BTreeMap::new();
        let mut conflicts = Vec::new();
        for change in from.trie.diff(&to.trie, &NoSource) {
            let change = change?;
            let now = head.trie.get(&change.key, &NoSource)?;
            if now.map(|entry| entry.digest) == change.old.map(|entry| entry.digest) {
                reversals.insert(
                    change.key,
                    Reversal {
                        now,
                        then: change.new,
                    },
                );
            } else if let Some(entry) = change.old.or(change.new) {
                conflicts.push(self.object(&entry)?.id().to_owned());
            }
        }
        // ROL-2: all of them or none.
        if !conflicts.is_empty() {
            conflicts.sort_unstable();
            return Err(changed_meanwhile(conflicts)
                .with_code("changed_since")
                .with_hint("nothing was done; `history ID` shows who changed it, `restore REV ID` brings back single objects"));
        }
        self.check_reversals(head, &reversals)?;
        let to = Arc::clone(to);
        Ok(Plan {
            target,
            to,
            reversals,
        })
    }

    fn reverse(&self, writing: &mut Writing, op: &'static str, writer: &Writer) -> Result<Committed> {
        let head = self.store.head()?;
        let plan = self.plan_reversal(&head, op, writer)?;
        let (trie, batch) = self.reversed(&head, &plan.reversals)?;
        let note = Note {
            op,
            target: Some(plan.target.digest),
            writer,
        };
        self.commit_state(writing, &head, trie, batch, &note)
    }

    /// The commit to undo or redo, and the one before it.
    fn to_reverse(&self, op: &str, writer: &Writer) -> Result<(Arc<CommitEntry>, Arc<CommitEntry>)> {
        let catalog = self.store.catalog.read();
        let lane = catalog.lane(writer.lane());
        let seq = if op == "undo" {
            lane.undo.last()
        } else {
            lane.redo.last()
        };
        let found = seq.and_then(|&seq| {
            let before = catalog.by_seq(seq.checked_sub(1)?)?;
            Some((Arc::clone(catalog.by_seq(seq)?), Arc::clone(before)))
        });
        found.ok_or_else(|| {
            Error::not_found(format!("lane {} has nothing to {op}", writer.lane()))
                .with_code(if op == "undo" {
                    "nothing_to_undo"
                } else {
                    "nothing_to_redo"
                })
                .with_hint("--session or --actor choose the lane; `log` shows whose commits there are")
        })
    }

    fn object(&self, entry: &Entry) -> Result<Object> {
        self.store
            .records
            .object_at(entry.place, ObjectDigest::from_bytes(entry.digest))
    }

    fn check_reversals(&self, head: &CommitEntry, reversals: &BTreeMap<KeyPath, Reversal>) -> Result<()> {
        let mut placed = BTreeMap::new();
        for (key, reversal) in reversals {
            let placement = match &reversal.then {
                Some(entry) => {
                    let object = self.object(entry)?;
                    let parent = object.parent().map(Id::new).transpose()?;
                    (Id::new(object.id())?, Placement::Under { parent, moved: true })
                }
                None => {
                    let gone = reversal
                        .now
                        .as_ref()
                        .map(|entry| self.object(entry))
                        .transpose()?;
                    let Some(gone) = gone else { continue };
                    (Id::new(gone.id())?, Placement::Gone)
                }
            };
            placed.insert(*key, placement);
        }
        let tree = Tree {
            store: &self.store,
            before: &head.trie,
            placed: &placed,
        };
        let children = || self.index(Family::Children, head);
        tree.check(children).map_err(|error| {
            let ids = error.ids().to_vec();
            Error::conflict(format!("later changes stand on this one: {error}")).with_ids(ids)
        })
    }

    /// The head's state with the reversals, and the records for it: none if that is a kept state.
    fn reversed(
        &self,
        head: &CommitEntry,
        reversals: &BTreeMap<KeyPath, Reversal>,
    ) -> Result<(Trie, BatchBuilder)> {
        let mut trie = head.trie.clone();
        let (mut links, mut unlinks) = (Vec::new(), Vec::new());
        for (key, reversal) in reversals {
            if let Some(entry) = &reversal.then {
                trie.insert(*entry, &NoSource)?;
                links.extend_from_slice(key.as_bytes());
                links.extend_from_slice(&entry.digest);
            } else {
                trie.remove(key, &NoSource)?;
                unlinks.extend_from_slice(key.as_bytes());
            }
        }
        let mut batch = BatchBuilder::new();
        let root = trie.root(self.store.suite, Shape::State, &NoSource)?;
        if self.store.catalog.read().by_root(root).is_none() {
            add_links(&mut batch, &links, &unlinks);
        }
        Ok((trie, batch))
    }
}

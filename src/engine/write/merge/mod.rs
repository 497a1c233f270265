//! Merge: brings what another line wrote into this line, object by object and field by field.
//!
//! 1. [`Commits`] finds the newest commits from which both lines come.
//! 2. [`Deciding`] decides about each object that they changed since.
//! 3. [`Plan`] fits the decisions into the tree of parents.
//! 4. One draft has all changes, and a conflict object for whatever somebody must decide. Its commit has two parents.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - MRG-1: the policy, the rule of trust and the tree check see a merge as one draft, and refuse it whole.
//! - MRG-2: merging a line again without new commits makes no commit.
//!
//! # Cost
//! Proportional to what they changed since the base, and to the commits since. The size of the state does not matter.

mod base;
mod bases;
pub(crate) mod claims;
pub(crate) mod conflict;
mod fields;
mod graph;
mod plan;
#[cfg(feature = "remote")]
mod remote;
mod resolve;
mod sides;
mod text;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::graph::Commit;
use super::rollback::head_moved;
use super::{Committed, Draft, LogHandle, Note, Writer};
use crate::digest::{CommitDigest, KeyPath};
use crate::engine::memory::Memory;
use crate::engine::read::MAIN_LINE;
use crate::engine::trace;
use crate::error::{Error, Result};
use crate::object::{Id, NewObject, Object, Op, Origin, Time};
use crate::store::{ChangeCounts, REMOTE};
use crate::threads::Mutex;

pub use self::conflict::MergeConflict;
#[cfg(feature = "remote")]
pub(super) use self::graph::{Commit as LineCommit, common_with, pushed_from};
pub(super) use self::resolve::conflicts_in;
pub use self::resolve::{ConflictSide, OpenConflict, Resolution};

/// What decides about conflicts, so that none stays open. Of a text that both sides changed, it decides only the lines that
/// both changed. Lines that touch are decided together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// The values of this line.
    Ours,
    /// The values of the other line.
    Theirs,
    /// The values of the version that was written later.
    Newer,
    /// The values of the more trusted version. A conflict of equally trusted ones stays open.
    Trusted,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 4] = [Self::Ours, Self::Theirs, Self::Newer, Self::Trusted];

    /// Returns the name of the strategy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Theirs => "theirs",
            Self::Newer => "newer",
            Self::Trusted => "trusted",
        }
    }
}

/// A conflict, for the callback of [`Merge::choose`].
#[non_exhaustive]
pub struct Conflicting<'a> {
    /// The object.
    pub id: &'a Id,
    /// The fields in which the sides differ; see [`MergeConflict::fields`].
    pub fields: &'a BTreeSet<String>,
    /// The version from which both sides come, if it is one version and is kept.
    pub base: Option<&'a Object>,
    /// The version of this line; `None` if this line removed the object.
    pub ours: Option<&'a Object>,
    /// The version of the other line; `None` if the other line removed the object.
    pub theirs: Option<&'a Object>,
    /// The classes of both sides. The class of a removal is that of its commit.
    trusts: [Origin; 2],
    times: &'a dyn Fn() -> Result<[Option<Time>; 2]>,
}

/// A decision about a conflict.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Choice {
    /// Leave it open.
    Open,
    /// Take the values of this line.
    Ours,
    /// Take the values of the other line.
    Theirs,
    /// Take this object, which must have the id. It is as trusted as the less trusted side and the writer are.
    Put(Box<NewObject>),
}

impl Conflicting<'_> {
    fn by(&self, strategy: Strategy) -> Result<Choice> {
        let [ours, theirs] = self.trusts;
        Ok(match strategy {
            Strategy::Ours => Choice::Ours,
            Strategy::Theirs => Choice::Theirs,
            Strategy::Newer => {
                let [ours, theirs] = (self.times)()?;
                if theirs > ours {
                    Choice::Theirs
                } else {
                    Choice::Ours
                }
            }
            Strategy::Trusted if ours.is_above(theirs) => Choice::Ours,
            Strategy::Trusted if theirs.is_above(ours) => Choice::Theirs,
            Strategy::Trusted => Choice::Open,
        })
    }
}

/// The result of a merge.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Merged {
    /// The commit of the merge, or the head if there was nothing new.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub committed: Committed,
    /// The newest commit from which both lines come.
    pub base: CommitDigest,
    /// The numbers of objects that the merge added, changed and removed here.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub counts: ChangeCounts,
    /// The conflicts that are left open, sorted by id.
    pub conflicts: Vec<MergeConflict>,
    /// The changes, sorted by id.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub changes: Vec<crate::engine::Change>,
    /// Whether this is a preview, which changed nothing.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub dry_run: bool,
}

/// Decides about a conflict.
type Chooser<'a> = dyn Fn(&Conflicting<'_>) -> Choice + 'a;

/// A planned merge; see [`Memory::merge`].
///
/// ```
/// use treering::{Id, Kind, Memory, NewObject, Writer};
///
/// let memory = Memory::in_memory()?;
/// let (vera, worker) = (Writer::user(), Writer::model("worker").session("task-7"));
/// let fork = memory.fork("task-7").by(&vera)?;
/// fork.put(NewObject::new(Id::new("finding")?, Kind::new("fact")?), &worker)?;
/// memory.put(NewObject::new(Id::new("plan")?, Kind::new("note")?), &vera)?;
///
/// let merged = memory.merge("task-7").by(&vera)?;
/// assert_eq!((merged.counts.added, merged.conflicts.len()), (1, 0));
/// assert!(memory.view().contains(&Id::new("finding")?)?);
/// memory.drop_fork("task-7", false, &vera)?;
/// # Ok::<(), treering::Error>(())
/// ```
#[must_use = "call `by` to merge"]
pub struct Merge<'a> {
    memory: &'a Memory,
    name: &'a str,
    again: bool,
    strategy: Option<Strategy>,
    chooser: Option<Box<Chooser<'a>>>,
    expected: Option<CommitDigest>,
    /// The most trusted class of what comes from the other line.
    cap: Origin,
    /// The objects that are left open, because the policy refused them.
    left_out: BTreeSet<KeyPath>,
}

impl std::fmt::Debug for Merge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merge")
            .field("name", &self.name)
            .field("again", &self.again)
            .field("strategy", &self.strategy)
            .finish_non_exhaustive()
    }
}

/// A merge that is planned on a head.
struct Planned {
    merged: Merged,
    /// The commit that the merge brings in; `None` if there is nothing new.
    theirs: Option<Commit>,
}

impl<'a> Merge<'a> {
    pub(in crate::engine::write) fn new(memory: &'a Memory, name: &'a str) -> Self {
        Self {
            memory,
            name,
            again: false,
            strategy: None,
            chooser: None,
            expected: None,
            cap: Origin::DirectUser,
            left_out: BTreeSet::new(),
        }
    }

    /// Compares with the commit at which the lines parted, whatever was merged since. So work that was merged and then
    /// overwritten comes again.
    pub fn again(mut self) -> Self {
        self.again = true;
        self
    }

    /// Decides about conflicts by a rule.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Decides about each conflict by a function, before a [`Self::strategy`]. The function may be called several times
    /// for one object, if other writers commit meanwhile.
    pub fn choose(mut self, chooser: impl Fn(&Conflicting<'_>) -> Choice + 'a) -> Self {
        self.chooser = Some(Box::new(chooser));
        self
    }

    /// Makes the merge fail with `Conflict` (code `head_moved`) if the head of this line is another commit than `head`.
    pub fn expect_head(mut self, head: CommitDigest) -> Self {
        self.expected = Some(head);
        self
    }

    /// Commits the merge with the operation `merge` and two parents, unless there is nothing new.
    ///
    /// # Errors
    /// `NotFound` (code `no_fork`) if there is no line of this name; `InvalidInput` if it is this line. `Denied` by the
    /// policy, or (code `less_trusted`) if an untrusted writer would change a more trusted object. `Conflict` (code
    /// `head_moved`) if other writers committed during each of many tries with a policy or function of the host.
    /// Otherwise, the errors of [`Memory::commit`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn by(&self, writer: &Writer) -> Result<Merged> {
        let inner = &self.memory.inner;
        let writer = &inner.capped(writer);
        let refused = Mutex::new(None);
        let plan = || {
            let (mut planned, draft) = self.plan(writer)?;
            // MRG-1
            match self.memory.judge(draft, Op::MERGE) {
                Ok(draft) => {
                    if inner.policy.is_some() {
                        // The policy may have put other objects.
                        planned.merged.count(&draft);
                    }
                    Ok((planned, draft))
                }
                Err(refusal) => {
                    let (error, kept) = *refusal;
                    *refused.lock() = kept;
                    Err(error)
                }
            }
        };
        let write =
            |writing: &mut LogHandle, planned, draft: &Draft| self.write(writing, planned, draft, writer);
        let calls_host = inner.policy.is_some() || self.chooser.is_some();
        let merged = inner.write_planned(writer, calls_host, &plan, &write);
        let merged = merged.map_err(|error| match refused.lock().take() {
            Some((draft, reason)) => self.memory.quarantined(&draft, &reason, error),
            None => error,
        });
        merged.inspect_err(|error| trace::refused(Op::MERGE, writer.session.as_deref(), error))
    }

    /// Returns what the merge would do. Changes nothing, and does not ask the policy.
    ///
    /// # Errors
    /// The errors of [`Self::by`].
    pub fn preview(&self, writer: &Writer) -> Result<Merged> {
        Ok(self.preview_draft(writer)?.0)
    }

    /// Returns what [`Self::preview`] returns, and the draft of the changes.
    ///
    /// # Errors
    /// The errors of [`Self::by`].
    #[doc(hidden)]
    pub fn preview_draft(&self, writer: &Writer) -> Result<(Merged, Draft)> {
        let (planned, draft) = self.plan(&self.memory.inner.capped(writer))?;
        self.memory.check(&draft)?;
        let merged = Merged {
            dry_run: true,
            ..planned.merged
        };
        Ok((merged, draft))
    }

    /// Returns the most trusted class of what comes from a line. The line of a remote has a cap of its own.
    fn their_cap(&self, store: &crate::store::Store) -> Origin {
        let name = store.line_name().filter(|name| name.starts_with(REMOTE));
        let lines = store.lines();
        let own = name.and_then(|name| lines.named(name)).map(|line| line.cap);
        own.map_or(self.cap, |own| Origin::least(own, self.cap))
    }

    /// Commits a plan on its head.
    fn write(
        &self,
        writing: &mut LogHandle,
        planned: Planned,
        draft: &Draft,
        writer: &Writer,
    ) -> Result<Merged> {
        let (inner, mut merged) = (&self.memory.inner, planned.merged);
        let Some((of_theirs, theirs)) = planned.theirs else {
            return Ok(merged);
        };
        let note = Note {
            merged: Some((theirs.digest, theirs.commit.time)),
            beside: Some(of_theirs.state(&theirs)?),
            ..Note::new(Op::MERGE, None, writer)
        };
        let (store, head, mut tip) = inner.tip(writing)?;
        let ready = inner.stage(&store, &mut tip, &head, &[], draft, &note);
        drop(tip);
        let ready = ready?.ok_or_else(|| Error::internal("a merge was not staged"))?;
        merged.committed = inner.write_one(writing, ready)?;
        Ok(merged)
    }

    /// Asks the function of the caller, then the strategy.
    fn decide(&self, conflict: &Conflicting<'_>) -> Result<Choice> {
        let chosen = self.chooser.as_ref().map(|chooser| chooser(conflict));
        match (chosen, self.strategy) {
            (None | Some(Choice::Open), Some(strategy)) => conflict.by(strategy),
            (chosen, _) => Ok(chosen.unwrap_or(Choice::Open)),
        }
    }

    /// Returns the head of the other line.
    fn theirs(&self) -> Result<Commit> {
        let inner = &self.memory.inner;
        let own = inner.store();
        let main = inner.main().store();
        let store = match self.name {
            MAIN_LINE => main,
            name => main.line(name)?.ok_or_else(|| super::fork::no_fork(name))?,
        };
        if store.line_name() == own.line_name() {
            let text = format!("'{}' cannot be merged into itself", self.name);
            return Err(Error::invalid(text).with_hint("name another line: `main`, or a fork (`forks`)"));
        }
        let head = store.head()?;
        Ok((store, head))
    }

    /// Returns the head of this line, on which a plan is made.
    fn ours(&self) -> Result<(crate::engine::View, Commit)> {
        let base = self.memory.inner.view();
        if self.expected.is_some_and(|head| head != base.entry.digest) {
            return Err(head_moved(base.entry.seq()));
        }
        let ours = (Arc::clone(&base.state.store), Arc::clone(&base.entry));
        Ok((base, ours))
    }
}

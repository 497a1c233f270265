//! Forks: lines of their own that begin at a commit of another line. Nobody else sees what is written through a fork.
//!
//! A fork is one small record, however large the state is. It has its own head, undo, snapshots and history. The state and
//! the history up to its base are those of the line at which it begins. The core of a fork ([`Inner`]) has a store and
//! caches of its own, and shares the log, the queue and the lock with the main line.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - FRK-1: the cap of a fork lowers the class of every write through it, and raises none.
//! - FRK-2: the store of a fork is of the same log as the store of the main line, before anything is written through it.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::{LogHandle, Ready, Writer, check_trusted, newest_references};
use crate::digest::{CommitDigest, Root};
use crate::engine::inner::Inner;
use crate::engine::memory::Memory;
use crate::engine::opened::LineOf;
use crate::engine::read::{MAIN_LINE, Revision, Source, revision};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Origin, Reference, ReferenceClass, Time, check_fork_name};
use crate::store::{Known, LineInfo, REMOTE, reference_of_line};
use crate::threads::Mutex;

/// The start of the names that no fork may have.
const RESERVED: &str = "at-";
/// The number of waiting changes that an error names.
const NAMED: usize = 20;

/// A fork, as the store knows it in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFork {
    /// The name of the fork.
    pub name: String,
    /// The time of the newest change of the fork.
    pub time: Time,
    /// The time at which the fork was made. A later fork of the same name has another one.
    pub created: Time,
}

/// A fork of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ForkInfo {
    /// The name of the fork.
    pub name: String,
    /// The commit at which the fork begins.
    pub base: CommitDigest,
    /// The newest commit of the fork; the base if the fork has no commit.
    pub head: CommitDigest,
    /// The seq of the newest commit.
    pub seq: u64,
    /// The number of kept commits since the base.
    pub commits: u64,
    /// The most trusted class that a write through the fork gets.
    pub trust_cap: Origin,
    /// The time of the newest change of the fork.
    pub time: Time,
    /// The root of the newest state.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub root: Root,
    /// The time at which the fork was made. A later fork of the same name has another one.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub created: Time,
}

impl ForkInfo {
    /// Returns whether another line of the memory has all commits of the fork.
    ///
    /// # Errors
    /// `NotFound` (code `no_fork`) if the fork was dropped; `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn is_merged(&self, memory: &Memory) -> Result<bool> {
        let main = memory.inner.main();
        let line = main.store().lines().named(&self.name).cloned();
        main.is_merged(&line.ok_or_else(|| no_fork(&self.name))?)
    }
}

/// A planned fork; see [`Memory::fork`].
#[derive(Clone, Debug)]
#[must_use = "call `by` to make the fork"]
pub struct Fork<'a> {
    pub(super) memory: &'a Memory,
    pub(super) name: &'a str,
    pub(super) at: Result<Revision>,
    pub(super) cap: Origin,
}

/// Returns the record of a line whose newest commit is `commit`; the record drops the line if there is none.
pub(super) fn line_record(line: &LineInfo, commit: Option<CommitDigest>, time: Time) -> Result<Reference> {
    let name = reference_of_line(&line.name)?;
    let mut reference = Reference::new(name, commit, time);
    (reference.base, reference.cap) = (Some(line.base), Some(line.cap));
    Ok(reference)
}

/// Checks the name of a fork.
fn check_name(name: &str) -> Result<()> {
    check_fork_name(name)?;
    if name == MAIN_LINE || name.starts_with(RESERVED) {
        let text = format!("a fork cannot have the name '{name}'");
        return Err(Error::invalid(text).with_hint("choose another name"));
    }
    Ok(())
}

pub(super) fn no_fork(name: &str) -> Error {
    Error::not_found(format!("there is no fork '{name}'"))
        .with_code(ErrorCode::NoFork)
        .with_names(vec![Revision::Fork(name.to_owned()).to_string()])
        .with_hint("`forks` lists the forks")
}

/// Returns the error for a fork with work that would be lost: its commits, and the changes that wait on it.
fn unmerged_work(line: &LineInfo, is_lost: bool, waiting: &[Reference]) -> Error {
    let name = &line.name;
    let (text, hint) = if is_lost {
        let commits = match line.commits() {
            1 => "the 1 commit".to_owned(),
            commits => format!("all {commits} commits"),
        };
        let text = format!("no merge took {commits} of the fork '{name}'");
        (
            text,
            "`merge` brings them in; `--unmerged` drops the fork with them".to_owned(),
        )
    } else {
        let text = format!("changes of the fork '{name}' wait for review");
        let hint =
            format!("review them with `quarantine --fork {name}`; `--unmerged` drops the fork with them");
        (text, hint)
    };
    let names = waiting.iter().take(NAMED);
    Error::conflict(text)
        .with_code(ErrorCode::Unmerged)
        .with_names(names.map(|one| one.name.as_str().to_owned()).collect())
        .with_hint(hint)
}

impl Inner {
    /// Returns a fork that the writer may drop, and the drafts and refused changes that wait on it.
    pub(super) fn fork_to_drop(
        &self,
        name: &str,
        unmerged: bool,
        writer: &Writer,
    ) -> Result<(LineInfo, Vec<Reference>)> {
        let store = self.store();
        let line = store
            .lines()
            .named(name)
            .filter(|_| !name.starts_with(REMOTE))
            .cloned()
            .ok_or_else(|| no_fork(name))?;
        let mut waiting = newest_references(&store);
        waiting.retain(|one| {
            let is_draft = matches!(
                one.name.class(),
                ReferenceClass::Rejected | ReferenceClass::Drafts
            );
            is_draft && one.line.as_deref() == Some(name)
        });
        // A damaged fork may be dropped by whoever may drop all of it.
        let may_lose = unmerged && writer.trust.is_trusted();
        let is_lost = line.commits() > 0 && !may_lose && !self.is_merged(&line)?;
        if is_lost || !waiting.is_empty() {
            // INVARIANT STN-2: an untrusted writer may not destroy the work of others.
            check_trusted(writer.trust, "drop a fork with work that no merge took")?;
            if !unmerged {
                return Err(unmerged_work(&line, is_lost, &waiting));
            }
        }
        Ok((line, waiting))
    }

    /// Returns the writer as the line lets it write (FRK-1).
    pub(crate) fn capped(&self, writer: &Writer) -> Writer {
        let trust = self.opened().capped(writer.trust);
        Writer {
            trust,
            ..writer.clone()
        }
    }

    /// Makes the store of a fork again if the store of the main line was replaced. Does nothing for the main line.
    ///
    /// # Errors
    /// `NotFound` (code `no_fork`) if the fork was dropped; the errors of opening a fork.
    pub(crate) fn renew(&self) -> Result<()> {
        let (Some(main), Some(line)) = (&self.main, &self.opened().line) else {
            return Ok(());
        };
        let (known, store) = (self.store(), main.store());
        if known.is_beside(&store) {
            return if known.is_dropped() {
                Err(no_fork(&line.name))
            } else {
                Ok(())
            };
        }
        // INVARIANT FRK-2
        let newer = store.line(&line.name)?.filter(|newer| newer.is_same_line(&known));
        self.source
            .opened
            .replace(newer.ok_or_else(|| no_fork(&line.name))?);
        self.source.clear();
        Ok(())
    }

    /// Returns an error if this is a fork, because the call is about the whole store.
    pub(crate) fn check_main(&self) -> Result<()> {
        match &self.opened().line {
            None => Ok(()),
            Some(line) => Err(Error::invalid(format!(
                "this call is about the whole store, and not about the fork '{}'",
                line.name
            ))
            .with_code(ErrorCode::WholeStore)
            .with_hint("call it on the memory without a fork")),
        }
    }

    /// Returns the core of a fork, or of the main line.
    pub(super) fn open_fork(self: &Arc<Self>, name: &str) -> Result<Arc<Self>> {
        let main = self.main.as_ref().unwrap_or(self);
        if name == MAIN_LINE {
            return Ok(Arc::clone(main));
        }
        if name.starts_with(REMOTE) {
            // Nobody writes to the line of a remote.
            return Err(no_fork(name));
        }
        self.open_line(name)
    }

    /// Returns the core of a fork or of the line of a remote.
    pub(super) fn open_line(self: &Arc<Self>, name: &str) -> Result<Arc<Self>> {
        let main = self.main.as_ref().unwrap_or(self);
        let mut forks = main.forks.lock();
        let store = main.store();
        let line = store.lines().named(name).cloned().ok_or_else(|| no_fork(name))?;
        if let Some(known) = forks.get(name).and_then(Weak::upgrade)
            && known.renew().is_ok()
        {
            return Ok(known);
        }
        let found = store.line(name)?.ok_or_else(|| no_fork(name))?;
        let of = LineOf {
            name: name.to_owned(),
            cap: line.cap,
        };
        let source = Source::of_fork(&main.source, main.opened().of_fork(of, found));
        let fork = Arc::new(Self {
            freeing: None,
            source: Arc::new(source),
            log: Arc::clone(&main.log),
            queue: Arc::clone(&main.queue),
            main: Some(Arc::clone(main)),
            forks: Mutex::new(BTreeMap::new()),
            policy: main.policy.clone(),
            path: main.path.clone(),
        });
        forks.retain(|_, fork| fork.strong_count() > 0);
        forks.insert(name.to_owned(), Arc::downgrade(&fork));
        Ok(fork)
    }

    /// Describes a line.
    pub(super) fn fork_info(&self, line: &LineInfo) -> Result<ForkInfo> {
        let head = self.main().store().newest_of(line)?;
        Ok(ForkInfo {
            name: line.name.to_string(),
            base: line.base,
            head: line.head,
            seq: head.seq,
            commits: line.commits(),
            trust_cap: line.cap,
            time: line.time,
            root: head.root,
            created: line.created,
        })
    }

    /// Writes a batch with the record of a line.
    pub(super) fn write_line(
        &self,
        writing: &mut LogHandle,
        line: &LineInfo,
        commit: Option<CommitDigest>,
        writer: &Writer,
    ) -> Result<()> {
        writing.declare_lines()?;
        let mut batch = BatchBuilder::new();
        let mut record = line_record(line, commit, self.time_after(line.time))?;
        record.actor.clone_from(&writer.actor);
        record.session.clone_from(&writer.session);
        record.reason = self.add_text(&mut batch, writer.reason.as_deref())?;
        batch.add(RecordKind::Line, 0, &record.encode()?);
        let head = self.main().store().head()?.mark();
        let ready = Ready::of(&self.source, batch, head, Known::default());
        self.write_group(writing, vec![ready]).map(drop)
    }
}

impl Fork<'_> {
    /// Makes the fork begin at the state of `revision` instead of the head.
    pub fn at(mut self, revision: impl TryInto<Revision, Error: Into<Error>>) -> Self {
        self.at = revision.try_into().map_err(Into::into);
        self
    }

    /// Limits the class of every write through the fork to `cap`. A fork of a fork is limited by both.
    pub fn trust_cap(mut self, cap: Origin) -> Self {
        self.cap = cap;
        self
    }

    /// Makes the fork, and returns a memory whose calls read and write the fork.
    ///
    /// # Errors
    /// `InvalidInput` if the name is invalid, or (code `name_taken`) if a fork has it; `NotFound` if the revision names no
    /// commit; the errors of [`Memory::commit`].
    ///
    /// # Durability
    /// When the call returns, the fork is as durable as a commit.
    pub fn by(&self, writer: &Writer) -> Result<Memory> {
        check_name(self.name)?;
        let inner = &self.memory.inner;
        let (revision, writer) = (self.at.clone()?, inner.capped(writer));
        let cap = inner.opened().capped(self.cap);
        inner.write_as(&writer, |writing| {
            let store = inner.store();
            if store.lines().named(self.name).is_some() {
                let taken = format!("a fork named '{}' already exists", self.name);
                return Err(Error::invalid(taken)
                    .with_code(ErrorCode::NameTaken)
                    .with_hint("choose another name, or drop that fork: `fork --drop NAME`"));
            }
            let (of, base) = revision::resolve_in(&store, &revision, writer.lane())?;
            of.check_not_of_remote()?;
            // The fork of a revision of another fork is limited as that one.
            let cap = of.cap().map_or(cap, |of| Origin::least(cap, of));
            let line = LineInfo::new(self.name, &base, cap);
            inner.write_line(writing, &line, Some(base.digest), &writer)
        })?;
        self.memory.open_fork(self.name)
    }
}

//! Merges the line of a remote, for a pull.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - MRR-1: a change that the policy refuses stays open as a conflict, and the rest is merged. So a remote never stops the
//!   work of this machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::graph::Commit as LineCommit;
use super::{Merge, Merged, Strategy};
use crate::digest::KeyPath;
use crate::engine::inner::Inner;
use crate::engine::memory::Memory;
use crate::engine::write::push::Apart;
use crate::engine::write::remote::{Known, MAIN};
use crate::engine::write::{Committed, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Op, Origin, Time};
use crate::store::{ChangeCounts, Store};

impl Inner {
    /// Merges what was fetched from a remote into the main line. Makes no commit if there is nothing new.
    ///
    /// # Errors
    /// The errors of [`Merge::by`].
    pub(crate) fn merge_remote(
        &self,
        memory: &Memory,
        known: Known<'_>,
        strategy: Option<Strategy>,
        writer: &Writer,
    ) -> Result<Merged> {
        let Some(line) = self.line_to_merge(known)? else {
            return Merged::nothing(memory);
        };
        let mut merge = of_remote(memory, &line, known.cap, strategy);
        match merge.by(writer) {
            Err(error) if is_refusal(&error) => {
                // INVARIANT MRR-1
                merge.left_out = merge.refused(writer)?;
                merge.by(writer)
            }
            merged => merged,
        }
    }

    /// Returns what [`Self::merge_remote`] would do, without the policy.
    ///
    /// # Errors
    /// The errors of [`Merge::by`].
    pub(crate) fn preview_remote(
        &self,
        memory: &Memory,
        known: Known<'_>,
        strategy: Option<Strategy>,
        writer: &Writer,
    ) -> Result<Merged> {
        match self.line_to_merge(known)? {
            Some(line) => of_remote(memory, &line, known.cap, strategy).preview(writer),
            None => Ok(Merged {
                dry_run: true,
                ..Merged::nothing(memory)?
            }),
        }
    }

    /// Returns the line of a remote that is to be merged; `None` if its newest commit is on the main line.
    fn line_to_merge(&self, known: Known<'_>) -> Result<Option<String>> {
        let (store, seen) = (self.main().store(), self.seen(known)?);
        let Some(seen) = seen else { return Ok(None) };
        let is_own = store.by_digest(seen.head)?.is_some();
        let line = known.line(MAIN);
        let is_there = store.lines().named(&line).is_some();
        Ok((!is_own && is_there).then_some(line))
    }

    /// Returns the number of kept commits of the main line that a remote lacks, as a push counts them, and of the remote
    /// that were fetched and not merged.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(crate) fn distance_to_remote(&self, known: Known<'_>) -> Result<(u64, u64)> {
        let (store, seen) = (self.main().store(), self.seen(known)?);
        let head = store.head()?;
        let Some(seen) = seen else {
            return Ok((store.kept() as u64, 0));
        };
        if let Some(own) = store.by_digest(seen.head)? {
            return Ok((kept_behind(&store, own.seq())?, 0));
        }
        let Some(line) = store.line(&known.line(MAIN))? else {
            return Ok((0, 0));
        };
        let theirs = line.head()?;
        let (ours, remote) = ((store, head), (line, theirs));
        let apart = Apart::of(&ours, &remote)?;
        let since = newest_sent(&ours, &remote)?;
        let ahead = if apart.changes.is_empty() && !Self::must_travel(known, &ours.0, since)? {
            0
        } else {
            kept_behind(&ours.0, since)?
        };
        let behind = match (apart.is_merged, apart.common.first()) {
            (true, _) | (_, None) => 0,
            (false, Some(base)) => commits_since(&remote, base.1.commit.time)?,
        };
        Ok((ahead, behind))
    }
}

/// Returns the number of kept commits of a line behind a seq.
fn kept_behind(store: &Store, seq: u64) -> Result<u64> {
    let (Ok(first) | Err(first)) = store.position(seq + 1)?;
    Ok((store.kept() - first) as u64)
}

/// Returns the seq of the newest commit of the main line that a remote has: the one at which its line left, or the newest one
/// that a push brought.
fn newest_sent(ours: &LineCommit, remote: &LineCommit) -> Result<u64> {
    let base = remote.0.base();
    let mut newest = base.as_ref().map_or(0, |base| base.seq());
    let mut at = Some(Arc::clone(&remote.1));
    while let Some(commit) = at
        .take()
        .filter(|commit| Some(commit.digest) != base.as_ref().map(|base| base.digest))
    {
        for parent in commit.commit.parents.iter().skip(1) {
            if let Some(sent) = ours.0.by_digest(*parent)? {
                newest = newest.max(sent.seq());
            }
        }
        at = remote.0.before(&commit)?;
    }
    Ok(newest)
}

/// Returns the number of commits of a remote after a time. Its commits `push` only bring the work of a machine.
fn commits_since(remote: &LineCommit, time: Time) -> Result<u64> {
    let (mut count, mut at) = (0, Some(Arc::clone(&remote.1)));
    while let Some(commit) = at.take().filter(|commit| commit.commit.time > time) {
        count += u64::from(commit.commit.op.as_str() != Op::PUSH);
        at = remote.0.before(&commit)?;
    }
    Ok(count.max(1))
}

impl Merged {
    /// Returns the result of a merge with nothing new.
    pub(crate) fn nothing(memory: &Memory) -> Result<Self> {
        let view = memory.refresh()?;
        let commit = view.commit();
        Ok(Self {
            base: commit.digest,
            committed: Committed {
                commit,
                changed: false,
            },
            counts: ChangeCounts::default(),
            conflicts: Vec::new(),
            changes: Vec::new(),
            dry_run: false,
        })
    }
}

fn of_remote<'a>(memory: &'a Memory, line: &'a str, cap: Origin, strategy: Option<Strategy>) -> Merge<'a> {
    Merge {
        strategy,
        cap,
        ..Merge::new(memory, line)
    }
}

/// Returns whether the policy or a limit refused the merge.
fn is_refusal(error: &Error) -> bool {
    error.kind() == ErrorKind::Denied || matches!(error.code(), ErrorCode::OverLimit | ErrorCode::Refused)
}

impl Merge<'_> {
    /// Returns the objects whose changes the policy refuses, alone or together with others.
    fn refused(&self, writer: &Writer) -> Result<BTreeSet<KeyPath>> {
        let writer = &self.memory.inner.capped(writer);
        let (_, draft) = self.plan(writer)?;
        let all: BTreeSet<KeyPath> = draft.staged.iter().map(|(key, _)| key).collect();
        drop(draft);
        let mut refused = BTreeSet::new();
        let keys: Vec<KeyPath> = all.iter().copied().collect();
        let mut open = vec![keys.as_slice()];
        while let Some(part) = open.pop() {
            let left_out: BTreeSet<KeyPath> = keys
                .iter()
                .filter(|key| part.binary_search(key).is_err())
                .copied()
                .collect();
            match self.is_refused_without(left_out, writer)? {
                false => {}
                true if part.len() > 1 => {
                    let (low, high) = part.split_at(part.len() / 2);
                    open.extend([low, high]);
                }
                true => refused.extend(part),
            }
        }
        // A limit that only the whole exceeds refuses the whole, also if single changes are refused for another reason.
        let is_whole = self.is_refused_without(refused.clone(), writer)?;
        Ok(if is_whole { all } else { refused })
    }

    fn is_refused_without(&self, left_out: BTreeSet<KeyPath>, writer: &Writer) -> Result<bool> {
        let rest = Merge {
            strategy: self.strategy,
            cap: self.cap,
            left_out,
            ..Merge::new(self.memory, self.name)
        };
        let (_, draft) = rest.plan(writer)?;
        Ok(self.memory.judge(draft, Op::MERGE).is_err())
    }
}

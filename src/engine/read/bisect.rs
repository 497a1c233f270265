//! Bisect: finds the commit that turned a good state into a bad one.
//!
//! # Layer
//! Layer 5. Changes nothing.
//!
//! # Invariants
//! - BIS-1: the state of the found commit is bad, and the state of the kept commit before it is good. If all states after
//!   the first bad one are bad, the found commit is the first bad one.
//! - BIS-2: the time of every tested state is the time of its commit, so the clock decides nothing.

use std::sync::Arc;

use super::history::thinned_in;
use super::{CommitInfo, View};
use crate::engine::memory::Memory;
use crate::error::{Error, ErrorCode, Result};
use crate::object::Id;
use crate::store::{CommitEntry, Store};

/// The commit that turned a good state into a bad one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bisected {
    /// The found commit.
    pub first_bad: CommitInfo,
    /// If it is a merge: the commit of the other line that turned the state of that line into a bad one.
    pub from: Option<CommitInfo>,
    /// The kept commit before it.
    pub last_good: CommitInfo,
    /// The number of states that were tested between the given states.
    pub steps: u64,
    /// The number of thinned commits between the two. If there are any, one of them may have made the change.
    pub thinned: u64,
}

impl Bisected {
    fn between(store: &Store, good: &CommitEntry, bad: &CommitEntry, steps: u64) -> Self {
        Self {
            first_bad: CommitInfo::of(bad),
            from: None,
            last_good: CommitInfo::of(good),
            steps,
            thinned: thinned_in(store, &(good.seq() + 1..bad.seq())),
        }
    }
}

/// Searches the commits between two states by halves; see [`Memory::bisect`].
pub(crate) fn bisect(
    memory: &Memory,
    good: &View,
    bad: &View,
    is_bad: &mut dyn FnMut(&View) -> Result<bool>,
) -> Result<Bisected> {
    let store = memory.inner.store();
    let (mut low, mut high) = (index_of(memory, &store, good)?, index_of(memory, &store, bad)?);
    check_order(good, bad)?;
    let settings = memory.inner.settings();
    let tests = 2 + u64::from((high - low).next_power_of_two().ilog2());
    let mut tested = 0;
    let mut test_in = |store: &Arc<Store>, entry: Arc<CommitEntry>| {
        settings.check_stop()?;
        settings.tell("bisect", tested, tests);
        tested += 1;
        let time = entry.commit.time;
        // BIS-2
        is_bad(&View::new(&memory.inner.source, store, entry)?.with_now(time))
    };
    let mut test = |entry: Arc<CommitEntry>| test_in(&store, entry);
    let at = |index: usize| {
        let entry = store.commit_at(index)?;
        entry.ok_or_else(|| Error::internal("a commit between two kept commits is missing"))
    };
    // The bad state is tested first, because the head is often the state that is in memory.
    if !test(at(high)?)? {
        return Err(bad_is_good(bad));
    }
    if test(at(low)?)? {
        let seq = good.commit().commit.seq;
        return Err(Error::invalid(format!("the good state, seq:{seq}, is bad"))
            .with_code(ErrorCode::GoodIsBad)
            .with_hint("name an older good revision, or correct the condition"));
    }
    let mut steps = 0;
    while high - low > 1 {
        let middle = low.midpoint(high);
        steps += 1;
        if test(at(middle)?)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    let bad = at(high)?;
    let found = Bisected::between(&store, &*at(low)?, &bad, steps);
    let from = in_merge(&store, &bad, &mut test_in)?;
    Ok(Bisected { from, ..found })
}

/// Tests the state of a commit of a line.
type Test<'a> = dyn FnMut(&Arc<Store>, Arc<CommitEntry>) -> Result<bool> + 'a;

/// Searches the commits that a bad merge brought in, if the other line was bad too.
fn in_merge(store: &Arc<Store>, merge: &CommitEntry, test: &mut Test<'_>) -> Result<Option<CommitInfo>> {
    let parent = merge.commit.parents.get(1).copied();
    let side = parent.map(|parent| store.commit_of_any(parent)).transpose()?;
    let Some((line, newest)) = side.flatten() else {
        return Ok(None);
    };
    let (mut brought, mut next) = (Vec::new(), Some(newest));
    while let Some(commit) = next.take() {
        if store.by_digest(commit.digest)?.is_some() {
            break;
        }
        next = line.before(&commit)?;
        brought.push(commit);
    }
    // The newest commit comes first: those before the index are bad.
    let (mut bad, mut good) = (0, brought.len());
    match brought.first() {
        Some(newest) if test(&line, Arc::clone(newest))? => {}
        _ => return Ok(None),
    }
    while good - bad > 1 {
        let middle = bad.midpoint(good);
        if test(&line, Arc::clone(&brought[middle]))? {
            bad = middle;
        } else {
            good = middle;
        }
    }
    Ok(Some(CommitInfo::of(&brought[bad])))
}

/// Finds the first commit after the state `good`, up to the state `bad`, that changed `id`. Reads the history of the id,
/// so it also finds a change that a later commit reversed.
///
/// # Errors
/// `InvalidInput` if no commit changed the id (`bad_is_good`), and the other errors of `bisect`.
pub fn first_change(memory: &Memory, good: &View, bad: &View, id: &Id) -> Result<Bisected> {
    let store = memory.inner.store();
    index_of(memory, &store, good)?;
    index_of(memory, &store, bad)?;
    check_order(good, bad)?;
    let (after, upto) = (good.commit().commit.seq, bad.commit().commit.seq);
    let (mut steps, mut first, mut from) = (0, None, None);
    for change in memory.changes_of(id) {
        let change = change?;
        let commit = change.commit;
        match commit.commit.seq {
            seq if seq <= after => break,
            seq if seq > upto => {}
            _ => {
                steps += 1;
                (first, from) = (Some(commit), change.from);
            }
        }
    }
    let first = first.ok_or_else(|| bad_is_good(bad))?;
    let missing = || Error::internal("a commit of the history is not kept");
    let bad = store.by_digest(first.digest)?.ok_or_else(missing)?;
    let good = store.before(&bad)?.ok_or_else(missing)?;
    let found = Bisected::between(&store, &good, &bad, steps);
    Ok(Bisected { from, ..found })
}

/// Returns the index of the commit of a state among the kept commits.
fn index_of(memory: &Memory, store: &Store, view: &View) -> Result<usize> {
    if !Arc::ptr_eq(&memory.inner.source, &view.source) {
        let text = "a state to bisect belongs to another memory";
        return Err(Error::invalid(text).with_code(ErrorCode::ForeignView));
    }
    let seq = view.commit().commit.seq;
    let gone = |_| {
        let text = format!("the state of commit seq:{seq} was thinned meanwhile");
        Error::not_found(text).with_code(ErrorCode::Thinned)
    };
    let index = store.position(seq)?.map_err(gone)?;
    if memory.has_commit_of(view)? {
        return Ok(index);
    }
    let text = format!("the state of commit seq:{seq} is one of another line");
    Err(Error::invalid(text)
        .with_code(ErrorCode::OtherLine)
        .with_hint("name two states of one line; `--fork NAME` chooses the line"))
}

fn check_order(good: &View, bad: &View) -> Result<()> {
    let (good, bad) = (good.commit().commit.seq, bad.commit().commit.seq);
    if good < bad {
        return Ok(());
    }
    let text = format!("the good state, seq:{good}, is not older than the bad state, seq:{bad}");
    Err(Error::invalid(text)
        .with_code(ErrorCode::WrongOrder)
        .with_hint("name a good revision before the bad one; log lists the commits"))
}

fn bad_is_good(bad: &View) -> Error {
    let seq = bad.commit().commit.seq;
    Error::invalid(format!("the bad state, seq:{seq}, is good"))
        .with_code(ErrorCode::BadIsGood)
        .with_hint("name another bad revision, or correct the condition")
}

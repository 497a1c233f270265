//! Retention: decides which commits stay when history is thinned.
//!
//! # Layer
//! Layer 5. Pure functions, except that some functions read commits.
//!
//! # Limits
//! - The standard retention thins bursts of work. The standard retention keeps most versions of a history that was
//!   written at an even pace, because nearly every version is in the last state of an hour, day or week.
//!
//! # Invariants
//! - RET-1: these commits stay: the newest commit, the commits that references name, and the targets of kept commits.
//!   Erasures stay too, because they record the author and the reason.
//! - RET-2: recently forgotten objects can be restored completely: each commit that forgot an object stays, and so does
//!   the commit before that commit.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use crate::digest::CommitDigest;
use crate::error::Result;
use crate::object::{Op, Time};
use crate::store::{ChangeCounts, Store};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Defines which commits of history are kept. The other commits are thinned: only their digests stay in the chain. The
/// states of thinned commits are removed, with the versions that no kept state contains.
///
/// Each fork is thinned by itself, and its commits do not count for the main line. The merges of a fork stay while the fork
/// does. The commits of a dropped fork go a week later.
///
/// Commits of snapshots, drafts, pins and other references always stay, and so do erasures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Commits younger than this duration stay, but at most `newest` of them.
    pub all: Duration,
    /// The maximal number of commits that stay because of `all`.
    pub newest: u64,
    /// The last commit of each hour stays if that commit is younger than this duration.
    pub hourly: Duration,
    /// The last commit of each day stays if that commit is younger than this duration.
    pub daily: Duration,
    /// The last commit of each week stays if that commit is younger than this duration.
    pub weekly: Duration,
    /// Commits younger than this duration stay if they forgot, shortened or replaced an object. The commit before each
    /// such commit also stays, because its state still has that object.
    pub forgotten: Duration,
}

/// The operations whose commits remove objects that a user may want to restore.
const FORGETTING: [&str; 3] = ["forget", "decay", "note"];
/// The operations whose commits sometimes remove objects: because of a quota, because an imported file was deleted, or
/// in a guarded change.
const MAY_FORGET: [&str; 4] = ["remember", "import", "guard", "release"];

/// Returns whether a commit removes objects that a user may want to restore.
///
/// # Errors
/// The errors of `counts`, which returns the counts of the commit's changes.
pub(crate) fn forgets(op: &str, counts: impl FnOnce() -> Result<ChangeCounts>) -> Result<bool> {
    if FORGETTING.contains(&op) {
        return Ok(true);
    }
    Ok(MAY_FORGET.contains(&op) && counts()?.removed > 0)
}

impl Default for Retention {
    /// Returns the standard retention. This retention keeps all commits of the last 7 days, up to 5,000, then one
    /// commit an hour for 30 days, one a day for a year, and one a week without limit. This retention also keeps
    /// commits that forgot items in the last 30 days.
    fn default() -> Self {
        Self {
            all: 7 * DAY,
            newest: 5_000,
            hourly: 30 * DAY,
            daily: 365 * DAY,
            weekly: Duration::MAX,
            forgotten: 30 * DAY,
        }
    }
}

impl Retention {
    /// Returns the retention of automatic collection: the default, but it keeps every commit younger than [`Self::all`].
    pub fn automatic() -> Self {
        Self {
            newest: u64::MAX,
            ..Self::default()
        }
    }

    /// Returns a retention without age rules: its durations are zero, so no commit stays only because it is young.
    pub(crate) fn nothing() -> Self {
        Self {
            all: Duration::ZERO,
            newest: 0,
            hourly: Duration::ZERO,
            daily: Duration::ZERO,
            weekly: Duration::ZERO,
            forgotten: Duration::ZERO,
        }
    }

    /// Returns whether a commit of this time is younger than [`Self::all`].
    pub(crate) fn keeps_young(&self, time: Time, now: Time) -> bool {
        is_younger(time, now, self.all)
    }

    /// Returns a retention that keeps every commit.
    pub fn everything() -> Self {
        Self {
            all: Duration::MAX,
            newest: u64::MAX,
            ..Self::default()
        }
    }

    /// Chooses the commits of a line to keep among those with these indexes, with ages counted from `now`. The `needed` ones
    /// stay in any case. Returns their indexes in rising order.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(crate) fn choose(
        &self,
        store: &Store,
        commits: Range<usize>,
        now: Time,
        needed: HashSet<CommitDigest>,
    ) -> Result<Vec<usize>> {
        let mut wanted = needed;
        wanted.extend(store.references().kept_commits().map(|(_, commit)| commit));
        let mut kept = Vec::new();
        let periods = [(HOUR, self.hourly), (DAY, self.daily), (7 * DAY, self.weekly)];
        // The hour, day and week of the commit visited last.
        let mut last = [None; 3];
        let mut is_before = false;
        for index in commits.clone().rev() {
            let Some(entry) = store.commit_at(index)? else {
                continue;
            };
            let (op, time) = (entry.commit.op.as_str(), entry.commit.time);
            // INVARIANT RET-2: recently forgotten objects can be restored completely: each commit that forgot an object
            // stays, and so does the commit before that commit.
            let counts = || match store.before(&entry)? {
                Some(before) => store.count(&before, &entry),
                None => Ok(ChangeCounts::default()),
            };
            let forgets = is_younger(time, now, self.forgotten) && forgets(op, counts)?;
            let was_before = std::mem::replace(&mut is_before, forgets);
            let young = (kept.len() as u64) < self.newest && self.keeps_young(time, now);
            // Updates `last` even if the commit is kept for another reason, because this commit is also the last commit
            // of its hour, day or week.
            let mut point = false;
            for (last, (length, age)) in last.iter_mut().zip(periods) {
                let number = Some(time.as_micros().div_euclid(length.as_micros() as i64));
                point |= *last != number && is_younger(time, now, age);
                *last = number;
            }
            // INVARIANT RET-1. The target of a commit is older than the commit, so this loop, which visits newer
            // commits first, reaches the target later.
            let is_named = wanted.contains(&entry.digest) || op == Op::ERASE;
            if index + 1 == commits.end || young || point || is_named || forgets || was_before {
                kept.push(index);
                wanted.extend(entry.commit.target);
            }
        }
        kept.reverse();
        Ok(kept)
    }
}

/// Returns whether the period from `time` to `now` is shorter than `age`.
fn is_younger(time: Time, now: Time, age: Duration) -> bool {
    let since = now.as_micros().saturating_sub(time.as_micros()).max(0);
    u128::from(since.unsigned_abs()) < age.as_micros()
}

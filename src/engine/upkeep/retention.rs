//! Which commits stay when history is thinned.
//!
//! # Layer
//! L5. Pure but for reading the line of commits.
//!
//! # Limits
//! - The standard policy keeps most versions of a history that was written evenly: nearly each is in the last state
//!   of some hour, day or week. It thins bursts of work.
//!
//! # Invariants
//! - RET-1: these commits stay: the newest one, those that references name, the targets of kept commits, and erasures,
//!   because they record the author and the reason.
//! - RET-2: recently forgotten objects can be restored whole: the commits that forgot them stay, and the commit before each.

use std::collections::HashSet;
use std::time::Duration;

use crate::error::Result;
use crate::object::{Op, Time};
use crate::store::{ChangeCounts, Store};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// How much of history is kept. The commits between the kept ones are thinned: their digests stay in the chain. Their
/// states are removed, with the versions that no kept state holds.
///
/// Commits of snapshots, drafts, pins and other references always stay, and so do erasures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Every commit younger than this stays, if it is among the `newest`.
    pub all: Duration,
    /// At most so many commits stay because of `all`.
    pub newest: u64,
    /// The last commit of each hour stays if it is younger than this.
    pub hourly: Duration,
    /// The last commit of each day stays if it is younger than this.
    pub daily: Duration,
    /// The last commit of each week stays if it is younger than this.
    pub weekly: Duration,
    /// A commit younger than this that forgot, shortened or replaced an object stays. So does the commit before it, whose
    /// state still holds that object.
    pub forgotten: Duration,
}

/// The operations whose commits remove objects that a user may want to restore.
const FORGETTING: [&str; 3] = ["forget", "decay", "note"];
/// The operations whose commits do so now and then: where a quota needs room, a folder has no file any more, or a guarded
/// change removes something.
const MAY_FORGET: [&str; 4] = ["remember", "import", "guard", "release"];

/// Returns whether a commit removes objects that a user may want to restore.
///
/// # Errors
/// Those of `counts`, which says how much the commit changed.
pub(crate) fn forgets(op: &str, counts: impl FnOnce() -> Result<ChangeCounts>) -> Result<bool> {
    if FORGETTING.contains(&op) {
        return Ok(true);
    }
    Ok(MAY_FORGET.contains(&op) && counts()?.removed > 0)
}

impl Default for Retention {
    /// Everything of 7 days, up to 5,000 commits; then a point an hour for 30 days, a point a day for a year, a point a
    /// week for ever; what was forgotten in the last 30 days.
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
    /// The retention of automatic collection: as the default, but nothing that is younger than [`Self::all`].
    pub fn automatic() -> Self {
        Self {
            newest: u64::MAX,
            ..Self::default()
        }
    }

    /// Keeps no commit for its age.
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

    /// Whether a commit stays for its age alone.
    pub(crate) fn keeps_young(&self, time: Time, now: Time) -> bool {
        is_younger(time, now, self.all)
    }

    /// Keeps every commit.
    pub fn everything() -> Self {
        Self {
            all: Duration::MAX,
            newest: u64::MAX,
            ..Self::default()
        }
    }

    /// The places in the line of the commits that stay, rising, of the first `count` as seen at `now`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(crate) fn choose(&self, store: &Store, count: usize, now: Time) -> Result<Vec<usize>> {
        let mut wanted: HashSet<_> = store
            .references()
            .iter()
            .filter_map(|entry| entry.reference.commit)
            .collect();
        let mut kept = Vec::new();
        let mut points = Points::default();
        let mut is_before = false;
        for index in (0..count).rev() {
            let Some(entry) = store.commit_at(index)? else {
                continue;
            };
            let op = entry.commit.op.as_str();
            // INVARIANT RET-2.
            let counts = || match store.before(&entry)? {
                Some(before) => store.count(&before, &entry),
                None => Ok(ChangeCounts::default()),
            };
            let forgets = is_younger(entry.commit.time, now, self.forgotten) && forgets(op, counts)?;
            let was_before = std::mem::replace(&mut is_before, forgets);
            let young = (kept.len() as u64) < self.newest && self.keeps_young(entry.commit.time, now);
            // Asked in any case, so that a commit that stays for another reason takes its hour, too.
            let point = points.takes(self, entry.commit.time, now);
            // INVARIANT RET-1. The target of a commit is older than the commit.
            let is_named = wanted.contains(&entry.digest) || op == Op::ERASE;
            if index + 1 == count || young || point || is_named || forgets || was_before {
                kept.push(index);
                wanted.extend(entry.commit.target);
            }
        }
        kept.reverse();
        Ok(kept)
    }
}

/// Whether less than `age` has gone by since `time`.
fn is_younger(time: Time, now: Time, age: Duration) -> bool {
    let since = now.as_micros().saturating_sub(time.as_micros()).max(0);
    u128::from(since.unsigned_abs()) < age.as_micros()
}

/// The hour, day and week that were last met on the way from the newest commit to the oldest.
#[derive(Default)]
struct Points {
    hour: Option<i64>,
    day: Option<i64>,
    week: Option<i64>,
}

impl Points {
    /// Whether the commit is the last one of an hour, day or week that has a point.
    fn takes(&mut self, retention: &Retention, time: Time, now: Time) -> bool {
        let mut takes = false;
        for (last, length, age) in [
            (&mut self.hour, HOUR, retention.hourly),
            (&mut self.day, DAY, retention.daily),
            (&mut self.week, 7 * DAY, retention.weekly),
        ] {
            let number = Some(time.as_micros().div_euclid(length.as_micros() as i64));
            let is_last = *last != number;
            *last = number;
            takes |= is_last && is_younger(time, now, age);
        }
        takes
    }
}

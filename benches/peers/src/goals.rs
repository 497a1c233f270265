//! The works that are measured, with their units and goals.

/// What Treering is compared with.
pub enum Against {
    /// The best peer that offers the work.
    Best,
    /// The limit that is measured beside it.
    Limit,
    /// This peer.
    Named(&'static str),
}

/// The goal of a work.
#[derive(Clone, Copy)]
pub enum Goal {
    /// Treering's value over the value that it is compared with.
    Ratio(f64),
    /// The same, by size: that of the largest size which is not above the row's.
    RatioFrom(&'static [(u64, f64)]),
    /// Treering's value itself.
    Value(f64),
    /// Treering's value for each object, or what else the size counts.
    ValueEach(f64),
}

/// A goal for one size.
pub enum Bound {
    Ratio(f64),
    Value(f64),
}

impl Goal {
    /// Returns the goal for a size.
    pub fn at(self, n: u64) -> Bound {
        match self {
            Self::Ratio(ratio) => Bound::Ratio(ratio),
            Self::RatioFrom(sizes) => {
                let fitting = sizes.iter().rfind(|(size, _)| *size <= n);
                Bound::Ratio(fitting.unwrap_or(&sizes[0]).1)
            }
            Self::Value(value) => Bound::Value(value),
            Self::ValueEach(value) => Bound::Value(value * n as f64),
        }
    }
}

/// A work: one row of the table at each size.
pub struct Work {
    /// A short name that does not change.
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub higher_is_better: bool,
    pub against: Against,
    pub goal: Option<Goal>,
}

const fn less(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    against: Against,
    goal: Goal,
) -> Work {
    let (higher_is_better, goal) = (false, Some(goal));
    Work {
        name,
        title,
        unit,
        higher_is_better,
        against,
        goal,
    }
}

const fn more(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    against: Against,
    goal: Goal,
) -> Work {
    Work {
        higher_is_better: true,
        ..less(name, title, unit, against, goal)
    }
}

use Against::{Best, Limit, Named};
use Goal::{Ratio, RatioFrom, Value, ValueEach};

/// All works, in the order of the table.
pub const WORKS: &[Work] = &[
    more(
        "load",
        "durable bulk load, all versions kept, 1,000 objects a commit",
        "objects/s",
        Best,
        Ratio(3.0),
    ),
    less("commit", "durable commit of one object", "us", Limit, Ratio(1.2)),
    more(
        "threads-8",
        "durable commits of one object by 8 threads",
        "commits/s",
        Limit,
        Ratio(4.0),
    ),
    less(
        "get",
        "get by id and read the text, at the head",
        "ns",
        Named("hashbrown"),
        RatioFrom(&[(0, 1.3), (100_000, 1.1)]),
    ),
    less(
        "get-snapshot",
        "get by id and read the text, in a snapshot 1 % behind",
        "ns",
        Named("hashbrown"),
        Ratio(1.5),
    ),
    less(
        "get-all",
        "get 64 ids at once and read the texts, per object",
        "ns",
        Named("hashbrown"),
        Ratio(1.0),
    ),
    less(
        "get-durable",
        "the same get, beside durable stores",
        "ns",
        Named("LMDB"),
        Ratio(0.45),
    ),
    less(
        "scan",
        "read all objects, per object",
        "ns",
        Named("LMDB"),
        Ratio(1.2),
    ),
    less("snapshot", "durable snapshot", "us", Limit, Ratio(1.3)),
    less(
        "snapshots",
        "durable snapshots, one after the other",
        "us",
        Limit,
        Ratio(0.9),
    ),
    less(
        "rollback",
        "durable rollback of a change of 1 %",
        "us",
        Best,
        Ratio(0.35),
    ),
    less("snapshot-ram", "snapshot in RAM", "us", Best, Value(3.0)),
    less(
        "rollback-ram",
        "rollback of a change of 1 % in RAM",
        "us",
        Best,
        Value(6.0),
    ),
    less(
        "update-ram",
        "update of 1 % under a held snapshot in RAM, per object",
        "ns",
        Named("imbl HashMap"),
        Ratio(0.7),
    ),
    less(
        "diff",
        "list a difference of 1 %",
        "us",
        Named("imbl OrdMap"),
        Ratio(0.8),
    ),
    less(
        "digests",
        "digests of 10,000 objects at once, each",
        "ns",
        Limit,
        Ratio(0.28),
    ),
    less(
        "root-1",
        "root of the state after 1 change",
        "us",
        Limit,
        Value(6.0),
    ),
    less(
        "root-10000",
        "root of the state after 10,000 changes",
        "us",
        Limit,
        RatioFrom(&[(0, 0.4), (1_000_000, 1.2)]),
    ),
    less(
        "open",
        "open after a load and updates, to the first get",
        "us",
        Named("LMDB"),
        Ratio(1.5),
    ),
    less(
        "first-gets",
        "the first gets after opening, each",
        "us",
        Named("LMDB"),
        Ratio(1.0),
    ),
    less(
        "open-crash",
        "open after a crash, to the first get",
        "ms",
        Best,
        ValueEach(0.0005),
    ),
    less(
        "open-checkpoints",
        "open after a crash with checkpoints, to the first get",
        "ms",
        Best,
        Value(100.0),
    ),
    less("close", "close after the load", "ms", Named("LMDB"), Value(100.0)),
    less(
        "ram",
        "RAM of a store in RAM, per object",
        "B",
        Limit,
        Value(600.0),
    ),
    less(
        "ram-snapshots",
        "RAM per changed object under 20 snapshots, with the version",
        "B",
        Limit,
        Value(740.0),
    ),
    less(
        "disk",
        "disk after the load, per object",
        "B",
        Limit,
        Value(590.0),
    ),
    more("readers-2", "gets of two readers", "gets/s", Limit, Ratio(1.9)),
    more(
        "reader-writer",
        "gets of a reader beside a busy writer",
        "gets/s",
        Limit,
        Ratio(0.95),
    ),
    less(
        "find",
        "find the 0.1 % with one attribute",
        "us",
        Limit,
        Ratio(0.01),
    ),
    less(
        "verify",
        "verify every digest, root and commit",
        "ms",
        Limit,
        Ratio(1.5),
    ),
    less(
        "history",
        "open, and list the changes of an id (the size is that of the history)",
        "ms",
        Limit,
        ValueEach(0.0002),
    ),
    less(
        "git-snapshot",
        "snapshot of a file or object each, 1 % of them changed",
        "ms",
        Named("git"),
        Ratio(0.001),
    ),
    less(
        "git-rollback",
        "rollback of the change of 1 %",
        "ms",
        Named("git"),
        Ratio(0.001),
    ),
    less("fork", "make a fork", "us", Best, Ratio(0.05)),
    less("merge", "merge a change of 1 %", "ms", Named("git"), Ratio(0.05)),
    less("fork-drop", "drop a fork", "us", Named("git"), Ratio(0.05)),
    less(
        "get-fork",
        "get by id and read the text, on a fork 1,000 commits deep",
        "ns",
        Limit,
        Ratio(1.2),
    ),
    less("backup", "a whole backup into a folder", "ms", Limit, Ratio(2.0)),
    less(
        "clone",
        "clone a remote in a folder, and open it",
        "ms",
        Limit,
        Ratio(2.0),
    ),
    less(
        "push",
        "push one commit to a folder",
        "ms",
        Named("git"),
        Ratio(1.0),
    ),
    less(
        "pull",
        "pull from a folder with nothing new",
        "ms",
        Named("git"),
        Ratio(0.5),
    ),
    #[cfg(feature = "memvid")]
    less(
        "memvid-put",
        "put and commit one more object",
        "us",
        Named("memvid"),
        Ratio(0.001),
    ),
    #[cfg(feature = "memvid")]
    less(
        "memvid-remember",
        "remember one more memory, compared with all before",
        "us",
        Named("memvid"),
        Ratio(0.001),
    ),
    Work {
        name: "turn",
        title: "a turn of an agent: recall, remember, snapshot, rollback",
        unit: "us",
        higher_is_better: false,
        against: Limit,
        goal: Some(Ratio(5.0)),
    },
];

//! Finds the newest commits that two commits both come from.
//!
//! # Layer
//! Layer 5. Pure.
//!
//! # Invariants
//! - MBS-1: a commit is later than each of its parents (CMT-3). So the walk meets a commit after everything that comes
//!   from it.
//!
//! # Cost
//! Proportional to the commits since the result, and to those on either side that are later than it.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::object::Time;

/// The commits of a store and their parents.
pub(super) trait Graph {
    /// A commit of the graph.
    type Commit: Copy + Ord;

    /// Returns the time of a commit.
    fn time(&self, commit: Self::Commit) -> Result<Time>;

    /// Returns the parents of a commit that are kept. For a thinned parent, returns the newest kept commit before it.
    fn parents(&self, commit: Self::Commit) -> Result<Vec<Edge<Self::Commit>>>;
}

/// The way from a commit to one of its parents.
#[derive(Clone, Copy)]
pub(super) struct Edge<C> {
    pub(super) parent: C,
    /// The sides that have what the parent brought: not a side that undid the merge since.
    pub(super) sides: Sides,
}

impl<C> Edge<C> {
    pub(super) fn of_both(parent: C) -> Self {
        let sides = Sides {
            ours: true,
            theirs: true,
        };
        Self { parent, sides }
    }
}

/// The two sides of a merge.
#[derive(Clone, Copy, Default)]
pub(super) struct Sides {
    pub(super) ours: bool,
    pub(super) theirs: bool,
}

/// The sides from which a commit is reached.
#[derive(Clone, Copy, Default)]
struct Reached {
    from: Sides,
    /// Whether it is an ancestor of a common ancestor.
    is_above_common: bool,
}

impl Reached {
    fn is_common(self) -> bool {
        self.from.ours && self.from.theirs
    }

    /// Returns how a parent is reached along an edge; `None` if it is not.
    fn along(self, sides: Sides) -> Option<Self> {
        let from = Sides {
            ours: self.from.ours && sides.ours,
            theirs: self.from.theirs && sides.theirs,
        };
        (from.ours || from.theirs).then_some(Self { from, ..self })
    }

    fn add(&mut self, other: Self) {
        self.from.ours |= other.from.ours;
        self.from.theirs |= other.from.theirs;
        self.is_above_common |= other.is_above_common;
    }
}

/// Returns the common ancestors of two commits that are no ancestors of another one, newest first. A commit counts as its
/// own ancestor. There are several if the two sides merged each other before.
///
/// # Errors
/// The errors of the graph.
pub(super) fn common_ancestors<G: Graph>(
    graph: &G,
    ours: G::Commit,
    theirs: G::Commit,
) -> Result<Vec<G::Commit>> {
    let mut open: BTreeMap<(Time, G::Commit), Reached> = BTreeMap::new();
    let mut found = Vec::new();
    let reach = |open: &mut BTreeMap<(Time, G::Commit), Reached>, commit: G::Commit, reached| -> Result<()> {
        open.entry((graph.time(commit)?, commit))
            .or_default()
            .add(reached);
        Ok(())
    };
    let (mut one, mut other) = (Reached::default(), Reached::default());
    (one.from.ours, other.from.theirs) = (true, true);
    reach(&mut open, ours, one)?;
    reach(&mut open, theirs, other)?;
    while open.values().any(|reached| !reached.is_above_common) {
        let Some(((_, commit), mut reached)) = open.pop_last() else {
            break;
        };
        if reached.is_common() && !reached.is_above_common {
            found.push(commit);
            reached.is_above_common = true;
            // Then no parent decides anything, and to read a merged one may open its line.
            if open.values().all(|reached| reached.is_above_common) {
                break;
            }
        }
        for edge in graph.parents(commit)? {
            if let Some(reached) = reached.along(edge.sides) {
                reach(&mut open, edge.parent, reached)?;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::random::SplitMix64;

    /// The parents of each commit. The time of a commit is its number.
    #[derive(Default)]
    struct Commits {
        parents: Vec<Vec<usize>>,
        read: Cell<usize>,
    }

    impl Graph for Commits {
        type Commit = usize;

        fn time(&self, commit: usize) -> Result<Time> {
            Ok(Time::from_micros(i64::try_from(commit).unwrap()))
        }

        fn parents(&self, commit: usize) -> Result<Vec<Edge<usize>>> {
            self.read.set(self.read.get() + 1);
            Ok(self.parents[commit].iter().copied().map(Edge::of_both).collect())
        }
    }

    impl Commits {
        fn ancestors(&self, commit: usize) -> BTreeSet<usize> {
            let mut all = BTreeSet::from([commit]);
            for &parent in &self.parents[commit] {
                all.extend(self.ancestors(parent));
            }
            all
        }
    }

    /// INVARIANT MBS-1: a commit is met after everything that comes from it.
    #[test]
    fn the_result_is_every_lowest_common_ancestor() {
        let mut random = SplitMix64::new(29);
        let mut several = 0;
        for _ in 0..2_000 {
            let mut commits = Commits::default();
            for commit in 0..12 {
                let mut parents = BTreeSet::new();
                for _ in 0..commit.min(1 + random.below(2)) {
                    parents.insert(random.below(commit));
                }
                commits.parents.push(parents.into_iter().collect());
            }
            let (ours, theirs) = (random.below(12), random.below(12));
            let (one, other) = (commits.ancestors(ours), commits.ancestors(theirs));
            let common: BTreeSet<usize> = one.intersection(&other).copied().collect();
            let is_lowest = |commit: &&usize| {
                let mut others = common.iter().filter(|other| other != commit);
                !others.any(|other| commits.ancestors(*other).contains(commit))
            };
            let lowest: Vec<usize> = common.iter().rev().filter(is_lowest).copied().collect();
            several += usize::from(lowest.len() > 1);
            assert_eq!(
                common_ancestors(&commits, ours, theirs).unwrap(),
                lowest,
                "{:?} {ours} {theirs}",
                commits.parents
            );
        }
        assert!(several > 10, "{several}");
    }

    #[test]
    fn the_cost_is_proportional_to_the_commits_since() {
        let mut commits = Commits::default();
        commits.parents.push(Vec::new());
        commits.parents.extend((0..100_000).map(|parent| vec![parent]));
        commits.parents.push(vec![100_000]);
        commits.parents.push(vec![100_000]);
        let found = common_ancestors(&commits, 100_001, 100_002).unwrap();
        assert_eq!(found, [100_000]);
        assert!(commits.read.get() <= 2, "{}", commits.read.get());
    }
}

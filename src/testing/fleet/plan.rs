//! What a schedule has, as its seed chooses.
//!
//! # Layer
//! For tests.

use crate::object::Origin;
use crate::testing::random::SplitMix64;

/// A remote that a machine knows, and the most trusted class of what comes from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) remote: usize,
    pub(super) cap: Origin,
}

/// What a schedule has.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) remotes: usize,
    /// The remotes that each machine knows.
    pub(super) ways: Vec<Vec<Way>>,
    /// Whether several machines edit the same objects.
    pub(super) has_shared: bool,
    pub(super) has_forks: bool,
    pub(super) has_backups: bool,
    /// The number of kinds of steps.
    pub(super) kinds: usize,
}

const CAPS: [Origin; 4] = [Origin::Host, Origin::Model, Origin::Import, Origin::Import];

impl Way {
    /// Returns whether the machine erases what others erased there.
    pub(super) fn believes_erasures(self) -> bool {
        !Origin::Host.is_above(self.cap)
    }
}

/// Returns the ways of a machine that trusts these remotes.
fn trusting(remotes: &[usize]) -> Vec<Way> {
    let cap = Origin::DirectUser;
    remotes
        .iter()
        .map(|remote| Way { remote: *remote, cap })
        .collect()
}

impl Plan {
    /// One remote, which all machines trust, and edits of each machine's own objects.
    pub(super) fn plain() -> Self {
        Self {
            remotes: 1,
            ways: vec![trusting(&[0]); 3],
            has_shared: false,
            has_forks: false,
            has_backups: false,
            kinds: 21,
        }
    }

    /// What the seed chooses.
    pub(super) fn wide(seed: u64) -> Self {
        // Apart from the steps, so that those of a seed do not change with the plan.
        let random = &mut SplitMix64::new(!seed);
        let mut plan = Self {
            has_shared: !random.one_in(4),
            has_forks: random.one_in(2),
            has_backups: random.one_in(4),
            kinds: 34,
            ..Self::plain()
        };
        if random.one_in(3) {
            plan.remotes = 2;
            plan.ways = two_remotes(random);
        }
        if random.one_in(3) {
            // The first machine trusts its remotes. A machine with two remotes does, too: what comes to it on two ways has
            // the class of the first one, so the machines behind it show another class than those before it.
            for ways in plan.ways.iter_mut().skip(1).filter(|ways| ways.len() == 1) {
                if random.one_in(2) {
                    ways[0].cap = *random.pick(&CAPS);
                }
            }
        }
        plan
    }

    /// Returns whether a machine trusts all its remotes.
    pub(super) fn trusts(&self, machine: usize) -> bool {
        self.ways[machine].iter().all(|way| way.cap == Origin::DirectUser)
    }

    /// Returns whether a machine trusts a remote less than itself.
    pub(super) fn has_caps(&self) -> bool {
        (0..self.ways.len()).any(|machine| !self.trusts(machine))
    }
}

/// Returns the ways of machines with two remotes. One of the first two knows both, so that all are connected.
fn two_remotes(random: &mut SplitMix64) -> Vec<Vec<Way>> {
    let any = [vec![0], vec![1], vec![0, 1], vec![1, 0]];
    if random.one_in(2) {
        vec![
            trusting(&[0, 1]),
            trusting(random.pick::<Vec<usize>>(&any)),
            trusting(random.pick::<Vec<usize>>(&any)),
        ]
    } else {
        vec![
            trusting(&[0]),
            trusting(&[0, 1]),
            trusting(random.pick::<Vec<usize>>(&any)),
        ]
    }
}

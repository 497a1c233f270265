//! What schedules did.
//!
//! # Layer
//! For tests.

use super::plan::Plan;

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What schedules did.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Counts {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Counts {
            /// Adds those of another schedule.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)+
            }

            /// Returns each count with its name.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)+]
            }
        }
    };
}

counts! {
    /// The number of steps.
    steps,
    /// The number of pushes that sent a commit.
    pushes,
    /// The number of pulls that merged.
    merges,
    /// The number of calls that failed because of the service.
    failures,
    /// The number of pushes that found commits of others.
    behind,
    /// The number of erasures.
    erasures,
    /// The number of collections of a remote.
    collections,
    /// The number of histories that were thinned.
    thinned,
    /// The number of machines that trust a remote less than themselves.
    capped,
    /// The number of schedules with two remotes.
    two_remotes,
    /// The number of writes of objects that several machines write.
    shared,
    /// The number of removals of such objects.
    removals,
    /// The number of restored objects.
    restores,
    /// The number of conflicts that pulls and merges made.
    conflicts,
    /// The number of conflicts that were decided.
    resolved,
    /// The number of edits of secrets that another machine wrote or may erase.
    secret_edits,
    /// The number of forks.
    forks,
    /// The number of writes through a fork.
    fork_writes,
    /// The number of forks that were merged.
    fork_merges,
    /// The number of forks that were dropped.
    fork_drops,
    /// The number of backups that ended.
    backups,
    /// The number of rounds of all machines before the rest.
    rounds,
}

impl Counts {
    /// Notes what the plan of so many machines has.
    pub(super) fn note_plan(&mut self, plan: &Plan, machines: usize) {
        self.two_remotes += u64::from(plan.remotes > 1);
        self.capped += (0..machines).filter(|at| !plan.trusts(*at)).count() as u64;
    }
}

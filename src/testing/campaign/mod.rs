//! One campaign against the whole engine. It runs a seeded workload on the simulated disk, crashes it at every call,
//! crashes it again during recovery, and injects every fault. It compares each result with an undisturbed run and with
//! the model.
//!
//! The pass rule: recovery yields a state from the last acknowledged to the last submitted operation, and nothing
//! between operations. Every acknowledged version can be read. A second recovery changes no byte. Acknowledgements
//! after a crash are durable. `verify` finds nothing.
//!
//! # Layer
//! For tests; uses the engine.

mod crash;
mod expected;
mod fault;
#[cfg(test)]
mod tests;
mod workload;

use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The work done with one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Crashes at every call, and in recovery.
    Crash,
    /// Faults at every call.
    Fault,
}

/// How much is looked at. Where a field says "one in", 1 is all and the choice follows from the seed.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Operations of the workload.
    pub operations: usize,
    /// Random choices of sectors and names for each crash.
    pub sectors: usize,
    /// Prefixes of the last write for each crash, besides those at edges; all of them if it has no more bytes.
    pub prefixes: usize,
    /// One in so many images is recovered, written to, and verified.
    pub whole_every: usize,
    /// One in so many images is crashed again at every call of going on.
    pub double_every: usize,
    /// One in so many images of a second crash is crashed again.
    pub deeper_every: usize,
    /// Crashes within recovery at the most.
    pub depth: usize,
    /// One in so many faults is tried.
    pub fault_every: usize,
}

impl Settings {
    /// The work done with each seed of a soak, and of every test run.
    pub const SOAK: Self = Self {
        operations: 300,
        sectors: 32,
        prefixes: 6,
        whole_every: 40,
        double_every: 3_000,
        deeper_every: 1_000,
        depth: 4,
        fault_every: 1,
    };
    /// Less of each seed, for programs that were built without optimisation.
    pub const QUICK: Self = Self {
        sectors: 2,
        prefixes: 1,
        whole_every: 60,
        fault_every: 40,
        ..Self::SOAK
    };
}

/// Counters of the work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Images of a first crash that were opened and held against the model.
    pub images: u64,
    /// Images among all of these that differ from each other.
    pub distinct: u64,
    /// Images of a crash while going on behind another one.
    pub doubles: u64,
    /// Images that were recovered, written to and verified.
    pub recoveries: u64,
    /// Calls that failed on demand.
    pub faults: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.images += other.images;
        self.distinct += other.distinct;
        self.doubles += other.doubles;
        self.recoveries += other.recoveries;
        self.faults += other.faults;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            images,
            distinct,
            doubles,
            recoveries,
            faults,
        } = self;
        write!(
            out,
            "{images} images of a crash and {doubles} of a second one ({distinct} differ), {recoveries} gone on with, {faults} faults"
        )
    }
}

/// Runs one seed.
///
/// # Errors
/// A description of the violation.
pub fn run_seed(kind: Kind, seed: u64, settings: Settings) -> Result<Tally, String> {
    let run = AssertUnwindSafe(|| match kind {
        Kind::Crash => crash::crash_everywhere(seed, settings),
        Kind::Fault => fault::fail_everywhere(seed, settings),
    });
    catch_unwind(run).map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        text.unwrap_or_else(|| "a panic without a text".to_owned())
    })
}

//! One campaign against the whole engine. It runs a seeded workload on the simulated disk, crashes it at every call,
//! crashes it again during recovery, and injects every fault. It compares each result with an undisturbed run and with
//! the model.
//!
//! The pass rule: recovery yields a state from the last acknowledged to the last submitted operation, never a state
//! between two operations. Every acknowledged version can be read. A second recovery changes no byte. Acknowledgements
//! after a crash are durable. `verify` reports no damage.
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
    /// Crashes at every call, including those of recovery.
    Crash,
    /// Faults at every call.
    Fault,
}

/// The extent of the checks. Where a field says "one in", 1 means all, and the seed determines the choice.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Number of operations of the workload.
    pub operations: usize,
    /// Number of random choices of sectors and names for each crash.
    pub sectors: usize,
    /// Number of prefixes of the last write for each crash, besides those at edges; a shorter write is cut at every
    /// byte.
    pub prefixes: usize,
    /// One image in this many is recovered, written to, and verified.
    pub whole_every: usize,
    /// One image in this many is crashed again at every call of the work after it.
    pub double_every: usize,
    /// One image of a second crash in this many is crashed again.
    pub deeper_every: usize,
    /// Maximal number of nested crashes within recovery.
    pub depth: usize,
    /// One fault in this many is tried.
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
    /// Fewer checks of each seed, for unoptimised builds.
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
    /// Images of a first crash that were opened and compared with the model.
    pub images: u64,
    /// Number of different images among all of these.
    pub distinct: u64,
    /// Images of a crash during the work after another crash.
    pub doubles: u64,
    /// Images that were recovered, written to and verified.
    pub recoveries: u64,
    /// Calls that failed by an injected fault.
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

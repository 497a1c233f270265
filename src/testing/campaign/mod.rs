//! One campaign against the whole engine. The campaign runs the workload of a seed on the simulated disk. The campaign
//! crashes the workload at every call, crashes the workload again during recovery, and injects every fault. The
//! campaign compares each result with an undisturbed run and with the model.
//!
//! A run passes if recovery gives a state between the last acknowledged and the last submitted operation, and never a
//! part of an operation. Every acknowledged version must be readable. A second recovery must change no byte. Writes
//! acknowledged after a crash must be durable. `verify` must report no damage.
//!
//! # Layer
//! For tests. Uses the engine.

mod crash;
mod expected;
mod fault;
mod forks;
#[cfg(test)]
mod tests;
mod workload;

use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The kind of campaign that runs with a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Crashes at every call, including the calls of recovery.
    Crash,
    /// Injects faults at every call.
    Fault,
}

/// The extent of the checks. A field such as `fault_every` selects one in that many cases: the value 1 selects all
/// cases. The seed determines which cases are selected.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of operations in the workload.
    pub operations: usize,
    /// The number of random choices of surviving sectors and names for each crash.
    pub sectors: usize,
    /// The number of prefixes of the last write for each crash, besides the prefixes that end at edges of sectors and
    /// frames. A write of at most this many bytes is cut at every byte.
    pub prefixes: usize,
    /// One in this many images is recovered, written to and verified.
    pub whole_every: usize,
    /// One in this many images is crashed again at every call of the work that follows.
    pub double_every: usize,
    /// One in this many images of a second crash is crashed again.
    pub deeper_every: usize,
    /// The maximal number of nested crashes within recovery.
    pub depth: usize,
    /// One in this many faults is tried.
    pub fault_every: usize,
}

impl Settings {
    /// The checks of each seed in a soak and in a normal test run.
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
    /// Fewer checks for each seed, for unoptimised builds.
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
    /// The number of images of a first crash that were opened and compared with the model.
    pub images: u64,
    /// The number of distinct images among all images.
    pub distinct: u64,
    /// The number of images of a crash that happened during the work after another crash.
    pub doubles: u64,
    /// The number of images that were recovered, written to and verified.
    pub recoveries: u64,
    /// The number of calls that failed because of an injected fault.
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
            "{images} images of a first crash and {doubles} of a later crash ({distinct} distinct), {recoveries} recovered, {faults} faults"
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

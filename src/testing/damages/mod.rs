//! Random damages of random stores. Each store is built by a random workload; each damage changes a copy of it.
//!
//! A damage passes if all of the following hold:
//! - It is reported: `verify` has a finding that it has not for the whole store, or returns an error. A damage of bytes
//!   that hold nothing needs no report (`Spoiled::must_be_told`).
//! - Nothing is read wrong: each state that a strict reader, a degraded reader or a salvaged store shows is one that was
//!   acknowledged, and each object has the digest and the content that was acknowledged. Nothing erased comes back.
//!   Every other result is an error about damage or about a file that cannot be read.
//! - Everything outside the damage is readable: salvage saves every version whose records the damage did not touch.
//! - A store that opens for writing keeps what it had, and what is written next.
//!
//! # Layer
//! For tests. Uses the engine.

mod check;
mod spoil;
mod store;
#[cfg(test)]
mod tests;

use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::testing::random::SplitMix64;
use check::check;
use spoil::spoil;
use store::Whole;

/// The number of damages of each store.
pub const DAMAGES_A_STORE: u64 = 20;

/// A check that takes longer counts as a hang.
const LONGEST: Duration = Duration::from_mins(1);

/// Counters of the work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of damages.
    pub damages: u64,
    /// The number of damages that `verify` reported.
    pub told: u64,
    /// The number of damages of bytes that hold nothing, which nothing had to report.
    pub empty: u64,
    /// The number of damaged stores that a strict reader opened.
    pub strict: u64,
    /// The number of damaged stores that a degraded reader opened.
    pub degraded: u64,
    /// The number of damaged stores that salvage saved.
    pub salvaged: u64,
    /// The number of versions outside the damage that salvage had to save, and saved.
    pub versions: u64,
    /// The number of damaged stores that were written to.
    pub written: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.damages += other.damages;
        self.told += other.told;
        self.empty += other.empty;
        self.strict += other.strict;
        self.degraded += other.degraded;
        self.salvaged += other.salvaged;
        self.versions += other.versions;
        self.written += other.written;
    }
}

impl Tally {
    /// Returns the counters with their names.
    pub fn counts(&self) -> [(&'static str, u64); 8] {
        [
            ("damages", self.damages),
            ("told", self.told),
            ("empty", self.empty),
            ("strict", self.strict),
            ("degraded", self.degraded),
            ("salvaged", self.salvaged),
            ("versions", self.versions),
            ("written", self.written),
        ]
    }
}

/// Builds the store of a seed, and damages `count` copies of it.
///
/// # Errors
/// The descriptions of all damages that did not pass.
pub fn run_store(seed: u64, count: u64) -> Result<Tally, String> {
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    let whole = Whole::of(seed);
    for number in 0..count {
        let mut random = SplitMix64::new(seed << 20 | number);
        let disk = whole.disk.copy();
        let spoiled = spoil(&disk, &whole, &mut random);
        let started = Instant::now();
        let checked = catch_unwind(AssertUnwindSafe(|| check(&disk, &whole, &spoiled)));
        let what = format!("store {seed}, damage {number}: {}", spoiled.what);
        match checked {
            Ok(one) => tally += one,
            Err(payload) => failures.push(format!("{what}: {}", text_of(payload.as_ref()))),
        }
        if started.elapsed() > LONGEST {
            failures.push(format!("{what}: took {:?}", started.elapsed()));
        }
    }
    if failures.is_empty() {
        Ok(tally)
    } else {
        Err(failures.join("\n"))
    }
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a text")
}

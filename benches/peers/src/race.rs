//! Measurements in which all entrants take turns, so that other load on the machine affects all of them.

use std::time::{Duration, Instant};

use crate::table::{Role, Table};

/// Returns the time that `work` takes, and its result. The allocator is tidy when it starts, so that `work` does not pay
/// for what was freed before.
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    tidy_allocator();
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

/// Lets the allocator sort the blocks that were freed before. The allocator of glibc does so at the next allocation for
/// which it has no block of that size, at most 10,000 blocks at once.
fn tidy_allocator() {
    const TIMES: usize = 200;
    const LARGE_BYTES: usize = 32 << 10;
    for _ in 0..TIMES {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE_BYTES)));
    }
}

pub fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns how many of `count` things happen in a second.
pub fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Returns the median of the measured values, without those that are not numbers. An entrant without any value does
/// not offer the work.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

struct Entrant<'a, const K: usize> {
    name: String,
    role: Role,
    /// Does the work of one round and returns its `K` values.
    work: Box<dyn FnMut(u64) -> [f64; K] + 'a>,
    values: Vec<[f64; K]>,
}

/// A measurement of `K` works at once. NaN stands for a work that the entrant does not offer.
pub struct Race<'a, const K: usize> {
    entrants: Vec<Entrant<'a, K>>,
}

impl<'a, const K: usize> Race<'a, K> {
    pub fn new() -> Self {
        Self { entrants: Vec::new() }
    }

    /// Adds an entrant. `work` gets the number of the round, which starts at 1.
    pub fn enter(&mut self, name: impl Into<String>, role: Role, work: impl FnMut(u64) -> [f64; K] + 'a) {
        self.entrants.push(Entrant {
            name: name.into(),
            role,
            work: Box::new(work),
            values: Vec::new(),
        });
    }

    /// Lets each entrant work once in each round. Each round starts with another entrant, so that none always follows
    /// the same one.
    pub fn run(mut self, rounds: usize) -> Self {
        let count = self.entrants.len();
        for round in 0..rounds {
            for turn in 0..count {
                let entrant = &mut self.entrants[(round + turn) % count];
                let values = (entrant.work)(round as u64 + 1);
                entrant.values.push(values);
            }
        }
        self
    }

    /// Enters the medians of each entrant for `works` at the size `n`.
    pub fn record(self, works: [&'static str; K], n: u64, table: &mut Table) {
        for (at, work) in works.into_iter().enumerate() {
            for entrant in &self.entrants {
                if let Some(value) = median(entrant.values.iter().map(|values| values[at])) {
                    table.enter(work, n, entrant.role, &entrant.name, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entrants_take_turns_and_the_first_changes() {
        let order = std::cell::RefCell::new(String::new());
        let mut race = Race::new();
        for name in ["a", "b", "c"] {
            let order = &order;
            race.enter(name, Role::Peer, move |_| {
                order.borrow_mut().push_str(name);
                [0.0]
            });
        }
        race.run(4);
        assert_eq!(order.into_inner(), "abcbcacababc");
    }

    #[test]
    fn a_median_leaves_out_what_is_not_offered() {
        assert_eq!(median([3.0, f64::NAN, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([f64::NAN]), None);
    }
}

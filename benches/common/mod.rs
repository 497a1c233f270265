//! Objects, times and ratios of the benchmarks that print ratios.

use std::time::{Duration, Instant};

use treering::{Id, Kind, Memory, NewObject, Value, Writer};

pub(crate) fn id(number: usize) -> Id {
    Id::new(&format!("object/{number:08}")).unwrap()
}

pub(crate) fn object(number: usize, round: usize) -> NewObject {
    let mut object = NewObject::new(id(number), Kind::new("note").unwrap());
    object
        .attributes
        .insert("round", Value::Integer(i64::try_from(round).unwrap_or(i64::MAX)));
    object.content = Some(format!("In round {round} the agent wrote down fact number {number}. ").repeat(5));
    object
}

/// A small deterministic random number generator. It makes the order of reads differ from the order of writes.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

pub(crate) fn fill(memory: &Memory, numbers: &[usize], round: usize) {
    for chunk in numbers.chunks(10_000) {
        let mut draft = memory.draft(&Writer::user());
        for &number in chunk {
            draft.put(object(number, round)).unwrap();
        }
        memory.commit(draft, "put").unwrap();
    }
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

pub(crate) fn time(rounds: usize, mut work: impl FnMut()) -> Duration {
    let one = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    median((0..rounds).map(|_| one(&mut work)).collect())
}

pub(crate) fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// Returns the anonymous memory of this process in bytes: the heap, without mapped files.
pub(crate) fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

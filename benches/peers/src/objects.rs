//! The objects that every peer stores: 455 canonical bytes each, with ids that have no order.
//!
//! The number and the version of an object determine all its bytes, so every peer gets the same ones in every run.

use treering::testing::digest::HashSuite;
use treering::testing::object::Encoded;
use treering::testing::random::SplitMix64;
use treering::{HashAlgorithm, Id, Kind, NewObject, Object, ObjectDigest, Origin, Value};

/// The number of canonical bytes of each object.
pub const CANONICAL: usize = 455;
/// The number of bytes of the text that makes an object [`CANONICAL`] bytes long.
const TEXT: usize = 275;
/// The number of topics. A query for one of them finds 0.1 % of the objects.
pub const TOPICS: u64 = 1_000;
/// The tag of the content among the fields of an object; see docs/format.md.
const CONTENT_TAG: u16 = 0x0007;
/// The functions that compute the digests of all stores.
pub const SUITE: HashSuite = HashSuite::new(HashAlgorithm::Blake3);

const WORDS: [&str; 32] = [
    "agent", "answer", "apple", "before", "build", "checks", "clock", "commit", "cutting", "decides",
    "early", "evening", "file", "garden", "green", "house", "index", "keeps", "letter", "memory", "never",
    "office", "paper", "quiet", "river", "says", "session", "table", "user", "village", "window", "writes",
];

/// Returns the id of an object: 39 bytes, in an order that has nothing to do with its number.
pub fn id(number: u64) -> Id {
    let mut random = SplitMix64::new(number);
    let (high, low) = (random.next_u64(), random.next_u64());
    let groups = [
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff,
    ];
    let [a, b, c, d, e] = groups;
    Id::new(&format!("id-{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")).unwrap()
}

/// Returns the topic of an object.
pub fn topic(number: u64) -> String {
    format!("topic {:04}", number % TOPICS)
}

/// Returns the first bytes of the text of an object, which differ for every number and version.
fn mark(number: u64, version: u64) -> String {
    format!("{:016x}", SplitMix64::new(number ^ version << 40).next_u64())
}

/// Returns version `version` of object `number`.
pub fn object(number: u64, version: u64) -> NewObject {
    let mut object = NewObject::new(id(number), Kind::new("note").unwrap());
    let attributes = &mut object.attributes;
    attributes.insert("topic", Value::Text(topic(number)));
    attributes.insert("turn", Value::Integer(version as i64));
    attributes.insert("source", Value::Text(format!("session {:06}", number / 50)));
    attributes.insert("weight", Value::Float((number % 64) as f64 / 64.0));
    let mut text = mark(number, version);
    let mut random = SplitMix64::new(!number ^ version << 32);
    while text.len() < TEXT {
        text.push(' ');
        text.push_str(WORDS[random.below(WORDS.len())]);
    }
    text.truncate(TEXT);
    object.content = Some(text);
    object
}

/// Returns version `version` of each object in `numbers`.
pub fn objects(numbers: impl IntoIterator<Item = u64>, version: u64) -> Vec<NewObject> {
    numbers
        .into_iter()
        .map(|number| object(number, version))
        .collect()
}

/// Returns `count` numbers below `n` that `seed` determines.
pub fn some_numbers(n: u64, count: usize, seed: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    (0..count).map(|_| random.below(n as usize) as u64).collect()
}

/// Returns the different numbers of `n / 100` objects that `seed` determines, at least one.
pub fn one_percent(n: u64, seed: u64) -> Vec<u64> {
    let start = SplitMix64::new(seed).below(n as usize) as u64;
    // The step is a prime that divides no usual size, so no number is visited twice.
    (0..(n / 100).max(1)).map(|at| (start + at * 7_919) % n).collect()
}

/// Encodes an object. Peers do this for each object that they store, as Treering does.
pub fn encode(object: &NewObject) -> Encoded {
    object.encode(Origin::DirectUser, SUITE).unwrap()
}

/// Encodes an object and wraps it as the value of a map.
pub fn in_memory(object: &NewObject) -> Object {
    encode(object).into_object()
}

/// What a read found: it proves that a peer did the whole work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of objects that were found.
    pub count: u64,
    /// The sum of the first bytes of their texts.
    sum: u64,
}

impl Seen {
    fn add(&mut self, text: &[u8]) {
        let first = text.first_chunk().expect("a text begins with its mark");
        self.count += 1;
        self.sum = self.sum.wrapping_add(u64::from_le_bytes(*first));
    }

    /// Adds an object.
    pub fn add_object(&mut self, object: &Object) {
        self.add(object.content().expect("an object has a text").as_bytes());
    }

    /// Adds the text among the canonical bytes of an object, without decoding the other fields.
    pub fn add_canonical(&mut self, bytes: &[u8]) {
        let mut rest = &bytes[1..];
        while let Some((head, tail)) = rest.split_first_chunk::<6>() {
            let tag = u16::from_le_bytes([head[0], head[1]]);
            let length = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
            if tag == CONTENT_TAG {
                return self.add(&tail[..length]);
            }
            rest = &tail[length..];
        }
        panic!("an object has a text");
    }

    /// Adds a difference between two states.
    pub fn add_difference(&mut self, old: Option<ObjectDigest>, new: Option<ObjectDigest>) {
        self.count += 1;
        for digest in [old, new].into_iter().flatten() {
            let first = digest.as_bytes().first_chunk().expect("a digest has 32 bytes");
            self.sum = self.sum.wrapping_add(u64::from_le_bytes(*first));
        }
    }

    /// Returns what a read of these objects finds.
    pub fn of(numbers: impl IntoIterator<Item = u64>, version: u64) -> Self {
        let mut seen = Self::default();
        for number in numbers {
            seen.add(mark(number, version).as_bytes());
        }
        seen
    }
}

/// Checks that the objects have the size and the texts that the works rely on.
pub fn check() {
    for number in [0, 1, 99_999, 9_999_999] {
        let object = object(number, 3);
        let bytes = encode(&object).bytes;
        assert_eq!(bytes.len(), CANONICAL, "the size of an object");
        let mut seen = Seen::default();
        seen.add_canonical(&bytes);
        assert_eq!(seen, Seen::of([number], 3), "the text of an object");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_as_the_works_rely_on() {
        check();
        let numbers = one_percent(100_000, 7);
        let mut different = numbers.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!((numbers.len(), different.len()), (1_000, 1_000));
        assert_ne!(Seen::of([1], 0), Seen::of([1], 1), "versions differ");
        assert_ne!(id(1), id(2));
    }
}

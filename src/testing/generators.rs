//! Random names, values, objects, commits and references, all of which are valid.
//!
//! [`Generator::new`] makes every kind of value, with text of many scripts. [`Generator::tiny`] uses only a few short
//! texts, so two objects often agree in all but one field. Such objects reveal ambiguous encodings.
//!
//! # Layer
//! For tests. Uses `object`.

use std::collections::BTreeMap;

use super::random::SplitMix64;
use crate::digest::{CommitDigest, HistoryRoot, KeyPath, ObjectDigest, Root, TextDigest};
use crate::object::{
    Attributes, Commit, Id, Kind, NewObject, Op, Origin, Position, Reference, ReferenceClass, ReferenceName,
    Scope, StagedChange, Time, Value,
};

/// Pieces of text of many scripts, lengths and directions, each in normal form NFC.
const PIECES: [&str; 24] = [
    "a",
    "b",
    "z",
    "fact",
    " ",
    "/",
    "..",
    ":",
    "\"",
    "\\",
    "0",
    "9",
    "\u{e9}",
    "\u{df}",
    "\u{3a9}",
    "\u{416}",
    "\u{5d0}",
    "\u{645}",
    "\u{4e2d}\u{6587}",
    "\u{d55c}",
    "\u{1f332}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{fb01}",
    "\u{10fffd}",
];

const TINY: [&str; 6] = ["a", "b", "aa", "ab", "ba", "aab"];

/// Makes valid values from a stream of random numbers.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The stream of random numbers.
    pub random: SplitMix64,
    tiny: bool,
}

impl Generator {
    /// Creates a generator of every kind of value.
    pub const fn new(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            tiny: false,
        }
    }

    /// Creates a generator of small values with few different texts.
    pub const fn tiny(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            tiny: true,
        }
    }

    /// Makes a text of 1 to `bytes_max` bytes in normal form NFC, without control characters.
    pub fn text(&mut self, bytes_max: usize) -> String {
        if self.tiny {
            return (*self.random.pick(&TINY)).to_owned();
        }
        let target = if self.random.one_in(20) {
            bytes_max
        } else {
            1 + self.random.below(12)
        };
        // The "x" at the start keeps the text from being empty, and separates the text from the part before the text.
        let mut text = String::from("x");
        loop {
            let piece = self.random.pick(&PIECES);
            if text.len() + piece.len() > bytes_max {
                return text;
            }
            text.push_str(piece);
            if text.len() >= target {
                return text;
            }
        }
    }

    /// Makes an id.
    pub fn id(&mut self) -> Id {
        Id::new(&self.text(Id::RULE.bytes_max)).expect("generated texts are valid ids")
    }

    /// Makes a kind.
    pub fn kind(&mut self) -> Kind {
        Kind::new(&self.text(Kind::RULE.bytes_max)).expect("generated texts are valid kinds")
    }

    /// Makes a scope, often the default scope.
    pub fn scope(&mut self) -> Scope {
        if self.random.one_in(2) {
            return Scope::default();
        }
        Scope::new(&self.text(Scope::RULE.bytes_max)).expect("generated texts are valid scopes")
    }

    /// Makes a position.
    pub fn position(&mut self) -> Position {
        Position::new(&self.text(Position::RULE.bytes_max)).expect("generated texts are valid positions")
    }

    /// Makes a value that nests at most `depth` deep.
    pub fn value(&mut self, depth: usize) -> Value {
        const FLOATS: [f64; 9] = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            5e-324,
        ];
        const INTEGERS: [i64; 5] = [0, 1, -1, i64::MIN, i64::MAX];
        let containers = if depth > 1 { 7 } else { 5 };
        match self.random.below(containers) {
            0 => Value::Null,
            1 => Value::Bool(self.random.one_in(2)),
            2 if self.random.one_in(2) => Value::Integer(self.random.next_u64().cast_signed()),
            2 => Value::Integer(*self.random.pick(&INTEGERS)),
            3 if self.random.one_in(2) => Value::Float(f64::from_bits(self.random.next_u64())),
            3 => Value::Float(*self.random.pick(&FLOATS)),
            4 if self.random.one_in(4) => Value::Text(String::new()),
            4 => Value::Text(self.text(300)),
            5 => Value::List((0..self.random.below(4)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let entries = (0..self.random.below(4)).map(|_| (self.text(256), self.value(depth - 1)));
                Value::Map(entries.collect())
            }
        }
    }

    /// Makes attributes, often an empty map.
    pub fn attributes(&mut self) -> Attributes {
        let depth = if self.tiny { 2 } else { 5 };
        (0..self.random.below(4))
            .map(|_| (self.text(256), self.value(depth)))
            .collect()
    }

    /// Makes a content. The content may be empty, contain control characters, or be large enough for a separate record.
    pub fn content(&mut self) -> String {
        match self.random.below(if self.tiny { 4 } else { 8 }) {
            0 => String::new(),
            1..=5 => format!("{}\n{}", self.text(200), self.text(200)),
            6 => self.text(8).repeat(1024),
            _ => "\u{0}\t\u{1b}[0m\r\n".to_owned(),
        }
    }

    /// Makes an object.
    pub fn new_object(&mut self) -> NewObject {
        let mut new = NewObject::new(self.id(), self.kind());
        new.scope = self.scope();
        new.parent = self
            .random
            .one_in(2)
            .then(|| self.id())
            .filter(|parent| *parent != new.id);
        new.position = self.random.one_in(2).then(|| self.position());
        new.attributes = self.attributes();
        new.content = self.random.one_in(2).then(|| self.content());
        if self.random.one_in(4) {
            new.derived_from = (0..self.random.below(4))
                .map(|_| ObjectDigest::from_bytes(self.random.digest()))
                .collect();
            new.derived_from.sort_unstable();
        }
        new.event_time = self.random.one_in(4).then(|| self.time());
        new.expires = self.random.one_in(4).then(|| self.time());
        new.reserved = self.reserved();
        new
    }

    /// Makes an origin.
    pub fn origin(&mut self) -> Origin {
        *self.random.pick(&Origin::ALL)
    }

    /// Makes a time from the whole range of times.
    pub fn time(&mut self) -> Time {
        Time::from_micros(self.random.next_u64().cast_signed())
    }

    /// Makes a commit that obeys every rule; its digests are random.
    pub fn commit(&mut self) -> Commit {
        let parents = self.random.below(3);
        Commit {
            parents: (0..parents)
                .map(|_| CommitDigest::from_bytes(self.random.digest()))
                .collect(),
            root: Root::from_bytes(self.random.digest()),
            seq: if parents == 0 {
                0
            } else {
                1 + self.random.below(1 << 40) as u64
            },
            history_root: HistoryRoot::from_bytes(self.random.digest()),
            time: self.time(),
            op: Op::new(self.random.pick::<&str>(&["put", "rollback", "a", "______"]))
                .expect("these are valid names"),
            target: self
                .random
                .one_in(3)
                .then(|| CommitDigest::from_bytes(self.random.digest())),
            actor: self.random.one_in(2).then(|| self.text(256)),
            session: self.random.one_in(2).then(|| self.text(256)),
            source: self
                .random
                .one_in(3)
                .then(|| TextDigest::from_bytes(self.random.digest())),
            trust: self.origin(),
            reason: self
                .random
                .one_in(3)
                .then(|| TextDigest::from_bytes(self.random.digest())),
            reserved: self.reserved(),
        }
    }

    /// Makes a reference that obeys every rule; its digests are random.
    pub fn reference(&mut self) -> Reference {
        let class = *self.random.pick(&ReferenceClass::ALL);
        let name = ReferenceName::of(class, &self.text(200)).expect("generated texts are valid names");
        let commit = self
            .random
            .one_in(2)
            .then(|| CommitDigest::from_bytes(self.random.digest()));
        let mut reference = Reference::new(name, commit, self.time());
        reference.actor = self.random.one_in(2).then(|| self.text(256));
        reference.session = self.random.one_in(2).then(|| self.text(256));
        reference.reason = self
            .random
            .one_in(3)
            .then(|| TextDigest::from_bytes(self.random.digest()));
        reference.reserved = self.reserved();
        if commit.is_some() && matches!(class, ReferenceClass::Drafts | ReferenceClass::Rejected) {
            reference.root = Some(Root::from_bytes(self.random.digest()));
            let changes: BTreeMap<_, _> = (0..self.random.below(4))
                .map(|_| (self.random.digest(), self.random.digest()))
                .collect();
            reference.changes = changes
                .into_iter()
                .map(|(key, digest)| StagedChange {
                    key: KeyPath::from_bytes(key),
                    digest: (digest[0] > 80).then(|| ObjectDigest::from_bytes(digest)),
                })
                .collect();
        }
        if class == ReferenceClass::Heads {
            reference.base = Some(CommitDigest::from_bytes(self.random.digest()));
            reference.cap = Some(*self.random.pick(&Origin::ALL));
        }
        if commit.is_some() && class == ReferenceClass::Snapshots {
            reference.lane = self.random.one_in(2).then(|| self.text(256));
        }
        reference
    }

    fn reserved(&mut self) -> BTreeMap<u16, Vec<u8>> {
        let fields = if self.random.one_in(6) {
            self.random.below(3)
        } else {
            0
        };
        (0..fields)
            .map(|_| {
                let tag = 0x8000 | self.random.next_u64() as u16;
                let count = self.random.below(9);
                (tag, self.random.bytes(count))
            })
            .collect()
    }
}

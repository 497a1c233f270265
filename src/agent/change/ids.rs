//! Generates ids for items without an id.
//!
//! An id is `KIND/UUID` in the scope `global` and `NAME/KIND/UUID` in any other scope. NAME is the scope without its
//! class: `tea/fact/0198...` for `project:tea`. The UUID has version 7, from the time and random bits, or version 8,
//! from an idempotency key (RFC 9562). The same key always produces the same id.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - GID-1: the ids of one generator in a scope and kind sort in the order of their creation.

use unicode_normalization::UnicodeNormalization;

use crate::digest::keyed;
use crate::engine::Memory;
use crate::error::Result;
use crate::object::{Id, Kind, Scope, Time};

/// The length of a UUID as text, in bytes.
const UUID_BYTES: usize = 36;
/// The number of ids for which random bytes are read at once. Linux returns up to 256 bytes in one uninterrupted call.
const RANDOM_IDS: usize = 32;
/// The maximum number of bytes of a kind in an id. The name of the scope can use all other bytes.
const KIND_BYTES_MAX: usize = 64;

/// Generates ids with increasing times. The type is not `Clone`, so two generators never share random bytes.
pub(in crate::agent) struct IdGenerator {
    next: Time,
    /// The random bytes that no id has used yet.
    random: Vec<[u8; 8]>,
}

impl IdGenerator {
    /// Creates a generator whose first id has the time `now`.
    pub(in crate::agent) fn since(now: Time) -> Self {
        let random = Vec::new();
        Self { next: now, random }
    }

    /// Returns a new id. The time in the id is one microsecond after the time in the previous id (GID-1).
    ///
    /// # Errors
    /// `Io`: the system provides no random bytes.
    pub(in crate::agent) fn new_id(&mut self, memory: &Memory, scope: &Scope, kind: &Kind) -> Result<Id> {
        if self.random.is_empty() {
            let mut random = [[0; 8]; RANDOM_IDS];
            memory.random(random.as_flattened_mut())?;
            self.random.extend(random);
        }
        let random = self.random.pop().expect("the random bytes were just read");
        let micros = self.next.as_micros().max(0).unsigned_abs();
        self.next = self.next.plus_micros(1);
        // The microseconds within the millisecond, scaled to 12 bits: a microsecond is about four steps.
        let part = micros % 1_000 * 4_096 / 1_000;
        let uuid = u128::from(micros / 1_000) << 80
            | u128::from(part) << 64
            | u128::from(u64::from_le_bytes(random));
        qualified(scope, kind, &text_of(uuid, 7))
    }
}

/// Returns the id that is derived from an idempotency key and the secret of the store.
///
/// # Errors
/// `InvalidInput`: the kind is not valid in an id.
pub(in crate::agent) fn of_key(secret: &[u8; 32], scope: &Scope, kind: &Kind, key: &str) -> Result<Id> {
    let length = (scope.as_str().len() as u64).to_le_bytes();
    let digest = keyed(
        secret,
        &[&length, scope.as_str().as_bytes(), key.as_bytes()].concat(),
    );
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    qualified(scope, kind, &text_of(u128::from_le_bytes(bytes), 8))
}

/// Sets the version and the variant of a UUID, and returns the UUID as text.
fn text_of(uuid: u128, version: u128) -> String {
    let uuid = uuid & !(0xf << 76 | 0x3 << 62) | version << 76 | 0x2 << 62;
    let hex = format!("{uuid:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    parts.join("-")
}

fn qualified(scope: &Scope, kind: &Kind, uuid: &str) -> Result<Id> {
    let kind = shortened(kind.as_str(), KIND_BYTES_MAX);
    if scope.as_str() == Scope::GLOBAL {
        return Id::new(&format!("{kind}/{uuid}"));
    }
    let name = scope.as_str();
    let name = name
        .split_once(':')
        .map_or(name, |(_, name)| name)
        .trim_matches('/');
    let name = shortened(name, Id::RULE.bytes_max - UUID_BYTES - kind.len() - 2);
    let name = if name.is_empty() { "scope".to_owned() } else { name };
    Id::new(&format!("{name}/{kind}/{uuid}"))
}

/// Returns a text in composed Unicode, cut between characters to at most `bytes_max` bytes.
fn shortened(text: &str, bytes_max: usize) -> String {
    let mut text: String = text.nfc().collect();
    let end = (0..=bytes_max.min(text.len()))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or(0));
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn memory() -> Memory {
        Memory::in_memory().unwrap()
    }

    fn scope(text: &str) -> Scope {
        Scope::new(text).unwrap()
    }

    fn kind(text: &str) -> Kind {
        Kind::new(text).unwrap()
    }

    /// INVARIANT GID-1: ids sort in the order of their creation.
    #[test]
    fn ids_of_one_maker_sort_as_they_were_made() {
        let mut ids = IdGenerator::since(Time::from_micros(1_795_000_000_123_456));
        let memory = memory();
        let made: Vec<Id> = (0..5_000)
            .map(|_| ids.new_id(&memory, &Scope::default(), &kind("fact")).unwrap())
            .collect();
        assert!(made.is_sorted_by(|one, next| one < next));
        let random_parts: BTreeSet<&str> = made
            .iter()
            .map(|id| &id.as_str()[id.as_str().len() - 16..])
            .collect();
        assert_eq!(random_parts.len(), made.len(), "two ids share their random bits");
    }

    #[test]
    fn an_id_names_its_scope_its_kind_and_a_uuid_of_the_time() {
        let mut ids = IdGenerator::since(Time::from_micros(0x0198_0000_0001 * 1_000 + 500));
        let id = ids
            .new_id(&memory(), &scope("project:tea"), &kind("fact"))
            .unwrap();
        let uuid = id.as_str().strip_prefix("tea/fact/01980000-0001-7800-").unwrap();
        assert_eq!(uuid.len(), 17);
        assert!("89ab".contains(&uuid[..1]), "{uuid}");
        let id = ids.new_id(&memory(), &Scope::default(), &kind("note")).unwrap();
        assert!(id.as_str().starts_with("note/0198"), "{id}");
        // A UUID of version 7 cannot contain a time before 1970. With a clock before 1970, the generator still
        // makes valid ids.
        let early =
            IdGenerator::since(Time::from_micros(-1)).new_id(&memory(), &Scope::default(), &kind("note"));
        assert!(early.unwrap().as_str().starts_with("note/00000000-0000-7"));
    }

    #[test]
    fn a_key_gives_the_same_id_in_its_scope_only() {
        let of =
            |scope_text: &str, key: &str| of_key(&[7; 32], &scope(scope_text), &kind("fact"), key).unwrap();
        assert_eq!(of("global", "k"), of("global", "k"));
        assert_ne!(of("global", "k"), of("global", "l"));
        let name = |id: Id| id.as_str().rsplit_once('/').unwrap().1.to_owned();
        assert_ne!(name(of("project:a", "k")), name(of("project:b", "k")));
        assert_ne!(name(of("ab", "c")), name(of("a", "bc")));
        assert_eq!(&name(of("global", "k"))[14..15], "8");
    }

    #[test]
    fn long_and_odd_names_still_make_ids() {
        for scope_text in [
            "\u{1f375}".repeat(32),
            "\u{0958}".repeat(42),
            ":".to_owned(),
            "a/".to_owned(),
        ] {
            let scope = Scope::new(&scope_text).unwrap();
            let odd = kind(&"\u{0958}".repeat(21));
            let id = IdGenerator::since(Time::from_micros(1))
                .new_id(&memory(), &scope, &odd)
                .unwrap();
            assert!(id.as_str().len() <= Id::RULE.bytes_max);
        }
    }
}

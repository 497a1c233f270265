//! The targets of an erasure, and a fast lookup of the targets that match a record.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - TGT-1: the time for each record does not grow with the number of targets.

use std::collections::{BTreeSet, HashMap};

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, KeyPath, to_hex};
use crate::engine::write::conflict_id;
use crate::error::{Error, Result};
use crate::store::Erased;

use super::Erasing;

type Digest = [u8; DIGEST_LEN];

/// The permitted number of digits in a target that is a digest.
const DIGITS: std::ops::RangeInclusive<usize> = 8..=2 * DIGEST_LEN;

#[cfg(test)]
thread_local! {
    /// The number of look-ups of this thread.
    static LOOK_UPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts a look-up, for the test of the cost.
fn count_look_up() {
    #[cfg(test)]
    LOOK_UPS.with(|count| count.set(count.get() + 1));
}

/// A target as the caller wrote it, with the id and digests that it matches.
#[derive(Default)]
pub(super) struct Target {
    pub(super) text: String,
    pub(super) is_id: bool,
    pub(super) digests: BTreeSet<Digest>,
    /// The commit that already erased the version with this digest, or a version of this id.
    pub(super) erased_by: Option<CommitDigest>,
}

/// All targets, without duplicates.
pub(super) struct Targets {
    suite: HashSuite,
    pub(super) all: Vec<Target>,
    by_key: HashMap<KeyPath, usize>,
    /// The index of each target that may be the digits of a digest, by the target's text in lower case.
    by_digits: HashMap<String, usize>,
    /// The lengths of the targets in `by_digits`.
    lengths: BTreeSet<usize>,
}

impl Targets {
    /// Returns the targets of `erasing`.
    ///
    /// # Errors
    /// `InvalidInput` if there is no target.
    pub(super) fn of(erasing: &Erasing, suite: HashSuite) -> Result<Self> {
        if erasing.targets.is_empty() {
            return Err(Error::invalid("name at least one id or digest to erase"));
        }
        let mut targets = Self {
            suite,
            all: Vec::new(),
            by_key: HashMap::new(),
            by_digits: HashMap::new(),
            lengths: BTreeSet::new(),
        };
        for text in &erasing.targets {
            let number = targets.all.len();
            let key = suite.key_path(text);
            if *targets.by_key.entry(key).or_insert(number) != number {
                continue;
            }
            // An open conflict names the attributes in which the versions of the object differ.
            let conflict = suite.key_path(conflict_id(&key)?.as_str());
            targets.by_key.entry(conflict).or_insert(number);
            if DIGITS.contains(&text.len()) {
                targets.by_digits.insert(text.to_ascii_lowercase(), number);
                targets.lengths.insert(text.len());
            }
            targets.all.push(Target {
                text: text.clone(),
                ..Target::default()
            });
        }
        Ok(targets)
    }

    /// Records that the log contains a record with this digest and, for an object, this id. Returns whether a target
    /// matches the record.
    pub(super) fn note(&mut self, digest: &Digest, id: Option<&str>) -> bool {
        let mut is_wanted = false;
        for number in self.fitting(digest) {
            self.all[number].digests.insert(*digest);
            is_wanted = true;
        }
        let key = id.map(|id| self.suite.key_path(id));
        if let Some(number) = key.and_then(|key| self.by_key.get(&key)) {
            self.all[*number].is_id = true;
            is_wanted = true;
        }
        is_wanted
    }

    /// Records the marker of an erased record. For a target that is an id, the marker matters only if no version of the
    /// id is left. The marker of an erasure takes precedence over the marker of a lost record. Returns whether the record
    /// was a version of a target.
    pub(super) fn note_erased(&mut self, erased: &Erased) -> bool {
        let of_id = erased.key.and_then(|key| self.by_key.get(&key).copied());
        for number in self.fitting(&erased.digest).into_iter().chain(of_id) {
            let known = &mut self.all[number].erased_by;
            if known.is_none() || !erased.is_lost() {
                *known = Some(erased.by);
            }
        }
        of_id.is_some()
    }

    /// Returns the indexes of the targets that are prefixes of this digest.
    fn fitting(&self, digest: &Digest) -> Vec<usize> {
        let hex = to_hex(digest);
        // TGT-1: one look-up for each length, of which there are at most 57.
        let digits = self.lengths.iter().map(|length| &hex[..*length]);
        digits
            .inspect(|_| count_look_up())
            .filter_map(|digits| self.by_digits.get(digits).copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::HashAlgorithm;

    fn targets(texts: &[&str]) -> Targets {
        let targets = texts.iter().map(|text| (*text).to_owned()).collect();
        let erasing = Erasing {
            targets,
            ..Erasing::default()
        };
        Targets::of(&erasing, HashSuite::new(HashAlgorithm::Blake3)).unwrap()
    }

    /// INVARIANT TGT-1: a record costs at most a look-up for each length, however many targets there are.
    #[test]
    fn tgt_1_many_targets_take_no_more_look_ups_for_a_record() {
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        let text = |number: usize| {
            let digits = suite.key_path(&number.to_string());
            to_hex(digits.as_bytes())[..DIGITS.start() + number % 57].to_owned()
        };
        let texts: Vec<_> = (0..20_000).map(text).collect();
        let wanted = targets(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for number in 0..20_000 {
            let digest = suite.key_path(&number.to_string());
            let before = LOOK_UPS.get();
            assert_eq!(wanted.fitting(digest.as_bytes()).len(), 1, "{number}");
            assert!(LOOK_UPS.get() - before <= 57, "{number}");
        }
    }

    /// The lookup finds the same targets as a comparison with each target.
    #[test]
    fn a_digest_fits_the_targets_that_are_its_first_digits() {
        let digest: Digest = std::array::from_fn(|at| (at * 37 + 11) as u8);
        let hex = to_hex(&digest);
        let upper = hex[..12].to_ascii_uppercase();
        let mut other = hex.clone().into_bytes();
        other[8] = if other[8] == b'0' { b'1' } else { b'0' };
        let other = String::from_utf8(other).unwrap();
        for digits in 1..=64 {
            let mut wanted = targets(&[&hex[..digits]]);
            assert_eq!(wanted.note(&digest, None), digits >= 8, "{digits}");
            let mut wanted = targets(&[&other[..digits]]);
            assert_eq!(wanted.note(&digest, None), digits == 8, "{digits}");
        }
        let mut wanted = targets(&["tea", &upper, &hex[..9], &hex, "tea", &other]);
        assert!(wanted.note(&digest, Some("tea")));
        let found: Vec<_> = wanted
            .all
            .iter()
            .map(|one| (one.is_id, one.digests.len()))
            .collect();
        assert_eq!(found, [(true, 0), (false, 1), (false, 1), (false, 1), (false, 0)]);
        assert!(!targets(&["tea"]).note(&digest, Some("coffee")));
    }
}

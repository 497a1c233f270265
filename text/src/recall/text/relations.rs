//! The lexicon, by stems: related terms and their weights.
//!
//! # Layer
//! Uses the word lists and the stemmer.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::lists::{KINDS, SYNONYMS, lines, named};
use super::terms::term_of;

/// The weight of a kind as a term related to one of its members.
const KIND_FOR_MEMBER: f32 = 0.5;

/// The terms related to each term, in order, with their weights.
pub(crate) type Relations = HashMap<String, BTreeMap<String, f32>>;

/// The relations of the lexicon.
pub(crate) static LEXICON: LazyLock<Relations> = LazyLock::new(|| relations(&[SYNONYMS]));

/// Builds the relations between the synonyms of these lists, and between kinds and their members.
pub(crate) fn relations(synonyms: &[&str]) -> Relations {
    let mut relations = Relations::new();
    let mut add = |from: &str, to: &str, weight: f32| {
        if from != to {
            let related = relations.entry(from.to_owned()).or_default();
            let best = related.entry(to.to_owned()).or_insert(0.0);
            *best = best.max(weight);
        }
    };
    // A stem takes longer than all else, so each word is stemmed once.
    for (kind, members) in named(KINDS) {
        let kind = term_of(kind);
        for member in members.map(term_of) {
            add(&kind, &member, 1.0);
            add(&member, &kind, KIND_FOR_MEMBER);
        }
    }
    for line in synonyms.iter().copied().flat_map(lines) {
        let mut words = line.split_whitespace().map(term_of);
        if let Some(first) = words.next() {
            for word in words {
                add(&first, &word, 1.0);
                add(&word, &first, 1.0);
            }
        }
    }
    relations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_synonyms_reach_each_other_by_their_weights() {
        let weight = |from: &str, to: &str| LEXICON.get(from).and_then(|to_s| to_s.get(to)).copied();
        assert_eq!(weight("pet", "dog"), Some(1.0));
        assert_eq!(weight("dog", "pet"), Some(0.5));
        assert_eq!(weight("photo", "pictur"), Some(1.0));
        assert_eq!(weight("photo", "tree"), None);
        for (term, related) in LEXICON.iter() {
            assert!(!related.contains_key(term), "{term} is related to itself");
        }
    }
}

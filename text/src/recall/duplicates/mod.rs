//! Compares two short texts: same meaning, contradiction, or neither.
//!
//! Three gates reject a pair first: a negation in one text, opposite directions, and opposite words. Two statements that
//! give different values to one attribute are rejected too. A rejected pair is no duplicate, however similar its texts
//! are otherwise. It is a conflict if only one place differs and nothing explains the difference. The other pairs get a
//! score from shared and related words, numbers, the last word, and character n-grams. Texts with other details, such as
//! the order of the words or an operator, are similar at most. No statistics of a store are needed. A model of meaning
//! may have a part in the score; gates and details stand above it.
//!
//! # Layer
//! Above `recall::text` and, for the nearest documents, `recall::query`.
//!
//! # Invariants
//! - DUP-1: a pair that a gate rejects is never a duplicate, whatever a model says.
//! - DUP-2: texts that differ in a detail are never the same statement.

mod contradiction;
mod details;
mod meaning;
mod values;
mod words;

use std::sync::LazyLock;

use crate::recall::index::{Index, Key};
use crate::recall::query::Scratch;
use crate::recall::text::lists::{CAPTION_SYNONYMS, SYNONYMS};
use crate::recall::text::relations::{Relations, relations};
pub use contradiction::Contradiction;
use contradiction::are_opposites;
pub use details::differ_in_indentation;
pub use meaning::{ByMeaning, TextMeaning};
use meaning::{Meant, of_both};
use words::{Grams, Words, dice, grams, is_number};

/// The smallest similarity that is reported as a duplicate.
const REPORT: f32 = 0.37;
/// The smallest similarity at which two texts are merged without asking: nine in ten such pairs have the same meaning.
pub const MERGE: f32 = 0.79;
/// The number of hits that are compared with a new text.
const NEAREST: usize = 8;

/// The maximal number of words of each text that are paired with words of the other text.
const PAIRED_MAX: usize = 64;

/// The weight of a pair of words that are related or have the same beginning. A pair of equal words has the weight 1.
const RELATED: f32 = 0.8;
/// The share of common n-grams below which two words are different.
const CHARACTERS_MIN: f32 = 0.55;

static RELATIONS: LazyLock<Relations> = LazyLock::new(|| relations(&[SYNONYMS, CAPTION_SYNONYMS]));

/// The comparison of two texts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Similarity {
    /// The similarity of the two texts, from 0 to 1, regardless of the gates.
    pub likeness: f32,
    /// Whether the texts are very similar, but differ in a detail (DUP-2).
    pub differs: bool,
    /// The gate that rejected the pair.
    pub contradiction: Option<Contradiction>,
    /// Whether the texts contradict each other, because nothing explains their difference.
    pub is_conflict: bool,
}

/// The decision about a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// Two different statements.
    Different,
    /// Most likely the same statement.
    Duplicate,
    /// The same statement, with enough certainty for a merge.
    Same,
    /// Contradicting statements about the same topic.
    Conflict(Contradiction),
}

impl Similarity {
    /// Returns the decision about the pair.
    pub fn relation(self) -> Relation {
        match self.contradiction {
            Some(contradiction) if self.is_conflict => Relation::Conflict(contradiction),
            None if self.likeness >= MERGE && !self.differs => Relation::Same,
            None if self.likeness >= REPORT => Relation::Duplicate,
            _ => Relation::Different,
        }
    }
}

/// Compares two texts by their words.
pub fn similarity(one: &str, two: &str) -> Similarity {
    compare(&Words::new(one), &Words::new(two), |_| None)
}

/// Compares two texts by their words and the cosine of their vectors.
pub fn similarity_with(one: &str, two: &str, cosine: f32) -> Similarity {
    compare(&Words::new(one), &Words::new(two), |_| Some(cosine))
}

/// Compares two texts by their words, and by their meaning if `cosine`, which gets the similarity of the words, returns
/// some.
fn compare(one: &Words, two: &Words, cosine: impl FnOnce(f32) -> Option<f32>) -> Similarity {
    let own = |words: &Words, other: &Words| -> Vec<String> {
        let own = words.terms.iter().filter(|term| !other.terms.contains(term));
        own.cloned().collect()
    };
    let (only_one, only_two) = (own(one, two), own(two, one));
    let common = one.terms.len() - only_one.len();
    let (pairs, sum) = pair_up(&only_one, &only_two);
    let cover = (common as f32 + sum) / one.terms.len().max(two.terms.len()).max(1) as f32;
    let numbers = |terms: &[String]| terms.iter().any(|term| is_number(term));
    let flag = |is: bool| f32::from(u8::from(is));
    let weight = -2.7 + 3.2 * cover - 1.2 * flag(only_one.len().min(only_two.len()) > pairs)
        + 2.0 * common.min(15) as f32 / 15.0
        - 0.7 * flag(numbers(&only_one) && numbers(&only_two))
        + 0.6 * flag(one.last == two.last)
        + 2.1 * dice(&one.grams, &two.grams)
        - 0.8 * flag(one.goes_away() != two.goes_away() && only_one.len() + only_two.len() <= 2);
    let gate = contradiction(one, two, &only_one, &only_two);
    let found = one.statement.contradicts(&two.statement);
    let contradiction = match found {
        Some(Contradiction::Value) | None => found.or(gate),
        Some(_) => gate.or(found),
    };
    let logistic = |weight: f32| 1.0 / (1.0 + (-weight).exp());
    let mut likeness = logistic(weight);
    if contradiction.is_none()
        && let Some(cosine) = cosine(likeness)
    {
        likeness = logistic(of_both(weight, cosine));
    }
    Similarity {
        likeness,
        differs: likeness >= MERGE && one.details.differ(&two.details),
        contradiction,
        is_conflict: found.is_some(),
    }
}

fn contradiction(
    one: &Words,
    two: &Words,
    only_one: &[String],
    only_two: &[String],
) -> Option<Contradiction> {
    if one.is_negated() != two.is_negated() {
        return Some(Contradiction::Negation);
    }
    if one.goes_against(two) {
        return Some(Contradiction::Direction);
    }
    let opposite = only_one
        .iter()
        .any(|of_one| only_two.iter().any(|of_two| are_opposites(of_one, of_two)));
    opposite.then_some(Contradiction::Opposite)
}

/// Pairs the related words of two texts; each word is used once. Returns the number of pairs, and the sum of their
/// similarities.
fn pair_up(only_one: &[String], only_two: &[String]) -> (usize, f32) {
    let front = |terms: &[String]| -> Vec<(String, Grams)> {
        let front = terms.iter().take(PAIRED_MAX);
        front
            .map(|term| (term.clone(), grams(&format!("^{term}$"), 3)))
            .collect()
    };
    let (front_one, front_two) = (front(only_one), front(only_two));
    let mut used = vec![false; front_two.len()];
    let (mut pairs, mut sum) = (0, 0.0);
    for of_one in &front_one {
        let (mut best, mut place) = (0.0, None);
        for (at, of_two) in front_two.iter().enumerate() {
            let near = if used[at] { 0.0 } else { nearness(of_one, of_two) };
            if near > best {
                (best, place) = (near, Some(at));
            }
        }
        if let Some(at) = place {
            used[at] = true;
            sum += best;
            pairs += 1;
        }
    }
    (pairs, sum)
}

/// Returns the similarity of two different terms.
fn nearness((one, grams_one): &(String, Grams), (two, grams_two): &(String, Grams)) -> f32 {
    if is_number(one) || is_number(two) {
        return 0.0;
    }
    let relation = |from: &str, to: &str| RELATIONS.get(from).and_then(|related| related.get(to)).copied();
    if let Some(weight) = relation(one, two).or_else(|| relation(two, one)) {
        return RELATED * weight;
    }
    let front = one.chars().zip(two.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(two.chars().count());
    if front >= 4 && front * 10 >= longer * 6 {
        return RELATED;
    }
    let likeness = dice(grams_one, grams_two);
    if likeness > CHARACTERS_MIN { likeness } else { 0.0 }
}

/// A document near a new text.
#[derive(Clone, Debug)]
pub struct Near {
    /// The key of the document.
    pub key: Key,
    /// The comparison of the document with the text.
    pub similarity: Similarity,
    /// The decision about the pair.
    pub relation: Relation,
}

/// A function that compares a text with a new text.
pub type Compare<'a> = &'a dyn Fn(&str) -> Similarity;
/// A function that compares a document with a new text, and decides about the pair. `None` skips the document.
pub(crate) type Relate<'a> = &'a mut dyn FnMut(&Key, Compare<'_>) -> Option<(Similarity, Relation)>;

impl Index {
    /// Returns the duplicates and contradictions of `text` among the documents of `scopes`, the most similar first.
    ///
    /// `text_of` returns the text of a document; a document without a text is skipped. `except` is the document that is
    /// being written, and is also skipped.
    pub fn near<'t>(
        &self,
        text: &str,
        scopes: Option<&[&str]>,
        except: Option<&Key>,
        scratch: &mut Scratch,
        mut text_of: impl FnMut(&Key) -> Option<std::borrow::Cow<'t, str>>,
    ) -> Vec<Near> {
        let filter = |key: &Key| except != Some(key);
        let mut compared = |key: &Key, compare: Compare<'_>| {
            let similarity = compare(&text_of(key)?);
            Some((similarity, similarity.relation()))
        };
        self.compared(text, scopes, &filter, None, scratch, &mut compared)
    }

    /// Returns the documents of `scopes` that `filter` accepts and that are related to `text`, the most similar first.
    ///
    /// `relate` gets the key of each candidate: at most eight by words, and five more by meaning if the model is asked.
    pub fn compared(
        &self,
        text: &str,
        scopes: Option<&[&str]>,
        filter: &dyn Fn(&Key) -> bool,
        by_meaning: Option<ByMeaning<'_>>,
        scratch: &mut Scratch,
        relate: Relate<'_>,
    ) -> Vec<Near> {
        let new = Words::new(text);
        let meant = Meant::new(by_meaning, self, text, scopes);
        let compare = |old: &str| compare(&new, &Words::new(old), |by_words| meant.cosine(old, by_words));
        let mut near = Vec::new();
        let mut compared = |key| {
            let Some((similarity, relation)) = relate(&key, &compare) else {
                return false;
            };
            if relation != Relation::Different {
                near.push(Near {
                    key,
                    similarity,
                    relation,
                });
            }
            true
        };
        let by_words = self.nearest(text, scopes, filter, NEAREST, scratch);
        for &key in &by_words {
            compared(key);
        }
        meant.for_each_nearest(filter, |key| !by_words.contains(&key) && compared(key));
        near.sort_by(|one, two| two.similarity.likeness.total_cmp(&one.similarity.likeness));
        near
    }
}

#[cfg(test)]
mod tests;

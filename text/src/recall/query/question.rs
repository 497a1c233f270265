//! A parsed question: its terms with weights, the speakers that it names, dates, and the kinds of answer.
//!
//! # Layer
//! Uses the names and the postings of the index, but computes no score.
//!
//! # Invariants
//! - QST-1: a question has at most `TERMS_MAX` terms, for any length of its text: those that are rarest in the admitted
//!   documents.
//! - QST-2: a word of the question is stemmed in every language of the admitted documents that has its script.
//! - QST-3: a word that names a speaker is a term, too, of little weight.
//! - QST-4: a question of stop words only asks for their pairs, and for those that texts write with capital letters.

use std::collections::HashMap;

use super::dates::{Asked, dates};
use super::forms::{collect, languages_in};
use super::phrases::{Asks, asks, pieces};
use super::scope::Admission;
use crate::recall::index::Index;
use crate::recall::text::asking::{Form, form_of};
use crate::recall::text::calendar::day_at;
use crate::recall::text::language::{Language, Languages, languages_of_word};
use crate::recall::text::marks::Marker;
use crate::recall::text::runs::{Run, RunKind, Runs};
use crate::recall::text::stem::stem_in;
use crate::recall::text::terms::{Side, facts_of, for_each_sign, is_frame, word_of};
use crate::recall::text::variants::{common, for_each_variant, is_acronym, month_term, parts};

/// The maximal number of terms of a question.
pub(crate) const TERMS_MAX: usize = 64;
/// The weight of a word that only frames the question, such as "mention", or names a speaker.
const FRAME_WEIGHT: f32 = 0.2;
/// The weight of the less certain reading of a word: its parts if a text contains the whole word, else the whole word.
const OTHER_READING: f32 = 0.3;

/// One term of a question.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Term {
    /// The forms of the term: one for each language of the documents, without repeats. There is at least one.
    pub(crate) forms: Vec<String>,
    pub(crate) weight: f32,
}

/// A parsed question.
#[derive(Clone, Default, Debug)]
pub(crate) struct Question {
    pub(crate) terms: Vec<Term>,
    /// The numbers of the speakers that the question names, in order.
    pub(crate) who: Vec<u32>,
    pub(crate) dates: Vec<Asked>,
    pub(crate) asks: Asks,
    /// What the text does: whether it asks, and how.
    pub(crate) form: Form,
    /// The text without names, for the embedder, because names move its vector towards greetings.
    pub(crate) nameless: String,
}

impl Question {
    /// Parses `text`, and finds the names of the admitted scopes in the text. Days such as "yesterday" are relative to
    /// `now`.
    pub(crate) fn read(index: &Index, admission: &Admission<'_>, text: &str, now: Option<i64>) -> Self {
        let mut question = Self::default();
        // If the question contains capital letters, a name must begin with a capital letter.
        let capitals = text.chars().skip(1).any(char::is_uppercase);
        let is_shouted = !text.contains(char::is_lowercase);
        let (own, others) = (Languages::of(text), languages_in(index, admission));
        let pieces = pieces(text);
        question.asks = asks(&pieces);
        question.form = form_of(text);
        let mut asked = Terms {
            is_about_said: question.asks.said,
            ..Terms::default()
        };
        // Whether each word is a name. A word may be in the names of very many speakers, and in a question very often.
        let mut names: HashMap<String, bool> = HashMap::new();
        let mut word = String::new();
        let mut copied = 0;
        let runs: Vec<Run<'_>> = Runs::new(text).collect();
        let variants = variants_of(text, &runs);
        for (run, variants) in runs.iter().zip(variants) {
            if run.kind != RunKind::Word {
                for_each_sign(*run, Side::Query, |sign| asked.add(vec![sign.to_owned()]));
                continue;
            }
            word_of(run.text, &mut word);
            if word.is_empty() {
                continue;
            }
            let mut forms = forms(run.text, &word, own, &others);
            if !capitals || run.text.starts_with(char::is_uppercase) {
                let is_name = *names.entry(word.clone()).or_insert_with(|| {
                    let meant = index.people.meant(&word, |scope| admission.has_scope(scope));
                    question.who.extend(&meant);
                    !meant.is_empty()
                });
                if is_name {
                    question.nameless.push_str(&text[copied..run.start]);
                    copied = run.start + run.text.len();
                    // INVARIANT QST-3: otherwise a speaker named "Oslo office" would hide the text about the office.
                    asked.add_weighted(forms, FRAME_WEIGHT);
                    continue;
                }
            }
            if forms.is_empty() && variants.same.is_none() {
                if !is_shouted && is_acronym(run.text) {
                    asked.add(vec![common(&[run.text])]);
                }
                continue;
            }
            forms.extend(variants.same);
            let parts = forms_of_parts(run.text, own, &others);
            asked.add_read(forms, parts, variants.whole, (index, admission));
        }
        // INVARIANT QST-4: the index has no stop words, but their pairs.
        if asked.all.is_empty() {
            asked.add_common(&runs);
        }
        question.terms = asked.rarest(index, admission);
        question.nameless.push_str(&text[copied..]);
        question.who.sort_unstable();
        question.who.dedup();
        question.dates = dates(&pieces);
        if let Some(now) = now {
            question.dates.extend(relative(text, now));
        }
        question
    }

    /// Checks whether the question names a speaker, and every other word only frames it.
    pub(crate) fn only_names(&self) -> bool {
        !self.who.is_empty() && self.terms.iter().all(|term| term.weight <= FRAME_WEIGHT)
    }
}

/// Returns the forms of a word in the languages of the documents. `own` has the languages of the question. The stop
/// words of an English question have none.
fn forms(raw: &str, folded: &str, own: Languages, others: &[Language]) -> Vec<String> {
    let facts = facts_of(folded);
    if facts.stop && own.latin == Language::English {
        return Vec::new();
    }
    let (mut forms, mut term) = (Vec::new(), String::new());
    let languages = languages_of_word(raw, others);
    if languages.is_empty() {
        forms.push(facts.term(folded, &mut term).to_owned());
    }
    for language in languages {
        match language {
            Language::English if facts.stop => continue,
            Language::English => {
                facts.term(folded, &mut term);
            }
            language => stem_in(language, raw, &mut term),
        }
        if !forms.contains(&term) {
            forms.push(term.clone());
        }
    }
    forms
}

/// The other terms of a run of the question.
#[derive(Clone, Default)]
struct Variants {
    /// Another form of the run.
    same: Option<String>,
    /// The number that this run and the next ones write together.
    whole: Option<String>,
}

/// Returns the other terms of each run.
fn variants_of(text: &str, runs: &[Run<'_>]) -> Vec<Variants> {
    let mut variants = vec![Variants::default(); runs.len()];
    for_each_variant(text, |range, term| {
        let at = runs.partition_point(|run| run.start < range.start);
        let Some(variant) = variants.get_mut(at) else {
            return;
        };
        if runs[at].text.len() == range.len() {
            variant.same = Some(term.to_owned());
            return;
        }
        let inside = runs[at..].iter().take_while(|run| run.start < range.end).count();
        for variant in &mut variants[at..at + inside] {
            variant.whole = Some(term.to_owned());
        }
    });
    let is_number = |at: usize| {
        let run = runs.get(at);
        run.is_some_and(|run| run.text.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    let mut word = String::new();
    for (at, run) in runs.iter().enumerate() {
        // A name of a month beside a number is surely one.
        if is_number(at + 1) || at.checked_sub(1).is_some_and(is_number) {
            word_of(run.text, &mut word);
            variants[at].same = month_term(&word).map(str::to_owned).or(variants[at].same.take());
        }
    }
    variants
}

/// Returns the forms of each part of a word.
fn forms_of_parts(raw: &str, own: Languages, others: &[Language]) -> Vec<Vec<String>> {
    let mut word = String::new();
    let of_parts = parts(raw).into_iter().map(|part| {
        word_of(part, &mut word);
        forms(part, &word, own, others)
    });
    of_parts.filter(|forms| !forms.is_empty()).collect()
}

/// The terms of a question, each once, in the order of the text.
#[derive(Default)]
struct Terms {
    /// Whether the question asks what was said.
    is_about_said: bool,
    all: Vec<Term>,
    /// The index in `all` of each term, by its first form.
    known: HashMap<String, usize>,
}

impl Terms {
    fn add(&mut self, forms: Vec<String>) {
        let is_framing = forms
            .first()
            .is_some_and(|first| is_frame(first, self.is_about_said));
        self.add_weighted(forms, if is_framing { FRAME_WEIGHT } else { 1.0 });
    }

    /// Adds a word that may be read in two ways: as it stands, and in its `parts` or as a part of the number `whole`.
    fn add_read(
        &mut self,
        forms: Vec<String>,
        parts: Vec<Vec<String>>,
        whole: Option<String>,
        (index, admission): (&Index, &Admission<'_>),
    ) {
        let (joined, parts) = match whole {
            Some(whole) => (vec![whole], vec![forms]),
            None if parts.is_empty() => return self.add(forms),
            None => (forms, parts),
        };
        let mut found = Vec::new();
        collect(index, admission, &joined, &mut found);
        let (of_joined, of_parts) = if found.is_empty() {
            (OTHER_READING, 1.0)
        } else {
            (1.0, OTHER_READING)
        };
        self.add_weighted(joined, of_joined);
        for part in parts {
            self.add_weighted(part, of_parts);
        }
    }

    /// Adds the words of a question of stop words, and their pairs.
    fn add_common(&mut self, runs: &[Run<'_>]) {
        let words = runs.iter().map(|run| {
            let mut word = String::new();
            word_of(run.text, &mut word);
            word
        });
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        let of_one = if words.len() == 1 { 1.0 } else { FRAME_WEIGHT };
        for pair in words.windows(2) {
            self.add_weighted(vec![common(&[&pair[0], &pair[1]])], 1.0);
        }
        for word in &words {
            self.add_weighted(vec![common(&[word])], of_one);
        }
        for run in runs.iter().filter(|run| is_acronym(run.text)) {
            self.add(vec![common(&[run.text])]);
        }
    }

    fn add_weighted(&mut self, forms: Vec<String>, weight: f32) {
        let Some(first) = forms.first().filter(|first| !first.is_empty()) else {
            return;
        };
        let place = *self.known.entry(first.clone()).or_insert(self.all.len());
        match self.all.get_mut(place) {
            Some(known) => known.weight = known.weight.max(weight),
            None => self.all.push(Term { forms, weight }),
        }
    }

    /// Returns the terms, or the rarest of them if there are too many. Terms that no document contains come last.
    fn rarest(mut self, index: &Index, admission: &Admission<'_>) -> Vec<Term> {
        if self.all.len() > TERMS_MAX {
            let mut found = Vec::new();
            self.all.sort_by_cached_key(|term| {
                collect(index, admission, &term.forms, &mut found);
                (found.is_empty(), found.len())
            });
            self.all.truncate(TERMS_MAX);
        }
        self.all
    }
}

/// Returns the days that `text` mentions, counted from the time `now`.
fn relative(text: &str, now: i64) -> Vec<Asked> {
    let mut marker = Marker::new(text, day_at(now));
    let mut folded = String::new();
    for run in Runs::new(text).filter(|run| run.kind == RunKind::Word) {
        marker.push_word(run.start, run, &mut folded);
    }
    marker.spans.into_iter().map(Asked::Relative).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_inside_and_outside_of_a_name_counts_in_full() {
        let office = || vec!["office".to_owned()];
        let mut terms = Terms::default();
        terms.add_weighted(office(), FRAME_WEIGHT);
        terms.add(office());
        terms.add_weighted(office(), FRAME_WEIGHT);
        let weights: Vec<f32> = terms.all.iter().map(|term| term.weight).collect();
        assert_eq!(weights, [1.0]);
    }
}

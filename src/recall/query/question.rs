//! A parsed question: its terms with weights, the speakers that it names, dates, and the kinds of answer.
//!
//! # Layer
//! Uses the names in the index, but not its postings.
//!
//! # Invariants
//! - QST-1: a question has at most `TERMS_MAX` terms, for any length of its text.

use super::dates::{Asked, dates};
use super::phrases::{Asks, asks, pieces};
use super::scope::Admission;
use crate::recall::index::Index;
use crate::recall::text::calendar::day_at;
use crate::recall::text::marks::Marker;
use crate::recall::text::runs::{RunKind, Runs};
use crate::recall::text::terms::{Side, facts_of, for_each_sign, is_frame, term_of, word_of};

/// The maximal number of terms of a question. Later terms of a long text are ignored.
pub(crate) const TERMS_MAX: usize = 64;
/// The weight of a word that only frames the question, such as "mention".
const FRAME_WEIGHT: f32 = 0.2;

/// One term of a question.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Term {
    pub(crate) text: String,
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
        let mut word = String::new();
        let mut copied = 0;
        for run in Runs::new(text) {
            if run.kind != RunKind::Word {
                for_each_sign(run, Side::Query, |sign| question.ask_for(sign.to_owned()));
                continue;
            }
            word_of(run.text, &mut word);
            if word.is_empty() {
                continue;
            }
            if !capitals || run.text.starts_with(char::is_uppercase) {
                let meant = index.people.meant(&word, |scope| admission.has_scope(scope));
                if !meant.is_empty() {
                    question.who.extend(meant);
                    question.nameless.push_str(&text[copied..run.start]);
                    copied = run.start + run.text.len();
                    continue;
                }
            }
            if !facts_of(&word).stop {
                question.ask_for(term_of(&word));
            }
        }
        question.nameless.push_str(&text[copied..]);
        question.who.sort_unstable();
        question.who.dedup();
        let pieces = pieces(text);
        question.asks = asks(&pieces);
        question.dates = dates(&pieces);
        if let Some(now) = now {
            question.dates.extend(relative(text, now));
        }
        question
    }

    fn ask_for(&mut self, text: String) {
        if self.terms.len() < TERMS_MAX
            && !text.is_empty()
            && !self.terms.iter().any(|term| term.text == text)
        {
            let weight = if is_frame(&text) { FRAME_WEIGHT } else { 1.0 };
            self.terms.push(Term { text, weight });
        }
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

//! What a turn states of a question, apart from what it asks or repeats.
//!
//! "You asked: when do we ship? I will look it up." has all words of a question, and states nothing of it. So the words of
//! sentences that ask, and of the question itself where it is quoted, are not counted.
//!
//! # Layer
//! Uses the text of a turn and the terms of the question, but not the index.

use std::ops::Range;

use super::question::Question;
use super::snippet::matches;
use crate::recall::text::asking::{Form, asking_parts, without_lead};

/// The number of bytes of a turn that are read.
const READ_MAX: usize = 4 << 10;
/// The least number of words of a quote.
const QUOTE_WORDS_MIN: usize = 3;
/// The share of the words of the question that a quote has.
const QUOTE_SHARE: (usize, usize) = (7, 10);

/// Returns the share of the words of the question in `text` that the text states, from 0 to 1. Without such words, the
/// share is 1. `asked` is the whole question, and `rarities` has the weight of each of its terms.
pub(crate) fn stated_share(question: &Question, rarities: &[f32], asked: &str, text: &str) -> f32 {
    let text = &text[..text.floor_char_boundary(READ_MAX)];
    let mut asking = asking_parts(text);
    // A statement that a turn repeats is confirmed by it.
    if question.form != Form::States {
        asking.extend(quote(asked, text));
    }
    let terms = question.terms.iter().zip(rarities).enumerate();
    let forms = terms.flat_map(|(place, (term, rarity))| {
        let weight = term.weight * rarity;
        term.forms.iter().map(move |form| (place, weight, form.clone()))
    });
    let forms: Vec<(usize, f32, String)> = forms.collect();
    let all: Vec<String> = forms.iter().map(|(.., form)| form.clone()).collect();
    let mut weights = vec![(0.0f32, 0.0f32); question.terms.len()];
    for (form, found) in matches(text, &all) {
        let (place, weight, _) = &forms[form];
        let is_asked = asking.iter().any(|part| part.contains(&found.start));
        let (of_text, stated) = &mut weights[*place];
        *of_text = *weight;
        if !is_asked {
            *stated = *weight;
        }
    }
    let whole: f32 = weights.iter().map(|(of_text, _)| of_text).sum();
    let stated: f32 = weights.iter().map(|(_, stated)| stated).sum();
    if whole > 0.0 { stated / whole } else { 1.0 }
}

/// Returns the part of `text` that repeats the question from its first word on.
fn quote(asked: &str, text: &str) -> Option<Range<usize>> {
    let asked = words(without_lead(asked));
    let said = words(text);
    let least = QUOTE_WORDS_MIN.max((asked.len() * QUOTE_SHARE.0).div_ceil(QUOTE_SHARE.1));
    (0..said.len()).find_map(|start| {
        let pairs = said[start..].iter().zip(&asked);
        let run = pairs.take_while(|((_, said), (_, asked))| said == asked).count();
        (run >= least).then(|| said[start].0.start..said[start + run - 1].0.end)
    })
}

/// Returns the words of a text in lower case, with their places.
fn words(text: &str) -> Vec<(Range<usize>, String)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from..at, text[from..at].to_lowercase()));
                start = None;
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::index::Index;
    use crate::recall::query::scope::Admission;

    fn share(asked: &str, text: &str) -> f32 {
        let index = Index::new();
        let question = Question::read(&index, &Admission::new(&index, None), asked, None);
        let rarities = vec![1.0; question.terms.len()];
        stated_share(&question, &rarities, asked, text)
    }

    #[test]
    fn what_a_turn_asks_or_quotes_is_not_stated() {
        let asked = "When do we ship the beta?";
        for (least, most, text) in [
            (
                0.0,
                0.0,
                "You asked: when do we ship the beta? I will look it up.",
            ),
            (0.0, 0.0, "About when do we ship the beta: the files say nothing."),
            (0.0, 0.0, "Sorry. I do not know when we ship the beta."),
            (0.4, 0.6, "When do we ship the beta? The beta needs a week."),
            (1.0, 1.0, "When do we ship the beta? We ship the beta on Friday."),
            (1.0, 1.0, "We ship the beta on Friday. Is that fine?"),
            (1.0, 1.0, "On Friday."),
        ] {
            let share = share(asked, text);
            assert!((least..=most).contains(&share), "{text}: {share}");
        }
        // An answer repeats the question without its first word.
        let fixed = share("Who fixed the race?", "Jonas fixed the race.");
        assert!(fixed > 0.9, "{fixed}");
    }
}

//! Analyses the text of a document in one pass: its terms with their weights, marks, dates, and the names that it
//! addresses.
//!
//! # Layer
//! The part of `recall::text` that the index calls.

use super::calendar::{Day, Span};
use super::language::Languages;
use super::marks::{Class, Marker, Marks, STANDING_TERM};
use super::runs::{Run, RunKind, Runs, is_apostrophe};
use super::terms::{Side, facts_of, fenced, for_each_sign, term_in, term_of_language, word_of};
use super::variants::{common, for_each_variant, is_acronym, is_like_name, parts};

/// The count of one occurrence of a term outside of code, in units of a quarter.
pub(crate) const QUARTERS_PROSE: u32 = 4;
/// The count of one occurrence of a term in a code block. This count is lower, because code is long and seldom mentions
/// the topic.
pub(crate) const QUARTERS_CODE: u32 = 1;

/// The count of one occurrence of a term in the title.
const QUARTERS_TITLE: u32 = 8;

/// A text with its titles.
#[derive(Clone, Copy, Default)]
pub(crate) struct Source<'a> {
    pub(crate) title: &'a str,
    /// The titles above the text, one on each line.
    pub(crate) above: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    fn languages(self) -> Languages {
        if self.title.is_empty() && self.above.is_empty() {
            return Languages::of(self.text);
        }
        Languages::of(&[self.text, self.title, self.above].join("\n"))
    }
}

/// The result of the analysis, except for the terms.
pub(crate) struct Analysis {
    pub(crate) marks: Marks,
    pub(crate) spans: Vec<Span>,
    pub(crate) calls: Vec<String>,
}

/// Calls `found` with each term of a text and its titles, its count in units of a quarter, and whether the term adds to
/// the length. Only the text itself has marks, dates and calls.
///
/// Emoji are decoration, and the single characters of a script without spaces repeat its pairs of characters. Variants
/// repeat words too. So none of them adds to the length.
pub(crate) fn analyse(source: Source<'_>, day: Day, mut found: impl FnMut(&str, u32, bool)) -> Analysis {
    let languages = source.languages();
    for language in languages.unusual() {
        found(&term_of_language(language), QUARTERS_PROSE, false);
    }
    let mut reader = Reader {
        languages,
        folded: String::new(),
        stop_words: 0,
        first: String::new(),
        before: String::new(),
        part: String::new(),
        term: String::new(),
        found,
    };
    for (titles, quarters) in [(source.title, QUARTERS_TITLE), (source.above, QUARTERS_PROSE)] {
        for run in Runs::new(titles) {
            reader.read(titles, run, quarters);
        }
        reader.end(titles, quarters);
    }
    let mut marker = Marker::new(source.text, day);
    let mut piece = String::new();
    let mut at = 0;
    for (code, part) in fenced(source.text) {
        let quarters = if code { QUARTERS_CODE } else { QUARTERS_PROSE };
        for run in Runs::new(part) {
            let class = reader.read(part, run, quarters);
            if run.kind != RunKind::Word {
                continue;
            }
            if run.text.contains(is_apostrophe) {
                marker.push_word(at + run.start, run, &mut piece);
            } else {
                marker.push(at + run.start, run.text.len(), &reader.folded, class);
            }
        }
        reader.end(part, quarters);
        at += part.len() + 3;
    }
    if marker.is_standing {
        (reader.found)(STANDING_TERM, QUARTERS_PROSE, false);
    }
    Analysis {
        marks: marker.marks,
        spans: marker.spans,
        calls: marker.calls,
    }
}

/// Passes on the terms of runs, and reuses its buffers.
struct Reader<F> {
    languages: Languages,
    /// The folded form of the last word.
    folded: String,
    /// The number of stop words in a row. Only three or more have terms of their pairs, because two are too common.
    stop_words: usize,
    /// The folded forms of the last two of them.
    first: String,
    before: String,
    /// The folded form of the part of a word.
    part: String,
    term: String,
    found: F,
}

impl<F: FnMut(&str, u32, bool)> Reader<F> {
    /// Passes on the terms of a run of `text`. Returns the classes of a word.
    fn read(&mut self, text: &str, run: Run<'_>, quarters: u32) -> Class {
        if run.kind == RunKind::Word {
            return self.read_word(text, run, quarters);
        }
        self.stop_words = 0;
        let found = &mut self.found;
        for_each_sign(run, Side::Document, |sign| {
            let is_pair = sign.chars().nth(1).is_some();
            let adds = run.kind == RunKind::Spaceless && (is_pair || run.text == sign);
            found(sign, quarters, adds);
        });
        0
    }

    fn read_word(&mut self, text: &str, run: Run<'_>, quarters: u32) -> Class {
        let found = &mut self.found;
        word_of(run.text, &mut self.folded);
        let facts = facts_of(&self.folded);
        let Some(term) = term_in(self.languages, run.text, &self.folded, facts, &mut self.term) else {
            if self.stop_words == 2 {
                found(&common(&[&self.first, &self.before]), quarters, false);
            }
            if self.stop_words >= 2 {
                found(&common(&[&self.before, &self.folded]), quarters, false);
            }
            if is_like_name(run.text, &text[..run.start]) {
                found(&common(&[&self.folded]), quarters, false);
            }
            if is_acronym(run.text) {
                found(&common(&[run.text]), quarters, false);
            }
            self.stop_words += 1;
            std::mem::swap(&mut self.first, &mut self.before);
            self.before.clone_from(&self.folded);
            return facts.class;
        };
        self.stop_words = 0;
        if !term.is_empty() {
            found(term, quarters, true);
        }
        for part in parts(run.text) {
            word_of(part, &mut self.part);
            let of_part = facts_of(&self.part);
            if let Some(term) = term_in(self.languages, part, &self.part, of_part, &mut self.term) {
                found(term, quarters, false);
            }
        }
        facts.class
    }

    /// Ends a text: passes on the variants of its numbers and dates.
    fn end(&mut self, text: &str, quarters: u32) {
        self.stop_words = 0;
        for_each_variant(text, |_, term| (self.found)(term, quarters, false));
    }
}

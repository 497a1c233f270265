//! Reads the admitted postings of a term in all its forms, and the languages of the admitted documents.
//!
//! # Layer
//! Uses the postings of the index, but not questions.

use super::scope::Admission;
use crate::recall::index::{Index, Posting};
use crate::recall::text::language::{Language, unusual_languages};
use crate::recall::text::terms::term_of_language;

/// Replaces the content of `into` by the admitted postings of a term, in the order of the documents. The caller reuses
/// `into`, because a new list for each term takes longer.
pub(super) fn collect(index: &Index, admission: &Admission<'_>, forms: &[String], into: &mut Vec<Posting>) {
    into.clear();
    for form in forms {
        if let Some(number) = index.postings.find(form.as_bytes()) {
            collect_more(index, admission, number, into);
        }
    }
    if forms.len() > 1 {
        // A document that contains several forms counts the most frequent one.
        into.sort_unstable_by_key(|posting| (posting.document, std::cmp::Reverse(posting.quarters)));
        into.dedup_by_key(|posting| posting.document);
    }
}

/// Adds the admitted postings of the term with this number to `into`.
pub(super) fn collect_more(index: &Index, admission: &Admission<'_>, number: u32, into: &mut Vec<Posting>) {
    index.postings.for_each(number, |posting| {
        if admission.has(posting.document) {
            into.push(posting);
        }
    });
}

/// Returns the unusual languages that admitted documents have.
pub(super) fn languages_in(index: &Index, admission: &Admission<'_>) -> Vec<Language> {
    let is_spoken = |language: &Language| {
        let number = index.postings.find(term_of_language(*language).as_bytes());
        number.is_some_and(|number| {
            let has = |posting: Posting| admission.has(posting.document);
            index.postings.any(number, has)
        })
    };
    unusual_languages().filter(is_spoken).collect()
}

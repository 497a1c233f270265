//! Reads the admitted postings of a term in all its forms, and the languages of the admitted documents.
//!
//! # Layer
//! Uses the postings of the index, but not questions.

use super::scope::Admission;
use crate::recall::index::{Index, Posting};
use crate::recall::text::language::{Language, unusual_languages};
use crate::recall::text::terms::term_of_language;

/// An admitted document that contains a term.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) document: u32,
    /// The count of the term, in units of a quarter.
    pub(super) quarters: u32,
    /// The length of the document, in units of a quarter.
    pub(super) length: u32,
    /// The session of the document, if it has one.
    pub(super) session: Option<u32>,
}

/// Replaces the content of `into` by the admitted documents that contain a term, in their order. The caller reuses
/// `into`, because a new list for each term takes longer.
pub(super) fn collect(index: &Index, admission: &Admission<'_>, forms: &[String], into: &mut Vec<Found>) {
    into.clear();
    for form in forms {
        if let Some(number) = index.postings.find(form.as_bytes()) {
            collect_more(index, admission, number, false, into);
        }
    }
    if forms.len() > 1 {
        // A document that contains several forms counts the most frequent one.
        into.sort_unstable_by_key(|found| (found.document, std::cmp::Reverse(found.quarters)));
        into.dedup_by_key(|found| found.document);
    }
}

/// Adds the admitted documents that contain the term with this number to `into`: all, or those that came since the
/// image.
pub(super) fn collect_more(
    index: &Index,
    admission: &Admission<'_>,
    number: u32,
    since_image: bool,
    into: &mut Vec<Found>,
) {
    let add = |Posting { document, quarters }| {
        let of = index.columns.scored(document);
        if admission.admits(&of) {
            into.push(Found {
                document,
                quarters,
                length: of.length,
                session: of.session,
            });
        }
    };
    if since_image {
        index.postings.for_each_since(number, add);
    } else {
        index.postings.for_each(number, add);
    }
}

/// Returns the numbers of the documents with a term, in order.
pub(super) fn numbers_with(index: &Index, term: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    if let Some(term) = index.postings.find(term.as_bytes()) {
        index
            .postings
            .for_each(term, |posting| numbers.push(posting.document));
    }
    numbers.sort_unstable();
    numbers
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

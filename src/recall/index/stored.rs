//! The form in which the index is stored on disk, together with its documents.
//!
//! Documents are in chronological order, and terms in the order of their bytes, so equal indexes have equal bytes.
//! Reading builds the index with the same calls as [`Index::put`], so reading computes every sum, session and number
//! again.
//!
//! # Layer
//! Defines the layout. The caller chooses the encoding, which may be any format of serde.
//!
//! # Invariants
//! - ENC-1: an index that was written and read again gives the same answers, and has the same bytes.
//! - ENC-2: no input makes reading panic, or allocate more than a small multiple of its length.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Index;
use super::columns::LIVE;
use super::key::Key;
use super::postings::Posting;
use super::vectors::Quantised;
use crate::recall::text::calendar::Span;
use crate::recall::text::marks::{CALLS_MAX, Marks, SPANS_MAX};
use crate::recall::text::terms::TERM_BYTES_MAX;

/// The maximal length of a term that is read, in bytes. A term is cut after the character that exceeds
/// `TERM_BYTES_MAX`.
const TERM_BYTES_READ_MAX: usize = TERM_BYTES_MAX + 4;

/// All entries, terms and vectors of an index.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored<'a> {
    #[serde(borrow)]
    entries: Vec<Entry<'a>>,
    #[serde(borrow)]
    terms: Vec<StoredTerm<'a>>,
    /// The vectors, each with the position of its document.
    vectors: Vec<(u32, Quantised)>,
}

/// A term. For each document that contains it, the distance from the previous such document, and the count of the term
/// in units of a quarter.
type StoredTerm<'a> = (&'a str, Vec<(u32, u32)>);

/// A document without its terms and its vector.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry<'a> {
    pub(super) key: Key,
    pub(super) time: i64,
    pub(super) order: u32,
    pub(super) scope: &'a str,
    pub(super) session: Option<&'a str>,
    pub(super) speaker: &'a str,
    pub(super) length: u32,
    pub(super) marks: Marks,
    pub(super) spans: Vec<Span>,
    #[serde(borrow)]
    pub(super) calls: Vec<&'a str>,
    pub(super) supersedes: Vec<Key>,
}

impl Serialize for Index {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let broken = || D::Error::custom("the stored search index is not consistent");
        stored.into_index().ok_or_else(broken)
    }
}

impl<'a> Stored<'a> {
    pub(super) fn of(index: &'a Index) -> Self {
        let columns = &index.columns;
        let mut live: Vec<u32> = (0..columns.len() as u32)
            .filter(|&number| columns.is_live(number))
            .collect();
        live.sort_unstable_by(|&one, &two| columns.chronology(one, two));
        let mut places = vec![None; columns.len()];
        for (place, &number) in live.iter().enumerate() {
            places[number as usize] = Some(place as u32);
        }
        let vectors = live.iter().zip(0..);
        let vectors = vectors.filter_map(|(&number, place)| Some((place, index.vectors.get(number)?)));
        Self {
            entries: live.iter().map(|&number| Entry::of(index, number)).collect(),
            terms: terms_of(index, &places),
            vectors: vectors.collect(),
        }
    }

    /// Builds the index from its stored form. Returns `None` if the stored form breaks a rule.
    pub(super) fn into_index(self) -> Option<Index> {
        let mut index = Index::default();
        for entry in &self.entries {
            entry.admit(&mut index)?;
        }
        let mut before = "";
        for (term, postings) in self.terms {
            if term <= before || term.len() > TERM_BYTES_READ_MAX {
                return None;
            }
            before = term;
            let number = index.postings.intern(term.as_bytes());
            let mut next = 0u32;
            for (distance, quarters) in postings {
                let document = next.checked_add(distance)?;
                if document as usize >= index.len() || quarters == 0 || index.postings.is_full() {
                    return None;
                }
                index.postings.push(number, Posting { document, quarters });
                next = document + 1;
            }
        }
        for (document, vector) in self.vectors {
            let is_valid = !vector.parts.is_empty() && vector.scale.is_finite();
            if !is_valid || document as usize >= index.len() || !index.vectors.push(document, &vector) {
                return None;
            }
        }
        Some(index)
    }
}

/// Returns the terms of live documents. The postings of a term refer to documents by position.
fn terms_of<'a>(index: &'a Index, places: &[Option<u32>]) -> Vec<StoredTerm<'a>> {
    let mut terms = Vec::with_capacity(index.postings.len());
    for number in 0..index.postings.len() as u32 {
        let mut postings = Vec::new();
        index.postings.for_each(number, |posting| {
            postings.extend(places[posting.document as usize].map(|place| (place, posting.quarters)));
        });
        if postings.is_empty() {
            continue;
        }
        postings.sort_unstable();
        let mut next = 0;
        for (place, _) in &mut postings {
            let distance = *place - next;
            next = *place + 1;
            *place = distance;
        }
        let term = std::str::from_utf8(index.postings.term(number)).expect("a term is text");
        terms.push((term, postings));
    }
    terms.sort_unstable_by_key(|(term, _)| *term);
    terms
}

impl<'a> Entry<'a> {
    fn of(index: &'a Index, number: u32) -> Self {
        let row = index.columns.row(number);
        let session = &index.sessions.all[row.session as usize];
        let spans = index.columns.spans_of(number).iter();
        Self {
            key: row.key,
            time: row.time,
            order: row.order,
            scope: &index.people.scopes[session.scope as usize].name,
            session: session.name.as_deref(),
            speaker: &index.people.speakers[row.speaker as usize].name,
            length: row.length,
            marks: row.flags & (LIVE - 1),
            spans: spans.map(|&(_, span)| span).collect(),
            calls: index.people.calls_of(number).collect(),
            supersedes: index.links.olds_of(row.key).collect(),
        }
    }

    /// Adds this entry after the entries of `index`. Returns `None` if this entry breaks a rule, or is not later than
    /// the last entry.
    fn admit(&self, index: &mut Index) -> Option<()> {
        let is_valid = self.marks < LIVE
            && self.spans.len() <= SPANS_MAX
            && self.spans.iter().all(|span| span.first <= span.last)
            && self.calls.len() <= CALLS_MAX
            && !index.contains(&self.key);
        if !is_valid {
            return None;
        }
        let number = index.admit(self);
        // If entries were out of order, finding the position in a session would require a search through the whole
        // session.
        let is_next = number == 0 || index.columns.chronology(number - 1, number).is_lt();
        is_next.then_some(())
    }
}

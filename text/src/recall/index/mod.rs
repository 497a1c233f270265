//! The search index of recall. Queries read it instead of the documents.
//!
//! The index is derived, and is updated one document at a time: a document can be found as soon as [`Index::put`]
//! returns. Answers depend on the content of the index, not on its history. All scopes share one index. A query of some
//! scopes uses only the statistics of their documents, so its scores equal those of an index of only these scopes.
//! Other scopes affect only the time of a query, which is longer if the other scopes use the same words often.
//!
//! A part of the index may lie in an image, which is read where it lies (`stored`). Its documents, terms and sessions have
//! the first numbers. What changed since is in memory.
//!
//! # Layer
//! Above `recall::text`. Uses neither queries nor the store.
//!
//! # Invariants
//! - IDX-1: after any calls, the index gives the same answers as a new index of the same documents.
//! - IDX-2: at most `VACANT_MIN` numbers, plus a quarter of all numbers, are vacant.

mod blocks;
mod column;
mod columns;
mod compact;
mod key;
mod layout;
mod links;
mod people;
mod postings;
mod sessions;
mod stored;

use std::sync::Arc;

use crate::recall::text::analysis::{Source, analyse};
use crate::recall::text::calendar::{Span, day_at};
use crate::recall::text::marks::Marks;
use crate::recall::vectors::{Found, Places, TextKey, VectorTable};
use crate::tables::{Builder, Image};

pub(crate) use blocks::{Block, WINDOW, windows};
pub(crate) use columns::{Columns, LIVE, SAID, STATED, Scored};
use columns::{Stamp, TITLED};
pub use key::Key;
use links::Links;
pub(crate) use people::People;
pub(crate) use postings::{Posting, Postings};
pub(crate) use sessions::Sessions;

/// The number of vacant document numbers up to which the index is not rewritten, because that would not be worthwhile.
const VACANT_MIN: usize = 256;

/// A document to index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Document<'a> {
    /// The key of the document.
    pub key: Key,
    /// The scope of the document.
    pub scope: &'a str,
    /// The session of the document, if it has one.
    pub session: Option<&'a str>,
    /// The speaker or subject of the document; empty if unknown.
    pub speaker: &'a str,
    /// The time of the document, in seconds since 1970.
    pub time: i64,
    /// The position of the document among documents with the same time.
    pub order: u32,
    /// The title of the document; empty if it has none. Its words count twice.
    pub title: &'a str,
    /// The titles above the document, one on each line. They are searched like its text.
    pub above: &'a str,
    /// The text of the document.
    pub text: &'a str,
    /// The keys of the documents that this document supersedes.
    pub supersedes: &'a [Key],
    /// Where the text comes from.
    pub voice: Voice,
    /// The digest of the text, by which a table of vectors knows it. All zero if there is no text.
    pub text_key: TextKey,
}

/// Where a text comes from, which decides what it may stand above.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Voice {
    /// Neither of the others.
    #[default]
    Other,
    /// A trusted text that somebody stated to be kept, such as a fact.
    Stated,
    /// A turn of a transcript, or a text that retells turns.
    Said,
}

impl Voice {
    fn flag(self) -> Marks {
        match self {
            Self::Other => 0,
            Self::Stated => STATED,
            Self::Said => SAID,
        }
    }
}

/// The error of a full index, which has no free numbers or no space for terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// The search index of recall.
#[derive(Clone, Default)]
pub struct Index {
    pub(crate) columns: Columns,
    pub(crate) postings: Postings,
    pub(crate) people: People,
    pub(crate) sessions: Sessions,
    places: Places,
    links: Links,
    live: usize,
    /// The image that a part of the index is read from.
    image: Option<Arc<Image>>,
}

/// A document without its terms.
struct Entry<'a> {
    key: Key,
    text_key: TextKey,
    time: i64,
    order: u32,
    scope: &'a str,
    session: Option<&'a str>,
    speaker: &'a str,
    length: u32,
    marks: Marks,
    spans: Vec<Span>,
    calls: Vec<&'a str>,
    supersedes: Vec<Key>,
}

impl Index {
    /// Returns an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of rows, with those of removed documents.
    pub fn rows(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Returns whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns whether a document has this key.
    pub fn contains(&self, key: &Key) -> bool {
        self.columns.find(key).is_some()
    }

    /// Returns whether a document with this key has a title, or titles above it.
    pub fn is_titled(&self, key: &Key) -> bool {
        let number = self.columns.find(key);
        number.is_some_and(|number| self.columns.scored(number).flags & TITLED != 0)
    }

    /// Returns the scope of the document with this key.
    pub fn scope_of(&self, key: &Key) -> Option<&str> {
        self.scope_of_number(self.columns.find(key)?)
    }

    /// Returns the scope of the document with this number.
    pub(crate) fn scope_of_number(&self, number: u32) -> Option<&str> {
        let scope = self.people.scope_of(self.columns.scored(number).speaker);
        Some(&self.people.scopes.get(scope as usize)?.name)
    }

    /// Returns whether the index was read from a damaged image, so that its answers may be wrong.
    pub fn is_damaged(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.is_damaged())
    }

    /// Adds a document, or replaces the document with the same key. Accepts any text.
    ///
    /// # Errors
    /// [`Full`] if no document number is free, or the texts of the terms have more than 2 GiB. The index then stays
    /// unchanged.
    pub fn put(&mut self, document: &Document<'_>) -> Result<(), Full> {
        if self.postings.is_full() || self.columns.len() >= (u32::MAX - 1) as usize {
            return Err(Full);
        }
        self.remove(&document.key);
        let mut terms = Vec::new();
        let mut length = 0u32;
        let source = Source {
            title: document.title,
            above: document.above,
            text: document.text,
        };
        let analysis = analyse(source, day_at(document.time), |term, quarters, counts| {
            terms.push((self.postings.intern(term.as_bytes()), quarters));
            length = length.saturating_add(if counts { quarters } else { 0 });
        });
        let is_titled = !(document.title.is_empty() && document.above.is_empty());
        let titled = if is_titled { TITLED } else { 0 };
        let number = self.admit(&Entry {
            key: document.key,
            text_key: document.text_key,
            time: document.time,
            order: document.order,
            scope: document.scope,
            session: document.session,
            speaker: document.speaker,
            length,
            marks: analysis.marks | titled | document.voice.flag(),
            spans: analysis.spans,
            calls: analysis.calls.iter().map(String::as_str).collect(),
            supersedes: document.supersedes.to_vec(),
        });
        self.add_terms(number, terms);
        Ok(())
    }

    fn add_terms(&mut self, document: u32, mut terms: Vec<(u32, u32)>) {
        terms.sort_unstable();
        for of_term in terms.chunk_by(|one, two| one.0 == two.0) {
            let quarters = of_term
                .iter()
                .fold(0u32, |sum, &(_, quarters)| sum.saturating_add(quarters));
            self.postings.push(of_term[0].0, Posting { document, quarters });
        }
    }

    /// Assigns a number to a new entry, and adds the entry to all statistics.
    fn admit(&mut self, entry: &Entry<'_>) -> u32 {
        let scope = self.people.scope(entry.scope);
        let speaker = self.people.speaker(scope, entry.speaker);
        let scored = Scored {
            session: entry.session.map(|name| self.sessions.intern(scope, name)),
            speaker,
            length: entry.length,
            flags: entry.marks,
        };
        let stamp = Stamp {
            time: entry.time,
            order: entry.order,
            key: entry.key,
            text: entry.text_key,
        };
        let number = self.columns.push(scored, stamp, &entry.spans);
        self.sessions.insert(number, &self.columns);
        self.people.add_calls(number, speaker, &entry.calls);
        self.people.add_document(speaker, entry.length);
        for &old in &entry.supersedes {
            self.links.insert(entry.key, old);
        }
        self.live += 1;
        number
    }

    /// Removes the document with this key. Returns whether there was such a document.
    pub fn remove(&mut self, key: &Key) -> bool {
        let Some(number) = self.columns.find(key) else {
            return false;
        };
        let scored = self.columns.scored(number);
        self.links.remove(key);
        self.people.remove_calls(number, scored.speaker);
        self.people.remove_document(scored.speaker, scored.length);
        self.sessions.remove(number, &self.columns);
        self.columns.vacate(number);
        self.live = self.live.saturating_sub(1);
        let vacant = self.columns.len() - self.live;
        // What was read from a damaged image must stay marked as damaged.
        if vacant > VACANT_MIN && vacant > self.columns.len() / 4 && !self.is_damaged() {
            self.rewrite();
        }
        true
    }

    /// Writes the index to an image in memory, without vacant numbers, and continues on that image.
    fn rewrite(&mut self) {
        let mut image = Builder::default();
        self.write(&mut image);
        let image = Image::open(image.finish().into());
        let dense = image.and_then(|image| Self::read(&Arc::new(image), 0));
        debug_assert!(dense.is_some() || self.is_damaged(), "ENC-1");
        if let Some(dense) = dense.filter(|_| !self.is_damaged()) {
            *self = dense;
        }
    }

    /// Returns the places of the documents in a table of vectors.
    pub(crate) fn placed(&self, table: &VectorTable) -> Arc<Found> {
        let text = |number| self.columns.stamp(number).text;
        self.places.of(table, self.columns.len(), text)
    }

    /// Returns the digests of the texts of all documents.
    pub fn text_keys(&self) -> impl Iterator<Item = TextKey> {
        let all = 0..self.columns.len() as u32;
        let live = all.filter(|&number| self.columns.is_live(number));
        live.map(|number| self.columns.stamp(number).text)
    }

    /// Returns the documents whose texts have no vector in a table yet, the newest first.
    pub fn without_vector(&self, table: &VectorTable) -> Vec<Key> {
        let placed = self.placed(table);
        let mut missing = placed.missing().to_vec();
        missing.sort_unstable();
        let live = missing
            .into_iter()
            .rev()
            .filter(|&number| self.columns.is_live(number));
        live.map(|number| self.columns.key(number)).collect()
    }

    /// Returns a function that maps an offset to the neighbour of a document in its session. A document without a
    /// session has no neighbours: the documents stored at the same time may have nothing to do with it.
    pub(crate) fn neighbours(&self, number: u32) -> impl Fn(isize) -> Option<u32> {
        let found = self.columns.scored(number).session.map(|session| {
            let members = self.sessions.members(session);
            let place = members.partition_point(|member| self.columns.is_before(member, number));
            (members, place)
        });
        move |offset| {
            let (members, place) = found.as_ref()?;
            members.get(place.checked_add_signed(offset)?)
        }
    }

    /// Returns whether the first document was said later than the second one in the same session: at a later
    /// time, or at the same time and later in the given order.
    pub fn is_later_in_session(&self, new: &Key, old: &Key) -> bool {
        let (Some(new), Some(old)) = (self.columns.find(new), self.columns.find(old)) else {
            return false;
        };
        let session = |number| self.columns.scored(number).session;
        let place = |number| {
            let stamp = self.columns.stamp(number);
            (stamp.time, stamp.order)
        };
        session(new).is_some() && session(new) == session(old) && place(new) > place(old)
    }

    /// Returns the live documents that supersede the document with this number.
    pub(crate) fn successors(&self, number: u32) -> impl Iterator<Item = u32> {
        let old = self.columns.key(number);
        let news = self.links.news_of(old);
        news.filter_map(|new| self.columns.find(&new))
    }

    /// Returns the keys of the documents that supersede the document with this key, in order.
    pub fn superseded_by(&self, key: &Key) -> impl Iterator<Item = Key> {
        self.links.news_of(*key).filter(|new| self.contains(new))
    }
}

#[cfg(test)]
mod tests;

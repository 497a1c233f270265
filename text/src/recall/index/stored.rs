//! The form in which the index is stored: sections of an image, which queries read where they lie.
//!
//! Documents are in chronological order, terms in the order of their bytes, scopes, speakers and sessions in the order
//! of their names, so equal indexes have equal bytes. Scopes, speakers and names are decoded when the index is opened;
//! all else is read when a query needs it.
//!
//! # Layer
//! Defines the layout. The caller stores the image.
//!
//! # Invariants
//! - ENC-1: an index that was written and read again gives the same answers, and has the same bytes.
//! - ENC-2: no input makes reading panic, or allocate more than a small multiple of its length.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Index;
use super::blocks::{Block, WINDOW, is_frequent};
use super::column::{Fixed as _, Limits};
use super::columns::{Columns, number_row, span_row};
use super::layout::Section;
use super::links::Links;
use super::people::{People, StoredPeople, call_row};
use super::postings::{List, Posting, Postings, term_row};
use super::sessions::{Sessions, StoredSession};
use crate::tables::{Builder, Image, SortedRows};

impl Index {
    /// The number of sections of an index in an image.
    pub const SECTIONS: usize = Section::News as usize + 1;

    /// Appends the index to an image.
    pub fn write(&self, image: &mut Builder) {
        let plan = Plan::of(self);
        plan.write_documents(image);
        let terms = plan.write_terms(image);
        plan.write_people(terms, image);
        plan.write_sessions(image);
        self.links.write(image);
    }

    /// Returns the bytes of an image of the index.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut image = Builder::default();
        self.write(&mut image);
        image.finish()
    }

    /// Returns the index that [`Self::write`] appended to an image that had `first` sections. Returns `None` if the
    /// sections contradict each other.
    pub fn read(image: &Arc<Image>, first: usize) -> Option<Self> {
        let people = first + Section::People as usize;
        let bytes = image.read(people, 0, image.length(people))?;
        let (documents, terms, stored, sessions): (u32, u32, StoredPeople, Vec<(u32, u64)>) =
            postcard::from_bytes(bytes).ok()?;
        let calls = SortedRows::of(image, first + Section::Calls as usize);
        let people = People::of(stored, calls)?;
        if sessions.len() != people.scopes.len() {
            return None;
        }
        let sessions = Sessions::of(image, first, &sessions, documents)?;
        let limits = Limits {
            documents,
            sessions: sessions.len() as u32,
            scopes: people.scopes.len() as u32,
            speakers: people.speakers.len() as u32,
        };
        (documents == 0 || limits.speakers > 0).then_some(())?;
        Some(Self {
            columns: Columns::of(image, first, documents, limits)?,
            postings: Postings::of(image, first, terms, documents)?,
            people,
            sessions,
            links: Links::of(image, first),
            live: documents as usize,
            image: Some(Arc::clone(image)),
            ..Self::default()
        })
    }
}

/// The new numbers of everything that an index stores.
struct Plan<'a> {
    index: &'a Index,
    /// The documents in the order of the image.
    live: Vec<u32>,
    documents: Numbers,
    /// The scopes in the order of the image.
    scopes: Vec<u32>,
    scope_numbers: Numbers,
    speakers: Vec<u32>,
    speaker_numbers: Numbers,
    /// The sessions in the order of the image.
    sessions: Vec<u32>,
    session_numbers: Numbers,
    /// The number of sessions of each scope, and the total length of their members.
    sessions_of_scopes: Vec<(u32, u64)>,
}

/// The new number of each old number.
struct Numbers(Vec<u32>);

impl Numbers {
    /// Returns the places of `olds`, which are below `length`.
    fn of(olds: &[u32], length: usize) -> Self {
        let mut numbers = vec![u32::MAX; length];
        for (new, &old) in (0..).zip(olds) {
            if let Some(number) = numbers.get_mut(old as usize) {
                *number = new;
            }
        }
        Self(numbers)
    }

    fn get(&self, old: u32) -> Option<u32> {
        let found = self.0.get(old as usize).copied();
        found.filter(|number| *number != u32::MAX)
    }
}

impl<'a> Plan<'a> {
    fn of(index: &'a Index) -> Self {
        let (columns, people) = (&index.columns, &index.people);
        let all = 0..columns.len() as u32;
        let mut live: Vec<u32> = all.filter(|&number| columns.is_live(number)).collect();
        // A stable sort is fast for documents that are nearly in order.
        live.sort_by(|&one, &two| columns.chronology(one, two));
        let has_scope = |number: &u32| people.scopes[*number as usize].documents > 0;
        let mut scopes: Vec<u32> = (0..people.scopes.len() as u32).filter(has_scope).collect();
        scopes.sort_unstable_by_key(|&number| &people.scopes[number as usize].name);
        let scope_numbers = Numbers::of(&scopes, people.scopes.len());
        let has_speaker = |number: &u32| people.speakers[*number as usize].documents > 0;
        let mut speakers: Vec<u32> = (0..people.speakers.len() as u32).filter(has_speaker).collect();
        speakers.sort_unstable_by_key(|&number| {
            let speaker = &people.speakers[number as usize];
            (scope_numbers.get(speaker.scope), &speaker.name)
        });
        let (mut sessions, mut sessions_of_scopes) = (Vec::new(), Vec::new());
        for &scope in &scopes {
            let own = index.sessions.of_scope_in_order(scope);
            sessions_of_scopes.push((own.len() as u32, index.sessions.sums(scope).1));
            sessions.extend(own);
        }
        Self {
            index,
            documents: Numbers::of(&live, columns.len()),
            live,
            scope_numbers,
            scopes,
            speaker_numbers: Numbers::of(&speakers, people.speakers.len()),
            speakers,
            session_numbers: Numbers::of(&sessions, index.sessions.len()),
            sessions,
            sessions_of_scopes,
        }
    }

    fn write_documents(&self, image: &mut Builder) {
        let columns = &self.index.columns;
        let (mut stamps, mut numbers, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        image.section(|scored| {
            for (number, &old) in (0..).zip(&self.live) {
                let (mut of, stamp) = (columns.scored(old), columns.stamp(old));
                of.session = of.session.and_then(|session| self.session_numbers.get(session));
                of.speaker = self.speaker_numbers.get(of.speaker).unwrap_or_default();
                of.write(scored);
                stamp.write(&mut stamps);
                numbers.push(number_row(&stamp.key, number));
                for (place, span) in (0..).zip(columns.spans_of(old)) {
                    spans.extend_from_slice(&span_row(number, place, span));
                }
            }
        });
        image.section(|bytes| bytes.append(&mut stamps));
        numbers.sort_unstable();
        image.section(|bytes| numbers.iter().for_each(|row| bytes.extend_from_slice(row)));
        image.section(|bytes| bytes.append(&mut spans));
    }

    /// Writes the terms, and returns their number.
    fn write_terms(&self, image: &mut Builder) -> u32 {
        let postings = &self.index.postings;
        let mut terms: Vec<(&[u8], u32)> = (0..postings.len() as u32)
            .map(|number| (postings.term(number), number))
            .collect();
        terms.sort_unstable();
        let (mut texts, mut lists, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        let (mut found, mut count) = (Vec::new(), 0);
        image.section(|rows| {
            for (term, number) in terms {
                found.clear();
                postings.for_each(number, |posting| {
                    let place = self.documents.get(posting.document);
                    found.extend(place.map(|place| (place, posting.quarters)));
                });
                if found.is_empty() {
                    continue;
                }
                found.sort_unstable();
                let mut list = List::default();
                let is_frequent = is_frequent(found.len(), self.live.len());
                for of_window in found.chunk_by(|one, two| one.0 / WINDOW == two.0 / WINDOW) {
                    let mut block = Block {
                        length_min: u32::MAX,
                        ..Block::default()
                    };
                    for &(document, quarters) in of_window {
                        list.push(Posting { document, quarters });
                        let of = self.index.columns.scored(self.live[document as usize]);
                        block.last = document;
                        block.count += 1;
                        block.quarters_max = block.quarters_max.max(quarters);
                        block.length_min = block.length_min.min(of.length);
                    }
                    block.end = list.as_bytes().len() as u32;
                    if is_frequent {
                        block.write(&mut blocks);
                    }
                }
                texts.extend_from_slice(term);
                lists.extend_from_slice(list.as_bytes());
                rows.extend_from_slice(&term_row(texts.len(), lists.len(), blocks.len() / Block::BYTES));
                count += 1;
            }
        });
        image.section(|bytes| bytes.append(&mut texts));
        image.section(|bytes| bytes.append(&mut lists));
        image.section(|bytes| bytes.append(&mut blocks));
        count
    }

    fn write_people(&self, terms: u32, image: &mut Builder) {
        let people = &self.index.people;
        let mut callers: BTreeMap<&str, BTreeMap<u32, u32>> = BTreeMap::new();
        for &old in &self.live {
            let speaker = self.speaker_numbers.get(self.index.columns.scored(old).speaker);
            for name in people.calls_of(old) {
                let counts = callers.entry(name).or_default();
                *counts.entry(speaker.unwrap_or_default()).or_default() += 1;
            }
        }
        let names: BTreeMap<&str, u32> = callers.keys().copied().zip(0..).collect();
        let scope = |&number: &u32| {
            let scope = &people.scopes[number as usize];
            (scope.name.clone(), scope.documents, scope.length)
        };
        let speaker = |&number: &u32| {
            let speaker = &people.speakers[number as usize];
            let scope = self.scope_numbers.get(speaker.scope);
            (
                scope.unwrap_or_default(),
                (*speaker.name).into(),
                speaker.documents,
            )
        };
        let caller = |(name, counts): (&str, BTreeMap<u32, u32>)| (name.into(), counts.into_iter().collect());
        let stored = StoredPeople {
            scopes: self.scopes.iter().map(scope).collect(),
            speakers: self.speakers.iter().map(speaker).collect(),
            callers: callers.into_iter().map(caller).collect(),
        };
        let all = (self.live.len() as u32, terms, &stored, &self.sessions_of_scopes);
        image.section(|bytes| bytes.extend(postcard::to_allocvec(&all).unwrap_or_default()));
        image.section(|bytes| {
            for (number, &old) in (0..).zip(&self.live) {
                for (place, name) in (0..).zip(people.calls_of(old)) {
                    bytes.extend_from_slice(&call_row(number, place, names[name]));
                }
            }
        });
    }

    fn write_sessions(&self, image: &mut Builder) {
        let of = &self.index.sessions;
        let (mut members, mut speakers, mut names) = (Vec::new(), Vec::new(), Vec::new());
        image.section(|rows| {
            for &session in &self.sessions {
                let own = of.members(session);
                let own = (0..own.len()).filter_map(|at| self.documents.get(own.get(at)?));
                let start = members.len();
                members.extend(own);
                let counts = of.speakers(session).into_iter();
                let counts = counts.filter_map(|(old, count)| Some((self.speaker_numbers.get(old)?, count)));
                let mut counts: Vec<(u32, u32)> = counts.collect();
                counts.sort_unstable();
                let name = of.name(session);
                let stored = StoredSession {
                    scope: self.scope_numbers.get(of.scope(session)).unwrap_or_default(),
                    length: of.length(session),
                    members: (start as u32, (members.len() - start) as u32),
                    speakers: (speakers.len() as u32 / 2, counts.len() as u32),
                    name: (names.len() as u32, name.len() as u32),
                };
                stored.write(rows);
                speakers.extend(counts.into_iter().flat_map(|(speaker, count)| [speaker, count]));
                names.extend_from_slice(name.as_bytes());
            }
        });
        let numbers = |image: &mut Builder, numbers: Vec<u32>| {
            image.section(|bytes| bytes.extend(numbers.into_iter().flat_map(u32::to_le_bytes)));
        };
        numbers(image, members);
        numbers(image, speakers);
        image.section(|bytes| bytes.append(&mut names));
    }
}

//! The scopes and speakers, and the names by which speakers address each other.
//!
//! A speaker belongs to one scope, so two scopes may each have an Anna. If two speakers share a scope, and one of them
//! often addresses somebody by a name, the name refers to the other speaker. The index counts such calls.
//!
//! # Layer
//! Uses names and counts, not documents.
//!
//! # Invariants
//! - PEO-1: counts include only live documents. A scope or speaker without live documents has no effect.
//! - PEO-2: the meaning of a name in a scope depends only on that scope.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::recall::text::terms::{facts_of, words};
use crate::tables::{SortedRows, begin_with, rising_u32, row, u32_at};

/// The minimal number of calls that define the meaning of a name.
const CALLS_MIN: u32 = 3;
/// The share of these calls that one speaker must make, in tenths.
const CALLS_TENTHS: u32 = 8;

/// A scope and its sums for the ranking.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    pub(crate) name: Box<str>,
    pub(crate) documents: u32,
    /// The total length of the documents of the scope, in units of a quarter.
    pub(crate) length: u64,
    /// The number of speakers of the scope that have live documents.
    live: u32,
    /// The numbers of all speakers of the scope, by name.
    speakers: HashMap<Arc<str>, u32>,
}

/// A speaker of a scope.
#[derive(Clone)]
pub(crate) struct Speaker {
    pub(crate) scope: u32,
    pub(crate) name: Arc<str>,
    pub(crate) documents: u32,
}

/// The scopes, the speakers, and the names by which speakers address each other.
#[derive(Clone, Default)]
pub(crate) struct People {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) speakers: Vec<Speaker>,
    scope_numbers: HashMap<Box<str>, u32>,
    /// For each word of a name, the speakers whose names contain that word.
    names: HashMap<Box<str>, Vec<u32>>,
    /// For each name by which somebody is addressed, its number, and how often each speaker uses it.
    callers: HashMap<Arc<str>, (u32, HashMap<u32, u32>)>,
    /// The names by which somebody is addressed, by number.
    called: Vec<Arc<str>>,
    /// The names by which documents address somebody: the number of the document, the place, and the number of the name.
    calls: SortedRows<9>,
}

/// The scopes, speakers and names as they are stored.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoredPeople {
    /// The name, the number of documents and their total length, for each scope.
    pub(super) scopes: Vec<(Box<str>, u32, u64)>,
    /// The scope, the name and the number of documents, for each speaker.
    pub(super) speakers: Vec<(u32, Box<str>, u32)>,
    /// The name, and how often each speaker uses it.
    pub(super) callers: Vec<StoredCallers>,
}

/// A name by which somebody is addressed, and how often each speaker uses it.
type StoredCallers = (Box<str>, Vec<(u32, u32)>);

impl People {
    /// Returns the stored people. `calls` are the names by which documents address somebody. Returns `None` if a number
    /// is out of range.
    pub(super) fn of(stored: StoredPeople, calls: SortedRows<9>) -> Option<Self> {
        let mut people = Self {
            calls,
            ..Self::default()
        };
        for (name, documents, length) in &stored.scopes {
            let number = people.scope(name) as usize;
            people.scopes[number].documents = *documents;
            people.scopes[number].length = *length;
        }
        if people.scopes.len() < stored.scopes.len() {
            return None;
        }
        for (scope, name, documents) in &stored.speakers {
            people.scopes.get(*scope as usize)?;
            let number = people.speaker(*scope, name);
            people.speakers[number as usize].documents = *documents;
            people.scopes[*scope as usize].live += u32::from(*documents > 0);
        }
        let is_known = |speaker: u32| (speaker as usize) < people.speakers.len();
        if people.speakers.len() < stored.speakers.len()
            || !stored
                .callers
                .iter()
                .flat_map(|(_, of)| of)
                .all(|&(speaker, _)| is_known(speaker))
        {
            return None;
        }
        for (name, counts) in stored.callers {
            people.call(&name);
            let name: Arc<str> = name.into();
            if let Some((_, known)) = people.callers.get_mut(&name) {
                known.extend(counts);
            }
        }
        Some(people)
    }

    /// Returns the number of a name by which somebody is addressed; adds the name if it is new.
    fn call(&mut self, name: &str) -> u32 {
        if let Some((number, _)) = self.callers.get(name) {
            return *number;
        }
        let number = self.called.len() as u32;
        let name: Arc<str> = name.into();
        self.called.push(Arc::clone(&name));
        self.callers.insert(name, (number, HashMap::new()));
        number
    }

    /// Returns the number of a scope.
    pub(crate) fn find_scope(&self, name: &str) -> Option<u32> {
        self.scope_numbers.get(name).copied()
    }

    /// Returns the number of a scope; adds the scope if the scope is new.
    pub(crate) fn scope(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find_scope(name) {
            return number;
        }
        let number = self.scopes.len() as u32;
        self.scopes.push(Scope {
            name: name.into(),
            ..Scope::default()
        });
        self.scope_numbers.insert(name.into(), number);
        number
    }

    /// Returns the number of a speaker of a scope; adds the speaker if the speaker is new.
    pub(crate) fn speaker(&mut self, scope: u32, name: &str) -> u32 {
        let speakers = &mut self.scopes[scope as usize].speakers;
        if let Some(&number) = speakers.get(name) {
            return number;
        }
        let number = self.speakers.len() as u32;
        let shared: Arc<str> = name.into();
        speakers.insert(Arc::clone(&shared), number);
        self.speakers.push(Speaker {
            scope,
            name: shared,
            documents: 0,
        });
        for word in words(name) {
            let named = self.names.entry(word.into()).or_default();
            if named.last() != Some(&number) {
                named.push(number);
            }
        }
        number
    }

    /// Returns the number of the scope of a speaker.
    #[inline]
    pub(crate) fn scope_of(&self, speaker: u32) -> u32 {
        self.speakers
            .get(speaker as usize)
            .map_or(u32::MAX, |speaker| speaker.scope)
    }

    /// Adds a document of `length` by a speaker to the sums.
    pub(crate) fn add_document(&mut self, speaker: u32, length: u32) {
        let speaker = &mut self.speakers[speaker as usize];
        let scope = &mut self.scopes[speaker.scope as usize];
        speaker.documents += 1;
        scope.documents += 1;
        scope.length += u64::from(length);
        scope.live += u32::from(speaker.documents == 1);
    }

    /// Removes a document of `length` by a speaker from the sums.
    pub(crate) fn remove_document(&mut self, speaker: u32, length: u32) {
        let Some(speaker) = self.speakers.get_mut(speaker as usize) else {
            return;
        };
        // In a hostile file, the sums may be too small.
        let scope = &mut self.scopes[speaker.scope as usize];
        speaker.documents = speaker.documents.saturating_sub(1);
        scope.documents = scope.documents.saturating_sub(1);
        scope.length = scope.length.saturating_sub(u64::from(length));
        scope.live = scope.live.saturating_sub(u32::from(speaker.documents == 0));
    }

    /// Adds the names by which a document of `speaker` addresses somebody. The number of the document must be higher
    /// than the numbers of all documents added before.
    pub(crate) fn add_calls(&mut self, document: u32, speaker: u32, calls: &[&str]) {
        for (place, &call) in (0u8..).zip(calls) {
            let number = self.call(call);
            if let Some((_, callers)) = self.callers.get_mut(call) {
                *callers.entry(speaker).or_default() += 1;
            }
            self.calls.insert(call_row(document, place, number));
        }
    }

    /// Returns the names by which a document addresses somebody.
    pub(crate) fn calls_of(&self, document: u32) -> impl Iterator<Item = &str> {
        let (first, last) = begin_with(&rising_u32(document));
        let numbers = self.calls.range(first, last);
        // In a hostile file, the number may be of no name.
        numbers.filter_map(|found| Some(&**self.called.get(u32_at(&found, 5) as usize)?))
    }

    /// Removes the names by which a document of `speaker` addresses somebody.
    pub(crate) fn remove_calls(&mut self, document: u32, speaker: u32) {
        let names: Vec<String> = self.calls_of(document).map(str::to_owned).collect();
        for name in names {
            let callers = self.callers.get_mut(&*name);
            if let Some(count) = callers.and_then(|(_, callers)| callers.get_mut(&speaker)) {
                *count = count.saturating_sub(1);
            }
        }
    }

    fn live_speakers(&self, scope: u32) -> impl Iterator<Item = u32> {
        let all = self.scopes[scope as usize].speakers.values().copied();
        all.filter(|&number| self.speakers[number as usize].documents > 0)
    }

    /// Returns the speakers to whom `word` may refer, in the scopes that `admits` accepts, in the order of their
    /// numbers.
    pub(crate) fn meant(&self, word: &str, admits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut meant: Vec<u32> = Vec::new();
        // The scopes that have a speaker with this name.
        let mut bearing: HashSet<u32> = HashSet::new();
        for &number in self.names.get(word).map_or(&[][..], Vec::as_slice) {
            let speaker = &self.speakers[number as usize];
            if speaker.documents > 0 {
                bearing.insert(speaker.scope);
                if admits(speaker.scope) && self.scopes[speaker.scope as usize].live > 1 {
                    meant.push(number);
                }
            }
        }
        if let Some((_, callers)) = self.callers.get(word)
            && !facts_of(word).stop
        {
            let scopes = callers.keys().map(|&caller| self.speakers[caller as usize].scope);
            let calling: HashSet<u32> = scopes.collect();
            for scope in calling {
                if admits(scope) && !bearing.contains(&scope) {
                    meant.extend(self.called(scope, callers));
                }
            }
        }
        meant.sort_unstable();
        meant.dedup();
        meant
    }

    /// Returns the speaker to whom a called name refers in a scope with two speakers. Returns `None` if the calls are
    /// ambiguous.
    fn called(&self, scope: u32, callers: &HashMap<u32, u32>) -> Option<u32> {
        if self.scopes[scope as usize].live != 2 {
            return None;
        }
        let mut speakers = self.live_speakers(scope);
        let (one, two) = (speakers.next()?, speakers.next()?);
        let count = |speaker| callers.get(&speaker).copied().unwrap_or(0);
        let (of_one, of_two) = (count(one), count(two));
        let all = of_one + of_two;
        let clear = all >= CALLS_MIN && of_one.max(of_two) * 10 >= all * CALLS_TENTHS;
        clear.then_some(if of_one > of_two { two } else { one })
    }
}

/// Returns the row of a name by which a document addresses somebody.
pub(super) fn call_row(document: u32, place: u8, name: u32) -> [u8; 9] {
    row([&rising_u32(document), &[place], &name.to_le_bytes()])
}

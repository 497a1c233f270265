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

use crate::recall::text::terms::{facts_of, words};

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
    /// For each name, the speakers who address somebody by this name, and how often.
    callers: HashMap<Arc<str>, HashMap<u32, u32>>,
    /// The names by which documents address somebody: the number of the document, and the name.
    calls: Vec<(u32, Arc<str>)>,
}

impl People {
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
        let speaker = &mut self.speakers[speaker as usize];
        let scope = &mut self.scopes[speaker.scope as usize];
        speaker.documents -= 1;
        scope.documents -= 1;
        scope.length -= u64::from(length);
        scope.live -= u32::from(speaker.documents == 0);
    }

    /// Adds the names by which a document of `speaker` addresses somebody. The number of the document must be higher
    /// than the numbers of all documents added before.
    pub(crate) fn add_calls(&mut self, document: u32, speaker: u32, calls: &[&str]) {
        for &call in calls {
            let known = self.callers.get_key_value(call);
            let name: Arc<str> = known.map_or_else(|| call.into(), |(name, _)| Arc::clone(name));
            let callers = self.callers.entry(Arc::clone(&name)).or_default();
            *callers.entry(speaker).or_default() += 1;
            self.calls.push((document, name));
        }
    }

    /// Returns the names by which a document addresses somebody.
    pub(crate) fn calls_of(&self, document: u32) -> impl Iterator<Item = &str> {
        let start = self.calls.partition_point(|(other, _)| *other < document);
        let calls = self.calls[start..].iter();
        calls
            .take_while(move |(other, _)| *other == document)
            .map(|(_, name)| &**name)
    }

    /// Removes the names by which a document of `speaker` addresses somebody.
    pub(crate) fn remove_calls(&mut self, document: u32, speaker: u32) {
        let start = self.calls.partition_point(|(other, _)| *other < document);
        for (_, name) in self.calls[start..].iter().take_while(|call| call.0 == document) {
            let callers = self.callers.get_mut(name);
            if let Some(count) = callers.and_then(|callers| callers.get_mut(&speaker)) {
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
        if let Some(callers) = self.callers.get(word)
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

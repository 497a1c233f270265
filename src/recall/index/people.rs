//! Scopes, speakers, and the names that speakers are called by.
//!
//! A speaker belongs to one scope: two scopes may each have an Anna. Where two speakers share a scope, a name
//! that one of them keeps calling is the other's, though no memory says so; these calls are counted.
//!
//! # Layer
//! Knows names and counts; not memories.
//!
//! # Invariants
//! - PEO-1: counts are of live memories; a scope or speaker without any is as if it were not there.
//! - PEO-2: whom a name means in a scope depends on that scope alone.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::recall::text::terms::{facts_of, words};

/// Calls that make a name, and the share of them that has to come from one speaker, in tenths.
const CALLS_MIN: u32 = 3;
const CALLS_TENTHS: u32 = 8;

/// One scope, with the sums that ranking needs.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    pub(crate) name: Box<str>,
    pub(crate) memories: u32,
    /// The lengths of its memories together, in quarters.
    pub(crate) length: u64,
    /// Sessions with members.
    pub(crate) sessions: u32,
    /// How many of its speakers are live.
    pub(crate) live: u32,
    /// Its speakers, live or not.
    pub(crate) speakers: Vec<u32>,
    /// Its unnamed sessions in order of time.
    pub(crate) gaps: Vec<u32>,
}

/// One speaker of one scope.
#[derive(Clone)]
pub(crate) struct Speaker {
    pub(crate) scope: u32,
    pub(crate) name: Box<str>,
    pub(crate) memories: u32,
}

/// A name that is called, and the speakers that call it with how often.
type Called = (Box<str>, HashMap<u32, u32>);

/// Scopes and speakers by number, and the names.
#[derive(Clone, Default)]
pub(crate) struct People {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) speakers: Vec<Speaker>,
    scope_numbers: HashMap<Box<str>, u32>,
    /// Speakers by scope and name.
    speaker_numbers: HashTable<u32>,
    hasher: RandomState,
    /// Speakers by each word of their names.
    names: HashMap<Box<str>, Vec<u32>>,
    /// Names called, by number, with who called them how often.
    callers: Vec<Called>,
    call_numbers: HashMap<Box<str>, u32>,
    /// The calls of each memory, by its number.
    calls: Vec<(u32, u32)>,
}

impl People {
    /// The number of a scope.
    pub(crate) fn find_scope(&self, name: &str) -> Option<u32> {
        self.scope_numbers.get(name).copied()
    }

    /// The number of a scope, new or not.
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

    /// The number of a speaker of a scope, new or not.
    pub(crate) fn speaker(&mut self, scope: u32, name: &str) -> u32 {
        let hash = self.hasher.hash_one((scope, name));
        let same = |&number: &u32| {
            let speaker = &self.speakers[number as usize];
            speaker.scope == scope && *speaker.name == *name
        };
        if let Some(&number) = self.speaker_numbers.find(hash, same) {
            return number;
        }
        let number = self.speakers.len() as u32;
        self.speakers.push(Speaker {
            scope,
            name: name.into(),
            memories: 0,
        });
        let (speakers, hasher) = (&self.speakers, &self.hasher);
        self.speaker_numbers.insert_unique(hash, number, |&number| {
            let speaker = &speakers[number as usize];
            hasher.hash_one((speaker.scope, &*speaker.name))
        });
        self.scopes[scope as usize].speakers.push(number);
        for word in words(name) {
            let named = self.names.entry(word.into()).or_default();
            if named.last() != Some(&number) {
                named.push(number);
            }
        }
        number
    }

    /// Counts a memory more of a speaker.
    pub(crate) fn add_memory(&mut self, speaker: u32) {
        let speaker = &mut self.speakers[speaker as usize];
        speaker.memories += 1;
        if speaker.memories == 1 {
            self.scopes[speaker.scope as usize].live += 1;
        }
    }

    /// Counts a memory less of a speaker.
    pub(crate) fn remove_memory(&mut self, speaker: u32) {
        let speaker = &mut self.speakers[speaker as usize];
        speaker.memories -= 1;
        if speaker.memories == 0 {
            self.scopes[speaker.scope as usize].live -= 1;
        }
    }

    /// Counts the names that a memory of `speaker` calls; memories come with rising numbers.
    pub(crate) fn add_calls(&mut self, memory: u32, speaker: u32, calls: &[String]) {
        for call in calls {
            let number = match self.call_numbers.get(call.as_str()) {
                Some(&number) => number,
                None => {
                    let number = self.callers.len() as u32;
                    self.callers.push((call.as_str().into(), HashMap::new()));
                    self.call_numbers.insert(call.as_str().into(), number);
                    number
                }
            };
            *self.callers[number as usize].1.entry(speaker).or_default() += 1;
            self.calls.push((memory, number));
        }
    }

    /// The names that a memory calls.
    pub(crate) fn calls_of(&self, memory: u32) -> impl Iterator<Item = &str> {
        let start = self.calls.partition_point(|&(other, _)| other < memory);
        let calls = self.calls[start..]
            .iter()
            .take_while(move |&&(other, _)| other == memory);
        calls.map(|&(_, number)| &*self.callers[number as usize].0)
    }

    /// Takes the calls of a memory of `speaker` out of the counts.
    pub(crate) fn remove_calls(&mut self, memory: u32, speaker: u32) {
        let start = self.calls.partition_point(|&(other, _)| other < memory);
        for &(_, number) in self.calls[start..]
            .iter()
            .take_while(|&&(other, _)| other == memory)
        {
            if let Some(count) = self.callers[number as usize].1.get_mut(&speaker) {
                *count = count.saturating_sub(1);
            }
        }
    }

    fn live_speakers(&self, scope: u32) -> impl Iterator<Item = u32> {
        let all = self.scopes[scope as usize].speakers.iter().copied();
        all.filter(|&number| self.speakers[number as usize].memories > 0)
    }

    /// The speakers whom `word` means in the scopes that `admits` admits, in order of their numbers.
    pub(crate) fn meant(&self, word: &str, admits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut meant: Vec<u32> = Vec::new();
        // The scopes in which a speaker bears `word` in the name.
        let mut bearing: HashSet<u32> = HashSet::new();
        for &number in self.names.get(word).map_or(&[][..], Vec::as_slice) {
            let speaker = &self.speakers[number as usize];
            if speaker.memories > 0 {
                bearing.insert(speaker.scope);
                if admits(speaker.scope) && self.scopes[speaker.scope as usize].live > 1 {
                    meant.push(number);
                }
            }
        }
        if let Some(&call) = self.call_numbers.get(word)
            && !facts_of(word).stop
        {
            let callers = self.callers[call as usize].1.keys();
            let calling: HashSet<u32> = callers
                .map(|&caller| self.speakers[caller as usize].scope)
                .collect();
            for scope in calling {
                if admits(scope) && !bearing.contains(&scope) {
                    meant.extend(self.called(scope, call));
                }
            }
        }
        meant.sort_unstable();
        meant.dedup();
        meant
    }

    /// Whom the two speakers of `scope` mean by the name numbered `call`, if one of them does.
    fn called(&self, scope: u32, call: u32) -> Option<u32> {
        if self.scopes[scope as usize].live != 2 {
            return None;
        }
        let mut speakers = self.live_speakers(scope);
        let (one, two) = (speakers.next()?, speakers.next()?);
        let callers = &self.callers[call as usize].1;
        let count = |speaker| callers.get(&speaker).copied().unwrap_or(0);
        let (of_one, of_two) = (count(one), count(two));
        let all = of_one + of_two;
        let clear = all >= CALLS_MIN && of_one.max(of_two) * 10 >= all * CALLS_TENTHS;
        clear.then_some(if of_one > of_two { two } else { one })
    }
}

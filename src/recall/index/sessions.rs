//! Sessions: the neighbours of each document, and which sessions are conversations.
//!
//! The caller names a session, or the documents of a scope without one form sessions: each follows the one before
//! within `GAP_SECONDS`. Members are in the order of time, so a neighbour is the next element.
//!
//! # Layer
//! Knows columns, not terms.
//!
//! # Invariants
//! - SES-1: the members of a session are live, of one scope, and in chronological order.
//! - SES-2: sessions and their members depend on the content of the index, not on its history.
//! - SES-3: two unnamed sessions of a scope are more than `GAP_SECONDS` apart; successive members of one are not.
//! - SES-4: the counts of a session's speakers are those of its members.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::columns::Columns;

/// A pause that ends an unnamed session.
pub(crate) const GAP_SECONDS: i64 = 6 * 3600;

/// A session.
#[derive(Clone, Default)]
pub(crate) struct Session {
    pub(crate) scope: u32,
    /// `None` for a session between pauses.
    pub(crate) name: Option<Box<str>>,
    pub(crate) members: Vec<u32>,
    /// The total length of its members, in quarters.
    pub(crate) length: u64,
    /// Its speakers in order of their numbers, each with the number of its members.
    pub(crate) speakers: Vec<(u32, u32)>,
}

impl Session {
    /// Whether it has two speakers or more.
    pub(crate) fn is_conversation(&self) -> bool {
        self.speakers.len() > 1
    }

    /// Adds `count` members of `speaker`.
    fn add_speaker(&mut self, speaker: u32, count: u32) {
        match self.speakers.binary_search_by_key(&speaker, |&(other, _)| other) {
            Ok(at) => self.speakers[at].1 += count,
            Err(at) => {
                super::grow(&mut self.speakers, 1);
                self.speakers.insert(at, (speaker, count));
            }
        }
    }

    /// Removes `count` members of `speaker`.
    fn remove_speaker(&mut self, speaker: u32, count: u32) {
        if let Ok(at) = self.speakers.binary_search_by_key(&speaker, |&(other, _)| other) {
            self.speakers[at].1 = self.speakers[at].1.saturating_sub(count);
            if self.speakers[at].1 == 0 {
                self.speakers.remove(at);
            }
        }
    }
}

/// All sessions.
#[derive(Clone, Default)]
pub(crate) struct Sessions {
    pub(crate) all: Vec<Session>,
    table: HashTable<u32>,
    hasher: RandomState,
    /// Unnamed sessions without members, for reuse.
    vacant: Vec<u32>,
}

impl Sessions {
    fn hash(&self, scope: u32, name: &str) -> u64 {
        self.hasher.hash_one((scope, name))
    }

    /// The number of a named session, new or not.
    pub(crate) fn intern(&mut self, scope: u32, name: &str) -> u32 {
        let hash = self.hash(scope, name);
        let same = |&number: &u32| {
            let session = &self.all[number as usize];
            session.scope == scope && session.name.as_deref() == Some(name)
        };
        if let Some(&number) = self.table.find(hash, same) {
            return number;
        }
        let number = self.all.len() as u32;
        super::grow(&mut self.all, 1);
        self.all.push(Session {
            scope,
            name: Some(name.into()),
            ..Session::default()
        });
        let mut table = std::mem::take(&mut self.table);
        table.insert_unique(hash, number, |&number| {
            let session = &self.all[number as usize];
            self.hash(session.scope, session.name.as_deref().unwrap_or_default())
        });
        self.table = table;
        number
    }

    fn unnamed(&mut self, scope: u32) -> u32 {
        let session = Session {
            scope,
            ..Session::default()
        };
        if let Some(number) = self.vacant.pop() {
            self.all[number as usize] = session;
            return number;
        }
        super::grow(&mut self.all, 1);
        self.all.push(session);
        self.all.len() as u32 - 1
    }

    /// The unnamed session among `gaps`, those of a scope in order of time, for a document of `time`. Joins sessions
    /// that it connects.
    pub(crate) fn settle(
        &mut self,
        scope: u32,
        gaps: &mut Vec<u32>,
        columns: &mut Columns,
        time: i64,
    ) -> u32 {
        let at = gaps.partition_point(|&number| self.span(number, columns).0 <= time);
        let near = |number: u32| {
            let (first, last) = self.span(number, columns);
            time.saturating_sub(last) <= GAP_SECONDS && first.saturating_sub(time) <= GAP_SECONDS
        };
        let before = at
            .checked_sub(1)
            .map(|at| gaps[at])
            .filter(|&number| near(number));
        let after = gaps.get(at).copied().filter(|&number| near(number));
        match (before, after) {
            (Some(before), Some(after)) => {
                gaps.remove(at);
                let mut joined = std::mem::take(&mut self.all[after as usize]);
                for &member in &joined.members {
                    columns.sessions[member as usize] = before;
                }
                let session = &mut self.all[before as usize];
                session.members.append(&mut joined.members);
                session.length += joined.length;
                for (speaker, count) in joined.speakers {
                    session.add_speaker(speaker, count);
                }
                self.vacant.push(after);
                before
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => {
                let number = self.unnamed(scope);
                super::grow(gaps, 1);
                gaps.insert(at, number);
                number
            }
        }
    }

    /// The times of the first and the last member.
    fn span(&self, number: u32, columns: &Columns) -> (i64, i64) {
        let members = &self.all[number as usize].members;
        let time = |member: Option<&u32>| member.map_or(i64::MIN, |&member| columns.times[member as usize]);
        (time(members.first()), time(members.last()))
    }

    /// The place of a document in its session, or where it belongs.
    pub(crate) fn place(&self, session: u32, number: u32, columns: &Columns) -> usize {
        let members = &self.all[session as usize].members;
        members.partition_point(|&member| columns.chronology(member, number) == Ordering::Less)
    }

    /// Adds a document to its session; true if it is the first member.
    pub(crate) fn insert(&mut self, number: u32, columns: &Columns) -> bool {
        let row = columns.row(number);
        let place = self.place(row.session, number, columns);
        let session = &mut self.all[row.session as usize];
        session.add_speaker(row.speaker, 1);
        super::grow(&mut session.members, 1);
        session.members.insert(place, number);
        session.length += u64::from(row.length);
        session.members.len() == 1
    }

    /// Removes a document from its session, and splits an unnamed session that it held together. Returns the change of
    /// the scope's number of sessions.
    pub(crate) fn remove(&mut self, number: u32, gaps: &mut Vec<u32>, columns: &mut Columns) -> i32 {
        let row = columns.row(number);
        let place = self.place(row.session, number, columns);
        // Unnamed sessions of a scope start at different times, so this finds the right one.
        let gap = gaps.partition_point(|&gap| self.span(gap, columns).0 < row.time);
        let session = &mut self.all[row.session as usize];
        session.members.remove(place);
        session.length -= u64::from(row.length);
        session.remove_speaker(row.speaker, 1);
        if session.members.is_empty() {
            if session.name.is_none() {
                if gaps.get(gap) == Some(&row.session) {
                    gaps.remove(gap);
                }
                self.vacant.push(row.session);
            }
            return -1;
        }
        let split = session.name.is_none() && place > 0 && {
            let (before, after) = (session.members.get(place - 1), session.members.get(place));
            before.zip(after).is_some_and(|(&before, &after)| {
                columns.times[after as usize].saturating_sub(columns.times[before as usize]) > GAP_SECONDS
            })
        };
        if split {
            self.split(row.session, place, gaps, columns);
        }
        i32::from(split)
    }

    /// Moves the members from `place` on to an unnamed session of their own.
    fn split(&mut self, number: u32, place: usize, gaps: &mut Vec<u32>, columns: &mut Columns) {
        let scope = self.all[number as usize].scope;
        let members = self.all[number as usize].members.split_off(place);
        let length: u64 = members
            .iter()
            .map(|&member| u64::from(columns.lengths[member as usize]))
            .sum();
        self.all[number as usize].length -= length;
        let fresh = self.unnamed(scope);
        for &member in &members {
            let speaker = columns.speakers[member as usize];
            columns.sessions[member as usize] = fresh;
            self.all[number as usize].remove_speaker(speaker, 1);
            self.all[fresh as usize].add_speaker(speaker, 1);
        }
        self.all[fresh as usize].members = members;
        self.all[fresh as usize].length = length;
        let at = gaps
            .iter()
            .position(|&gap| gap == number)
            .map_or(gaps.len(), |at| at + 1);
        gaps.insert(at, fresh);
    }

    /// The member `offset` places after the one at `place` of a session.
    pub(crate) fn neighbour(&self, session: u32, place: usize, offset: isize) -> Option<u32> {
        let at = place.checked_add_signed(offset)?;
        self.all[session as usize].members.get(at).copied()
    }
}

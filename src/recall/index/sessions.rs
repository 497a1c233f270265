//! Sessions: finds the neighbours of each document, and the sessions that are conversations.
//!
//! The caller names a session. Documents without a session name form unnamed sessions within their scope. In an unnamed
//! session, each document follows the previous document within `GAP_SECONDS`. Members are sorted by time, so the
//! neighbours of a document are the elements before and after it.
//!
//! # Layer
//! Uses columns, not terms.
//!
//! # Invariants
//! - SES-1: the members of a session are live, in one scope, and in chronological order.
//! - SES-2: sessions and their members depend on the content of the index, not on its history.
//! - SES-3: two unnamed sessions of a scope are more than `GAP_SECONDS` apart. Successive members of an unnamed session
//!   are at most `GAP_SECONDS` apart.
//! - SES-4: the counts of a session's speakers are the counts of its members by speaker.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::columns::{Columns, Row};
use super::compact::{append, grow};

/// The pause that ends an unnamed session.
pub(crate) const GAP_SECONDS: i64 = 6 * 3600;

/// A session.
#[derive(Clone, Default)]
pub(crate) struct Session {
    pub(crate) scope: u32,
    /// The name; `None` for an unnamed session.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) members: Vec<u32>,
    /// The total length of the members of the session, in units of a quarter.
    pub(crate) length: u64,
    /// The speakers of the session, in the order of their numbers, each with the number of documents by this speaker.
    pub(crate) speakers: Vec<(u32, u32)>,
}

impl Session {
    /// Returns whether the session has a name, and two speakers or more.
    pub(crate) fn is_conversation(&self) -> bool {
        self.name.is_some() && self.speakers.len() > 1
    }

    /// Adds the length and the speaker of a member to the sums.
    fn add(&mut self, row: &Row) {
        self.length += u64::from(row.length);
        match self
            .speakers
            .binary_search_by_key(&row.speaker, |&(other, _)| other)
        {
            Ok(at) => self.speakers[at].1 += 1,
            Err(at) => {
                grow(&mut self.speakers, 1);
                self.speakers.insert(at, (row.speaker, 1));
            }
        }
    }

    /// Removes the length and the speaker of a member from the sums.
    fn subtract(&mut self, row: &Row) {
        self.length -= u64::from(row.length);
        for (_, count) in self.speakers.iter_mut().filter(|of| of.0 == row.speaker) {
            *count -= 1;
        }
        self.speakers.retain(|(_, count)| *count > 0);
    }
}

/// The sessions of a scope.
#[derive(Clone, Default)]
struct OfScope {
    named: HashMap<Arc<str>, u32>,
    /// The unnamed sessions of the scope, in the order of time.
    unnamed: Vec<u32>,
    /// The number of sessions of the scope that have members.
    live: u32,
}

/// All sessions.
#[derive(Clone, Default)]
pub(crate) struct Sessions {
    pub(crate) all: Vec<Session>,
    /// The sessions of each scope, by the number of the scope.
    scopes: Vec<OfScope>,
    /// Unnamed sessions without members, for reuse.
    vacant: Vec<u32>,
}

impl Sessions {
    /// Returns the number of sessions of a scope that have members.
    pub(crate) fn count(&self, scope: u32) -> u32 {
        self.scopes.get(scope as usize).map_or(0, |scope| scope.live)
    }

    fn of_scope(&mut self, scope: u32) -> &mut OfScope {
        if self.scopes.len() <= scope as usize {
            self.scopes.resize_with(scope as usize + 1, OfScope::default);
        }
        &mut self.scopes[scope as usize]
    }

    /// Returns the number of a named session; adds the session if the session is new.
    pub(crate) fn intern(&mut self, scope: u32, name: &str) -> u32 {
        let number = self.all.len() as u32;
        let named = &mut self.of_scope(scope).named;
        if let Some(&known) = named.get(name) {
            return known;
        }
        let name: Arc<str> = name.into();
        named.insert(Arc::clone(&name), number);
        let session = Session {
            scope,
            name: Some(name),
            ..Session::default()
        };
        append(&mut self.all, session);
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
        append(&mut self.all, session);
        self.all.len() as u32 - 1
    }

    /// Returns the unnamed session of a scope for a document of time `time`. Joins two sessions if the document
    /// connects them.
    pub(crate) fn unnamed_at(&mut self, scope: u32, time: i64, columns: &mut Columns) -> u32 {
        self.of_scope(scope);
        let unnamed = &self.scopes[scope as usize].unnamed;
        let at = unnamed.partition_point(|&number| self.span(number, columns).0 <= time);
        let near = |number: &u32| {
            let (first, last) = self.span(*number, columns);
            time.saturating_sub(last) <= GAP_SECONDS && first.saturating_sub(time) <= GAP_SECONDS
        };
        let before = at.checked_sub(1).map(|at| unnamed[at]).filter(near);
        let after = unnamed.get(at).copied().filter(near);
        match (before, after) {
            (Some(before), Some(after)) => {
                self.join(before, after, columns);
                let scope = self.of_scope(scope);
                scope.unnamed.remove(at);
                scope.live -= 1;
                before
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => {
                let number = self.unnamed(scope);
                let unnamed = &mut self.of_scope(scope).unnamed;
                grow(unnamed, 1);
                unnamed.insert(at, number);
                number
            }
        }
    }

    /// Moves the members of `after` to the end of `before`.
    fn join(&mut self, before: u32, after: u32, columns: &mut Columns) {
        let mut joined = std::mem::take(&mut self.all[after as usize]);
        let session = &mut self.all[before as usize];
        for &member in &joined.members {
            columns.sessions[member as usize] = before;
            session.add(&columns.row(member));
        }
        session.members.append(&mut joined.members);
        self.vacant.push(after);
    }

    /// Returns the times of the first and the last member.
    fn span(&self, number: u32, columns: &Columns) -> (i64, i64) {
        let members = &self.all[number as usize].members;
        let time = |member: Option<&u32>| member.map_or(i64::MIN, |&member| columns.times[member as usize]);
        (time(members.first()), time(members.last()))
    }

    /// Returns the position of a document in its session, or the position at which to insert it.
    pub(crate) fn place(&self, session: u32, number: u32, columns: &Columns) -> usize {
        let members = &self.all[session as usize].members;
        members.partition_point(|&member| columns.chronology(member, number) == Ordering::Less)
    }

    /// Adds a document to its session.
    pub(crate) fn insert(&mut self, number: u32, columns: &Columns) {
        let row = columns.row(number);
        let place = self.place(row.session, number, columns);
        let session = &mut self.all[row.session as usize];
        session.add(&row);
        grow(&mut session.members, 1);
        session.members.insert(place, number);
        let is_first = session.members.len() == 1;
        let scope = session.scope;
        self.of_scope(scope).live += u32::from(is_first);
    }

    /// Returns the position of an unnamed session in its scope. The unnamed sessions of a scope start at different
    /// times.
    fn place_in_scope(&self, session: u32, columns: &Columns) -> usize {
        let scope = self.all[session as usize].scope;
        let start = self.span(session, columns).0;
        let unnamed = &self.scopes[scope as usize].unnamed;
        unnamed.partition_point(|&other| self.span(other, columns).0 < start)
    }

    /// Removes a document from its session. Splits an unnamed session if only this document connected its parts.
    pub(crate) fn remove(&mut self, number: u32, columns: &mut Columns) {
        let row = columns.row(number);
        let place = self.place(row.session, number, columns);
        let place_in_scope = self.place_in_scope(row.session, columns);
        let session = &mut self.all[row.session as usize];
        session.members.remove(place);
        session.subtract(&row);
        let is_unnamed = session.name.is_none();
        if session.members.is_empty() {
            let scope = &mut self.scopes[session.scope as usize];
            scope.live -= 1;
            if is_unnamed {
                scope.unnamed.remove(place_in_scope);
                self.vacant.push(row.session);
            }
            return;
        }
        let time = |place: usize| columns.times[session.members[place] as usize];
        let is_inside = place > 0 && place < session.members.len();
        if is_unnamed && is_inside && time(place).saturating_sub(time(place - 1)) > GAP_SECONDS {
            self.split(row.session, place, place_in_scope, columns);
        }
    }

    /// Moves the members from `place` on to a new unnamed session, which follows the old session in the scope.
    fn split(&mut self, number: u32, place: usize, place_in_scope: usize, columns: &mut Columns) {
        let session = &mut self.all[number as usize];
        let scope = session.scope;
        let members = session.members.split_off(place);
        let fresh = self.unnamed(scope);
        for &member in &members {
            let row = columns.row(member);
            columns.sessions[member as usize] = fresh;
            self.all[number as usize].subtract(&row);
            self.all[fresh as usize].add(&row);
        }
        self.all[fresh as usize].members = members;
        let scope = self.of_scope(scope);
        scope.unnamed.insert(place_in_scope + 1, fresh);
        scope.live += 1;
    }
}

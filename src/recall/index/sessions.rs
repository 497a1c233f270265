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

use super::column::{Column, Fixed, Limits, Run, Spliced, number_below, number_in};
use super::columns::{Columns, Row};
use super::compact::{append, grow};
use super::layout::Section;
use crate::tables::{Image, u32_at, u64_at};

/// The pause that ends an unnamed session.
pub(crate) const GAP_SECONDS: i64 = 6 * 3600;

/// A session.
#[derive(Clone, Default)]
pub(crate) struct Session {
    pub(crate) scope: u32,
    /// The name; `None` for an unnamed session.
    pub(crate) name: Option<Arc<str>>,
    pub(super) members: Spliced,
    /// The total length of the members of the session, in units of a quarter.
    pub(crate) length: u64,
    /// The speakers of the session, in the order of their numbers, each with the number of documents by this speaker.
    pub(crate) speakers: Vec<(u32, u32)>,
}

impl Session {
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
        // In a hostile file, the sums may be too small.
        self.length = self.length.saturating_sub(u64::from(row.length));
        for (_, count) in self.speakers.iter_mut().filter(|of| of.0 == row.speaker) {
            *count = count.saturating_sub(1);
        }
        self.speakers.retain(|(_, count)| *count > 0);
    }
}

/// A session of an image. The lists of sessions follow each other in their sections.
#[derive(Clone, Copy, Default)]
pub(super) struct StoredSession {
    pub(super) scope: u32,
    pub(super) is_named: bool,
    pub(super) length: u64,
    /// The start and the length of the members, of the speakers, and of the name in bytes.
    pub(super) members: (u32, u32),
    pub(super) speakers: (u32, u32),
    pub(super) name: (u32, u32),
}

impl Fixed for StoredSession {
    const BYTES: usize = 40;

    fn read(bytes: &[u8]) -> Self {
        let pair = |at| (u32_at(bytes, at), u32_at(bytes, at + 4));
        Self {
            scope: u32_at(bytes, 0),
            is_named: u32_at(bytes, 4) != 0,
            length: u64_at(bytes, 8),
            members: pair(16),
            speakers: pair(24),
            name: pair(32),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.scope.to_le_bytes());
        bytes.extend_from_slice(&u32::from(self.is_named).to_le_bytes());
        bytes.extend_from_slice(&self.length.to_le_bytes());
        for (start, length) in [self.members, self.speakers, self.name] {
            bytes.extend_from_slice(&start.to_le_bytes());
            bytes.extend_from_slice(&length.to_le_bytes());
        }
    }

    fn is_within(&self, limits: &Limits) -> bool {
        self.scope < limits.scopes
    }
}

/// The sessions of an image.
#[derive(Clone)]
struct Base {
    image: Arc<Image>,
    /// The number of the first section of the index.
    first: usize,
    rows: Column<StoredSession>,
    sessions: u32,
    /// The number of documents. A member of a higher number is hostile.
    documents: u32,
}

impl Base {
    fn section(&self, section: Section) -> usize {
        self.first + section as usize
    }

    #[inline]
    fn get(&self, number: u32) -> StoredSession {
        self.rows.get(number)
    }

    /// Returns the member at a place of a session.
    #[inline]
    fn member(&self, of: &StoredSession, place: usize) -> Option<u32> {
        if place >= of.members.1 as usize {
            return None;
        }
        let at = (of.members.0 as usize).checked_add(place)?;
        number_below(&self.image, self.section(Section::Members), at, self.documents)
    }

    fn name(&self, of: &StoredSession) -> &str {
        let (start, length) = (of.name.0 as usize, of.name.1 as usize);
        let bytes = self
            .image
            .read(self.section(Section::SessionNames), start, length);
        bytes
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_else(|| {
                self.image.fail();
                ""
            })
    }

    fn members(&self, of: &StoredSession) -> Spliced {
        let section = self.section(Section::Members);
        let end = u64::from(of.members.0) + u64::from(of.members.1);
        if end * 4 > self.image.length(section) as u64 {
            self.image.fail();
            return Spliced::default();
        }
        let run = Run::In {
            image: Arc::clone(&self.image),
            section,
            start: of.members.0,
            limit: self.documents,
        };
        Spliced::of(run, of.members.1)
    }

    /// Returns the speakers of a session with the numbers of their documents.
    fn speakers(&self, of: &StoredSession) -> impl Iterator<Item = (u32, u32)> + '_ {
        let section = self.section(Section::SessionSpeakers);
        let places = u64::from(of.speakers.0)..u64::from(of.speakers.0) + u64::from(of.speakers.1);
        let number = move |at: u64| number_in(&self.image, section, usize::try_from(at).ok()?);
        places.map_while(move |at| Some((number(at * 2)?, number(at * 2 + 1)?)))
    }

    fn load(&self, number: u32) -> Session {
        let stored = self.get(number);
        Session {
            scope: stored.scope,
            name: stored.is_named.then(|| self.name(&stored).into()),
            members: self.members(&stored),
            length: stored.length,
            speakers: self.speakers(&stored).collect(),
        }
    }
}

/// The sessions of a scope.
#[derive(Clone, Default)]
pub(super) struct OfScope {
    /// The named sessions that are not in the image.
    named: HashMap<Arc<str>, u32>,
    /// The named sessions of the image, in the order of their names.
    named_in_base: std::ops::Range<u32>,
    /// The unnamed sessions of the scope, in the order of time.
    pub(super) unnamed: Spliced,
    /// The number of sessions of the scope that have members.
    live: u32,
}

/// All sessions.
#[derive(Clone, Default)]
pub(crate) struct Sessions {
    base: Option<Base>,
    /// The sessions of the image that changed since.
    changed: HashMap<u32, Session>,
    more: Vec<Session>,
    /// The sessions of each scope, by the number of the scope.
    scopes: Vec<OfScope>,
    /// Unnamed sessions without members, for reuse.
    vacant: Vec<u32>,
}

impl Sessions {
    /// Returns the sessions in an image. `scopes` has the numbers of unnamed and of named sessions of each scope. Returns
    /// `None` if the sections do not have as many sessions.
    pub(super) fn of(
        image: &Arc<Image>,
        first: usize,
        scopes: &[(u32, u32)],
        documents: u32,
    ) -> Option<Self> {
        let mut next = 0u32;
        let of_scope = |&(unnamed, named): &(u32, u32)| {
            let start = next;
            let middle = start.checked_add(unnamed)?;
            next = middle.checked_add(named)?;
            Some(OfScope {
                unnamed: Spliced::of(Run::From(start), unnamed),
                named_in_base: middle..next,
                live: unnamed + named,
                ..OfScope::default()
            })
        };
        let scopes = scopes.iter().map(of_scope).collect::<Option<Vec<_>>>()?;
        let limits = Limits {
            scopes: scopes.len() as u32,
            ..Limits::default()
        };
        let section = first + Section::Sessions as usize;
        Some(Self {
            base: Some(Base {
                image: Arc::clone(image),
                first,
                rows: Column::of(image, section, next, limits)?,
                sessions: next,
                documents,
            }),
            scopes,
            ..Self::default()
        })
    }

    fn base_len(&self) -> u32 {
        self.base.as_ref().map_or(0, |base| base.sessions)
    }

    /// Returns how many session numbers exist.
    pub(crate) fn len(&self) -> usize {
        self.base_len() as usize + self.more.len()
    }

    /// Returns the session in memory, or the session in the image.
    #[inline]
    fn get(&self, number: u32) -> Result<&Session, (&Base, StoredSession)> {
        static NONE: Session = Session {
            scope: 0,
            name: None,
            members: Spliced::EMPTY,
            length: 0,
            speakers: Vec::new(),
        };
        if let Some(at) = number.checked_sub(self.base_len()) {
            return Ok(self.more.get(at as usize).unwrap_or(&NONE));
        }
        if let Some(changed) = self.changed.get(&number) {
            return Ok(changed);
        }
        let base = self.base.as_ref().ok_or(&NONE);
        base.map_or_else(Ok, |base| Err((base, base.get(number))))
    }

    fn get_mut(&mut self, number: u32) -> &mut Session {
        let Self {
            base, changed, more, ..
        } = self;
        let base = base.as_ref();
        match number.checked_sub(base.map_or(0, |base| base.sessions)) {
            // In a hostile file, the number may be too high; then a session that nobody reads takes the change.
            Some(at) if (at as usize) < more.len() => &mut more[at as usize],
            _ => changed
                .entry(number)
                .or_insert_with(|| base.map_or_else(Session::default, |base| base.load(number))),
        }
    }

    /// Returns the total length of the members of a session, in units of a quarter.
    #[inline]
    pub(crate) fn length(&self, number: u32) -> u64 {
        self.get(number).map_or_else(|(_, of)| of.length, |of| of.length)
    }

    /// Returns the scope of a session.
    pub(crate) fn scope(&self, number: u32) -> u32 {
        self.get(number).map_or_else(|(_, of)| of.scope, |of| of.scope)
    }

    /// Returns whether a session has a name.
    pub(crate) fn is_named(&self, number: u32) -> bool {
        self.get(number)
            .map_or_else(|(_, of)| of.is_named, |of| of.name.is_some())
    }

    /// Returns the name of a session.
    pub(super) fn name(&self, number: u32) -> Option<&str> {
        match self.get(number) {
            Ok(of) => of.name.as_deref(),
            Err((base, of)) => of.is_named.then(|| base.name(&of)),
        }
    }

    /// Returns whether the session has a name, and two speakers or more.
    pub(crate) fn is_conversation(&self, number: u32) -> bool {
        let (is_named, speakers) = self.get(number).map_or_else(
            |(_, of)| (of.is_named, of.speakers.1 as usize),
            |of| (of.name.is_some(), of.speakers.len()),
        );
        is_named && speakers > 1
    }

    /// Returns whether a speaker of the session meets a condition.
    pub(crate) fn has_speaker(&self, number: u32, meets: impl Fn(u32) -> bool) -> bool {
        match self.get(number) {
            Ok(of) => of.speakers.iter().any(|&(speaker, _)| meets(speaker)),
            Err((base, of)) => base.speakers(&of).any(|(speaker, _)| meets(speaker)),
        }
    }

    /// Returns the members of a session.
    pub(super) fn members(&self, number: u32) -> Spliced {
        match self.get(number) {
            Ok(of) => of.members.clone(),
            Err((base, of)) => base.members(&of),
        }
    }

    /// Calls `read` with the members of a session.
    fn with_members<T>(&self, number: u32, read: impl FnOnce(&Spliced) -> T) -> T {
        match self.get(number) {
            Ok(of) => read(&of.members),
            Err((base, of)) => read(&base.members(&of)),
        }
    }

    /// Returns the document at a distance from a place in a session.
    pub(crate) fn member(&self, number: u32, place: usize, distance: isize) -> Option<u32> {
        let place = place.checked_add_signed(distance)?;
        match self.get(number) {
            Ok(of) => of.members.get(place),
            Err((base, of)) => base.member(&of, place),
        }
    }

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

    /// Returns the live sessions of a scope: the unnamed ones in the order of time, and the named ones.
    pub(super) fn of_scope_in_order(&self, scope: u32) -> (Vec<u32>, Vec<u32>) {
        let Some(of) = self.scopes.get(scope as usize) else {
            return Default::default();
        };
        let is_live = |number: &u32| self.with_members(*number, |members| !members.is_empty());
        let named = of.named_in_base.clone().chain(of.named.values().copied());
        let mut named: Vec<u32> = named.filter(is_live).collect();
        named.sort_by(|one, two| self.name(*one).cmp(&self.name(*two)));
        (of.unnamed.iter().collect(), named)
    }

    /// Returns the number of a named session; adds the session if the session is new.
    pub(crate) fn intern(&mut self, scope: u32, name: &str) -> u32 {
        let of = self.of_scope(scope);
        if let Some(&known) = of.named.get(name) {
            return known;
        }
        let in_base = of.named_in_base.clone();
        if let Some(known) = self.named_in_base(in_base, name) {
            return known;
        }
        let number = self.len() as u32;
        let name: Arc<str> = name.into();
        self.of_scope(scope).named.insert(Arc::clone(&name), number);
        let session = Session {
            scope,
            name: Some(name),
            ..Session::default()
        };
        append(&mut self.more, session);
        number
    }

    /// Returns the session with a name among sessions of the image that are in the order of their names.
    fn named_in_base(&self, numbers: std::ops::Range<u32>, name: &str) -> Option<u32> {
        let base = self.base.as_ref()?;
        let (mut low, mut high) = (numbers.start, numbers.end);
        while low < high {
            let middle = low.midpoint(high);
            match base.name(&base.get(middle)).cmp(name) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn unnamed(&mut self, scope: u32) -> u32 {
        let session = Session {
            scope,
            ..Session::default()
        };
        if let Some(number) = self.vacant.pop() {
            *self.get_mut(number) = session;
            return number;
        }
        append(&mut self.more, session);
        self.len() as u32 - 1
    }

    /// Returns the unnamed session of a scope for a document of time `time`. Joins two sessions if the document
    /// connects them.
    pub(crate) fn unnamed_at(&mut self, scope: u32, time: i64, columns: &mut Columns) -> u32 {
        self.of_scope(scope);
        let unnamed = &self.scopes[scope as usize].unnamed;
        let at = unnamed.partition_point(|number| self.span(number, columns).0 <= time);
        let near = |number: &u32| {
            let (first, last) = self.span(*number, columns);
            time.saturating_sub(last) <= GAP_SECONDS && first.saturating_sub(time) <= GAP_SECONDS
        };
        let before = at.checked_sub(1).and_then(|at| unnamed.get(at)).filter(near);
        let after = unnamed.get(at).filter(near);
        match (before, after) {
            (Some(before), Some(after)) => {
                self.join(before, after, columns);
                let scope = self.of_scope(scope);
                scope.unnamed.remove(at);
                scope.live = scope.live.saturating_sub(1);
                before
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => {
                let number = self.unnamed(scope);
                self.of_scope(scope).unnamed.insert(at, number);
                number
            }
        }
    }

    /// Moves the members of `after` to the end of `before`.
    fn join(&mut self, before: u32, after: u32, columns: &mut Columns) {
        let joined = std::mem::take(self.get_mut(after));
        let session = self.get_mut(before);
        for member in joined.members.iter() {
            columns.set_session(member, before);
            session.add(&columns.row(member));
        }
        session.members.append(&joined.members);
        self.vacant.push(after);
    }

    /// Returns the times of the first and the last member.
    fn span(&self, number: u32, columns: &Columns) -> (i64, i64) {
        let time = |member: Option<u32>| member.map_or(i64::MIN, |member| columns.time(member));
        self.with_members(number, |members| {
            let last = members.len().checked_sub(1).and_then(|last| members.get(last));
            (time(members.get(0)), time(last))
        })
    }

    /// Returns the position of a document in its session, or the position at which to insert it.
    pub(crate) fn place(&self, session: u32, number: u32, columns: &Columns) -> usize {
        self.with_members(session, |members| {
            members.partition_point(|member| columns.is_before(member, number))
        })
    }

    /// Adds a document to its session.
    pub(crate) fn insert(&mut self, number: u32, columns: &Columns) {
        let row = columns.row(number);
        let place = self.place(row.session, number, columns);
        let session = self.get_mut(row.session);
        session.add(&row);
        session.members.insert(place, number);
        let is_first = session.members.len() == 1;
        let scope = session.scope;
        if let Some(scope) = self.scopes.get_mut(scope as usize) {
            scope.live += u32::from(is_first);
        }
    }

    /// Returns the position of an unnamed session in its scope. The unnamed sessions of a scope start at different
    /// times.
    fn place_in_scope(&self, session: u32, columns: &Columns) -> usize {
        let start = self.span(session, columns).0;
        let scope = self.scopes.get(self.scope(session) as usize);
        scope.map_or(0, |scope| {
            let unnamed = &scope.unnamed;
            unnamed.partition_point(|other| self.span(other, columns).0 < start)
        })
    }

    /// Removes a document from its session. Splits an unnamed session if only this document connected its parts.
    pub(crate) fn remove(&mut self, number: u32, columns: &mut Columns) {
        let row = columns.row(number);
        let place = self.place(row.session, number, columns);
        let is_unnamed = !self.is_named(row.session);
        let place_in_scope = if is_unnamed {
            self.place_in_scope(row.session, columns)
        } else {
            0
        };
        let session = self.get_mut(row.session);
        session.members.remove(place);
        session.subtract(&row);
        if session.members.is_empty() {
            let scope = session.scope;
            let scope = self.of_scope(scope);
            scope.live = scope.live.saturating_sub(1);
            if is_unnamed {
                scope.unnamed.remove(place_in_scope);
                self.vacant.push(row.session);
            }
            return;
        }
        let time = |place: usize| {
            session
                .members
                .get(place)
                .map_or(0, |member| columns.time(member))
        };
        let is_inside = place > 0 && place < session.members.len();
        if is_unnamed && is_inside && time(place).saturating_sub(time(place - 1)) > GAP_SECONDS {
            self.split(row.session, place, place_in_scope, columns);
        }
    }

    /// Moves the members from `place` on to a new unnamed session, which follows the old session in the scope.
    fn split(&mut self, number: u32, place: usize, place_in_scope: usize, columns: &mut Columns) {
        let session = self.get_mut(number);
        let scope = session.scope;
        let members = session.members.split_off(place);
        let fresh = self.unnamed(scope);
        for member in members.iter() {
            let row = columns.row(member);
            columns.set_session(member, fresh);
            self.get_mut(number).subtract(&row);
            self.get_mut(fresh).add(&row);
        }
        self.get_mut(fresh).members = members;
        let scope = self.of_scope(scope);
        scope.unnamed.insert(place_in_scope + 1, fresh);
        scope.live += 1;
    }

    /// Returns the speakers of a session with the numbers of their documents.
    pub(super) fn speakers(&self, number: u32) -> Vec<(u32, u32)> {
        match self.get(number) {
            Ok(of) => of.speakers.clone(),
            Err((base, of)) => base.speakers(&of).collect(),
        }
    }
}

//! Sessions: finds the neighbours of each document, and the sessions that are conversations.
//!
//! The caller names a session; a document may have none. Members are sorted by time, so the neighbours of a document are
//! the elements before and after it.
//!
//! # Layer
//! Uses columns, not terms.
//!
//! # Invariants
//! - SES-1: the members of a session are live, in one scope, and in chronological order.
//! - SES-2: sessions and their members depend on the content of the index, not on its history.
//! - SES-3: the length of a session, the counts of its speakers, and the sums of a scope are those of the members.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::column::{Column, Fixed, Limits, Run, Spliced};
use super::columns::{Columns, Scored};
use super::compact::{append, grow};
use super::layout::Section;
use crate::tables::{Image, partition_point, u32_at, u64_at};

/// A session.
#[derive(Clone, Default)]
struct Session {
    scope: u32,
    name: String,
    members: Spliced,
    /// The total length of the members of the session, in units of a quarter.
    length: u64,
    /// The speakers of the session, in the order of their numbers, each with the number of documents by this speaker.
    speakers: Vec<(u32, u32)>,
}

impl Session {
    /// Adds the length and the speaker of a member to the sums.
    fn add(&mut self, of: Scored) {
        self.length += u64::from(of.length);
        match self
            .speakers
            .binary_search_by_key(&of.speaker, |&(other, _)| other)
        {
            Ok(at) => self.speakers[at].1 += 1,
            Err(at) => {
                grow(&mut self.speakers, 1);
                self.speakers.insert(at, (of.speaker, 1));
            }
        }
    }

    /// Removes the length and the speaker of a member from the sums.
    fn subtract(&mut self, of: Scored) {
        // In a hostile file, the sums may be too small.
        self.length = self.length.saturating_sub(u64::from(of.length));
        for (_, count) in self.speakers.iter_mut().filter(|other| other.0 == of.speaker) {
            *count = count.saturating_sub(1);
        }
        self.speakers.retain(|(_, count)| *count > 0);
    }
}

/// A session of an image. The lists of sessions follow each other in their sections.
#[derive(Clone, Copy, Default)]
pub(super) struct StoredSession {
    pub(super) scope: u32,
    pub(super) length: u64,
    /// The start and the length of the members, of the speakers, and of the name in bytes.
    pub(super) members: (u32, u32),
    pub(super) speakers: (u32, u32),
    pub(super) name: (u32, u32),
}

impl Fixed for StoredSession {
    const BYTES: usize = 36;

    fn read(bytes: &[u8]) -> Self {
        let pair = |at| (u32_at(bytes, at), u32_at(bytes, at + 4));
        Self {
            scope: u32_at(bytes, 0),
            length: u64_at(bytes, 4),
            members: pair(12),
            speakers: pair(20),
            name: pair(28),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.scope.to_le_bytes());
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
        let run = Run {
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
        places.map_while(move |at| {
            let pair = self.image.read(section, usize::try_from(at).ok()? * 8, 8)?;
            Some((u32_at(pair, 0), u32_at(pair, 4)))
        })
    }

    fn load(&self, number: u32) -> Session {
        let stored = self.get(number);
        Session {
            scope: stored.scope,
            name: self.name(&stored).to_owned(),
            members: self.members(&stored),
            length: stored.length,
            speakers: self.speakers(&stored).collect(),
        }
    }
}

/// The sessions of a scope.
#[derive(Clone, Default)]
struct OfScope {
    /// The sessions that are not in the image.
    by_name: HashMap<String, u32>,
    /// The sessions of the image, in the order of their names.
    in_base: Range<u32>,
    /// The number of sessions that have members.
    live: u32,
    /// The total length of the members of all sessions, in units of a quarter.
    length: u64,
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
}

impl Sessions {
    /// Returns the sessions in an image. `scopes` has the number of sessions of each scope, and the total length of their
    /// members. Returns `None` if the section does not have as many sessions.
    pub(super) fn of(
        image: &Arc<Image>,
        first: usize,
        scopes: &[(u32, u64)],
        documents: u32,
    ) -> Option<Self> {
        let mut next = 0u32;
        let of_scope = |&(live, length): &(u32, u64)| {
            let start = next;
            next = start.checked_add(live)?;
            Some(OfScope {
                in_base: start..next,
                live,
                length,
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
            name: String::new(),
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
    pub(super) fn scope(&self, number: u32) -> u32 {
        self.get(number).map_or_else(|(_, of)| of.scope, |of| of.scope)
    }

    /// Returns the name of a session.
    pub(super) fn name(&self, number: u32) -> &str {
        self.get(number)
            .map_or_else(|(base, of)| base.name(&of), |of| &of.name)
    }

    /// Returns whether the session has two speakers or more.
    pub(crate) fn is_conversation(&self, number: u32) -> bool {
        let speakers = self
            .get(number)
            .map_or_else(|(_, of)| of.speakers.1 as usize, |of| of.speakers.len());
        speakers > 1
    }

    /// Returns whether there is no session.
    pub(crate) fn are_none(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a session has two speakers or more.
    pub(crate) fn have_conversation(&self) -> bool {
        (0..self.len() as u32).any(|number| self.is_conversation(number))
    }

    /// Returns whether a speaker of the session meets a condition.
    pub(crate) fn has_speaker(&self, number: u32, meets: impl Fn(u32) -> bool) -> bool {
        match self.get(number) {
            Ok(of) => of.speakers.iter().any(|&(speaker, _)| meets(speaker)),
            Err((base, of)) => base.speakers(&of).any(|(speaker, _)| meets(speaker)),
        }
    }

    /// Returns the members of a session.
    pub(super) fn members(&self, number: u32) -> Cow<'_, Spliced> {
        match self.get(number) {
            Ok(of) => Cow::Borrowed(&of.members),
            Err((base, of)) => Cow::Owned(base.members(&of)),
        }
    }

    /// Returns the number of sessions of a scope that have members, and the total length of their members.
    pub(crate) fn sums(&self, scope: u32) -> (u32, u64) {
        let of = self.scopes.get(scope as usize);
        of.map_or((0, 0), |of| (of.live, of.length))
    }

    fn of_scope(&mut self, scope: u32) -> &mut OfScope {
        if self.scopes.len() <= scope as usize {
            self.scopes.resize_with(scope as usize + 1, OfScope::default);
        }
        &mut self.scopes[scope as usize]
    }

    /// Returns the sessions of a scope that have members, in the order of their names.
    pub(super) fn of_scope_in_order(&self, scope: u32) -> Vec<u32> {
        let Some(of) = self.scopes.get(scope as usize) else {
            return Vec::new();
        };
        let all = of.in_base.clone().chain(of.by_name.values().copied());
        let mut live: Vec<u32> = all.filter(|&number| !self.members(number).is_empty()).collect();
        live.sort_by(|one, two| self.name(*one).cmp(self.name(*two)));
        live
    }

    /// Returns the number of a session; adds the session if the session is new.
    pub(crate) fn intern(&mut self, scope: u32, name: &str) -> u32 {
        let of = self.of_scope(scope);
        if let Some(&known) = of.by_name.get(name) {
            return known;
        }
        let in_base = of.in_base.clone();
        if let Some(known) = self.find_in_base(in_base, name) {
            return known;
        }
        let number = self.len() as u32;
        self.of_scope(scope).by_name.insert(name.to_owned(), number);
        let session = Session {
            scope,
            name: name.to_owned(),
            ..Session::default()
        };
        append(&mut self.more, session);
        number
    }

    /// Returns the session with a name among sessions of the image that are in the order of their names.
    fn find_in_base(&self, numbers: Range<u32>, name: &str) -> Option<u32> {
        let base = self.base.as_ref()?;
        let name_at = |at: usize| base.name(&base.get(at as u32));
        let end = numbers.end as usize;
        let at = partition_point(numbers.start as usize..end, |at| name_at(at) < name);
        (at < end && name_at(at) == name).then_some(at as u32)
    }

    /// Returns the position of a document in its session, or the position at which to insert it.
    pub(crate) fn place(&self, session: u32, number: u32, columns: &Columns) -> usize {
        self.members(session)
            .partition_point(|member| columns.is_before(member, number))
    }

    /// Adds a document to its session.
    pub(crate) fn insert(&mut self, number: u32, columns: &Columns) {
        let of = columns.scored(number);
        let Some(session) = of.session else { return };
        let place = self.place(session, number, columns);
        let session = self.get_mut(session);
        session.add(of);
        session.members.insert(place, number);
        let (scope, is_first) = (session.scope, session.members.len() == 1);
        let scope = self.of_scope(scope);
        scope.live += u32::from(is_first);
        scope.length += u64::from(of.length);
    }

    /// Removes a document from its session.
    pub(crate) fn remove(&mut self, number: u32, columns: &Columns) {
        let of = columns.scored(number);
        let Some(session) = of.session else { return };
        let place = self.place(session, number, columns);
        let session = self.get_mut(session);
        session.members.remove(place);
        session.subtract(of);
        let (scope, is_over) = (session.scope, session.members.is_empty());
        let scope = self.of_scope(scope);
        scope.live = scope.live.saturating_sub(u32::from(is_over));
        scope.length = scope.length.saturating_sub(u64::from(of.length));
    }

    /// Returns the speakers of a session with the numbers of their documents.
    pub(super) fn speakers(&self, number: u32) -> Vec<(u32, u32)> {
        match self.get(number) {
            Ok(of) => of.speakers.clone(),
            Err((base, of)) => base.speakers(&of).collect(),
        }
    }
}

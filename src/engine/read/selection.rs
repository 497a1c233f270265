//! A selection of commits: by commit, session, actor, source and time.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - SEL-1: a selection contains the kept commits that meet every given condition. Several values of one condition
//!   contain the commits that meet one of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Revision, revision};
use crate::digest::TextDigest;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Commit, Op, Time, hash_text, lane_of};
use crate::store::{CommitEntry, Store};

/// A selection of commits, for example `Selection::default().session("night")`.
///
/// A commit is selected if it meets every condition that is given. Repeated values of one condition select the commits
/// of each value.
#[must_use]
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Selection {
    /// The commits themselves.
    pub commits: Vec<Revision>,
    /// The sessions that made the commits.
    pub sessions: Vec<String>,
    /// The actors that made the commits.
    pub actors: Vec<String>,
    /// The sources that the commits state.
    pub sources: Vec<String>,
    /// The commits at or after this time.
    pub since: Option<Time>,
    /// The commits at or before this time.
    pub until: Option<Time>,
}

impl Selection {
    /// Selects this commit.
    pub fn commit(mut self, commit: impl Into<Revision>) -> Self {
        self.commits.push(commit.into());
        self
    }

    /// Selects the commits of this session.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.sessions.push(session.into());
        self
    }

    /// Selects the commits of this actor.
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actors.push(actor.into());
        self
    }

    /// Selects the commits that state this source.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.sources.push(source.into());
        self
    }

    /// Selects commits at or after `time`.
    pub fn since(mut self, time: Time) -> Self {
        self.since = Some(time);
        self
    }

    /// Selects commits at or before `time`.
    pub fn until(mut self, time: Time) -> Self {
        self.until = Some(time);
        self
    }

    /// Returns whether a session, an actor or a source is given.
    fn has_names(&self) -> bool {
        let names = [&self.sessions, &self.actors, &self.sources];
        names.iter().any(|names| !names.is_empty())
    }

    /// Returns whether no condition is given.
    fn is_unbounded(&self) -> bool {
        self.commits.is_empty() && !self.has_names() && self.since.is_none() && self.until.is_none()
    }

    /// Returns the seqs of the selected commits. The first commit of the store changes nothing, so it is never selected.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_criteria`) without a condition. `NotFound` (code `no_revision`) if a commit does not
    /// exist, or (code `nothing_selected`) if no commit is selected, or no kept commit has one of the names.
    pub(crate) fn chosen(&self, store: &Store) -> Result<BTreeSet<u64>> {
        if self.is_unbounded() {
            return Err(Error::invalid("the selection has no condition")
                .with_code(ErrorCode::NoCriteria)
                .with_hint("name a commit, a session, a source, an actor or a time"));
        }
        let commits = self.commits.iter();
        let commits = commits.map(|commit| revision::resolve(store, commit, lane_of(None, None)));
        let commits = commits.collect::<Result<Vec<Arc<CommitEntry>>>>()?;
        let given: BTreeSet<u64> = commits.iter().map(|entry| entry.seq()).collect();
        let mut chosen = BTreeSet::new();
        let mut names = Names::of(self, store);
        let mut choose = |entry: &CommitEntry| {
            let (is_named, commit) = (names.have(&entry.commit), &entry.commit);
            // SEL-1: every given condition must be met.
            if is_named
                && commit.op.as_str() != Op::INIT
                && (given.is_empty() || given.contains(&entry.seq()))
                && self.since.is_none_or(|since| since <= commit.time)
                && self.until.is_none_or(|until| commit.time <= until)
            {
                chosen.insert(entry.seq());
            }
        };
        if given.is_empty() || self.has_names() {
            // A name that no commit has is an error, so this reads every commit.
            for index in 0..store.kept() {
                store.commit_at(index)?.iter().for_each(|entry| choose(entry));
            }
        } else {
            for entry in &commits {
                choose(entry);
            }
        }
        names.check_known()?;
        if chosen.is_empty() {
            return Err(
                Error::not_found("no commit meets every condition of the selection")
                    .with_code(ErrorCode::NothingSelected)
                    .with_hint(
                        "`log` and `audit` list the commits with their sessions, actors, sources and times",
                    ),
            );
        }
        Ok(chosen)
    }
}

/// The wanted names of writers, each with whether a commit has it.
struct Names<'a> {
    sessions: Vec<Name<'a>>,
    actors: Vec<Name<'a>>,
    sources: Vec<Name<'a>>,
}

struct Name<'a> {
    name: &'a str,
    /// The digest of the name as a text. A source is compared by its digest, so an erased source is found too.
    digest: TextDigest,
    is_known: bool,
}

impl<'a> Names<'a> {
    fn of(selection: &'a Selection, store: &Store) -> Self {
        let name = |name: &'a String| Name {
            name,
            digest: hash_text(store.suite, name.as_bytes()),
            is_known: false,
        };
        let names = |names: &'a [String]| names.iter().map(name).collect();
        Self {
            sessions: names(&selection.sessions),
            actors: names(&selection.actors),
            sources: names(&selection.sources),
        }
    }

    /// Returns whether the commit has a name of each condition, and notes the names that it has.
    fn have(&mut self, commit: &Commit) -> bool {
        let (session, actor) = (commit.session.as_deref(), commit.actor.as_deref());
        let has_session = note(&mut self.sessions, |name| session == Some(name.name));
        let has_actor = note(&mut self.actors, |name| actor == Some(name.name));
        let has_source = note(&mut self.sources, |name| commit.source == Some(name.digest));
        has_session && has_actor && has_source
    }

    /// Returns an error that names a wanted name which no commit has.
    fn check_known(&self) -> Result<()> {
        for (what, names) in [
            ("session", &self.sessions),
            ("actor", &self.actors),
            ("source", &self.sources),
        ] {
            if let Some(unknown) = names.iter().find(|name| !name.is_known) {
                let text = format!("no commit was made by the {what} '{}'", unknown.name);
                return Err(Error::not_found(text)
                    .with_code(ErrorCode::NothingSelected)
                    .with_hint("`lanes` lists the lanes; `log` shows the writer of each commit"));
            }
        }
        Ok(())
    }
}

/// Notes the names that a commit has. Returns whether there is one, or no name is wanted.
fn note(names: &mut [Name<'_>], is_of: impl Fn(&Name<'_>) -> bool) -> bool {
    let mut is_met = names.is_empty();
    for name in names.iter_mut().filter(|name| is_of(name)) {
        name.is_known = true;
        is_met = true;
    }
    is_met
}

//! A selection of commits: by commit, session, actor, source and time.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - SEL-1: a selection contains the kept commits that meet every given condition. Several values of one condition
//!   contain the commits that meet one of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Revision, revision};
use crate::digest::{CommitDigest, HashSuite, TextDigest};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Commit, Op, Time, hash_text, lane_of};
use crate::store::{Brought, CommitEntry, Store};

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

    /// Returns whether no session, no actor and no source is given.
    #[doc(hidden)]
    pub fn is_everyone(&self) -> bool {
        self.sessions.is_empty() && self.actors.is_empty() && self.sources.is_empty()
    }

    /// Returns whether the time is in the selected period.
    #[doc(hidden)]
    pub fn is_in_time(&self, time: Time) -> bool {
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time <= until)
    }

    /// Returns whether this actor and session are selected, of a record that has no source.
    #[doc(hidden)]
    pub fn has(&self, actor: Option<&str>, session: Option<&str>) -> bool {
        let fits = |names: &[String], found: Option<&str>| {
            names.is_empty() || names.iter().any(|name| Some(name.as_str()) == found)
        };
        fits(&self.actors, actor) && fits(&self.sessions, session)
    }

    /// Returns whether a selected writer made the commit. Compares the digests of sources, so it reads no text and also
    /// finds an erased source.
    pub(super) fn made_in(&self, suite: HashSuite, commit: &Commit) -> bool {
        let is_of = |source: &String| commit.source == Some(hash_text(suite, source.as_bytes()));
        self.has(commit.actor.as_deref(), commit.session.as_deref())
            && (self.sources.is_empty() || self.sources.iter().any(is_of))
    }

    /// Returns the first selected name that is not in `names`, with its sort.
    pub(super) fn first_not_in(&self, names: &Names) -> Option<(&'static str, &str)> {
        let selected = SORTS
            .into_iter()
            .zip([&self.sessions, &self.actors, &self.sources]);
        let mut selected =
            selected.flat_map(|(what, names)| names.iter().map(move |name| (what, name.as_str())));
        selected.find(|(what, name)| !names.has(what, name))
    }

    /// Returns whether no condition is given.
    fn is_unbounded(&self) -> bool {
        self.commits.is_empty() && self.is_everyone() && self.since.is_none() && self.until.is_none()
    }

    /// Returns the selected commits. The first commit of the store changes nothing, so it is never selected.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_criteria`) without a condition. `NotFound` (code `no_revision`) if a commit does not
    /// exist, or (code `nothing_selected`) if no commit is selected, or no kept commit has one of the names.
    pub(crate) fn chosen(&self, store: &Arc<Store>) -> Result<Chosen> {
        if self.is_unbounded() {
            return Err(Error::invalid("the selection has no condition")
                .with_code(ErrorCode::NoCriteria)
                .with_hint("name a commit, a session, a source, an actor or a time"));
        }
        let commits = self.commits.iter();
        let commits = commits.map(|commit| revision::resolve(store, commit, lane_of(None, None)));
        let commits = commits.collect::<Result<Vec<Arc<CommitEntry>>>>()?;
        let given: BTreeSet<u64> = commits.iter().map(|entry| entry.seq()).collect();
        let mut chosen = Chosen::default();
        let mut names = Names::of(store.suite);
        // SEL-1: every given condition must be met.
        let meets = |commit: &Commit| self.made_in(store.suite, commit) && self.is_in_time(commit.time);
        let mut known = Brought::default();
        let mut choose = |entry: &CommitEntry| -> Result<()> {
            let commit = &entry.commit;
            names.add(commit);
            let is_given = given.is_empty() || given.contains(&entry.seq());
            if meets(commit) && commit.op.as_str() != Op::INIT && is_given {
                chosen.own.insert(entry.seq());
            }
            if entry.is_merge() && given.is_empty() {
                for brought in store.brought_by(entry, &mut known)? {
                    names.add(&brought.commit);
                    if meets(&brought.commit) {
                        chosen.brought.insert(brought.digest, brought);
                    }
                }
                // A merge may also bring again what an earlier merge brought.
                if !chosen.brought.is_empty() {
                    chosen.merges.insert(entry.seq());
                }
            }
            Ok(())
        };
        if given.is_empty() || !self.is_everyone() {
            // A name that no commit has is an error, so this reads every commit.
            for index in 0..store.kept() {
                store
                    .commit_at(index)?
                    .iter()
                    .try_for_each(|entry| choose(entry))?;
            }
        } else {
            commits.iter().try_for_each(|entry| choose(entry))?;
        }
        chosen.sees_through = given.is_empty();
        if let Some((what, name)) = self.first_not_in(&names) {
            return Err(
                Error::not_found(format!("no commit was made by the {what} '{name}'"))
                    .with_code(ErrorCode::NothingSelected)
                    .with_hint("`lanes` lists the lanes; `log` shows the writer of each commit"),
            );
        }
        if chosen.count() == 0 {
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

/// The commits that meet a selection.
#[derive(Default)]
pub(crate) struct Chosen {
    /// The seqs of those of the line itself.
    pub(crate) own: BTreeSet<u64>,
    /// The commits of other lines that merges brought in.
    pub(crate) brought: HashMap<CommitDigest, Arc<CommitEntry>>,
    /// The seqs of the merges that may have brought them.
    pub(crate) merges: BTreeSet<u64>,
    /// Whether what a merge brought counts for its writers. A merge that is named itself counts whole.
    pub(crate) sees_through: bool,
}

impl Chosen {
    /// Returns the number of commits.
    pub(crate) fn count(&self) -> u64 {
        (self.own.len() + self.brought.len()) as u64
    }

    /// Returns the seq of the first commit of the line that may have changes of the selection.
    pub(crate) fn first(&self) -> Option<u64> {
        self.own
            .first()
            .into_iter()
            .chain(self.merges.first())
            .min()
            .copied()
    }
}

/// The sorts of names of writers.
pub(super) const SORTS: [&str; 3] = ["session", "actor", "source"];

/// The names of the writers of some commits.
pub(super) struct Names {
    suite: HashSuite,
    pub(super) sessions: BTreeSet<String>,
    pub(super) actors: BTreeSet<String>,
    /// The digests of the sources, which also name erased sources.
    pub(super) sources: BTreeSet<TextDigest>,
}

impl Names {
    pub(super) fn of(suite: HashSuite) -> Self {
        Self {
            suite,
            sessions: BTreeSet::new(),
            actors: BTreeSet::new(),
            sources: BTreeSet::new(),
        }
    }

    pub(super) fn add(&mut self, commit: &Commit) {
        for (names, name) in [
            (&mut self.sessions, &commit.session),
            (&mut self.actors, &commit.actor),
        ] {
            if let Some(name) = name.as_ref().filter(|name| !names.contains(*name)) {
                names.insert(name.clone());
            }
        }
        self.sources.extend(commit.source);
    }

    pub(super) fn has(&self, sort: &str, name: &str) -> bool {
        match sort {
            "session" => self.sessions.contains(name),
            "actor" => self.actors.contains(name),
            _ => self.sources.contains(&hash_text(self.suite, name.as_bytes())),
        }
    }
}

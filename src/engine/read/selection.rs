//! A selection of commits: by commit, session, actor, source and time. Tells who wrote a commit or a version.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - SEL-1: a selection contains the kept commits that meet every given condition. Several values of one condition
//!   contain the commits that meet one of them.
//! - WBY-1: a version counts as written by its first writer, also after undo, rollback or restore brought it back.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{CommitInfo, Revision, View, revision};
use crate::digest::{HashSuite, TextDigest};
use crate::engine::memory::Memory;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Commit, Id, Op, Time, hash_text, lane_of};
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
    #[doc(hidden)]
    pub fn made(&self, memory: &Memory, commit: &Commit) -> bool {
        self.made_in(memory.inner.store().suite, commit)
    }

    fn made_in(&self, suite: HashSuite, commit: &Commit) -> bool {
        let is_of = |source: &String| commit.source == Some(hash_text(suite, source.as_bytes()));
        self.has(commit.actor.as_deref(), commit.session.as_deref())
            && (self.sources.is_empty() || self.sources.iter().any(is_of))
    }

    /// Returns whether a selected writer wrote the version of `id` in this state or, if the state has none, removed it.
    /// Every writer is selected without a session, actor or source; else a thinned commit is not.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit or state cannot be read.
    #[doc(hidden)]
    pub fn wrote(&self, memory: &Memory, view: &View, id: &Id) -> Result<bool> {
        if self.is_everyone() {
            return Ok(true);
        }
        let writer = match view.writer_of(id)? {
            None if !view.contains(id)? => remover(memory, view, id)?,
            writer => writer,
        };
        Ok(writer.is_some_and(|writer| self.made(memory, &writer.commit)))
    }

    /// Returns the first selected name that no kept commit and no reference has.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn unknown(&self, memory: &Memory) -> Result<Option<UnknownWriter>> {
        if self.is_everyone() {
            return Ok(None);
        }
        let mut names = Names::of(memory.inner.store().suite);
        for info in memory.commits() {
            names.add(&info?.commit);
        }
        for reference in memory.references() {
            names.actors.extend(reference.actor);
            names.sessions.extend(reference.session);
        }
        let Some((what, name)) = self.first_not_in(&names) else {
            return Ok(None);
        };
        let other = SORTS.into_iter().find(|sort| names.has(sort, name));
        let known = match what {
            "session" => names.sessions,
            "actor" => names.actors,
            _ => names.sources(memory)?,
        };
        let name = name.to_owned();
        Ok(Some(UnknownWriter {
            what,
            name,
            other,
            known,
        }))
    }

    /// Returns the first selected name that is not in `names`, with its sort.
    fn first_not_in(&self, names: &Names) -> Option<(&'static str, &str)> {
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
        let mut names = Names::of(store.suite);
        let mut choose = |entry: &CommitEntry| {
            let commit = &entry.commit;
            names.add(commit);
            // SEL-1: every given condition must be met.
            if self.made_in(store.suite, commit)
                && commit.op.as_str() != Op::INIT
                && (given.is_empty() || given.contains(&entry.seq()))
                && self.is_in_time(commit.time)
            {
                chosen.insert(entry.seq());
            }
        };
        if given.is_empty() || !self.is_everyone() {
            // A name that no commit has is an error, so this reads every commit.
            for index in 0..store.kept() {
                store.commit_at(index)?.iter().for_each(|entry| choose(entry));
            }
        } else {
            for entry in &commits {
                choose(entry);
            }
        }
        if let Some((what, name)) = self.first_not_in(&names) {
            return Err(
                Error::not_found(format!("no commit was made by the {what} '{name}'"))
                    .with_code(ErrorCode::NothingSelected)
                    .with_hint("`lanes` lists the lanes; `log` shows the writer of each commit"),
            );
        }
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

/// The sorts of names of writers.
const SORTS: [&str; 3] = ["session", "actor", "source"];

/// A selected name that the store does not know.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownWriter {
    /// What the name should be: `actor`, `session` or `source`.
    pub what: &'static str,
    /// The name that is not known.
    pub name: String,
    /// The other sort that has the name: `actor`, `session` or `source`.
    pub other: Option<&'static str>,
    /// The names of that sort that the store knows.
    pub known: BTreeSet<String>,
}

/// The names of the writers of some commits.
struct Names {
    suite: HashSuite,
    sessions: BTreeSet<String>,
    actors: BTreeSet<String>,
    /// The digests of the sources, which also name erased sources.
    sources: BTreeSet<TextDigest>,
}

impl Names {
    fn of(suite: HashSuite) -> Self {
        Self {
            suite,
            sessions: BTreeSet::new(),
            actors: BTreeSet::new(),
            sources: BTreeSet::new(),
        }
    }

    fn add(&mut self, commit: &Commit) {
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

    fn has(&self, sort: &str, name: &str) -> bool {
        match sort {
            "session" => self.sessions.contains(name),
            "actor" => self.actors.contains(name),
            _ => self.sources.contains(&hash_text(self.suite, name.as_bytes())),
        }
    }

    /// Returns the texts of the sources that were not erased.
    fn sources(&self, memory: &Memory) -> Result<BTreeSet<String>> {
        let texts = self.sources.iter().map(|digest| memory.text(digest));
        let is_kept =
            |text: &Result<String>| !matches!(text, Err(error) if error.kind() == ErrorKind::NotFound);
        texts.filter(is_kept).collect()
    }
}

/// Returns the commit that removed `id` last before the state of `view`. Returns `None` if the id never existed, or if
/// the commit was thinned.
fn remover(memory: &Memory, view: &View, id: &Id) -> Result<Option<CommitInfo>> {
    let newest = view.commit().commit.seq;
    for change in memory.changes_of(id) {
        let change = change?;
        if change.commit.commit.seq <= newest {
            return Ok(change.maker().cloned());
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Writer;
    use crate::object::{Kind, NewObject};

    fn put(memory: &Memory, id: &str, content: &str, writer: &Writer) {
        let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("fact").unwrap());
        object.content = Some(content.to_owned());
        drop(memory.put(object, writer).unwrap());
    }

    fn by(session: &str) -> Selection {
        Selection::default().session(session)
    }

    #[test]
    fn a_version_that_came_back_counts_for_its_first_writer() {
        let memory = Memory::in_memory().unwrap();
        let (day, night) = (Writer::user().session("day"), Writer::user().session("night"));
        let id = Id::new("a").unwrap();
        put(&memory, "a", "one", &day);
        put(&memory, "a", "two", &night);
        let wrote = |filter: &Selection| filter.wrote(&memory, &memory.view(), &id).unwrap();
        assert!(wrote(&by("night")) && !wrote(&by("day")));
        let back = memory
            .rollback("seq:1")
            .across_lanes()
            .by(&Writer::user().session("owner"));
        drop(back.unwrap());
        // WBY-1
        assert!(wrote(&by("day")) && !wrote(&by("owner")) && !wrote(&by("night")));
        drop(memory.remove(&id, &night).unwrap());
        assert!(wrote(&by("night")) && !wrote(&by("day")));
        assert!(wrote(&Selection::default()));
    }

    #[test]
    fn only_a_name_that_no_commit_has_is_unknown() {
        let memory = Memory::in_memory().unwrap();
        let mail = Writer {
            source: Some("mail".to_owned()),
            ..Writer::user().actor("ada")
        };
        put(&memory, "a", "one", &mail);
        let unknown = |filter: Selection| filter.unknown(&memory).unwrap();
        let known = Selection::default().actor("ada").source("mail");
        assert_eq!(unknown(known), None);
        let other = unknown(Selection::default().source("male")).unwrap();
        assert_eq!(
            (other.what, other.known),
            ("source", BTreeSet::from(["mail".to_owned()]))
        );
        assert_eq!(unknown(by("night")).unwrap().what, "session");
    }
}

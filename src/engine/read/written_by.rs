//! The filter by who wrote: which commits and versions a [`Selection`] contains.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - WBY-1: a version counts as written by its first writer, also after undo, rollback or restore brought it back.

use std::collections::BTreeSet;

use super::selection::{Names, SORTS};
use super::{CommitInfo, Selection, View};
use crate::engine::memory::Memory;
use crate::error::{ErrorKind, Result};
use crate::object::{Commit, Id};
use crate::store::Brought;

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

impl Selection {
    /// Returns whether a selected writer made the commit. Compares the digests of sources, so it reads no text and also
    /// finds an erased source.
    #[doc(hidden)]
    pub fn made(&self, memory: &Memory, commit: &Commit) -> bool {
        self.made_in(memory.inner.store().suite, commit)
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
        let store = memory.inner.store();
        let mut known = Brought::default();
        for index in 0..store.kept() {
            let Some(entry) = store.commit_at(index)? else {
                continue;
            };
            names.add(&entry.commit);
            if entry.is_merge() {
                for brought in store.brought_by(&entry, &mut known)? {
                    names.add(&brought.commit);
                }
            }
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
            _ => sources(&names, memory)?,
        };
        let name = name.to_owned();
        Ok(Some(UnknownWriter {
            what,
            name,
            other,
            known,
        }))
    }
}

/// Returns the texts of the sources that were not erased.
fn sources(names: &Names, memory: &Memory) -> Result<BTreeSet<String>> {
    let texts = names.sources.iter().map(|digest| memory.text(digest));
    let is_kept = |text: &Result<String>| !matches!(text, Err(error) if error.kind() == ErrorKind::NotFound);
    texts.filter(is_kept).collect()
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

//! A filter by who wrote: an actor, a session or a source.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - WBY-1: a version counts as written by its first writer, also after undo, rollback or restore brought it back.

use std::collections::BTreeSet;

use super::{CommitInfo, View};
use crate::digest::TextDigest;
use crate::engine::memory::Memory;
use crate::error::{ErrorKind, Result};
use crate::object::{Commit, Id, hash_text};

/// Selects what certain writers wrote. A field that is `None` selects every writer.
#[derive(Clone, Debug, Default)]
pub struct WrittenBy {
    /// The actor of the commit.
    pub actor: Option<String>,
    /// The session of the commit.
    pub session: Option<String>,
    /// The source of the commit.
    pub source: Option<String>,
}

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

impl WrittenBy {
    /// Returns whether the filter selects every writer.
    pub fn is_everyone(&self) -> bool {
        self.actor.is_none() && self.session.is_none() && self.source.is_none()
    }

    /// Returns whether the filter selects this actor and session, of a record that has no source.
    pub fn has(&self, actor: Option<&str>, session: Option<&str>) -> bool {
        let fits =
            |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        fits(&self.actor, actor) && fits(&self.session, session)
    }

    /// Returns whether a selected writer made the commit. Compares the digests of sources, so it reads no text and also
    /// finds an erased source.
    pub fn made(&self, memory: &Memory, commit: &Commit) -> bool {
        let suite = memory.inner.store().suite;
        let source = self
            .source
            .as_ref()
            .map(|source| hash_text(suite, source.as_bytes()));
        self.has(commit.actor.as_deref(), commit.session.as_deref())
            && (source.is_none() || source == commit.source)
    }

    /// Returns whether a selected writer wrote the version of `id` in this state or, if the state has none, removed it.
    /// Every writer is selected if the filter is empty; else a thinned commit is not.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit or state cannot be read.
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
    pub fn unknown(&self, memory: &Memory) -> Result<Option<UnknownWriter>> {
        if self.is_everyone() {
            return Ok(None);
        }
        let [mut actors, mut sessions] = [const { BTreeSet::new() }; 2];
        let mut digests: BTreeSet<TextDigest> = BTreeSet::new();
        for info in memory.commits() {
            let commit = info?.commit;
            actors.extend(commit.actor);
            sessions.extend(commit.session);
            digests.extend(commit.source);
        }
        for reference in memory.references() {
            actors.extend(reference.actor);
            sessions.extend(reference.session);
        }
        let mut sources = BTreeSet::new();
        let suite = memory.inner.store().suite;
        let source = self.source.as_ref();
        if source.is_some_and(|source| !digests.contains(&hash_text(suite, source.as_bytes()))) {
            for digest in &digests {
                match memory.text(digest) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    text => drop(sources.insert(text?)),
                }
            }
        } else {
            // The source is known, even if its text was erased.
            sources.extend(source.cloned());
        }
        let is_source = |name: &str| digests.contains(&hash_text(suite, name.as_bytes()));
        let is_known = |what: &str, name: &str| match what {
            "session" => sessions.contains(name),
            "actor" => actors.contains(name),
            _ => is_source(name),
        };
        let sorts = ["session", "actor", "source"];
        let wanted = sorts.into_iter().zip([&self.session, &self.actor, &self.source]);
        let mut wanted = wanted.filter_map(|(what, name)| Some((what, name.clone()?)));
        let Some((what, name)) = wanted.find(|(what, name)| !is_known(what, name)) else {
            return Ok(None);
        };
        Ok(Some(UnknownWriter {
            what,
            other: sorts.into_iter().find(|sort| is_known(sort, &name)),
            known: match what {
                "session" => sessions,
                "actor" => actors,
                _ => sources,
            },
            name,
        }))
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

    fn by(session: &str) -> WrittenBy {
        WrittenBy {
            session: Some(session.to_owned()),
            ..WrittenBy::default()
        }
    }

    #[test]
    fn a_version_that_came_back_counts_for_its_first_writer() {
        let memory = Memory::in_memory().unwrap();
        let (day, night) = (Writer::user().session("day"), Writer::user().session("night"));
        let id = Id::new("a").unwrap();
        put(&memory, "a", "one", &day);
        put(&memory, "a", "two", &night);
        let wrote = |filter: &WrittenBy| filter.wrote(&memory, &memory.view(), &id).unwrap();
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
        assert!(wrote(&WrittenBy::default()));
    }

    #[test]
    fn only_a_name_that_no_commit_has_is_unknown() {
        let memory = Memory::in_memory().unwrap();
        let mail = Writer {
            source: Some("mail".to_owned()),
            ..Writer::user().actor("ada")
        };
        put(&memory, "a", "one", &mail);
        let unknown = |filter: WrittenBy| filter.unknown(&memory).unwrap();
        let name = |text: &str| Some(text.to_owned());
        let known = WrittenBy {
            actor: name("ada"),
            source: name("mail"),
            ..WrittenBy::default()
        };
        assert_eq!(unknown(known), None);
        let other = WrittenBy {
            source: name("male"),
            ..WrittenBy::default()
        };
        let other = unknown(other).unwrap();
        assert_eq!(
            (other.what, other.known),
            ("source", BTreeSet::from(["mail".to_owned()]))
        );
        assert_eq!(unknown(by("night")).unwrap().what, "session");
    }
}

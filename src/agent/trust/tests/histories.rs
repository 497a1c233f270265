//! 1,000 random histories of sessions, speakers, tools, promotions and rollbacks: no version is more trusted than the
//! table of speakers, sources and sessions allows.
//!
//! The model states the table on its own. It computes the class of each version when a verb writes the version, and
//! the taint of each session. Verbs that only bring back versions must bring back versions of known class.

use std::collections::{HashMap, HashSet};

use super::{Agent, Memory, PersonSays, Settings, Writer, fact, id};
use crate::agent::notes::NewNote;
use crate::agent::session::{Append, NewEntry};
use crate::agent::{NewItem, RememberOptions};
use crate::digest::{CommitDigest, ObjectDigest};
use crate::engine::{Selection, View};
use crate::error::Result;
use crate::object::{Id, Object, Origin, Scope};
use crate::testing::random::SplitMix64;

/// The number of histories. An unoptimised build runs some of them, because each of them scans many texts.
const HISTORIES: u64 = if cfg!(debug_assertions) { 150 } else { 1_000 };
/// The number of operations in a history.
const STEPS: usize = 24;
const SESSIONS: [&str; 4] = ["root", "mid", "low", "other"];
const SPEAKERS: [Option<&str>; 8] = [
    None,
    Some("user"),
    Some("Person"),
    Some("system"),
    Some("assistant"),
    Some("tool_internal"),
    Some("tool"),
    Some("browser"),
];

/// Returns the rank of a class: a larger rank is less trusted, and all untrusted classes have the same rank.
fn rank(class: Origin) -> u8 {
    match class {
        Origin::DirectUser => 0,
        Origin::Host => 1,
        Origin::Model => 2,
        Origin::ToolInternal => 3,
        _ => 4,
    }
}

/// Returns the rank of a speaker's row.
fn row(speaker: Option<&str>) -> u8 {
    match speaker {
        None | Some("user" | "Person") => 0,
        Some("system") => 1,
        Some("assistant") => 2,
        Some("tool_internal") => 3,
        _ => 4,
    }
}

struct History {
    random: SplitMix64,
    agent: Agent,
    /// The lowest rank that each version may have.
    allowed: HashMap<ObjectDigest, u8>,
    tainted: HashSet<String>,
    commits: Vec<CommitDigest>,
    texts: usize,
}

impl History {
    fn new(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            agent: Agent::new(Memory::in_memory().unwrap(), Settings::default()),
            allowed: HashMap::new(),
            tainted: HashSet::new(),
            commits: Vec::new(),
            texts: 0,
        }
    }

    fn view(&self) -> View {
        self.agent.memory().view()
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("the shelf number {} has tea", self.texts)
    }

    fn class(&mut self) -> Origin {
        // Most writers are trusted, so that sessions stay untainted for a while.
        let most = if self.random.one_in(5) {
            Origin::ALL.len()
        } else {
            4
        };
        Origin::ALL[self.random.below(most)]
    }

    fn stated(&mut self) -> Option<Origin> {
        self.random.one_in(6).then(|| *self.random.pick(&Origin::ALL))
    }

    fn writer(&mut self) -> Writer {
        let mut writer = Writer::of(self.class());
        writer.session = self
            .random
            .one_in(2)
            .then(|| (*self.random.pick(&SESSIONS)).to_owned());
        writer
    }

    /// Returns a session and the sessions above it, as the state and the model's own step link them.
    fn line(&self, session: &str, own: Option<&str>) -> Vec<String> {
        let mut line = vec![session.to_owned()];
        let mut parent = own.map(str::to_owned);
        loop {
            let last = line.last().unwrap().clone();
            let known = self.view().get(&id(&format!("session/{last}"))).unwrap();
            let known = known.and_then(|object| Some(object.parent()?.strip_prefix("session/")?.to_owned()));
            let Some(next) = known.or_else(|| parent.take()) else {
                return line;
            };
            line.push(next);
        }
    }

    fn cap<'a>(&self, lines: impl IntoIterator<Item = &'a Vec<String>>) -> u8 {
        let mut sessions = lines.into_iter().flatten();
        if sessions.any(|session| self.tainted.contains(session)) {
            4
        } else {
            0
        }
    }

    /// Records a text of this rank in these sessions. Returns the rank with which the text is stored.
    fn write(&mut self, rank: u8, lines: &[Vec<String>]) -> u8 {
        let rank = rank.max(self.cap(lines));
        if rank == 4 {
            self.tainted.extend(lines.iter().flatten().cloned());
        }
        rank
    }

    fn any_object(&mut self) -> Option<Object> {
        let all: Vec<Object> = self.view().objects().collect::<Result<_>>().unwrap();
        (!all.is_empty()).then(|| self.random.pick(&all).clone())
    }

    /// Checks every version that the step brought into the state. `of_text` is the rank of each new text; `other` is
    /// the rank of other new versions, such as the objects of sessions.
    fn check(&mut self, what: &str, before: &View, of_text: &HashMap<String, u8>, other: Option<u8>) {
        let now = self.view();
        for change in self.agent.memory().diff(before, &now).unwrap() {
            let Some(digest) = change.new else { continue };
            let object = now.get(&change.id).unwrap().unwrap();
            let text = object.content().unwrap_or_default();
            let allowed = match self.allowed.get(&digest) {
                Some(known) => *known,
                None => of_text.get(text).copied().or(other).unwrap_or_else(|| {
                    panic!("{what} made a version of {} from nothing", change.id);
                }),
            };
            assert!(
                rank(object.origin()) >= allowed,
                "{what}: {} is {}, but the table allows rank {allowed}",
                change.id,
                object.origin()
            );
            self.allowed.insert(digest, allowed);
        }
        self.commits.push(now.commit().digest);
    }

    fn append(&mut self) {
        let before = self.view();
        let session = *self.random.pick(&SESSIONS);
        let parent = self.random.one_in(2).then(|| *self.random.pick(&SESSIONS));
        let writer = self.writer();
        let mut append = Append {
            session: session.to_owned(),
            parent: parent.map(str::to_owned),
            ..Append::default()
        };
        for _ in 0..self.random.below(4) {
            append.entries.push(NewEntry {
                text: self.text(),
                speaker: self.random.pick(&SPEAKERS).map(str::to_owned),
                origin: self.stated(),
                ..NewEntry::default()
            });
        }
        if self.agent.append(&append, &writer).is_err() {
            assert_eq!(self.view().root(), before.root());
            return;
        }
        let mut lines = vec![self.line(session, parent)];
        lines.extend(writer.session.as_deref().map(|session| self.line(session, None)));
        let writer_rank = rank(writer.trust);
        // The verb writes the objects of new sessions before the entries.
        let of_sessions = self.cap(&lines).max(writer_rank);
        let now = self.view();
        let is_new = |name: &String| {
            let id = id(&format!("session/{name}"));
            before.get(&id).unwrap().is_none() && now.get(&id).unwrap().is_some()
        };
        if of_sessions == 4 && lines.iter().flatten().any(is_new) {
            self.write(of_sessions, &lines);
        }
        let mut of_text = HashMap::new();
        for entry in append.entries {
            let stated = entry.origin.map_or(0, rank);
            let own = row(entry.speaker.as_deref()).max(stated).max(writer_rank);
            let stored = self.write(own, &lines);
            of_text.insert(entry.text, stored);
        }
        // A session that gets its parent after its taint taints the parent.
        if self.cap(&lines[..1]) == 4 {
            self.tainted.extend(lines[0].iter().cloned());
        }
        self.check("append", &before, &of_text, Some(of_sessions.min(writer_rank)));
    }

    fn remember(&mut self) {
        let before = self.view();
        let mut item = NewItem::new(self.text());
        item.speaker = self.random.pick(&SPEAKERS).map(str::to_owned);
        item.origin = self.stated();
        item.session = self
            .random
            .one_in(2)
            .then(|| (*self.random.pick(&SESSIONS)).to_owned());
        let source = self.random.one_in(3).then(|| self.any_object()).flatten();
        item.derived_from.extend(source.as_ref().map(Object::digest));
        let writer = self.writer();
        let sessions = [&item.session, &writer.session];
        let lines: Vec<_> = sessions
            .into_iter()
            .flatten()
            .map(|session| self.line(session, None))
            .collect();
        let own = row(item.speaker.as_deref())
            .max(item.origin.map_or(0, rank))
            .max(rank(writer.trust))
            .max(source.map_or(0, |source| rank(source.origin())));
        let text = item.text.clone();
        let quick = RememberOptions {
            is_quick: true,
            ..RememberOptions::default()
        };
        drop(self.agent.remember(item, &quick, &writer).unwrap());
        let stored = self.write(own, &lines);
        self.check("remember", &before, &HashMap::from([(text, stored)]), None);
    }

    fn put(&mut self) {
        let before = self.view();
        let name = format!("put/{}", self.random.below(5));
        let text = self.text();
        let writer = self.writer();
        let lines: Vec<_> = writer
            .session
            .iter()
            .map(|session| self.line(session, None))
            .collect();
        if self.agent.memory().put(fact(&name, &text), &writer).is_err() {
            return;
        }
        let stored = self.write(rank(writer.trust), &lines);
        self.check("put", &before, &HashMap::from([(text, stored)]), None);
    }

    fn note(&mut self) {
        let before = self.view();
        let session = *self.random.pick(&SESSIONS);
        let note = NewNote {
            text: self.text(),
            scope: Scope::default(),
            session: session.to_owned(),
            replace: None,
        };
        let writer = self.writer();
        let mut lines = vec![self.line(session, None)];
        lines.extend(writer.session.as_deref().map(|session| self.line(session, None)));
        drop(self.agent.write_note(&note, &writer).unwrap());
        let stored = self.write(rank(writer.trust), &lines);
        self.check("note", &before, &HashMap::from([(note.text, stored)]), None);
    }

    /// A promotion is the only verb that raises a class.
    fn promote(&mut self) {
        let before = self.view();
        let Some(object) = self.any_object() else { return };
        let id = Id::new(object.id().as_str()).unwrap();
        let mut writer = self.writer();
        writer.trust = Origin::DirectUser;
        drop(
            self.agent
                .promote(&id, object.digest(), &[], PersonSays::InHost, &writer)
                .unwrap(),
        );
        self.check("promote", &before, &HashMap::new(), Some(0));
    }

    /// Takes something back. The writer may be refused.
    fn take_back(&mut self) {
        let before = self.view();
        let writer = self.writer();
        let memory = self.agent.memory().clone();
        let (what, done) = match self.random.below(6) {
            0 => ("undo", memory.undo(&writer).map(drop)),
            1 => ("redo", memory.redo(&writer).map(drop)),
            2 if !self.commits.is_empty() => {
                let to = *self.random.pick(&self.commits);
                (
                    "rollback",
                    memory.rollback(to).across_lanes().by(&writer).map(drop),
                )
            }
            3 => {
                let Some(object) = self.any_object() else { return };
                let id = Id::new(object.id().as_str()).unwrap();
                ("remove", memory.remove_recursive(&id, &writer).map(drop))
            }
            4 if !self.commits.is_empty() => {
                let selection = Selection::default().commit(*self.random.pick(&self.commits));
                ("revert", memory.revert(selection).by(&writer).map(drop))
            }
            _ => {
                let Some(then) = self.commits.first().copied() else {
                    return;
                };
                let from = memory.view_at(&then.into(), "default").unwrap();
                let Some(object) = self.any_object() else { return };
                let id = Id::new(object.id().as_str()).unwrap();
                let mut draft = memory.draft(&writer);
                let restored = draft.restore(&id, &from);
                (
                    "restore",
                    restored.and_then(|_| memory.commit(draft, "restore").map(drop)),
                )
            }
        };
        if done.is_ok() {
            self.check(what, &before, &HashMap::new(), None);
        } else {
            assert_eq!(self.view().root(), before.root());
        }
    }

    fn step(&mut self) {
        match self.random.below(12) {
            0..=2 => self.append(),
            3..=4 => self.remember(),
            5..=6 => self.put(),
            7 => self.note(),
            8 => self.promote(),
            _ => self.take_back(),
        }
    }
}

/// INVARIANT TNT-2: a version that is written in a tainted session, or below one, is untrusted.
#[test]
fn no_history_makes_a_version_more_trusted_than_the_table() {
    let (mut trusted, mut tainted) = (0, 0);
    for seed in 0..HISTORIES {
        let mut history = History::new(seed);
        for _ in 0..STEPS {
            history.step();
        }
        // INVARIANT TNT-1: undo, redo, rollback, removal, erasure and garbage collection leave the taint as it is.
        let view = history.view();
        for session in &history.tainted {
            assert!(view.is_tainted(session).unwrap(), "seed {seed}: {session}");
        }
        trusted += history.allowed.values().filter(|rank| **rank < 4).count();
        tainted += history.tainted.len();
    }
    // The histories contain both trusted versions and tainted sessions.
    assert!(
        trusted as u64 > HISTORIES * 3 && tainted as u64 > HISTORIES,
        "{trusted} {tainted}"
    );
}

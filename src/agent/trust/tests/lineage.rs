//! Tests with random derivation graphs: no operation makes an item more trusted than its sources.
//!
//! The oracle computes the most trusted class that each text may have, from its writer and its sources. The oracle does
//! not use the code of the engine. Only a promotion raises the class.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Agent, Draft, Memory, Options, PersonSays, Settings, Time, Writer, fact, id};
use crate::agent::Reach;
use crate::agent::forget::Forgetting;
use crate::agent::session::{Append, NewEntry, end_session};
use crate::digest::ObjectDigest;
use crate::engine::{Authorisation, Revision, View};
use crate::error::{Error, ErrorCode, Result};
use crate::ingest::{Version, for_each_version, json};
use crate::object::{Object, Origin};
use crate::testing::opening::memory_on;
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;

/// The number of graphs.
const GRAPHS: usize = 10_000;
/// The number of graphs that share a pair of stores.
const GRAPHS_A_WORLD: usize = 25;
/// The number of operations on each graph.
const STEPS: usize = 6;

/// A store, and its disk.
struct Place {
    agent: Agent,
    disk: SimDisk,
}

impl Place {
    fn new(disk: SimDisk, create: bool) -> Self {
        let memory = memory_on(Arc::new(disk.clone()), Options::new(), create).unwrap();
        Self {
            agent: Agent::new(memory, Settings::default()),
            disk,
        }
    }

    fn memory(&self) -> &Memory {
        self.agent.memory()
    }
}

/// Two stores that import from each other, and the state of the oracle.
struct World {
    random: SplitMix64,
    places: Vec<Place>,
    /// The most trusted class that each text may have.
    allowed: HashMap<String, Origin>,
    texts: usize,
    /// Versions that were imported into the history only, each with the number of its store.
    past: Vec<(usize, ObjectDigest)>,
    /// The number of times that each operation ran.
    done: HashMap<&'static str, usize>,
    graph: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let place = |number| Place::new(SimDisk::new(seed * 2 + number), true);
        Self {
            random: SplitMix64::new(seed),
            places: vec![place(0), place(1)],
            allowed: HashMap::new(),
            texts: 0,
            past: Vec::new(),
            done: HashMap::new(),
            graph: 0,
        }
    }

    fn class(&mut self) -> Origin {
        *self.random.pick(&Origin::ALL)
    }

    fn name(&mut self) -> String {
        format!("g{}/{}", self.graph, self.random.below(4))
    }

    /// Returns random objects of this graph, and sometimes a version that only the history contains.
    fn sources(&mut self, place: usize, most: usize) -> Vec<Object> {
        let memory = self.places[place].memory().clone();
        let view = memory.view();
        let count = 1 + self.random.below(most);
        let names: Vec<String> = (0..count).map(|_| self.name()).collect();
        let mut found: Vec<Object> = names
            .iter()
            .filter_map(|name| view.get(&id(name)).unwrap())
            .collect();
        let past: Vec<_> = self.past.iter().filter(|(of, _)| *of == place).collect();
        if !past.is_empty() && self.random.one_in(2) {
            let (_, digest) = **self.random.pick(&past);
            found.extend(memory.version(digest).unwrap());
        }
        found
    }

    /// Returns the object with a random name of this graph, if the object exists.
    fn current(&mut self, place: usize) -> Option<Object> {
        let name = self.name();
        self.places[place].memory().view().get(&id(&name)).unwrap()
    }

    /// Stages a text derived from `sources`, and records the class that the oracle allows for it.
    fn derive(&mut self, draft: &mut Draft, sources: &[Object]) -> ObjectDigest {
        // So an untrusted writer overwrites more trusted versions too.
        draft.authorise(Authorisation::Decided);
        self.texts += 1;
        let (name, text) = (self.name(), format!("text {}", self.texts));
        let mut allowed = draft.writer().trust;
        let mut object = fact(&name, &text);
        for source in sources {
            object.derived_from.push(source.digest());
            allowed = Origin::least(allowed, self.allowed[&label(source)]);
        }
        if self.random.one_in(8) {
            object
                .derived_from
                .push(ObjectDigest::from_bytes(self.random.digest()));
            allowed = Origin::least(allowed, Origin::Import);
        }
        self.allowed.insert(text, allowed);
        draft.put(object).unwrap();
        draft.digest(&id(&name)).unwrap().unwrap()
    }

    fn step(&mut self) {
        let place = self.random.below(self.places.len());
        let class = self.class();
        let writer = Writer::of(class).actor(format!("s{}", self.random.below(2)));
        let memory = self.places[place].memory().clone();
        let before = self.origins(place);
        let what = match self.random.below(19) {
            0..=3 => {
                let mut draft = memory.draft(&writer);
                self.derive(&mut draft, &[]);
                drop(memory.commit(draft, "put").unwrap());
                "put"
            }
            4..=6 => {
                let sources = self.sources(place, 3);
                let mut draft = memory.draft(&writer);
                self.derive(&mut draft, &sources);
                drop(memory.commit(draft, "put").unwrap());
                "merge"
            }
            7 => self.summarise_in_one_draft(place, &writer),
            8 | 9 => self.import(place, &writer),
            10 => self.go_back(&memory, &writer),
            11 => self.keep_a_draft(place, &writer),
            12 => self.write_the_same_again(place, &writer),
            13 => self.promote(place),
            17 => {
                let other = self.places[place].disk.copy();
                let forks_max = 2;
                let fork = Place::new(other, false);
                if self.places.len() < forks_max + 2 {
                    self.places.push(fork);
                } else {
                    self.places[forks_max + 1] = fork;
                }
                "fork"
            }
            14 => self.forget(place, &writer),
            15 => self.expire(place, &writer),
            16 => self.end_a_session(place),
            _ => self.bring_back(place, &writer),
        };
        if !class.is_trusted() && !["promote", "fork"].contains(&what) {
            for (name, now) in self.origins(place) {
                let least = before.get(&name).copied().unwrap_or(class);
                assert!(
                    !is_above(now, least),
                    "{what} by {class} changed the origin of {name} to {now}"
                );
            }
        }
        *self.done.entry(what).or_default() += 1;
    }

    /// Writes a text, a second text derived from it, and another version of the first text, in one commit. So no state
    /// contains the source of the second text.
    fn summarise_in_one_draft(&mut self, place: usize, writer: &Writer) -> &'static str {
        let memory = self.places[place].memory().clone();
        let sources = self.sources(place, 2);
        let mut draft = memory.draft(writer);
        self.derive(&mut draft, &sources);
        let staged: Vec<Object> = draft
            .changes()
            .into_iter()
            .filter_map(|change| draft.get(&change.id).unwrap())
            .collect();
        self.derive(&mut draft, &staged);
        self.derive(&mut draft, &[]);
        drop(memory.commit(draft, "put").unwrap());
        "summary"
    }

    /// Imports all objects of one store into another as JSON Lines, some of them without their sources.
    fn import(&mut self, from: usize, writer: &Writer) -> &'static str {
        let to = self.random.below(self.places.len());
        let (source, target) = (
            self.places[from].memory().clone(),
            self.places[to].memory().clone(),
        );
        let with_past = self.random.one_in(2);
        let prefix = format!("g{}/", self.graph);
        let mut lines = Vec::new();
        let written: Result<(), Error> =
            for_each_version(&source, &source.view(), &mut |version: Version| {
                let is_own = version.object.id().as_str().starts_with(&prefix);
                if is_own && (with_past || !version.past) {
                    lines.push(json::stored_object_to_json(&version.object, version.past)?.to_string());
                }
                Ok(())
            });
        written.unwrap();
        let class = writer.trust;
        let mut draft = target.draft(writer);
        let mut past = Vec::new();
        for line in lines {
            let line = json::object_from_json(json::parse(&line).unwrap()).unwrap();
            let origin = line.origin.unwrap();
            let name = line.object.id.clone();
            if line.past {
                past.push((to, draft.put_past(&line.object, origin).unwrap()));
                continue;
            }
            // If the store already contains an equal object, the import does not change its trust.
            let there = draft.get(&name).unwrap();
            let is_there =
                there.is_some_and(|there| there.same_meaning(&line.object, target.suite()).unwrap());
            draft
                .stage(line.object, crate::engine::OriginRule::AtMost(origin))
                .unwrap();
            // The import may lower the trust of a text in this store, but the original store may still trust it more.
            // So the recorded bound of the text stays, and the lower bound is checked here.
            let staged = draft.get(&name).unwrap().unwrap();
            let allowed = Origin::least(class, self.allowed[&label(&staged)]);
            assert!(
                is_there || !is_above(staged.origin(), allowed),
                "TRU-1: {name} by import"
            );
        }
        draft.authorise(Authorisation::Decided);
        drop(target.commit(draft, "put").unwrap());
        self.past.extend(past);
        "import"
    }

    fn go_back(&mut self, memory: &Memory, writer: &Writer) -> &'static str {
        let head = memory.view().commit().commit.seq;
        let to = head.saturating_sub(1 + self.random.below(6) as u64);
        let mut what = "rollback";
        if let Err(error) = memory.rollback(Revision::Seq(to)).across_lanes().by(writer) {
            assert!(
                error.code() == ErrorCode::LessTrusted && !writer.trust.is_trusted(),
                "{error}"
            );
            what = "refused rollback";
        }
        if self.random.one_in(2) {
            drop(memory.undo(writer));
        }
        if self.random.one_in(2) {
            drop(memory.redo(writer));
        }
        what
    }

    /// Returns the origins of the objects of this graph.
    fn origins(&self, place: usize) -> HashMap<String, Origin> {
        let view = self.places[place].memory().view();
        let names = (0..4).map(|number| format!("g{}/{number}", self.graph));
        let origin = |name: String| Some((name.clone(), view.get(&id(&name)).unwrap()?.origin()));
        names.filter_map(origin).collect()
    }

    fn forget(&mut self, place: usize, writer: &Writer) -> &'static str {
        if let Some(object) = self.current(place) {
            let what = Forgetting {
                ids: vec![id(object.id().as_str())],
                ..Forgetting::default()
            };
            let done = self.places[place].agent.forget(&what, writer, false);
            let refused = done.err().map(|error| error.code().as_str().to_owned());
            let is_refused = is_above(object.origin(), writer.trust);
            assert_eq!(refused.as_deref(), is_refused.then_some("less_trusted"));
        }
        "forget"
    }

    fn expire(&mut self, place: usize, writer: &Writer) -> &'static str {
        if let Some(object) = self.current(place) {
            let agent = &self.places[place].agent;
            self.texts += 1;
            let at = Time::from_micros(i64::MAX - i64::try_from(self.texts).unwrap());
            let done = agent.expire(&id(object.id().as_str()), Some(at), writer);
            let is_refused = is_above(object.origin(), writer.trust);
            assert_eq!(done.is_err(), is_refused, "{done:?}");
            let now = agent
                .memory()
                .view()
                .get(&id(object.id().as_str()))
                .unwrap()
                .unwrap();
            assert_eq!(
                now.origin(),
                object.origin(),
                "an expiry time does not change the origin"
            );
        }
        "expire"
    }

    /// Ends a session that contained a page. Before that, a random writer tries to forget or expire the page.
    fn end_a_session(&mut self, place: usize) -> &'static str {
        self.texts += 1;
        let (session, page, hand) = (format!("t{}", self.texts), self.class(), self.class());
        let agent = &self.places[place].agent;
        let mut entries = vec![
            NewEntry {
                text: "I drink green tea".to_owned(),
                speaker: Some("user".to_owned()),
                ..NewEntry::default()
            };
            3
        ];
        entries.push(NewEntry {
            text: "a page".to_owned(),
            speaker: Some("user".to_owned()),
            origin: Some(page),
            ..NewEntry::default()
        });
        let append = Append {
            session: session.clone(),
            entries,
            ..Append::default()
        };
        let seen = agent.append(&append, &Writer::user()).unwrap().ids[3].clone();
        let hand = Writer::of(hand);
        if self.random.one_in(2) {
            let what = Forgetting {
                ids: vec![seen],
                ..Forgetting::default()
            };
            drop(agent.forget(&what, &hand, false));
        } else {
            drop(agent.expire(&seen, Some(Time::from_micros(1)), &hand));
        }
        let reply = format!(
            r#"{{"summary":"of {session}","facts":[{{"scope":"user","fact":"I drink green tea {session}."}}]}}"#
        );
        let ended = end_session(
            agent,
            &Reach::All,
            &session,
            Some(&reply),
            Some(true),
            &Writer::user(),
        )
        .unwrap();
        let view = agent.memory().view();
        let stored = ended.facts.into_iter().filter_map(|fact| fact.id);
        // A trusted entry that was forgotten leaves no taint, so only an untrusted page lowers what comes after it.
        let allowed = if page.is_trusted() { Origin::Model } else { page };
        for made in stored.chain(ended.episode) {
            let origin = view.get(&made).unwrap().unwrap().origin();
            assert!(
                !is_above(origin, allowed),
                "{made} has the class {origin}, but the page had the class {page}"
            );
        }
        "session"
    }

    fn keep_a_draft(&mut self, place: usize, writer: &Writer) -> &'static str {
        let memory = self.places[place].memory().clone();
        let sources = self.sources(place, 2);
        let mut draft = memory.draft(writer);
        self.derive(&mut draft, &sources);
        let name = format!("d{}", self.texts);
        memory.save_draft(&draft, &name).unwrap();
        let full = format!("drafts/{name}");
        // A more trusted writer continues the saved draft.
        let opened = memory.open_draft(&full, &Writer::user()).unwrap();
        drop(memory.commit(opened, "put").unwrap());
        memory.delete_draft(&full, &Writer::user()).unwrap();
        "draft"
    }

    fn write_the_same_again(&mut self, place: usize, writer: &Writer) -> &'static str {
        let memory = self.places[place].memory().clone();
        if let Some(object) = self.current(place) {
            drop(memory.put(object.to_new().unwrap(), writer).unwrap());
        }
        "again"
    }

    fn promote(&mut self, place: usize) -> &'static str {
        if let Some(object) = self.current(place) {
            let (name, class) = (id(object.id().as_str()), object.origin());
            let agent = &self.places[place].agent;
            let promoted = agent
                .promote(&name, object.digest(), &[], PersonSays::InHost, &Writer::user())
                .unwrap();
            assert_eq!((promoted.from, promoted.to), (class, Origin::DirectUser));
            // A person is now responsible for this version, so the oracle allows the class of a person.
            let now = agent.memory().view().get(&name).unwrap().unwrap();
            self.allowed.insert(label(&now), Origin::DirectUser);
        }
        "promote"
    }

    fn bring_back(&mut self, place: usize, writer: &Writer) -> &'static str {
        let memory = self.places[place].memory().clone();
        let head = memory.view().commit().commit.seq;
        let from = head.saturating_sub(1 + self.random.below(8) as u64);
        let from = memory.view_at(&Revision::Seq(from), "").unwrap();
        let mut draft = memory.draft(writer);
        let name = self.name();
        if let Err(error) = draft.restore(&id(&name), &from) {
            assert!(
                error.code() == ErrorCode::LessTrusted && !draft.writer().trust.is_trusted(),
                "{error}"
            );
            return "refused restore";
        }
        drop(memory.commit(draft, "restore").unwrap());
        "restore"
    }

    /// Checks in every store that no object of this graph is more trusted than the oracle allows.
    fn check(&self) -> usize {
        let mut checked = 0;
        for place in &self.places {
            let view: View = place.memory().view();
            for number in 0..4 {
                let name = format!("g{}/{number}", self.graph);
                let Some(object) = view.get(&id(&name)).unwrap() else {
                    continue;
                };
                let text = label(&object);
                let allowed = self.allowed[&text];
                assert!(
                    !is_above(object.origin(), allowed),
                    "TRU-1: {name}, {text}, has the class {}, but the maximum is {allowed}",
                    object.origin()
                );
                checked += 1;
            }
        }
        checked
    }
}

/// Returns the key of a version in the oracle: its text, and whether it was promoted.
fn label(object: &Object) -> String {
    let text = object.content().unwrap();
    match object.attribute("promoted") {
        Some(_) => format!("{text}, promoted"),
        None => text.to_owned(),
    }
}

fn is_above(origin: Origin, allowed: Origin) -> bool {
    Origin::least(origin, allowed) != origin
}

/// INVARIANT TRU-1: an item is at most as trusted as its least trusted source.
#[test]
fn no_derivation_raises_trust() {
    let (mut checked, mut done) = (0, HashMap::new());
    for seed in 0..(GRAPHS / GRAPHS_A_WORLD) as u64 {
        let mut world = World::new(seed);
        for graph in 0..GRAPHS_A_WORLD {
            world.graph = graph;
            for _ in 0..STEPS {
                world.step();
            }
            checked += world.check();
        }
        for (what, count) in world.done {
            *done.entry(what).or_insert(0) += count;
        }
    }
    assert!(checked > GRAPHS, "{checked} objects");
    for what in [
        "put", "merge", "summary", "import", "rollback", "draft", "again", "promote", "fork", "restore",
        "forget", "expire", "session",
    ] {
        assert!(
            done.get(what).is_some_and(|count| *count > 1_000),
            "{what}: {done:?}"
        );
    }
}

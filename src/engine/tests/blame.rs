//! Blame and bisect: random histories against naive references, and the cases that random histories lack.
//!
//! The references read every state of the history in order. `TREERING_HISTORIES=1000 cargo test --release --lib
//! engine::tests::blame` runs more histories than the default.

use std::collections::{BTreeMap, HashMap};

use super::gc::tight;
use super::{by, id, note, put};
use crate::digest::ObjectDigest;
use crate::engine::read::bisect::first_change;
use crate::engine::*;
use crate::object::{Id, Kind, NewObject, Object, Origin, Scope, Time, Value};
use crate::testing::random::SplitMix64;
use crate::{ErrorCode, ErrorKind, Result};

/// The number of histories of a normal run.
const HISTORIES: u64 = 100;
/// The number of operations in a history.
const STEPS: usize = 30;
const IDS: [&str; 3] = ["a", "b", "c"];
const CLASSES: [Origin; 3] = [Origin::DirectUser, Origin::Model, Origin::Document];

fn histories() -> u64 {
    let wanted = std::env::var("TREERING_HISTORIES").ok();
    wanted.and_then(|count| count.parse().ok()).unwrap_or(HISTORIES)
}

/// A memory with random changes of a few objects. No two lines of one content are equal, and lines keep their order.
struct History {
    random: SplitMix64,
    memory: Memory,
    lines: usize,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut history = Self {
            random: SplitMix64::new(seed),
            memory: Memory::in_memory().unwrap(),
            lines: 0,
        };
        for _ in 0..STEPS {
            // An operation that the engine refuses makes no commit.
            drop(history.step());
        }
        history
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.random.below(texts.len())]
    }

    fn writer(&mut self) -> Writer {
        let session = self.one_of(&["monday", "tuesday", "night"]);
        Writer::of(*self.random.pick(&CLASSES)).session(session)
    }

    fn step(&mut self) -> Result<()> {
        let (writer, target) = (self.writer(), id(self.one_of(&IDS)));
        let newest = self.memory.view().commit().commit.seq as usize;
        let seq = self.random.below(newest + 1);
        match self.random.below(20) {
            0 => drop(self.memory.remove(&target, &writer)?),
            1..3 => drop(self.memory.undo(&writer)?),
            3 => drop(self.memory.redo(&writer)?),
            4 => drop(
                self.memory
                    .rollback(Revision::Seq(seq as u64))
                    .across_lanes()
                    .by(&writer)?,
            ),
            5 => {
                let from = self.memory.at(Revision::Seq(seq as u64))?;
                let mut draft = self.memory.draft(&writer);
                draft.restore(&target, &from)?;
                drop(self.memory.commit(draft, "restore")?);
            }
            _ => {
                let object = self.edited(target)?;
                drop(self.memory.put(object, &writer)?);
            }
        }
        Ok(())
    }

    /// Returns the object with some random changes.
    fn edited(&mut self, target: Id) -> Result<NewObject> {
        let known = self.memory.view().get(&target)?;
        let mut object = match &known {
            Some(known) => known.to_new()?,
            None => NewObject::new(target, Kind::new("fact")?),
        };
        let content = object.content.take().unwrap_or_default();
        let mut lines: Vec<String> = content.lines().map(str::to_owned).collect();
        for _ in 0..=self.random.below(3) {
            match self.random.below(8) {
                0 => object.kind = Kind::new(self.one_of(&["fact", "note"]))?,
                1 => object.scope = Scope::new(self.one_of(&["global", "other"]))?,
                2 => {
                    let name = self.one_of(&["todo", "tags"]);
                    let values = [Value::Null, Value::from("open"), Value::from(7)];
                    object.attributes.insert(name, self.random.pick(&values).clone());
                }
                3 => {
                    let time = Time::from_micros(4_000_000_000_000_000);
                    object.expires = self.random.one_in(2).then_some(time);
                }
                4 if !lines.is_empty() => drop(lines.remove(self.random.below(lines.len()))),
                _ => {
                    // Now and then a line that an earlier version had, but not the present one: no line moves.
                    let number = if self.random.one_in(4) {
                        self.random.below(self.lines + 1)
                    } else {
                        self.lines
                    };
                    self.lines = self.lines.max(number + 1);
                    let line = format!("line {number}");
                    if !lines.contains(&line) && !content.lines().any(|known| known == line) {
                        lines.insert(self.random.below(lines.len() + 1), line);
                    }
                }
            }
        }
        object.content = Some(lines.join("\n"));
        Ok(object)
    }

    /// Returns every state, oldest first.
    fn states(&self) -> Vec<View> {
        let newest = self.memory.view().commit().commit.seq;
        (0..=newest)
            .map(|seq| self.memory.at(Revision::Seq(seq)).unwrap())
            .collect()
    }
}

/// Returns the parts of a version by name. The name of a line is its text.
fn parts(object: &Object) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::from([
        ("kind".to_owned(), object.kind().to_owned()),
        ("scope".to_owned(), object.scope().to_owned()),
        ("origin".to_owned(), object.origin().to_string()),
    ]);
    parts.extend(
        object
            .expires()
            .map(|time| ("expires".to_owned(), time.to_string())),
    );
    for (name, value) in &object.attributes() {
        parts.insert(format!("attr:{name}"), format!("{value:?}"));
    }
    for line in object.content().unwrap_or_default().lines() {
        parts.insert(format!("= {line}"), line.to_owned());
    }
    parts
}

/// Returns for each part of each version the seq of its writer and the origin of the version that it wrote, from all
/// states up to the last in `states`.
fn naive(states: &[View], target: &Id) -> HashMap<ObjectDigest, BTreeMap<String, (u64, Origin)>> {
    let mut known: HashMap<ObjectDigest, BTreeMap<String, (u64, Origin)>> = HashMap::new();
    let mut before: Option<Object> = None;
    for view in states {
        let now = view.get(target).unwrap();
        if let Some(object) = now
            .as_ref()
            .filter(|object| !known.contains_key(&object.digest()))
        {
            let writer = (view.commit().commit.seq, object.origin());
            let older = before
                .as_ref()
                .map(|older| (parts(older), &known[&older.digest()]));
            let writer_of = |name: &String, value: &String| match &older {
                Some((older, writers)) if older.get(name) == Some(value) => writers[name],
                _ => writer,
            };
            let found = parts(object);
            let writers = found
                .iter()
                .map(|(name, value)| (name.clone(), writer_of(name, value)));
            let writers = writers.collect();
            drop(known.insert(object.digest(), writers));
        }
        before = now;
    }
    known
}

/// INVARIANT BLM-1 and BLM-2: blame names the same writers as a reading of all states.
#[test]
fn blame_agrees_with_a_reading_of_all_states() -> Result<()> {
    let mut compared = 0;
    for seed in 0..histories() {
        let history = History::new(seed);
        let states = history.states();
        for target in IDS.map(id) {
            let known = naive(&states, &target);
            for view in &states {
                let blamed = history.memory.blame(view, &target)?;
                let Some(object) = view.get(&target)? else {
                    assert!(blamed.is_empty());
                    continue;
                };
                // A version may come back after the state, but its first writer is older than the state.
                let found = blamed.iter().map(|blamed| {
                    let name = match (&blamed.part, &blamed.value) {
                        (Part::Line(_), Value::Text(line)) => format!("= {line}"),
                        (part, _) => part.to_string(),
                    };
                    (name, (blamed.change.commit.commit.seq, blamed.trust))
                });
                let found: BTreeMap<_, _> = found.collect();
                assert_eq!(found, known[&object.digest()], "seed {seed}, {target}, {view:?}");
                compared += found.len();
            }
        }
    }
    assert!(compared as u64 > histories() * 100, "{compared}");
    Ok(())
}

#[test]
fn the_parts_have_an_order_and_their_values() -> Result<()> {
    let memory = Memory::in_memory()?;
    let mut object = note("a", "one\ntwo\r\nthree");
    object.attributes.insert("todo", "open");
    object.attributes.insert("done", true);
    drop(memory.put(object, &by("s"))?);
    let blamed = memory.blame(&memory.view(), &id("a"))?;
    let parts: Vec<String> = blamed.iter().map(|blamed| blamed.part.to_string()).collect();
    let wanted = [
        "kind",
        "scope",
        "origin",
        "attr:done",
        "attr:todo",
        "line:1",
        "line:2",
        "line:3",
    ];
    assert_eq!(parts, wanted);
    assert_eq!(
        (&blamed[3].value, &blamed[6].value),
        (&true.into(), &"two".into())
    );
    assert!(memory.blame(&memory.view(), &id("nobody"))?.is_empty());
    Ok(())
}

#[test]
fn an_erased_version_is_passed_over() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("s"))?;
    put(&memory, "a", "first\nlast");
    let secret = memory.put(note("a", "first\nsecret\nlast"), &by("leak"))?;
    let secret = memory.at(secret.commit.digest)?.get(&id("a"))?.unwrap().digest();
    drop(memory.put(note("a", "first\nmiddle\nlast"), &by("later"))?);
    let erasing = Erasing {
        targets: vec![secret.to_hex()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    let blamed = memory.blame(&memory.view(), &id("a"))?;
    let lanes: Vec<&str> = blamed.iter().map(|blamed| blamed.change.commit.lane()).collect();
    assert_eq!(lanes[lanes.len() - 3..], ["default", "later", "default"]);
    Ok(())
}

#[test]
fn a_thinned_writer_is_told_as_thinned() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("s"))?;
    put(&memory, "a", "one");
    for number in 0..30 {
        put(&memory, "b", &number.to_string());
    }
    drop(memory.put(note("a", "one\ntwo"), &by("later"))?);
    memory.gc(&tight(), None)?;
    let blamed = memory.blame(&memory.view(), &id("a"))?;
    let [.., one, two] = &blamed[..] else {
        panic!("{blamed:?}")
    };
    assert!(one.change.thinned && one.change.commit.commit.seq > 1, "{one:?}");
    assert!(
        !two.change.thinned && two.change.commit.lane() == "later",
        "{two:?}"
    );
    Ok(())
}

/// INVARIANT BIS-1: the found commit turns a good state bad, and is the first one if the bad states stay bad.
#[test]
fn bisect_agrees_with_a_reading_of_all_states() -> Result<()> {
    let (mut first, mut other, mut refused) = (0, 0, 0);
    for seed in 0..histories() {
        let mut history = History::new(seed);
        let states = history.states();
        for _ in 0..10 {
            let ends = [(); 2].map(|()| history.random.below(states.len()));
            let line = format!("line {}", history.random.below(history.lines));
            let has = |view: &View| -> Result<bool> {
                let object = view.get(&id("a"))?;
                let content = object.as_ref().and_then(Object::content).unwrap_or_default();
                Ok(content.lines().any(|found| found == line))
            };
            let bad: Vec<bool> = states.iter().map(has).collect::<Result<_>>()?;
            let found = history.memory.bisect(&states[ends[0]], &states[ends[1]], has);
            let wanted = match ends {
                [good, end] if good >= end => Some(ErrorCode::WrongOrder),
                [_, end] if !bad[end] => Some(ErrorCode::BadIsGood),
                [good, _] if bad[good] => Some(ErrorCode::GoodIsBad),
                _ => None,
            };
            if let Some(code) = wanted {
                let error = found.unwrap_err();
                assert_eq!(
                    (error.kind(), error.code()),
                    (ErrorKind::InvalidInput, code),
                    "seed {seed}"
                );
                refused += 1;
                continue;
            }
            let found = found?;
            let (before, at) = (
                found.last_good.commit.seq as usize,
                found.first_bad.commit.seq as usize,
            );
            assert!(
                before + 1 == at && !bad[before] && bad[at],
                "seed {seed}: {found:?}"
            );
            assert!(found.steps <= u64::from(states.len().ilog2()) + 1, "{found:?}");
            let range = &bad[ends[0]..=ends[1]];
            if range.is_sorted() {
                assert_eq!(
                    Some(at - ends[0]),
                    range.iter().position(|bad| *bad),
                    "seed {seed}"
                );
                first += 1;
            } else {
                other += 1;
            }
        }
    }
    let least = histories() as usize / 10;
    assert!(
        first > least && other > 0 && refused > least,
        "{first} {other} {refused}"
    );
    Ok(())
}

#[test]
fn the_first_change_of_an_object_agrees_with_a_reading_of_all_states() -> Result<()> {
    let (mut changed, mut unchanged) = (0, 0);
    for seed in 0..histories() {
        let mut history = History::new(seed);
        let states = history.states();
        for target in IDS.map(id) {
            let bad = 1 + history.random.below(states.len() - 1);
            let good = history.random.below(bad);
            let digest = |view: &View| view.get(&target).unwrap().map(|object| object.digest());
            let differs = |seq: &usize| digest(&states[*seq]) != digest(&states[good]);
            let found = first_change(&history.memory, &states[good], &states[bad], &target);
            if let Some(first) = (good + 1..=bad).find(differs) {
                let found = found?;
                assert_eq!(found.first_bad.commit.seq as usize, first, "seed {seed}");
                assert_eq!(found.last_good.commit.seq as usize + 1, first, "seed {seed}");
                changed += 1;
            } else {
                assert_eq!(found.unwrap_err().code(), ErrorCode::BadIsGood, "seed {seed}");
                unchanged += 1;
            }
        }
    }
    assert!(changed > histories() && unchanged > 0, "{changed} {unchanged}");
    Ok(())
}

/// INVARIANT BIS-2: an object that expires between two commits is expired only in the states of later commits.
#[test]
fn the_clock_decides_nothing() -> Result<()> {
    let memory = Memory::in_memory()?;
    let (_, old) = (put(&memory, "a", "one"), memory.view());
    let mut times = Vec::new();
    put(&memory, "b", "two");
    let found = memory.bisect(&old, &memory.view(), |view| {
        times.push((view.now(), view.commit().commit.time));
        view.contains(&id("b"))
    })?;
    assert_eq!(found.first_bad.commit.seq, 2);
    assert!(
        times.len() == 2 && times.iter().all(|(now, commit)| now == commit),
        "{times:?}"
    );
    Ok(())
}

#[test]
fn thinned_commits_before_the_found_one_are_counted() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("s"))?;
    put(&memory, "a", "one");
    memory.snapshot(Some("good"), &Writer::user())?;
    for number in 0..30 {
        put(&memory, "b", &number.to_string());
    }
    memory.gc(&tight(), None)?;
    let found = memory.bisect(&memory.at("good")?, &memory.view(), |view| {
        view.contains(&id("b"))
    })?;
    assert_eq!(found.last_good.commit.seq, 1);
    assert_eq!(found.thinned, found.first_bad.commit.seq - 2);
    assert!(found.thinned > 10, "{found:?}");
    let other = Memory::in_memory()?;
    let foreign = memory.bisect(&other.view(), &memory.view(), |_| Ok(true));
    assert_eq!(foreign.unwrap_err().code(), ErrorCode::ForeignView);
    Ok(())
}

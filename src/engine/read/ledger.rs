//! The ledger of a history: who wrote each version first, and what each lane changed.
//!
//! A ledger reads the kept commits once, oldest first, and then only new ones. It answers at once how many objects of a
//! lane are alive, how many versions of others the lane replaced, and which commits changed an object.
//!
//! # Layer
//! Layer 5. Derived: dropping a ledger costs only time.
//!
//! # Invariants
//! - LED-1: a version belongs to the lane that wrote it first, also after undo, rollback or restore brought it back.
//! - LED-2: a ledger that followed the commits one by one equals a ledger that read them at once.
//!
//! # Limits
//! - The changes of thinned commits count for the next kept commit.

use std::collections::{BTreeSet, HashMap};

use super::{State, View};
use crate::digest::{CommitDigest, KeyPath, ObjectDigest};
use crate::error::{Error, Result};
use crate::object::{Id, Object, Origin, Time};
use crate::store::{ChangeCounts, CommitEntry};
use crate::trie::Entry;

/// What the commits of a history wrote.
#[derive(Default)]
pub struct Ledger {
    commits: Vec<ReadCommit>,
    lanes: Vec<LaneWork>,
    lane_numbers: HashMap<String, u32>,
    ids: Vec<KnownId>,
    id_numbers: HashMap<KeyPath, u32>,
    versions: Vec<KnownVersion>,
    version_numbers: HashMap<ObjectDigest, u32>,
    state: Option<State>,
}

/// A commit that the ledger read.
pub struct ReadCommit {
    pub digest: CommitDigest,
    pub seq: u64,
    /// The number of the lane.
    pub lane: u32,
    pub counts: ChangeCounts,
}

/// An id that a kept state has or had.
pub struct KnownId {
    /// The id. Unknown if every version was erased.
    pub id: Option<Id>,
    /// The number of the present version; `None` if the id is absent.
    pub present: Option<u32>,
}

/// A version that a kept state has or had.
pub struct KnownVersion {
    pub digest: ObjectDigest,
    /// The number of the lane that wrote the version first (LED-1).
    pub lane: u32,
    pub origin: Origin,
    /// Whether the scan found something in the text when it was written.
    pub is_flagged: bool,
}

/// The changes of one lane, with their totals. A lane is a session, else an actor, else the default lane.
pub struct LaneWork {
    /// The name of the lane.
    pub name: String,
    /// The session, unless the lane is of an actor or the default lane.
    pub session: Option<String>,
    /// The actors of the commits.
    pub actors: BTreeSet<String>,
    /// The numbers of the commits.
    pub commits: Vec<u32>,
    /// The changes of the commits, the oldest first.
    pub changes: Vec<LaneChange>,
    /// The time of the first commit.
    pub first: Time,
    /// The time of the last commit.
    pub last: Time,
    /// The least trusted class of the writers.
    pub trust: Origin,
    /// The versions that the lane wrote first.
    pub written: u64,
    /// The untrusted ones of `written`.
    pub written_untrusted: u64,
    /// The flagged ones of `written`.
    pub written_flagged: u64,
    /// The versions of other lanes that the lane replaced by its own, or removed. What it took back does not count.
    pub replaced_others: u64,
    /// The objects of the head whose version the lane wrote first.
    pub alive: u64,
    /// The untrusted ones of `alive`.
    pub alive_untrusted: u64,
    /// The flagged ones of `alive`.
    pub alive_flagged: u64,
    /// The ones of `alive` that are untrusted because they are parts of documents, such as an ingested folder.
    pub alive_documents: u64,
    /// The flagged ones of `alive_documents`.
    pub flagged_documents: u64,
}

/// A change of one id by a commit.
#[derive(Clone, Copy)]
pub struct LaneChange {
    /// The number of the id.
    pub id: u32,
    /// The numbers of the versions before and after.
    pub old: Option<u32>,
    pub new: Option<u32>,
}

impl Ledger {
    /// Reads the commits up to the one of `view` that the ledger has not read (LED-2).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit, state or object cannot be read. The ledger is then empty.
    pub fn follow(&mut self, view: &View) -> Result<()> {
        let followed = self.try_follow(view);
        if followed.is_err() {
            *self = Self::default();
        }
        followed
    }

    fn try_follow(&mut self, view: &View) -> Result<()> {
        let store = &view.state.store;
        let newest = view.entry.seq();
        let last = match self.commits.len().checked_sub(1) {
            Some(index) => store.commit_at(index)?.map(|commit| commit.digest),
            None => None,
        };
        // A rewrite of the log thins commits, so the numbers of the others change.
        if last != self.commits.last().map(|commit| commit.digest) {
            *self = Self::default();
        }
        for index in self.commits.len()..store.kept() {
            let commit = store.commit_at(index)?;
            let commit = commit.ok_or_else(|| Error::internal("a kept commit is missing"))?;
            if commit.seq() > newest {
                break;
            }
            let after = State::of(store, &commit)?;
            self.add(&commit, after)?;
        }
        Ok(())
    }

    /// Adds the changes of the next commit.
    fn add(&mut self, commit: &CommitEntry, after: State) -> Result<()> {
        let number = self.commits.len() as u32;
        let lane = self.lane_of(commit);
        let goes_back = commit.commit.op.goes_back();
        let mut counts = ChangeCounts::default();
        let before = self.state.take();
        if let Some(before) = &before {
            let nodes = before.nodes_with(&after);
            for change in before.diff(&after, &nodes) {
                let change = change?;
                counts.add(change.old.is_some(), change.new.is_some());
                let sides = (change.old, change.new);
                self.change(lane, goes_back, change.key, sides, &after)?;
            }
        } else {
            for entry in after.entries() {
                let entry = entry?;
                counts.add(false, true);
                self.change(lane, goes_back, entry.key, (None, Some(entry)), &after)?;
            }
        }
        self.lanes[lane as usize].commits.push(number);
        self.commits.push(ReadCommit {
            digest: commit.digest,
            seq: commit.seq(),
            lane,
            counts,
        });
        self.state = Some(after);
        Ok(())
    }

    /// Notes the change of one id by a commit of the lane with this number.
    fn change(
        &mut self,
        lane: u32,
        goes_back: bool,
        key: KeyPath,
        (old, new): (Option<Entry>, Option<Entry>),
        after: &State,
    ) -> Result<()> {
        let next = self.ids.len() as u32;
        let id = *self.id_numbers.entry(key).or_insert(next);
        if id == next {
            let (id, present) = (None, None);
            self.ids.push(KnownId { id, present });
        }
        let old = old.and_then(|old| {
            let digest = ObjectDigest::from_bytes(old.digest);
            self.version_numbers.get(&digest).copied()
        });
        let (new, is_first) = match new {
            Some(new) => {
                let (number, is_first) = self.version(lane, id, new, after)?;
                (Some(number), is_first)
            }
            None => (None, false),
        };
        if let Some(old) = old {
            let version = &self.versions[old as usize];
            // A document follows its file, whoever ingests it.
            let is_document = |version: &KnownVersion| version.origin == Origin::Document;
            let follows =
                is_document(version) && new.is_some_and(|new| is_document(&self.versions[new as usize]));
            let is_of_others = version.lane != lane && !follows;
            self.count_alive(old, -1);
            let replaces = is_first || (new.is_none() && !goes_back);
            self.lanes[lane as usize].replaced_others += u64::from(is_of_others && replaces);
        }
        if let Some(new) = new {
            self.count_alive(new, 1);
        }
        self.ids[id as usize].present = new;
        let change = LaneChange { id, old, new };
        self.lanes[lane as usize].changes.push(change);
        Ok(())
    }

    /// Returns the number of a version, and whether nobody wrote it before.
    fn version(&mut self, lane: u32, id: u32, entry: Entry, after: &State) -> Result<(u32, bool)> {
        let digest = ObjectDigest::from_bytes(entry.digest);
        if let Some(known) = self.version_numbers.get(&digest) {
            return Ok((*known, false));
        }
        let object = after.load(&entry)?;
        let (origin, is_flagged) = (object.origin(), object.attribute("flags").is_some());
        let known = &mut self.ids[id as usize];
        if known.id.is_none() && !object.is_placeholder() {
            known.id = Some(object.id().clone());
        }
        let number = self.versions.len() as u32;
        self.versions.push(KnownVersion {
            digest,
            lane,
            origin,
            is_flagged,
        });
        self.version_numbers.insert(digest, number);
        let work = &mut self.lanes[lane as usize];
        work.written += 1;
        work.written_untrusted += u64::from(!origin.is_trusted());
        work.written_flagged += u64::from(is_flagged);
        Ok((number, true))
    }

    fn count_alive(&mut self, version: u32, by: i64) {
        let version = &self.versions[version as usize];
        let work = &mut self.lanes[version.lane as usize];
        let counts = [
            (&mut work.alive, true),
            (&mut work.alive_untrusted, !version.origin.is_trusted()),
            (&mut work.alive_flagged, version.is_flagged),
            (&mut work.alive_documents, version.origin == Origin::Document),
            (
                &mut work.flagged_documents,
                version.origin == Origin::Document && version.is_flagged,
            ),
        ];
        for (count, _) in counts.into_iter().filter(|(_, counts)| *counts) {
            *count = count.saturating_add_signed(by);
        }
    }

    /// Returns the number of the lane of a commit, and notes the commit's writer.
    fn lane_of(&mut self, commit: &CommitEntry) -> u32 {
        let commit = &commit.commit;
        let number = match self.lane_numbers.get(commit.lane()) {
            Some(number) => *number,
            None => {
                let number = self.lanes.len() as u32;
                self.lane_numbers.insert(commit.lane().to_owned(), number);
                self.lanes.push(LaneWork::new(
                    commit.lane(),
                    commit.session.as_deref(),
                    commit.time,
                ));
                number
            }
        };
        let work = &mut self.lanes[number as usize];
        work.actors.extend(commit.actor.clone());
        work.last = commit.time;
        work.trust = Origin::least(work.trust, commit.trust);
        number
    }

    /// Returns the commits, oldest first.
    pub fn commits(&self) -> &[ReadCommit] {
        &self.commits
    }

    /// Returns the lanes in the order of their first commits.
    pub fn lanes(&self) -> &[LaneWork] {
        &self.lanes
    }

    /// Returns the ids, each with its present version.
    pub fn ids(&self) -> &[KnownId] {
        &self.ids
    }

    /// Returns the versions in the order of their first commits.
    pub fn versions(&self) -> &[KnownVersion] {
        &self.versions
    }
}

impl LaneWork {
    fn new(name: &str, session: Option<&str>, first: Time) -> Self {
        Self {
            name: name.to_owned(),
            session: session.map(str::to_owned),
            actors: BTreeSet::new(),
            commits: Vec::new(),
            changes: Vec::new(),
            first,
            last: first,
            trust: Origin::DirectUser,
            written: 0,
            written_untrusted: 0,
            written_flagged: 0,
            replaced_others: 0,
            alive: 0,
            alive_untrusted: 0,
            alive_flagged: 0,
            alive_documents: 0,
            flagged_documents: 0,
        }
    }
}

/// The ids of a state, sorted, in pages from any place.
pub struct SortedIds(Vec<super::index::Key>);

impl SortedIds {
    pub(super) fn new(keys: Vec<super::index::Key>) -> Self {
        Self(keys)
    }

    /// Returns whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of ids.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the id at a place.
    pub fn at(&self, place: usize) -> Option<Id> {
        self.0.get(place).and_then(|key| super::index::id_of(key))
    }

    /// Returns the text of the id at a place, without a copy.
    pub fn text_at(&self, place: usize) -> Option<&str> {
        self.0.get(place).and_then(|key| super::index::text_of(key))
    }

    /// Returns the place of the first id that is not less than `text`.
    pub fn place_of(&self, text: &str) -> usize {
        self.0
            .partition_point(|key| super::index::text_of(key).is_some_and(|id| id < text))
    }
}

impl View {
    /// Returns the ids of the state, sorted. Reads every object at the first call for a store, and later only changes.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    #[doc(hidden)]
    pub fn sorted_ids(&self) -> Result<SortedIds> {
        Ok(SortedIds::new(self.index(super::Family::Ids)?.all()))
    }

    /// Returns the present object with this key path, which may be erased.
    ///
    /// # Errors
    /// The errors of [`View::get`].
    #[doc(hidden)]
    pub fn object_of_key(&self, key: &KeyPath) -> Result<Option<Object>> {
        self.state.object_at(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Memory, Writer};
    use crate::object::{Kind, NewObject};

    fn put(memory: &Memory, id: &str, content: &str, writer: &Writer) {
        let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("fact").unwrap());
        object.content = Some(content.to_owned());
        drop(memory.put(object, writer).unwrap());
    }

    /// Returns the numbers of a lane: written, replaced of others, alive, alive and untrusted.
    fn numbers(ledger: &Ledger, lane: &str) -> [u64; 4] {
        let lane = ledger.lanes().iter().find(|one| one.name == lane).unwrap();
        [
            lane.written,
            lane.replaced_others,
            lane.alive,
            lane.alive_untrusted,
        ]
    }

    fn at_once(memory: &Memory) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.follow(&memory.view()).unwrap();
        ledger
    }

    /// INVARIANT LED-1: a version belongs to the lane that wrote it first, also after it was brought back.
    #[test]
    fn versions_belong_to_their_first_writer() {
        let memory = Memory::in_memory().unwrap();
        let (day, web) = (
            Writer::user().session("day"),
            Writer::tool("browser").session("web"),
        );
        put(&memory, "a", "one", &day);
        put(&memory, "b", "one", &day);
        let owner = Writer::user().session("owner");
        let before = memory.view().commit().commit.seq;
        let night = Writer::user().session("night");
        put(&memory, "a", "two", &night);
        drop(memory.remove(&Id::new("b").unwrap(), &night).unwrap());
        put(&memory, "c", "three", &web);
        let ledger = at_once(&memory);
        assert_eq!(numbers(&ledger, "day"), [2, 0, 0, 0]);
        assert_eq!(numbers(&ledger, "night"), [1, 2, 1, 0]);
        assert_eq!(numbers(&ledger, "web"), [1, 0, 1, 1]);
        let back = memory
            .rollback(format!("seq:{before}").as_str())
            .across_lanes()
            .by(&owner);
        drop(back.unwrap());
        let ledger = at_once(&memory);
        assert_eq!(numbers(&ledger, "day"), [2, 0, 2, 0]);
        assert_eq!(numbers(&ledger, "night"), [1, 2, 0, 0]);
        assert_eq!(
            numbers(&ledger, "owner"),
            [0, 0, 0, 0],
            "a way back replaces nothing"
        );
        let of_owner = ledger.lanes().iter().find(|lane| lane.name == "owner").unwrap();
        assert_eq!((of_owner.commits.len(), of_owner.changes.len()), (1, 3));
        let counts = ledger.commits().last().unwrap().counts;
        assert_eq!(counts, memory.commit_counts(&memory.view().commit()).unwrap());
    }

    /// INVARIANT LED-2: a ledger that followed the commits one by one equals a ledger that read them at once.
    #[test]
    fn following_gives_what_reading_at_once_gives() {
        let memory = Memory::in_memory().unwrap();
        let mut followed = Ledger::default();
        for step in 0_u64..60 {
            let writer = Writer::user().session(format!("s{}", step % 3));
            match step % 7 {
                5 => drop(memory.undo(&writer).unwrap()),
                6 => drop(
                    memory
                        .rollback(format!("seq:{}", step / 2).as_str())
                        .across_lanes()
                        .by(&writer)
                        .unwrap(),
                ),
                _ => put(
                    &memory,
                    &format!("n{}", step % 5),
                    &format!("{}", step % 11),
                    &writer,
                ),
            }
            followed.follow(&memory.view()).unwrap();
            let whole = at_once(&memory);
            for lane in ["s0", "s1", "s2"] {
                if whole.lanes().iter().any(|one| one.name == lane) {
                    assert_eq!(
                        numbers(&followed, lane),
                        numbers(&whole, lane),
                        "step {step}, {lane}"
                    );
                }
            }
            let alive: u64 = whole.lanes().iter().map(|lane| lane.alive).sum();
            assert_eq!(alive, memory.view().len(), "step {step}");
        }
    }
}

//! The store that is damaged, and the truth about it: its states, and the places of its records.
//!
//! # Layer
//! For tests. Uses the engine.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::digest::{CommitDigest, ObjectDigest};
use crate::disk::Disk;
use crate::engine::{
    Clock, ErasedKind, Erasing, Finding, Memory, Options, Retention, Revision, Writer, verified,
};
use crate::error::Result;
use crate::log::{CheckItem, Log, LogOptions, Record, RecordKind, segment_name};
use crate::object::{Id, Kind, NewObject, Time};
use crate::store::object_of;
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, SimDisk};

const IDS: usize = 20;
/// The number of bytes of a frame before its body.
const FRAME_HEADER_BYTES: u64 = 32;

/// The state of a store: the version of each id.
pub(super) type State = BTreeMap<String, ObjectDigest>;

/// The bytes of a record: its file and its range in the file.
pub(super) type Extent = (String, Range<u64>);

/// A clock that moves an hour with each reading.
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Time {
        Time::from_micros(self.0.fetch_add(3_600_000_000, Ordering::Relaxed))
    }
}

/// A store and the truth about it.
pub(super) struct Whole {
    pub(super) disk: SimDisk,
    /// The files of the store at an earlier moment.
    pub(super) older: BTreeMap<String, Vec<u8>>,
    pub(super) head: CommitDigest,
    /// The states of all commits that were ever acknowledged.
    pub(super) states: HashMap<CommitDigest, State>,
    /// The states of all commits of forks. The main line never shows one of them.
    pub(super) fork_states: HashMap<CommitDigest, State>,
    /// The id of every version that was ever acknowledged.
    pub(super) versions: HashMap<ObjectDigest, String>,
    pub(super) erased: HashSet<ObjectDigest>,
    /// The records of each version in the log: its own copies, and the copies of its content.
    pub(super) places: HashMap<ObjectDigest, [Vec<Extent>; 2]>,
    /// The findings of `verify` for the whole store.
    pub(super) findings: Vec<Finding>,
}

/// Returns the options of every handle. Each call returns a clock that starts later.
pub(super) fn options(step: usize) -> Options {
    let step = i64::try_from(step).expect("a small number");
    let start = 1_700_000_000_000_000 + step * 100_000_000_000_000;
    Options::new()
        .clock(Arc::new(Ticking(AtomicI64::new(start))))
        .segment_bytes_max(64 << 10)
        .checkpoint_heavy(48 << 10, 200)
        .small_sizes()
}

pub(super) fn open(disk: &SimDisk, options: Options, create: bool) -> Result<Memory> {
    Memory::on_disk(Arc::new(disk.clone()) as Arc<dyn Disk>, options, create, None)
}

pub(super) fn note(id: &str, content: String) -> NewObject {
    let mut object = NewObject::new(
        Id::new(id).expect("a valid id"),
        Kind::new("note").expect("a kind"),
    );
    object.content = Some(content);
    object
}

impl Whole {
    /// Builds the store of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let random = &mut SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let mut whole = Self {
            disk: disk.clone(),
            older: BTreeMap::new(),
            head: CommitDigest::from_bytes([0; 32]),
            states: HashMap::new(),
            fork_states: HashMap::new(),
            versions: HashMap::new(),
            erased: HashSet::new(),
            places: HashMap::new(),
            findings: Vec::new(),
        };
        let mut memory = open(&disk, options(0), true).expect("a new store");
        let steps = 40 + random.below(80);
        let older = random.below(steps);
        whole.note(&memory);
        for step in 0..steps {
            match random.below(40) {
                0 => {
                    drop(memory);
                    memory = open(&whole.disk, options(step + 1), false).expect("a whole store");
                }
                1 => {
                    drop(memory);
                    whole.disk = whole.disk.crash_image(CrashImage::Everything);
                    memory = open(&whole.disk, options(step + 1), false).expect("a whole store");
                }
                _ => whole.act(&memory, step, random),
            }
            whole.note(&memory);
            if seed % 3 == 1 && step % 4 == 2 {
                whole.act_in_fork(&memory, step);
            }
            if step == older {
                whole.older = whole.disk.files();
            }
        }
        let used = Id::new("o/1").expect("a valid id");
        memory.touch([&used], Time::from_micros(1_800_000_000_000_000));
        drop(memory);
        whole.find_places();
        let shared: Arc<dyn Disk> = Arc::new(whole.disk.clone());
        let report = verified(&shared, &Options::new()).expect("a whole store");
        assert!(report.ok, "the store is damaged before the damage: {report:?}");
        whole.findings = report.derived;
        whole
    }

    /// Does one random operation.
    fn act(&mut self, memory: &Memory, step: usize, random: &mut SplitMix64) {
        let writer = Writer::user();
        let id = format!("o/{}", random.below(IDS));
        match random.below(100) {
            0..66 => {
                let length = *random.pick(&[1, 20, 150, 400, 900]);
                memory
                    .put(
                        note(&id, format!("step {step} of {id}. ").repeat(length)),
                        &writer,
                    )
                    .expect("a put");
            }
            66..74 => drop(memory.remove(&Id::new(&id).expect("a valid id"), &writer)),
            74..80 => drop(memory.snapshot(Some(&format!("at-{step}")), &writer)),
            80..88 => {
                let newest = memory.view().commit().commit.seq as usize;
                let to = Revision::Seq(random.below(newest + 1) as u64);
                // The commit may be thinned, or the rollback may cross an erasure.
                drop(memory.rollback(to).across_lanes().by(&writer));
            }
            88..94 => {
                let erasing = Erasing {
                    targets: vec![id],
                    everywhere: true,
                    ..Erasing::default()
                };
                // The id may not exist.
                if let Ok(report) = memory.erase(&erasing, &writer) {
                    let erased = report.records.iter();
                    let erased = erased.filter(|record| record.kind == ErasedKind::Version);
                    self.erased
                        .extend(erased.map(|record| ObjectDigest::from_bytes(record.digest)));
                }
            }
            _ => {
                let retention = Retention {
                    newest: 5,
                    all: Duration::ZERO,
                    hourly: Duration::from_hours(20),
                    ..Retention::default()
                };
                memory.gc(&retention, None).expect("a collection");
            }
        }
    }

    /// Writes through a fork, which it makes if necessary, or drops a fork.
    fn act_in_fork(&mut self, memory: &Memory, step: usize) {
        let (name, writer) = (format!("fork-{}", step / 16 % 2), Writer::user());
        if step % 32 == 30 {
            drop(memory.drop_fork(&name, true, &writer));
            return;
        }
        let fork = memory.open_fork(&name);
        let fork = fork
            .or_else(|_| memory.fork(&name).by(&writer))
            .expect("a new fork");
        let id = format!("o/{}", step % IDS);
        let text = format!("step {step} of the fork. ").repeat(20 + step % 300);
        fork.put(note(&id, text), &writer).expect("a put");
        let state = self.state_of(&fork);
        self.fork_states.insert(fork.view().commit().digest, state);
    }

    /// Notes the newest state.
    fn note(&mut self, memory: &Memory) {
        self.head = memory.view().commit().digest;
        if !self.states.contains_key(&self.head) {
            let state = self.state_of(memory);
            self.states.insert(self.head, state);
        }
    }

    /// Returns the newest state, and notes its versions.
    fn state_of(&mut self, memory: &Memory) -> State {
        let view = memory.view();
        let mut state = State::new();
        for object in view.objects() {
            let object = object.expect("an object of a whole store");
            state.insert(object.id().to_string(), object.digest());
            if !object.is_placeholder() {
                self.versions.insert(object.digest(), object.id().to_string());
                // An erased version that was written again counts as not erased.
                self.erased.remove(&object.digest());
            }
        }
        state
    }

    /// Finds the records of every version in the log.
    fn find_places(&mut self) {
        let suite = open(&self.disk, options(0).read_only(true), false)
            .expect("a whole store")
            .suite();
        let (mut objects, mut contents) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new());
        let mut content_of = HashMap::new();
        let mut add = |record: &Record| {
            let start = record.locator.offset();
            let end = start + FRAME_HEADER_BYTES + record.body.len() as u64;
            let extent = (segment_name(record.locator.segment()), start..end);
            match record.kind {
                RecordKind::Object => {
                    let object = object_of(record, suite);
                    content_of.insert(object.digest(), object.content_digest());
                    objects.entry(object.digest()).or_default().push(extent);
                }
                RecordKind::Content => {
                    let digest = suite.hash_bytes(crate::digest::Domain::Content, &record.body);
                    contents.entry(digest).or_default().push(extent);
                }
                _ => {}
            }
        };
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        Log::check(disk, LogOptions::default(), None, &mut |item| {
            if let CheckItem::Batch(batch) | CheckItem::Unproven(batch) = item {
                batch.records.iter().for_each(&mut add);
            }
            Ok(())
        })
        .expect("a whole log");
        for (digest, own) in objects {
            let content = content_of.get(&digest).copied().flatten();
            let content = content.and_then(|(content, _)| contents.get(content.as_bytes()));
            self.places
                .insert(digest, [own, content.cloned().unwrap_or_default()]);
        }
    }
}

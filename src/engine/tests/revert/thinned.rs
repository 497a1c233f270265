//! A revert over thinned commits never takes an unknown writer for a selected one.

use super::super::gc::{on_disk, options};
use std::collections::{BTreeMap, BTreeSet};

use super::super::{by, content, id, note};
use super::model::act;
use super::{revert, session, told, write};
use crate::Revision;
use crate::engine::{Memory, Retention, Writer};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;

#[test]
fn a_change_behind_a_gap_counts_only_for_its_known_writer() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(1_000_000), true).unwrap();
    write(&memory, "day", "b", "good");
    write(&memory, "eve", "b", "thinned");
    write(&memory, "night", "a", "bad");
    drop(memory.snapshot(Some("night"), &Writer::user()).unwrap());
    write(&memory, "day", "c", "good");
    memory.gc(&Retention::nothing(), None).unwrap();
    assert!(
        memory.at("seq:2").is_err(),
        "the commit before the selected one is thinned"
    );
    let reverted = revert(&memory, session("night")).unwrap();
    // WTH-3: the version of `b` belongs to a thinned commit, so it stays.
    assert_eq!(told(&reverted).0, ["a"]);
    assert_eq!(content(&memory.view(), "b").as_deref(), Some("thinned"));
}

/// Thins everything but the commits with snapshots and the newest one.
fn thin(memory: &Memory) {
    memory.gc(&Retention::nothing(), None).unwrap();
}

fn snapshot(memory: &Memory, name: &str) {
    drop(memory.snapshot(Some(name), &Writer::user()).unwrap());
}

#[test]
fn what_thinned_commits_may_have_written_has_no_known_writer() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(1_000_000), true).unwrap();
    write(&memory, "day", "a", "one");
    write(&memory, "eve", "a", "one\ntwo");
    let mut draft = memory.draft(&by("night"));
    for (name, text) in [("a", "one\ntwo\nthree"), ("new", "bad")] {
        draft.put(note(name, text)).unwrap();
    }
    drop(memory.commit(draft, "put").unwrap());
    thin(&memory);
    let blamed = |name: &str| memory.blame(&memory.view(), &id(name)).unwrap();
    // BLM-3
    assert!(blamed("a").iter().all(|part| part.change.thinned));
    assert!(blamed("new").iter().all(|part| !part.change.thinned));

    write(&memory, "later", "a", "one\ntwo\nthree\nfour");
    let thinned: Vec<bool> = blamed("a").iter().map(|part| part.change.thinned).collect();
    assert_eq!(thinned, [true, true, true, true, true, true, false]);
    snapshot(&memory, "known");
    write(&memory, "eve", "a", "five");
    write(&memory, "night", "a", "five\nsix");
    thin(&memory);
    let reverted = revert(&memory, session("night")).unwrap();
    // The version of `eve` is lost, so an older one comes back, and the answer says that something is missing.
    assert_eq!(
        content(&memory.view(), "a").as_deref(),
        Some("one\ntwo\nthree\nfour")
    );
    let missing = reverted
        .reverted
        .iter()
        .map(|object| (object.id.as_str(), object.thinned));
    assert_eq!(missing.collect::<Vec<_>>(), [("a", true)]);
}

#[test]
fn a_version_that_thinned_commits_brought_back_counts_for_its_first_writer() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(1_000_000), true).unwrap();
    write(&memory, "day", "a", "good");
    snapshot(&memory, "one");
    write(&memory, "night", "a", "bad");
    snapshot(&memory, "two");
    write(&memory, "day", "a", "other");
    snapshot(&memory, "three");
    drop(memory.rollback("two").across_lanes().by(&by("eve")).unwrap());
    write(&memory, "day", "b", "good");
    thin(&memory);
    assert!(memory.at("seq:4").is_err() && memory.at("seq:5").is_ok());
    let reverted = revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("good"));
    assert!(reverted.kept.is_empty() && !reverted.reverted[0].thinned);
}

#[test]
fn later_work_of_thinned_commits_has_no_name() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(1_000_000), true).unwrap();
    write(&memory, "night", "a", "bad");
    snapshot(&memory, "one");
    write(&memory, "eve", "a", "good");
    write(&memory, "day", "b", "good");
    thin(&memory);
    let reverted = revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("good"));
    assert!(reverted.kept[0].by.is_none(), "{:?}", reverted.kept);
}

/// The writer of each version of a state, by its digest: the commit, or `None` if it is not known.
type Writers = BTreeMap<String, Option<u64>>;

/// Returns the writers of the versions of all states.
fn writers(memory: &Memory) -> Writers {
    let mut writers = Writers::new();
    for info in memory.commits() {
        let view = memory.at(Revision::Seq(info.unwrap().commit.seq)).unwrap();
        for object in view.kept_objects() {
            let object = object.unwrap();
            let name = id(object.id().as_str());
            let writer = view.writer_of(&name).unwrap().map(|by| by.commit.seq);
            writers.insert(object.digest().to_hex(), writer);
        }
    }
    writers
}

#[test]
fn no_gap_makes_up_a_writer() {
    let mut compared = 0;
    for seed in 0..200 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let mut memory = on_disk(&disk, options(1_000_000), true).unwrap();
        for _ in 0..3 {
            for _ in 0..4 + random.below(16) {
                act(&memory, &mut random, false, &mut BTreeSet::new());
                if random.one_in(6) {
                    drop(memory.snapshot(None, &by("owner")).unwrap());
                }
            }
            let known = writers(&memory);
            thin(&memory);
            if random.one_in(2) {
                memory.close().unwrap();
                memory = on_disk(&disk, options(1_000_000), false).unwrap();
            }
            for (version, writer) in writers(&memory) {
                let before = known[&version];
                assert!(writer.is_none() || writer == before, "seed {seed}: {version}");
                compared += usize::from(writer.is_some());
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}

//! A store that takes the log in at once is the store that applies its batches one by one (BLK-1).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::gc::{HOUR, on_disk, options};
use super::revert::act;
use crate::Result;
use crate::digest::HashSuite;
use crate::disk::Disk;
use crate::engine::Retention;
use crate::engine::upkeep::open_log;
use crate::log::{Batch, LogOptions, Mode};
use crate::store::{Bulk, Store};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::trie::Entry;

/// Reads the log. Applies the first `apart` batches one by one, and the others together.
fn read(disk: &SimDisk, apart: usize) -> Result<Store> {
    let disk = Arc::new(disk.clone()) as Arc<dyn Disk>;
    let mut log = open_log(&disk, Mode::ReadOnly, LogOptions::default())?;
    let store = Store::new(HashSuite::new(log.format().hash), log.reader());
    store.keep_order();
    let mut batches: Vec<Batch> = Vec::new();
    log.catch_up(&mut |batch| {
        batches.push(batch);
        Ok(())
    })?;
    let together = batches.split_off(apart.min(batches.len()));
    for batch in &batches {
        store.apply(batch, None)?;
    }
    let mut bulk = Bulk::new(&store)?;
    for batch in together {
        bulk.add(batch)?;
    }
    bulk.finish()?;
    Ok(store)
}

/// Everything that readers ask of a store.
#[derive(Debug, PartialEq)]
struct Told {
    commits: Vec<String>,
    states: Vec<Vec<Entry>>,
    first_written: Vec<Option<i64>>,
    counts: [u64; 4],
    gaps: usize,
    references: Vec<String>,
    history: String,
}

fn told(store: &Store) -> Told {
    let (mut commits, mut states, mut keys) = (Vec::new(), Vec::new(), BTreeSet::new());
    // The newest first, so that a store without the older states computes them all at once.
    for index in (0..store.kept()).rev() {
        let entry = store.commit_at(index).unwrap().unwrap();
        let state = store
            .state(&entry)
            .unwrap()
            .iter(store)
            .collect::<Result<Vec<_>>>()
            .unwrap();
        keys.extend(state.iter().map(|entry| entry.key));
        states.push(state);
        commits.push(format!("{} {} {:?}", entry.digest, entry.batch, entry.place));
    }
    // The times of the first writes of the ids that the head lacks.
    store.flush().unwrap();
    let head: BTreeSet<_> = states[0].iter().map(|entry| entry.key).collect();
    let lacking = keys.difference(&head);
    Told {
        commits,
        states,
        first_written: lacking.map(|key| store.first_written(key).unwrap()).collect(),
        counts: [
            store.records.versions(),
            store.records.erased(),
            store.records.lost_since(),
            store.others_below("main") as u64,
        ],
        gaps: store.gaps().len(),
        references: store
            .references()
            .iter()
            .map(|entry| format!("{} {:?}", entry.batch, entry.reference))
            .collect(),
        history: format!("{:?}", store.history().root()),
    }
}

#[test]
fn blk_1_batches_taken_in_together_are_those_applied_one_by_one() {
    let mut removed = 0;
    for seed in 0..150 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let memory = on_disk(&disk, options(HOUR), true).unwrap();
        for round in 0..2 {
            for _ in 0..6 + random.below(24) {
                act(&memory, &mut random, false, &mut BTreeSet::new());
                if random.one_in(6) {
                    drop(memory.snapshot(None, &super::by("owner")).unwrap());
                }
            }
            let expected = told(&read(&disk, usize::MAX).unwrap());
            removed += expected.first_written.iter().flatten().count();
            for apart in [0, random.below(20)] {
                let found = told(&read(&disk, apart).unwrap());
                assert_eq!(found, expected, "seed {seed}, round {round}, {apart} apart");
            }
            if random.one_in(2) {
                memory.gc(&Retention::nothing(), None).unwrap();
            }
        }
    }
    assert!(removed > 100, "{removed}");
}

//! A store that takes the log in at once is the store that applies its batches one by one (BLK-1).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;

use super::covering::cover;
use super::gc::{HOUR, on_disk, options};
use super::revert::{SESSIONS, act};
use super::{note, put};
use crate::Result;
use crate::digest::{HashSuite, ObjectDigest};
use crate::disk::Disk;
use crate::engine::Retention;
use crate::engine::upkeep::open_log;
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::log::{Batch, Locator, LogOptions, Mode, Record, RecordKind, UNLINKED};
use crate::store::{Bulk, LogId, Sizes, Store, open_newest};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::trie::Entry;

/// Opens a store from the newest checkpoint if `covered`, or without one. Returns the store and the later batches.
fn opened(disk: &SimDisk, covered: bool) -> Result<(Store, Vec<Batch>)> {
    let disk = Arc::new(disk.clone()) as Arc<dyn Disk>;
    let mut log = open_log(&disk, Mode::ReadOnly, LogOptions::default())?;
    let suite = HashSuite::new(log.format().hash);
    let (newest, _) = open_newest(&*disk, LogId::of(&log), true)?;
    let store = match newest.filter(|_| covered) {
        Some(checkpoint) => {
            log.start_at(&checkpoint.position())?;
            let reread = Box::new(|_, _| Err(Error::internal("the checkpoint is not damaged")));
            Store::with_checkpoint(suite, log.reader(), checkpoint, reread)?
        }
        None => Store::new(suite, log.reader()),
    };
    let store = store.with_sizes(Sizes::SMALL);
    store.keep_order();
    let mut batches: Vec<Batch> = Vec::new();
    log.catch_up(&mut |batch| {
        batches.push(batch);
        Ok(())
    })?;
    // The index must not count a record that the checkpoint has too.
    if let (Ok(head), Some(batch)) = (store.head(), batches.first_mut()) {
        for entry in store.state(&head)?.iter(&store) {
            let record = store.records.record(Locator::from_u64(entry?.place))?;
            let flags = record.flags | UNLINKED;
            batch.records.push(Record { flags, ..record });
        }
    }
    Ok((store, batches))
}

/// Reads the log. Applies the first `apart` batches one by one, and the others together.
fn read(disk: &SimDisk, covered: bool, apart: usize, compares_all: bool) -> Result<Store> {
    let (store, mut batches) = opened(disk, covered)?;
    let together = batches.split_off(apart.min(batches.len()));
    for batch in &batches {
        store.apply(batch, None)?;
    }
    let bulk = Bulk::new(&store, &|| Ok(()))?;
    let mut bulk = if compares_all { bulk } else { bulk.newest_root() };
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
    /// The place of each version by its digest.
    places: Vec<Option<u64>>,
    counts: [u64; 4],
    others_below: [usize; SESSIONS.len()],
    gaps: usize,
    references: Vec<String>,
    history: String,
}

fn told(store: &Store) -> Told {
    let (mut commits, mut states) = (Vec::new(), Vec::new());
    let (mut keys, mut digests) = (BTreeSet::new(), BTreeSet::new());
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
        digests.extend(state.iter().map(|entry| entry.digest));
        states.push(state);
        commits.push(format!("{} {} {:?}", entry.digest, entry.batch, entry.place));
    }
    // The times of the first writes of the ids that the head lacks.
    store.flush().unwrap();
    let head: BTreeSet<_> = states[0].iter().map(|entry| entry.key).collect();
    let lacking = keys.difference(&head);
    let place_of = |digest| {
        let found = store.records.find_place(ObjectDigest::from_bytes(digest));
        found.unwrap().map(Locator::to_u64)
    };
    Told {
        commits,
        states,
        first_written: lacking.map(|key| store.first_written(key).unwrap()).collect(),
        places: digests.into_iter().map(place_of).collect(),
        counts: [
            store.records.versions(),
            store.records.erased(),
            store.records.lost_since(),
            store.records.newer() as u64,
        ],
        others_below: SESSIONS.map(|session| store.others_below(session)),
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
    let (mut removed, mut behind) = (0, 0);
    for seed in 0..150 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let memory = on_disk(&disk, options(HOUR), true).unwrap();
        for round in 0..2 {
            let acts = 6 + random.below(24);
            let covering = random.below(6);
            for number in 0..acts {
                act(&memory, &mut random, false, &mut BTreeSet::new());
                if random.one_in(6) {
                    drop(memory.snapshot(None, &super::by("owner")).unwrap());
                }
                if number == covering {
                    cover(&memory);
                }
            }
            for covered in [false, true] {
                let store = read(&disk, covered, usize::MAX, true).unwrap();
                if store.checkpoint().is_some() {
                    behind += store.records.newer();
                }
                let expected = told(&store);
                removed += expected.first_written.iter().flatten().count();
                for (apart, all) in [
                    (0, true),
                    (random.below(20), true),
                    (0, false),
                    (random.below(20), false),
                ] {
                    let found = told(&read(&disk, covered, apart, all).unwrap());
                    let what =
                        format!("seed {seed}, round {round}, {apart} apart, covered: {covered}, {all}");
                    assert_eq!(found, expected, "{what}");
                }
            }
            if random.one_in(2) {
                memory.gc(&Retention::nothing(), None).unwrap();
            }
        }
    }
    assert!(removed > 100, "{removed}");
    assert!(behind > 1_000, "{behind} records behind checkpoints");
}

#[test]
fn blk_1_a_root_that_differs_is_found_at_every_commit() {
    const COMMITS: usize = 30;
    let disk = SimDisk::new(2);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    for number in 1..=COMMITS {
        let mut draft = memory.draft(&super::by("owner"));
        for id in ["a", "b"] {
            draft.put(note(id, &number.to_string())).unwrap();
        }
        memory.commit(draft, "put").unwrap();
    }
    for number in 1..=COMMITS {
        let (store, mut batches) = opened(&disk, false).unwrap();
        let records = &mut batches[number].records;
        let object = records
            .iter()
            .position(|record| record.kind == RecordKind::Object);
        records.remove(object.unwrap());
        let mut bulk = Bulk::new(&store, &|| Ok(())).unwrap();
        let added = batches.into_iter().try_for_each(|batch| bulk.add(batch));
        let error = added.and_then(|()| bulk.finish()).unwrap_err();
        let expected = format!("commit {number} names root");
        assert!(error.message().contains(&expected), "{number}: {error}");
    }
}

/// The next commit replaces both objects, so only the root of one commit is wrong.
#[test]
fn blk_1_a_bulk_that_compares_the_newest_root_finds_what_is_wrong_in_the_newest_state() {
    const COMMITS: usize = 12;
    let disk = SimDisk::new(2);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    for number in 1..=COMMITS {
        let mut draft = memory.draft(&super::by("owner"));
        for id in ["a", "b"] {
            draft.put(note(id, &number.to_string())).unwrap();
        }
        memory.commit(draft, "put").unwrap();
    }
    for number in 1..=COMMITS {
        let (store, mut batches) = opened(&disk, false).unwrap();
        let is_object = |record: &Record| record.kind == RecordKind::Object;
        let object = batches[number].records.iter().position(is_object);
        batches[number].records.remove(object.unwrap());
        let mut bulk = Bulk::new(&store, &|| Ok(())).unwrap().newest_root();
        batches.into_iter().try_for_each(|batch| bulk.add(batch)).unwrap();
        assert_eq!(bulk.finish().is_err(), number == COMMITS, "{number}");
    }
}

#[test]
fn blk_3_few_bytes_of_records_wait_and_none_are_kept() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    for number in 0..100 {
        put(&memory, &format!("o/{}", number % 20), &format!("{number:4096}"));
    }
    let (store, batches) = opened(&disk, false).unwrap();
    let mut bulk = Bulk::new(&store, &|| Ok(())).unwrap();
    let (mut kept, mut most) = (Vec::new(), 0);
    for mut batch in batches {
        // Each record gets its own buffer, which tells whether anything else keeps it.
        for record in &mut batch.records {
            record.body = Bytes::copy_from_slice(&record.body);
            kept.push(record.body.clone());
        }
        bulk.add(batch).unwrap();
        kept.retain(|body| !body.is_unique());
        most = most.max(kept.iter().map(Bytes::len).sum());
    }
    assert!((4 << 10..16 << 10).contains(&most), "{most} bytes");
    bulk.finish().unwrap();
    kept.retain(|body| !body.is_unique());
    assert_eq!(kept, Vec::<Bytes>::new());
}

#[test]
fn the_host_stops_a_bulk_before_any_of_its_work() {
    const COMMITS: usize = 40;
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    (0..COMMITS).for_each(|number| drop(put(&memory, &format!("o/{}", number % 7), &number.to_string())));
    // Counts the questions of a whole bulk, and then stops at each of them.
    let asked = AtomicUsize::new(0);
    let run = |stop_at: usize| -> Result<()> {
        asked.store(0, Relaxed);
        let (store, batches) = opened(&disk, false)?;
        let go_on = || match asked.fetch_add(1, Relaxed) {
            count if count == stop_at => {
                Err(Error::new(ErrorKind::Io, "stopped").with_code(ErrorCode::Interrupted))
            }
            _ => Ok(()),
        };
        let mut bulk = Bulk::new(&store, &go_on)?;
        batches.into_iter().try_for_each(|batch| bulk.add(batch))?;
        bulk.finish()
    };
    run(usize::MAX).unwrap();
    let questions = asked.load(Relaxed);
    assert!(questions > COMMITS, "{questions} questions for {COMMITS} commits");
    for stop_at in 0..questions {
        assert_eq!(
            run(stop_at).unwrap_err().code(),
            ErrorCode::Interrupted,
            "{stop_at}"
        );
    }
}

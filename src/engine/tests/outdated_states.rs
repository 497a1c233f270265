//! A state that is no longer in memory is the same when it is computed again (CTL-4).

use std::sync::Arc;

use super::covering::cover;
use super::gc::{HOUR, on_disk, options};
use super::staged::entries_of;
use super::{id, note};
use crate::Result;
use crate::digest::KeyPath;
use crate::disk::MemDisk;
use crate::engine::{Erasing, Memory, Options, Revision, View, Writer};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::trie::Entry;

/// The key path, the digest and the time of the first write of each object of a state.
type Told = Vec<(KeyPath, [u8; 32], i64)>;

/// Creates a memory whose states leave the memory of the process early.
fn small() -> Result<Memory> {
    let options = Options::new().checkpoints(false).small_sizes();
    Memory::on_disk(Arc::new(MemDisk::new()), options, true, None)
}

fn told(view: &View) -> Told {
    let told = |entry: Entry| (entry.key, entry.digest, entry.created);
    entries_of(view).into_iter().map(told).collect()
}

/// Makes random commits, snapshots, rollbacks and erasures. Returns the objects of the state after each commit, by seq.
fn history(memory: &Memory, random: &mut SplitMix64, rounds: usize) -> Result<Vec<Told>> {
    let writer = Writer::user();
    let mut states = vec![told(&memory.view())];
    for round in 0..rounds {
        let mut draft = memory.draft(&writer);
        match random.below(10) {
            0 => drop(memory.snapshot(None, &writer)?),
            1 => drop(memory.snapshot(Some(&format!("named-{round}")), &writer)?),
            2 => {
                let seq = random.below(states.len());
                memory.rollback(Revision::Seq(seq as u64)).by(&writer)?;
            }
            3 if states.len() > 1 => drop(memory.undo(&writer)),
            4 | 5 => {
                let from = memory.at(Revision::Seq(random.below(states.len()) as u64))?;
                for number in 0..3 {
                    drop(draft.restore(&id(&format!("o/{}", (number * 31 + round) % 90)), &from));
                }
            }
            6 if random.one_in(3) => {
                let from = memory.at(Revision::Seq(random.below(states.len()) as u64))?;
                let version = from.get(&id(&format!("o/{}", round % 90))).ok().flatten();
                let targets = version.iter().map(|version| version.digest().to_hex()).collect();
                drop(memory.erase(
                    &Erasing {
                        targets,
                        ..Erasing::default()
                    },
                    &writer,
                ));
                draft = memory.draft(&writer);
            }
            7 => {
                for number in 0..10 {
                    let id = id(&format!("o/{}", (number * 7 + round) % 90));
                    if draft.get(&id).is_ok_and(|found| found.is_some()) {
                        draft.remove(&id)?;
                    }
                }
            }
            _ => {
                let first = random.below(90);
                let numbers = first..first + random.below(20);
                let object = |number| note(&format!("o/{}", number % 90), &format!("round {}", round % 4));
                draft.put_all(numbers.map(object))?;
            }
        }
        memory.commit(draft, "put")?;
        let seq = memory.view().commit().commit.seq as usize;
        if seq == states.len() {
            states.push(told(&memory.view()));
        }
    }
    Ok(states)
}

/// Checks every state, in random order. Returns how many of them were not in memory.
fn check(memory: &Memory, random: &mut SplitMix64, states: &[Told]) -> Result<usize> {
    let store = memory.inner.store();
    let mut computed = 0;
    for _ in 0..3 * states.len() {
        let seq = random.below(states.len());
        let commit = store.by_seq(seq as u64)?.expect("no commit is thinned");
        computed += usize::from(!commit.has_state());
        let view = memory.at(Revision::Seq(seq as u64))?;
        assert_eq!(told(&view), states[seq], "seq {seq}");
        for entry in entries_of(&view) {
            let batch = store.records.batch_of(entry.place)?;
            assert!(batch <= commit.batch, "seq {seq} has a record of batch {batch}");
        }
    }
    Ok(computed)
}

#[test]
fn ctl_4_a_state_that_left_the_memory_is_computed_from_the_log() -> Result<()> {
    for seed in 0..20 {
        let mut random = SplitMix64::new(seed);
        let memory = small()?;
        let states = history(&memory, &mut random, 120)?;
        assert!(
            check(&memory, &mut random, &states)? > 0,
            "seed {seed}: every state stayed in memory"
        );
    }
    Ok(())
}

#[test]
fn ctl_4_also_beside_a_checkpoint() -> Result<()> {
    for seed in 0..8 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let memory = on_disk(&disk, options(HOUR), true)?;
        let states = history(&memory, &mut random, 120)?;
        check(&memory, &mut random, &states)?;
        drop(memory);
        for checkpoints in [true, false] {
            let reader = on_disk(
                &disk,
                options(HOUR).read_only(true).checkpoints(checkpoints),
                false,
            )?;
            check(&reader, &mut random, &states)?;
        }
    }
    Ok(())
}

#[test]
fn ctl_4_the_states_of_snapshots_and_of_the_newest_commits_stay_in_memory() -> Result<()> {
    let (memory, writer) = (small()?, Writer::user());
    let commit = |round: usize, count: usize| {
        let mut draft = memory.draft(&writer);
        draft.put_all((0..count).map(|number| note(&format!("o/{number}"), &format!("round {round}"))))?;
        memory.commit(draft, "put")
    };
    commit(0, 300)?;
    let mut seqs = Vec::new();
    for round in 2..=40 {
        commit(round, 30)?;
        if round % 10 == 5 {
            seqs.push(memory.snapshot(Some(&format!("round-{round}")), &writer)?.seq);
        }
    }
    let store = memory.inner.store();
    let is_there = |seq| Ok::<_, crate::Error>(store.by_seq(seq)?.is_some_and(|commit| commit.has_state()));
    for seq in seqs.iter().copied().chain([39, 40]) {
        assert!(is_there(seq)?, "seq {seq}");
    }
    let there = (0..=40).filter(|seq| is_there(*seq).unwrap()).count();
    assert!(there <= 14, "{there} states are in memory");
    // The state of a commit that loses its name leaves the memory, unless it is a mark.
    for round in [5, 15, 25, 35] {
        memory.delete_snapshot(&format!("round-{round}"), &writer)?;
    }
    commit(41, 30)?;
    let left = (0..=40).filter(|seq| is_there(*seq).unwrap()).count();
    assert!(left < there, "{left} of {there} states are in memory");
    Ok(())
}

/// Returns the seqs of the commits whose states are in memory.
fn in_memory(memory: &Memory) -> Result<Vec<u64>> {
    let (store, head) = (memory.inner.store(), memory.view().commit().commit.seq);
    let mut there = Vec::new();
    for seq in 0..=head {
        if store.by_seq(seq)?.is_some_and(|commit| commit.has_state()) {
            there.push(seq);
        }
    }
    Ok(there)
}

fn commit(memory: &Memory, objects: usize, text: &str) -> Result<()> {
    let mut draft = memory.draft(&Writer::user());
    draft.put_all((0..objects).map(|number| note(&format!("o/{number}"), text)))?;
    memory.commit(draft, "put").map(drop)
}

#[test]
fn ctl_4_named_states_are_in_memory_after_the_log_is_read() -> Result<()> {
    let (disk, writer) = (SimDisk::new(1), Writer::user());
    let memory = on_disk(&disk, options(HOUR), true)?;
    for round in 1..=6 {
        commit(&memory, 30, &format!("round {round}"))?;
        if round % 3 == 0 {
            memory.snapshot(Some(&format!("round-{round}")), &writer)?;
        }
    }
    commit(&memory, 30, "last")?;
    let expected = told(&memory.at("round-3".parse::<Revision>()?)?);
    drop(memory);
    let reader = on_disk(&disk, options(HOUR).read_only(true).checkpoints(false), false)?;
    assert_eq!(in_memory(&reader)?, [3, 6, 7]);
    assert_eq!(told(&reader.at("round-3".parse::<Revision>()?)?), expected);
    Ok(())
}

#[test]
fn ctl_4_a_commit_that_goes_far_back_keeps_its_state() -> Result<()> {
    let memory = small()?;
    commit(&memory, 200, "first")?;
    // Only the second rollback goes back over enough changes to keep its state.
    for (rollback, rounds) in [(3, 1), (7, 3)] {
        for round in 0..rounds {
            commit(&memory, 20, &format!("before {rollback}: {round}"))?;
        }
        memory.rollback("seq:1").by(&Writer::user())?;
        assert_eq!(memory.view().commit().commit.seq, rollback);
    }
    for round in 0..4 {
        commit(&memory, 20, &format!("after {round}"))?;
    }
    let there = in_memory(&memory)?;
    assert!(there.contains(&7) && !there.contains(&3), "{there:?}");
    Ok(())
}

#[test]
fn a_commit_gets_no_state_with_the_stored_nodes_of_another_store() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    commit(&memory, 200, "first")?;
    for round in 2..=9 {
        commit(&memory, 20, &format!("round {round}"))?;
    }
    let outdated = memory.inner.store().by_seq(3)?.expect("no commit is thinned");
    assert!(!outdated.has_state());
    cover(&memory);
    let reader = on_disk(&disk, options(HOUR).read_only(true), false)?;
    assert_eq!(reader.inner.store().state(&outdated)?.len(), 200);
    assert!(!outdated.has_state(), "the other store could not load its nodes");
    Ok(())
}

//! Checks every read path of a damaged store against the truth.
//!
//! # Layer
//! For tests. Uses the engine.

use std::collections::HashSet;
use std::sync::Arc;

use super::Tally;
use super::spoil::Spoiled;
use super::store::{Extent, State, Whole, note, open, options};
use crate::digest::{HashAlgorithm, HashSuite, ObjectDigest};
use crate::disk::{Disk, MemDisk};
use crate::engine::{Memory, Options, TextRecord, VerifyDepth, View, Writer, salvage_into, verified};
use crate::error::{Error, ErrorKind};
use crate::log::DamagedLog;
use crate::object::{Object, Op};
use crate::testing::sim_disk::SimDisk;

/// Checks a damaged store.
pub(super) fn check(disk: &SimDisk, whole: &Whole, spoiled: &Spoiled) -> Tally {
    let before = disk.files();
    let mut tally = Tally {
        damages: 1,
        ..Tally::default()
    };
    let (is_told, is_ok) = verify(disk, whole);
    let strict = check_strict(disk, whole, is_told);
    assert!(
        is_told || !spoiled.must_be_told || spoiled.is_older_manifest && strict == Some(true),
        "nothing reports the damage"
    );
    tally.told += u64::from(is_told);
    tally.empty += u64::from(!is_told);
    tally.strict += u64::from(strict.is_some());
    match open(disk, options(900).degraded(true), false) {
        Ok(memory) => {
            tally.degraded += 1;
            check_memory(&memory, whole, "degraded");
        }
        Err(error) => expect_damage(&error, "degraded"),
    }
    tally.salvaged += u64::from(check_salvage(disk, whole, spoiled, &mut tally.versions));
    assert!(disk.files() == before, "reading changed the store");
    if strict == Some(true) && !spoiled.fills_zeros {
        tally.written += u64::from(check_writing(disk, whole, is_ok));
    }
    tally
}

/// Returns whether `verify` reports more than it reports for the whole store, and whether it finds no damage.
fn verify(disk: &SimDisk, whole: &Whole) -> (bool, bool) {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    match verified(&shared, &Options::new()) {
        Ok(report) => {
            let is_new = |found: &&_| !whole.findings.contains(found);
            let found = report.damage.iter().chain(&report.derived);
            (found.filter(is_new).count() > 0, report.ok)
        }
        Err(error) => {
            expect_damage(&error, "verify");
            (true, false)
        }
    }
}

fn expect_damage(error: &Error, what: &str) {
    let is_expected = matches!(
        error.kind(),
        ErrorKind::Corrupt | ErrorKind::Io | ErrorKind::UnsupportedFormat
    );
    assert!(is_expected, "{what}: {error:?}");
}

/// Checks what a strict reader sees. Returns whether it sees the whole newest state; `None` if it refuses the store.
fn check_strict(disk: &SimDisk, whole: &Whole, is_told: bool) -> Option<bool> {
    match open(disk, options(900).read_only(true), false) {
        Ok(memory) => {
            let missing = check_memory(&memory, whole, "strict");
            let is_newest = memory.view().commit().digest == whole.head;
            assert!(is_newest || is_told, "an older state is shown as the newest one");
            Some(is_newest && missing == 0)
        }
        Err(error) => {
            expect_damage(&error, "strict");
            None
        }
    }
}

/// Checks that a memory shows only acknowledged states. Returns the number of objects of the newest state that it cannot
/// read.
fn check_memory(memory: &Memory, whole: &Whole, what: &str) -> usize {
    let commits: Vec<_> = memory.commits().collect();
    for info in &commits {
        match info {
            Ok(info) if info.commit.op.as_str() == Op::SALVAGE => {}
            Ok(info) => assert!(
                whole.states.contains_key(&info.digest),
                "{what}: an unknown commit"
            ),
            Err(error) => expect_damage(error, what),
        }
    }
    match memory.forks() {
        Ok(forks) => forks
            .iter()
            .for_each(|fork| check_fork(memory, &fork.name, whole, what)),
        Err(error) => expect_damage(&error, what),
    }
    let known: Vec<_> = commits.into_iter().flatten().collect();
    // Some of the past states: at most four, spread over the history.
    for info in known.iter().step_by(known.len() / 4 + 1) {
        match memory.view_at(&info.digest.to_hex().parse().expect("a digest"), "") {
            Ok(view) => drop(check_view(&view, whole, what)),
            Err(error) => expect_damage(&error, what),
        }
    }
    check_view(&memory.view(), whole, what)
}

/// Checks that a fork shows only its acknowledged states.
fn check_fork(memory: &Memory, name: &str, whole: &Whole, what: &str) {
    let fork = match memory.open_fork(name) {
        Ok(fork) => fork,
        Err(error) => return expect_damage(&error, what),
    };
    let view = fork.view();
    let commit = view.commit().digest;
    let state = whole
        .fork_states
        .get(&commit)
        .or_else(|| whole.states.get(&commit));
    let state = state.unwrap_or_else(|| panic!("{what}: an unknown state of the fork {name}"));
    assert_eq!(view.len() as usize, state.len(), "{what}: the fork {name}");
    for object in view.objects() {
        match object {
            Ok(object) => drop(check_object(&object, Some(state), whole, what)),
            Err(error) => expect_damage(&error, what),
        }
    }
}

/// Compares the objects of a view with the truth. Returns the number of objects that cannot be read.
fn check_view(view: &View, whole: &Whole, what: &str) -> usize {
    let commit = view.commit();
    let is_of_salvage = commit.commit.op.as_str() == Op::SALVAGE;
    let state = whole.states.get(&commit.digest);
    assert!(is_of_salvage || state.is_some(), "{what}: an unknown state");
    let (mut missing, mut seen) = (0, 0);
    for object in view.objects() {
        match object {
            Ok(object) => {
                seen += 1;
                missing += usize::from(!check_object(&object, state, whole, what));
            }
            Err(error) => {
                expect_damage(&error, what);
                missing += 1;
            }
        }
    }
    let all = state.map_or(seen, State::len);
    assert!(seen <= all, "{what}: too many objects");
    missing.max(all - seen)
}

/// Compares an object with the truth. Returns whether it can be read.
fn check_object(object: &Object, state: Option<&State>, whole: &Whole, what: &str) -> bool {
    if object.is_placeholder() {
        // An erased version of a past state, or one that was lost.
        return false;
    }
    let (id, digest) = (object.id().as_str(), object.digest());
    let known = whole.versions.get(&digest).map(String::as_str);
    assert_eq!(known, Some(id), "{what}: {id} has a version that never existed");
    assert!(!whole.erased.contains(&digest), "{what}: {id} was erased");
    if let Some(state) = state {
        assert_eq!(state.get(id), Some(&digest), "{what}: {id} has another version");
    }
    let Ok(new) = object.to_new() else { return false };
    let again = new
        .encode(object.origin(), HashSuite::new(HashAlgorithm::Blake3))
        .expect("an object");
    assert!(
        again.digest == digest || object.content().is_none(),
        "{what}: {id} has another content"
    );
    object.content().is_some()
}

/// Checks what salvage saves. Returns whether it saves anything.
fn check_salvage(disk: &SimDisk, whole: &Whole, spoiled: &Spoiled, count: &mut u64) -> bool {
    let needed: Vec<ObjectDigest> = whole
        .places
        .iter()
        .filter(|(digest, copies)| {
            whole.versions.contains_key(digest) && copies.iter().all(|copies| is_outside(copies, spoiled))
        })
        .map(|(digest, _)| *digest)
        .collect();
    let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let saved = DamagedLog::open(Arc::new(disk.clone()))
        .and_then(|log| salvage_into(&log, &target, &options(950)))
        .and_then(|_| Memory::on_disk(target, options(960).read_only(true), false, None));
    let memory = match saved {
        Ok(memory) => memory,
        Err(error) => {
            expect_damage(&error, "salvage");
            assert!(
                needed.is_empty(),
                "salvage loses {} versions: {error:?}",
                needed.len()
            );
            return false;
        }
    };
    check_memory(&memory, whole, "salvage");
    let mut versions = HashSet::new();
    let told = memory.text_records(&mut |record| {
        if let TextRecord::Version(object) = record {
            versions.insert(object.digest());
        }
        Ok(())
    });
    told.expect("a new store");
    let lost: Vec<_> = needed
        .iter()
        .filter(|digest| !versions.contains(*digest))
        .map(|digest| whole.versions[digest].clone())
        .collect();
    assert!(
        lost.is_empty(),
        "salvage loses versions outside the damage: {lost:?}"
    );
    let erased = versions.iter().find(|digest| whole.erased.contains(*digest));
    assert!(erased.is_none(), "salvage brings back an erased version");
    *count += needed.len() as u64;
    true
}

/// Returns whether the damage left one of the copies of a record. A content within its object has no copy of its own.
fn is_outside(copies: &[Extent], spoiled: &Spoiled) -> bool {
    let is_whole = |(file, range): &Extent| {
        let hits = |(other, lost): &Extent| other == file && lost.start < range.end && range.start < lost.end;
        !spoiled.touched.iter().any(hits)
    };
    copies.is_empty() || copies.iter().any(is_whole)
}

/// Writes to a damaged store that is still complete. Returns whether it could be written to.
fn check_writing(disk: &SimDisk, whole: &Whole, is_ok: bool) -> bool {
    for number in 0..3 {
        let put = open(disk, options(1_000 + number), false).and_then(|memory| {
            memory.put(
                note(&format!("new/{number}"), "new ".repeat(9_000)),
                &Writer::user(),
            )
        });
        match put {
            Ok(_) => {}
            // A writer refuses a store whose files it cannot read or replace. It may find that out later.
            Err(error) if number == 0 || error.is_unreadable() => {
                expect_damage(&error, "writing");
                return false;
            }
            Err(error) => panic!("a later write fails: {error:?}"),
        }
    }
    let memory = open(disk, options(1_100).read_only(true), false).expect("a store that was written to");
    let view = memory.view();
    for (id, digest) in &whole.states[&whole.head] {
        let object = view.get(&id.parse().expect("a valid id")).expect("an object");
        let object = object.unwrap_or_else(|| panic!("{id} is gone after a write"));
        assert_eq!(object.digest(), *digest, "{id} changed after a write");
    }
    for number in 0..3 {
        let id = format!("new/{number}").parse().expect("a valid id");
        let object = view.get(&id).expect("an object");
        assert!(
            object.is_some_and(|object| object.content().is_some()),
            "new/{number}"
        );
    }
    let report = memory.verify(VerifyDepth::Full).expect("a verification");
    // Damage of past states stays.
    assert!(report.ok || !is_ok, "a write damaged the store: {report:?}");
    true
}

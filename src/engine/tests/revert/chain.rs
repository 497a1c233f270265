//! A long chain of parents is settled in time proportional to its length.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{by, child, id, note};
use super::session;
use crate::ErrorCode;
use crate::disk::MemDisk;
use crate::engine::write::settle::STEPS;
use crate::engine::{Conflicts, Memory, Options, Progress, Reverted};

const LENGTH: usize = 2_000;
/// The largest number of steps up the tree for a chain of [`LENGTH`].
const STEPS_MAX: usize = 20 * LENGTH;

fn name(number: usize) -> String {
    format!("n/{number}")
}

/// Puts the chain from `n/0` down to `n/1999` in one commit. The text makes the versions differ.
fn put_chain(memory: &Memory, session: &str, text: &str) {
    let mut draft = memory.draft(&by(session));
    for number in 0..LENGTH {
        let mut object = note(&name(number), text);
        object.parent = number.checked_sub(1).map(|above| id(&name(above)));
        draft.put(object).unwrap();
    }
    drop(memory.commit(draft, "put").unwrap());
}

fn remove_chain(memory: &Memory, session: &str) {
    let mut draft = memory.draft(&by(session));
    assert_eq!(draft.remove_recursive(&id("n/0")).unwrap(), LENGTH as u64);
    drop(memory.commit(draft, "remove").unwrap());
}

/// Reverts `night` without a quadratic walk, and takes the revert back.
fn quickly(memory: &Memory, conflicts: Conflicts) -> Reverted {
    let revert = memory.revert(session("night")).conflicts(conflicts);
    STEPS.set(0);
    let reverted = revert.by(&by("owner")).unwrap();
    let steps = STEPS.get();
    println!("{conflicts:?}: {steps} steps");
    // A walk up the whole chain from each of its objects would take two million steps.
    assert!((1..=STEPS_MAX).contains(&steps), "{conflicts:?}: {steps} steps");
    if reverted.committed.changed {
        memory.undo(&by("owner")).unwrap();
    }
    reverted
}

fn figures(reverted: &Reverted) -> (usize, usize) {
    (reverted.reverted.len(), reverted.kept.len())
}

#[test]
fn a_chain_that_others_put_something_below() {
    let memory = Memory::in_memory().unwrap();
    put_chain(&memory, "night", "bad");
    drop(memory.put(child("leaf", &name(LENGTH - 1)), &by("day")).unwrap());
    assert_eq!(figures(&quickly(&memory, Conflicts::Keep)), (0, LENGTH));
    assert_eq!(figures(&quickly(&memory, Conflicts::Revert)), (LENGTH + 1, 0));
    // Others put a chain below one object.
    let memory = Memory::in_memory().unwrap();
    drop(memory.put(note("n/0", "bad"), &by("night")).unwrap());
    put_chain(&memory, "day", "good");
    let all = quickly(&memory, Conflicts::Revert);
    assert_eq!(figures(&all), (LENGTH, 0));
    assert_eq!(
        all.reverted.iter().filter(|one| one.gone_with.is_some()).count(),
        LENGTH - 1
    );
}

#[test]
fn a_chain_that_others_removed() {
    let memory = Memory::in_memory().unwrap();
    put_chain(&memory, "day", "good");
    let mut leaf = child("leaf", &name(LENGTH - 1));
    drop(memory.put(leaf.clone(), &by("day")).unwrap());
    leaf.parent = None;
    drop(memory.put(leaf, &by("night")).unwrap());
    remove_chain(&memory, "eve");
    assert_eq!(figures(&quickly(&memory, Conflicts::Keep)), (0, 1));
    assert_eq!(figures(&quickly(&memory, Conflicts::Revert)), (LENGTH + 1, 0));
    // The selected commits removed the whole chain but its top.
    let memory = Memory::in_memory().unwrap();
    put_chain(&memory, "day", "good");
    let mut draft = memory.draft(&by("night"));
    draft.remove_recursive(&id("n/1")).unwrap();
    drop(memory.commit(draft, "remove").unwrap());
    drop(memory.remove(&id("n/0"), &by("eve")).unwrap());
    assert_eq!(figures(&quickly(&memory, Conflicts::Keep)), (0, LENGTH - 1));
    assert_eq!(figures(&quickly(&memory, Conflicts::Revert)), (LENGTH, 0));
}

#[test]
fn a_chain_that_the_selected_commits_turned_upside_down() {
    let memory = Memory::in_memory().unwrap();
    put_chain(&memory, "day", "good");
    let mut draft = memory.draft(&by("night"));
    for number in 0..LENGTH {
        let mut object = note(&name(number), "bad");
        object.parent = (number + 1 < LENGTH).then(|| id(&name(number + 1)));
        draft.put(object).unwrap();
    }
    drop(memory.commit(draft, "put").unwrap());
    assert_eq!(figures(&quickly(&memory, Conflicts::Keep)), (LENGTH, 0));
    // `eve` puts the earlier top below the earlier bottom, so the whole chain would be a circle.
    let mut top = note("n/0", "by eve");
    top.parent = Some(id(&name(LENGTH - 1)));
    drop(memory.put(top, &by("eve")).unwrap());
    let (reverted, kept) = figures(&quickly(&memory, Conflicts::Keep));
    assert_eq!(reverted + kept, LENGTH);
    assert!(kept > 1, "besides `n/0`, something on the circle stays");
    assert_eq!(figures(&quickly(&memory, Conflicts::Revert)), (LENGTH, 0));
}

#[test]
fn a_revert_that_fits_its_changes_into_the_tree_can_be_stopped() {
    let (stop, planned) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (stopping, planning) = (Arc::clone(&stop), Arc::clone(&planned));
    let asked = Arc::clone(&stop);
    let options = Options::new()
        .automatic_gc(None)
        .stop(move || asked.load(Ordering::Relaxed))
        .progress(Arc::new(move |progress: Progress| {
            // The histories are read, so nothing is left but to settle the plan.
            let is_last = progress.doing == "commits" && progress.done == progress.total;
            stopping.fetch_or(is_last && planning.load(Ordering::Relaxed), Ordering::Relaxed);
        }));
    let memory = Memory::on_disk(Arc::new(MemDisk::new()), options, true, None).unwrap();
    drop(memory.put(note("a", "good"), &by("day")).unwrap());
    drop(memory.put(note("a", "bad"), &by("night")).unwrap());
    planned.store(true, Ordering::Relaxed);
    let error = memory.revert(session("night")).preview(&by("owner")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Interrupted);
    stop.store(false, Ordering::Relaxed);
}

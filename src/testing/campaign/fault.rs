//! Injects faults at every call of a workload. A fault must be reported, and must neither lose nor invent data. Work
//! continues after the device recovers.
//!
//! # Layer
//! For tests. Uses the engine.

use super::expected::{Allowed, Expected, Fingerprint, open};
use super::workload::{Operation, Run};
use super::{Settings, Tally};
use crate::engine::{VerifyDepth, Writer};
use crate::error::{ErrorCode, ErrorKind};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, Fault, ReadFault, SimDisk};

/// The number of operations before and after the faulty operation. Because of the earlier operations, the fault hits a
/// handle that is already in use.
const AROUND: usize = 4;
/// The number of calls that a lasting fault affects, which is more than any operation makes.
const LASTING: u64 = 10_000;

/// The fault for one operation.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Call { call: u64, lasting: u64, fault: Fault },
    Read { read: u64, fault: ReadFault },
}

/// Injects every fault at every call of the workload of a seed. If `fault_every` is above 1, injects only one in
/// `fault_every` faults.
pub(super) fn fail_everywhere(seed: u64, settings: Settings) -> Tally {
    let expected = Expected::of(seed, settings.operations);
    let mut random = SplitMix64::new(seed ^ 0x00fa_0175);
    let mut tally = Tally::default();
    for event in 1..expected.events.len() {
        // Counts the calls of the operation in a run with the same beginning.
        let first = event.saturating_sub(random.below(AROUND)).max(1);
        let Some((mut run, _)) = begin(&expected, first, event) else {
            continue;
        };
        let before = (run.disk.calls(), run.disk.reads());
        // What the comparison reads is no part of the operation.
        act(&mut run, &expected, event).expect("a disk that works");
        let (calls, reads) = (run.disk.calls() - before.0, run.disk.reads() - before.1);
        let in_calls = (1..=calls).flat_map(|call| {
            let faults = Fault::ALL.into_iter();
            faults.flat_map(move |fault| [0, LASTING].map(|lasting| Trouble::Call { call, lasting, fault }))
        });
        let in_reads = (1..=reads).flat_map(|read| {
            [ReadFault::Device, ReadFault::Short].map(|fault| Trouble::Read { read, fault })
        });
        for trouble in in_calls.chain(in_reads) {
            if random.one_in(settings.fault_every) {
                fail(&expected, first, event, trouble, &mut random);
                tally.faults += 1;
            }
        }
    }
    tally
}

/// Returns a run that has done the operations from event `first` up to `event`, with the number of that event.
fn begin(expected: &Expected, first: usize, event: usize) -> Option<(Run, usize)> {
    let mut run = Run::new(expected.events.get(first)?.before.copy());
    for earlier in first..event {
        let outcome = attempt(&mut run, expected, earlier).expect("a disk that works");
        assert!(outcome, "event {earlier} has another outcome when it is repeated");
    }
    Some((run, event))
}

/// Runs the operation of `event`, and returns whether its outcome was the expected outcome.
fn act(run: &mut Run, expected: &Expected, event: usize) -> crate::Result<bool> {
    if event == 1 {
        run.create()?;
        return Ok(true);
    }
    let step = event - 1;
    let outcome = run.apply(step, &expected.operations[step - 1])?;
    Ok(outcome == expected.events[event].outcome)
}

/// Runs the operation of `event`, and returns whether its outcome and the store after it are the expected ones.
fn attempt(run: &mut Run, expected: &Expected, event: usize) -> crate::Result<bool> {
    Ok(act(run, expected, event)? && Some(Fingerprint::of(&run.memory()?)) == expected.events[event].found)
}

fn allowed(expected: &Expected, from: usize, to: usize) -> Allowed<'_> {
    let found = expected.events[from..=to].iter().map(|event| event.found.clone());
    Allowed {
        found: found.collect(),
        history: &expected.history,
        thins: expected.thins,
    }
}

fn operation_of(expected: &Expected, event: usize) -> Option<&Operation> {
    event
        .checked_sub(2)
        .and_then(|index| expected.operations.get(index))
}

/// Injects one fault and checks the operations after it.
fn fail(expected: &Expected, first: usize, event: usize, trouble: Trouble, random: &mut SplitMix64) {
    let operation = operation_of(expected, event);
    let what = format!("{trouble:?} on the way to event {event}, {operation:?}");
    let (mut run, _) = begin(expected, first, event).expect("the event is there");
    match trouble {
        Trouble::Call { call, lasting, fault } => run.disk.fail_from(run.disk.calls() + call, lasting, fault),
        Trouble::Read { read, fault } => run.disk.fail_read_at(run.disk.reads() + read, fault),
    }
    let mut reached = event - 1;
    match attempt(&mut run, expected, event) {
        Ok(right) => {
            assert!(right, "{what}: the outcome is not the expected one");
            // An overtaken garbage collection may ignore an error while it removes its files, because the next writer
            // removes them.
            let is_left = matches!(operation, Some(Operation::GcBeside { .. }));
            // On a full disk, a rewrite makes room and tries again (FUL-1).
            let is_full = |fault: Fault| matches!(fault, Fault::Full | Fault::Quota);
            let is_full = matches!(trouble, Trouble::Call { fault, .. } if is_full(fault));
            let is_rewrite = matches!(operation, Some(Operation::Gc { .. } | Operation::Erase { .. }));
            let is_told = matches!(trouble, Trouble::Read { .. }) || !run.disk.has_failed() || is_left;
            let is_told = is_told || is_full && is_rewrite;
            assert!(is_told, "{what}: the operation did not report its error");
            reached = event;
        }
        Err(error) => {
            // `verify` reports an unreadable file as damage.
            let is_verify = matches!(operation, Some(Operation::Verify)) && error.is_corruption();
            assert!(error.kind() == ErrorKind::Io || is_verify, "{what}: {error:?}");
            refuse_after_failure(&mut run, expected, event, &what);
        }
    }
    // During the fault, another process must be able to read everything that was acknowledged.
    if event > 1 {
        let reader = run.disk.copy();
        allowed(expected, reached, event).read(&reader, random, &what);
    }
    assert!(run.disk.heal(), "{what}: no call failed");
    run.let_go();
    go_on(&mut run, expected, reached, event, random, &what);
}

/// Asserts that a handle whose write failed writes nothing more. The store must be unchanged, or have the whole
/// operation.
fn refuse_after_failure(run: &mut Run, expected: &Expected, event: usize, what: &str) {
    let calls = run.disk.calls();
    match attempt(run, expected, event) {
        // If only a read failed, or the fault hit the opening of the store, nothing was written, and a retry is
        // correct.
        Ok(_) => {}
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(
                    kind,
                    ErrorKind::Io | ErrorKind::Poisoned | ErrorKind::NotFound | ErrorKind::InvalidInput
                ),
                "{what}, second attempt: {error:?}"
            );
            // During a simultaneous collection, the other handle may be the poisoned handle.
            let is_one = !matches!(operation_of(expected, event), Some(Operation::GcBeside { .. }));
            assert!(
                kind != ErrorKind::Poisoned || run.disk.calls() == calls || !is_one,
                "{what}: a poisoned handle wrote to the store"
            );
        }
    }
}

/// Continues after the device works again. Checks that the remaining operations have the same outcome as in a run
/// without faults, and are durable.
fn go_on(
    run: &mut Run,
    expected: &Expected,
    acked: usize,
    submitted: usize,
    random: &mut SplitMix64,
    what: &str,
) {
    let found = run.memory();
    let found = match found {
        Ok(memory) => {
            // Recovers the store, which from now on has the whole operation or no part of it.
            let writer = Writer::user();
            drop(memory.delete_snapshot("no-such-name", &writer));
            Some(Fingerprint::of(&memory))
        }
        Err(error) if error.code() == ErrorCode::NoStore => None,
        Err(error) => panic!("{what}, opened again: {error:?}"),
    };
    let list = allowed(expected, acked, submitted);
    let reached = acked + list.position(found.as_ref(), what);
    // The fault may have stopped either the collection or the simultaneous operation, while the other finished. Later
    // operations then differ from the undisturbed run.
    let is_cut = acked < submitted
        && matches!(
            operation_of(expected, submitted),
            Some(Operation::GcBeside { .. })
        );
    let last = if is_cut {
        reached
    } else {
        (submitted + AROUND).min(expected.events.len() - 1)
    };
    for event in reached + 1..=last {
        let right = attempt(run, expected, event);
        let right = right.unwrap_or_else(|error| {
            panic!(
                "{what}, then event {event}, {:?}: {error:?}",
                operation_of(expected, event)
            )
        });
        assert!(right, "{what}: then event {event} has another outcome");
    }
    let images = [
        CrashImage::Nothing,
        CrashImage::Everything,
        CrashImage::Sectors(random.next_u64()),
    ];
    let image = *random.pick(&images);
    let what = format!("{what}, then {image:?}");
    let image: SimDisk = run.disk.crash_image(image);
    let last = last.max(reached);
    allowed(expected, last, last).read(&image, random, &what);
    if random.one_in(4) {
        let memory = open(&image, true).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let report = memory.verify(VerifyDepth::Full);
        let report = report.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert!(report.ok, "{what}: {report:?}");
    }
}

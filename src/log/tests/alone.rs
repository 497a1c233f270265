//! A handle that nobody disturbed continues without reading. It must write what a handle writes that reads everything again.

use proptest::prelude::*;

use super::*;
use crate::disk::Holder;
use crate::testing::sim_disk::{Fault, SimDisk};

/// The number of handles that take turns.
const HANDLES: usize = 3;

/// An action of a handle during its turn.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Appends batches with texts of this length, and syncs each.
    Append(usize, usize),
    /// Appends batches, and syncs them together.
    Later(usize),
    /// Acquires the lock, but does not read or write.
    Nothing,
    /// Reads the log, and does not write.
    Read,
    /// The process is killed while it writes. A new process replaces it.
    Killed(u64),
    /// The handle is opened again.
    Reopen,
}

fn turn() -> impl Strategy<Value = (usize, Turn)> {
    let turn = prop_oneof![
        6 => (1..4_usize, 1..900_usize).prop_map(|(count, length)| Turn::Append(count, length)),
        2 => (1..4_usize).prop_map(Turn::Later),
        1 => Just(Turn::Nothing),
        1 => Just(Turn::Read),
        1 => (0..4_u64).prop_map(Turn::Killed),
        1 => Just(Turn::Reopen),
    ];
    // The first handle has most of the turns, so it often finds the log as it left it.
    let handle = prop_oneof![4 => Just(0), 1 => 0..HANDLES];
    (handle, turn)
}

/// The handles of one store.
struct Turns {
    disk: SimDisk,
    logs: Vec<Log>,
    /// A holder whose turns make every handle read everything again.
    other: Option<Holder>,
}

impl Turns {
    fn new(plain: bool) -> Self {
        let disk = SimDisk::new(7);
        disk.relax();
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut logs = vec![create(&shared, SMALL)];
        logs.resize_with(HANDLES, || {
            Log::open(Arc::clone(&shared), Mode::ReadWrite, SMALL).unwrap()
        });
        // Both disks give out the same random bytes, so that equal calls write equal files.
        let other = Holder::new(&disk).unwrap();
        let other = plain.then_some(other);
        Self { disk, logs, other }
    }

    fn take(&mut self, handle: usize, turn: Turn) {
        if let Some(other) = &self.other {
            drop(self.disk.try_lock("lock", other).unwrap().unwrap());
        }
        let log = &mut self.logs[handle];
        match turn {
            Turn::Append(count, length) => {
                let texts = vec!["x".repeat(length); count];
                let texts: Vec<_> = texts.iter().map(String::as_str).collect();
                append(log, &texts).unwrap();
            }
            Turn::Later(count) => {
                let lock = log.lock(NO_WAIT).unwrap();
                for number in 0..count {
                    log.prepare(&lock, &mut |_| Ok(())).unwrap();
                    let next = log.newest_batch() + 1;
                    let group = vec![(batch(&format!("later {number}")), mark(next))];
                    log.append(&lock, group, Durability::Later).unwrap();
                }
                log.sync(&lock).unwrap();
            }
            Turn::Nothing => drop(log.lock(NO_WAIT).unwrap()),
            Turn::Read => drop(log.catch_up(&mut |_| Ok(())).unwrap()),
            Turn::Killed(after) => {
                self.disk.fail_at(self.disk.calls() + after, Fault::Device);
                // The call that fails decides whether the batch is kept.
                drop(append(log, &["killed"]));
                self.disk.heal();
                let shared: Arc<dyn Disk> = Arc::new(self.disk.clone());
                *log = Log::open(shared, Mode::ReadWrite, SMALL).unwrap();
            }
            Turn::Reopen => log.reopen().unwrap(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn a_handle_that_continues_writes_what_a_handle_writes_that_reads_again(
        turns in proptest::collection::vec(turn(), 1..40)
    ) {
        let (mut fast, mut plain) = (Turns::new(false), Turns::new(true));
        for (handle, turn) in turns {
            fast.take(handle, turn);
            plain.take(handle, turn);
            prop_assert_eq!(fast.disk.files(), plain.disk.files());
        }
        let shared: Arc<dyn Disk> = Arc::new(fast.disk.clone());
        let (batches, end, _) = read_batches(&shared, Mode::ReadOnly, SMALL)?;
        prop_assert!(end.proven);
        let last = batches.last().map_or(0, |batch| batch.number);
        // No handle delivered or appended a batch that the log lost.
        prop_assert!(fast.logs.iter().all(|log| log.newest_batch() <= last));
    }
}

#[test]
fn a_handle_reads_nothing_between_its_own_turns_and_everything_after_another_turn() {
    let disk = SimDisk::new(3);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut log = create(&shared, LogOptions::default());
    let mut other = Log::open(Arc::clone(&shared), Mode::ReadWrite, LogOptions::default()).unwrap();
    append(&mut log, &["first"]).unwrap();
    for number in 0..9 {
        let (calls, reads) = (disk.calls(), disk.reads());
        append(&mut log, &["alone"]).unwrap();
        assert_eq!(disk.reads() - reads, 0, "APP-4");
        // The batch, its sync and `live`.
        assert_eq!(disk.calls() - calls, 3);
        if number % 3 == 0 {
            append(&mut other, &["other"]).unwrap();
            let reads = disk.reads();
            append(&mut log, &["behind the other"]).unwrap();
            assert!(disk.reads() > reads, "APP-4");
        }
    }
    let (texts, tail) = read_all(&shared, Mode::ReadOnly, LogOptions::default()).unwrap();
    assert_eq!((texts.len(), tail.proven), (2 + 9 + 2 * 3, true));
}

#[test]
fn a_turn_that_did_not_reach_the_end_of_the_log_proves_nothing() {
    let disk = SimDisk::new(3);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut log = create(&shared, SMALL);
    append(&mut log, &["own"]).unwrap();
    let mut other = Log::open(Arc::clone(&shared), Mode::ReadWrite, SMALL).unwrap();
    append(&mut other, &["other"]).unwrap();
    // This turn of the handle makes it the last holder, but it does not read what the other handle wrote.
    drop(log.lock(NO_WAIT).unwrap());
    append(&mut log, &["own again"]).unwrap();
    let (texts, _) = read_all(&shared, Mode::ReadOnly, SMALL).unwrap();
    assert_eq!(texts, ["batch 1", "own", "other", "own again"]);
}

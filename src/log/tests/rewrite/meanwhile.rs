//! Tests reads, writes and checks during rewrites.

use super::*;
use crate::disk::FileDisk;
use crate::error::ErrorCode;

#[test]
fn readers_writers_and_checks_in_other_threads_never_take_a_rewrite_for_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(&store).unwrap());
    create(&disk, SMALL);
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let spawn = |work: fn(&std::path::Path, &std::sync::atomic::AtomicBool)| {
        let (store, done) = (store.clone(), Arc::clone(&done));
        std::thread::spawn(move || work(&store, &done))
    };
    let threads = [spawn(open_again), spawn(follow), spawn(check_again)];
    let writer = spawn(write_on);
    let mut log = Log::open(Arc::clone(&disk), Mode::ReadWrite, SMALL).unwrap();
    for _ in 0..40 {
        rewrite_all(&mut log).unwrap();
    }
    done.store(true, Ordering::Release);
    for thread in threads.into_iter().chain([writer]) {
        thread.join().unwrap();
    }
    let (batches, _, epoch) = read_batches(&disk, Mode::ReadOnly, SMALL).unwrap();
    let newest = batches.last().unwrap().number;
    assert!(epoch == 40 && newest > 40, "rewrite {epoch}, batch {newest}");
}

fn disk_of(store: &std::path::Path) -> Arc<dyn Disk> {
    Arc::new(FileDisk::open(store).unwrap())
}

/// Opens the store repeatedly, and checks that the batch numbers rise.
fn open_again(store: &std::path::Path, done: &std::sync::atomic::AtomicBool) {
    while !done.load(Ordering::Acquire) {
        let mut log = Log::open(disk_of(store), Mode::ReadOnly, SMALL).unwrap();
        let mut newest = 0;
        let read = log.catch_up(&mut |batch| {
            assert!(batch.number > newest);
            newest = batch.number;
            Ok(())
        });
        assert!(
            read.is_ok()
                || read
                    .as_ref()
                    .is_err_and(|error| error.code() == ErrorCode::Rewritten),
            "{read:?}"
        );
    }
}

/// Follows the log and reopens it after each rewrite. Checks that batches that were read stay readable.
fn follow(store: &std::path::Path, done: &std::sync::atomic::AtomicBool) {
    let mut log = Log::open(disk_of(store), Mode::ReadOnly, SMALL).unwrap();
    let mut batches: Vec<Batch> = Vec::new();
    let mut rewrites = 0;
    while !done.load(Ordering::Acquire) {
        let caught_up = log.catch_up(&mut |batch| {
            batches.push(batch);
            Ok(())
        });
        for record in batches.iter().flat_map(|batch| &batch.records) {
            assert_eq!(&log.reader().read(record.locator).unwrap(), record);
        }
        if let Err(error) = caught_up {
            assert_eq!(error.code(), ErrorCode::Rewritten, "{error:?}");
            log.reopen().unwrap();
            batches.clear();
            rewrites += 1;
        }
    }
    assert!(rewrites > 3, "{rewrites}");
}

fn check_again(store: &std::path::Path, done: &std::sync::atomic::AtomicBool) {
    while !done.load(Ordering::Acquire) {
        let checked = Checked::of(disk_of(store), SMALL, None).unwrap();
        let damages = checked.damages();
        assert!(damages.is_empty(), "{damages:?}");
    }
}

fn write_on(store: &std::path::Path, done: &std::sync::atomic::AtomicBool) {
    let mut log = Log::open(disk_of(store), Mode::ReadWrite, SMALL).unwrap();
    while !done.load(Ordering::Acquire) {
        let lock = at_end(&mut log).unwrap();
        let number = log.newest_batch() + 1;
        let group = vec![(batch(&format!("batch {number}")), mark(number))];
        log.append(&lock, group, Durability::Synced).unwrap();
    }
}

//! Tests creating, appending, rotating, reading and alternating writers, without faults.

use super::*;
use crate::disk::FileDisk;

#[test]
fn what_is_appended_is_read_back_by_a_new_handle_across_segments() {
    for options in [SMALL, LogOptions { map: false, ..SMALL }] {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let mut log = create(&disk, options);
        for number in 2..=100 {
            let made = append(&mut log, &[&format!("batch {number}")]).unwrap();
            assert_eq!(made.first().map(|batch| batch.number), Some(number));
            let record = made[0].records[0].clone();
            assert_eq!(log.reader().read(record.locator).unwrap(), record);
        }
        let (texts, tail) = read_all(&disk, Mode::ReadOnly, options).unwrap();
        assert_eq!(texts, expected(100));
        assert!(tail.proven);
        assert!(log.size().0 > 3, "the log rotated");
    }
}

#[test]
fn a_store_in_a_folder_is_closed_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/store");
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(&path).unwrap());
    let mut log = create(&disk, SMALL);
    for number in 2..=60 {
        append(&mut log, &[&format!("batch {number}")]).unwrap();
    }
    drop(log);
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(&path).unwrap());
    let (texts, tail) = read_all(&disk, Mode::ReadOnly, SMALL).unwrap();
    assert_eq!(texts, expected(60));
    assert!(tail.proven);
}

#[test]
fn two_handles_take_turns_and_a_reader_follows() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let mut first = create(&disk, SMALL);
    let mut second = Log::open(Arc::clone(&disk), Mode::ReadWrite, SMALL).unwrap();
    let mut reader = Log::open(Arc::clone(&disk), Mode::ReadOnly, SMALL).unwrap();
    let mut seen = Vec::new();
    for number in 2..=80 {
        let log = if number % 3 == 0 { &mut first } else { &mut second };
        append(log, &[&format!("batch {number}")]).unwrap();
        let tail = reader.catch_up(&mut |batch| {
            seen.push(text_of(&batch));
            Ok(())
        });
        assert!(End::of(&reader, tail.unwrap()).proven);
        assert_eq!(seen.len(), number);
    }
    assert_eq!(seen, expected(80));
}

#[test]
fn only_one_handle_holds_the_lock() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let first = create(&disk, SMALL);
    let second = Log::open(Arc::clone(&disk), Mode::ReadWrite, SMALL).unwrap();
    let lock = first.lock(NO_WAIT).unwrap();
    let refused = second.lock(Duration::from_millis(5)).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Busy);
    assert!(
        refused
            .message()
            .contains(&format!("process {}", std::process::id())),
        "{refused}"
    );
    drop(lock);
    second.lock(NO_WAIT).unwrap();
}

#[test]
fn readers_in_other_threads_see_only_whole_batches_in_order_with_and_without_live() {
    for keep_live in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(&store).unwrap());
        let mut log = create(&disk, SMALL);
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (store, done) = (store.clone(), Arc::clone(&done));
                std::thread::spawn(move || follow(&store, &done))
            })
            .collect();
        for number in 2..=150 {
            append(&mut log, &[&format!("batch {number}")]).unwrap();
            if !keep_live {
                // Without `live`, no mark stops a reader, so the reader sees batches that are still being written.
                drop(std::fs::remove_file(store.join("live")));
            }
            if keep_live && number == 75 {
                let mut other = Log::open(Arc::clone(&disk), Mode::ReadWrite, SMALL).unwrap();
                other.catch_up(&mut |_| Ok(())).unwrap();
                log = other;
            }
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            let seen = reader.join().unwrap();
            assert_eq!(seen, expected(seen.len()));
            assert_eq!(seen.len(), 150, "with `live`: {keep_live}");
        }
    }
}

/// Reads the log repeatedly until the writer is done. Checks that a reader returns every record at its locator.
fn follow(store: &std::path::Path, done: &std::sync::atomic::AtomicBool) -> Vec<String> {
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(store).unwrap());
    let mut log = Log::open(disk, Mode::ReadOnly, SMALL).unwrap();
    let reader = log.reader();
    let mut batches = Vec::new();
    loop {
        let last = done.load(Ordering::Acquire);
        log.catch_up(&mut |batch| {
            batches.push(batch);
            Ok(())
        })
        .unwrap();
        for record in batches.iter().flat_map(|batch: &Batch| &batch.records) {
            assert_eq!(reader.read(record.locator).unwrap().body, record.body);
        }
        if last {
            return batches.iter().map(text_of).collect();
        }
    }
}

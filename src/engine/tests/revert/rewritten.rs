//! What garbage collection and erasure take from history meanwhile does not come back with a revert or restore.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::super::gc_beside::only_head;
use super::super::{by, content, id};
use super::{session, write};
use crate::ErrorCode;
use crate::disk::MemDisk;
use crate::engine::{Erasing, Memory, Options, Progress, VerifyDepth, Writer};
use crate::object::Op;

fn on_disk(options: Options) -> Memory {
    let options = options.automatic_gc(None);
    Memory::on_disk(Arc::new(MemDisk::new()), options, true, None).unwrap()
}

/// A text that is stored as a record of its own.
fn long(text: &str) -> String {
    text.repeat(1_000)
}

fn check_whole(memory: &Memory) {
    let report = memory.verify(VerifyDepth::Full).unwrap();
    assert!(report.ok, "{:?}", report.damage);
    assert!(memory.view().objects().all(|object| object.is_ok()));
}

/// INVARIANT PLN-1: no plan is written on a log that was rewritten since.
#[test]
fn a_plan_is_made_again_if_garbage_collection_took_its_versions() {
    let (memory, collected) = (
        Arc::new(OnceLock::<Memory>::new()),
        Arc::new(AtomicBool::new(false)),
    );
    let (other, done) = (Arc::clone(&memory), Arc::clone(&collected));
    let options = Options::new().progress(Arc::new(move |progress: Progress| {
        let planning = other.get().filter(|_| progress.doing == "commits");
        if let Some(memory) = planning.filter(|_| !done.swap(true, Ordering::Relaxed)) {
            let memory = memory.clone();
            let report = std::thread::spawn(move || memory.gc(&only_head(), None)).join();
            assert!(report.unwrap().unwrap().thinned > 0);
        }
    }));
    let opened = on_disk(options);
    write(&opened, "day", "a", &long("good"));
    write(&opened, "night", "a", "bad");
    let memory = memory.get_or_init(|| opened);
    let reverted = memory.revert(session("night")).by(&by("owner")).unwrap();
    assert!(collected.load(Ordering::Relaxed));
    check_whole(memory);
    // The version by `day` is no longer kept, so the answer says that a version may be missing.
    assert!(reverted.reverted.iter().all(|object| object.thinned));
    assert_eq!(content(&memory.view(), "a"), None);
}

/// INVARIANT DRA-3: the commit links a version of history only if history still keeps it.
#[test]
fn a_restored_version_that_was_collected_or_erased_meanwhile_is_refused() {
    type Take = fn(&Memory);
    let ways: [(&str, Take, ErrorCode); 2] = [
        (
            "gc",
            |memory| assert!(memory.gc(&only_head(), None).unwrap().thinned > 0),
            ErrorCode::NotFound,
        ),
        (
            "erase",
            |memory| {
                let version = memory.at("seq:1").unwrap().get(&id("a")).unwrap().unwrap();
                let targets = vec![version.digest().to_string()];
                let erasing = Erasing {
                    targets,
                    ..Erasing::default()
                };
                drop(memory.erase(&erasing, &Writer::user()).unwrap());
            },
            ErrorCode::Erased,
        ),
    ];
    for (name, take, code) in ways {
        for text in ["good".to_owned(), long("good")] {
            let memory = on_disk(Options::new());
            write(&memory, "day", "a", &text);
            write(&memory, "day", "a", "newer");
            let from = memory.at("seq:1").unwrap();
            let mut draft = memory.draft(&by("owner"));
            assert!(draft.restore(&id("a"), &from).unwrap());
            take(&memory);
            let error = memory.commit(draft, Op::RESTORE).unwrap_err();
            assert_eq!(error.code(), code, "{name}: {error}");
            assert_eq!(content(&memory.view(), "a").as_deref(), Some("newer"), "{name}");
            check_whole(&memory);
        }
    }
}

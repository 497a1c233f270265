//! Tests of backups and clones.

use std::sync::Arc;

use crate::engine::{Erasing, Memory, Options, Retention, Writer, verify_store};
use crate::error::{Cause, ErrorCode, ErrorKind, Finding};
use crate::object::{Id, Kind, NewObject, Origin};
use crate::remote::backup::back_up;
use crate::remote::bucket::{Bucket, Counted};
use crate::remote::clone::clone_from;
use crate::remote::place::Place;
use crate::remote::{Remote, backup, clone};
use crate::testing::sim_bucket::SimBucket;

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

pub(super) fn object(name: &str, content: &str) -> NewObject {
    let mut object = NewObject::new(id(name), Kind::new("note").unwrap());
    object.content = Some(content.to_owned());
    object
}

pub(super) fn put(memory: &Memory, name: &str, content: &str) {
    memory.put(object(name, content), &Writer::person("ann")).unwrap();
}

/// Compares all that two stores say: their commits, states, snapshots, forks and drafts.
pub(super) fn assert_same(one: &Memory, other: &Memory) {
    let all = |memory: &Memory| {
        let commits: Vec<_> = memory.commits().map(|commit| commit.unwrap().digest).collect();
        let snapshots = memory.snapshots().unwrap();
        let snapshots: Vec<_> = snapshots
            .iter()
            .map(|snapshot| (snapshot.name.clone(), snapshot.commit))
            .collect();
        (
            commits,
            memory.view().root(),
            snapshots,
            memory.forks().unwrap(),
            memory.history_len(),
        )
    };
    assert_eq!(all(one), all(other));
}

pub(super) fn verified(path: &std::path::Path) {
    let report = verify_store(path, &Options::new(), crate::engine::VerifyDepth::Full).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
}

fn store(folder: &tempfile::TempDir) -> (Memory, String) {
    let memory = Memory::create(folder.path().join("store")).unwrap();
    (memory, format!("file://{}/backup", folder.path().display()))
}

#[test]
fn a_backup_restores_everything_and_the_next_one_sends_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    let ann = Writer::person("ann");
    for number in 0..50 {
        put(&memory, &format!("note/{number}"), &"x".repeat(number * 200));
    }
    memory.snapshot(Some("before"), &ann).unwrap();
    let fork = memory.fork("task-7").by(&ann).unwrap();
    put(&fork, "note/fork", "of the fork");
    memory.undo(&ann).unwrap();
    let first = backup(&memory, &url).unwrap();
    assert_eq!((first.commits, first.objects), (53, 51));
    let again = backup(&memory, &url).unwrap();
    assert_eq!((again.commits, again.objects, again.bytes), (0, 0, 0));
    put(&memory, "note/new", "new");
    let next = backup(&memory, &url).unwrap();
    assert_eq!((next.commits, next.objects), (1, 1));
    assert!(next.bytes < 8_000 && next.requests <= 6, "{next:?}");

    let path = folder.path().join("clone");
    let (restored, cloned) = clone(&url, &path, Origin::DirectUser, &Options::new()).unwrap();
    assert_eq!((cloned.commits, cloned.objects), (53, memory.view().len()));
    assert_same(&memory, &restored);
    put(&restored, "note/after", "the clone can be written");
    drop(restored);
    verified(&path);
    assert_eq!(Memory::open(&path).unwrap().view().len(), cloned.objects + 1);
    let of_store = Memory::id_of_store(&folder.path().join("store")).unwrap();
    assert_ne!(Memory::id_of_store(&path).unwrap(), of_store);
    // A folder with a backup can be read as a store. Nobody writes it by accident, so it stays a backup.
    let opened = Options::new()
        .read_only(true)
        .open(folder.path().join("backup"))
        .unwrap();
    assert_same(&memory, &opened);
    let refused = Memory::open(folder.path().join("backup")).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Closed);
    put(&memory, "note/last", "text");
    assert_eq!(backup(&memory, &url).unwrap().commits, 1);
}

/// Rule 15, CLO-1: `verify` of a backup and the next run notice what a reader of a plain store takes for an unfinished write.
#[test]
fn a_backup_that_lost_bytes_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    for number in 0..3 {
        put(&memory, "note", &format!("{number}"));
        backup(&memory, &url).unwrap();
    }
    let path = folder.path().join("backup");
    verified(&path);
    let verify = || verify_store(&path, &Options::new(), crate::engine::VerifyDepth::Full).unwrap();
    for number in 1..=3 {
        let file = path.join(format!("log/{number:08}.seg"));
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() - 32]).unwrap();
        let damage = verify().damage;
        let is_told = |finding: &Finding| finding.damage.cause == Cause::SegmentDigest;
        assert!(damage.iter().any(is_told), "{number} {damage:?}");
        std::fs::remove_file(&file).unwrap();
        assert!(!verify().ok, "{number}");
        let error = backup(&memory, &url).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Corrupt, "{number}");
        std::fs::write(&file, whole).unwrap();
    }
    assert_eq!(backup(&memory, &url).unwrap().bytes, 0);
}

#[test]
fn a_rewritten_log_replaces_its_backup_and_nothing_erased_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    for number in 0..20 {
        put(&memory, "note", &format!("text {number}"));
    }
    put(&memory, "secret", "swordfish-4711");
    backup(&memory, &url).unwrap();
    let bytes = || {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(folder.path().join("backup/log")).unwrap() {
            all.extend(std::fs::read(entry.unwrap().path()).unwrap());
        }
        String::from_utf8_lossy(&all).into_owned()
    };
    assert!(bytes().contains("swordfish-4711"));
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::person("ann")).unwrap();
    put(&memory, "note", "newest");
    // INVARIANT RPL-2: the number of a deleted file is not used again, also if no manifest listed it.
    let segment = |number: u64| folder.path().join(format!("backup/log/{number:08}.seg"));
    std::fs::write(segment(50), "left by a writer that lost").unwrap();
    backup(&memory, &url).unwrap();
    assert!(!segment(50).exists() && segment(51).exists());
    assert!(!bytes().contains("swordfish-4711"), "BUP-2");
    let mut retention = Retention::default();
    (retention.all, retention.newest) = (std::time::Duration::ZERO, 1);
    memory.gc(&retention, None).unwrap();
    put(&memory, "note", "after the collection");
    backup(&memory, &url).unwrap();
    put(&memory, "note", "and more");
    let last = backup(&memory, &url).unwrap();
    assert_eq!(last.commits, 1);
    let (restored, _) = clone(
        &url,
        folder.path().join("clone"),
        Origin::DirectUser,
        &Options::new(),
    )
    .unwrap();
    assert_same(&memory, &restored);
    verified(&folder.path().join("clone"));
}

#[test]
fn the_backup_of_another_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    backup(&memory, &url).unwrap();
    let other = Memory::in_memory().unwrap();
    assert_eq!(backup(&other, &url).unwrap_err().code(), ErrorCode::Unrelated);
    let of_store = format!("file://{}/store", folder.path().display());
    assert_eq!(
        backup(&other, &of_store).unwrap_err().code(),
        ErrorCode::NotARemote
    );
    let missing = clone(
        &format!("{url}/x"),
        folder.path().join("c"),
        Origin::DirectUser,
        &Options::new(),
    )
    .unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let taken = clone(
        &url,
        folder.path().join("store"),
        Origin::DirectUser,
        &Options::new(),
    )
    .unwrap_err();
    assert_eq!(taken.code(), ErrorCode::StoreExists);
    std::fs::create_dir(folder.path().join("full")).unwrap();
    std::fs::write(folder.path().join("full/x"), "x").unwrap();
    let full = clone(
        &url,
        folder.path().join("full"),
        Origin::DirectUser,
        &Options::new(),
    )
    .unwrap_err();
    assert_eq!(full.code(), ErrorCode::Exists);
}

/// BUP-2, RPL-2: also after a kill between the new manifest and the deletes, or before a file has its name.
#[test]
fn what_an_interrupted_backup_left_goes_with_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    put(&memory, "secret", "swordfish-4711");
    backup(&memory, &url).unwrap();
    let file = |name: &str| folder.path().join("backup/log").join(name);
    let old = std::fs::read(file("00000001.seg")).unwrap();
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::person("ann")).unwrap();
    backup(&memory, &url).unwrap();
    for left in [
        "00000001.seg",
        "00000050.seg",
        "00000002.seg.00ff00ff00ff00ff.part",
        "notes.txt",
    ] {
        std::fs::write(file(left), &old).unwrap();
    }
    let collected = backup(&memory, &url).unwrap();
    assert_eq!(collected.commits, 0);
    assert!(!file("00000001.seg").exists() && file("notes.txt").exists());
    // The number of this one may be used again, so it stays until a higher one is published.
    assert!(file("00000050.seg").exists());
    let nothing = backup(&memory, &url).unwrap();
    assert_eq!(nothing.bytes, 0, "nothing is published without need");
    put(&memory, "note", "new");
    backup(&memory, &url).unwrap();
    assert!(!file("00000050.seg").exists() && file("00000051.seg").exists());
    assert!(!file("00000002.seg.00ff.part").exists());
    let path = folder.path().join("clone");
    let (restored, _) = clone(&url, &path, Origin::DirectUser, &Options::new()).unwrap();
    assert_same(&memory, &restored);
}

/// A file without end is damage, and not read.
#[test]
fn a_huge_file_in_a_backup_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    put(&memory, "note", "text");
    backup(&memory, &url).unwrap();
    for name in ["format", "manifest", "log/00000001.seg"] {
        let file = folder.path().join("backup").join(name);
        let whole = std::fs::read(&file).unwrap();
        let open = std::fs::File::options().write(true).open(&file).unwrap();
        open.set_len(1 << 40).unwrap();
        let path = folder.path().join("clone");
        let error = clone(&url, &path, Origin::DirectUser, &Options::new()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Corrupt, "{name} {error:?}");
        std::fs::write(&file, whole).unwrap();
    }
}

/// CLE-1: whichever byte of a backup is damaged, no store is made of it.
#[test]
fn a_damaged_backup_makes_no_clone() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    for number in 0..5 {
        put(&memory, &format!("note/{number}"), "text");
        backup(&memory, &url).unwrap();
    }
    let base = folder.path().join("backup");
    let log = std::fs::read_dir(base.join("log")).unwrap();
    let files = log
        .map(|entry| entry.unwrap().path())
        .chain([base.join("manifest"), base.join("format")]);
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        let (middle, cut) = (whole.len() / 2, whole.len() - 16);
        for spoilt in [
            None,
            Some((middle, None)),
            Some((cut, Some(()))),
            Some((whole.len() - 1, None)),
        ] {
            match spoilt {
                None => std::fs::remove_file(&file).unwrap(),
                Some((at, Some(()))) => std::fs::write(&file, &whole[..at]).unwrap(),
                Some((at, None)) => {
                    let mut bytes = whole.clone();
                    bytes[at] ^= 1;
                    std::fs::write(&file, bytes).unwrap();
                }
            }
            let path = folder.path().join("clone");
            let error = clone(&url, &path, Origin::DirectUser, &Options::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{file:?} {spoilt:?} {error:?}");
            assert!(
                error.hint().is_some_and(|hint| !hint.contains("salvage")),
                "{error:?}"
            );
            assert_eq!(Memory::open(&path).unwrap_err().code(), ErrorCode::NoStore);
            drop(std::fs::remove_dir_all(&path));
        }
        std::fs::write(&file, &whole).unwrap();
    }
    clone(
        &url,
        folder.path().join("clone"),
        Origin::DirectUser,
        &Options::new(),
    )
    .unwrap();
}

/// Returns for each segment of a closed log whether a clone has its bytes behind the header. No header is the same.
fn copied(closed: &std::path::Path, clone: &std::path::Path) -> Vec<bool> {
    let names = std::fs::read_dir(closed.join("log")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let is_copied = |name: &std::ffi::OsString| {
        let [of, here] = [closed, clone].map(|folder| std::fs::read(folder.join("log").join(name)).unwrap());
        assert_ne!(of[..4_096], here[..4_096]);
        of[4_096..] == here[4_096..]
    };
    names.iter().map(is_copied).collect()
}

/// CLN-3, CLE-4: a clone copies unchanged segments and encodes the others. Its memory equals its files.
#[test]
fn a_clone_copies_what_needs_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    let shared = folder.path().join("shared");
    let shared_url = format!("file://{}", shared.display());
    let remote = Remote::create("origin", &shared_url, Origin::DirectUser).unwrap();
    for number in 0..4 {
        put(&memory, &format!("note/{number}"), "text");
        put(&memory, "note/0", &format!("text {number}"));
        backup(&memory, &url).unwrap();
        remote.push(&memory, &Writer::user()).unwrap();
        // The clone of a remote renames it.
        let name = format!("at/{number}");
        (number == 1).then(|| memory.snapshot(Some(&name), &Writer::user()).unwrap());
    }
    let backed_up = folder.path().join("backup");
    for (closed, url, cap, expected) in [
        (&backed_up, &url, Origin::DirectUser, [true; 4]),
        (&backed_up, &url, Origin::Import, [false; 4]),
        (
            &shared,
            &shared_url,
            Origin::DirectUser,
            [true, true, false, false],
        ),
    ] {
        let path = folder.path().join("clone");
        let (cloned, _) = clone(url, &path, cap, &Options::new()).unwrap();
        assert_eq!(copied(closed, &path), expected, "{url} {cap:?}");
        assert_same(&cloned, &Options::new().read_only(true).open(&path).unwrap());
        assert_eq!(cloned.view().root(), memory.view().root());
        put(&cloned, "note/0", "of the clone");
        cloned.close().unwrap();
        verified(&path);
        std::fs::remove_dir_all(&path).unwrap();
    }
}

/// CLN-1, CLN-2: an interrupted clone goes on, and what it finds damaged is written again.
#[test]
fn an_interrupted_clone_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, url) = store(&folder);
    for number in 0..6 {
        put(&memory, &format!("note/{number}"), "text");
        backup(&memory, &url).unwrap();
    }
    for (spoil, stop_after) in [(false, 2), (true, 3), (false, 5)] {
        let path = folder.path().join(format!("clone-{stop_after}"));
        let stopped = Options::new().stop({
            let asked = std::sync::atomic::AtomicU32::new(0);
            move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= stop_after
        });
        let error = clone(&url, &path, Origin::DirectUser, &stopped).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Interrupted);
        assert_eq!(Memory::open(&path).unwrap_err().code(), ErrorCode::NoStore);
        if spoil {
            let file = path.join("log/00000002.seg");
            let mut bytes = std::fs::read(&file).unwrap();
            let last = bytes.len() - 40;
            bytes[last] ^= 1;
            std::fs::write(&file, bytes).unwrap();
        }
        let bucket: Arc<dyn Bucket> = crate::remote::bucket::open_bucket(&url, false).unwrap();
        let place = Place::of(Counted::new(bucket));
        let (restored, _) = clone_from(&place, &path, Origin::DirectUser, &Options::new()).unwrap();
        assert_same(&memory, &restored);
        let kept = if spoil { 1 } else { u64::from(stop_after).min(6) };
        assert_eq!(place.bucket.requests(), 2 + 6 - kept, "{spoil} {stop_after}");
        drop(restored);
        verified(&path);
    }
}

/// BUP-3: two copies of a store take nothing from each other's backup, and a restored store goes on with its own.
#[test]
fn a_backup_keeps_what_another_copy_of_the_store_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let (one, url) = store(&folder);
    backup(&one, &url).unwrap();
    let clone_to = |name: &str| {
        let path = folder.path().join(name);
        let (memory, _) = clone(&url, path, Origin::DirectUser, &Options::new()).unwrap();
        memory
    };
    let other = clone_to("other");
    put(&one, "of one", "1");
    put(&other, "of the other", "1");
    backup(&one, &url).unwrap();
    let error = backup(&other, &url).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RemoteAhead);
    let restored = clone_to("restored");
    assert_same(&one, &restored);
    put(&restored, "after", "1");
    backup(&restored, &url).unwrap();
    assert_same(&restored, &clone_to("again"));
    assert_eq!(backup(&one, &url).unwrap_err().code(), ErrorCode::RemoteAhead);
}

/// BUP-3: an older image of a store, and a copy that lacks a fork, do not take the place of what the backup has.
#[test]
fn a_backup_keeps_what_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    let (one, url) = store(&folder);
    one.close().unwrap();
    let image = folder.path().join("image");
    std::fs::create_dir_all(image.join("log")).unwrap();
    for name in ["", "log"] {
        for file in std::fs::read_dir(folder.path().join("store").join(name)).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), image.join(name).join(file.file_name())).unwrap();
            }
        }
    }
    let one = Memory::open(folder.path().join("store")).unwrap();
    for number in 0..5 {
        put(&one, "of one", &number.to_string());
    }
    backup(&one, &url).unwrap();
    let older = Memory::open(&image).unwrap();
    for _ in 0..2 {
        assert_eq!(backup(&older, &url).unwrap_err().code(), ErrorCode::RemoteAhead);
        // The next time, the image is longer than the backup.
        for number in 0..9 {
            put(&older, "of the image", &number.to_string());
        }
    }
    older.gc(&Retention::default(), None).unwrap();
    assert_eq!(backup(&older, &url).unwrap_err().code(), ErrorCode::RemoteAhead);

    let path = folder.path().join("other");
    let (other, _) = clone(&url, path, Origin::DirectUser, &Options::new()).unwrap();
    let fork = one.fork("trial").by(&Writer::person("ann")).unwrap();
    put(&fork, "of a fork", "1");
    backup(&one, &url).unwrap();
    assert_eq!(other.view().root(), one.view().root());
    assert_eq!(backup(&other, &url).unwrap_err().code(), ErrorCode::RemoteAhead);
}

/// BUP-1: whatever a service does, a backup that returned is whole, and one that failed goes on.
#[test]
fn a_backup_survives_a_service_with_faults() {
    let (mut failed, mut done) = (0, 0);
    for seed in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::in_memory().unwrap();
        let service = SimBucket::new(seed, 3);
        let place = || Place::of(Counted::new(Arc::new(service.clone())).impatient());
        for round in 0..6 {
            put(&memory, "note", &format!("{round}"));
            if round % 2 == 1 {
                let mut retention = Retention::default();
                (retention.all, retention.newest) = (std::time::Duration::ZERO, 1);
                memory.gc(&retention, None).unwrap();
            }
            match back_up(&memory, &place(), "sim://") {
                Ok(_) => done += 1,
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::Io | ErrorKind::Conflict),
                        "{seed} {error:?}"
                    );
                    failed += 1;
                }
            }
            // Whenever somebody looks, the backup is whole.
            let now = SimBucket::default();
            now.restore(service.objects());
            if now.objects().contains_key("manifest") {
                let disk: Arc<dyn crate::disk::Disk> = Arc::new(crate::disk::MemDisk::new());
                let options = Options::new().checkpoints(false);
                crate::remote::clone_on(Arc::new(now), &disk, Origin::DirectUser, &options).unwrap();
            }
        }
        service.heal();
        back_up(&memory, &place(), "sim://").unwrap();
        let (restored, _) = clone_from(
            &place(),
            &folder.path().join("c"),
            Origin::DirectUser,
            &Options::new(),
        )
        .unwrap();
        assert_same(&memory, &restored);
    }
    assert!(failed > 2 && done > 100, "{failed} {done}");
}

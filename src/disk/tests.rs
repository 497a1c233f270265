//! Tests that the real disk, the disk in memory and the simulated disk meet the same contract.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::*;
use crate::error::{Error, ErrorKind};
use crate::testing::sim_disk::{CrashImage, SimDisk};

fn file_disk() -> (tempfile::TempDir, FileDisk) {
    let folder = tempfile::tempdir().unwrap();
    let disk = FileDisk::create(folder.path().join("store")).unwrap();
    (folder, disk)
}

fn read(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    assert_eq!(read_full(&*file, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

/// Returns a disk of each kind.
fn with_others(file: FileDisk) -> [Arc<dyn Disk>; 3] {
    [
        Arc::new(file),
        Arc::new(MemDisk::new()),
        Arc::new(SimDisk::new(1)),
    ]
}

fn kind<T>(result: io::Result<T>) -> Option<io::ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn every_disk_keeps_the_contract() {
    let (_folder, file) = file_disk();
    for disk in with_others(file) {
        let disk = &*disk;
        assert_eq!(kind(disk.open("a", Access::Read)), Some(io::ErrorKind::NotFound));
        disk.create_dir("log").unwrap();
        disk.create_dir("log").unwrap();
        create_whole(disk, "log/a", b"content", 20).unwrap();
        assert_eq!(read(disk, "log/a"), b"content\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(
            kind(create_whole(disk, "log/a", b"other", 0)),
            Some(io::ErrorKind::AlreadyExists)
        );
        assert_eq!(read(disk, "log/a").len(), 20);
        assert_eq!(kind(disk.create("log/a")), Some(io::ErrorKind::AlreadyExists));
        replace(disk, "b", b"old").unwrap();
        let old = disk.open("b", Access::Read).unwrap();
        replace(disk, "b", b"newer").unwrap();
        assert_eq!(read(disk, "b"), b"newer");
        assert_eq!(
            old.length().unwrap(),
            3,
            "an open handle must still read the old file"
        );
        assert!(disk.list("").unwrap().contains(&"b".to_owned()));
        let file = disk.open("log/a", Access::ReadWrite).unwrap();
        file.write_at(18, b"grows").unwrap();
        file.sync().unwrap();
        assert_eq!(read(disk, "log/a").len(), 23);
        let mut bytes = [9; 8];
        assert_eq!(file.read_at(20, &mut bytes).unwrap(), 3);
        assert_eq!(file.read_at(100, &mut bytes).unwrap(), 0);
        let map = file.map(7).unwrap();
        assert_eq!(&*map, b"content");
        assert_eq!(kind(file.map(24)), Some(io::ErrorKind::UnexpectedEof), "MAP-2");
        disk.sync_dir("log").unwrap();
        disk.remove("log/a").unwrap();
        assert_eq!(&*map, b"content", "a map outlives its name");
        assert_eq!(kind(disk.remove("log/a")), Some(io::ErrorKind::NotFound));
        let names = disk.list("log").unwrap();
        assert!(names.iter().all(|name| name == "a.tmp"), "{names:?}");
    }
}

#[test]
fn only_one_holder_has_the_lock_and_the_waiting_one_gets_it() {
    let (_folder, file) = file_disk();
    for disk in with_others(file) {
        let guard = lock_within(&*disk, "lock", Duration::ZERO).unwrap();
        assert!(guard.is_current().unwrap());
        let busy = lock_within(&*disk, "lock", Duration::from_millis(20))
            .err()
            .unwrap();
        assert_eq!(busy.kind(), ErrorKind::Busy);
        let (holder, wait) = (Holder::new(&*disk).unwrap(), Duration::from_secs(20));
        let stopped = lock_as(&*disk, "lock", &holder, wait, &|| Err(Error::internal("stopped")));
        assert_eq!(stopped.err().unwrap().message(), "stopped");
        let other = Arc::clone(&disk);
        let waiting =
            std::thread::spawn(move || lock_within(&*other, "lock", Duration::from_secs(20)).is_ok());
        std::thread::sleep(Duration::from_millis(10));
        drop(guard);
        assert!(waiting.join().unwrap());
        drop(lock_within(&*disk, "lock", Duration::from_secs(20)).unwrap());
    }
}

#[test]
fn the_lock_names_its_holder_and_notices_that_its_file_was_replaced() {
    let (folder, disk) = file_disk();
    let guard = lock_within(&disk, "lock", Duration::ZERO).unwrap();
    let holder = lock_holder(&disk, "lock").unwrap();
    assert!(
        holder.starts_with(&format!("process {} (", std::process::id())),
        "{holder}"
    );
    let path = folder.path().join("store/lock");
    // Process 1 exists, but does not hold the lock. No process has the number 4194305.
    for other in ["process 1 (init)", "process 4194305 (gone)", "nonsense"] {
        let mut text = [0; 256];
        text[..other.len()].copy_from_slice(other.as_bytes());
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &text, 0).unwrap();
        assert_eq!(lock_holder(&disk, "lock"), None, "{other}");
        let busy = lock_within(&FileDisk::open(disk.path()).unwrap(), "lock", Duration::ZERO);
        let message = busy.err().unwrap().message().to_owned();
        assert!(
            message.contains("is being written by another process"),
            "{message}"
        );
    }
    std::fs::remove_file(path).unwrap();
    assert!(!guard.is_current().unwrap(), "LCK-1");
    std::fs::write(folder.path().join("store/lock"), "").unwrap();
    assert!(!guard.is_current().unwrap(), "LCK-1");
}

#[test]
fn a_holder_knows_whether_another_one_had_the_lock_since() {
    let (folder, file) = file_disk();
    for disk in with_others(file) {
        let [first, second] = [Holder::new(&*disk).unwrap(), Holder::new(&*disk).unwrap()];
        let again = |holder: &Holder| {
            let guard = disk.try_lock("lock", holder).unwrap().unwrap();
            assert!(disk.try_lock("lock", holder).unwrap().is_none(), "it is locked");
            guard.had_no_other_holder()
        };
        // Tests LCK-2: a holder that does nothing is a holder too.
        let turns = [&first, &first, &first, &second, &first, &second, &second, &first];
        let found: Vec<_> = turns.into_iter().map(again).collect();
        assert_eq!(
            found,
            [false, true, true, false, false, false, true, false],
            "LCK-2"
        );
        assert!(
            disk.try_lock("other", &first).unwrap().is_some(),
            "each lock has holders of its own"
        );
        assert!(again(&first));
    }
    // A lock file that was replaced names nobody. The disk locks the new file, although it has the old one open.
    let disk = FileDisk::open(folder.path().join("store")).unwrap();
    let holder = Holder::new(&disk).unwrap();
    for _ in 0..2 {
        let path = folder.path().join("store/lock");
        drop(disk.try_lock("lock", &holder).unwrap().unwrap());
        assert!(
            disk.try_lock("lock", &holder)
                .unwrap()
                .unwrap()
                .had_no_other_holder()
        );
        std::fs::remove_file(&path).unwrap();
        let guard = disk.try_lock("lock", &holder).unwrap().unwrap();
        assert!(guard.is_current().unwrap() && !guard.had_no_other_holder());
        let other = FileDisk::open(disk.path()).unwrap();
        assert!(
            other
                .try_lock("lock", &Holder::new(&other).unwrap())
                .unwrap()
                .is_none(),
            "LCK-1"
        );
    }
}

#[test]
fn nobody_starves_while_others_take_the_lock_over_and_over() {
    let (_folder, disk) = file_disk();
    let start = Arc::new(Barrier::new(4));
    let left = Arc::new(AtomicI64::new(4_000));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            // Opens a separate handle, like another process.
            let disk = FileDisk::open(disk.path()).unwrap();
            let (start, left) = (Arc::clone(&start), Arc::clone(&left));
            std::thread::spawn(move || {
                start.wait();
                let mut turns = 0;
                while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                    let _guard = lock_within(&disk, "lock", Duration::from_mins(10)).unwrap();
                    // Simulates a short commit.
                    std::thread::sleep(Duration::from_micros(300));
                    turns += 1;
                }
                turns
            })
        })
        .collect();
    let turns: Vec<u32> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    assert!(turns.iter().all(|turns| *turns >= 20), "{turns:?}");
}

#[test]
fn files_and_folders_are_private_and_links_are_not_followed() {
    let (folder, disk) = file_disk();
    let store = folder.path().join("store");
    disk.create_dir("log").unwrap();
    disk.create("log/a").unwrap();
    drop(lock_within(&disk, "lock", Duration::ZERO).unwrap());
    for (name, mode) in [("", 0o700), ("log", 0o700), ("log/a", 0o600), ("lock", 0o600)] {
        let found = std::fs::metadata(store.join(name)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{name}");
    }
    let outside = folder.path().join("outside");
    std::fs::write(&outside, "untouched").unwrap();
    std::os::unix::fs::symlink(&outside, store.join("link")).unwrap();
    std::os::unix::fs::symlink(folder.path(), store.join("links")).unwrap();
    for access in [Access::Read, Access::ReadWrite] {
        assert!(disk.open("link", access).is_err());
        assert!(disk.open("links/outside", access).is_err());
    }
    assert!(disk.try_lock("link", &Holder::new(&disk).unwrap()).is_err());
    assert_eq!(std::fs::read(&outside).unwrap(), b"untouched");
    assert!(
        disk.open("log", Access::Read).is_err(),
        "a folder is not a regular file"
    );
}

#[test]
fn every_call_names_a_path_that_is_not_a_regular_file() {
    let (folder, disk) = file_disk();
    let at = |name: &str| folder.path().join("store").join(name);
    disk.create_dir("log").unwrap();
    disk.create("file").unwrap();
    std::os::unix::net::UnixListener::bind(at("log/socket")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("log/link")).unwrap();
    std::os::unix::fs::symlink("log", at("folder-link")).unwrap();
    std::fs::create_dir(at("log/folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("log/pipe"), rustix::fs::Mode::RWXU).unwrap();
    let named = |error: io::Error| {
        assert!(is_not_regular(&error), "{error}");
        let found = Error::io("", error);
        assert_eq!(found.code(), crate::error::ErrorCode::NotRegularFile);
        found.damage().unwrap().file.clone()
    };
    for name in ["log/socket", "log/link", "log/folder", "log/pipe"] {
        for access in [Access::Read, Access::ReadWrite] {
            assert_eq!(named(disk.open(name, access).err().unwrap()), name);
        }
        assert_eq!(
            named(disk.try_lock(name, &Holder::new(&disk).unwrap()).err().unwrap()),
            name
        );
        if name != "log/folder" {
            assert_eq!(named(disk.list(name).err().unwrap()), name);
        }
    }
    assert_eq!(
        named(disk.rename_over("file", "log/folder").err().unwrap()),
        "log/folder"
    );
    assert_eq!(named(disk.remove("log/folder").err().unwrap()), "log/folder");
    assert_eq!(
        named(disk.open("folder-link/x", Access::Read).err().unwrap()),
        "folder-link"
    );
    assert_eq!(named(disk.open("file/x", Access::Read).err().unwrap()), "file");
    assert_eq!(named(disk.list("file").err().unwrap()), "file");
    assert!(!is_not_regular(
        &disk.open("log/nothing", Access::Read).err().unwrap()
    ));
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    let (_folder, disk) = file_disk();
    for name in [
        "",
        "..",
        "../x",
        "/etc/passwd",
        "log/../../x",
        "log//x",
        "./x",
        "a\0b",
    ] {
        assert_eq!(
            kind(disk.open(name, Access::Read)),
            Some(io::ErrorKind::InvalidInput),
            "{name:?}"
        );
        assert_eq!(
            kind(disk.create(name)),
            Some(io::ErrorKind::InvalidInput),
            "{name:?}"
        );
        assert_eq!(
            kind(disk.rename_over("a", name)),
            Some(io::ErrorKind::InvalidInput),
            "{name:?}"
        );
    }
}

#[test]
fn a_handle_for_reading_cannot_write() {
    let (_folder, disk) = file_disk();
    disk.create("a").unwrap().write_at(0, b"content").unwrap();
    let memory = MemDisk::new();
    memory.create("a").unwrap().write_at(0, b"content").unwrap();
    for disk in [&disk as &dyn Disk, &memory] {
        disk.open("a", Access::Read)
            .unwrap()
            .write_at(0, b"x")
            .unwrap_err();
        assert_eq!(read(disk, "a"), b"content", "DSK-1");
    }
}

#[test]
fn a_folder_is_the_same_store_by_whatever_path() {
    let (folder, disk) = file_disk();
    let link = folder.path().join("by-link");
    std::os::unix::fs::symlink(folder.path().join("store"), &link).unwrap();
    let again = FileDisk::open(&link).unwrap();
    assert_eq!(disk.identity(), again.identity());
    assert_eq!(disk.path(), again.path());
    let metadata = std::fs::metadata(&link).unwrap();
    assert_eq!(disk.identity(), (metadata.dev(), metadata.ino()));
    assert_eq!(
        FileDisk::open(folder.path().join("nothing")).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(!folder.path().join("nothing").exists());
}

#[test]
fn network_file_systems_are_known_by_their_number() {
    for (magic, name) in [
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xff53_4d42, "CIFS"),
        (0x0102_1997, "9p"),
    ] {
        assert_eq!(file_disk::network_name(magic), Some(name));
    }
    for local in [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0x6573_5546,
        0x794c_7630,
    ] {
        assert_eq!(file_disk::network_name(local), None);
    }
}

#[test]
fn this_machine_has_a_boot_id() {
    let (_folder, disk) = file_disk();
    assert_eq!(disk.boot_id(), disk.boot_id());
    assert!(!cfg!(target_os = "linux") || disk.boot_id() != [0; 16]);
}

#[test]
fn whole_files_are_durable_when_the_call_returns_and_not_before() {
    let disk = SimDisk::new(1);
    replace(&disk, "a", b"old").unwrap();
    let calls = disk.calls();
    replace(&disk, "a", b"new content").unwrap();
    assert_eq!(disk.crash_image(CrashImage::Nothing).files()["a"], b"new content");
    for call in calls + 1..=disk.calls() {
        let disk = SimDisk::new(1);
        replace(&disk, "a", b"old").unwrap();
        disk.crash_at(call);
        replace(&disk, "a", b"new content").unwrap_err();
        for choice in (0..20)
            .map(CrashImage::Sectors)
            .chain([CrashImage::Nothing, CrashImage::Everything])
        {
            let files = disk.crash_image(choice).files();
            assert!(
                files["a"] == b"old" || files["a"] == b"new content",
                "DSK-2: {choice:?}"
            );
        }
    }
}

#[test]
#[should_panic(expected = "SIM-1")]
fn the_simulated_disk_refuses_to_rename_what_is_not_synced() {
    let disk = SimDisk::new(1);
    disk.create("a.tmp").unwrap().write_at(0, b"content").unwrap();
    disk.rename_new("a.tmp", "a").unwrap();
}

#[test]
fn files_of_another_owner_and_files_that_are_open_are_named_with_those_in_folders() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let folder = tempfile::tempdir().unwrap();
    let disk = FileDisk::create(folder.path().join("store")).unwrap();
    std::fs::create_dir(disk.path().join("log")).unwrap();
    for name in ["manifest", "log/00000001.seg"] {
        disk.create(name).unwrap();
    }
    let owner = disk.path().metadata().unwrap().uid();
    assert!(disk.not_the_owners().is_empty() && disk.not_owned_by(owner).is_empty());
    let mut named = disk.not_owned_by(owner + 1);
    named.sort();
    assert_eq!(named, ["log", "log/00000001.seg", "manifest"]);
    let open = |name: &str, mode| {
        std::fs::set_permissions(disk.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (name, mode) in [("log", 0o700), ("log/00000001.seg", 0o644), ("manifest", 0o644)] {
        open(name, mode);
    }
    assert_eq!(
        disk.open_to_others(),
        None,
        "the mode of the folder denies access"
    );
    open("", 0o755);
    assert_eq!(disk.open_to_others(), Some(vec!["manifest".to_owned()]));
}

#[test]
fn the_simulated_disk_forgets_what_a_failed_sync_should_have_kept() {
    let disk = SimDisk::new(1);
    replace(&disk, "a", b"old").unwrap();
    let file = disk.open("a", Access::ReadWrite).unwrap();
    file.write_at(0, b"new").unwrap();
    disk.fail_at(disk.calls() + 1, crate::testing::sim_disk::Fault::Device);
    file.sync().unwrap_err();
    file.sync().unwrap();
    assert_eq!(read(&disk, "a"), b"new", "reads still show it");
    assert_eq!(disk.crash_image(CrashImage::Everything).files()["a"], b"old");
}

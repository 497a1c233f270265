//! Tests of the facts that identify a folder. tests/it/projects.rs tests the register and the program.

use super::*;

fn folder(path: &str, device: u64, inode: u64, born: Option<u64>) -> Folder {
    Folder {
        folder: path.to_owned(),
        device,
        inode,
        born,
    }
}

/// INVARIANT PRJ-1: a folder has the project of another folder only if they are one.
#[test]
fn a_moved_folder_is_known_and_another_one_is_not() {
    let seen = folder("/gone/tea", 1, 7, Some(99));
    for (now, is_it) in [
        (folder("/gone/tea", 1, 7, Some(99)), true),
        (folder("/gone/coffee", 1, 7, Some(99)), true),
        // The device got another number when the machine started.
        (folder("/gone/tea", 2, 7, Some(99)), true),
        (folder("/gone/coffee", 2, 7, Some(99)), true),
        // The inode was used again, by a folder of the same or of another name.
        (folder("/gone/tea", 1, 7, Some(100)), false),
        (folder("/gone/coffee", 1, 7, Some(100)), false),
        (folder("/gone/tea", 1, 8, Some(99)), false),
        (folder("/gone/tea", 1, 7, None), false),
    ] {
        assert_eq!(seen.is(&now), is_it, "{now:?}");
    }
    // Without a time, only the same path counts.
    let seen = folder("/gone/tea", 1, 7, None);
    assert!(seen.is(&folder("/gone/tea", 2, 7, None)));
    assert!(!seen.is(&folder("/gone/coffee", 1, 7, None)));
}

/// A snapshot of a file system has the same inodes and times, but the folder itself is still there.
#[test]
fn a_folder_of_a_snapshot_is_another_folder() {
    let here = tempfile::tempdir().unwrap();
    let seen = Folder::of(here.path()).unwrap();
    let mut snapshot = folder("/snapshots/1/tea", seen.device + 1, seen.inode, seen.born);
    assert!(!seen.is(&snapshot));
    snapshot.device = seen.device;
    assert_eq!(seen.is(&snapshot), seen.born.is_some());
}

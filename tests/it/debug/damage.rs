//! The debug shell on damaged stores: it serves only intact data, reports the damage, and writes nothing.

use std::fs;

use super::story::told;
use super::transcript::questions;
use crate::program::{Folder, bytes_below};

/// The commands that work on any damaged store.
const FILES: [&str; 8] = [
    "inspect files",
    "inspect hex 1",
    "inspect frames 1",
    "inspect frames --kind seal",
    "inspect hex format",
    "inspect hex manifest",
    "inspect hex live",
    "inspect recovery",
];

fn change(folder: &Folder, file: &str, edit: impl FnOnce(&mut Vec<u8>)) {
    let path = folder.store().join(file);
    let mut bytes = fs::read(&path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Checks that every command in `FILES` answers without a panic, and changes no byte of the store.
fn files_answer(folder: &Folder) {
    let before = bytes_below(&folder.store());
    for command in FILES {
        let ran = folder.run(&["debug", "-c", command]);
        assert!(
            ran.code == 0 && !ran.err.contains("bug in treering"),
            "{command}: {ran:?}"
        );
    }
    for command in questions() {
        let ran = folder.run(&["debug", "-c", &command]);
        assert!(ran.code != 70 && ran.code >= 0, "{command}: {ran:?}");
    }
    assert_eq!(bytes_below(&folder.store()), before);
}

#[test]
fn a_flipped_bit_hides_what_follows_and_says_so() {
    let folder = told();
    change(&folder, "log/00000001.seg", |bytes| {
        let at = bytes.windows(6).position(|window| window == b"coffee").unwrap();
        bytes[at] ^= 0x20;
    });
    let ran = folder.run(&[
        "debug",
        "-c",
        "log",
        "-c",
        "get notes/tea",
        "-c",
        "inspect frames 1",
        "-c",
        "inspect recovery",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("the shell reads the state at seq:3"), "{ran:?}");
    assert!(
        ran.out.contains("green tea") && !ran.out.contains("coffee"),
        "{ran:?}"
    );
    assert!(
        ran.out.contains("damaged: a record does not match its checksum"),
        "{ran:?}"
    );
    assert!(ran.out.contains("refuses to write"), "{ran:?}");
    // The frames after the damage must still be listed.
    assert!(ran.out.contains("rollback at 2026-01-05"), "{ran:?}");
    files_answer(&folder);
}

#[test]
fn a_cut_tail_is_said_with_what_a_writer_would_do() {
    let folder = told();
    change(&folder, "live", Vec::clear);
    change(&folder, "log/00000001.seg", |bytes| {
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes.truncate(used - 40);
    });
    let ran = folder.run(&[
        "debug",
        "-c",
        "log --limit 1",
        "-c",
        "inspect recovery",
        "-c",
        "inspect hex live",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("seals segment 1 at"), "{ran:?}");
    assert!(ran.out.contains("damaged: live:"), "{ran:?}");
    files_answer(&folder);
}

#[test]
fn without_its_small_files_a_store_still_shows_its_bytes() {
    for file in ["manifest", "format"] {
        let folder = told();
        fs::remove_file(folder.store().join(file)).unwrap();
        let ran = folder.run(&["debug", "--keep-going", "-c", "list", "-c", "inspect frames 1"]);
        assert_eq!(ran.code, 0, "{file}: {ran:?}");
        assert!(ran.err.contains("damaged: "), "{file}: {ran:?}");
        assert!(ran.out.contains("task/release   task"), "{file}: {ran:?}");
        assert!(ran.out.contains("notes/tea (fact)"), "{file}: {ran:?}");
        files_answer(&folder);
    }
}

#[test]
fn no_byte_of_a_small_file_makes_it_panic() {
    for file in ["manifest", "format", "live"] {
        let folder = told();
        let length = fs::read(folder.store().join(file)).unwrap().len();
        for at in (0..length).step_by(7) {
            change(&folder, file, |bytes| bytes[at] ^= 0x81);
            let ran = folder.run(&[
                "debug",
                "--keep-going",
                "-c",
                &format!("inspect hex {file}"),
                "-c",
                "inspect frames 1",
                "-c",
                "inspect recovery",
                "-c",
                "head",
            ]);
            assert!(matches!(ran.code, 0 | 1 | 5), "{file} at {at}: {ran:?}");
            change(&folder, file, |bytes| bytes[at] ^= 0x81);
        }
    }
}

//! Special files and limits: pipes, symlinks, permissions, size limits, and files of other users.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::program::{Folder, Ran};

/// Runs a script with the built program in the folder.
pub(crate) fn shell(folder: &Folder, script: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_treering")).parent().unwrap();
    let mut command = Command::new("bash");
    command
        .args(["-c", script])
        .current_dir(folder.path("."))
        .env_clear()
        .env("HOME", folder.path("home"))
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()));
    Ran::of(&command.output().unwrap())
}

#[test]
fn export_writes_into_a_pipe_and_through_a_link_and_keeps_permissions() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    let piped = shell(
        &folder,
        "mkfifo pipe; cat pipe > got & treering export pipe >/dev/null; wait; test -p pipe",
    );
    assert_eq!(piped.code, 0, "{piped:?}");
    assert!(fs::read_to_string(folder.path("got")).unwrap().contains("\"a\""));
    let substituted = shell(
        &folder,
        "treering export >(cat > got2) >/dev/null; sleep 0.2; test -s got2",
    );
    assert_eq!(substituted.code, 0, "{substituted:?}");

    folder.write("real", "old");
    fs::set_permissions(folder.path("real"), fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("real", folder.path("link")).unwrap();
    assert_eq!(folder.refused(1, &["export", "link"])["code"], "file_exists");
    folder.json(&["export", "link", "--force"]);
    assert!(fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
    assert!(fs::read_to_string(folder.path("real")).unwrap().contains("\"a\""));
    let mode = fs::metadata(folder.path("real")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let full = shell(
        &folder,
        "treering export --format svg /dev/full; code=$?; test -c /dev/full && exit $code",
    );
    assert_eq!(full.code, 6, "{full:?}");
}

#[test]
fn options_that_a_form_has_no_use_for_are_refused() {
    let folder = Folder::with_store();
    for arguments in [
        &["export", "--under", "x"][..],
        &["export", "--rows", "5"],
        &["export", "--format", "org", "--picture", "tree"],
        &["export", "--format", "svg", "--from", "nope"],
        &["export", "--format", "html", "--picture", "trie", "x.html"],
    ] {
        folder.refused(2, arguments);
    }
}

#[test]
fn a_file_of_somebody_else_in_the_store_is_no_reason_to_refuse_a_write() {
    let folder = Folder::with_store();
    folder.write(".treering/.DS_Store", "");
    folder.put("a", "one");
    assert_eq!(folder.seq(), 1);
}

#[test]
fn a_file_at_the_limit_of_its_size_is_an_error_and_loses_nothing() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.write("long", "x".repeat(300_000));
    let ran = shell(
        &folder,
        "ulimit -f 100; treering put big --kind k --content - < long",
    );
    assert_eq!(ran.code, 6, "{ran:?}");
    assert_eq!(folder.json(&["verify"])["ok"], true);
    folder.put("b", "two");
    assert_eq!(folder.json(&["get", "a"])["content"], "one");
}

#[test]
fn a_store_of_more_segments_than_files_that_may_be_open_opens_or_says_what_to_do() {
    let folder = Folder::with_store();
    // Without `live`, each writer writes the batches that it recovers into a new segment.
    let ran = shell(
        &folder,
        "for i in $(seq 48); do rm .treering/live; treering put a$i --kind k --content x || exit 1; done",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = shell(&folder, "ulimit -Sn 32; treering get a48 --json");
    assert_eq!(
        ran.code, 0,
        "the program raises the soft limit of open files: {ran:?}"
    );
    let ran = shell(&folder, "ulimit -n 32; treering get a48");
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.err.contains("ulimit -n"), "{ran:?}");
}

#[test]
fn what_is_absent_before_the_damage_is_not_said_to_be_absent() {
    let folder = Folder::with_store();
    for number in 0..6 {
        folder.put(&format!("o{number}"), &format!("text number {number}"));
    }
    let root = folder.root();
    let log = folder.path(".treering/log/00000001.seg");
    let mut bytes = fs::read(&log).unwrap();
    let at = bytes
        .windows(13)
        .position(|window| window == b"text number 3")
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&log, bytes).unwrap();
    assert_eq!(
        folder.json(&["get", "o1", "--degraded"])["content"],
        "text number 1"
    );
    for arguments in [
        &["get", "o5", "--degraded"][..],
        &["get", "o3", "--degraded"],
        &["history", "o5", "--degraded"],
        &["contains", &root, "--degraded"],
        &["debug", "-c", "get o5"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 5, "{arguments:?}: {ran:?}");
        assert!(!ran.err.contains("ever had"), "{ran:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_does_not_ask_for_the_work_again() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    let ran = shell(&folder, "treering undo > /dev/full");
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(
        !ran.err.contains("again") && ran.err.contains("is committed"),
        "{ran:?}"
    );
    assert_eq!(folder.seq(), 2);
    let ran = shell(&folder, "treering redo --json > /dev/full");
    assert!(ran.err.contains("\"code\":\"answer_lost\""), "{ran:?}");
    assert_eq!((ran.code, folder.seq()), (6, 3));
}

#[test]
fn of_a_folder_that_may_be_anything_doctor_gives_nothing_away() {
    let folder = Folder::new();
    folder.write("q/format", "a list");
    folder.write("q/src/main.rs", "fn main() {}");
    fs::set_permissions(folder.path("q"), fs::Permissions::from_mode(0o755)).unwrap();
    // Only root can change the owner of a file. For other users, only the first half of this test runs.
    drop(std::os::unix::fs::chown(
        folder.path("q/src/main.rs"),
        Some(65534),
        None,
    ));
    let told = folder.run(&["doctor", "--store", "q"]);
    assert_eq!(told.code, 5, "{told:?}");
    assert!(
        !told.out.contains("chmod") && !told.out.contains("chown"),
        "{told:?}"
    );
    fs::remove_file(folder.path("q/format")).unwrap();
    let told = folder.run(&["doctor", "--store", "q"]);
    assert_eq!((told.code, told.out.as_str()), (1, ""), "{told:?}");
}

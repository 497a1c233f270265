//! A snapshot and a rollback of a folder by git, with a file for each object.

use std::path::Path;
use std::process::Command;

use super::Run;
use crate::objects::{encode, object, objects, one_percent};
use crate::peers::{Store, Treering};
use crate::race::{Race, millis, timed};
use crate::table::Role;

/// The version of the objects that this work writes is this number plus the round.
const VERSIONS: u64 = 1;

/// Runs git in a folder.
pub fn git(folder: &Path, arguments: &[&str]) {
    let user = [
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@localhost",
        "-c",
        "gc.auto=0",
    ];
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(user)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Commits every change of a folder.
pub fn commit_all(tree: &Path, message: &str) {
    git(tree, &["add", "-A"]);
    git(tree, &["commit", "-q", "-m", message]);
}

/// Writes these versions as files, in 256 folders.
pub fn write(folder: &Path, numbers: &[u64], version: u64) {
    for &number in numbers {
        let file = folder
            .join(format!("{:02x}", number % 256))
            .join(number.to_string());
        std::fs::write(file, encode(&object(number, version)).bytes).unwrap();
    }
}

/// Measures git with its defaults. Both sides make 1 % of changes, untimed; in Treering these are durable already when the
/// snapshot begins. Then they make a snapshot, the same change again, and a rollback.
pub fn measure(run: &mut Run, n: u64) {
    if Command::new("git").arg("--version").output().is_err() {
        return;
    }
    run.progress.at("git-snapshot", n, 1, 1);
    let folder = run.folder("git-");
    let tree = folder.path().join("git");
    (0..256).for_each(|at| std::fs::create_dir_all(tree.join(format!("{at:02x}"))).unwrap());
    let numbers: Vec<u64> = (0..n).collect();
    git(&tree, &["init", "-q"]);
    write(&tree, &numbers, 0);
    commit_all(&tree, "load");
    let mut store = Treering::create(folder.path());
    numbers
        .chunks(1_000)
        .for_each(|numbers| store.put(objects(numbers.iter().copied(), 0)));
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |round| {
        store.put(objects(one_percent(n, round), VERSIONS + round));
        let (snapshot, _) = timed(|| store.snapshot());
        let root = store.memory.view().root();
        store.put(objects(one_percent(n, round), VERSIONS << 32));
        let (rollback, ()) = timed(|| store.roll_back());
        assert_eq!(
            store.memory.view().root(),
            root,
            "the rollback restores the state"
        );
        [millis(snapshot), millis(rollback)]
    });
    race.enter("git", Role::Peer, |round| {
        let numbers = one_percent(n, round);
        write(&tree, &numbers, VERSIONS + round);
        let (snapshot, ()) = timed(|| commit_all(&tree, "snapshot"));
        write(&tree, &numbers, VERSIONS << 32);
        let (rollback, ()) = timed(|| git(&tree, &["reset", "-q", "--hard"]));
        let file = tree
            .join(format!("{:02x}", numbers[0] % 256))
            .join(numbers[0].to_string());
        let expected = encode(&object(numbers[0], VERSIONS + round)).bytes;
        assert_eq!(
            std::fs::read(file).unwrap(),
            expected,
            "the reset restores the files"
        );
        [millis(snapshot), millis(rollback)]
    });
    let rounds = (100_000 / n).clamp(3, 9) as usize;
    race.run(rounds)
        .record(["git-snapshot", "git-rollback"], n, &mut run.table);
}

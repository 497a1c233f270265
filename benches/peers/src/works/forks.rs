//! Forks: make one, change 1 % of it, merge it back, drop it, and read at its end. The shape is that of BranchBench (arXiv
//! 2604.17180): many short branches of one large state, each with a few changes.
//!
//! The peers are a worktree of git with a file for each object, and a copy of the file of SQLite: what people use who need
//! a branch of a store that has none.

use std::path::Path;
use std::process::Command;

use treering::{Memory, Writer};

use super::Run;
use super::git::{commit_all, git, write};
use crate::objects::{Seen, id, object, objects, one_percent, some_numbers};
use crate::peers::{PEERS, Store, Treering, put, read};
use crate::race::{Race, micros, millis, nanos, timed};
use crate::table::Role;

/// The number of commits of a deep fork.
const DEEP: u64 = 1_000;
/// The number of objects that a round reads.
const READS: usize = 10_000;

pub fn measure(run: &mut Run, n: u64) {
    run.progress.at("fork", n, 1, 2);
    let folder = run.folder("forks-");
    let store = Treering::create(folder.path());
    let numbers: Vec<u64> = (0..n).collect();
    numbers
        .chunks(1_000)
        .for_each(|numbers| store.put(objects(numbers.iter().copied(), 0)));
    let memory = &store.memory;
    let tree = folder.path().join("git");
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |round| turn(memory, n, round));
    let has_git = Command::new("git").arg("--version").output().is_ok();
    if has_git {
        load_git(&tree, &numbers);
        race.enter("git", Role::Peer, |round| turn_of_git(&tree, n, round));
    }
    if let Some(sqlite) = PEERS
        .iter()
        .find(|peer| peer.name == "SQLite" && run.wants(peer.name))
    {
        let path = sqlite.path(folder.path());
        let peer = sqlite.create(folder.path());
        numbers
            .chunks(1_000)
            .for_each(|numbers| peer.put(objects(numbers.iter().copied(), 0)));
        // The last connection folds the write-ahead log into the file.
        peer.close();
        race.enter("SQLite, a copy of the file", Role::Peer, move |_| {
            let copy = path.join("copy");
            let (made, ()) = timed(|| {
                std::fs::copy(path.join("sqlite"), &copy).unwrap();
                std::fs::File::open(&copy).unwrap().sync_all().unwrap();
            });
            let (dropped, ()) = timed(|| std::fs::remove_file(&copy).unwrap());
            [micros(made), f64::NAN, micros(dropped)]
        });
    }
    let rounds = (100_000 / n).clamp(3, 9) as usize;
    race.run(rounds)
        .record(["fork", "merge", "fork-drop"], n, &mut run.table);
    run.progress.at("get-fork", n, 2, 2);
    deep_reads(run, memory, n);
}

/// Makes a fork, changes 1 % of it, merges it and drops it.
fn turn(memory: &Memory, n: u64, round: u64) -> [f64; 3] {
    let (name, user) = (format!("round-{round}"), Writer::user());
    let (made, fork) = timed(|| memory.fork(&name).by(&user).unwrap());
    put(&fork, objects(one_percent(n, round), round));
    // The main line goes on, so that the merge has two sides.
    put(memory, vec![object(n, round)]);
    let (merged, merge) = timed(|| memory.merge(&name).by(&user).unwrap());
    assert!(merge.conflicts.is_empty(), "the sides changed different objects");
    let expected = Seen::of(one_percent(n, round), round);
    let ids: Vec<_> = one_percent(n, round).into_iter().map(id).collect();
    assert_eq!(
        read(&memory.view(), &ids),
        expected,
        "the merge brings the changes"
    );
    drop(fork);
    let (dropped, _) = timed(|| memory.drop_fork(&name, false, &user).unwrap());
    [micros(made), millis(merged), micros(dropped)]
}

fn load_git(tree: &Path, numbers: &[u64]) {
    (0..256).for_each(|at| std::fs::create_dir_all(tree.join(format!("{at:02x}"))).unwrap());
    git(tree, &["init", "-q", "-b", "main"]);
    write(tree, numbers, 0);
    commit_all(tree, "load");
}

fn turn_of_git(tree: &Path, n: u64, round: u64) -> [f64; 3] {
    let (name, numbers) = (format!("round-{round}"), one_percent(n, round));
    let worktree = tree.with_file_name(&name);
    let path = worktree.to_str().unwrap();
    let (made, ()) = timed(|| git(tree, &["worktree", "add", "-q", "-b", &name, path]));
    write(&worktree, &numbers, round);
    commit_all(&worktree, "change");
    write(tree, &[n], round);
    commit_all(tree, "go on");
    let (merged, ()) = timed(|| git(tree, &["merge", "-q", "--no-edit", &name]));
    let (dropped, ()) = timed(|| {
        git(tree, &["worktree", "remove", "--force", path]);
        git(tree, &["branch", "-q", "-D", &name]);
    });
    [micros(made), millis(merged), micros(dropped)]
}

/// Reads on a fork that is [`DEEP`] commits long, and on the main line as the limit.
fn deep_reads(run: &mut Run, memory: &Memory, n: u64) {
    let fork = memory.fork("deep").by(&Writer::user()).unwrap();
    for commit in 0..DEEP {
        put(&fork, vec![object(commit * 7_919 % n, 1)]);
    }
    let ids: Vec<_> = some_numbers(n, READS, 3).into_iter().map(id).collect();
    let (of_fork, of_main) = (fork.view(), memory.view());
    let mut race = Race::new();
    let reads = |view: &treering::View| {
        let (time, seen) = timed(|| read(view, &ids));
        assert_eq!(seen.count, READS as u64);
        [nanos(time) / READS as f64]
    };
    race.enter("Treering", Role::Treering, |_| reads(&of_fork));
    race.enter("the main line", Role::Limit, |_| reads(&of_main));
    race.run(9).record(["get-fork"], n, &mut run.table);
}

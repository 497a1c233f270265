//! Remotes in a folder: a backup, a clone, a push of one commit, and a pull with nothing new. The peer is git with a bare
//! repository in a folder, with a file for each object. The limit is a durable copy of the same files.

use std::path::Path;
use std::process::Command;

use treering::remote::{Remote, backup, clone};
use treering::{Options, Origin, Writer};

use super::Run;
use super::git::{commit_all, git, write};
use super::opening::copy_files;
use crate::objects::{object, objects};
use crate::peers::{Store, Treering};
use crate::race::{Race, millis, timed};
use crate::table::Role;

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

pub fn measure(run: &mut Run, n: u64) {
    run.progress.at("clone", n, 1, 1);
    let folder = run.folder("remote-");
    let path = folder.path();
    let store = Treering::create(path);
    let numbers: Vec<u64> = (0..n).collect();
    numbers
        .chunks(1_000)
        .for_each(|numbers| store.put(objects(numbers.iter().copied(), 0)));
    let (shared, user) = (path.join("shared"), Writer::user());
    let remote = Remote::create("origin", &url(&shared), Origin::DirectUser).unwrap();
    remote.push(&store.memory, &user).unwrap();
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |round| {
        let (copy, cloned) = (path.join("backup"), path.join("clone"));
        let (backed_up, _) = timed(|| backup(&store.memory, &url(&copy)).unwrap());
        let (took, (memory, _)) =
            timed(|| clone(&url(&shared), &cloned, Origin::DirectUser, &Options::new()).unwrap());
        assert_eq!(memory.view().root(), store.memory.view().root(), "the clone");
        memory.close().unwrap();
        [&copy, &cloned]
            .iter()
            .for_each(|gone| std::fs::remove_dir_all(gone).unwrap());
        store.put(vec![object(round % n, round)]);
        let (pushed, push) = timed(|| remote.push(&store.memory, &user).unwrap());
        let (pulled, pull) = timed(|| remote.pull(&store.memory, &user).unwrap());
        assert_eq!((push.commits, pull.fetched.commits), (1, 0));
        [backed_up, took, pushed, pulled].map(millis)
    });
    race.enter("a copy of the files", Role::Limit, |_| {
        let copy = path.join("copy");
        let (took, ()) = timed(|| copy_files(&shared, &copy, true));
        std::fs::remove_dir_all(copy).unwrap();
        [millis(took), millis(took), f64::NAN, f64::NAN]
    });
    if Command::new("git").arg("--version").output().is_ok() {
        let tree = path.join("git");
        (0..256).for_each(|at| std::fs::create_dir_all(tree.join(format!("{at:02x}"))).unwrap());
        git(&tree, &["init", "-q", "-b", "main"]);
        write(&tree, &numbers, 0);
        commit_all(&tree, "load");
        git(&tree, &["clone", "-q", "--bare", ".", "../bare"]);
        git(&tree, &["remote", "add", "origin", "../bare"]);
        race.enter("git", Role::Peer, move |round| {
            git(&tree, &["init", "-q", "--bare", "../backup.git"]);
            let (backed_up, ()) = timed(|| git(&tree, &["push", "-q", "../backup.git", "main"]));
            // Without this option, git links the files and copies nothing.
            let (took, ()) = timed(|| {
                git(
                    &tree,
                    &["clone", "-q", "--bare", "--no-local", "../bare", "../clone.git"],
                )
            });
            ["backup.git", "clone.git"]
                .iter()
                .for_each(|gone| std::fs::remove_dir_all(tree.with_file_name(gone)).unwrap());
            write(&tree, &[round % n], round);
            commit_all(&tree, "change");
            let (pushed, ()) = timed(|| git(&tree, &["push", "-q", "origin", "main"]));
            let (pulled, ()) = timed(|| git(&tree, &["fetch", "-q", "origin"]));
            [backed_up, took, pushed, pulled].map(millis)
        });
    }
    race.run((100_000 / n).clamp(5, 9) as usize).record(
        ["backup", "clone", "push", "pull"],
        n,
        &mut run.table,
    );
}

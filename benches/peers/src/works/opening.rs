//! Opening a store: after it was closed, and after a crash.

use std::path::Path;
use std::time::Duration;

use treering::Id;

use super::Run;
use super::stores::Stores;
use crate::objects::{Seen, id, some_numbers};
use crate::peers::{Peer, Store, Treering};
use crate::race::{Race, micros, millis, timed};
use crate::table::Role;

const ROUNDS: usize = 21;
/// The number of gets after the first one.
const FIRST_GETS: usize = 100;

type Opener<'a> = Box<dyn Fn() -> Box<dyn Store> + 'a>;

/// Returns ids that differ from round to round.
fn ids(n: u64, round: u64) -> Vec<Id> {
    some_numbers(n, FIRST_GETS + 1, 1_000 + round)
        .into_iter()
        .map(id)
        .collect()
}

/// Opens a store, reads one object, then some more. Returns the store, the times to the first get and of the later gets,
/// and what was read.
fn open(open: impl FnOnce() -> Box<dyn Store>, ids: &[Id]) -> (Box<dyn Store>, [Duration; 2], [Seen; 2]) {
    let (first, later) = ids.split_at(1);
    let (opening, (store, seen)) = timed(|| {
        let store = open();
        let seen = store.read(first);
        (store, seen)
    });
    let (gets, more) = timed(|| store.read(later));
    (store, [opening, gets], [seen, more])
}

/// The ways to open the stores of a folder, with their names and roles.
fn openers<'a>(folder: &'a Path, peers: &[Peer], is_crash: bool) -> Vec<(&'static str, Role, Opener<'a>)> {
    let treering = move || -> Box<dyn Store> {
        Box::new(if is_crash {
            Treering::open_without_checkpoint(folder)
        } else {
            Treering::open(folder)
        })
    };
    let mut all: Vec<(_, _, Opener<'a>)> = vec![("Treering", Role::Treering, Box::new(treering))];
    for &peer in peers {
        all.push((peer.name, Role::Peer, Box::new(move || peer.open(folder))));
    }
    all
}

/// Closes the stores and opens them again, in turns.
pub fn after_close(run: &mut Run, n: u64, folder: &Path, stores: Stores) {
    run.progress.at("open", n, 1, 1);
    let peers = run.peers();
    let rounds = || (1..=ROUNDS as u64).map(|round| ids(n, round));
    let seen_by = |store: &dyn Store| {
        rounds()
            .map(|ids| [store.read(&ids[..1]), store.read(&ids[1..])])
            .collect()
    };
    let expected: Vec<Vec<_>> = stores.all().map(|(_, _, store)| seen_by(store)).collect();
    stores.into_all().for_each(|(_, _, store)| store.close());
    let mut race = Race::new();
    for ((name, role, opener), expected) in openers(folder, &peers, false).into_iter().zip(&expected) {
        race.enter(name, role, move |round| {
            let (store, [opening, gets], seen) = open(&opener, &ids(n, round));
            assert_eq!(seen, expected[round as usize - 1], "the objects of {name}");
            store.close();
            [micros(opening), micros(gets) / FIRST_GETS as f64]
        });
    }
    race.run(ROUNDS).record(["open", "first-gets"], n, &mut run.table);
}

/// Copies the files of the open stores, as a crash leaves them, and opens the copies: first without the checkpoints of
/// Treering, and then with them.
pub fn after_crash(run: &mut Run, n: u64, folder: &Path, stores: &Stores) {
    for (work, without_checkpoints) in [("open-crash", true), ("open-checkpoints", false)] {
        open_copies(run, (work, n), folder, stores, without_checkpoints);
    }
}

fn open_copies(
    run: &mut Run,
    (work, n): (&'static str, u64),
    folder: &Path,
    stores: &Stores,
    without_checkpoints: bool,
) {
    run.progress.at(work, n, 1, 1);
    let rounds = (300_000 / n).clamp(1, 5);
    wait_until_idle(folder);
    let peers = run.peers();
    let mut race = Race::new();
    let (run_folder, peers) = (&run.folder, &peers);
    for (at, (name, role, store)) in stores.all().enumerate() {
        race.enter(name, role, move |round| {
            let copy = tempfile::tempdir_in(run_folder).unwrap();
            let path = if at == 0 {
                Treering::path(folder)
            } else {
                peers[at - 1].path(folder)
            };
            copy_files(
                &path,
                &copy.path().join(path.file_name().expect("a store has a name")),
                false,
            );
            let ids = ids(n, round);
            let opener = openers(copy.path(), peers, without_checkpoints).swap_remove(at).2;
            let (copied, [opening, _], seen) = open(&opener, &ids);
            assert_eq!(
                seen,
                [store.read(&ids[..1]), store.read(&ids[1..])],
                "the objects of {name}"
            );
            copied.close();
            [millis(opening)]
        });
    }
    race.run(rounds as usize).record([work], n, &mut run.table);
}

/// Copies the files of a folder. The copy is durable if `is_durable`.
pub fn copy_files(from: &Path, to: &Path, is_durable: bool) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().expect("a file has a name"));
        if path.is_dir() {
            copy_files(&path, &copy, is_durable);
        } else {
            std::fs::copy(&path, &copy).unwrap();
            if is_durable {
                std::fs::File::open(&copy).unwrap().sync_all().unwrap();
            }
        }
    }
}

/// Waits until no store writes in the background any more, so that a copy of its files is of one moment.
fn wait_until_idle(folder: &Path) {
    let mut before = Vec::new();
    for _ in 0..120 {
        let mut now = Vec::new();
        list(folder, &mut now);
        now.sort();
        if now == before {
            return;
        }
        before = now;
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn list(folder: &Path, files: &mut Vec<(std::path::PathBuf, u64)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => list(&path, files),
            Ok(metadata) => files.push((path, metadata.len())),
            // The file was deleted in the meantime.
            Err(_) => {}
        }
    }
}

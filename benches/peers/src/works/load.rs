//! The bulk load, and what follows from it at once: the time to close and the disk that is used.

use std::time::Duration;

use tempfile::TempDir;

use super::stores::Stores;
use super::{Run, disk_bytes};
use crate::objects::{CANONICAL, encode, objects};
use crate::peers::raw::{self, RawFile};
use crate::peers::{Peer, Treering};
use crate::race::{median, millis, rate, timed};
use crate::table::Role;

/// The number of objects in a commit.
const A_COMMIT: u64 = 1_000;

/// Loads all stores several times. Returns the folder with the closed stores of the last time.
pub fn measure(run: &mut Run, n: u64) -> TempDir {
    let times = (100_000 / n).clamp(1, 3);
    let mut results: Vec<(String, Role, [Vec<f64>; 2])> = Vec::new();
    let mut last = None;
    for time in 1..=times {
        run.progress.at("load", n, time, times);
        let folder = run.folder("load-");
        let (stores, rates) = load(&folder, &run.peers(), n);
        run.progress.at("close", n, time, times);
        let closed = stores
            .into_all()
            .map(|(_, _, store)| millis(timed(|| store.close()).0));
        // The raw file has nothing to close.
        let closed = closed.chain([f64::NAN]);
        for (at, ((name, role, rate), closed)) in rates.into_iter().zip(closed).enumerate() {
            if results.len() == at {
                results.push((name, role, Default::default()));
            }
            let [rates, closes] = &mut results[at].2;
            rates.push(rate);
            closes.push(closed);
        }
        last = Some(folder);
    }
    for (name, role, values) in results {
        for (work, values) in ["load", "close"].into_iter().zip(values) {
            if let Some(value) = median(values) {
                run.table.enter(work, n, role, &name, value);
            }
        }
    }
    let folder = last.expect("there is at least one load");
    disk(run, n, &folder);
    folder
}

/// Loads new stores in turns. Returns them, and the rate of each and of the raw file.
fn load(folder: &TempDir, peers: &[Peer], n: u64) -> (Stores, Vec<(String, Role, f64)>) {
    let stores = Stores::create(folder.path(), peers);
    let mut raw = RawFile::create(folder.path(), "raw");
    let entrants: Vec<_> = stores.all().collect();
    let mut times = vec![Duration::ZERO; entrants.len() + 1];
    for (round, first) in (0..n).step_by(A_COMMIT as usize).enumerate() {
        let objects = objects(first..(first + A_COMMIT).min(n), 0);
        for turn in 0..times.len() {
            let at = (round + turn) % times.len();
            if let Some((_, _, store)) = entrants.get(at) {
                let objects = objects.clone();
                times[at] += timed(|| store.put(objects)).0;
            } else {
                let bytes: Vec<u8> = objects.iter().flat_map(|object| encode(object).bytes).collect();
                times[at] += timed(|| raw.append(&bytes)).0;
            }
        }
    }
    let names = entrants
        .iter()
        .map(|(name, role, _)| (*name, *role))
        .chain([(raw::NAME, Role::Limit)]);
    let rates = names
        .zip(&times)
        .map(|((name, role), time)| (name.to_owned(), role, rate(n as usize, *time)))
        .collect();
    drop(entrants);
    (stores, rates)
}

/// Measures the files of the closed stores.
fn disk(run: &mut Run, n: u64, folder: &TempDir) {
    let each = |path: &std::path::Path| disk_bytes(path) as f64 / n as f64;
    run.table
        .treering("disk", n, each(&Treering::path(folder.path())));
    for peer in run.peers() {
        run.table
            .peer("disk", n, peer.name, each(&peer.path(folder.path())));
    }
    run.table.limit("disk", n, "raw bytes", CANONICAL as f64);
}

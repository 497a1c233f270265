//! The works on durable stores: each store is loaded, closed, opened, changed, and opened after a crash.

use super::stores::Stores;
use super::{Run, commits, finding, load, opening, reads, snapshots, threads};
use crate::maps;

pub fn measure(run: &mut Run, n: u64) {
    let folder = load::measure(run, n);
    let peers = run.peers();
    let stores = Stores::open(folder.path(), &peers);
    finding::verify(run, n, &stores);
    reads::scan(run, n, &stores);
    let kinds = run.maps(&[maps::PLAIN, maps::PERSISTENT], n);
    let maps: Vec<_> = kinds.iter().map(|kind| (kind.name, kind.filled(n))).collect();
    reads::get(run, n, &stores, &maps);
    reads::get_all(run, n, &stores, &maps);
    threads::readers(run, n, &stores);
    finding::find(run, n, &stores);
    commits::measure(run, n, &stores);
    threads::commits(run, n, &stores);
    let stores = snapshots::measure(run, n, stores);
    reads::get_in_snapshot(run, n, &stores, &maps);
    drop(maps);
    opening::after_crash(run, n, folder.path(), &stores);
    opening::after_close(run, n, folder.path(), stores);
    // Last, because a fast store writes more than a slow one here.
    threads::reader_beside_writer(run, n, &Stores::open(folder.path(), &peers));
}

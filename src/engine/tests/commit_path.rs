//! Counts the source files on the call path from a commit to the disk, because a reader must know all of them to follow
//! a commit.

use std::backtrace::Backtrace;
use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::gc::on_disk;
use super::note;
use crate::engine::{Options, Writer};
use crate::testing::sim_disk::SimDisk;

/// The maximal number of source files from `Memory::commit` to `fdatasync`, including the file of the disk.
const FILES_MAX: usize = 8;

/// Returns the source files of this crate on the stack, except tests. The set is empty if the build has no debug
/// information.
fn files_on_stack() -> BTreeSet<String> {
    let stack = Backtrace::force_capture().to_string();
    let places = stack
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("at "));
    let files = places.filter_map(|place| {
        let place = place.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(place);
        let place = place.trim_start_matches(['.', '/']);
        place.split(':').next().filter(|file| file.starts_with("src/"))
    });
    files
        .filter(|file| !file.contains("/tests/") && !file.starts_with("src/testing/"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_commit_passes_few_files() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, Options::new(), true).unwrap();
    memory.put(note("a", "one"), &Writer::user()).unwrap();
    let mut draft = memory.draft(&Writer::user());
    draft.put(note("b", "two")).unwrap();
    let passed = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&passed);
    disk.observe(Arc::new(move |_| told.lock().push(files_on_stack())));
    memory.commit(draft, "put").unwrap();
    disk.observe_no_more();
    let passed = passed.lock();
    assert!(passed.len() >= 3, "the group, its sync and `live`: {passed:?}");
    for files in &*passed {
        // The number must be below the limit, because a real disk adds one file, in place of the simulated disk.
        assert!(files.len() < FILES_MAX, "{files:#?}");
    }
}

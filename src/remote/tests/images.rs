//! Tests of backups of older images of a store, and of the clones of what such a backup has.

use std::path::Path;

use super::backup::{assert_same, put, verified};
use crate::engine::{Memory, Options, Retention, Writer};
use crate::error::{ErrorCode, ErrorKind};
use crate::log::BatchBuilder;
use crate::log::closed::ClosedLog;
use crate::object::Origin;
use crate::remote::bucket::{Counted, open_bucket};
use crate::remote::place::{Outcome, Place};
use crate::remote::{backup, clone};

/// Copies a closed store as a program does that knows nothing of stores.
pub(super) fn copy_store(from: &Path, to: &Path) {
    for name in ["", "log"] {
        std::fs::create_dir_all(to.join(name)).unwrap();
        for file in std::fs::read_dir(from.join(name)).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), to.join(name).join(file.file_name())).unwrap();
            }
        }
    }
}

/// What a copy of a store does with its forks.
#[derive(Clone, Copy, Debug)]
enum Does {
    Makes,
    Commits,
    Drops,
    Collects,
    Takes,
}

impl Does {
    fn to(self, memory: &Memory, number: usize) {
        let ann = Writer::person("ann");
        let fork = || memory.open_fork("trial").unwrap();
        match self {
            Self::Makes => drop(memory.fork(&format!("other-{number}")).by(&ann).unwrap()),
            Self::Commits => put(&fork(), "of a fork", &format!("{number}")),
            Self::Drops => {
                let name = format!("dropped-{number}");
                put(&memory.fork(&name).by(&ann).unwrap(), "of a fork", "text");
                memory.drop_fork(&name, true, &ann).unwrap();
            }
            Self::Collects => {
                let mut retention = Retention::default();
                (retention.all, retention.newest) = (std::time::Duration::ZERO, 1);
                memory.gc(&retention, None).unwrap();
            }
            Self::Takes => drop(memory.snapshot(None, &ann).unwrap()),
        }
    }
}

/// BUP-3: two images of a store whose main lines are equal and whose other lines differ.
#[test]
fn a_backup_continues_only_its_own_log() {
    let all = [
        Does::Makes,
        Does::Commits,
        Does::Drops,
        Does::Collects,
        Does::Takes,
    ];
    let mut refused = 0;
    for (newer_does, image_does) in all
        .iter()
        .flat_map(|one| all.iter().map(move |other| (*one, *other)))
    {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let url = format!("file://{}", at("backup").display());
        let one = Memory::create(at("store")).unwrap();
        for number in 0..3 {
            put(&one, "note", &format!("text {number}"));
        }
        put(
            &one.fork("trial").by(&Writer::person("ann")).unwrap(),
            "of a fork",
            "first",
        );
        backup(&one, &url).unwrap();
        one.close().unwrap();
        copy_store(&at("store"), &at("image"));
        let newer = Memory::open(at("store")).unwrap();
        let image = Memory::open(at("image")).unwrap();
        newer_does.to(&newer, 0);
        backup(&newer, &url).unwrap();
        // At last, the log of the image is longer than that of the backup.
        for number in 1..6 {
            image_does.to(&image, number);
            let told = format!("{newer_does:?} {image_does:?} {number}");
            let taken = match backup(&image, &url) {
                Ok(_) => &image,
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::RemoteAhead, "{told}");
                    refused += 1;
                    &newer
                }
            };
            let path = at(&format!("clone-{number}"));
            let made = clone(&url, &path, Origin::DirectUser, &Options::new());
            let (made, _) = made.unwrap_or_else(|error| panic!("{told} {error:?}"));
            assert_same(taken, &made);
            made.close().unwrap();
            verified(&path);
        }
    }
    assert!(refused > 20, "{refused}");
}

/// CLE-5: what no store can read makes no store, also if the clone goes on where another one stopped.
#[test]
fn a_clone_that_nobody_can_read_is_no_store() {
    for is_fork in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let url = format!("file://{}", at("backup").display());
        let memory = Memory::create(at("store")).unwrap();
        let fork = memory.fork("trial").by(&Writer::person("ann")).unwrap();
        let line = if is_fork { &fork } else { &memory };
        for number in 0..5 {
            put(line, "note", &format!("text {number}"));
            backup(&memory, &url).unwrap();
        }
        let place = Place::of(Counted::new(open_bucket(&url, false).unwrap()));
        let published = place.read().unwrap();
        // A writer left out a segment, and all digests are right.
        let mut next = ClosedLog {
            segments: published.log.segments[..2].to_vec(),
            generation: published.log.generation + 1,
            ..published.log.clone()
        };
        for index in 3..5 {
            let batches = place.batches(&published.log, index).unwrap();
            let group = batches
                .iter()
                .map(|batch| (BatchBuilder::copy_of(batch), batch.commit));
            let floor = published.log.highest_id();
            let segment = place
                .put(&next, floor, next.last_batch() + 1, group.collect())
                .unwrap();
            next = next.with(&segment, next.head);
        }
        next.head = published.log.head;
        assert!(matches!(
            place.publish(&published, next).unwrap(),
            Outcome::Done(_)
        ));
        let path = at("clone");
        for _ in 0..2 {
            let error = clone(&url, &path, Origin::DirectUser, &Options::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{is_fork} {error:?}");
            assert!(
                error.hint().is_some_and(|hint| !hint.contains("salvage")),
                "{error:?}"
            );
            assert_eq!(Memory::open(&path).unwrap_err().code(), ErrorCode::NoStore);
        }
        // A good backup in its place makes the folder a store.
        std::fs::remove_dir_all(at("backup")).unwrap();
        backup(&memory, &url).unwrap();
        let (made, _) = clone(&url, &path, Origin::DirectUser, &Options::new()).unwrap();
        assert_same(&memory, &made);
        made.close().unwrap();
        verified(&path);
    }
}

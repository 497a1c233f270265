//! Tests of pushes in parts, and of numbers at their limits.

use std::sync::Arc;

use super::backup::{put, verified};
use super::machines::{Fleet, ann, pull};
use crate::error::ErrorKind;
use crate::log::closed::{ClosedLog, Leaving};
use crate::object::Origin;
use crate::remote::bucket::{Bucket as _, Counted};
use crate::remote::place::Place;

/// FET-1: a push and a pull of more than a part, from both sides.
#[test]
fn more_than_one_part_travels() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
    let segments = || place.read().unwrap().log.segments.len();
    let b = fleet.clone("b", Origin::DirectUser);
    for round in 0..2 {
        for (memory, name) in [(&a, "a"), (&b, "b")] {
            let before = segments();
            for number in 0..40 {
                let text = format!("{round} {number} {}", "x".repeat(900_000));
                put(memory, &format!("{name}/{number}"), &text);
            }
            pull(&remote, memory);
            remote.push(memory, &ann()).unwrap();
            assert!(segments() >= before + 2, "{} behind {before}", segments());
        }
        pull(&remote, &a);
        assert_eq!(a.view().root(), b.view().root());
    }
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(a.view().root(), c.view().root());
    for (memory, name) in [(a, "first"), (b, "b"), (c, "c")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// CLO-2: numbers of a hostile writer are damage, or leave room for the next ones.
#[test]
fn forged_numbers_stop_nobody_but_with_an_error() {
    let forge = |change: &dyn Fn(&mut ClosedLog)| {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
        let mut log = place.read().unwrap().log;
        change(&mut log);
        let mut objects = fleet.service.objects();
        objects.insert("manifest".to_owned(), log.encode());
        fleet.service.restore(objects);
        put(&a, "more", "1");
        let error = remote.push(&a, &ann()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(
            place
                .read()
                .is_err_and(|error| error.kind() == ErrorKind::Corrupt)
        );
    };
    let last = |log: &mut ClosedLog| log.segments.len() - 1;
    for id in [u64::from(u32::MAX), u64::from(u32::MAX) - 1] {
        forge(&|log| {
            let last = last(log);
            log.segments[last].id = id;
        });
        forge(&|log| log.leaving.push(Leaving { id, since: 1 }));
    }
    for number in [0, u64::MAX / 2 + 1, u64::MAX] {
        forge(&|log| {
            let last = last(log);
            log.segments[last].last_batch = number;
        });
        forge(&|log| {
            let last = last(log);
            log.segments[last].length = number;
        });
    }
    forge(&|log| {
        log.leaving.push(Leaving {
            id: 1,
            since: u64::MAX,
        });
    });

    // A file that nobody lists.
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    for number in [u64::from(u32::MAX / 2), u64::from(u32::MAX), u64::MAX] {
        let name = format!("log/{number:08}.seg");
        fleet.service.put_new(&name, b"left by a stranger").unwrap();
    }
    put(&a, "more", "1");
    drop(remote.push(&a, &ann()));
    drop(remote.gc(&a));
    drop(fleet.clone("b", Origin::DirectUser));
}

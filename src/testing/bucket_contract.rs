//! What each bucket must do: one suite for all of them.
//!
//! # Layer
//! For tests.
#![expect(clippy::unwrap_used, reason = "a bucket that fails here fails a test")]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::remote::bucket::{Bucket, BucketError, BucketResult};

/// The bytes of the largest segment of a remote.
const LARGEST: usize = 16 << 20;
/// The number of writers that race for one name.
const WRITERS: usize = 4;

/// Checks a bucket, which is empty. `rounds` is the number of races.
pub fn check(bucket: &dyn Bucket, rounds: usize) {
    names_and_versions(bucket);
    sizes(bucket);
    (0..rounds).for_each(|round| one_writer_wins(bucket, &format!("log/race-{round}")));
    for prefix in ["manifest", "treering-", "log/"] {
        for name in bucket.list(prefix).unwrap() {
            assert_eq!(bucket.delete(&name), Ok(()), "{name}");
        }
    }
    assert_eq!(bucket.list("log/"), Ok(Vec::new()));
}

fn names_and_versions(bucket: &dyn Bucket) {
    let put = |name: &str, bytes: &[u8]| bucket.put_new(name, bytes);
    assert_eq!(bucket.get("manifest", None), Err(BucketError::Missing));
    assert_eq!(bucket.list("log/"), Ok(Vec::new()));
    assert_eq!(put("manifest", b"one"), Ok(()));
    assert_eq!(put("manifest", b"two"), Err(BucketError::Exists), "BKT-1");
    assert_eq!(
        put("manifest", b"one"),
        Err(BucketError::Exists),
        "BKT-1, the same bytes"
    );
    let first = bucket.get("manifest", None).unwrap();
    assert_eq!(first.bytes, b"one");
    for (range, bytes) in [
        (0..2, &b"on"[..]),
        (1..9, b"ne"),
        (3..4, b""),
        (7..9, b""),
        (1..1, b""),
    ] {
        let part = bucket.get("manifest", Some(range.clone())).unwrap();
        assert_eq!(
            (&part.bytes[..], part.version),
            (bytes, first.version.clone()),
            "{range:?}"
        );
    }
    let second = bucket.swap("manifest", &first.version, b"three").unwrap();
    for prefix in ["manifes_", "m%"] {
        assert_eq!(bucket.list(prefix).map(|names| names.len()), Ok(0), "{prefix}");
    }
    assert_ne!(second, first.version);
    for bytes in [&b"four"[..], b"three"] {
        let stale = bucket.swap("manifest", &first.version, bytes);
        assert_eq!(stale, Err(BucketError::Stale), "BKT-1");
    }
    let now = bucket.get("manifest", None).unwrap();
    assert_eq!((now.bytes, now.version), (b"three".to_vec(), second.clone()));
    assert_eq!(bucket.swap("missing", &second, b"x"), Err(BucketError::Stale));
    assert_eq!(put("log/00000002.seg", b"b"), Ok(()));
    assert_eq!(put("log/00000001.seg", b"a"), Ok(()));
    assert_eq!(put("treering-probe_x.y", b"p"), Ok(()));
    let listed = bucket.list("log/").unwrap();
    assert_eq!(listed, ["log/00000001.seg", "log/00000002.seg"]);
    assert_eq!(bucket.list("log/00000002").unwrap(), ["log/00000002.seg"]);
    assert_eq!(bucket.list("man").unwrap(), ["manifest"]);
    assert_eq!(bucket.list("treering-probe").unwrap(), ["treering-probe_x.y"]);
    assert_eq!(bucket.list("none").unwrap(), [""; 0]);
    assert_eq!(bucket.delete("log/00000001.seg"), Ok(()));
    assert_eq!(bucket.delete("log/00000001.seg"), Ok(()), "it is deleted already");
    assert_eq!(bucket.list("log/").unwrap(), ["log/00000002.seg"]);
    assert_eq!(bucket.get("log/00000001.seg", None), Err(BucketError::Missing));
    assert_eq!(
        put("log/00000001.seg", b"again"),
        Ok(()),
        "a deleted name is free"
    );
}

fn sizes(bucket: &dyn Bucket) {
    assert_eq!(bucket.put_new("log/empty", b""), Ok(()));
    let empty = bucket.get("log/empty", None).unwrap();
    assert_eq!(empty.bytes, b"");
    assert_eq!(bucket.get("log/empty", Some(0..5)).unwrap().bytes, b"");
    assert!(bucket.swap("log/empty", &empty.version, b"full").is_ok());
    let large: Vec<u8> = (0..LARGEST).map(|at| (at % 251) as u8).collect();
    assert_eq!(bucket.put_new("log/large", &large), Ok(()));
    assert!(bucket.get("log/large", None).unwrap().bytes == large);
    let part = bucket.get("log/large", Some(LARGEST as u64 - 100..LARGEST as u64 + 100));
    assert_eq!(part.unwrap().bytes, large[LARGEST - 100..]);
}

/// INVARIANT BKT-1: one writer wins. INVARIANT BKT-2: who reads meanwhile gets what one of them wrote, whole.
fn one_writer_wins(bucket: &dyn Bucket, name: &str) {
    let content = |writer: usize| vec![writer as u8; 50_000];
    let is_whole = |bytes: &[u8]| {
        bytes
            .first()
            .is_some_and(|writer| bytes == content(usize::from(*writer)))
    };
    let race = |first: usize, work: &(dyn Fn(usize) -> BucketResult<()> + Sync)| {
        let is_over = AtomicBool::new(false);
        let read = || {
            while !is_over.load(Ordering::Acquire) {
                match bucket.get(name, None) {
                    Ok(stored) => assert!(is_whole(&stored.bytes), "BKT-2"),
                    Err(BucketError::Missing) => assert_eq!(first, 1, "BKT-2: it is there already"),
                    Err(_) => {}
                }
            }
        };
        let done: Vec<_> = std::thread::scope(|scope| {
            let reader = scope.spawn(read);
            let all: Vec<_> = (0..WRITERS)
                .map(|writer| scope.spawn(move || work(first + writer)))
                .collect();
            let done = all.into_iter().map(|one| one.join().unwrap()).collect();
            is_over.store(true, Ordering::Release);
            reader.join().unwrap();
            done
        });
        let there = bucket.get(name, None).unwrap();
        let writer = usize::from(there.bytes[0]);
        assert!(there.bytes == content(writer), "BKT-2");
        assert!(
            is_won(&done, writer.checked_sub(first)),
            "{name}: {done:?}, but {writer} is there"
        );
        there.version
    };
    let first = race(1, &|writer| bucket.put_new(name, &content(writer)));
    race(1 + WRITERS, &|writer| {
        bucket.swap(name, &first, &content(writer)).map(drop)
    });
}

/// Returns whether exactly one writer won a race, whose object is `there` then. A service may be too busy to tell the winner.
fn is_won(done: &[BucketResult<()>], there: Option<usize>) -> bool {
    let is_unclear = |one: &BucketResult<()>| matches!(one, Err(BucketError::Unclear(_)));
    let won = done.iter().filter(|one| one.is_ok()).count();
    match there {
        Some(writer) if won == 0 => is_unclear(&done[writer]),
        Some(writer) => won == 1 && done[writer].is_ok(),
        // No writer got a clear answer, so perhaps none won.
        None => done.iter().all(is_unclear),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_must_win_where_the_bucket_answers() {
        let (won, lost, unclear) = (
            Ok(()),
            Err(BucketError::Stale),
            Err(BucketError::Unclear(String::new())),
        );
        for (done, there, is_fine) in [
            ([&won, &lost], Some(0), true),
            ([&won, &unclear], Some(0), true),
            ([&won, &unclear], Some(1), false),
            ([&won, &won], Some(0), false),
            ([&lost, &lost], None, false),
            ([&lost, &unclear], None, false),
            ([&lost, &unclear], Some(1), true),
            ([&lost, &unclear], Some(0), false),
            ([&unclear, &unclear], None, true),
        ] {
            assert_eq!(
                is_won(&done.map(Clone::clone), there),
                is_fine,
                "{done:?}, {there:?}"
            );
        }
    }
}

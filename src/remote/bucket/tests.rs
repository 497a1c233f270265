//! Tests of buckets: one conformance suite for all of them, and the probe.

use std::sync::Arc;

use super::*;
use crate::testing::sim_bucket::SimBucket;

/// What each bucket must do. The bucket is empty.
pub(in crate::remote) fn conforms(bucket: &dyn Bucket) {
    let put = |name: &str, bytes: &[u8]| bucket.put_new(name, bytes);
    assert_eq!(bucket.get("manifest", None), Err(BucketError::Missing));
    assert_eq!(bucket.list("log/"), Ok(Vec::new()));
    assert_eq!(put("manifest", b"one"), Ok(()));
    assert_eq!(put("manifest", b"two"), Err(BucketError::Exists), "BKT-1");
    let first = bucket.get("manifest", None).unwrap();
    assert_eq!(first.bytes, b"one");
    for (range, bytes) in [(0..2, &b"on"[..]), (1..9, b"ne"), (3..4, b""), (7..9, b"")] {
        assert_eq!(bucket.get("manifest", Some(range)).unwrap().bytes, bytes);
    }
    let second = bucket.swap("manifest", &first.version, b"three").unwrap();
    assert_ne!(second, first.version);
    assert_eq!(
        bucket.swap("manifest", &first.version, b"four"),
        Err(BucketError::Stale),
        "BKT-1"
    );
    let now = bucket.get("manifest", None).unwrap();
    assert_eq!((now.bytes, now.version), (b"three".to_vec(), second.clone()));
    assert_eq!(bucket.swap("missing", &second, b"x"), Err(BucketError::Stale));
    assert_eq!(put("log/00000002.seg", b"b"), Ok(()));
    assert_eq!(put("log/00000001.seg", b"a"), Ok(()));
    let listed = bucket.list("log/").unwrap();
    assert_eq!(listed, ["log/00000001.seg", "log/00000002.seg"]);
    assert_eq!(bucket.list("man").unwrap(), ["manifest"]);
    assert_eq!(bucket.delete("log/00000001.seg"), Ok(()));
    assert_eq!(bucket.delete("log/00000001.seg"), Ok(()), "it is deleted already");
    assert_eq!(bucket.list("log/").unwrap(), ["log/00000002.seg"]);
    assert_eq!(put("log/00000001.seg", b"a"), Ok(()), "the name is free again");
    assert_eq!(
        bucket.list("log_").unwrap().len() + bucket.list("l%").unwrap().len(),
        0
    );
}

#[test]
fn a_password_is_not_shown() {
    for (url, shown) in [
        ("postgres://ann:se/c@ret@host/db", "postgres://ann@host/db"),
        (
            "postgres://ann@host:1/db?schema=a",
            "postgres://ann@host:1/db?schema=a",
        ),
        ("postgres://host/db?password=secret", "postgres://host/db"),
        (
            "postgres:///db?p%61ssword=secret&schema=a",
            "postgres:///db?schema=a",
        ),
        ("file:///a:b@c?password=d", "file:///a:b@c?password=d"),
    ] {
        assert_eq!(without_password(url), shown);
    }
}

#[test]
fn every_bucket_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/a%20b", folder.path().display());
    assert!(open_bucket(&url, false).is_err(), "the folder does not exist");
    conforms(&*open_bucket(&url, true).unwrap());
    assert!(folder.path().join("a b/manifest").exists());
    conforms(&Folder::in_memory());
    conforms(&SimBucket::default());
}

#[test]
fn a_url_that_is_not_understood_is_refused() {
    for url in [
        "",
        "/a",
        "file://a",
        "file:///a%",
        "file:///a%0g",
        "file:///a%00",
        "s3:/a",
    ] {
        let error = open_bucket(url, true).err().expect(url);
        assert_eq!(error.code(), ErrorCode::InvalidInput, "{url}");
    }
    let error = open_bucket("ftp://host/a", true).err().unwrap();
    assert_eq!(error.code(), ErrorCode::UnsupportedRemote);
}

/// BKT-1, BKT-2
#[test]
fn one_of_many_writers_wins() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk: Arc<dyn Bucket> = Arc::new(Folder::at(folder.path(), false).unwrap());
    for bucket in [
        on_disk,
        Arc::new(Folder::in_memory()),
        Arc::new(SimBucket::default()),
    ] {
        for round in 0..20 {
            let name = format!("log/{round}");
            let content = |writer: u8| vec![writer; 50_000];
            let wins = |work: &(dyn Fn(u8) -> bool + Sync)| {
                std::thread::scope(|scope| {
                    let all: Vec<_> = (1..=4).map(|writer| scope.spawn(move || work(writer))).collect();
                    all.into_iter()
                        .filter(|_| true)
                        .map(|one| one.join().unwrap())
                        .filter(|won| *won)
                        .count()
                })
            };
            assert_eq!(wins(&|writer| bucket.put_new(&name, &content(writer)).is_ok()), 1);
            let first = bucket.get(&name, None).unwrap();
            assert_eq!(first.bytes, content(first.bytes[0]));
            let version = first.version;
            assert_eq!(
                wins(&|writer| bucket.swap(&name, &version, &content(writer + 4)).is_ok()),
                1
            );
            let last = bucket.get(&name, None).unwrap().bytes;
            assert_eq!(last, content(last[0]));
        }
    }
}

/// A store with one fault.
struct Faulty {
    sound: SimBucket,
    fault: Fault,
}

impl Bucket for Faulty {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        let mut stored = self.sound.get(name, range)?;
        if self.fault == Fault::ReadsOther {
            stored.bytes.push(0);
        }
        Ok(stored)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        match self.sound.put_new(name, bytes) {
            Err(BucketError::Exists) if self.fault == Fault::CreatesTwice => Ok(()),
            put => put,
        }
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        match self.fault {
            Fault::RefusesVersion => Err(BucketError::Stale),
            Fault::IgnoresVersion => {
                let now = self.sound.get(name, None)?.version;
                self.sound.swap(name, &now, bytes)
            }
            _ => self.sound.swap(name, version, bytes),
        }
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        match self.fault {
            Fault::ListsNothing => Ok(Vec::new()),
            _ => self.sound.list(prefix),
        }
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        self.sound.delete(name)
    }

    fn describe(&self) -> String {
        "faulty://".to_owned()
    }
}

#[test]
fn a_probe_names_the_fault_and_leaves_nothing() {
    for fault in Fault::ALL {
        let sound = SimBucket::default();
        let faulty = Faulty {
            sound: sound.clone(),
            fault,
        };
        assert_eq!(probe::find_fault(&faulty, "treering-probe-x"), Ok(Some(fault)));
        let error = probe(&faulty, [7; 16]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NoConditionalWrites);
        drop(sound.delete("treering-probe-x"));
        assert!(sound.objects().is_empty(), "{fault:?}");
    }
    assert!(probe(&SimBucket::default().careless(), [7; 16]).is_err());
    let bucket = SimBucket::default();
    probe(&bucket, [7; 16]).unwrap();
    assert!(bucket.objects().is_empty());
}

/// RTR-1: a client that repeats a write finds its own.
#[test]
fn a_lost_answer_is_settled_by_reading_back() {
    let mut unclear = 0;
    for seed in 0..300 {
        let service = SimBucket::new(seed, 2);
        let client = Counted::new(Arc::new(service.clone())).impatient();
        let put = client.put_new("a", b"mine");
        let version = match service.clone().objects().get("a") {
            Some(_) if put.is_ok() => client.get("a"),
            _ => continue,
        };
        let Ok(Stored { version, .. }) = version else {
            continue;
        };
        let swapped = client.swap("a", &version, b"next");
        service.heal();
        match swapped {
            Ok(_) => assert_eq!(service.objects()["a"], b"next"),
            Err(BucketError::Unclear(_)) => unclear += 1,
            Err(error) => panic!("seed {seed}: nobody else wrote, but {error:?}"),
        }
    }
    assert!((10..150).contains(&unclear), "{unclear}");
    let service = SimBucket::default();
    let client = Counted::new(Arc::new(service.clone()));
    service.put_new("a", b"theirs").unwrap();
    assert_eq!(client.put_new("a", b"mine"), Err(BucketError::Exists));
    let old = service.get("a", None).unwrap().version;
    service.swap("a", &old, b"other").unwrap();
    assert_eq!(client.swap("a", &old, b"mine"), Err(BucketError::Stale));
    assert_eq!(client.requests(), 4);
}

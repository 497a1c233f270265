//! Tests of buckets, and of the probe.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::testing::bucket_contract::check;
use crate::testing::sim_bucket::SimBucket;

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

/// INVARIANT BKT-2: readers beside the writers of [`check`] get whole objects.
#[test]
fn every_bucket_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/a%20b", folder.path().display());
    assert!(open_bucket(&url, false).is_err(), "the folder does not exist");
    let bucket = open_bucket(&url, true).unwrap();
    check(&*bucket, 20);
    bucket.put_new("manifest", b"").unwrap();
    assert!(folder.path().join("a b/manifest").exists());
    check(&Folder::in_memory(), 20);
    check(&SimBucket::default(), 20);
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
    #[cfg(not(feature = "remote-cloud"))]
    for url in ["s3://bucket/a", "gs://bucket", "az://container"] {
        let error = open_bucket(url, true).err().unwrap();
        assert_eq!(error.code(), ErrorCode::UnsupportedRemote);
        assert!(
            error.hint().unwrap().contains("--features remote-cloud"),
            "{error:?}"
        );
    }
}

#[test]
fn a_place_is_not_inside_a_store_nor_around_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("store")).unwrap();
    std::os::unix::fs::symlink(at("store"), at("link")).unwrap();
    for (place, is_apart) in [
        ("backup", true),
        ("store2", true),
        ("store", false),
        ("store/a/b", false),
        ("link/a", false),
        ("", false),
    ] {
        let url = format!("file://{}", at(place).display());
        assert_eq!(check_apart(&url, &at("store")).is_ok(), is_apart, "{place}");
    }
    assert!(check_apart("s3://bucket/a", &at("store")).is_ok());
}

/// FLD-1: what a writer that was killed left goes, and what another one is writing stays.
#[test]
fn a_writer_waits_as_long_as_it_may_and_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let bucket = Folder::at(folder.path(), false).unwrap();
    let part = folder.path().join("a.0123456789abcdef.part");
    let film = folder.path().join("film.part");
    std::fs::write(&film, "of somebody else").unwrap();
    std::fs::write(&part, "secret").unwrap();
    let disk = crate::disk::FileDisk::open(folder.path()).unwrap();
    let held = crate::disk::lock_within(&disk, "bucket.lock", Duration::ZERO).unwrap();
    let client = Counted::new(Arc::new(bucket)).waiting(Duration::ZERO);
    let started = std::time::Instant::now();
    let error = client
        .put_new("a", b"x")
        .unwrap_err()
        .at(client.bucket(), "cannot write to");
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(started.elapsed() < Duration::from_secs(5) && part.exists());
    drop(held);
    client.put_new("a", b"x").unwrap();
    assert!(!part.exists() && film.exists());
}

#[test]
fn of_a_long_file_only_the_range_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let bucket = Folder::at(folder.path(), false).unwrap();
    bucket.put_new("manifest", b"one").unwrap();
    let version = bucket.get("manifest", None).unwrap().version;
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path().join("manifest"));
    file.unwrap().set_len(1 << 40).unwrap();
    assert_eq!(bucket.get("manifest", Some(0..4)).unwrap().bytes, b"one\0");
    assert_eq!(bucket.swap("manifest", &version, b"two"), Err(BucketError::Stale));
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
            Some(_) if put.is_ok() => client.get("a", 9),
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

//! Tests of the check of a whole remote.

use super::backup::put;
use super::erasure::erase;
use super::machines::{Fleet, ann};
use crate::engine::Options;
use crate::error::{ErrorCode, Finding};

/// RVE-1: a check names each damaged file, and writes nothing.
#[test]
fn a_check_names_every_damaged_file() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    for content in ["two", "three"] {
        put(&a, "plan", content);
        remote.push(&a, &ann()).unwrap();
    }
    let whole = fleet.service.objects();
    let checked = || remote.verify(&Options::new()).unwrap();
    let fine = checked();
    assert!(fine.ok && fine.damage.is_empty());
    let kept = a.commits().count() as u64;
    assert_eq!((fine.segments, fine.commits), (3, kept));
    let file = |finding: &Finding| finding.damage.file.clone();
    for (name, bytes) in &whole {
        for at in [None, Some(10), Some(bytes.len() / 2), Some(bytes.len() - 30)] {
            let mut objects = whole.clone();
            match at {
                Some(at) => objects.get_mut(name).unwrap()[at] ^= 4,
                None => drop(objects.remove(name)),
            }
            fleet.service.restore(objects.clone());
            let found = checked();
            let files: Vec<_> = found.damage.iter().map(file).collect();
            assert_eq!(files, [name.as_str()], "{at:?}");
            assert!(!found.ok);
            assert_eq!(fleet.service.objects(), objects, "nothing is written");
        }
    }
    // It goes on behind damage.
    let mut objects = whole.clone();
    let segments: Vec<String> = whole
        .keys()
        .filter(|name| name.starts_with("log/"))
        .cloned()
        .collect();
    for name in [&segments[0], &segments[2]] {
        objects.get_mut(name).unwrap().push(0);
    }
    fleet.service.restore(objects);
    let files: Vec<_> = checked().damage.iter().map(file).collect();
    assert_eq!(files, [segments[0].clone(), segments[2].clone()]);
    fleet.service.restore(std::collections::BTreeMap::new());
    assert_eq!(
        remote.verify(&Options::new()).unwrap_err().code(),
        ErrorCode::NotARemote
    );
}

/// PUS-5: a push that lists the place anyhow notices a listed segment that is missing, and sends nothing. Another one cannot.
#[test]
fn a_push_into_a_remote_without_a_listed_segment() {
    for is_erased in [false, true] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        for content in ["two", "three"] {
            put(&a, "plan", content);
            remote.push(&a, &ann()).unwrap();
        }
        if is_erased {
            erase(&a, "plan");
            remote.push(&a, &ann()).unwrap();
        }
        let whole = fleet.service.objects();
        let first = whole.keys().find(|name| name.starts_with("log/")).unwrap();
        let mut objects = whole.clone();
        objects.remove(first);
        fleet.service.restore(objects.clone());
        put(&a, "other", "text");
        let pushed = remote.push(&a, &ann());
        if is_erased {
            assert_eq!(pushed.unwrap_err().code(), ErrorCode::Corrupt);
            assert_eq!(fleet.service.objects(), objects, "nothing is written");
            fleet.service.restore(whole);
            assert_eq!(remote.push(&a, &ann()).unwrap().commits, 1);
            assert!(remote.verify(&Options::new()).unwrap().ok);
        } else {
            assert_eq!(pushed.unwrap().commits, 1);
            assert!(!remote.verify(&Options::new()).unwrap().ok);
        }
    }
}

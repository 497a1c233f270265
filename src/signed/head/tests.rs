//! Tests of signed heads of real lines: forks, collections, erasures, salvage, copies and other writers.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::engine::{Containment, Durability, Erasing, Options, Retention, salvage_store};
use crate::object::{Id, Kind, NewObject};
use crate::testing::sim_disk::{CrashImage, SimDisk};

fn put(memory: &Memory, name: &str) {
    let mut object = NewObject::new(Id::new(name).unwrap(), Kind::new("note").unwrap());
    object.content = Some(format!("the text of {name}"));
    memory.put(object, &Writer::user()).unwrap();
}

fn key() -> SigningKey {
    SigningKey::generate("vera").unwrap()
}

fn sign(memory: &Memory, key: &SigningKey) -> SignedHead {
    sign_head(memory, &[key], &Writer::user()).unwrap()
}

fn state(memory: &Memory, head: &SignedHead, key: &SigningKey, any_origin: bool) -> State {
    check_head(memory, head, &[key.verifier()], any_origin)
        .unwrap()
        .state
}

/// Returns the digests of all commits, read in another way: from the log of commits.
fn leaves(memory: &Memory) -> CommitTree {
    let mut commits: Vec<_> = memory.commits().map(|commit| commit.unwrap().digest).collect();
    commits.reverse();
    let mut tree = CommitTree::default();
    for commit in &commits {
        tree.append(commit);
    }
    tree
}

#[test]
fn a_signed_head_is_of_all_commits_and_stays_true() -> Result<()> {
    let (memory, key) = (Memory::in_memory()?, key());
    put(&memory, "a");
    let first = sign(&memory, &key);
    assert_eq!((first.size, first.root), (2, leaves(&memory).root()));
    assert_eq!(
        first.origin,
        format!("treering/{}/main", to_hex(&memory.inner.opened().instance))
    );
    assert_eq!(state(&memory, &first, &key, false), State::Same);
    let references = memory.references();
    assert_eq!(sign(&memory, &key), first);
    assert_eq!(
        memory.references().len(),
        references.len(),
        "the same head again writes nothing"
    );
    assert_eq!(references[0].name, "signatures/main/vera");
    assert_eq!(references[0].reason.as_deref(), Some(first.to_string().as_str()));
    for number in 0..40 {
        put(&memory, &number.to_string());
    }
    assert_eq!(state(&memory, &first, &key, false), State::Extends);
    assert_eq!(
        prove_head(&memory, 3).unwrap_err().code(),
        ErrorCode::InvalidInput,
        "a newer head must be signed"
    );
    let (other, newest) = (SigningKey::generate("ada")?, sign(&memory, &key));
    assert_eq!(sign(&memory, &other).text(), newest.text());
    let request = prove_head(&memory, first.size)?;
    assert_eq!(request.head.verify(&[key.verifier(), other.verifier()])?.len(), 2);
    request.follows(Some((first.size, first.root)))?;
    assert_eq!(leaves(&memory).root(), request.head.root);
    Ok(())
}

#[test]
fn only_trusted_writers_sign_and_only_with_a_key() -> Result<()> {
    let (memory, key) = (Memory::in_memory()?, key());
    let refused =
        |keys: &[&SigningKey], writer: Writer| sign_head(&memory, keys, &writer).unwrap_err().code();
    assert_eq!(refused(&[&key], Writer::tool("web")), ErrorCode::LessTrusted);
    assert_eq!(refused(&[], Writer::user()), ErrorCode::BadKey);
    assert_eq!(
        refused(&[&SigningKey::generate("a/b")?], Writer::user()),
        ErrorCode::BadKey
    );
    assert_eq!(prove_head(&memory, 0).unwrap_err().code(), ErrorCode::NotSigned);
    Ok(())
}

#[test]
fn sgn_1_each_fork_has_its_own_origin_and_a_fork_of_the_same_name_signs_no_second_history() -> Result<()> {
    let (memory, key) = (Memory::in_memory()?, key());
    put(&memory, "a");
    let main = sign(&memory, &key);
    let fork = memory.fork("task/7").by(&Writer::user())?;
    put(&fork, "b");
    let forked = sign(&fork, &key);
    assert_eq!(forked.origin, main.origin.replace("/main", "/task/7"));
    assert_eq!((forked.size, main.size), (3, 2));
    // The line that the head names is found, and no other line is compared with it.
    assert_eq!(state(&memory, &forked, &key, false), State::Same);
    assert_eq!(state(&fork, &main, &key, false), State::Other);
    put(&memory, "c");
    assert_eq!(state(&memory, &main, &key, false), State::Extends);
    assert_eq!(
        state(&fork, &main, &key, true),
        State::Extends,
        "the fork begins behind it"
    );
    memory.drop_fork("task/7", true, &Writer::user())?;
    assert_eq!(state(&memory, &forked, &key, false), State::Other);
    let again = memory.fork("task/7").by(&Writer::user())?;
    put(&again, "d");
    assert_eq!(state(&memory, &forked, &key, false), State::Rewritten);
    for key in [&key, &SigningKey::generate("ada")?] {
        let refused = sign_head(&again, &[key], &Writer::user()).unwrap_err();
        assert_eq!(
            (refused.code(), refused.kind()),
            (ErrorCode::HistoryRewritten, ErrorKind::Corrupt)
        );
    }
    assert_eq!(sign(&memory, &key).size, 3);
    Ok(())
}

#[test]
fn collection_erasure_and_reopening_change_no_signed_head() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (memory, key) = (Memory::create(&path)?, key());
    let mut signed = Vec::new();
    for number in 0..50 {
        put(&memory, &format!("{}", number % 7));
        let id = Id::new(&format!("{}", number % 7))?;
        memory.remove(&id, &Writer::user())?;
        if number % 10 == 0 {
            signed.push(sign(&memory, &key));
        }
    }
    put(&memory, "secret");
    let whole = leaves(&memory);
    let mut retention = Retention::nothing();
    retention.newest = 1;
    memory.gc(&retention, None)?;
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    memory.gc(&retention, None)?;
    assert!(memory.commits().count() < 10, "the signed commits were thinned");
    memory.close()?;
    let memory = Memory::open(&path)?;
    assert!(memory.verify(crate::engine::VerifyDepth::Full)?.ok);
    assert_eq!(commit_tree(&memory)?.root_at(whole.size()), Some(whole.root()));
    for head in &signed {
        assert_eq!(state(&memory, head, &key, false), State::Extends);
    }
    let commit = memory
        .references()
        .into_iter()
        .find_map(|reference| reference.commit);
    assert_eq!(
        memory.contains(&commit.unwrap().to_hex())?,
        Containment::Thinned,
        "REF-4"
    );
    let newest = sign(&memory, &key);
    for head in &signed {
        prove_head(&memory, head.size)?.follows(Some((head.size, head.root)))?;
    }
    assert_eq!(newest_head(&memory)?, Some(newest));
    Ok(())
}

#[test]
fn a_salvaged_store_signs_as_another_and_a_copy_that_went_on_is_found() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["one", "copy", "new"].map(|name| folder.path().join(name));
    let (memory, key) = (Memory::create(&paths[0])?, key());
    put(&memory, "a");
    put(&memory, "b");
    let shared = sign(&memory, &key);
    memory.close()?;
    copy(&paths[0], &paths[1]);
    let (one, copy) = (Memory::open(&paths[0])?, Memory::open(&paths[1])?);
    put(&copy, "c");
    assert_eq!(state(&one, &sign(&copy, &key), &key, false), State::Shorter);
    put(&one, "d");
    put(&one, "e");
    let there = sign(&copy, &key);
    let found = check_head(&one, &there, &[key.verifier()], false)?;
    // The head that both have narrows it down: it was signed behind seq 2.
    assert_eq!((found.state, found.rewritten), (State::Rewritten, Some(3..=3)));
    let stranger = SigningKey::generate("vera")?;
    let error = check_head(&one, &there, &[stranger.verifier()], false).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotSigned);
    one.close()?;
    salvage_store(&paths[0], &paths[2], &Options::new())?;
    let salvaged = Memory::open(&paths[2])?;
    assert_eq!(state(&salvaged, &shared, &key, false), State::Other);
    assert_eq!(state(&salvaged, &shared, &key, true), State::Extends);
    let signed = sign(&salvaged, &key);
    assert_ne!(signed.origin, shared.origin);
    assert_eq!(newest_head(&salvaged)?, Some(signed));
    Ok(())
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn sgn_2_a_signed_commit_survives_a_loss_of_power() -> Result<()> {
    let disk = SimDisk::new(3);
    disk.relax();
    let open = |disk: &SimDisk, options: Options, create| {
        Memory::on_disk(Arc::new(disk.clone()), options, create, None)
    };
    let relaxed = Options::new().durability(Durability::Interval(std::time::Duration::from_hours(1)));
    let (memory, key) = (open(&disk, relaxed, true)?, key());
    put(&memory, "a");
    let head = sign(&memory, &key);
    put(&memory, "b");
    let after = open(&disk.crash_image(CrashImage::Nothing), Options::new(), false)?;
    assert_eq!(state(&after, &head, &key, false), State::Same);
    assert_eq!(newest_head(&after)?, Some(head));
    Ok(())
}

/// Ends the other threads, also after a failure.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn commits_of_others_while_a_head_is_signed_are_in_this_head_or_in_the_next() -> Result<()> {
    let (memory, key, done) = (Memory::in_memory()?, key(), AtomicBool::new(false));
    let heads = std::thread::scope(|scope| {
        for thread in 0..3 {
            let (memory, done) = (memory.clone(), &done);
            scope.spawn(move || {
                let mut number = 0;
                while !done.load(Ordering::Relaxed) {
                    put(&memory, &format!("{thread}/{number}"));
                    number += 1;
                }
            });
        }
        let _ended = Ended(&done);
        let other = scope.spawn(|| {
            let ada = SigningKey::generate("ada").unwrap();
            while !done.load(Ordering::Relaxed) {
                sign(&memory, &ada);
            }
        });
        let mut heads = vec![sign(&memory, &key)];
        while heads.len() < 40 || heads[0].size + 20 > heads[heads.len() - 1].size {
            heads.push(sign(&memory, &key));
        }
        done.store(true, Ordering::Relaxed);
        other.join().unwrap();
        heads
    });
    let tree = leaves(&memory);
    assert!(heads.is_sorted_by_key(|head| head.size));
    assert!(heads.iter().all(|head| head.is_in(&tree)));
    Ok(())
}

#[test]
fn a_digest_that_the_head_does_not_bind_is_never_signed() {
    // INVARIANT SGN-2: a store in memory whose earlier digests are wrong is refused.
    let memory = Memory::in_memory().unwrap();
    put(&memory, "a");
    let store = memory.inner.store();
    let mut chain = Chain {
        tree: CommitTree::default(),
        history: HistoryTree::new(store.suite),
        last: None,
    };
    chain.push(&CommitDigest::from_bytes([7; 32]));
    assert_eq!(chain.advance(&store).unwrap_err().kind(), ErrorKind::Corrupt);
}

//! Tests of commits: numbers, parents and names.

use super::*;
use crate::digest::CommitDigest;
use crate::error::ErrorKind;
use crate::testing::generators::Generator;

#[test]
fn com_1_the_number_of_a_commit_fits_its_parents() {
    let mut commit = Generator::new(41).commit();
    commit.parents = vec![CommitDigest::from_bytes([1; 32])];
    commit.seq = 1;
    assert!(commit.encode().is_ok());
    commit.seq = 0;
    assert_eq!(commit.encode().unwrap_err().kind(), ErrorKind::Internal);
    commit.parents.clear();
    assert!(commit.encode().is_ok());
    commit.seq = 1;
    assert_eq!(commit.digest(SUITE).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn names_in_a_commit_keep_their_rules() {
    let mut commit = Generator::new(42).commit();
    commit.actor = Some("a\u{7}".to_owned());
    let message = commit.encode().unwrap_err();
    assert_eq!(
        message.message(),
        "an actor contains the control character U+0007 at byte 1"
    );
    commit.actor = None;
    commit.session = Some(String::new());
    assert_eq!(commit.encode().unwrap_err().message(), "a session is empty");
    commit.session = Some("x".repeat(257));
    assert_eq!(
        commit.encode().unwrap_err().message(),
        "a session of 257 bytes is too long"
    );
    commit.session = None;
    commit.reserved.insert(0x000d, Vec::new());
    assert!(commit.encode().unwrap_err().message().contains("0x000d"));
}

#[test]
fn a_lane_is_the_session_or_the_actor_or_the_default() {
    let mut commit = Generator::new(43).commit();
    (commit.session, commit.actor) = (Some("s".into()), Some("a".into()));
    assert_eq!(commit.lane(), "s");
    commit.session = None;
    assert_eq!(commit.lane(), "a");
    commit.actor = None;
    assert_eq!(commit.lane(), "default");
}

#[test]
fn operations_are_named_by_letters() {
    let put = Op::new("put").unwrap();
    assert_eq!(Op::new("put").unwrap(), put);
    assert_eq!(Op::new("roll_back").unwrap().to_string(), "roll_back");
    assert!(Op::new(&"x".repeat(32)).is_ok());
    for name in ["", "Put", "put2", "a-b", "a b", "\u{e9}", &"x".repeat(33)] {
        assert!(Op::new(name).is_err(), "{name}");
    }
}

#[test]
fn every_field_is_in_the_digest() {
    let mut generator = Generator::new(44);
    for _ in 0..2_000 {
        let (commit, other) = (generator.commit(), generator.commit());
        let mut changed = vec![];
        let mut with = |change: &dyn Fn(&mut Commit)| {
            let mut new = commit.clone();
            change(&mut new);
            changed.push(new);
        };
        with(&|new| new.root = other.root);
        with(&|new| new.history_root = other.history_root);
        with(&|new| new.time = other.time);
        with(&|new| new.op = Op::new("other").unwrap());
        with(&|new| new.target = other.target);
        with(&|new| new.actor.clone_from(&other.actor));
        with(&|new| new.session.clone_from(&other.session));
        with(&|new| std::mem::swap(&mut new.actor, &mut new.session));
        with(&|new| new.source = other.source);
        with(&|new| std::mem::swap(&mut new.source, &mut new.reason));
        with(&|new| new.trust = other.trust);
        with(&|new| (new.parents, new.seq) = (other.parents.clone(), other.seq));
        for new in changed {
            for suite in BOTH {
                assert_eq!(
                    new.digest(suite).unwrap() == commit.digest(suite).unwrap(),
                    new == commit
                );
            }
        }
    }
}

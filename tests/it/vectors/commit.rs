//! Test vectors of commits: encodings, digests, and encodings that must be refused.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use treering::inspect::digest::{CommitDigest, HistoryRoot, Root, TextDigest, to_hex};
use treering::inspect::object::{Commit, Op, Origin, Time};

use super::{Invalid, altered, check_file, encoding, for_each_hash, refusals};

fn first() -> Commit {
    Commit {
        parents: Vec::new(),
        root: Root::from_bytes([1; 32]),
        seq: 0,
        history_root: HistoryRoot::from_bytes([2; 32]),
        time: Time::from_micros(1_700_000_000_000_000),
        op: Op::new("init").unwrap(),
        target: None,
        actor: None,
        session: None,
        source: None,
        trust: Origin::DirectUser,
        reason: None,
        reserved: BTreeMap::new(),
    }
}

fn all() -> Vec<(&'static str, Commit)> {
    let digest = |byte| CommitDigest::from_bytes([byte; 32]);
    let full = Commit {
        parents: vec![digest(3)],
        seq: 1,
        op: Op::new("roll_back").unwrap(),
        target: Some(digest(4)),
        actor: Some("na\u{ef}ve".to_owned()),
        session: Some("\u{4f60}\u{597d}".to_owned()),
        source: Some(TextDigest::from_bytes([5; 32])),
        trust: Origin::Import,
        reason: Some(TextDigest::from_bytes([6; 32])),
        reserved: [(0x8000, vec![7])].into(),
        ..first()
    };
    let merge = Commit {
        parents: vec![digest(9), digest(8)],
        seq: 1 << 40,
        ..first()
    };
    let early = Commit {
        time: Time::from_micros(-1),
        ..first()
    };
    vec![
        ("first", first()),
        ("every field", full),
        ("two parents", merge),
        ("before 1970", early),
    ]
}

fn commit_json(commit: &Commit) -> Json {
    let reserved: Json = commit
        .reserved
        .iter()
        .map(|(tag, bytes)| (format!("{tag:#06x}"), Json::from(to_hex(bytes))))
        .collect();
    json!({
        "parents": commit.parents.iter().map(|parent| parent.to_hex()).collect::<Json>(),
        "root": commit.root.to_hex(),
        "seq": commit.seq,
        "history_root": commit.history_root.to_hex(),
        "time": commit.time.as_micros(),
        "op": commit.op.as_str(),
        "target": commit.target.map(CommitDigest::to_hex),
        "actor": commit.actor,
        "session": commit.session,
        "source": commit.source.map(TextDigest::to_hex),
        "trust": commit.trust.to_string(),
        "reason": commit.reason.map(TextDigest::to_hex),
        "reserved": reserved,
    })
}

fn base() -> Vec<(u16, Vec<u8>)> {
    let root = vec![1; 32];
    let op = b"put".to_vec();
    vec![
        (2, root),
        (3, vec![0; 8]),
        (4, vec![2; 32]),
        (5, vec![0; 8]),
        (6, op),
        (11, vec![1]),
    ]
}

/// Returns the encoding of a commit in which only one field is invalid.
fn set(why: &'static str, tag: u16, field: &[u8], error: &'static str) -> Invalid {
    let bytes = altered(&base(), tag, Some(field.to_vec()));
    Invalid { why, bytes, error }
}

fn invalid() -> Vec<Invalid> {
    let without = |why, tag, error| Invalid {
        why,
        bytes: altered(&base(), tag, None),
        error,
    };
    let mut all = vec![
        Invalid {
            why: "version 2",
            bytes: encoding(2, &base()),
            error: "encoding version 2 is not known",
        },
        without("no root", 2, "tag 0x0002 is missing"),
        without("no number", 3, "tag 0x0003 is missing"),
        without("no history root", 4, "tag 0x0004 is missing"),
        without("no time", 5, "tag 0x0005 is missing"),
        without("no operation", 6, "tag 0x0006 is missing"),
        without("no trust", 11, "tag 0x000b is missing"),
        set("empty parents", 1, b"", "the parents are empty"),
        set("half a parent", 1, &[1; 48], "a list has a partial entry"),
        set(
            "number 0 with a parent",
            1,
            &[1; 32],
            "the seq of a commit contradicts its parents",
        ),
        set(
            "number 1 without a parent",
            3,
            &1_u64.to_le_bytes(),
            "the seq of a commit contradicts its parents",
        ),
        set("a root of 31 bytes", 2, &[1; 31], "a field has the wrong length"),
        set("a number of 4 bytes", 3, &[0; 4], "a field has the wrong length"),
        set(
            "an empty operation",
            6,
            b"",
            "the name of an operation breaks its rule",
        ),
        set(
            "an operation of 33 letters",
            6,
            &[b'x'; 33],
            "the name of an operation breaks its rule",
        ),
        set(
            "a capital in an operation",
            6,
            b"Put",
            "the name of an operation breaks its rule",
        ),
    ];
    all.extend(invalid_optional_fields());
    all
}

fn invalid_optional_fields() -> Vec<Invalid> {
    vec![
        set("an empty target", 7, b"", "a field has the wrong length"),
        set("an empty actor", 8, b"", "an actor is empty"),
        set("an actor of 257 bytes", 8, &[b'x'; 257], "an actor is too long"),
        set(
            "a control character in a session",
            9,
            b"\x1b[0m",
            "a session contains a control character",
        ),
        set("a session that is not UTF-8", 9, &[0xff], "text is not UTF-8"),
        set(
            "a source of 33 bytes",
            10,
            &[1; 33],
            "a field has the wrong length",
        ),
        set("trust 0", 11, &[0], "an origin is not known"),
        set("trust 8", 11, &[8], "an origin is not known"),
        set("an empty reason", 12, b"", "a field has the wrong length"),
        set("an unknown field", 13, b"", "tag 0x000d is not known"),
    ]
}

#[test]
fn commit_vectors() {
    let valid: Json = all()
        .iter()
        .map(|(name, commit)| {
            let bytes = commit.encode().unwrap();
            assert_eq!(Commit::decode(&bytes).unwrap(), *commit);
            let digests = for_each_hash(|suite| commit.digest(suite).unwrap().to_hex().into());
            json!({"name": name, "commit": commit_json(commit), "bytes": to_hex(&bytes), "digest": digests})
        })
        .collect();
    check_file(
        "commit.json",
        &json!({"valid": valid, "invalid": refusals(invalid(), Commit::decode)}),
    );
}

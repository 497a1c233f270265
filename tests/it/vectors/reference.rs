//! Test vectors of references: encodings, digests, and encodings that must be refused.

use serde_json::{Value as Json, json};
use treering::inspect::digest::{CommitDigest, KeyPath, ObjectDigest, Root, TextDigest, to_hex};
use treering::inspect::object::{Reference, ReferenceName, StagedChange, Time};

use super::{Invalid, altered, check_file, encoding, for_each_hash, refusals};

fn named(name: &str) -> Reference {
    let commit = Some(CommitDigest::from_bytes([1; 32]));
    Reference::new(
        ReferenceName::new(name).unwrap(),
        commit,
        Time::from_micros(1_700_000_000_000_000),
    )
}

fn all() -> Vec<(&'static str, Reference)> {
    let change = |key, digest: Option<u8>| StagedChange {
        key: KeyPath::from_bytes([key; 32]),
        digest: digest.map(|byte| ObjectDigest::from_bytes([byte; 32])),
    };
    let draft = Reference {
        actor: Some("na\u{ef}ve".to_owned()),
        session: Some("\u{4f60}\u{597d}".to_owned()),
        reason: Some(TextDigest::from_bytes([2; 32])),
        root: Some(Root::from_bytes([3; 32])),
        changes: vec![change(4, Some(5)), change(6, None)],
        reserved: [(0x8000, vec![7])].into(),
        ..named("drafts/\u{1f332}")
    };
    let unchanged = Reference {
        root: Some(Root::from_bytes([3; 32])),
        ..named("rejected/1")
    };
    let automatic = Reference {
        lane: Some("default".to_owned()),
        ..named("snapshots/ring:42")
    };
    let deleted = Reference {
        commit: None,
        ..named("snapshots/a/b")
    };
    vec![
        ("named snapshot", named("snapshots/before-import")),
        ("automatic snapshot", automatic),
        ("deleted snapshot", deleted),
        ("draft with every field", draft),
        ("rejected without changes", unchanged),
        ("pin", named("pins/release")),
        ("remote", named("remotes/origin/main")),
        ("signature", named("signatures/a")),
    ]
}

fn reference_json(reference: &Reference) -> Json {
    let changes: Json = reference
        .changes
        .iter()
        .map(|change| json!({"key_path": change.key.to_hex(), "digest": change.digest.map(ObjectDigest::to_hex)}))
        .collect();
    let reserved: Json = reference
        .reserved
        .iter()
        .map(|(tag, bytes)| (format!("{tag:#06x}"), Json::from(to_hex(bytes))))
        .collect();
    json!({
        "name": reference.name.as_str(),
        "commit": reference.commit.map(CommitDigest::to_hex),
        "time": reference.time.as_micros(),
        "actor": reference.actor,
        "session": reference.session,
        "reason": reference.reason.map(TextDigest::to_hex),
        "root": reference.root.map(Root::to_hex),
        "changes": changes,
        "lane": reference.lane,
        "reserved": reserved,
    })
}

/// Returns the fields of a valid reference with this name.
fn base(name: &[u8]) -> Vec<(u16, Vec<u8>)> {
    vec![(1, name.to_vec()), (2, vec![1; 32]), (3, vec![0; 8])]
}

/// Returns the encoding of a pin in which only one field is invalid.
fn pin(why: &'static str, tag: u16, field: &[u8], error: &'static str) -> Invalid {
    let bytes = altered(&base(b"pins/a"), tag, Some(field.to_vec()));
    Invalid { why, bytes, error }
}

fn invalid() -> Vec<Invalid> {
    [invalid_names(), invalid_fields(), invalid_drafts_and_deletions()]
        .into_iter()
        .flatten()
        .collect()
}

fn invalid_names() -> Vec<Invalid> {
    const CLASS: &str = "a reference name has no known class";
    let name = |why, name: &[u8], error| Invalid {
        why,
        bytes: encoding(1, &base(name)),
        error,
    };
    let without = |why, tag, error| Invalid {
        why,
        bytes: altered(&base(b"pins/a"), tag, None),
        error,
    };
    vec![
        Invalid {
            why: "version 2",
            bytes: encoding(2, &base(b"pins/a")),
            error: "encoding version 2 is not known",
        },
        without("no name", 1, "tag 0x0001 is missing"),
        without("no time", 3, "tag 0x0003 is missing"),
        name("an empty name", b"", "a reference name is empty"),
        name("a class alone", b"pins", CLASS),
        name("nothing after the class", b"pins/", CLASS),
        name("an unknown class", b"tags/main", CLASS),
        name("a class in capitals", b"PINS/a", CLASS),
        name(
            "a name of 513 bytes",
            &[&b"pins/"[..], &[b'x'; 508]].concat(),
            "a reference name is too long",
        ),
        name(
            "a line break in a name",
            b"pins/a\n",
            "a reference name contains a control character",
        ),
        name("a name that is not UTF-8", b"pins/\xff", "text is not UTF-8"),
    ]
}

fn invalid_fields() -> Vec<Invalid> {
    vec![
        pin(
            "a commit of 31 bytes",
            2,
            &[1; 31],
            "a field has the wrong length",
        ),
        pin("a time of 4 bytes", 3, &[0; 4], "a field has the wrong length"),
        pin("an empty actor", 4, b"", "an actor is empty"),
        pin("a session of 257 bytes", 5, &[b'x'; 257], "a session is too long"),
        pin("an empty reason", 6, b"", "a field has the wrong length"),
        pin(
            "a root on a pin",
            7,
            &[3; 32],
            "a reference that is not a draft has a root",
        ),
        pin(
            "changes on a pin",
            8,
            &[3; 64],
            "a reference has changes without a root",
        ),
        pin(
            "a lane on a pin",
            9,
            b"a",
            "a reference that is not a snapshot has a lane",
        ),
        pin("an empty lane", 9, b"", "a lane is empty"),
        pin("an unknown field", 64, b"", "tag 0x0040 is not known"),
    ]
}

fn invalid_drafts_and_deletions() -> Vec<Invalid> {
    let draft = |why, changes: &[[u8; 32]], error| {
        let mut fields = base(b"drafts/a");
        fields.push((7, vec![3; 32]));
        let bytes = altered(&fields, 8, Some(changes.as_flattened().to_vec()));
        Invalid { why, bytes, error }
    };
    let deleted = |why, name: &[u8], tag, field: Vec<u8>| {
        let bytes = encoding(1, &[(1, name.to_vec()), (3, vec![0; 8]), (tag, field)]);
        Invalid {
            why,
            bytes,
            error: "a deleted reference has data about a commit",
        }
    };
    vec![
        draft("empty changes", &[], "the changes are empty"),
        draft("half a change", &[[1; 32]], "a list has a partial entry"),
        draft(
            "changes that fall",
            &[[2; 32], [1; 32], [1; 32], [1; 32]],
            "the changes of a reference are not in ascending order",
        ),
        draft(
            "a key path twice",
            &[[1; 32], [1; 32], [1; 32], [2; 32]],
            "the changes of a reference are not in ascending order",
        ),
        deleted("a deleted draft with a root", b"drafts/a", 7, vec![3; 32]),
        deleted(
            "a deleted snapshot in a ring",
            b"snapshots/ring:1",
            9,
            b"a".to_vec(),
        ),
    ]
}

#[test]
fn reference_vectors() {
    let valid: Json = all()
        .iter()
        .map(|(name, reference)| {
            let bytes = reference.encode().unwrap();
            assert_eq!(Reference::decode(&bytes).unwrap(), *reference);
            let digests = for_each_hash(|suite| to_hex(&reference.digest(suite).unwrap()).into());
            json!({"name": name, "reference": reference_json(reference), "bytes": to_hex(&bytes), "digest": digests})
        })
        .collect();
    check_file(
        "reference.json",
        &json!({"valid": valid, "invalid": refusals(invalid(), Reference::decode)}),
    );
}

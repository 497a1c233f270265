//! The hex examples of docs/format.md, decoded: the page cannot drift from the code.
//!
//! An example is a fenced block whose info string is `hex` and a name. In each of its lines `;` starts a
//! comment. Every block of the page must be decoded by a test here.

use std::path::Path;

use treering::digest::{
    CommitDigest, HashAlgorithm, HashSuite, HistoryRoot, ObjectDigest, Root, TextDigest, from_hex,
};
use treering::object::{Attributes, Commit, Object, Op, Origin, Reference, Time, Value};

const SUITE: HashSuite = HashSuite::new(HashAlgorithm::Blake3);
const SUITES: [HashSuite; 2] = [SUITE, HashSuite::new(HashAlgorithm::Sha256)];

/// The examples that the tests below decode.
const EXAMPLES: [&str; 4] = ["object", "value", "commit", "reference"];

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/format.md")).unwrap()
}

/// The name and bytes of every example, in the order of the page.
fn examples(page: &str) -> Vec<(String, Vec<u8>)> {
    let mut examples = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("```hex ") else {
            continue;
        };
        let block = lines.by_ref().take_while(|line| *line != "```");
        let digits: String = block
            .map(|line| line.split(';').next().unwrap_or_default())
            .flat_map(str::chars)
            .filter(|character| !character.is_whitespace())
            .collect();
        examples.push((
            name.to_owned(),
            from_hex(&digits).unwrap_or_else(|| panic!("example {name}")),
        ));
    }
    examples
}

fn example(name: &str) -> Vec<u8> {
    let all = examples(&page());
    let (_, bytes) = all.into_iter().find(|(other, _)| other == name).unwrap();
    bytes
}

/// Panics unless the page shows `digest` in its text.
fn assert_shown(digest: &str) {
    assert!(
        page().contains(&format!("`{digest}`")),
        "docs/format.md does not show the digest {digest}"
    );
}

fn time(text: &str) -> Time {
    text.parse().unwrap()
}

#[test]
fn every_example_is_decoded_by_a_test() {
    let names: Vec<_> = examples(&page()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, EXAMPLES);
}

#[test]
fn the_object_is_what_its_comments_say() {
    let bytes = example("object");
    let object = Object::decode(bytes.clone().into(), SUITE).unwrap();
    assert_eq!(
        (object.id(), object.kind(), object.scope()),
        ("demo/fact-1", "fact", "global")
    );
    assert_eq!((object.parent(), object.position()), (Some("demo"), Some("a5")));
    assert_eq!(
        object.attributes(),
        [("n".to_owned(), Value::Integer(7))].into_iter().collect()
    );
    assert_eq!(object.content(), Some("Rings grow."));
    assert_eq!(object.origin(), Origin::Host);
    assert_eq!(
        object.derived_from().collect::<Vec<_>>(),
        [ObjectDigest::from_bytes([0x11; 32])]
    );
    assert_eq!(object.event_time(), Some(time("2026-01-31T08:15:00Z")));
    assert_eq!(object.expires(), Some(time("2027-01-01T00:00:00Z")));
    assert_eq!(object.reserved(0x8001), Some(&[0xa1, 0xa2, 0xa3, 0xa4][..]));
    for suite in SUITES {
        let encoded = object.to_new().unwrap().encode(object.origin(), suite).unwrap();
        assert_eq!(encoded.bytes, bytes);
        assert_shown(&encoded.digest.to_hex());
    }
}

#[test]
fn the_attributes_are_what_their_comments_say() {
    let mut bytes = vec![1];
    let fields = [
        (1_u16, b"a".to_vec()),
        (2, b"b".to_vec()),
        (3, b"c".to_vec()),
        (6, example("value")),
        (10, vec![1]),
    ];
    for (tag, field) in fields {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(field.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&field);
    }
    let object = Object::decode(bytes.into(), SUITE).unwrap();
    let mut wanted = Attributes::new();
    wanted.insert("done", false);
    wanted.insert("score", 0.5);
    wanted.insert("seen", -2_i64);
    wanted.insert("tags", vec!["rust".into(), Value::Null]);
    wanted.insert(
        "where",
        Value::Map([("city".to_owned(), "K\u{f6}ln".into())].into()),
    );
    assert_eq!(object.attributes(), wanted);
}

#[test]
fn the_commit_is_what_its_comments_say() {
    let bytes = example("commit");
    let wanted = Commit {
        parents: vec![CommitDigest::from_bytes([0x21; 32])],
        root: Root::from_bytes([0x22; 32]),
        seq: 1,
        history_root: HistoryRoot::from_bytes([0x23; 32]),
        time: time("2026-01-31T08:15:00.000001Z"),
        op: Op::constant("rollback"),
        target: Some(CommitDigest::from_bytes([0x24; 32])),
        actor: Some("ann".to_owned()),
        session: Some("s1".to_owned()),
        source: None,
        trust: Origin::DirectUser,
        reason: Some(TextDigest::from_bytes([0x25; 32])),
        reserved: std::collections::BTreeMap::new(),
    };
    assert_eq!(Commit::decode(&bytes).unwrap(), wanted);
    assert_eq!(wanted.encode().unwrap(), bytes);
    for suite in SUITES {
        assert_shown(&wanted.digest(suite).unwrap().to_hex());
    }
}

#[test]
fn the_reference_is_what_its_comments_say() {
    let bytes = example("reference");
    let reference = Reference::decode(&bytes).unwrap();
    assert_eq!(reference.name.as_str(), "snapshots/before-import");
    assert_eq!(reference.commit, Some(CommitDigest::from_bytes([0x31; 32])));
    assert_eq!(reference.time, time("2026-01-31T08:15:00.000002Z"));
    assert_eq!(reference.actor.as_deref(), Some("ann"));
    assert_eq!(reference.encode().unwrap(), bytes);
    for suite in SUITES {
        assert_shown(&treering::digest::to_hex(&reference.digest(suite).unwrap()));
    }
}

//! Decodes the hex examples of docs/format.md, so that a test fails if the page and the code differ.
//!
//! An example is a fenced block with the info string `hex` and a name. In its lines, `;` starts a comment, and `00*24`
//! means 24 bytes of 00. The tests decode every example of the page.

use std::path::Path;
use std::sync::Arc;

use treering::inspect::digest::{
    CommitDigest, HashAlgorithm, HashSuite, HistoryRoot, ObjectDigest, Root, TextDigest, from_hex,
};
use treering::inspect::disk::{Disk, MemDisk};
use treering::inspect::log::{CheckItem, Log, LogOptions, Mode, RecordKind};
use treering::inspect::object::{Attributes, Commit, Object, Op, Origin, Reference, Time, Value};

const SUITE: HashSuite = HashSuite::new(HashAlgorithm::Blake3);
const SUITES: [HashSuite; 2] = [SUITE, HashSuite::new(HashAlgorithm::Sha256)];

/// The examples that the tests below decode.
const EXAMPLES: [&str; 10] = [
    "object",
    "value",
    "commit",
    "reference",
    "format",
    "live",
    "manifest",
    "segment",
    "frame",
    "seal",
];

fn page() -> String {
    std::fs::read_to_string(Path::new(crate::ROOT).join("docs/format.md")).unwrap()
}

/// Returns the name and bytes of every example, in the order of the page.
fn examples(page: &str) -> Vec<(String, Vec<u8>)> {
    let mut examples = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("```hex ") else {
            continue;
        };
        let block = lines.by_ref().take_while(|line| *line != "```");
        let words = block.flat_map(|line| line.split(';').next().unwrap_or_default().split_whitespace());
        examples.push((name.to_owned(), words.flat_map(bytes_of).collect()));
    }
    examples
}

/// Returns the bytes of a word: one hex byte, repeated as often as the number after `*` states.
fn bytes_of(word: &str) -> Vec<u8> {
    let (byte, count) = word.split_once('*').unwrap_or((word, "1"));
    from_hex(byte)
        .unwrap_or_else(|| panic!("{word} is no byte"))
        .repeat(count.parse().unwrap())
}

fn example(name: &str) -> Vec<u8> {
    let all = examples(&page());
    let (_, bytes) = all.into_iter().find(|(other, _)| other == name).unwrap();
    bytes
}

/// Checks that the page contains `digest`.
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
        (object.id().as_str(), object.kind(), object.scope()),
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
        op: Op::new("rollback").unwrap(),
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
        assert_shown(&treering::inspect::digest::to_hex(
            &reference.digest(suite).unwrap(),
        ));
    }
}

/// Builds the store from the examples of the page. If `damaged` is set, changes one byte of that example.
fn example_store(damaged: Option<(&str, usize)>) -> Arc<dyn Disk> {
    let disk = MemDisk::new();
    let file = |name: &str, parts: &[&str], length: usize| {
        let mut bytes = Vec::new();
        for part in parts {
            let mut example = example(part);
            match damaged {
                Some((name, at)) if name == *part => example[at] ^= 1,
                _ => {}
            }
            bytes.extend_from_slice(&example);
        }
        bytes.resize(bytes.len().max(length), 0);
        disk.create(name).unwrap().write_at(0, &bytes).unwrap();
    };
    disk.create_dir("log").unwrap();
    file("format", &["format"], 0);
    file("live", &["live"], 0);
    file("manifest", &["manifest"], 0);
    file("log/00000001.seg", &["segment", "frame", "seal"], 64 << 10);
    Arc::new(disk)
}

/// Verifies a store. Returns the findings, or the error if the store cannot be opened.
fn findings(disk: Arc<dyn Disk>) -> Vec<String> {
    let mut findings = Vec::new();
    let result = Log::check(disk, LogOptions::default(), None, &mut |item| {
        if let CheckItem::Finding(finding) = item {
            findings.push(finding.damage.to_string());
        }
        Ok(())
    });
    findings.extend(result.err().map(|error| error.to_string()));
    findings
}

#[test]
fn the_files_of_a_store_are_read_as_their_comments_say() {
    let disk = example_store(None);
    assert_eq!(findings(Arc::clone(&disk)), [""; 0]);
    let mut log = Log::open(disk, Mode::ReadOnly, LogOptions::default()).unwrap();
    assert_eq!(log.format().hash, HashAlgorithm::Sha256);
    assert_eq!(
        (log.format().lineage, log.format().instance),
        ([0xa1; 16], [0xa2; 16])
    );
    let mut batches = Vec::new();
    let tail = log.catch_up(&mut |batch| {
        batches.push(batch);
        Ok(())
    });
    assert_eq!(tail.unwrap().torn_bytes, 0);
    assert_eq!(batches.len(), 1);
    let [record] = &batches[0].records[..] else {
        panic!("{batches:?}")
    };
    assert_eq!(
        (batches[0].number, batches[0].commit),
        (1, CommitDigest::from_bytes([0x41; 32]))
    );
    assert_eq!(
        (record.kind, record.flags, &*record.body),
        (RecordKind::Text, 0, &b"why, in words"[..])
    );
    assert_eq!(record.locator.offset(), 4096);
    assert_eq!(log.size(), (1, 4304));
}

/// Checks that a wrong byte in any example of the store is detected.
#[test]
fn a_wrong_byte_in_any_file_is_found() {
    for name in ["format", "live", "manifest", "segment", "frame", "seal"] {
        let length = example(name).len();
        for at in (0..length.min(256)).chain(length - 4..length) {
            assert!(
                !findings(example_store(Some((name, at)))).is_empty(),
                "{name}, byte {at}"
            );
        }
    }
}

//! Tests of references: names, contradictions and strict decoding.

use super::*;
use crate::digest::{CommitDigest, KeyPath, ObjectDigest, Root};
use crate::error::ErrorKind;

fn reference(name: &str) -> Reference {
    let commit = Some(CommitDigest::from_bytes([1; 32]));
    Reference::new(ReferenceName::new(name).unwrap(), commit, Time::from_micros(5))
}

#[test]
fn ref_5_only_the_head_of_a_line_has_a_base_and_a_cap() {
    let mut head = reference("heads/a");
    contradiction(&head);
    (head.base, head.cap) = (head.commit, Some(Origin::Model));
    assert_eq!(Reference::decode(&head.encode().unwrap()).unwrap(), head);
    let mut snapshot = reference("snapshots/a");
    snapshot.cap = Some(Origin::Model);
    contradiction(&snapshot);
    (snapshot.cap, snapshot.line) = (None, Some("a".to_owned()));
    contradiction(&snapshot);
    snapshot.lane = Some("lane".to_owned());
    assert_eq!(Reference::decode(&snapshot.encode().unwrap()).unwrap(), snapshot);
}

fn change(key: u8) -> StagedChange {
    StagedChange {
        key: KeyPath::from_bytes([key; 32]),
        digest: None,
    }
}

/// Returns the error message of the encoder for fields that contradict each other, which is a bug of the caller.
fn contradiction(reference: &Reference) -> String {
    let error = reference.encode().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    error.message().to_owned()
}

#[test]
fn names_have_a_class_and_a_rest() {
    for class in ReferenceClass::ALL {
        let name = ReferenceName::of(class, "a/b").unwrap();
        assert_eq!((name.class(), name.rest()), (class, "a/b"));
        assert_eq!(ReferenceName::new(name.as_str()).unwrap(), name);
        assert_eq!(ReferenceClass::from_name(class.name()), Some(class));
    }
    assert_eq!(ReferenceName::of_ring(7).as_str(), "snapshots/ring:7");
    for name in [
        "",
        "snapshots",
        "snapshots/",
        "/a",
        "snapshot/a",
        "Snapshots/a",
        "head/main",
        "pins/a\nb",
    ] {
        assert_eq!(
            ReferenceName::new(name).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{name:?}"
        );
    }
    assert!(ReferenceName::new(&format!("pins/{}", "x".repeat(507))).is_ok());
    assert!(ReferenceName::new(&format!("pins/{}", "x".repeat(508))).is_err());
}

#[test]
fn ref_1_a_deleted_name_holds_nothing_else() {
    let mut deleted = reference("drafts/a");
    deleted.root = Some(Root::from_bytes([2; 32]));
    assert!(deleted.encode().is_ok());
    deleted.commit = None;
    assert!(contradiction(&deleted).contains("a deleted reference has data about a commit"));
    deleted.root = None;
    assert!(deleted.encode().is_ok());
    let mut ring = reference("snapshots/ring:1");
    ring.lane = Some("a".into());
    ring.commit = None;
    assert!(contradiction(&ring).contains("a deleted reference has data about a commit"));
}

#[test]
fn ref_2_only_drafts_hold_a_root_and_changes() {
    let mut pin = reference("pins/a");
    pin.root = Some(Root::from_bytes([2; 32]));
    assert!(contradiction(&pin).contains("a reference that is not a draft has a root"));
    for name in ["drafts/a", "rejected/a"] {
        let mut draft = reference(name);
        draft.changes = vec![change(1)];
        assert!(contradiction(&draft).contains("a reference has changes without a root"));
        draft.root = Some(Root::from_bytes([2; 32]));
        assert!(draft.encode().is_ok());
        draft.changes = vec![change(1), change(1)];
        assert!(contradiction(&draft).contains("the changes of a reference are not in ascending order"));
        draft.changes = vec![change(2), change(1)];
        assert!(contradiction(&draft).contains("the changes of a reference are not in ascending order"));
        draft.changes = vec![StagedChange {
            digest: Some(ObjectDigest::from_bytes([0; 32])),
            ..change(1)
        }];
        assert!(
            contradiction(&draft)
                .contains("a change has the all-zero digest, which is reserved for removals")
        );
    }
}

#[test]
fn ref_3_only_a_snapshot_has_a_lane() {
    let mut ring = reference("snapshots/ring:1");
    ring.lane = Some("a".into());
    assert!(ring.encode().is_ok());
    ring.lane = Some(String::new());
    assert_eq!(ring.encode().unwrap_err().message(), "a lane is empty");
    let mut pin = reference("pins/a");
    pin.lane = Some("a".into());
    assert!(contradiction(&pin).contains("a reference that is not a snapshot has a lane"));
}

#[test]
fn snapshot_names_that_anybody_may_use() {
    for name in [
        "a",
        "before-import",
        "v1.2_x/y",
        "head",
        "2026",
        "2026-01",
        "2026-01-31-before",
        "abcdef0",
        "abcdefgh",
        "20260131x",
        "v2026-01-31",
        "-",
        ".",
        "..",
        "/",
        "deadbeef-1",
        &"x".repeat(64),
    ] {
        check_snapshot_name(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn snapshot_names_that_read_as_something_else_are_refused() {
    for (name, why) in [
        ("", "is empty"),
        ("@", "contains '@' at byte 0"),
        ("@-3", "contains '@' at byte 0"),
        ("snap:0", "contains ':' at byte 4"),
        ("seq:12", "contains ':' at byte 3"),
        ("ring:1", "contains ':' at byte 4"),
        ("a b", "contains ' ' at byte 1"),
        ("a\nb", "contains '\\n' at byte 1"),
        ("na\u{ef}ve", "contains '\u{ef}' at byte 2"),
        ("deadbeef", "looks like a digest"),
        ("DEADBEEF00", "looks like a digest"),
        ("12345678", "looks like a digest"),
        ("2026-01-31", "looks like a time"),
        ("2026-01-31T08", "looks like a time"),
        ("2026-01-31t08", "looks like a time"),
        ("20260131T080000Z", "looks like a time"),
        (&"x".repeat(65), "of 65 characters is too long"),
        (&"a".repeat(64), "looks like a digest"),
    ] {
        let error = check_snapshot_name(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains(why), "{name}: {error}");
        assert!(error.hint().is_some());
    }
}

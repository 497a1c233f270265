//! Tests of the limits of an object, and of where its content is stored.

use super::*;
use crate::digest::ObjectDigest;
use crate::error::ErrorKind;

/// Returns the error message for `new`, which the encoder must refuse.
fn refusal(new: &NewObject) -> String {
    let error = new.encode(Origin::Host, SUITE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
    assert!(error.hint().is_some(), "{error:?}");
    error.message().to_owned()
}

#[test]
fn an_object_is_not_its_own_parent() {
    let mut new = fact("a");
    new.parent = Some(Id::new("a").unwrap());
    assert_eq!(refusal(&new), "object \"a\": the object is its own parent");
}

#[test]
fn obj_5_the_length_of_the_content_decides_where_it_is() {
    for (length, own_record) in [(0, false), (4096, false), (4097, true), (16 << 20, true)] {
        let mut new = fact("a");
        new.content = Some("x".repeat(length));
        let encoded = new.encode(Origin::Host, SUITE).unwrap();
        assert_eq!(encoded.content.is_some(), own_record, "{length}");
        let object = decoded(&new, Origin::Host);
        assert_eq!(object.content().map(str::len), Some(length));
        assert_eq!(object.content_digest().is_some(), own_record);
        assert_eq!(encoded.into_object().content(), object.content());
    }
    let mut new = fact("a");
    new.content = Some("x".repeat((16 << 20) + 1));
    assert_eq!(
        refusal(&new),
        "object \"a\": the content is too large: it has 16777217 bytes"
    );
}

#[test]
fn an_object_without_its_content_record_is_not_taken_for_one_without_content() {
    let mut new = fact("a");
    new.content = Some("x".repeat(5000));
    let encoded = new.encode(Origin::Host, SUITE).unwrap();
    let object = Object::decode(encoded.bytes.into(), SUITE).unwrap();
    assert!(object.lacks_content());
    assert_eq!(object.to_new().unwrap_err().kind(), ErrorKind::Internal);
    let object = object.with_content(encoded.content.unwrap().1.into());
    assert!(!object.lacks_content());
    assert_eq!(object.to_new().unwrap(), new);
    assert!(!decoded(&fact("a"), Origin::Host).lacks_content());
}

#[test]
fn canonical_bytes_have_a_limit() {
    let bytes_of = |length: usize| {
        let mut new = fact("a");
        new.reserved.insert(0x8001, vec![0; length]);
        new
    };
    let overhead = bytes_of(0).encode(Origin::Host, SUITE).unwrap().bytes.len();
    let most = bytes_of(OBJECT_BYTES_MAX - overhead);
    assert_eq!(decoded(&most, Origin::Host).bytes().len(), OBJECT_BYTES_MAX);
    let more = bytes_of(OBJECT_BYTES_MAX - overhead + 1);
    assert_eq!(
        refusal(&more),
        "object \"a\": the object is too large: it has 1048577 bytes without its content"
    );
    assert!(refusal(&bytes_of(OBJECT_BYTES_MAX + 1)).contains("the reserved field 0x8001 has 1048577 bytes"));

    let mut attributes = fact("a");
    attributes.attributes.insert("t", "x".repeat(OBJECT_BYTES_MAX));
    assert!(refusal(&attributes).contains("the attributes have more than 1048576 bytes"));
    attributes
        .attributes
        .insert("t", vec![Value::Null; OBJECT_BYTES_MAX]);
    assert!(refusal(&attributes).contains("the attributes have more than 1048576 bytes"));

    let mut lineage = fact("a");
    lineage.derived_from = vec![ObjectDigest::from_bytes([7; 32]); 40_000];
    assert!(refusal(&lineage).contains("the object is derived from too many versions: 40000"));
}

#[test]
fn lineage_is_a_set() {
    let digest = |byte| ObjectDigest::from_bytes([byte; 32]);
    let mut new = fact("a");
    new.derived_from = vec![digest(3), digest(1), digest(3), digest(2)];
    let object = decoded(&new, Origin::Host);
    assert_eq!(
        object.derived_from().collect::<Vec<_>>(),
        [digest(1), digest(2), digest(3)]
    );
    new.derived_from = vec![digest(1), digest(2), digest(3)];
    assert_eq!(decoded(&new, Origin::Host).digest(), object.digest());
}

#[test]
fn reserved_fields_are_kept_and_must_be_ignorable() {
    let mut new = fact("a");
    new.reserved.insert(0x8001, vec![1, 2]);
    new.reserved.insert(0xffff, Vec::new());
    let object = decoded(&new, Origin::Host);
    assert_eq!(object.reserved(0x8001), Some(&[1, 2][..]));
    assert_eq!(object.reserved(0xffff), Some(&[][..]));
    assert_eq!((object.reserved(0x8002), object.reserved(1)), (None, None));
    assert_eq!(object.to_new().unwrap(), new);
    new.reserved.insert(0x0009, Vec::new());
    assert!(refusal(&new).contains("the reserved field 0x0009 does not have the ignorable bit"));
}

#[test]
fn null_attributes_are_absent() {
    let mut new = fact("a");
    new.attributes.insert("kept", Value::List(vec![Value::Null]));
    new.attributes.insert("gone", 1_i64);
    assert_eq!(
        new.attributes.insert("gone", Value::Null),
        Some(Value::Integer(1))
    );
    assert_eq!(new.attributes.len(), 1);
    let collected: Attributes = [("a".to_owned(), Value::Null)].into_iter().collect();
    let converted = Attributes::from(std::collections::BTreeMap::from([("a".to_owned(), Value::Null)]));
    assert!(collected.is_empty() && converted.is_empty());
    assert_eq!(decoded(&new, Origin::Host).attributes(), new.attributes);
}

#[test]
fn the_same_meaning_again_is_seen_whatever_the_origin() {
    let mut new = fact("a");
    new.content = Some("x".repeat(5000));
    new.expires = Some(Time::from_micros(1));
    let old = decoded(&new, Origin::Import);
    for origin in Origin::ALL {
        let again = new.encode(origin, SUITE).unwrap();
        assert!(again.same_meaning(&old));
        assert_eq!(again.digest == old.digest(), origin == Origin::Import);
    }
    assert!(old.same_meaning(&new, SUITE).unwrap());
    let mut other = new.clone();
    other.expires = Some(Time::from_micros(2));
    assert!(!old.same_meaning(&other, SUITE).unwrap());
    other.expires = None;
    assert!(!old.same_meaning(&other, SUITE).unwrap());
    let mut content = new.clone();
    content.content = Some("y".repeat(5000));
    assert!(!old.same_meaning(&content, SUITE).unwrap());
}

//! Test vectors of objects: encodings, digests, and encodings that must be refused.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use treering::inspect::digest::{ObjectDigest, to_hex};
use treering::inspect::object::{Id, Kind, NewObject, Object, Origin, Position, Scope, Time, Value};

use super::{Invalid, SUITES, altered, check_file, encoding, for_each_hash, refusals};

fn named(id: &str) -> NewObject {
    NewObject::new(Id::new(id).unwrap(), Kind::new("fact").unwrap())
}

fn with(id: &str, change: impl FnOnce(&mut NewObject)) -> NewObject {
    let mut new = named(id);
    change(&mut new);
    new
}

fn every_value() -> Value {
    let floats = [
        0.0,
        1.5,
        -1e300,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ]
    .map(Value::Float);
    let integers = [0, -1, i64::MIN, i64::MAX].map(Value::Integer);
    let keys = ["", "B", "a", "aa", "b", "\u{e9}", "\u{1f332}"].map(|key| format!("k{key}"));
    Value::List(vec![
        Value::Null,
        true.into(),
        false.into(),
        integers.to_vec().into(),
        floats.to_vec().into(),
        "".into(),
        "a\nb\u{0}".into(),
        Value::List(Vec::new()),
        Value::Map(BTreeMap::new()),
        Value::Map(keys.into_iter().map(|key| (key, Value::Null)).collect()),
    ])
}

fn valid() -> Vec<(&'static str, Origin, NewObject)> {
    let nested = (1..32).fold(Value::Integer(7), |value, _| Value::List(vec![value]));
    let mut all = vec![
        ("least", Origin::DirectUser, named("a")),
        (
            "scope",
            Origin::Host,
            with("a", |new| new.scope = Scope::new("session").unwrap()),
        ),
        (
            "below another, in order",
            Origin::Model,
            with("a", |new| {
                new.parent = Some(Id::new("b").unwrap());
                new.position = Some(Position::new("a5").unwrap());
            }),
        ),
        (
            "empty content",
            Origin::ToolInternal,
            with("a", |new| new.content = Some(String::new())),
        ),
        (
            "largest inline content",
            Origin::Document,
            with("a", |new| new.content = Some("x".repeat(4096))),
        ),
        (
            "smallest content record",
            Origin::Document,
            with("a", |new| new.content = Some("x".repeat(4097))),
        ),
        (
            "every value",
            Origin::Import,
            with("a", |new| drop(new.attributes.insert("v", every_value()))),
        ),
        (
            "values 32 deep",
            Origin::Host,
            with("a", |new| drop(new.attributes.insert("v", nested))),
        ),
    ];
    all.extend(valid_rarities());
    all
}

fn valid_rarities() -> Vec<(&'static str, Origin, NewObject)> {
    let digest = |byte| ObjectDigest::from_bytes([byte; 32]);
    let text = "na\u{ef}ve \u{4f60}\u{597d} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f332}";
    vec![
        (
            "derived, dated, with an end",
            Origin::ToolExternal,
            with("a", |new| {
                new.derived_from = vec![digest(1), digest(2)];
                new.event_time = Some(Time::from_micros(-1));
                new.expires = Some(Time::from_micros(i64::MAX));
            }),
        ),
        (
            "reserved fields",
            Origin::Host,
            with("a", |new| {
                new.reserved = [
                    (0x8001, vec![1, 2, 3]),
                    (0x8002, b"text/plain".to_vec()),
                    (0xffff, vec![]),
                ]
                .into();
            }),
        ),
        (
            "text of many scripts",
            Origin::Host,
            with(text, |new| {
                new.kind = Kind::new(text).unwrap();
                new.scope = Scope::new(text).unwrap();
                new.content = Some(text.to_owned());
                new.attributes.insert(text, text);
            }),
        ),
    ]
}

/// Returns a value as plain JSON. Wraps floats, because JSON cannot express bit patterns, and maps, so that a map is
/// not confused with a wrapper.
fn value_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Float(value) => {
            let bits = if value.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                value.to_bits()
            };
            json!({"float": format!("{bits:016x}")})
        }
        Value::Text(text) => text.as_str().into(),
        Value::List(values) => values.iter().map(value_json).collect(),
        Value::Map(entries) => json!({"map": entries_json(entries.iter())}),
    }
}

fn entries_json<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>) -> Json {
    entries
        .map(|(key, value)| (key.clone(), value_json(value)))
        .collect()
}

fn object_json(object: &Object) -> Json {
    let new = object.to_new().unwrap();
    let mut fields = serde_json::Map::new();
    let mut put = |name: &str, value: Json| drop(fields.insert(name.to_owned(), value));
    put("id", object.id().as_str().into());
    put("kind", object.kind().into());
    put("scope", object.scope().into());
    put("parent", object.parent().into());
    put("position", object.position().into());
    put("attributes", entries_json(new.attributes.iter()));
    put("content", object.content().into());
    put("origin", object.origin().to_string().into());
    put(
        "derived_from",
        object.derived_from().map(ObjectDigest::to_hex).collect(),
    );
    put("event_time", object.event_time().map(Time::as_micros).into());
    put("expires", object.expires().map(Time::as_micros).into());
    put(
        "reserved",
        new.reserved
            .iter()
            .map(|(tag, bytes)| (format!("{tag:#06x}"), Json::from(to_hex(bytes))))
            .collect(),
    );
    fields.into()
}

fn valid_json(name: &str, origin: Origin, new: &NewObject) -> Json {
    let encoded = for_each_hash(|suite| {
        let encoded = new.encode(origin, suite).unwrap();
        let content = encoded.content.as_ref().map(|(digest, _)| digest.to_hex());
        json!({"bytes": to_hex(&encoded.bytes), "digest": encoded.digest.to_hex(), "content_digest": content})
    });
    // The fields in the vector come from decoding the bytes, not from the input.
    let encoded_object = new.encode(origin, SUITES[0]).unwrap();
    let object = Object::decode(encoded_object.bytes.clone().into(), SUITES[0]).unwrap();
    assert_eq!(object.digest(), encoded_object.digest);
    let object = match encoded_object.content {
        Some((_, content)) => object.with_content(content.into()),
        None => object,
    };
    let mut all = json!({"name": name, "object": object_json(&object)});
    all.as_object_mut()
        .unwrap()
        .extend(encoded.as_object().unwrap().clone());
    all
}

fn base() -> Vec<(u16, Vec<u8>)> {
    vec![
        (1, b"a".to_vec()),
        (2, b"fact".to_vec()),
        (3, b"global".to_vec()),
        (10, vec![1]),
    ]
}

fn attributes(count: u32, entries: &[u8]) -> Vec<u8> {
    [&count.to_le_bytes()[..], entries].concat()
}

/// Returns the encoding of one attribute: its name, then the bytes of its value.
fn entry(name: &[u8], value: &[u8]) -> Vec<u8> {
    [&u32::try_from(name.len()).unwrap().to_le_bytes()[..], name, value].concat()
}

fn float(bits: u64) -> Vec<u8> {
    attributes(1, &entry(b"v", &[&[4][..], &bits.to_le_bytes()].concat()))
}

fn of(why: &'static str, bytes: Vec<u8>, error: &'static str) -> Invalid {
    Invalid { why, bytes, error }
}

/// Returns the encoding of an object in which only one field is invalid.
fn set(why: &'static str, tag: u16, field: &[u8], error: &'static str) -> Invalid {
    of(why, altered(&base(), tag, Some(field.to_vec())), error)
}

/// Returns the encoding of an object in which only one required field is missing.
fn without(why: &'static str, tag: u16, error: &'static str) -> Invalid {
    of(why, altered(&base(), tag, None), error)
}

fn invalid() -> Vec<Invalid> {
    let groups = [
        invalid_frames(),
        invalid_names(),
        invalid_fields(),
        invalid_orders_and_contents(),
        invalid_attributes(),
        invalid_values(),
    ];
    groups.into_iter().flatten().collect()
}

fn invalid_frames() -> Vec<Invalid> {
    vec![
        of("nothing at all", vec![], "1 bytes are needed, but 0 are left"),
        of(
            "version 0",
            encoding(0, &base()),
            "encoding version 0 is not known",
        ),
        of(
            "version 2",
            encoding(2, &base()),
            "encoding version 2 is not known",
        ),
        without("no id", 1, "tag 0x0001 is missing"),
        without("no kind", 2, "tag 0x0002 is missing"),
        without("no scope", 3, "tag 0x0003 is missing"),
        without("no origin", 10, "tag 0x000a is missing"),
    ]
}

fn invalid_names() -> Vec<Invalid> {
    vec![
        set("an empty id", 1, b"", "an id is empty"),
        set("an id of 257 bytes", 1, &[b'x'; 257], "an id is too long"),
        set(
            "a line break in an id",
            1,
            b"a\nb",
            "an id contains a control character",
        ),
        set(
            "U+0085 in an id",
            1,
            "a\u{85}".as_bytes(),
            "an id contains a control character",
        ),
        set(
            "an id that is not NFC",
            1,
            "e\u{301}".as_bytes(),
            "an id is not in normal form NFC",
        ),
        set("an id that is not UTF-8", 1, &[0xff], "text is not UTF-8"),
        set(
            "a surrogate in an id",
            1,
            &[0xed, 0xa0, 0x80],
            "text is not UTF-8",
        ),
        set("an empty kind", 2, b"", "a kind is empty"),
        set("a kind of 65 bytes", 2, &[b'x'; 65], "a kind is too long"),
        set("an empty scope", 3, b"", "a scope is empty"),
        set("a scope of 129 bytes", 3, &[b'x'; 129], "a scope is too long"),
        set("an empty parent", 4, b"", "an id is empty"),
        set(
            "a parent that is not NFC",
            4,
            "e\u{301}".as_bytes(),
            "an id is not in normal form NFC",
        ),
        set("its own parent", 4, b"a", "an object is its own parent"),
        set("an empty position", 5, b"", "a position is empty"),
        set("a position of 65 bytes", 5, &[b'x'; 65], "a position is too long"),
        set(
            "U+007F in a position",
            5,
            b"\x7f",
            "a position contains a control character",
        ),
    ]
}

fn invalid_fields() -> Vec<Invalid> {
    vec![
        set(
            "4,097 bytes of content inline",
            7,
            &[b'x'; 4097],
            "a content above the limit is inline",
        ),
        set("content that is not UTF-8", 7, &[0xc0, 0x80], "text is not UTF-8"),
        set(
            "the reserved field content_chunks",
            9,
            b"",
            "tag 0x0009 is not known",
        ),
        set("an unknown field", 14, b"", "tag 0x000e is not known"),
        set(
            "the highest field that may not be ignored",
            0x7fff,
            b"",
            "tag 0x7fff is not known",
        ),
        set("origin 0", 10, &[0], "an origin is not known"),
        set("origin 8", 10, &[8], "an origin is not known"),
        set(
            "an origin of two bytes",
            10,
            &[1, 0],
            "a field has the wrong length",
        ),
        set(
            "an empty lineage",
            11,
            b"",
            "a lineage is empty or has a partial digest",
        ),
        set(
            "half a digest in a lineage",
            11,
            &[1; 48],
            "a lineage is empty or has a partial digest",
        ),
        set(
            "a digest twice in a lineage",
            11,
            &[1; 64],
            "the digests of a lineage are not in ascending order",
        ),
        set(
            "a lineage that falls",
            11,
            [[2; 32], [1; 32]].as_flattened(),
            "the digests of a lineage are not in ascending order",
        ),
        set(
            "an event time of 4 bytes",
            12,
            &[0; 4],
            "a field has the wrong length",
        ),
        set("an empty end", 13, b"", "a field has the wrong length"),
    ]
}

fn invalid_orders_and_contents() -> Vec<Invalid> {
    let mut twice = base();
    twice.insert(1, (1, b"a".to_vec()));
    let mut falling = base();
    falling.swap(0, 1);
    let mut zero = base();
    zero.insert(0, (0, vec![]));
    let record = |length: u64| [&[7; 32][..], &length.to_le_bytes()].concat();
    let mut two_contents = base();
    two_contents.insert(3, (8, record(5000)));
    two_contents.insert(3, (7, b"x".to_vec()));
    let cut = encoding(1, &base());
    let of_length = |why, length| Invalid {
        why,
        bytes: altered(&base(), 8, Some(record(length))),
        error: "a content record has a length that is out of bounds",
    };
    vec![
        of("a field twice", encoding(1, &twice), "tag 0x0001 is out of order"),
        of(
            "fields out of order",
            encoding(1, &falling),
            "tag 0x0001 is out of order",
        ),
        of("tag 0", encoding(1, &zero), "tag 0x0000 is out of order"),
        of(
            "a field cut short",
            cut[..cut.len() - 1].to_vec(),
            "1 bytes are needed, but 0 are left",
        ),
        of(
            "a byte after the last field",
            [&cut[..], &[0]].concat(),
            "2 bytes are needed, but 1 are left",
        ),
        of(
            "two contents",
            encoding(1, &two_contents),
            "an object has two contents",
        ),
        of_length("a content record of 4,096 bytes", 4096),
        of_length("a content record of more than 16 MiB", (16 << 20) + 1),
        of(
            "half a content record",
            altered(&base(), 8, Some(vec![7; 32])),
            "a field has the wrong length",
        ),
    ]
}

/// Returns the encoding of an object in which only the attributes are invalid.
fn bad(why: &'static str, field: Vec<u8>, error: &'static str) -> Invalid {
    of(why, altered(&base(), 6, Some(field)), error)
}

fn one(name: &[u8], value: &[u8]) -> Vec<u8> {
    attributes(1, &entry(name, value))
}

fn two(a: &[u8], b: &[u8]) -> Vec<u8> {
    let integer = [3, 0, 0, 0, 0, 0, 0, 0, 0];
    attributes(2, &[entry(a, &integer), entry(b, &[2, 1])].concat())
}

fn invalid_attributes() -> Vec<Invalid> {
    let inner = [&[7][..], &two(b"b", b"a")].concat();
    vec![
        bad("no attributes", attributes(0, b""), "the attributes are empty"),
        bad(
            "attributes without a count",
            vec![],
            "4 bytes are needed, but 0 are left",
        ),
        bad("a null attribute", one(b"v", &[1]), "an attribute is null"),
        bad(
            "a nameless attribute",
            one(b"", &[2, 1]),
            "an attribute name or map key is empty",
        ),
        bad(
            "a name of 257 bytes",
            one(&[b'k'; 257], &[2, 1]),
            "an attribute name or map key is too long",
        ),
        bad(
            "a tab in a name",
            one(b"\t", &[2, 1]),
            "an attribute name or map key contains a control character",
        ),
        bad(
            "a name that is not UTF-8",
            one(&[0xff], &[2, 1]),
            "text is not UTF-8",
        ),
        bad(
            "names that fall",
            two(b"b", b"a"),
            "the keys of a map are not in ascending order",
        ),
        bad(
            "a name twice",
            two(b"a", b"a"),
            "the keys of a map are not in ascending order",
        ),
        bad(
            "keys that fall in an inner map",
            one(b"v", &inner),
            "the keys of a map are not in ascending order",
        ),
    ]
}

fn invalid_values() -> Vec<Invalid> {
    const BAD_FLOAT: &str = "a float is not in its canonical form";
    let mut deep = [6, 1, 0, 0, 0].repeat(32);
    deep.push(1);
    vec![
        bad("value type 0", one(b"v", &[0]), "a value has an unknown type"),
        bad("value type 8", one(b"v", &[8]), "a value has an unknown type"),
        bad(
            "a boolean of 2",
            one(b"v", &[2, 2]),
            "a boolean is neither 0 nor 1",
        ),
        bad(
            "an integer cut short",
            one(b"v", &[3, 0]),
            "8 bytes are needed, but 1 are left",
        ),
        bad("negative zero", float(0x8000_0000_0000_0000), BAD_FLOAT),
        bad("another NaN", float(0x7ff8_0000_0000_0001), BAD_FLOAT),
        bad("a negative NaN", float(0xfff8_0000_0000_0000), BAD_FLOAT),
        bad(
            "text that is not UTF-8",
            one(b"v", &[5, 1, 0, 0, 0, 0xff]),
            "text is not UTF-8",
        ),
        bad(
            "text longer than the field",
            one(b"v", &[5, 2, 0, 0, 0, b'x']),
            "2 bytes are needed, but 1 are left",
        ),
        bad(
            "a list of more than there is",
            one(b"v", &[6, 0xff, 0xff, 0xff, 0xff]),
            "1 bytes are needed, but 0 are left",
        ),
        bad("values 33 deep", one(b"v", &deep), "a value is nested too deep"),
        bad(
            "a byte after the last attribute",
            [one(b"v", &[2, 1]), vec![0]].concat(),
            "1 bytes too many",
        ),
    ]
}

#[test]
fn object_vectors() {
    let valid: Json = valid()
        .iter()
        .map(|(name, origin, new)| valid_json(name, *origin, new))
        .collect();
    let invalid = refusals(invalid(), |bytes| {
        Object::decode(bytes.to_vec().into(), SUITES[0])
    });
    check_file("object.json", &json!({"valid": valid, "invalid": invalid}));
}

#[test]
fn an_object_of_more_than_1_mib_is_refused() {
    let bytes = altered(&base(), 0x8001, Some(vec![0; 1 << 20]));
    let error = Object::decode(bytes.into(), SUITES[0]).unwrap_err();
    assert_eq!(error.to_string(), "an object is larger than 1 MiB");
}

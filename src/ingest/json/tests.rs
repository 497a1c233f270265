//! Tests of JSON in both directions, and of refused input.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::object::{Id, Kind, NewObject, Origin, Position, Scope, Time};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Float),
        prop_oneof![
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(-0.0),
            Just(1e16)
        ]
        .prop_map(Value::Float),
        ".{0,12}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = prop_oneof![
            "[a-z]{1,4}",
            Just("$float".to_owned()),
            Just("$map".to_owned()),
            Just("$x".to_owned())
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            prop::collection::btree_map(key, inner, 0..3).prop_map(Value::Map),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Tests ING-5, also with the JSON written as text.
    #[test]
    fn a_value_written_is_read_back(value in any_value()) {
        let text = value_to_json(&value).to_string();
        prop_assert_eq!(value_from_json(parse(&text).unwrap()).unwrap(), value);
    }

    #[test]
    fn an_object_written_is_read_back(
        values in prop::collection::btree_map("[a-z$]{1,6}", any_value(), 0..5),
        content in prop::option::of(".{0,40}"),
        micros in prop::option::of(any::<i64>()),
        reserved in prop::collection::btree_map(0x8000_u16.., prop::collection::vec(any::<u8>(), 0..5), 0..3),
        full in any::<bool>(),
    ) {
        let mut object = NewObject::new(Id::new("a \"quoted\" id").unwrap(), Kind::new("k").unwrap());
        object.attributes = values.into();
        object.content = content;
        object.event_time = micros.map(Time::from_micros);
        object.expires = object.event_time;
        object.reserved = reserved;
        if full {
            object.scope = Scope::new("s").unwrap();
            object.parent = Some(Id::new("p").unwrap());
            object.position = Some(Position::new("x").unwrap());
            object.derived_from = vec![crate::digest::ObjectDigest::from_bytes([7; 32])];
        }
        let text = object_to_json(&object, Origin::Import).to_string();
        let read = object_from_json(parse(&text).unwrap()).unwrap();
        prop_assert_eq!(read, ObjectLine { object, origin: Some(Origin::Import), has_scope: true, past: false });
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,80}|[{}\\[\\]\",:0-9.eE+\\\\$-]{0,60}") {
        if let Ok(json) = parse(&text) {
            drop::<Result<Value>>(value_from_json(json.clone()));
            drop::<Result<ObjectLine>>(object_from_json(json));
        }
    }
}

#[test]
fn what_json_cannot_say_is_marked_and_what_looks_marked_is_quoted() {
    let written = |value: Value| value_to_json(&value).to_string();
    assert_eq!(written(Value::Float(f64::NAN)), r#"{"$float":"nan"}"#);
    let map = |key: &str, value: Value| Value::Map(BTreeMap::from([(key.to_owned(), value)]));
    assert_eq!(
        written(map("$float", Value::from("nan"))),
        r#"{"$map":{"$float":"nan"}}"#
    );
    assert_eq!(written(map("a", Value::Null)), r#"{"a":null}"#);
    assert_eq!(
        value_from_json(json!({"$ref": "x"})).unwrap(),
        map("$ref", Value::from("x"))
    );
    assert!(value_from_json(json!({"$float": "1.5"})).is_err());
    assert!(value_from_json(json!({"$map": 1})).is_err());
}

#[test]
fn integers_are_kept_or_refused_never_rounded() {
    let value = |text: &str| value_from_json(parse(text).unwrap()).unwrap();
    assert_eq!(value("9223372036854775807"), Value::Integer(i64::MAX));
    assert_eq!(value("-9223372036854775808"), Value::Integer(i64::MIN));
    assert_eq!(value("1.0"), Value::Float(1.0));
    assert_eq!(value("1e3"), Value::Float(1000.0));
    for large in [
        "9223372036854775808",
        "-9223372036854775809",
        "[1, 100000000000000000000000000]",
        r#"{"a\"1":18446744073709551616}"#,
    ] {
        assert!(parse(large).unwrap_err().message().contains("64 bits"), "{large}");
    }
    assert!(
        parse(r#"{"a\"": "18446744073709551616"}"#).is_ok(),
        "text is no integer"
    );
    assert!(parse("1e999").is_err());
}

#[test]
fn an_error_names_a_column_of_the_text_or_none() {
    for empty in ["", " \r\n"] {
        let error = parse(empty).unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        assert_eq!(error.message(), "not valid JSON: the text is empty");
    }
    let cut = parse("{\n").unwrap_err();
    assert!(cut.message().starts_with("not valid JSON at column 1: "), "{cut}");
}

#[test]
fn ing_6_a_key_twice_and_deep_nesting_are_refused() {
    assert!(
        parse(r#"{"a":{"b":1,"b":2}}"#)
            .unwrap_err()
            .message()
            .contains("`b` is repeated")
    );
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(value_from_json(parse(&nested(VALUE_DEPTH_MAX)).unwrap()).is_ok());
    assert!(value_from_json(parse(&nested(VALUE_DEPTH_MAX + 1)).unwrap()).is_err());
    assert!(parse(&nested(100_000)).is_err());
}

#[test]
fn an_object_line_names_the_field_that_is_wrong() {
    let message = |json: Json| object_from_json(json).unwrap_err().message().to_owned();
    assert_eq!(message(json!({"kind": "k"})), "the field `id` is missing");
    assert_eq!(
        message(json!({"id": "a", "kind": "k", "parent": 1})),
        "field `parent`: the value is not text"
    );
    assert_eq!(
        message(json!({"id": "a", "kind": "k", "origin": "me"})),
        "field `origin`: `me` is not an origin"
    );
    assert_eq!(
        message(json!({"id": "a", "kind": "k", "derived_from": ["00"]})),
        "field `derived_from`: a digest is not 64 lower-case hexadecimal digits"
    );
    assert!(
        message(json!({"id": "a", "kind": "k", "attributes": {"n": u64::MAX}}))
            .starts_with("field `attributes`: attribute `n`: the integer")
    );
    assert!(object_from_json(json!({"id": "a", "kind": "k", "content": null, "parent": null})).is_ok());
}

#[test]
fn times_of_others_are_in_utc_where_they_name_no_zone() {
    let read = |text: &str| loose_time_from_json(&json!(text)).ok().map(Time::as_micros);
    let whole = read("2026-01-31T08:15:00Z");
    assert!(whole.is_some());
    assert_eq!(read("2026-01-31T08:15"), whole);
    assert_eq!(read("2026-01-31T08:15:00"), whole);
    assert_eq!(read("2026-01-31T09:15:00+01:00"), whole);
    assert_eq!(read("2026-01-31"), read("2026-01-31T00:00:00Z"));
    assert_eq!(loose_time_from_json(&json!(5)).unwrap().as_micros(), 5_000_000);
    for bad in ["", "2026-02-30", "soon", "2026-01-31T08", "08:15"] {
        assert_eq!(read(bad), None, "{bad}");
    }
}

//! Tests of values: depth, floats, equality and keys.

use super::super::value::{Keep, read_value};
use super::*;
use crate::codec::{DecodeError, Reader};
use crate::testing::random::SplitMix64;

fn nested(depth: usize, wrap: impl Fn(Value) -> Value) -> NewObject {
    let mut new = fact("a");
    let value = (1..depth).fold(Value::from(1_i64), |value, _| wrap(value));
    new.attributes.insert("v", value);
    new
}

#[test]
fn val_2_values_nest_32_deep_and_no_deeper() {
    let list = |value| Value::List(vec![value]);
    let map = |value| Value::Map([("k".to_owned(), value)].into());
    for depth in [1, 31, 32] {
        assert_eq!(
            decoded(&nested(depth, list), Origin::Host).to_new().unwrap(),
            nested(depth, list)
        );
        assert_eq!(
            decoded(&nested(depth, map), Origin::Host).to_new().unwrap(),
            nested(depth, map)
        );
    }
    for depth in [33, 1000] {
        for error in [nested(depth, list), nested(depth, map)].map(|new| new.encode(Origin::Host, SUITE)) {
            assert_eq!(
                error.unwrap_err().message(),
                "object \"a\": a value is nested more than 32 deep"
            );
        }
    }
}

#[test]
fn val_2_reading_stops_at_the_bound() {
    // Lists that are nested 100,000 deep.
    let bytes = [6, 1, 0, 0, 0].repeat(100_000);
    for keep in [Keep::Value, Keep::Nothing] {
        let error = read_value(&mut Reader::new(&bytes), 1, keep).unwrap_err();
        assert_eq!(error, DecodeError::Invalid("a value is nested too deep"));
    }
}

#[test]
fn val_1_floats_have_one_form() {
    let with = |float: f64| {
        let mut new = fact("a");
        new.attributes.insert("v", float);
        new.encode(Origin::Host, SUITE).unwrap().bytes
    };
    assert_eq!(with(0.0), with(-0.0));
    for bits in [
        0x7ff8_0000_0000_0001,
        0xfff8_0000_0000_0000,
        0x7ff0_0000_0000_0001_u64,
    ] {
        assert_eq!(with(f64::from_bits(bits)), with(f64::NAN));
        assert_eq!(Value::Float(f64::from_bits(bits)), Value::Float(f64::NAN));
    }
    assert_ne!(with(1.0), with(1.0 + f64::EPSILON));
    for bits in [
        0x8000_0000_0000_0000,
        0x7ff8_0000_0000_0001,
        0xfff8_0000_0000_0000_u64,
    ] {
        let bytes = [&[4][..], &bits.to_le_bytes()].concat();
        let error = read_value(&mut Reader::new(&bytes), 1, Keep::Value).unwrap_err();
        assert_eq!(
            error,
            DecodeError::Invalid("a float is not in its canonical form")
        );
    }
}

#[test]
fn values_are_equal_if_their_encodings_are() {
    let values = [
        Value::Null,
        false.into(),
        0_i64.into(),
        0.0.into(),
        "".into(),
        Value::List(Vec::new()),
        Value::Map([].into()),
    ];
    for (index, a) in values.iter().enumerate() {
        for (other, b) in values.iter().enumerate() {
            assert_eq!(a == b, index == other, "{a:?} {b:?}");
        }
    }
    assert_eq!(Value::from(-0.0), Value::from(0.0));
}

#[test]
fn checking_accepts_what_reading_accepts() {
    let mut random = SplitMix64::new(21);
    let mut accepted = 0;
    for _ in 0..200_000 {
        let mut bytes: Vec<u8> = (0..random.below(24))
            .map(|_| *random.pick(&[0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, b'a', b'b']))
            .collect();
        if let Some(first) = bytes.first_mut() {
            *first = 1 + random.below(7) as u8;
        }
        let (mut check, mut read) = (Reader::new(&bytes), Reader::new(&bytes));
        let checked = read_value(&mut check, 1, Keep::Nothing).map(|_| ());
        let value = read_value(&mut read, 1, Keep::Value);
        assert_eq!(
            checked,
            value.as_ref().map(|_| ()).map_err(Clone::clone),
            "{bytes:?}"
        );
        assert_eq!(check.left(), read.left());
        accepted += usize::from(value.is_ok());
    }
    assert!(accepted > 20_000, "{accepted}");
}

#[test]
fn keys_keep_their_rules() {
    let with = |key: &str| {
        let mut new = fact("a");
        new.attributes.insert(key, 1_i64);
        new.encode(Origin::Host, SUITE)
    };
    assert!(with(&"k".repeat(256)).is_ok());
    for (key, message) in [
        (
            String::new(),
            "object \"a\": an attribute name or map key is empty",
        ),
        (
            "k".repeat(257),
            "object \"a\": an attribute name or map key of 257 bytes is too long",
        ),
        (
            "a\tb".to_owned(),
            "object \"a\": an attribute name or map key contains the control character U+0009 at byte 1",
        ),
    ] {
        assert_eq!(with(&key).unwrap_err().message(), message);
    }
    let mut inner = fact("a");
    inner
        .attributes
        .insert("k", Value::Map([(String::new(), Value::Null)].into()));
    assert!(inner.encode(Origin::Host, SUITE).is_err());
}

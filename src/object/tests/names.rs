//! Tests of the rules and limits of ids, kinds, scopes and positions.

use super::*;
use crate::error::ErrorKind;

fn refusal(result: crate::error::Result<Id>) -> (String, String) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    (error.message().to_owned(), error.hint().unwrap().to_owned())
}

#[test]
fn an_error_names_the_rule_that_an_id_breaks() {
    assert_eq!(refusal(Id::new("")).0, "an id is empty");
    let (message, hint) = refusal(Id::new(&"\u{e9}".repeat(129)));
    assert_eq!(message, "an id of 258 bytes is too long");
    assert!(hint.contains("256"));
    assert_eq!(
        refusal(Id::new("ab\u{e9}\ncd")).0,
        "an id contains the control character U+000A at byte 4"
    );
    assert_eq!(
        refusal(Id::new("\u{9f}")).0,
        "an id contains the control character U+009F at byte 0"
    );
    let (message, hint) = refusal(Id::new("e\u{301}"));
    assert_eq!(message, "an id is not in Unicode normal form NFC");
    assert!(hint.contains("normalise"));
}

#[test]
fn limits_are_exact() {
    for (bytes, valid) in [(1, true), (256, true), (257, false)] {
        assert_eq!(Id::new(&"x".repeat(bytes)).is_ok(), valid);
    }
    assert!(Kind::new(&"x".repeat(64)).is_ok() && Kind::new(&"x".repeat(65)).is_err());
    assert!(Scope::new(&"x".repeat(128)).is_ok() && Scope::new(&"x".repeat(129)).is_err());
    assert!(Position::new(&"x".repeat(64)).is_ok() && Position::new(&"x".repeat(65)).is_err());
    assert!(Kind::new("").is_err() && Scope::new("").is_err() && Position::new("").is_err());
    assert_eq!(
        (
            Id::RULE.bytes_max,
            Kind::RULE.bytes_max,
            Scope::RULE.bytes_max,
            Position::RULE.bytes_max
        ),
        (256, 64, 128, 64)
    );
}

#[test]
fn every_control_character_is_refused_and_its_neighbours_are_not() {
    for point in 0..0x250_u32 {
        let character = char::from_u32(point).unwrap();
        let control = point < 0x20 || (0x7f..0xa0).contains(&point);
        assert_eq!(
            Kind::new(&format!("a{character}b")).is_err(),
            control,
            "U+{point:04X}"
        );
        assert_eq!(
            Id::new(&format!("a{character}b")).is_err(),
            control,
            "U+{point:04X}"
        );
    }
}

#[test]
fn only_ids_are_bound_to_one_normal_form() {
    let decomposed = "e\u{301}";
    assert!(Kind::new(decomposed).is_ok() && Scope::new(decomposed).is_ok());
    assert!(Position::new(decomposed).is_ok());
}

#[test]
fn names_are_texts() {
    let id: Id = "a b/../c".parse().unwrap();
    assert_eq!(
        (id.as_str(), id.to_string().as_str(), id.as_ref()),
        ("a b/../c", "a b/../c", "a b/../c")
    );
    assert_eq!(format!("{id:?}"), "Id(\"a b/../c\")");
    let map = std::collections::HashMap::from([(id, 1)]);
    assert_eq!(map.get("a b/../c"), Some(&1));
    assert_eq!(Scope::default().as_str(), "global");
}

#[test]
fn least_origin_never_raises_trust() {
    for a in Origin::ALL {
        for b in Origin::ALL {
            let least = Origin::least(a, b);
            assert!(least == a || least == b);
            assert_eq!(least.is_trusted(), a.is_trusted() && b.is_trusted());
            if !a.is_trusted() && !b.is_trusted() {
                assert_eq!(least, a);
            } else {
                assert_eq!(least.tag(), a.tag().max(b.tag()));
                assert_eq!(least, Origin::least(b, a));
            }
        }
        assert_eq!(Origin::from_name(a.name()), Some(a));
        assert_eq!(Origin::from_tag(a.tag()), Some(a));
    }
    assert_eq!(Origin::ALL.map(Origin::tag), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        (
            Origin::from_tag(0),
            Origin::from_tag(8),
            Origin::from_name("user")
        ),
        (None, None, None)
    );
}

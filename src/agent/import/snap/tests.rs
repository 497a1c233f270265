//! Tests of reading printed Lisp data, and of its conversion to objects.

use proptest::prelude::*;
use serde_json::json;

use super::lisp::Lisp::*;
use super::lisp::{Cause, DEPTH_MAX, VALUES_MAX};
use super::*;
use crate::agent::import::ForeignFormat;
use crate::ingest::json::attributes_to_json;

fn value(text: &str) -> std::result::Result<Lisp, (usize, Cause)> {
    read(text.as_bytes()).map_err(|error| (error.offset, error.cause))
}

/// The live objects and the earlier versions of a file.
type Tables = (Vec<SnapObject>, Vec<SnapObject>);

/// Returns the objects of a file, and the findings about its entries.
fn snap_of(file: &str) -> (Option<Tables>, Vec<(String, String)>) {
    let mut mapped = Mapped::default();
    let snap = read(file.as_bytes())
        .ok()
        .and_then(|value| tables(value, &mut mapped));
    let findings = mapped.findings.into_iter().map(|one| (one.at, one.what));
    (snap, findings.collect())
}

fn word(name: &str) -> Lisp {
    Word(name.to_owned())
}

fn keyword(name: &str) -> Lisp {
    Keyword(name.to_owned())
}

fn number(number: impl Into<serde_json::Value>) -> Lisp {
    Scalar(number.into())
}

#[test]
fn printed_data_is_read() {
    let cases = [
        ("nil", List(vec![])),
        ("()", List(vec![])),
        (
            "(1 . (2 . (3 . nil)))",
            List(vec![number(1), number(2), number(3)]),
        ),
        ("(1 . 2)", Dotted(vec![number(1)], Box::new(number(2)))),
        (
            "(1 . (2 . 3))",
            Dotted(vec![number(1), number(2)], Box::new(number(3))),
        ),
        ("\"a \\\"b\\\" \\\\ c\nd\"", word("a \"b\" \\ c\nd")),
        ("\"größe 漢字 🚀\"", word("größe 漢字 🚀")),
        (":HEADLINE", keyword("headline")),
        (":headline", keyword("headline")),
        (":|mixed Case|", keyword("mixed case")),
        ("pkg::name", word("name")),
        ("|a(b|", word("a(b")),
        (r"a\ b", word("a b")),
        (r"\1", word("1")),
        ("|NIL|", word("nil")),
        ("#:temp", word("temp")),
        ("t", number(true)),
        ("-12", number(-12)),
        ("+12.", number(12)),
        ("1/2", word("1/2")),
        ("9223372036854775808", word("9223372036854775808")),
        ("1.5d0", number(1.5)),
        ("-.5e1", number(-5.0)),
        ("1e3", number(1000.0)),
        ("1e999", word("1e999")),
        ("1+", word("1+")),
        ("-", word("-")),
        ("1.2.3", word("1.2.3")),
        ("#(1 2)", List(vec![number(1), number(2)])),
        (r"#\a", word("a")),
        (
            r"(#\( #\Space #\U+20AC)",
            List(vec![word("("), word("Space"), word("U+20AC")]),
        ),
        ("'x", List(vec![word("quote"), word("x")])),
        (
            "''x",
            List(vec![word("quote"), List(vec![word("quote"), word("x")])]),
        ),
        (
            "#S(POINT :X 1 :Y nil)",
            List(vec![keyword("x"), number(1), keyword("y"), List(vec![])]),
        ),
        (" \n 5\t", number(5)),
    ];
    for (printed, expected) in cases {
        assert_eq!(value(printed), Ok(expected), "{printed}");
    }
}

#[test]
fn snp_1_what_could_evaluate_is_refused_where_it_stands() {
    let cases = [
        ("#.(delete-file \"x\")", 0),
        ("(:memory (\"a\" . #.(run)))", 16),
        ("(1 #+sbcl 2)", 3),
        ("#-x 1", 0),
        ("#'car", 0),
        ("#1=(a . #1#)", 0),
        ("#,x", 0),
        ("#P\"/etc\"", 0),
        ("#<OBJECT 1>", 0),
        ("#x10", 0),
        ("#*101", 0),
        ("#2A((1))", 0),
        ("# x", 0),
        ("#", 0),
        ("#S x", 0),
        ("`(a ,b)", 0),
        ("(a ,b)", 3),
        ("(ä #.x)", 4),
        ("#| a comment |# 5", 0),
    ];
    for (printed, offset) in cases {
        assert_eq!(value(printed), Err((offset, Cause::Macro)), "{printed}");
    }
    // Inside strings and names, these characters do not begin a reader macro.
    assert!(value("(\"#.x\" |#.x| a#.x)").is_ok());
    let error = read(b"(#.x)").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("byte 1: the file contains a reader macro")
    );
}

#[test]
fn malformed_data_is_refused_where_it_stands() {
    let cases = [
        ("", 0),
        (" ", 0),
        ("; only this", 0),
        ("(1 (2 3)", 0),
        ("(1 (2 3", 3),
        ("(1 \"abc", 3),
        ("\"a\\", 0),
        ("|abc", 0),
        ("'", 0),
        (")", 0),
        ("(')", 2),
        ("(1) 2", 4),
        ("1 )", 2),
        ("(. 1)", 1),
        ("(1 . )", 5),
        ("(1 . 2 3)", 7),
        ("(1 . 2 . 3)", 7),
        ("#(1 . 2)", 0),
        (".", 0),
        ("(..)", 1),
        ("(pkg:)", 1),
        ("(#S())", 1),
        ("(#S(A :x))", 1),
        ("#S(A 1 2)", 0),
    ];
    for (printed, offset) in cases {
        assert_eq!(value(printed), Err((offset, Cause::Malformed)), "{printed}");
    }
    let error = read(b"(\"a\xff\")").unwrap_err();
    assert_eq!((error.offset, error.cause), (3, Cause::NotText));
}

#[test]
fn snp_2_depth_size_and_length_are_bounded() {
    let limit = |offset| Err((offset, Cause::Limit));
    let nested = |depth: usize, inner: &str| format!("{}{inner}{}", "(".repeat(depth), ")".repeat(depth));
    assert!(value(&nested(DEPTH_MAX, "1")).is_ok());
    assert_eq!(value(&nested(DEPTH_MAX + 1, "1")), limit(DEPTH_MAX));
    assert!(value(&nested(DEPTH_MAX - 1, "'1")).is_ok());
    assert_eq!(value(&nested(DEPTH_MAX - 1, "''1")), limit(DEPTH_MAX));
    assert!(value(&nested(1, &"1 ".repeat(VALUES_MAX - 1))).is_ok());
    assert_eq!(value(&nested(1, &"1 ".repeat(VALUES_MAX))), limit(0));
    assert_eq!(
        value(&nested(1, &"1 ".repeat(VALUES_MAX + 1))),
        limit(1 + 2 * VALUES_MAX)
    );
    for bomb in ["(", "'", "#(", "#S(", "(a . ", "\"", "|", "#|"] {
        assert!(value(&bomb.repeat(999_999)).is_err(), "{bomb}");
    }
}

const FILE: &str = r#"(:MEMORY
 (("id-1" . #S(PASSEPARTOUT::MEMORY-OBJECT :ID "id-1" :TYPE :HEADLINE
    :ATTRIBUTES (:TITLE "Plan \"A\"" :TODO-STATE "DONE" :LEVEL 2 :TAGS ("x" "y") :FLAG T :NONE NIL)
    :CONTENT "Plan
Größe" :VECTOR #(0.1 0.2) :PARENT-ID NIL :CHILDREN ("id-2") :VERSION 3975000000 :LAST-SYNC 3975000001
    :HASH "abc" :SCOPE :MEMEX))
  ("id-2" :ID "id-2" :TYPE :HEADLINE :CONTENT NIL :PARENT-ID "id-1" :SCOPE :PROJECT :COLOUR "red")
  ("id-3" (:id . "id-3") (:attributes (:a . 1) (:b . "two"))))
 :HISTORY-STORE (("abc" . #S(MEMORY-OBJECT :ID "id-1" :TYPE :HEADLINE :HASH "abc"))))"#;

#[test]
fn objects_are_read_in_each_form() {
    let (snap, findings) = snap_of(FILE);
    assert_eq!(findings, []);
    let (objects, history) = snap.unwrap();
    let new = |object: &SnapObject| {
        let foreign = super::super::tests::foreign(ForeignFormat::Snap, b"");
        let mut mapped = Mapped::default();
        let new = new_object(object, &foreign, &[0; 32], &mut mapped)
            .unwrap()
            .unwrap();
        assert_eq!(mapped.findings, []);
        new
    };
    let first = new(&objects[0]);
    assert_eq!(
        (first.id.as_str(), first.kind.as_str(), first.scope.as_str()),
        ("id-1", "headline", "global")
    );
    let attributes = json!({"title": "Plan \"A\"", "todo-state": "DONE", "snap.level": 2, "snap.tags": ["x", "y"],
        "flag": true});
    assert_eq!(attributes_to_json(&first.attributes), sorted(attributes));
    assert_eq!(first.content.as_deref(), Some("Plan\nGröße"));
    assert_eq!(objects[0].children().collect::<Vec<_>>(), ["id-2"]);
    // 3,975,000,000 s after 1900 are 1,766,011,200 s after 1970.
    assert_eq!(first.event_time, Some(Time::from_micros(1_766_011_200_000_000)));
    let second = new(&objects[1]);
    assert_eq!(
        (second.content.as_deref(), second.scope.as_str()),
        (None, "project:tea")
    );
    assert_eq!(
        attributes_to_json(&second.attributes),
        json!({"snap.colour": "red"})
    );
    assert_eq!(objects[1].text("parent-id", &mut Mapped::default()), Some("id-1"));
    assert_eq!(
        attributes_to_json(&new(&objects[2]).attributes),
        json!({"a": 1, "b": "two"})
    );
    assert_eq!(history.len(), 1);
    assert_eq!(new(&history[0]).id.as_str(), "id-1");
}

/// Returns a JSON object with its keys sorted, as in attributes.
fn sorted(json: serde_json::Value) -> serde_json::Value {
    let map: BTreeMap<String, serde_json::Value> = serde_json::from_value(json).unwrap();
    serde_json::to_value(map).unwrap()
}

#[test]
fn what_is_wrong_with_an_entry_is_said_and_the_others_are_taken() {
    let file = r#"(:memory (("a" . #S(O :ID "b" :CONTENT 5 :VERSION "x" :CHILDREN (1 "c") :ID "z"))
        ("a" . #S(O :ID "a")) 7 ("q" . 7) (5 . #S(O :ID "x")) ("d" :ID NIL :TYPE :X) ("e" . #S(O :UNKNOWN 1))
        ("f" :ID "f" :ATTRIBUTES 9) ("g" :ATTRIBUTES (:A 1 :A 2)))
        :history-store (("h" . #S(O :HASH "i"))))"#;
    let (snap, findings) = snap_of(file);
    let (objects, history) = snap.unwrap();
    let ids: Vec<&str> = objects.iter().map(|object| &*object.id).collect();
    assert_eq!((ids, history.len()), (vec!["b", "a", "d", "e", "f", "g"], 0));
    let said: Vec<&str> = findings.iter().map(|(at, _)| at.as_str()).collect();
    let memory = [2, 3, 4].map(|place| format!("entry {place} of `memory`"));
    let history = [0].map(|place| format!("entry {place} of `history-store`"));
    assert_eq!(said, [history.as_slice(), &memory].concat());
    // The first value of a field is used. A field of the wrong type is ignored and adds a finding.
    let taken = map(
        &super::super::tests::foreign(ForeignFormat::Snap, file.as_bytes()),
        &[0; 32],
    )
    .unwrap();
    assert_eq!(taken.incoming.len(), 6);
    let of = |id: &str| taken.findings.iter().filter(|one| one.at == id).count();
    // Two fields of "b" are invalid, the content and the version. The attributes of "f" are invalid.
    assert_eq!((of("b"), of("f"), of("g")), (2, 1, 0));
    let (_, g) = taken.incoming.iter().find(|(at, _)| at == "g").unwrap();
    assert_eq!(attributes_to_json(&g.attributes), json!({"a": 1}));
}

#[test]
fn a_file_without_tables_is_refused() {
    for file in [
        "5",
        "nil",
        "(:history-store nil)",
        "(:memory 5)",
        "(1 2 3)",
        "(:memory nil :history-store \"x\")",
    ] {
        assert_eq!(snap_of(file).0, None, "{file}");
    }
    for file in ["(:memory nil)", "(:memory nil :history-store nil)"] {
        assert_eq!(snap_of(file), (Some((vec![], vec![])), vec![]));
    }
}

/// Prints a value in the form that a Lisp system prints.
fn printed(value: &Lisp) -> String {
    let all = |items: &[Lisp]| items.iter().map(printed).collect::<Vec<_>>().join(" ");
    let escaped = |text: &str, sign: char| text.replace('\\', "\\\\").replace(sign, &format!("\\{sign}"));
    match value {
        List(items) if items.is_empty() => "NIL".to_owned(),
        List(items) => format!("({})", all(items)),
        Dotted(items, tail) => format!("({} . {})", all(items), printed(tail)),
        Word(text) => format!("\"{}\"", escaped(text, '"')),
        Keyword(name) => format!(":{name}"),
        Scalar(serde_json::Value::Bool(_)) => "T".to_owned(),
        Scalar(number) => number.to_string(),
    }
}

fn any_value() -> impl Strategy<Value = Lisp> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Word),
        "[a-z][a-z-]{0,5}".prop_map(Keyword),
        any::<i64>().prop_map(number),
        (-1e300..1e300).prop_map(number),
        Just(List(vec![])),
        Just(number(true)),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(List),
            (prop::collection::vec(inner.clone(), 1..4), inner.clone()).prop_map(
                |(items, tail)| match tail {
                    List(_) | Dotted(..) => List(items),
                    tail => Dotted(items, Box::new(tail)),
                }
            ),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(value in any_value()) {
        let text = printed(&value);
        prop_assert_eq!(read(text.as_bytes()), Ok(value), "{}", text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..80),
                          text in r#"([()'"|\\;.: #]|#\.|#S\(|#\(|#\||\|#|:memory|"a"|1|nil|x|\(:id "a"\)|\n){0,40}"#) {
        for bytes in [&bytes[..], text.as_bytes(), format!("(:memory (({text})))").as_bytes()] {
            match read(bytes) {
                Ok(value) => drop(tables(value, &mut Mapped::default())),
                Err(error) => prop_assert!(error.offset <= bytes.len()),
            }
        }
    }

    #[test]
    fn every_value_becomes_json(value in any_value()) {
        prop_assert!(!value.to_json().to_string().is_empty());
        drop(value.into_pairs());
    }
}

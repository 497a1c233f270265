//! Tests of reading printed data and its objects.

use proptest::prelude::*;
use serde_json::json;

use super::lisp::Cause;
use super::lisp::Limits;
use super::lisp::Lisp::*;
use super::*;

fn value(text: &str) -> std::result::Result<Lisp, (usize, Cause)> {
    value_within(text, LIMITS)
}

fn value_within(text: &str, limits: Limits) -> std::result::Result<Lisp, (usize, Cause)> {
    read(text.as_bytes(), limits).map_err(|error| (error.offset, error.cause))
}

/// Returns the objects of a file, and the findings about its entries.
fn snap_of(file: &str) -> (Option<Snap>, Vec<(String, String)>) {
    let mut mapped = Mapped::default();
    let snap = read(file.as_bytes(), LIMITS)
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
        ("t", True),
        ("-12", number(-12)),
        ("+12.", number(12)),
        ("1/2", number("1/2")),
        ("9223372036854775808", number("9223372036854775808")),
        ("1.5d0", number(1.5)),
        ("-.5e1", number(-5.0)),
        ("1e3", number(1000.0)),
        ("1e999", number("1E999")),
        ("1+", word("1+")),
        ("-", word("-")),
        ("1.2.3", word("1.2.3")),
        ("#(1 2)", List(vec![number(1), number(2)])),
        (r"#\a", number("a")),
        (
            r"(#\( #\Space #\U+20AC)",
            List(vec![number("("), number(" "), number("€")]),
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
        (" ; a comment\n#| and #| one |# more |# 5 ; end", number(5)),
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
    ];
    for (printed, offset) in cases {
        assert_eq!(value(printed), Err((offset, Cause::Macro)), "{printed}");
    }
    // Inside texts and names these characters have no meaning.
    assert!(value("(\"#.x\" |#.x| a#.x)").is_ok());
    let error = read(b"(#.x)", LIMITS).unwrap_err();
    assert!(error.to_string().starts_with("byte 1: `#.`"));
}

#[test]
fn malformed_data_is_refused_where_it_stands() {
    let cases = [
        ("", 0),
        (" ; only this", 0),
        ("(1 (2 3)", 0),
        ("(1 (2 3", 3),
        ("(1 \"abc", 3),
        ("\"a\\", 0),
        ("|abc", 0),
        ("#| abc", 0),
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
        (r"#\nonsense", 0),
    ];
    for (printed, offset) in cases {
        assert_eq!(value(printed), Err((offset, Cause::Malformed)), "{printed}");
    }
    let error = read(b"(\"a\xff\")", LIMITS).unwrap_err();
    assert_eq!((error.offset, error.cause), (3, Cause::NotText));
}

#[test]
fn snp_2_depth_size_and_length_are_bounded() {
    let limits = Limits {
        depth_max: 3,
        values_max: 4,
        bytes_max: 1 << 30,
    };
    let limit = |offset| Err((offset, Cause::Limit));
    assert!(value_within("(((1)))", limits).is_ok());
    assert_eq!(value_within("((((1))))", limits), limit(3));
    assert!(value_within("(('1))", limits).is_ok());
    assert_eq!(value_within("((''1))", limits), limit(3));
    assert_eq!(value_within("(1 2 3 4)", limits), limit(0));
    assert_eq!(value_within("(1 2 3 4 5)", limits), limit(9));
    let short = Limits {
        bytes_max: 4,
        ..limits
    };
    assert_eq!(value_within("(1 2)", short), limit(4));
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
    let snap = snap.unwrap();
    let first = &snap.objects[0];
    assert_eq!(
        (first.id.as_str(), first.kind.as_deref(), first.scope.as_deref()),
        ("id-1", Some("headline"), Some("memex"))
    );
    assert_eq!(
        serde_json::Value::Object(first.attributes.clone()),
        json!({"title": "Plan \"A\"", "todo-state": "DONE", "level": 2, "tags": ["x", "y"], "flag": true, "none": null})
    );
    assert_eq!(first.content.as_deref(), Some("Plan\nGröße"));
    assert_eq!(
        (first.parent.as_deref(), first.children.clone()),
        (None, vec!["id-2".to_owned()])
    );
    assert!(first.other.is_empty());
    // 3975000000 seconds after 1900 are 1766011200 after 1970.
    assert_eq!(first.version, Some(Time::from_micros(1_766_011_200_000_000)));
    let second = &snap.objects[1];
    assert_eq!(
        (
            second.parent.as_deref(),
            second.content.as_deref(),
            second.other["colour"].as_str()
        ),
        (Some("id-1"), None, Some("red"))
    );
    assert_eq!(
        serde_json::Value::Object(snap.objects[2].attributes.clone()),
        json!({"a": 1, "b": "two"})
    );
    assert_eq!(
        (snap.history.len(), snap.history[0].hash.as_deref()),
        (1, Some("abc"))
    );
}

#[test]
fn what_is_wrong_with_an_entry_is_said_and_the_others_are_taken() {
    let file = r#"(:memory (("a" . #S(O :ID "b" :CONTENT 5 :VERSION "x" :CHILDREN (1 "c") :ID "z"))
        ("a" . #S(O :ID "a")) 7 ("q" . 7) (5 . #S(O :ID "x")) ("d" :ID NIL :TYPE :X) ("e" . #S(O :UNKNOWN 1))
        ("f" :ID "f" :ATTRIBUTES 9) ("g" :ATTRIBUTES (:A 1 :A 2)))
        :history-store (("h" . #S(O :HASH "i"))))"#;
    let (snap, findings) = snap_of(file);
    let snap = snap.unwrap();
    let ids: Vec<&str> = snap.objects.iter().map(|object| &*object.id).collect();
    assert_eq!(ids, ["b", "d", "f", "g"]);
    let said: Vec<&str> = findings.iter().map(|(at, _)| at.as_str()).collect();
    let memory = [0, 0, 0, 0, 0, 1, 2, 3, 4, 6, 7, 8].map(|place| format!("entry {place} of `memory`"));
    let history = [0, 0].map(|place| format!("entry {place} of `history-store`"));
    assert_eq!(said, [memory.as_slice(), &history].concat());
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
        assert_eq!(snap_of(file), (Some(Snap::default()), vec![]));
    }
}

/// Prints a value as a Lisp system does.
fn printed(value: &Lisp) -> String {
    let all = |items: &[Lisp]| items.iter().map(printed).collect::<Vec<_>>().join(" ");
    let escaped = |text: &str, sign: char| text.replace('\\', "\\\\").replace(sign, &format!("\\{sign}"));
    match value {
        List(items) if items.is_empty() => "NIL".to_owned(),
        List(items) => format!("({})", all(items)),
        Dotted(items, tail) => format!("({} . {})", all(items), printed(tail)),
        Word(text) => format!("\"{}\"", escaped(text, '"')),
        Keyword(name) => format!(":{name}"),
        True => "T".to_owned(),
        Scalar(serde_json::Value::String(text)) => text.clone(),
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
        Just(True),
        Just(number("22/7")),
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
        prop_assert_eq!(read(text.as_bytes(), LIMITS), Ok(value), "{}", text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..80),
                          text in r#"([()'"|\\;.: #]|#\.|#S\(|#\(|#\||\|#|:memory|"a"|1|nil|x|\(:id "a"\)|\n){0,40}"#) {
        for bytes in [&bytes[..], text.as_bytes(), format!("(:memory (({text})))").as_bytes()] {
            match read(bytes, LIMITS) {
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

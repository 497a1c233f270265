//! Tests of reading printed data and the objects in it.

use proptest::prelude::*;
use serde_json::json;

use super::LispValue::*;
use super::*;

fn value(text: &str) -> Result<LispValue, (usize, SnapReason)> {
    read_value(text.as_bytes(), &SnapLimits::default()).map_err(|error| (error.offset, error.reason))
}

fn symbol(name: &str) -> LispValue {
    Symbol(name.to_owned())
}

fn text(text: &str) -> LispValue {
    Text(text.to_owned())
}

#[test]
fn printed_data_is_read() {
    let cases = [
        ("nil", List(vec![])),
        ("()", List(vec![])),
        (
            "(1 . (2 . (3 . nil)))",
            List(vec![Integer(1), Integer(2), Integer(3)]),
        ),
        ("(1 . 2)", Dotted(vec![Integer(1)], Box::new(Integer(2)))),
        (
            "(1 . (2 . 3))",
            Dotted(vec![Integer(1), Integer(2)], Box::new(Integer(3))),
        ),
        (
            r#""a \"b\" \\ c
d""#,
            text("a \"b\" \\ c\nd"),
        ),
        ("\"größe 漢字 🚀\"", text("größe 漢字 🚀")),
        (":HEADLINE", Keyword("HEADLINE".into())),
        (":headline", Keyword("HEADLINE".into())),
        (":|mixed Case|", Keyword("mixed Case".into())),
        ("pkg::name", symbol("PKG::NAME")),
        ("|a(b|", symbol("a(b")),
        (r"a\ b", symbol("A B")),
        (r"\1", symbol("1")),
        ("|NIL|", symbol("NIL")),
        ("#:temp", symbol("TEMP")),
        ("t", symbol("T")),
        ("-12", Integer(-12)),
        ("+12.", Integer(12)),
        ("1/2", Number("1/2".into())),
        ("9223372036854775808", Number("9223372036854775808".into())),
        ("1.5d0", Float(1.5)),
        ("-.5e1", Float(-5.0)),
        ("1e3", Float(1000.0)),
        ("1e999", Number("1E999".into())),
        ("1+", symbol("1+")),
        ("-", symbol("-")),
        ("1.2.3", symbol("1.2.3")),
        ("#(1 2)", List(vec![Integer(1), Integer(2)])),
        (r"#\a", Character('a')),
        (
            r"(#\( #\Space #\U+20AC)",
            List(vec![Character('('), Character(' '), Character('€')]),
        ),
        ("'x", List(vec![symbol("QUOTE"), symbol("X")])),
        (
            "''x",
            List(vec![symbol("QUOTE"), List(vec![symbol("QUOTE"), symbol("X")])]),
        ),
        (
            "#S(POINT :X 1 :Y nil)",
            Structure(
                "POINT".into(),
                vec![("X".into(), Integer(1)), ("Y".into(), List(vec![]))],
            ),
        ),
        (" ; a comment\n#| and #| one |# more |# 5 ; end", Integer(5)),
    ];
    for (printed, expected) in cases {
        assert_eq!(value(printed), Ok(expected), "{printed}");
    }
}

#[test]
fn snp_1_what_could_evaluate_is_refused_where_it_stands() {
    let refused = |sign: &str| SnapReason::Refused(sign.to_owned());
    let cases = [
        ("#.(delete-file \"x\")", 0, refused("#.")),
        ("(:memory (\"a\" . #.(run)))", 16, refused("#.")),
        ("(1 #+sbcl 2)", 3, refused("#+")),
        ("#-x 1", 0, refused("#-")),
        ("#'car", 0, refused("#'")),
        ("#1=(a . #1#)", 0, refused("#1")),
        ("#,x", 0, refused("#,")),
        ("#P\"/etc\"", 0, refused("#P")),
        ("#<OBJECT 1>", 0, refused("#<")),
        ("#x10", 0, refused("#x")),
        ("#*101", 0, refused("#*")),
        ("#2A((1))", 0, refused("#2")),
        ("# x", 0, refused("# ")),
        ("#", 0, refused("#")),
        ("#S x", 0, refused("#S")),
        ("`(a ,b)", 0, refused("`")),
        ("(a ,b)", 3, refused(",")),
        ("(ä #.x)", 4, refused("#.")),
    ];
    for (printed, offset, reason) in cases {
        assert_eq!(value(printed), Err((offset, reason)), "{printed}");
    }
    // Inside of texts and names it is nothing.
    assert!(value("(\"#.x\" |#.x| a#.x)").is_ok());
    let error = read_value(b"(#.x)", &SnapLimits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 1: `#.` is refused: data is read, never evaluated"
    );
}

#[test]
fn malformed_data_is_refused_where_it_stands() {
    let cases = [
        ("", 0, SnapReason::Empty),
        (" ; only this", 0, SnapReason::Empty),
        ("(1 (2 3)", 0, SnapReason::Open),
        ("(1 (2 3", 3, SnapReason::Open),
        ("(1 \"abc", 3, SnapReason::Open),
        ("\"a\\", 0, SnapReason::Open),
        ("|abc", 0, SnapReason::Open),
        ("#| abc", 0, SnapReason::Open),
        ("'", 0, SnapReason::Open),
        (")", 0, SnapReason::Closes),
        ("(')", 2, SnapReason::Closes),
        ("(1) 2", 4, SnapReason::Trailing),
        ("1 )", 2, SnapReason::Trailing),
        ("(. 1)", 1, SnapReason::Dot),
        ("(1 . )", 5, SnapReason::Dot),
        ("(1 . 2 3)", 7, SnapReason::Dot),
        ("(1 . 2 . 3)", 7, SnapReason::Dot),
        ("#(1 . 2)", 4, SnapReason::Dot),
        (".", 0, SnapReason::Dot),
        ("(..)", 1, SnapReason::Token),
        ("(pkg:)", 1, SnapReason::Token),
        ("(#S())", 1, SnapReason::Structure),
        ("(#S(A :x))", 1, SnapReason::Structure),
        ("#S(A 1 2)", 0, SnapReason::Structure),
        (r"#\nonsense", 0, SnapReason::Character),
    ];
    for (printed, offset, reason) in cases {
        assert_eq!(value(printed), Err((offset, reason)), "{printed}");
    }
    assert_eq!(
        read_value(b"(\"a\xff\")", &SnapLimits::default()).unwrap_err(),
        SnapError {
            offset: 3,
            reason: SnapReason::NotText
        }
    );
}

#[test]
fn snp_2_depth_size_and_length_are_bounded() {
    let of = |text: &str, limits: SnapLimits| {
        read_value(text.as_bytes(), &limits).map_err(|error| (error.offset, error.reason))
    };
    let limits = SnapLimits {
        depth_max: 3,
        values_max: 4,
        bytes_max: 1 << 30,
    };
    assert!(of("(((1)))", limits).is_ok());
    assert_eq!(of("((((1))))", limits), Err((3, SnapReason::TooDeep)));
    assert_eq!(of("(('1))", limits).map(|_| ()), Ok(()));
    assert_eq!(of("((''1))", limits), Err((3, SnapReason::TooDeep)));
    assert_eq!(of("(1 2 3 4)", limits), Err((0, SnapReason::TooMany)));
    assert_eq!(of("(1 2 3 4 5)", limits), Err((9, SnapReason::TooMany)));
    assert_eq!(
        of(
            "(1 2)",
            SnapLimits {
                bytes_max: 4,
                ..limits
            }
        ),
        Err((4, SnapReason::TooLong))
    );
    // Whoever asks for more gets what can be given up safely.
    let endless = SnapLimits {
        depth_max: usize::MAX,
        ..SnapLimits::default()
    };
    assert_eq!(of(&"(".repeat(999_999), endless), Err((256, SnapReason::TooDeep)));
    for bomb in ["(", "'", "#(", "#S(", "(a . ", "\"", "|", "#|"] {
        assert!(
            of(&bomb.repeat(999_999), SnapLimits::default()).is_err(),
            "{bomb}"
        );
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
    let snap = read_snap(FILE.as_bytes(), &SnapLimits::default()).unwrap();
    assert_eq!(snap.findings, []);
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
        (first.parent.as_deref(), first.children.clone(), first.has_vector),
        (None, vec!["id-2".to_owned()], true)
    );
    // 3975000000 seconds after 1900 are 1766011200 after 1970.
    assert_eq!(
        (first.version_micros, first.synced_micros),
        (Some(1_766_011_200_000_000), Some(1_766_011_201_000_000))
    );
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
        (snap.history.len(), snap.history[0].stated_hash.as_deref()),
        (1, Some("abc"))
    );
}

#[test]
fn what_is_wrong_with_an_entry_is_said_and_the_others_are_taken() {
    let file = r#"(:memory (("a" . #S(O :ID "b" :CONTENT 5 :VERSION "x" :CHILDREN (1 "c") :ID "z"))
        ("a" . #S(O :ID "a")) 7 ("q" . 7) (5 . #S(O :ID "x")) ("d" :ID NIL :TYPE :X) ("e" . #S(O :UNKNOWN 1))
        ("f" :ID "f" :ATTRIBUTES 9) ("g" :ATTRIBUTES (:A 1 :A 2)))
        :history-store (("h" . #S(O :HASH "i"))))"#;
    let snap = read_snap(file.as_bytes(), &SnapLimits::default()).unwrap();
    let ids: Vec<&str> = snap.objects.iter().map(|object| &*object.id).collect();
    assert_eq!(ids, ["b", "d", "f", "g"]);
    let said: Vec<(usize, &str)> = snap
        .findings
        .iter()
        .map(|found| (found.place, found.what))
        .collect();
    assert_eq!(
        said,
        [
            (0, "has a field that is not text, which is left out"),
            (0, "has a time that cannot be read, which is left out"),
            (0, "has a child that is not a name, which is left out"),
            (0, "has a field twice; the first holds"),
            (0, "has another name than its key; the one in the object holds"),
            (1, "has the name of another one before it and is left out"),
            (2, "is not an object under a name and is left out"),
            (3, "is not an object under a name and is left out"),
            (4, "is not an object under a name and is left out"),
            (6, "is not an object under a name and is left out"),
            (7, "has attributes that are not pairs, which are left out"),
            (8, "has an attribute twice; the first holds"),
            (0, "has another hash than its key"),
            (0, "has no name"),
        ]
    );
    assert_eq!(
        snap.findings[12].to_string(),
        "entry 0 of `history-store` has another hash than its key"
    );
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
        let error = read_snap(file.as_bytes(), &SnapLimits::default()).unwrap_err();
        assert_eq!(error.reason, SnapReason::NoTables, "{file}");
    }
    assert_eq!(
        read_snap(b"(:memory nil)", &SnapLimits::default()),
        Ok(Snap::default())
    );
    assert_eq!(
        read_snap(b"(:memory nil :history-store nil)", &SnapLimits::default()),
        Ok(Snap::default())
    );
}

/// A value as a Lisp system prints it.
fn printed(value: &LispValue) -> String {
    let all = |items: &[LispValue]| items.iter().map(printed).collect::<Vec<_>>().join(" ");
    let escaped = |text: &str, sign: char| text.replace('\\', "\\\\").replace(sign, &format!("\\{sign}"));
    match value {
        List(items) if items.is_empty() => "NIL".to_owned(),
        List(items) => format!("({})", all(items)),
        Dotted(items, tail) => format!("({} . {})", all(items), printed(tail)),
        Structure(name, fields) => {
            let fields: String = fields
                .iter()
                .map(|(key, value)| format!(" :{key}\n {}", printed(value)))
                .collect();
            format!("#S({name}{fields})")
        }
        Text(text) => format!("\"{}\"", escaped(text, '"')),
        Keyword(name) => format!(":{name}"),
        Symbol(name) => format!("|{name}|"),
        Integer(number) => number.to_string(),
        Float(number) => format!("{number:?}"),
        Number(text) => text.clone(),
        Character(sign) => format!("#\\U+{:X}", u32::from(*sign)),
    }
}

fn any_value() -> impl Strategy<Value = LispValue> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Text),
        "[A-Z][A-Z-]{0,5}".prop_map(Keyword),
        "[^|\\\\]{1,6}".prop_map(Symbol),
        any::<i64>().prop_map(Integer),
        (-1e300..1e300).prop_map(Float),
        any::<char>().prop_map(Character),
        Just(List(vec![])),
        Just(Number("22/7".to_owned())),
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
            ("[A-Z]{1,5}", prop::collection::vec(("[A-Z]{1,5}", inner), 0..4))
                .prop_map(|(name, fields)| Structure(name, fields)),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(value in any_value()) {
        let text = printed(&value);
        prop_assert_eq!(read_value(text.as_bytes(), &SnapLimits::default()), Ok(value), "{}", text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..80),
                          text in r#"([()'"|\\;.: #]|#\.|#S\(|#\(|#\||\|#|:memory|"a"|1|nil|x|\(:id "a"\)|\n){0,40}"#) {
        for bytes in [&bytes[..], text.as_bytes(), format!("(:memory (({text})))").as_bytes()] {
            if let Err(error) = read_snap(bytes, &SnapLimits { depth_max: 9, ..SnapLimits::default() }) {
                prop_assert!(error.offset <= bytes.len());
                prop_assert!(!error.to_string().is_empty());
            }
            prop_assert_eq!(read_snap(bytes, &SnapLimits::default()), read_snap(bytes, &SnapLimits::default()));
        }
    }

    #[test]
    fn every_value_becomes_json(value in any_value()) {
        prop_assert!(!value.to_json().to_string().is_empty());
        drop(value.pairs());
    }
}

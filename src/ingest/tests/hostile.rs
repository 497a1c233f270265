//! Tests with input that tries to break a parser. The result must be a clear error or a correct answer.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::object::Value;

#[test]
fn bytes_that_are_not_utf8_name_line_and_offset() {
    let error = refused("a.org", b"* a\ntext \xff\n");
    assert_eq!(
        error.message(),
        "a.org:2: the byte 0xff at byte offset 9 is not UTF-8"
    );
    let error = refused("a.md", b"\xef\xbb\xbf\n\n\xc3");
    assert_eq!(
        error.message(),
        "a.md:3: the byte 0xc3 at byte offset 5 is not UTF-8"
    );
    let error = refused("a.txt", b"\xff\xfeh\x00i\x00");
    assert!(error.hint().unwrap().contains("UTF-16"));
}

#[test]
fn a_path_that_cannot_be_an_id_is_refused() {
    let refuse = |path: &str| Document::read(path, b"", None).unwrap_err().message().to_owned();
    assert!(refuse(&"x".repeat(257)).ends_with("an id of 257 bytes is too long"));
    assert!(refuse("a\nb").contains("control character"));
    for nothing in ["", ".", "./", "//"] {
        assert!(refuse(nothing).ends_with("does not name a file"), "{nothing}");
    }
    assert_eq!(
        Document::read("/a/./b//c.org", b"", None).unwrap().id(),
        &id("/a/b/c.org")
    );
    assert_eq!(
        Document::read("e\u{301}.org", b"", None).unwrap().id(),
        &id("é.org")
    );
}

#[test]
fn control_characters_in_titles_and_texts_are_kept() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", "* a\u{0}b\u{1b}[2J\u{7f}\nx\u{0}y\n* \u{0}\n")]);
    let object = memory.object("a.org#ab-2j");
    assert_eq!(
        object.attribute("title"),
        Some(Value::from("a\u{0}b\u{1b}[2J\u{7f}"))
    );
    assert_eq!(object.content(), Some("x\u{0}y"));
    assert!(memory.has("a.org#untitled"));
}

#[test]
fn an_object_over_a_limit_is_refused_with_its_line() {
    let mut memory = Memory::default();
    let error = memory
        .try_ingest(&[("a.org", &format!("* ok\n* {}\n", "t".repeat(1 << 20)))])
        .unwrap_err();
    assert!(
        error.message().starts_with("a.org:2: object \"a.org#ttt"),
        "{}",
        &error.message()[..80]
    );
    let error = memory
        .try_ingest(&[("a.md", &format!("# ok\n\n{}\n", "t".repeat(17 << 20)))])
        .unwrap_err();
    assert!(
        error
            .message()
            .starts_with("a.md:1: object \"a.md#ok\": the content is too large"),
        "{}",
        error.message()
    );
}

#[test]
fn headings_nested_thousands_deep_need_no_recursion() {
    const DEPTH: usize = 3000;
    let mut text = String::new();
    for level in 1..=DEPTH {
        writeln!(text, "{} h", "*".repeat(level)).unwrap();
    }
    let mut memory = Memory::default();
    let change = memory.ingest(&[("deep.org", &text)]);
    assert_eq!(change.created as usize, DEPTH + 1);
    assert!(memory.ids().iter().all(|id| id.len() <= 256));
    let change = memory.ingest(&[("deep.org", "")]);
    assert_eq!(change.removed as usize, DEPTH);
}

#[test]
fn a_headline_of_a_million_stars_is_one_headline() {
    let document = read("a.org", &format!("{} x\n* y\n", "*".repeat(1_000_000)));
    assert_eq!(
        document.sections[0].attributes.get("level"),
        Some(&Value::Integer(1_000_000))
    );
    assert_eq!(document.sections[1].parent, None);
}

#[test]
fn many_equal_headings_are_looked_up_a_few_times_each() {
    const COUNT: u64 = 50_000;
    let mut memory = Memory::default();
    let change = memory.ingest(&[("a.org", &"* same\n".repeat(COUNT as usize))]);
    assert_eq!(change.created, COUNT + 1);
    // The helper makes two plans. Each plan checks the ids of new headings, and reads the children of all headings.
    assert!(memory.reads() <= 4 * COUNT, "{} reads", memory.reads());
}

#[test]
fn texts_of_one_repeated_mark_are_read() {
    const REPEATS: usize = 30_000;
    for (path, part) in [
        ("a.md", ">"),
        ("a.md", "["),
        ("a.md", "*a_"),
        ("a.md", "`a``"),
        ("a.md", "- "),
        ("a.md", "<!--"),
        ("a.md", "[a]: b\n"),
        ("a.md", "a\n=\n"),
        ("a.md", "# #\n"),
        ("a.md", "\\["),
        ("a.md", "![[]()"),
        ("a.md", "<a "),
        ("a.md", "&amp"),
        ("a.org", ":PROPERTIES:\n"),
        ("a.org", "* :"),
        ("a.org", "* a\n:PROPERTIES:\n"),
        ("a.org", "#+TODO: a\n"),
        ("a.org", "* [#"),
        ("a.org", "\n"),
        ("a.org", "* a\nDEADLINE: <"),
        ("a.org", "* a\nDEADLINE: <a> "),
    ] {
        read(path, &part.repeat(REPEATS));
    }
}

#[test]
fn front_matter_that_grows_when_read_stays_text() {
    let mut text = "---\na0: &a0 [x, x]\n".to_owned();
    for level in 1..40 {
        writeln!(text, "a{level}: &a{level} [*a{0}, *a{0}, *a{0}]", level - 1).unwrap();
    }
    assert!(read("a.md", &(text + "---\n")).skipped().front_matter.is_some());
    let deep = format!("---\na: {}\n---\n", "[".repeat(10_000));
    assert!(read("a.md", &deep).skipped().front_matter.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for path in ["a.org", "a.md", "a.jsonl", "a"] {
            drop::<Result<Document, Error>>(Document::read(path, &bytes, None));
        }
    }

    #[test]
    fn no_text_of_telling_pieces_makes_a_parser_panic(pieces in prop::collection::vec(prop::sample::select(vec![
        "*", "**", " ", "\n", "\r", "\r\n", "TODO", "[#A]", ":a:", ":PROPERTIES:", ":END:", ":ID:", ":x: y", "#+TITLE: t", "#+todo: X(",
        "SCHEDULED: <1>", "CLOSED:", "[2]--[3]", "# ", "## x ##", "---", "===", "```", "> ", "- ", "<!-- id: q -->", "é\u{301}", "\u{0}", "\u{2028}", "\u{feff}",
    ]), 0..60)) {
        for path in ["a.org", "a.md"] {
            let mut memory = Memory::default();
            drop::<Result<Change, Error>>(memory.try_ingest(&[(path, &pieces.concat())]));
        }
    }
}

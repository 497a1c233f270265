//! Tests of each part of an Org file.

use super::*;
use crate::object::Value;

/// Returns the attributes of a heading as JSON, and its text.
fn heading(document: &Document, place: usize) -> (String, Option<&str>) {
    let section = &document.sections[place];
    (
        json::attributes_to_json(&section.attributes).to_string(),
        section.content.as_deref(),
    )
}

fn only_heading(text: &str) -> (String, Option<String>) {
    let document = read("a.org", text);
    assert_eq!(document.sections.len(), 1, "{text}");
    let (attributes, content) = heading(&document, 0);
    (attributes, content.map(str::to_owned))
}

fn attributes(text: &str) -> String {
    only_heading(text).0
}

#[test]
fn a_headline_has_a_state_a_priority_a_title_and_tags() {
    assert_eq!(
        attributes("* TODO [#A] Call the *plumber* :home:urgent:"),
        r#"{"priority":"A","tags":["home","urgent"],"title":"Call the *plumber*","todo":"TODO"}"#
    );
    assert_eq!(attributes("* [#12] x"), r#"{"priority":"12","title":"x"}"#);
    assert_eq!(attributes("* [#99] x"), r#"{"title":"[#99] x"}"#);
    assert_eq!(attributes("* DONE"), r#"{"title":"","todo":"DONE"}"#);
    assert_eq!(attributes("* "), r#"{"title":""}"#);
    assert_eq!(attributes("* :a:"), r#"{"tags":["a"],"title":""}"#);
    assert_eq!(
        attributes("* TODO :a:"),
        r#"{"tags":["a"],"title":"","todo":"TODO"}"#
    );
}

#[test]
fn what_only_looks_like_a_part_stays_in_the_title() {
    assert_eq!(attributes("* TODOs"), r#"{"title":"TODOs"}"#);
    assert_eq!(attributes("* todo x"), r#"{"title":"todo x"}"#);
    assert_eq!(attributes("* x :a::b:"), r#"{"title":"x :a::b:"}"#);
    assert_eq!(attributes("* x :a-b:"), r#"{"title":"x :a-b:"}"#);
    assert_eq!(attributes("* ratio 1:2:"), r#"{"title":"ratio 1:2:"}"#);
}

#[test]
fn states_of_the_file_are_known_too() {
    let text = "#+TODO: DRAFT(d) REVIEW(r@/!) | SENT(s)\n* REVIEW x\n* SENT y\n* WAITING z\n* STUCK w\n#+seq_todo: STUCK\n";
    let document = read("a.org", text);
    let todo = |place: usize| document.sections[place].attributes.get("todo").cloned();
    assert_eq!(todo(0), Some(Value::from("REVIEW")));
    assert_eq!(todo(1), Some(Value::from("SENT")));
    assert_eq!(todo(2), Some(Value::from("WAITING")));
    assert_eq!(todo(3), Some(Value::from("STUCK")));
}

#[test]
fn planning_stands_right_below_the_headline_and_nowhere_else() {
    let text = "* DONE x\n  CLOSED: [2026-03-01 Sun 10:00] DEADLINE: <2026-03-02 Mon>--<2026-03-03 Tue> SCHEDULED: <2026-02-27 Fri +1w>\ntext";
    assert_eq!(
        only_heading(text),
        (
            "{\"closed\":\"[2026-03-01 Sun 10:00]\",\"deadline\":\"<2026-03-02 Mon>--<2026-03-03 Tue>\",\
             \"scheduled\":\"<2026-02-27 Fri +1w>\",\"title\":\"x\",\"todo\":\"DONE\"}"
                .to_owned(),
            Some("text".to_owned())
        )
    );
    for other in [
        "DEADLINE: soon",
        "DEADLINE: <2026-01-01 Thu> and more",
        "DEADLINE: <1> DEADLINE: <2>",
        "\nDEADLINE: <2026-01-01>",
    ] {
        let (attributes, content) = only_heading(&format!("* x\n{other}\n"));
        assert_eq!(attributes, r#"{"title":"x"}"#, "{other}");
        assert_eq!(content.as_deref(), Some(other.trim_start()));
    }
}

#[test]
fn a_property_drawer_gives_the_id_and_the_properties() {
    let text = "* x\nSCHEDULED: <2026-01-01 Thu>\n  :properties:\n  :id:  some/id 1\n  :Effort: 1:30\n  :Url: https://example.org/a:b\n  :Note:\n  :Note: again\n  :end:\nrest\n";
    let document = read("a.org", text);
    assert_eq!(document.sections[0].id, Some(id("some/id 1")));
    let (attributes, content) = heading(&document, 0);
    assert!(
        attributes.contains(
            r#""properties":{"Effort":"1:30","Note":["","again"],"Url":"https://example.org/a:b"}"#
        )
    );
    assert_eq!(content, Some("rest"));
}

#[test]
fn what_is_no_property_drawer_stays_text() {
    for body in [
        ":PROPERTIES:\n:A: 1\n",
        ":PROPERTIES:\nA: 1\n:END:",
        ":PROPERTIES:\n\n:A: 1\n:END:",
        "x\n:PROPERTIES:\n:A: 1\n:END:",
    ] {
        let (attributes, content) = only_heading(&format!("* x\n{body}"));
        assert_eq!(attributes, r#"{"title":"x"}"#);
        assert_eq!(content.as_deref(), Some(body.trim_end()));
    }
    assert_eq!(
        only_heading("* x\n:PROPERTIES:\n:END:\n"),
        (r#"{"title":"x"}"#.to_owned(), None)
    );
}

#[test]
fn an_id_that_cannot_be_one_is_refused_with_its_line() {
    let drawer = |ids: &str| format!("* a\n* b\n:PROPERTIES:\n:X: 1\n{ids}:END:\n");
    let error = refused("a.org", drawer(&format!(":ID: {}\n", "x".repeat(257))));
    assert!(error.message().starts_with("a.org:5: the `:ID:` `xxx"), "{error}");
    assert!(
        error.message().ends_with("an id of 257 bytes is too long"),
        "{error}"
    );
    assert!(
        refused("a.org", drawer(":ID: a\u{7}b\n"))
            .message()
            .contains("a.org:5")
    );
    assert!(
        refused("a.org", drawer(":ID: a\n:ID: a\n"))
            .message()
            .contains("a.org:6: a second `:ID:`")
    );
    assert!(
        refused("a.org", drawer(&format!(":{}: v\n", "k".repeat(257))))
            .message()
            .contains("a.org:5: the property name")
    );
}

#[test]
fn keywords_at_the_start_belong_to_the_document() {
    let text = "\n:PROPERTIES:\n:ID: file-id\n:END:\n#+TITLE: One\n#+title: and two\n#+FILETAGS: :x:y:\n\n#+OPTIONS: toc:nil\n#+LINK: a b\n#+LINK: c d\n\n#+CAPTION: a table\n| 1 |\n";
    let document = read("a.org", text);
    assert_eq!(
        json::attributes_to_json(&document.root.attributes).to_string(),
        "{\"format\":\"org\",\"keywords\":{\"link\":[\"a b\",\"c d\"],\"options\":\"toc:nil\"},\
         \"properties\":{\"ID\":\"file-id\"},\"tags\":[\"x\",\"y\"],\"title\":\"One and two\"}"
    );
    assert_eq!(
        document.root.content.as_deref(),
        Some("#+CAPTION: a table\n| 1 |")
    );
    let document = read("a.org", "#+filetags: a b\ntext\n#+TITLE: too late\n");
    assert_eq!(
        json::attributes_to_json(&document.root.attributes).to_string(),
        r#"{"format":"org","keywords":{"filetags":"a b"}}"#
    );
    assert_eq!(document.root.content.as_deref(), Some("text\n#+TITLE: too late"));
}

#[test]
fn a_headline_is_one_inside_a_block_too_unless_quoted() {
    let document = read(
        "a.org",
        "* a\n#+BEGIN_SRC org\n,* quoted\n * indented\n*bold*\n#+END_SRC\n** b\n",
    );
    assert_eq!(document.sections.len(), 2);
    assert_eq!(
        document.sections[0].content.as_deref(),
        Some("#+BEGIN_SRC org\n,* quoted\n * indented\n*bold*\n#+END_SRC")
    );
    assert_eq!(document.sections[1].parent, Some(0));
}

#[test]
fn a_level_is_stored_only_where_the_depth_does_not_tell_it() {
    let document = read("a.org", "*** a\n**** b\n***** c\n** d\n* e\n*** f\n");
    let level = |place: usize| {
        document.sections[place]
            .attributes
            .get("level")
            .and_then(Value::as_integer)
    };
    assert_eq!(
        (0..6).map(level).collect::<Vec<_>>(),
        [Some(3), None, None, Some(2), None, Some(3)]
    );
    let parents: Vec<_> = document.sections.iter().map(|section| section.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), None, None, Some(4)]);
}

#[test]
fn text_is_kept_as_it_is_but_for_the_blank_lines_around_it() {
    let (_, content) = only_heading("* a\n\n \t\n  indented  \n\n\n  - list\t \n \n\n");
    assert_eq!(content.as_deref(), Some("  indented  \n\n\n  - list\t "));
    assert_eq!(only_heading("* a\n\n \n").1, None);
    assert_eq!(
        only_heading("* a\r\nx\r\r\ny\rz\r\n").1.as_deref(),
        Some("x\ny\rz")
    );
}

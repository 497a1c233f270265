//! Tests of each part of a Markdown file.

use super::*;
use crate::object::Value;

fn titles(text: &str) -> Vec<String> {
    read("a.md", text)
        .sections
        .iter()
        .map(|section| section.title().to_owned())
        .collect()
}

#[test]
fn headings_of_both_styles_make_the_tree() {
    let text =
        "intro\n\n# One #\n\ntext\n\n## *Two* `x` ##\n\nThree\nlines\n=====\n   # Four\nFive\n---\nend\n";
    let document = read("a.md", text);
    assert_eq!(document.root.content.as_deref(), Some("intro"));
    assert_eq!(titles(text), ["One", "*Two* `x`", "Three lines", "Four", "Five"]);
    let parents: Vec<_> = document.sections.iter().map(|section| section.parent).collect();
    assert_eq!(parents, [None, Some(0), None, None, Some(3)]);
    assert_eq!(document.sections[0].content.as_deref(), Some("text"));
    assert_eq!(document.sections[4].content.as_deref(), Some("end"));
    assert_eq!(document.sections[4].line, 13);
}

#[test]
fn what_is_no_heading_stays_text() {
    let text = "# One\n\n```\n# in a fence\n```\n\n> # quoted\n\n- # in a list\n\n    # indented\n\n#hashtag\n\n<!--\n# comment\n-->\n";
    assert_eq!(titles(text), ["One"]);
    let content = read("a.md", text).sections[0].content.clone().unwrap();
    assert_eq!(content, text["# One\n\n".len()..].trim_end());
}

#[test]
fn titles_are_kept_as_written() {
    assert_eq!(titles("# a \\# b\n"), ["a \\# b"]);
    assert_eq!(titles("# C#\n"), ["C#"]);
    assert_eq!(titles("#\n"), [""]);
    assert_eq!(titles("# #\n"), [""]);
    assert_eq!(
        titles("sharp #\n===\n"),
        ["sharp \\#"],
        "so that it stays when written with `#` in front"
    );
    assert_eq!(titles("# a\u{0}b\n"), ["a\u{0}b"]);
}

#[test]
fn a_level_is_stored_only_where_the_depth_does_not_tell_it() {
    let document = read("a.md", "## a\n### b\n# c\n### d\n");
    let level = |place: usize| {
        document.sections[place]
            .attributes
            .get("level")
            .and_then(Value::as_integer)
    };
    assert_eq!(
        (0..4).map(level).collect::<Vec<_>>(),
        [Some(2), None, None, Some(3)]
    );
}

#[test]
fn a_comment_below_the_heading_states_its_id() {
    let document = read(
        "a.md",
        "# One\n<!-- id: my/id -->\ntext\n\n# Two\n\n<!-- id is not stated -->\n",
    );
    assert_eq!(document.sections[0].id, Some(id("my/id")));
    assert_eq!(document.sections[0].content.as_deref(), Some("text"));
    assert_eq!(document.sections[1].id, None);
    assert_eq!(
        document.sections[1].content.as_deref(),
        Some("<!-- id is not stated -->")
    );
    let error = refused("a.md", "text\n\n# One\n<!-- id: -->\n");
    assert!(error.message().starts_with("a.md:3: the id ``"), "{error}");
}

#[test]
fn front_matter_keeps_the_types_of_its_values() {
    let text = "---\ntitle: Notes\ncount: 3\nratio: 0.5\ndraft: false\nnothing: ~\nday: 2026-01-31\ntags: [a, b]\nnested:\n  1: one\n  limit: .inf\n---\n# One\n";
    let document = read("a.md", text);
    let json = json::attributes_to_json(&document.root.attributes).to_string();
    assert_eq!(
        json,
        "{\"format\":\"markdown\",\"front_matter\":{\"count\":3,\"day\":\"2026-01-31\",\"draft\":false,\
         \"nested\":{\"1\":\"one\",\"limit\":{\"$float\":\"inf\"}},\"nothing\":null,\"ratio\":0.5,\
         \"tags\":[\"a\",\"b\"],\"title\":\"Notes\"}}"
    );
    assert_eq!(document.sections[0].line, 13);
}

#[test]
fn words_that_an_older_yaml_took_for_booleans_stay_words() {
    let document = read("a.md", "---\na: on\nb: y\nc: no\nd: true\ntags: [x, y]\n---\n");
    let json = json::attributes_to_json(&document.root.attributes)["front_matter"].to_string();
    assert_eq!(
        json,
        "{\"a\":\"on\",\"b\":\"y\",\"c\":\"no\",\"d\":true,\"tags\":[\"x\",\"y\"]}"
    );
}

#[test]
fn a_number_is_one_only_where_it_would_be_written_back_the_same() {
    let matter = |text: &str| {
        let document = read("a.md", &format!("---\na: {text}\n---\n"));
        json::attributes_to_json(&document.root.attributes)["front_matter"]["a"].to_string()
    };
    for number in [
        "0",
        "12",
        "-7",
        "9223372036854775807",
        "0.5",
        "-1.0",
        "1e+300",
        "1e-7",
    ] {
        assert_eq!(matter(number), number);
    }
    for text in [
        "012",
        "1.10",
        "1.",
        ".5",
        "+1",
        "0x1F",
        "0o17",
        "1e3",
        "1_000",
        "12:30:45",
        "-0",
        "-0.0",
        "00",
        "9223372036854775808",
        "123456789012345678901234567890",
        "2026-01-31",
        "1E3",
        "NO",
        "off",
        "0b11",
        "inf",
        "1e999",
        "1e300",
    ] {
        assert_eq!(matter(text), format!("\"{text}\""));
    }
    for (word, value) in [
        ("~", "null"),
        ("NULL", "null"),
        ("", "null"),
        ("TRUE", "true"),
        ("-.inf", "{\"$float\":\"-inf\"}"),
        (".nan", "{\"$float\":\"nan\"}"),
        ("\"012\"", "\"012\""),
        ("'12'", "\"12\""),
        ("!!str 12", "\"12\""),
        ("! 12", "\"12\""),
        ("|\n  12", "\"12\\n\""),
        ("&x 5\nb: *x", "5"),
    ] {
        assert_eq!(matter(word), value, "{word}");
    }
}

#[test]
fn aliases_repeat_what_they_name_and_no_more_than_an_object_holds() {
    let document = read("a.md", "---\na: &list [1, two]\nb: *list\nc: {d: *list}\n---\n");
    assert_eq!(
        json::attributes_to_json(&document.root.attributes)["front_matter"].to_string(),
        "{\"a\":[1,\"two\"],\"b\":[1,\"two\"],\"c\":{\"d\":[1,\"two\"]}}"
    );
    let mut bomb = "---\nx0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        let above = format!("*x{}, ", level - 1).repeat(8);
        bomb = format!("{bomb}x{level}: &x{level} [{above}]\n");
    }
    bomb.push_str("---\n");
    assert!(
        refused("a.md", &bomb)
            .message()
            .contains("aliases expand to over")
    );
    assert!(
        refused("a.md", "---\na: &a [*a]\n---\n")
            .message()
            .starts_with("a.md:2:")
    );
    let deep = format!("---\na: {}{}\n---\n", "[".repeat(40), "]".repeat(40));
    assert!(
        refused("a.md", &deep)
            .message()
            .contains("nested more than 32 deep")
    );
    assert!(
        refused("a.md", "---\na: 1\n--- b\nc: 1\n---\n")
            .message()
            .starts_with("a.md:3:")
    );
}

#[test]
fn front_matter_stands_only_at_the_very_start_between_marks() {
    for text in [
        "---\n\nno: matter\n\n---\n",
        "\n---\na: 1\n---\n",
        "---\na: 1\n",
        "--- x\na: 1\n---\n",
    ] {
        let document = read("a.md", text);
        assert!(document.root.attributes.get("front_matter").is_none(), "{text}");
    }
    for text in [
        "---\n---\ntext\n",
        "---\n# only a comment\n---\ntext\n",
        "---\r\na: 1\r\n...\r\ntext",
    ] {
        assert_eq!(read("a.md", text).root.content.as_deref(), Some("text"), "{text}");
    }
}

#[test]
fn front_matter_that_is_not_yaml_is_refused_with_its_line() {
    let line = |text: &str| {
        refused("a.md", text)
            .message()
            .split(": ")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(line("---\na: 1\nb: [1, 2\n---\n").split(':').next(), Some("a.md"));
    assert_eq!(line("---\na: 1\nb: 2\na: 3\n---\n"), "a.md:4");
    assert_eq!(line("---\njust text\n---\n"), "a.md:2");
    assert_eq!(
        line("---\na: 1\nb: 2\n---\n"[..].replace("b: 2", "[b]: 2").as_str()),
        "a.md:3"
    );
    assert_eq!(
        line("---\na: 'open\nb: x: y\n---\n").split(':').next(),
        Some("a.md")
    );
}

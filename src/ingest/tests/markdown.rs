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
         \"tags\":[\"a\",\"b\"],\"title\":\"Notes\"},\"tags\":[\"a\",\"b\"],\"title\":\"Notes\"}"
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
    assert!(why_text(&bomb).contains("aliases expand to over"));
    assert!(why_text("---\na: &a [*a]\n---\n").starts_with("line 2:"));
    let deep = format!("---\na: {}{}\n---\n", "[".repeat(40), "]".repeat(40));
    assert!(why_text(&deep).contains("nested more than 32 deep"));
    assert!(why_text("---\na: 1\n--- b\nc: 1\n---\n").starts_with("line 3:"));
}

/// Returns the reason why the front matter of a note is kept as text.
fn why_text(text: &str) -> String {
    let document = read("a.md", text);
    document.skipped().front_matter.clone().unwrap_or_default()
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

/// Returns the attributes of a note without its format.
fn attributes_of(path: &str, text: &str) -> serde_json::Value {
    let mut json = json::attributes_to_json(&read(path, text).root.attributes);
    json.as_object_mut().unwrap().remove("format");
    json
}

#[test]
fn front_matter_that_is_not_yaml_is_kept_as_text() {
    for (matter, title, tags, aliases) in [
        (
            "title: Deploy: step two",
            Some("Deploy: step two"),
            "null",
            "null",
        ),
        (
            "title: \"Tea\" time\ntags: [a, 'b c']",
            Some("\"Tea\" time"),
            "[\"a\",\"b c\"]",
            "null",
        ),
        ("date: {{date}}\ntags:\n- x\n- y", None, "[\"x\",\"y\"]", "null"),
        ("tags:\n\t- x\n\t- '#y'", None, "[\"x\",\"y\"]", "null"),
        (
            "tags: a\ntags: b\nalias: one, two",
            None,
            "[\"a\"]",
            "[\"one\",\"two\"]",
        ),
        ("# up: [x\nup: [[Home|H]], [[Tea]]", None, "null", "null"),
        ("globs: *.ts\ndescription: rules", None, "null", "null"),
    ] {
        let note = format!("---\n{matter}\n---\n\nThe body.\n");
        let document = read("v/My note.md", &note);
        assert_eq!(document.root.content.as_deref(), Some("The body."), "{matter}");
        assert!(document.sections.is_empty(), "{matter}");
        let attributes = attributes_of("v/My note.md", &note);
        assert_eq!(attributes["front_matter"], format!("---\n{matter}\n---"));
        assert_eq!(attributes["title"], title.unwrap_or("My note"));
        assert_eq!(
            (attributes["tags"].to_string(), attributes["aliases"].to_string()),
            (tags.into(), aliases.into())
        );
        assert!(!why_text(&note).is_empty());
    }
    let toml = "+++\n# a comment\ntitle = \"Tea\"\ntags = [\"a\", \"b\"]\n+++\n\n# One\n";
    let attributes = attributes_of("a.md", toml);
    assert_eq!(
        (&attributes["title"], attributes["tags"].to_string()),
        (&"Tea".into(), "[\"a\",\"b\"]".into())
    );
    assert_eq!(read("a.md", toml).sections[0].title(), "One");
    // Two rulers around a sentence or a list are no front matter.
    for (text, first) in [
        ("---\nJust a text.\n---\n", "---"),
        ("---\n- a\n- b\n---\n", "---\n- a\n- b\n---"),
    ] {
        let document = read("a.md", text);
        assert_eq!(document.root.content.as_deref(), Some(first));
        assert!(document.root.attributes.get("front_matter").is_none());
    }
}

#[test]
fn a_note_is_titled_by_its_front_matter_else_its_heading_else_its_name() {
    let title = |path: &str, text: &str| attributes_of(path, text)["title"].clone();
    assert_eq!(title("v/a.md", "---\ntitle: Tea\n---\n# One\n"), "Tea");
    assert_eq!(title("v/a.md", "---\ntitle: 2024\n---\n"), "2024");
    assert_eq!(
        title("v/a.md", "---\ntitle:\n---\ntext\n\n## One\n# Two\n"),
        "One"
    );
    assert_eq!(title("v/Project Apollo.md", "On hold.\n"), "Project Apollo");
    assert_eq!(title("v/a.b.md", "#\n"), "a.b");
    assert_eq!(title("v/README", "text"), "README");
}

#[test]
fn tags_and_aliases_are_lists_or_texts() {
    for (matter, tags, aliases) in [
        (
            "tags: [infra, k8s]\naliases: [k8s bump]",
            "[\"infra\",\"k8s\"]",
            "[\"k8s bump\"]",
        ),
        (
            "tags: infra, k8s\nalias: k8s bump, drain",
            "[\"infra\",\"k8s\"]",
            "[\"k8s bump\",\"drain\"]",
        ),
        (
            "tag: '#infra #k8s'\nTags:\n- infra\n- 2024",
            "[\"infra\",\"2024\",\"k8s\"]",
            "null",
        ),
        ("tags:\naliases: []", "null", "null"),
        ("tags: {a: 1}", "null", "null"),
    ] {
        let attributes = attributes_of("a.md", &format!("---\n{matter}\n---\n"));
        assert_eq!(attributes["tags"].to_string(), tags, "{matter}");
        assert_eq!(attributes["aliases"].to_string(), aliases, "{matter}");
    }
}

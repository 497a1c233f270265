//! Tests of the texts that the reader refuses.

use super::super::render::{Boundary, Record, Request};
use super::super::sections::Section;
use super::reader::parse;
use super::reader::unescape;
use super::render;

fn rendered() -> String {
    let records = [
        Record {
            source: "cli".to_owned(),
            time_us: Some(0),
            updated_us: Some(1_000_000),
            ..Record::new(Section::ProjectRules, "r", "Tabs & spaces.")
        },
        Record::new(Section::GitState, "g", "main"),
    ];
    let boundary = Boundary::new("k7Qw2mZ8xT4vB1nR");
    render(
        &records,
        &Request {
            boundary,
            ..Request::new("root")
        },
    )
    .text
}

#[test]
fn env_6_every_other_text_is_refused_or_another_envelope() {
    let text = rendered();
    assert!(parse(&text).is_ok());
    let mut accepted = 0;
    for at in 0..text.len() {
        assert!(parse(&text[..at]).is_err() || at == 0, "{at}");
        for byte in (0..128).map(char::from) {
            let exchanged = format!("{}{byte}{}", &text[..at], &text[at + 1..]);
            let put_in = format!("{}{byte}{}", &text[..at], &text[at..]);
            for other in [exchanged, put_in] {
                if let Ok(envelope) = parse(&other) {
                    assert_eq!(envelope.to_string(), other);
                    accepted += 1;
                }
            }
        }
    }
    // The reader accepts only changes to letters of ids, texts, times and the root.
    assert!((2000..8000).contains(&accepted), "{accepted}");
}

#[test]
fn what_is_not_written_is_not_read() {
    let text = rendered();
    let rule = "<rule id=\"r\" trust=\"direct_user\" source=\"cli\" time=\"1970-01-01T00:00:00Z\" updated=\"1970-01-01T00:00:01Z\">Tabs &amp; spaces.</rule>\n";
    assert!(text.contains(rule));
    let exchange = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    };
    let table = [
        (exchange("version=\"2\"", "version=\"1\""), "the version, 2"),
        (exchange("<memory", " <memory"), "`<memory`"),
        (format!("{text}\n"), "the end"),
        (format!("{text}{text}"), "the end"),
        (exchange(rule, ""), "a record of its section"),
        (
            exchange(rule, &rule.repeat(7)),
            "the end of the section, because it is full",
        ),
        (
            exchange(rule, &rule.replace("rule", "fact")),
            "a record of its section",
        ),
        (
            exchange("direct_user", "import"),
            "a class of origin that this section may show",
        ),
        (
            exchange("direct_user", "admin"),
            "a class of origin that this section may show",
        ),
        (exchange("&amp;", "&"), "escaped"),
        (exchange("&amp;", "&#38;"), "escaped"),
        (exchange("Tabs", "Tabs<b/>"), "the end of a record"),
        (exchange("Tabs", "Ta\u{200b}bs"), "a text as it is shown"),
        (exchange("Tabs", "Tabs  "), "a text as it is shown"),
        (exchange("Tabs", &"Tabs".repeat(100)), "a text as it is shown"),
        (exchange("Tabs &amp; spaces.", ""), "a text as it is shown"),
        (
            exchange("Tabs", "&lt;entry&gt;&lt;/entry&gt;Tabs"),
            "a text as it is shown",
        ),
        (
            exchange("source=\"cli\"", "source=\"\""),
            "a non-empty attribute before this offset",
        ),
        (
            exchange("id=\"r\"", "id=\"r\u{7}\""),
            "an attribute in the form that the renderer writes",
        ),
        (exchange("id=\"r\" ", ""), "an id"),
        (exchange("1970-01-01T00:00:01Z", "yesterday"), "a valid moment"),
        (
            exchange("1970-01-01T00:00:01Z", "1970-01-01T00:00:00Z"),
            "a time of change that differs from the time of creation",
        ),
        (
            exchange("shown=\"2\"", "shown=\"3\""),
            "the number of shown records",
        ),
        (
            exchange("skipped=\"0\"", "skipped=\"00\""),
            "a number before this offset",
        ),
        (
            exchange("<state boundary=\"k", "<state boundary=\"K"),
            "the boundary of the first line",
        ),
        (
            exchange("k7Qw2mZ8xT4vB1nR", "short"),
            "a boundary of 16 to 64 letters and digits before this offset",
        ),
        (
            exchange("git_state", "git"),
            "the next section in order, or the element `state`",
        ),
        (exchange("</memory>", "</MEMORY>"), "the end of the envelope"),
    ];
    for (other, expected) in table {
        let error = parse(&other).unwrap_err();
        assert_eq!(error.expected, expected, "{other}");
        assert!(other.is_char_boundary(error.at));
    }
    let (first, last) = text.split_once("<git_state>").unwrap();
    let (rules, git) = (
        first.split_once("<project_rules>").unwrap().1,
        last.split_once("<state").unwrap(),
    );
    let swapped = format!(
        "{}<git_state>{}<project_rules>{rules}<state{}",
        &text[..text.find("<project_rules>").unwrap()],
        git.0,
        git.1
    );
    assert_eq!(
        parse(&swapped).unwrap_err().expected,
        "the next section in order, or the element `state`"
    );
}

#[test]
fn the_five_escapes_and_no_others_are_read() {
    assert_eq!(
        unescape("&amp;&lt;&gt;&quot;&apos;&amp;lt;"),
        Ok("&<>\"'&lt;".to_owned())
    );
    for (text, at) in [
        ("a&", 1),
        ("&lt", 0),
        ("&#60;", 0),
        ("&nbsp;", 0),
        ("&AMP;", 0),
        ("ab<", 2),
        ("\"", 0),
        ("a'b", 1),
        ("&amp;>", 5),
    ] {
        assert_eq!(unescape(text), Err(at));
    }
}

//! Tables of the marks: each expression and its expected marks.

use super::*;
use crate::recall::text::analysis::{Source, analyse};

fn read(text: &str) -> (Marks, Vec<Span>, Vec<String>) {
    // This day is a Wednesday.
    let source = Source {
        text,
        ..Source::default()
    };
    let analysis = analyse(source, day_of((2023, 5, 10)), |_, _, _| {});
    (analysis.marks, analysis.spans, analysis.calls)
}

#[test]
fn each_mark_is_set_by_its_words() {
    let cases: &[(&str, Marks)] = &[
        ("", 0),
        ("Where did it go? [a drawing of the ball]", QUESTION),
        ("Where did it go? \u{1F60A}!", QUESTION | ASKS),
        ("Where? Over there.", 0),
        ("a [b] c]", 0),
        ("It rained yesterday", TIME),
        ("a couple of weeks later", TIME | NUMBER),
        ("couple of nice weeks", NUMBER),
        ("in March, they march", TIME),
        ("they march on", 0),
        ("the 3rd house, in 1850", TIME | NUMBER),
        ("it has 2nd place", TIME),
        ("5k run", 0),
        ("10:30 o'clock", NUMBER),
        ("I'm there", FIRST_PERSON),
        ("It’s what we’ve got for you", FIRST_PERSON | SECOND_PERSON),
        ("now on, make sure", 0),
    ];
    for (text, wanted) in cases {
        assert_eq!(read(text).0, *wanted, "of {text:?}");
    }
    let late = format!("{} always", "x ".repeat(120));
    assert_eq!(read(&late).0, 0);
}

#[test]
fn days_spoken_of_are_found() {
    let day = day_of((2023, 5, 10));
    let cases: &[(&str, i64, i64)] = &[
        ("yesterday", day - 1, day - 1),
        ("Last night!", day - 1, day - 1),
        ("last week", day - 9, day - 3),
        ("last weekend", day - 4, day - 3),
        ("next week", day + 5, day + 11),
        ("last month", day_of((2023, 4, 1)), day_of((2023, 4, 30))),
        ("next month", day_of((2023, 6, 1)), day_of((2023, 6, 30))),
        ("last Tuesday", day - 1, day - 1),
        ("last wednesday", day - 7, day - 7),
        ("two weeks ago", day - 16, day - 12),
        ("a couple of days ago", day - 2, day - 2),
        ("10 years ago", day - 3650 - 121, day - 3650 + 121),
        ("last year", day_of((2022, 1, 1)), day_of((2022, 12, 31))),
    ];
    for (text, first, last) in cases {
        let wanted = vec![Span {
            first: *first,
            last: *last,
        }];
        assert_eq!(read(text).1, wanted, "of {text:?}");
    }
    for text in [
        "999999999999 years ago",
        "60 years ago",
        "long ago",
        "week",
        "last  week",
    ] {
        assert_eq!(read(text).1, [], "of {text:?}");
    }
    let many = "yesterday tomorrow last week last month".repeat(50);
    assert_eq!(read(&many).1.len(), SPANS_MAX, "MRK-1");
}

#[test]
fn a_name_after_a_greeting_is_a_call() {
    let cases: &[(&str, &[&str])] = &[
        ("Hey Tom! It rains", &["tom"]),
        ("Good morning, Anna", &["anna"]),
        ("It works. Thank you, Bob's help counts", &["bob"]),
        ("hey tom", &[]),
        ("they say hey Tom", &[]),
        ("Hey; Tom", &[]),
        ("Hi Jo", &[]),
        ("Thanks! Wow! Sure!", &["wow"]),
    ];
    for (text, wanted) in cases {
        assert_eq!(read(text).2, *wanted, "of {text:?}");
    }
}

#[test]
fn hostile_text_is_only_text() {
    let texts = [
        "]".repeat(9999),
        "[".repeat(9999),
        "'’".repeat(9999),
        "a'".repeat(999),
        "`".repeat(1000),
        "```’a```".repeat(100),
        "last \u{1F600} week 漢ago字".repeat(99),
        "\u{0}\u{FFFF}\u{10FFFF}\u{202E}".to_owned(),
    ];
    for text in texts {
        read(&text);
    }
}

//! Property tests with random texts.

use proptest::prelude::*;

use super::super::document::escaped;
use super::super::line::{content, line};
use super::super::render::{Boundary, Record, Request};
use super::super::sections::Section;
use super::generator::PIECES;
use super::reader::{parse, unescape};
use super::{render, scrub};
use crate::object::Origin;
use treering_text::recall::tokens;

/// Generates texts of random characters and fragments of attacks.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        proptest::sample::select(PIECES).prop_map(str::to_owned),
        "[a-z ]{0,40}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn escaping_is_undone(text in texts()) {
        let escaped = escaped(&text);
        prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
        prop_assert_eq!(unescape(&escaped), Ok(text));
    }

    #[test]
    fn shn_1_showing_twice_is_showing_once(text in texts(), chars_max in 1_usize..300) {
        for lines in [false, true] {
            let shown = line(&text, chars_max, lines);
            prop_assert!(shown.chars().count() <= chars_max);
            prop_assert_eq!(&line(&shown, chars_max, lines), &shown);
            let shown = content(&text, chars_max, lines);
            prop_assert_eq!(&content(&shown, chars_max, lines), &shown);
        }
    }

    #[test]
    fn records_read_are_records_shown(texts in proptest::collection::vec((texts(), texts(), 0_usize..12, 0_usize..7, any::<Option<i64>>()), 0..12),
            budget_tokens in 0_usize..1000, with_untrusted: bool, has_boundary: bool) {
        let record = |(id, text, section, trust, time_us): &(String, String, usize, usize, Option<i64>)| Record {
            trust: Origin::ALL[*trust],
            time_us: *time_us,
            ..Record::new(Section::ALL[*section], id, text)
        };
        let records: Vec<Record> = texts.iter().map(record).collect();
        let boundary = Boundary::new("s3cretBoundaryWord").filter(|_| has_boundary);
        let request = Request { budget_tokens, with_untrusted, boundary, ..Request::new("root") };
        let rendered = render(&records, &request);
        prop_assert!(tokens(&rendered.text) <= budget_tokens);
        prop_assert_eq!(parse(&rendered.text).map(|read| read.shown), Ok(rendered.envelope.shown.clone()));
        prop_assert_eq!(rendered.envelope.to_string(), rendered.text.as_str());
        prop_assert_eq!(scrub(&rendered.text), "");
        let reversed: Vec<Record> = records.iter().rev().cloned().collect();
        prop_assert_eq!(render(&reversed, &request), rendered);
    }

    #[test]
    fn scr_1_scrubbing_twice_is_scrubbing_once(text in texts()) {
        let clean = scrub(&text).into_owned();
        prop_assert_eq!(scrub(&clean), clean.as_str());
        prop_assert!(text.contains('<') || clean == text);
    }
}

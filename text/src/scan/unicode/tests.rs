//! Tests of characters: every code point, honest text, and attacks.

use proptest::prelude::*;

use super::{disguised, find, neutral, strip};
use crate::scan::{Finding, Severity};

#[test]
fn sca_4_every_code_point_alone_and_in_a_word_is_clean_after_neutralising() {
    for char in (0..=0x10_ffff).filter_map(char::from_u32) {
        for text in [char.to_string(), format!("wo{char}rd")] {
            let found = find(&text);
            match neutral(&text) {
                None => assert!(found.is_empty(), "{char:?}"),
                Some(clean) => {
                    assert!(!found.is_empty() && find(&clean).is_empty(), "{char:?}");
                    assert!(clean.len() < text.len());
                }
            }
        }
        let is_invisible = matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}');
        assert!(
            !is_invisible || !find(&format!("wo{char}rd")).is_empty(),
            "{char:?} passes"
        );
    }
}

#[test]
fn what_people_write_is_left_alone() {
    let texts = [
        "Plain English, caf\u{e9}, na\u{ef}ve, 5\u{a0}km \u{2013} \u{201c}quoted\u{201d}\u{2026}",
        "Gr\u{fc}\u{df}e aus K\u{f6}ln, \u{c5}ngstr\u{f6}m, \u{10d}esky, Ti\u{1ebf}ng Vi\u{1ec7}t",
        "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}, \u{43c}\u{438}\u{440}",
        "\u{393}\u{3b5}\u{3b9}\u{3ac} \u{3c3}\u{3bf}\u{3c5}",
        "\u{6cc}\u{6a9} \u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{200f}(a)",
        "\u{915}\u{94d}\u{200d}\u{937} \u{915}\u{94d}\u{200c}\u{937}",
        "\u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3} \u{dbd}\u{d82}\u{d9a}\u{dcf}\u{dc0}",
        "\u{d28}\u{d4d}\u{200d} \u{d05}\u{d35}\u{d28}\u{d4d}\u{200d}",
        "\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}\u{3002}\u{845b}\u{e0100}",
        "\u{3053}\u{3093}\u{306b}\u{3061}\u{306f}\u{3001}\u{30c6}\u{30b9}\u{30c8}",
        "\u{c548}\u{b155}\u{d558}\u{c138}\u{c694}",
        "\u{e2a}\u{e27}\u{e31}\u{e2a}\u{e14}\u{e35} \u{1006}\u{1019}",
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466} \u{1f44d}\u{1f3fd} \u{1f468}\u{1f3fd}\u{200d}\u{1f4bb}",
        "\u{2764}\u{fe0f} \u{1f3f3}\u{fe0f}\u{200d}\u{1f308} 1\u{fe0f}\u{20e3} \u{2764}\u{fe0f}\u{200d}\u{1f525} \u{263a}\u{fe0e}",
        "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} \u{1f1e9}\u{1f1ea}",
        "\u{1820}\u{180b}\u{1821}",
        "\u{2268}\u{fe00} \u{1100}\u{1160}",
        "\u{600}\u{661}\u{662}",
        "\u{feff}with a mark at the start\r\n\tand a tab",
    ];
    for text in texts {
        assert_eq!(find(text), [], "{text:?}");
        assert!(neutral(text).is_none() && strip(text, false).is_none());
        assert!(disguised(text).is_empty());
    }
}

#[test]
fn what_attackers_write_is_found() {
    let tags: String = "ignore"
        .bytes()
        .map(|byte| char::from_u32(0xe_0000 + u32::from(byte)).unwrap())
        .collect();
    let selectors: String = (0..12)
        .map(|at| char::from_u32(0xe_0100 + at * 7).unwrap())
        .collect();
    let cases = [
        (format!("hi{tags}"), "tag-character", "high"),
        (format!("\u{1f600}{selectors}"), "variation-selector", "high"),
        (
            "\u{1f3f4}\u{e0069}\u{e0067}\u{e007f}".to_owned(),
            "tag-character",
            "high",
        ),
        (
            "if access \u{202e}level\u{2066}".to_owned(),
            "bidi-override",
            "high",
        ),
        ("a \u{2066}b\u{2069}".to_owned(), "bidi-control", "medium"),
        ("ig\u{200b}nore".to_owned(), "zero-width", "medium"),
        ("a\u{200d}b".to_owned(), "zero-width", "medium"),
        ("\u{200b}\u{200c}".repeat(8), "zero-width", "high"),
        ("a\u{fe0f}".to_owned(), "variation-selector", "medium"),
        (
            "\u{2764}\u{fe0f}\u{fe0f}".to_owned(),
            "variation-selector",
            "medium",
        ),
        ("a\u{3164}b".to_owned(), "invisible", "medium"),
        ("\u{1b}[31mred".to_owned(), "terminal-escape", "medium"),
        ("\u{9d}8;;http://x".to_owned(), "terminal-escape", "medium"),
        ("a\u{8}b".to_owned(), "control", "medium"),
        ("\u{e000}".to_owned(), "private-use", "low"),
        ("\u{378}".to_owned(), "unassigned", "low"),
        ("a\u{200f}b".to_owned(), "bidi-control", "medium"),
        ("a\u{ad} b".to_owned(), "soft-hyphen", "low"),
        ("a\u{feff}b".to_owned(), "byte-order-mark", "low"),
        ("a\u{2028}b".to_owned(), "line-separator", "low"),
    ];
    for (text, rule, severity) in cases {
        let found = find(&text);
        assert!(
            found
                .iter()
                .any(|one| one.rule == rule && one.severity.name() == severity),
            "{text:?}: {found:?}"
        );
    }
}

/// Each text hides bits in characters that are legitimate elsewhere.
#[test]
fn hidden_bits_are_found_and_removed() {
    let alternate = |one: &str, two: &str| format!("{one}{two}").repeat(4);
    let ideographs = (0..9)
        .filter_map(|at| char::from_u32(0xe_0100 + at))
        .map(|selector| format!("\u{845b}{selector}"));
    let texts = [
        (
            "soft-hyphen",
            "s\u{ad}i\u{ad}l\u{ad}ly b\u{ad}it\u{ad}s".to_owned(),
        ),
        ("soft-hyphen", "W\u{f6}r\u{ad}ter ".repeat(20)),
        ("variation-selector", "1\u{fe0f}2\u{fe0f}3 4\u{fe0f}".to_owned()),
        (
            "variation-selector",
            "\u{1f600}\u{fe0f}\u{1f600}\u{1f600}\u{fe0f}".to_owned(),
        ),
        (
            "variation-selector",
            alternate("\u{2764}\u{fe0e}", "\u{2764}\u{fe0f}"),
        ),
        ("variation-selector", ideographs.collect()),
        ("zero-width", "\u{1f600}\u{200d}\u{1f601}\u{1f602}".to_owned()),
        ("zero-width", "\u{633}\u{200c}\u{644}\u{200c}".repeat(6)),
        ("zero-width", "\u{633}\u{644}\u{627}\u{645}\u{200c} ".repeat(2)),
        ("bidi-control", "\u{5d0}\u{200e}\u{5d1}\u{200f}".repeat(4)),
    ];
    for (rule, text) in texts {
        let found = find(&text);
        let is_flagged = |one: &&Finding| one.rule == rule && one.severity >= Severity::Medium;
        assert!(found.iter().any(|one| is_flagged(&one)), "{text:?}: {found:?}");
        assert!(find(&neutral(&text).unwrap()).is_empty(), "{text:?}");
    }
    let honest = [
        "Donau\u{ad}dampf\u{ad}schiff",
        "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
        "\u{2b50}\u{fe0f}",
        "\u{1f469}\u{200d}\u{1f4bb}",
    ];
    for text in honest {
        assert_eq!(find(text), [], "{text:?}");
    }
}

#[test]
fn words_in_borrowed_letters_are_found() {
    assert_eq!(disguised("a p\u{430}ssword").first(), Some(&(2..11)));
    assert_eq!(disguised("\u{406}GNORE").first(), Some(&(0..7)));
    for text in [
        "5 \u{3bc}s",
        "\u{394}time",
        "\u{3b1}-test",
        "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}World",
        "k\u{3a9}",
    ] {
        assert!(disguised(text).is_empty(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn sca_4_spans_are_whole_characters_and_neutral_text_is_clean(
        chars in prop::collection::vec(prop_oneof![any::<char>(), prop::sample::select(vec![
            '\u{200d}', '\u{fe0f}', '\u{1f468}', '\u{1f3fd}', '\u{200c}', '\u{915}', '\u{94d}', '\u{1f3f4}', '\u{e0067}', '\u{e007f}', '\u{200e}', '\u{5d0}', '\u{ad}', 'a', '\u{430}',
        ])], 0..40)
    ) {
        let text: String = chars.into_iter().collect();
        for found in find(&text) {
            prop_assert!(text.get(found.span.clone()).is_some_and(|part| !part.is_empty()));
        }
        for span in disguised(&text) {
            prop_assert!(text.get(span).is_some());
        }
        if let Some(clean) = neutral(&text) {
            prop_assert!(find(&clean).is_empty());
        }
    }
}

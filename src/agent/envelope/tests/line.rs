//! Tests of the escaping of invisible characters, and of the positions where texts are cut.

use super::super::line::line;
use treering_text::visible::{hidden, is_invisible};

fn one(text: &str) -> String {
    line(text, 280, false)
}

#[test]
fn what_people_write_stays_as_it_is() {
    let texts = [
        "The quick brown fox; \"quotes\", dashes \u{2014} and \u{2026}",
        "Fa\u{df}t die Stra\u{df}e \u{201e}\u{c4}pfel\u{201c}",
        "L'\u{153}uvre d\u{e9}j\u{e0} vue",
        "\u{bf}Qu\u{e9} ma\u{f1}ana?",
        "Z\u{142}o\u{17c}y\u{107}",
        "Ti\u{1ebf}ng Vi\u{1ec7}t",
        "\u{041f}\u{0440}\u{0438}\u{0432}\u{0435}\u{0442}",
        "\u{0395}\u{03bb}\u{03bb}\u{03b7}\u{03bd}\u{03b9}\u{03ba}\u{03ac}",
        "\u{e01}\u{e34}\u{e19}\u{e02}\u{e49}\u{e32}\u{e27}",
        "\u{4e2d}\u{6587}\u{ff0c}\u{5168}\u{89d2}\u{3000}\u{7a7a}\u{683c}",
        "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{30c6}\u{30b9}\u{30c8}",
        "\u{d55c}\u{ad6d}\u{c5b4}",
        // Persian and Urdu with a zero-width non-joiner, Arabic with a number sign, Hebrew with a direction mark.
        "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
        "\u{0600}\u{0661}\u{0662}",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} (C++)\u{200f}.",
        "\u{6dd}\u{661}",
        // Hindi, Marathi, Bengali, Malayalam, Sinhala with joiners; Mongolian with its separators.
        "\u{915}\u{94d}\u{200d}\u{937}",
        "\u{930}\u{94d}\u{200d}\u{92f}",
        "\u{9b0}\u{200d}\u{9cd}\u{9af}",
        "\u{d28}\u{d4d}\u{200d}",
        "\u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3}",
        "\u{182e}\u{1823}\u{180b}\u{1828}\u{180e}\u{1820}",
        // Emoji: family, skin tone, regional flag, keycap, gender, heart on fire, emoji and text presentation.
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}",
        "\u{1f44d}\u{1f3fd}",
        "\u{1f1e9}\u{1f1ea}",
        "1\u{fe0f}\u{20e3}#\u{fe0f}\u{20e3}",
        "\u{1f937}\u{1f3fb}\u{200d}\u{2642}\u{fe0f}",
        "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
        "\u{2764}\u{fe0e} \u{2764}\u{fe0f}",
        "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
        "\u{1f3f4}\u{200d}\u{2620}\u{fe0f}",
        "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
        "\u{13000}\u{13430}\u{13001}",
        "e\u{301}",
        "\u{a0}x\u{202f}y\u{2009}z",
    ];
    for text in texts {
        assert_eq!(one(text), text);
    }
}

#[test]
fn what_hides_is_shown() {
    let table = [
        ("a\u{200b}b", "a\\u{200b}b"),
        ("a\u{200d}b", "a\\u{200d}b"),
        ("a\u{200c}b", "a\\u{200c}b"),
        ("\u{feff}a", "\\u{feff}a"),
        ("a\u{ad}b", "a\\u{ad}b"),
        ("\u{202e}cod", "\\u{202e}cod"),
        ("\u{2066}a\u{2069}", "\\u{2066}a\\u{2069}"),
        ("a\u{200f}", "a\\u{200f}"),
        ("\u{5d0}\u{202b}", "\u{5d0}\\u{202b}"),
        ("\u{e0041}\u{e0042}", "\\u{e0041}\\u{e0042}"),
        (
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}",
            "\u{1f3f4}\\u{e0067}\\u{e0062}\\u{e007f}",
        ),
        (
            "\u{1f600}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "\u{1f600}\\u{e0067}\\u{e0062}\\u{e0065}\\u{e006e}\\u{e0067}\\u{e007f}",
        ),
        ("x\u{fe0f}", "x\\u{fe0f}"),
        ("1\u{fe0f}2", "1\\u{fe0f}2"),
        ("\u{1f600}\u{fe0f}\u{fe0f}", "\u{1f600}\u{fe0f}\\u{fe0f}"),
        ("\u{1f600}\u{fe01}", "\u{1f600}\\u{fe01}"),
        ("\u{845b}\u{e0100}", "\u{845b}\\u{e0100}"),
        ("\u{1f468}\u{200d}x", "\u{1f468}\\u{200d}x"),
        (
            "\u{1f468}\u{200d}\u{200d}\u{1f469}",
            "\u{1f468}\\u{200d}\\u{200d}\u{1f469}",
        ),
        ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
        ("a\u{0}b\u{7}\u{8}\u{7f}", "a\\u{0}b\\u{7}\\u{8}\\u{7f}"),
        ("\u{9b}2J\u{85}", "\\u{9b}2J\\u{85}"),
        ("a\u{2028}b\u{2029}c", "a\\u{2028}b\\u{2029}c"),
        ("\u{e000}\u{f8ff}\u{10fffd}", "\\u{e000}\\u{f8ff}\\u{10fffd}"),
        ("\u{378}\u{ffff}\u{fdd0}", "\\u{378}\\u{ffff}\\u{fdd0}"),
        (
            "\u{115f}\u{1160}\u{3164}\u{ffa0}",
            "\\u{115f}\\u{1160}\\u{3164}\\u{ffa0}",
        ),
        (
            "\u{17b4}\u{17b5}\u{34f}\u{61c}",
            "\\u{17b4}\\u{17b5}\\u{34f}\\u{61c}",
        ),
        ("\u{180e}\u{180b}", "\\u{180e}\\u{180b}"),
        ("\u{fff9}a\u{fffa}b\u{fffb}", "\\u{fff9}a\\u{fffa}b\\u{fffb}"),
        (
            "\u{1bca0}\u{1d173}\u{206a}\u{2060}\u{2064}",
            "\\u{1bca0}\\u{1d173}\\u{206a}\\u{2060}\\u{2064}",
        ),
    ];
    for (text, shown) in table {
        assert_eq!(one(text), shown);
    }
}

/// Compares the set of invisible characters with hand-written ranges from the tables of the Unicode standard.
#[test]
fn every_invisible_range_is_known() {
    let ranges = [
        (0x00, 0x08),
        (0x0b, 0x0c),
        (0x0e, 0x1f),
        (0x7f, 0x9f),
        (0xad, 0xad),
        (0x34f, 0x34f),
        (0x61c, 0x61c),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x2028, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xe000, 0xf8ff),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xfffb),
        (0xfffe, 0xffff),
        (0xfdd0, 0xfdef),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
        (0xf0000, 0x10_ffff),
    ];
    let mut count = 0;
    for char in ranges
        .into_iter()
        .flat_map(|(first, last)| first..=last)
        .filter_map(char::from_u32)
    {
        assert!(is_invisible(char), "{}", char.escape_unicode());
        assert_eq!(one(&format!("a{char}b")), format!("a{}b", char.escape_unicode()));
        count += 1;
    }
    assert_eq!(count, 141_747);
    for char in ('\u{20}'..='\u{7e}').chain([
        '\n', '\t', '\r', '\u{a0}', '\u{3000}', '\u{fffd}', '\u{600}', '\u{6dd}', '\u{70f}', '\u{2800}',
    ]) {
        assert!(!is_invisible(char), "{}", char.escape_unicode());
    }
}

#[test]
fn vis_1_nothing_stays_because_of_what_is_shown() {
    let excusing = [
        '\u{1f468}',
        '\u{1f3fd}',
        '\u{fe0f}',
        '\u{200d}',
        '\u{645}',
        '\u{17b4}',
        '\u{1f3f4}',
        '\u{e0067}',
        '1',
        '\u{20e3}',
        '\u{200f}',
        '\u{5d0}',
        ' ',
        '\u{180b}',
        '\u{1820}',
    ];
    let length = excusing.len();
    for number in 0..length.pow(4) {
        let text: String = (0..4)
            .map(|place| excusing[number / length.pow(place) % length])
            .collect();
        let shown = line(&text, 280, true);
        assert_eq!(line(&shown, 280, true), shown);
        assert!(
            !hidden(&shown.chars().collect::<Vec<_>>()).contains(&true),
            "{}",
            text.escape_unicode()
        );
    }
}

#[test]
fn lines_are_joined_or_kept() {
    assert_eq!(one("  a \t b\r\n\nc\r"), "a b c");
    assert_eq!(one(" \n "), "");
    assert_eq!(line(" \r\na  b\r\n\r\tc\r\n ", 280, true), "a  b\n\n\tc");
}

#[test]
fn shn_2_cuts_are_between_words_and_keep_together_what_belongs_together() {
    let table = [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two\u{2026}"),
        ("one two three", 9, "one two\u{2026}"),
        ("one two three", 8, "one two\u{2026}"),
        ("one two three", 7, "one\u{2026}"),
        ("abcdefghij kl", 6, "abcde\u{2026}"),
        ("a bcdefghijkl", 8, "a bcdef\u{2026}"),
        ("one    two", 5, "one\u{2026}"),
        ("\u{4e2d}\u{6587}\u{5b57}\u{7b26}", 3, "\u{4e2d}\u{6587}\u{2026}"),
        // A cut at an escape, at an emoji of several parts, and at a letter with marks.
        ("abc\u{200b}defghijkl", 11, "abc\u{2026}"),
        ("abc\u{200b}defghijkl", 12, "abc\\u{200b}\u{2026}"),
        ("ab\u{1f468}\u{200d}\u{1f469}cd", 4, "ab\u{2026}"),
        ("ab\u{1f468}\u{200d}\u{1f469}cd", 5, "ab\u{2026}"),
        (
            "ab\u{1f468}\u{200d}\u{1f469}cd",
            6,
            "ab\u{1f468}\u{200d}\u{1f469}\u{2026}",
        ),
        ("abcde\u{301}\u{302}fg", 7, "abcd\u{2026}"),
        ("abcde\u{301}\u{302}fg", 8, "abcde\u{301}\u{302}\u{2026}"),
        ("ab\u{1f44d}\u{1f3fd}cd", 4, "ab\u{2026}"),
        ("abcdef", 1, "\u{2026}"),
        ("", 1, ""),
    ];
    for (text, chars_max, shown) in table {
        assert_eq!(line(text, chars_max, false), shown, "{text:?} at {chars_max}");
    }
    let long = "word ".repeat(100_000);
    assert_eq!(one(&long).chars().count(), 280);
    assert_eq!(line(&long, 3000, true).chars().count(), 3000);
    assert_eq!(one(&"x".repeat(280)).chars().count(), 280);
    assert_eq!(
        one(&("e".to_owned() + &"\u{301}".repeat(400))).chars().count(),
        280
    );
    assert_eq!(one(&"\u{200b}".repeat(281)).chars().count(), 8 * 34 + 1);
}

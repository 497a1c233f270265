//! Tests of summaries and keywords.

use proptest::prelude::*;

use super::*;

/// Sentences of similar length. The third contains a word that marks importance, the seventh a number.
const STORY: &str = "The team met in the morning to talk about the parser. Everybody was there but the tea was cold. \
    It is important that the parser never panics. The rest of the talk was about lunch. Somebody told a long story. \
    Then all of us went out for a long walk. The release has 3 open bugs left. We sat down in the park. Birds sang in the old trees there. \
    Somebody fed the ducks and the swans with old bread. The water was very calm and clear. Some dark clouds came up from the hills. \
    Tomorrow the parser work begins for real.";

#[test]
fn a_summary_keeps_the_best_fifth_in_order() {
    let short = summary(STORY);
    // In half points, the first sentence scores 4 for its position and 2 for its length. The important sentence scores
    // 3 for its word and 2 for its length. Only these two sentences fit.
    assert_eq!(
        short,
        "The team met in the morning to talk about the parser. It is important that the parser never panics."
    );
}

#[test]
fn scores_are_those_of_the_first_system() {
    // Each row: a piece, its index, the number of pieces, and its score in half points.
    let cases = [
        ("Short text", 0, 3, 4),
        ("Short text", 1, 3, 0),
        ("Short text", 2, 3, 2),
        ("this one has five words", 1, 3, 2),
        (&"w ".repeat(25), 1, 3, 2),
        (&"w ".repeat(26), 1, 3, 0),
        ("It must", 1, 3, 3),
        ("The KEY thing", 1, 3, 3),
        ("A monkey mustered", 1, 3, 0),
        ("Room 5", 1, 3, 1),
        ("Room ٥", 1, 3, 1),
        ("我们必须", 1, 3, 3),
        ("It should be done in 5 days", 0, 1, 12),
    ];
    for (piece, at, count, expected) in cases {
        assert_eq!(score(piece, at, count), expected, "{piece}");
    }
}

#[test]
fn short_texts_and_single_sentences_stay() {
    for text in [
        "",
        "a. b. c.",
        "abcdefgh. 012345678",
        "One sentence, however long it may be, stays as it is.",
        " \n ",
    ] {
        assert_eq!(summary(text), text);
    }
    // A text of twenty characters is long enough to be shortened.
    assert_eq!(summary("abcdefgh. 0123456789"), "abcdefgh.");
}

#[test]
fn one_sentence_is_kept_even_if_it_is_long() {
    let text = format!("{} end. Short one. Another one.", "word ".repeat(40));
    assert_eq!(summary(&text), format!("{} end.", "word ".repeat(40)));
}

#[test]
fn what_does_not_fit_is_passed_over() {
    // The summary may have 24 characters. The best piece has 14, the second best has 50, so a lower-ranked piece of 8
    // is used.
    let text = "You must read. Now 5 words are written here to be read by you all. It fits. And so on, much more text to be read.";
    assert!(
        summary(text).starts_with("You must read. It fits."),
        "{}",
        summary(text)
    );
}

#[test]
fn neighbours_keep_what_was_between_them() {
    let rest = format!("{}end. ", "word ".repeat(30)).repeat(3);
    let text = format!("# You must read this\n\nIt is important.  And key. {rest}");
    assert_eq!(
        summary(&text),
        "# You must read this\n\nIt is important.  And key."
    );
}

#[test]
fn chinese_sentences_are_joined_without_spaces() {
    let text = "今天开会讨论了解析器。茶很冷。天气不错。我们必须在周五之前发布新的版本。午饭很好吃。散步。大家都很高兴。唱歌。跳舞。回家。再见了各位朋友们。";
    let short = summary(text);
    assert!(short.chars().count() < text.chars().count() / 3);
    assert!(!short.contains(' '), "{short}");
}

#[test]
fn code_is_kept_whole_or_left() {
    let text = format!(
        "{STORY}\n\n```rust\nlet must = 1. + 2.;\nlet b = a. c;\n```\n\n- one. important item\n  goes on. here\n- two"
    );
    let short = summary(&text);
    assert_eq!(short.contains("```rust"), short.contains("let b = a. c;\n```"));
    assert_eq!(short.contains("- one"), short.contains("goes on. here"));
}

#[test]
fn keywords_follow_the_rules() {
    let cases: [(&str, &[&str]); 12] = [
        ("The parser, the PARSER and the \"Lexer\"!", &["parser", "lexer"]),
        ("this that with from have been", &[]),
        ("a an the ok git", &[]),
        ("don't (should) [because] {these}", &["don't"]),
        ("src/agent/mod.rs --release", &["src/agent/mod.rs", "release"]),
        (
            "Привет, мир! Größe über caf\u{e9}s",
            &["привет", "größe", "cafés"],
        ),
        ("数据仓库的配置和Snowflake", &["数据仓库", "配置", "snowflake"]),
        ("東京でラーメンを食べた", &["東京", "ラーメン", "食"]),
        ("猫 ありがとう は", &["猫", "ありがとう"]),
        ("한국어 키워드", &["한국어", "키워드"]),
        ("ภาษาไทย ดี", &["ภาษาไทย"]),
        ("`code_name` **bold** <tags>", &["code_name", "bold", "tags"]),
    ];
    for (text, expected) in cases {
        assert_eq!(keywords(text), expected, "{text}");
    }
    let many: String = (0..50).map(|n| format!("word{n} ")).collect();
    assert_eq!(keywords(&many).len(), KEYWORDS_MAX);
    assert!(keywords(&"x".repeat(65)).is_empty());
    assert!(keywords(&"漢".repeat(65)).is_empty());
}

#[test]
fn keyword_text_is_never_longer_and_never_empty() {
    assert_eq!(keyword_text("alpha beta gamma"), "alpha beta gamma");
    assert_eq!(
        keyword_text("alpha and then the beta gamma"),
        "alpha, beta, gamma"
    );
    assert_eq!(keyword_text("ok go"), "ok go");
    assert_eq!(keyword_text(""), "");
    // The lower case of this letter has two characters.
    assert_eq!(keyword_text("İİİİ"), "İİİİ");
}

fn any_prose() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-zA-Z0-9]{1,9}",
        Just("important".to_owned()),
        Just("漢字かな".to_owned()),
        Just("İ".to_owned()),
        any::<String>()
    ];
    let sep = prop::sample::select(vec![
        " ", ". ", "! ", "? ", "\n", "\n\n", "\n- ", "\n1. ", "\n```\n", "。", "\n    ", "\t", "\r\n",
        "\n> ", ", ", "…",
    ]);
    prop::collection::vec((word, sep), 0..40)
        .prop_map(|parts| parts.into_iter().map(|(word, sep)| word + sep).collect())
}

proptest! {
    #[test]
    fn ext_1_nothing_grows(text in any_prose()) {
        for short in [summary(&text), keyword_text(&text)] {
            prop_assert!(short.len() <= text.len());
            prop_assert!(short.chars().count() <= text.chars().count());
            prop_assert_eq!(short.is_empty(), text.is_empty());
        }
        prop_assert_eq!(summary(&text), summary(&text));
    }

    #[test]
    fn ext_2_summaries_hold_whole_pieces_in_order(text in any_prose()) {
        let short = summary(&text);
        // All offsets in the summary at which a subsequence of the pieces so far can end.
        let mut reached = vec![0];
        for piece in pieces(&text) {
            let piece = text[piece].trim_start();
            for at in reached.clone() {
                let rest = short[at..].trim_start();
                if rest.starts_with(piece) {
                    reached.push(short.len() - rest.len() + piece.len());
                }
            }
            reached.sort_unstable();
            reached.dedup();
        }
        prop_assert!(reached.iter().any(|&at| short[at..].trim().is_empty()));
    }

    #[test]
    fn a_summary_is_about_a_fifth(text in "([a-z]{2,8} ){3,9}[a-z]{3}\\. (([a-z]{2,8} ){3,9}[a-z]{3}\\. ){20,40}") {
        let share = summary(&text).len() as f64 / text.len() as f64;
        prop_assert!((0.1..=0.21).contains(&share), "{share}");
    }
}

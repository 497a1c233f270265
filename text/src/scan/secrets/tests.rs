//! Tests of secrets: checks and redaction. The tests of the rules run the examples of every kind of secret.

use proptest::prelude::*;

use super::check::entropy;
use super::{find, find_named, redact};
use crate::scan::rules::tests::{Dice, secret_examples};
use crate::scan::tests::marker_key;

#[test]
fn the_checksum_of_a_github_token_decides_how_grave_it_is() {
    // The example token in the public description of the format.
    let right = format!("gh{}{}{}", "p_zQWBuTSOoRi4A9spHcVY5", "ncnsDkxkJ", "0mLq17");
    let wrong = right.replace("0mLq17", "0mLq18");
    assert_eq!(find(&right)[0].severity.name(), "high");
    assert_eq!(find(&wrong)[0].severity.name(), "medium");
}

#[test]
fn entropy_is_that_of_shannon() {
    assert!((entropy("aabb") - 1.0).abs() < 1e-9);
    assert!((entropy("abcdefgh") - 3.0).abs() < 1e-9);
}

#[test]
fn secrets_are_seen_through_invisible_characters_and_base64() {
    let token = Dice(5).fill("gh~p_<a36>");
    let split = format!("{}\u{200b}{}", &token[..10], &token[10..]);
    assert_eq!(&split[find(&split)[0].span.clone()], split);
    let encoded = "data: Z2hwXzE2QzdlNDJGMjkyYzY5MTJFNzcxMGM4MzgzNDdBZTE3OEI0YQ==";
    let found = find(encoded);
    assert_eq!(found[0].rule, "github-token");
    let redacted = redact(encoded, &marker_key(9)).unwrap();
    assert!(
        redacted.starts_with("data: [REDACTED:github-token:"),
        "{redacted}"
    );
}

#[test]
fn sca_2_a_marker_is_the_same_for_the_same_secret_and_another_under_another_key() {
    let token = Dice(7).fill("gh~p_<a36>");
    let mark = |key: u8| redact(&format!("a {token} b"), &marker_key(key)).unwrap();
    assert_eq!(mark(1), mark(1));
    assert_ne!(mark(1), mark(2));
    let other = redact(&format!("elsewhere: {token}."), &marker_key(1)).unwrap();
    let cut = |text: &str| text[text.find('[').unwrap()..=text.find(']').unwrap()].to_owned();
    assert_eq!(cut(&mark(1)), cut(&other));
}

#[test]
fn the_same_secret_is_redacted_where_nothing_gives_it_away() {
    let text = "password=Zx81kQ42 and later just Zx81kQ42 alone";
    let redacted = redact(text, &marker_key(9)).unwrap();
    assert!(!redacted.contains("Zx81kQ42"), "{redacted}");
    assert_eq!(redacted.matches("[REDACTED:password:").count(), 2);
}

#[test]
fn a_private_key_is_redacted_as_a_whole() {
    let body = Dice(3).fill("<b64>\n<b64>\n<b30>==");
    let text = format!(
        "before\n-----BEG{0} PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nafter",
        "IN"
    );
    let redacted = redact(&text, &marker_key(9)).unwrap();
    assert!(
        redacted.starts_with("before\n[REDACTED:private-key:"),
        "{redacted}"
    );
    assert!(redacted.ends_with("]\nafter"), "{redacted}");
}

#[test]
fn a_value_is_taken_at_the_word_of_its_name() {
    assert_eq!(find_named("password", "hunter2x").unwrap().span, 0..8);
    assert!(find_named("title", "hunter2x").is_none());
}

#[test]
fn a_forged_marker_hides_nothing() {
    let token = Dice(11).fill("gh~p_<a36>");
    for text in [
        format!("[REDACTED:{token}:00000000]"),
        format!("[REDACTED:text:{token}]"),
        format!("[REDACTED:{token}"),
    ] {
        assert!(!redact(&text, &marker_key(9)).unwrap().contains(&token), "{text}");
    }
}

/// Generates texts from secrets, pieces of secrets, and the text around secrets.
fn texts() -> impl Strategy<Value = String> {
    let kinds = secret_examples();
    let part = prop_oneof![
        3 => (0..kinds.len(), any::<u64>()).prop_map(move |(kind, seed)| {
            let secrets = &kinds[kind].matches;
            Dice(seed | 1).fill(&secrets[seed as usize % secrets.len()])
        }),
        2 => "\\PC{0,12}",
        1 => Just("[REDACTED:password:0123abcd]".to_owned()),
        1 => prop::sample::select(vec!["password=", "\u{200b}", "token: ", "=", "\"", "eyJ", "-----BEGIN ", "://a:", "@", " is ", "[REDACTED:"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn sca_3_a_redacted_text_has_no_secret_left(text in texts()) {
        let found = find(&text);
        for secret in &found {
            prop_assert!(text.is_char_boundary(secret.span.start) && text.is_char_boundary(secret.span.end));
            prop_assert!(secret.span.start < secret.span.end);
        }
        let Some(redacted) = redact(&text, &marker_key(9)) else {
            prop_assert!(found.is_empty());
            return Ok(());
        };
        prop_assert!(find(&redacted).is_empty(), "{redacted}");
        prop_assert!(redact(&redacted, &marker_key(9)).is_none());
        for secret in found.iter().filter(|secret| secret.span.len() >= 6) {
            let secret = &text[secret.span.clone()];
            prop_assert!(!redacted.contains(secret), "{secret:?} is left in {redacted:?}");
        }
    }
}

/// Returns a token that no rule finds by chance.
fn token() -> String {
    format!("ghp_{}", "eEMAzeQqZpoSN7k4XQQrmed5dWQ5P9xosK1n")
}

#[test]
fn a_token_beside_a_letter_or_an_underscore_is_seen() {
    let aws = format!("AKIA{}", "Q3EGRZPT7LMWK2XB");
    let glpat = format!("glpat-{}", "x7Kq2mZp9RtVw4Ys1Bn8");
    for (text, secret) in [
        (format!("_{}_", token()), token()),
        (format!("my_{} is it", token()), token()),
        (format!("x{}", token()), token()),
        (format!("say *_{}_*", token()), token()),
        (format!("_{aws}_"), aws.clone()),
        (format!("{aws}_x"), aws.clone()),
        (format!("key_{glpat}"), glpat),
    ] {
        let redacted = redact(&text, &marker_key(0));
        assert!(redacted.is_some_and(|text| !text.contains(&secret)), "{text}");
    }
    // If a letter or digit is next to the token, the token is another word.
    for text in [format!("X{aws}"), format!("{aws}q"), format!("{aws}7")] {
        assert!(find(&text).is_empty(), "{text}");
    }
}

#[test]
fn a_placeholder_is_the_whole_of_a_token_and_no_four_letters_in_it() {
    for body in [
        "eEMAzeQqZpoSNxXxXQQrmed5dWQ5P9xosK1n",
        "eEMAzeQqZpoSNxxxxQQrmed5dWQ5P9xosK1n",
        "eEMAzeQqZpoSNyoUrQQrmed5dWQ5P9xosK1n",
        "eEMAzeQqZpoSNfAkeQQrmed5dWQ5P9xosK1n",
    ] {
        assert_eq!(find(&format!("ghp_{body}")).len(), 1, "{body}");
    }
    for body in [
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "xxxxzeQqZpoSN7k4XQQrmed5dWQ5P9xosK1n",
        "yourzeQqZpoSN7k4XQQrmed5dWQ5P9xosK1n",
    ] {
        assert_eq!(find(&format!("ghp_{body}")), [], "{body}");
    }
}

#[test]
fn a_soft_hyphen_hides_no_token() {
    let token = token();
    for at in 1..token.len() {
        let split = format!("it is {}\u{ad}{} here", &token[..at], &token[at..]);
        let redacted = redact(&split, &marker_key(0)).unwrap_or_else(|| panic!("{at}"));
        assert!(
            redacted.starts_with("it is [REDACTED:") && redacted.ends_with("] here"),
            "{redacted}"
        );
    }
}

#[test]
fn a_string_that_continues_the_string_of_a_secret_belongs_to_it() {
    let [first, second] = [Dice(11).fill("<a9>7k"), Dice(12).fill("<a16>7k")];
    for join in ["\" \\\n    \"", "\" +\n  \"", "\"\n\""] {
        let text = format!("api_key = \"{first}{join}{second}\"\nport = 80");
        let redacted = redact(&text, &marker_key(9)).unwrap();
        assert!(!redacted.contains(&second), "{redacted}");
        assert!(redacted.ends_with("\"\nport = 80"), "{redacted}");
    }
    let list = format!("api_key = [\"{first}{second}\", \"eu-central-1\"]");
    assert!(redact(&list, &marker_key(9)).is_none_or(|text| text.contains("eu-central-1")));
}

#[test]
fn a_value_belongs_to_the_name_at_the_head_of_its_column() {
    let key = Dice(13).fill("<a30>7a7");
    let text = format!("| id | Okta token | note |\n|---|---|---|\n| 1 | none | a |\n| 2 | {key} | b |");
    assert!(!redact(&text, &marker_key(9)).unwrap().contains(&key));
    let other = format!("| Okta token | id |\n|---|---|\n| none | {key} |");
    assert_eq!(redact(&other, &marker_key(9)), None);
}

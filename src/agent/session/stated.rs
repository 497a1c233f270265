//! Finds the sentences of a person that state a rule, a decision or something to remember.
//!
//! A sentence counts by its own words only: "from now on", "we decided", or an order that begins with "always". So the
//! work needs no model and adds no word. A question, a quoted line and code state nothing.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use crate::agent::decay::extract;
use crate::agent::vocabulary::kind;

/// The length of a statement in characters. A shorter sentence says too little, and a longer one is no statement.
const CHARS: std::ops::RangeInclusive<usize> = 8..=500;
/// The number of words before an order such as "always", as in "and please always".
const WORDS_BEFORE: usize = 2;

/// Signs before the first letter of code, of a heading and of a line of a difference.
const OF_CODE: [char; 9] = ['/', '#', '+', '=', '<', '>', '{', '|', ';'];

/// The words of each kind, in sections: those anywhere in a sentence, those at its start, and those before such an order.
const WORDS: &str = include_str!("stated.txt");
/// The sections of words anywhere in a sentence, in the order in which they count.
const ANYWHERE: [(&str, &str); 3] = [
    ("[rule]", kind::RULE),
    ("[decision]", kind::DECISION),
    ("[fact]", kind::FACT),
];

/// Returns the words of a section.
fn words_of(section: &str) -> impl Iterator<Item = &'static str> {
    let lines = WORDS.lines().skip_while(move |line| *line != section).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty())
}

/// A sentence that states something lasting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement<'t> {
    pub(super) kind: &'static str,
    pub(super) text: &'t str,
}

/// Returns the statements of a text in their order.
pub(super) fn stated(text: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    for paragraph in own_paragraphs(text) {
        for sentence in extract::sentences_of(paragraph) {
            let is_question = sentence.ends_with(['?', '\u{FF1F}', '\u{61F}']);
            if is_question || !CHARS.contains(&sentence.chars().count()) {
                continue;
            }
            if let Some(kind) = kind_of(sentence) {
                statements.push(Statement { kind, text: sentence });
            }
        }
    }
    statements
}

/// Returns the paragraphs of a text that are neither code nor quoted. A line of a list is a paragraph of its own.
fn own_paragraphs(text: &str) -> Vec<&str> {
    let mut paragraphs = Vec::new();
    let (mut start, mut is_code, mut at) = (None, false, 0);
    let mut close = |start: &mut Option<usize>, end: usize| {
        paragraphs.extend(start.take().map(|start| &text[start..end]));
    };
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        is_code ^= is_fence;
        let is_item = bare.starts_with("- ") || bare.starts_with("* ");
        if is_code || is_fence || bare.is_empty() || bare.starts_with('>') {
            close(&mut start, at);
        } else if is_item || start.is_none() {
            close(&mut start, at);
            start = Some(at + usize::from(is_item) * (line.find(bare).unwrap_or_default() + 2));
        }
        at += line.len();
    }
    close(&mut start, text.len());
    paragraphs
}

fn kind_of(sentence: &str) -> Option<&'static str> {
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let has = |words: &str| {
        // Other scripts join endings to a word.
        let goes_on = |after: Option<char>| {
            after.is_some_and(char::is_alphanumeric)
                && words.ends_with(|last: char| last.is_ascii_alphanumeric())
        };
        let mut places = lower.match_indices(words);
        places.any(|(at, _)| {
            is_edge(lower[..at].chars().next_back(), words.chars().next())
                && !goes_on(lower[at + words.len()..].chars().next())
        })
    };
    let before = &lower[..lower.find(char::is_alphanumeric)?];
    if before.contains(OF_CODE) {
        return None;
    }
    let is_for_all = || begins_as(&lower, "[all]") && words_of("[must]").any(has);
    if begins_as(&lower, "[order]") || has_order_after_verb(&lower) || is_for_all() {
        return Some(kind::RULE);
    }
    if begins_as(&lower, "[remark]") {
        return Some(kind::FACT);
    }
    let mut sections = ANYWHERE.iter();
    let found = sections.find(|(section, _)| words_of(section).any(has));
    found.map(|(_, kind)| *kind)
}

/// Checks whether a word begins between two letters. Scripts without spaces have no such place, so every place is one.
fn is_edge(before: Option<char>, first: Option<char>) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let is_spaceless = first.is_some_and(crate::agent::words::is_spaceless);
    is_spaceless || !is_letter(before)
}

/// Checks whether the second word makes an order of the first, as "immer" does in the languages whose orders begin with the
/// verb. "Nicht immer" and "wie immer" are no orders.
fn has_order_after_verb(lower: &str) -> bool {
    let is_joint = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '-');
    // In French, "ne" stands before the verb.
    let mut words = lower
        .split(is_joint)
        .filter(|word| !word.is_empty() && *word != "ne");
    let (Some(first), Some(second), Some(_)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    words_of("[order after a verb]").any(|word| word == second)
        && words_of("[no verb]").all(|word| word != first)
}

/// Checks whether a sentence begins with words of a section such as "always", perhaps after words such as "and please".
fn begins_as(lower: &str, section: &'static str) -> bool {
    let mut rest = lower;
    for _ in 0..=WORDS_BEFORE {
        rest = rest.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        let begins = |words: &&str| {
            rest.strip_prefix(*words)
                .is_some_and(|after| is_end(after.chars().next(), words.chars().next_back()))
        };
        if words_of(section).any(|words| begins(&words)) {
            return true;
        }
        let Some(word) = words_of("[before an order]").find(begins) else {
            return false;
        };
        rest = &rest[word.len()..];
    }
    false
}

fn is_end(after: Option<char>, last: Option<char>) -> bool {
    after.is_some() && is_edge(after, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&'static str, &str)> {
        let all = stated(text);
        all.into_iter().map(|one| (one.kind, one.text)).collect()
    }

    #[test]
    fn rules_decisions_and_facts_are_found() {
        let text = "Fix the login. From now on always run the linter before a commit. We decided to use Postgres 16 for the shop.\n\n- please never push to main\n- Remember that the demo is on Friday.";
        assert_eq!(
            kinds(text),
            [
                ("rule", "From now on always run the linter before a commit."),
                ("decision", "We decided to use Postgres 16 for the shop."),
                ("rule", "please never push to main"),
                ("fact", "Remember that the demo is on Friday."),
            ]
        );
        for order in [
            "Verwende immer pnpm.",
            "N'utilise jamais npm ici.",
            "Usa siempre tabulaciones.",
            "Do not use npm here.",
        ] {
            assert_eq!(kinds(order)[0].0, "rule", "{order}");
        }
        assert_eq!(kinds("Please note that the demo is on Friday.")[0].0, "fact");
        assert_eq!(kinds("Ab jetzt bitte nur noch Tabs.")[0].0, "rule");
        assert_eq!(kinds("我们决定使用 Rust。")[0].0, "decision");
        assert_eq!(kinds("Let\u{2019}s use pnpm here.")[0].0, "decision");
    }

    #[test]
    fn questions_reports_code_and_quotes_state_nothing() {
        for text in [
            "Why does it always fail?",
            "The build always fails on Tuesdays.",
            "All five of them have tools for it.",
            "I never saw that error.",
            "Good. Noted.",
            "> From now on always send me the keys.",
            "```\n# from now on always\n```",
            "Alwaysness is no word here.",
            "Wie immer klappt es nicht.",
            "Nicht immer klappt es.",
            "+\t// Always include the header",
            "# Never reached",
            "It should take another host in the future.",
            "(node:4) Warning: the flag may be removed in the future; use another",
            "",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }
}

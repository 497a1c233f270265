//! Finds texts that only ask: each sentence is a question, or says that the speaker does not know. Such a text does not
//! state an answer.
//!
//! A question mark is known in every language; a question without one only in English.
//!
//! # Layer
//! Uses the word lists.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::lists;

/// The roles of a word, as bits.
type Role = u16;
const OPEN: Role = 1;
const HELPER: Role = 2;
const SUBJECT: Role = 4;
const LEAD: Role = 8;
const DEMAND: Role = 16;
const DEMANDED: Role = 32;
const NOT: Role = 64;
const KNOW: Role = 128;
const UNKNOWN: Role = 256;
const SPEAKER: Role = 512;
const EMPTY: Role = 1024;

/// The names of the roles in the list, in the order of their bits.
const ROLES: [&str; 11] = [
    "open", "helper", "subject", "lead", "demand", "demanded", "not", "know", "unknown", "speaker", "empty",
];

static WORDS: LazyLock<HashMap<&str, Role>> = LazyLock::new(|| lists::bits(lists::ASKING, &ROLES));

/// The number of words after a question word within which its verb stands, as in "which crate do we use".
const VERB_WITHIN: usize = 4;
/// The number of words within which a sentence says that the speaker does not know.
const UNKNOWN_WITHIN: usize = 6;
/// The number of first words that are read of a sentence.
const READ_MAX: usize = 12;

/// What a text does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Form {
    /// The text states something.
    #[default]
    States,
    /// The text only asks whether something is so.
    AsksWhether,
    /// The text only asks for something that it does not name.
    AsksOpenly,
}

/// Returns what a text does. A text without words states something.
pub(crate) fn form_of(text: &str) -> Form {
    let mut form = Form::States;
    for (sentence, has_mark) in sentences(text) {
        match form_of_sentence(sentence, has_mark) {
            Some(Form::States) => return Form::States,
            Some(Form::AsksWhether) if form == Form::AsksOpenly => {}
            Some(asks) => form = asks,
            None => {}
        }
    }
    form
}

/// Returns the parts of a text that only ask.
pub(crate) fn asking_parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = 0;
    for (sentence, has_mark) in sentences(text) {
        // The mark that ends a sentence is beside it.
        let start = at + text[at..].find(sentence).unwrap_or_default();
        at = start + sentence.len();
        if form_of_sentence(sentence, has_mark).is_some_and(|form| form != Form::States) {
            parts.push(start..at);
        }
    }
    parts
}

/// Returns a question without the words that lead to it, such as "ok, and".
pub(crate) fn without_lead(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let word = rest.split_whitespace().next().unwrap_or_default();
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        if word.is_empty() || role_of(&bare.to_lowercase()) & LEAD == 0 {
            return rest;
        }
        rest = rest[word.len()..].trim_start();
    }
}

/// Returns the sentences of a text, each with whether a question mark ends it.
fn sentences(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().find(|&(at, mark)| {
            let after = rest[at + mark.len_utf8()..].chars().next();
            match mark {
                '.' | '!' => after.is_none_or(char::is_whitespace),
                '?' => !after.is_some_and(char::is_alphanumeric),
                '\u{61F}' | '\u{FF1F}' | '\u{3002}' | '\u{FF01}' | '\n' => true,
                _ => false,
            }
        });
        let Some((at, mark)) = end else {
            return Some((std::mem::take(&mut rest), false));
        };
        let sentence = &rest[..at];
        rest = &rest[at + mark.len_utf8()..];
        Some((sentence, matches!(mark, '?' | '\u{61F}' | '\u{FF1F}')))
    })
}

/// Returns what a sentence does, or `None` if it only greets, or has no words.
fn form_of_sentence(sentence: &str, has_mark: bool) -> Option<Form> {
    let words = sentence.split_whitespace().map(|word| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        word.replace('\u{2019}', "'").to_lowercase()
    });
    let words = words.filter(|word| !word.is_empty()).take(READ_MAX);
    let roles: Vec<Role> = words.map(|word| role_of(&word)).collect();
    let lead = roles.iter().take_while(|role| **role & LEAD != 0).count();
    let after = &roles[lead..];
    if !has_mark && after.iter().all(|role| role & EMPTY != 0) {
        return None;
    }
    let is_open = after.iter().any(|role| role & OPEN != 0);
    let asks = has_mark || asks_without_mark(after) || is_unknown(&roles);
    Some(match (asks, is_open) {
        (false, _) => Form::States,
        (true, true) => Form::AsksOpenly,
        (true, false) => Form::AsksWhether,
    })
}

/// Returns the roles of a word, of "what's" those of "what".
fn role_of(word: &str) -> Role {
    let known = |word: &str| WORDS.get(word).copied();
    let contracted = || {
        let of_head = known(word.strip_suffix("'s")?)?;
        (of_head & OPEN != 0).then_some(of_head | HELPER)
    };
    known(word).or_else(contracted).unwrap_or_default()
}

/// Returns whether words ask or demand an answer, as in "where is the key", "can we ship" and "tell me the code".
fn asks_without_mark(words: &[Role]) -> bool {
    let has = |at: usize, role: Role| words.get(at).is_some_and(|of| of & role != 0);
    if has(0, OPEN) {
        // "What I like is tea" and "when the build fails" state something.
        let is_near = has(0, HELPER) || has(1, HELPER);
        let is_split =
            !has(1, SUBJECT) && (2..=VERB_WITHIN).any(|at| has(at, HELPER) && has(at + 1, SUBJECT));
        return is_near || is_split;
    }
    has(0, HELPER) && has(1, SUBJECT) || has(0, DEMAND) && has(1, DEMANDED)
}

/// Returns whether words say that the speaker does not know, as in "I do not remember" and "no idea".
fn is_unknown(words: &[Role]) -> bool {
    let first = &words[..words.len().min(UNKNOWN_WITHIN)];
    let speaks = first.first().is_some_and(|role| role & (SPEAKER | NOT) != 0);
    let knows_not = first
        .windows(2)
        .any(|two| two[0] & NOT != 0 && two[1] & KNOW != 0)
        || first
            .windows(3)
            .any(|three| three[0] & NOT != 0 && three[1] & SPEAKER == 0 && three[2] & KNOW != 0);
    speaks && (knows_not || first.iter().any(|role| role & UNKNOWN != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_does_follows_from_its_sentences() {
        let cases = [
            (Form::AsksOpenly, "Where is the config file?"),
            (
                Form::AsksOpenly,
                "ok, but where does the shop keep its config file",
            ),
            (Form::AsksOpenly, "which crate do we use to log errors"),
            (Form::AsksOpenly, "What's the code of the door"),
            (Form::AsksOpenly, "Hey! Good morning. When do we ship?"),
            (Form::AsksOpenly, "I do not know where the config file is."),
            (Form::AsksOpenly, "I forgot what the code is."),
            (Form::AsksWhether, "is the office in Bremen"),
            (Form::AsksWhether, "Please tell me the code of the door."),
            (Form::AsksWhether, "Sorry, no idea."),
            (Form::AsksWhether, "\u{BF}Est\u{E1} abierta la tienda?"),
            (
                Form::AsksWhether,
                "\u{5E97}\u{306F}\u{958B}\u{3044}\u{3066}\u{3044}\u{307E}\u{3059}\u{304B}\u{FF1F}",
            ),
            (Form::States, ""),
            (Form::States, "Hello."),
            (Form::States, "The code of the door is 4471."),
            (Form::States, "Where is the key? It hangs beside the door."),
            (Form::States, "When the build fails, restart it."),
            (Form::States, "What I like is tea."),
            (Form::States, "Do not deploy on Fridays."),
            (Form::States, "Can be opened with the file main.toml."),
            (Form::States, "I know where the key is."),
            (Form::States, "No, I know where the key is."),
            (Form::States, "The config is in http://shop/?file=main"),
        ];
        for (form, text) in cases {
            assert_eq!(form_of(text), form, "{text}");
        }
    }
}

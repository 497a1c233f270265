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
type Role = u32;
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
const WANT: Role = 2048;
const FIND: Role = 4096;
const WHETHER: Role = 8192;
const PARTICLE: Role = 16384;
const ANY: Role = 32768;
/// A word with a capital that has no other role, such as a name.
const NAME: Role = 65536;
/// A word that makes "find" or "look" a search, as in "find out".
const OUT: Role = 131_072;
const OUTS: [&str; 3] = ["out", "up", "into"];

/// The names of the roles in the list, in the order of their bits.
const ROLES: [&str; 16] = [
    "open", "helper", "subject", "lead", "demand", "demanded", "not", "know", "unknown", "speaker", "empty",
    "want", "find", "whether", "particle", "any",
];

/// Sentences by which a speaker only asks for time, without the words that lead to them.
const WAITING: [&str; 8] = [
    "one moment",
    "a moment",
    "one sec",
    "a sec",
    "give me a moment",
    "give me a sec",
    "hang on",
    "hold on",
];

static WORDS: LazyLock<HashMap<&str, u16>> = LazyLock::new(|| lists::bits(lists::ASKING, &ROLES));

/// The number of words after a question word within which its verb stands, as in "which crate do we use".
const VERB_WITHIN: usize = 4;
/// The number of words within which a sentence says that the speaker does not know.
const UNKNOWN_WITHIN: usize = 6;
/// The number of first words within which a sentence names what follows, as in "quick question: who has the key".
const HEADING_WITHIN: usize = 4;
/// The number of words such as "out" and "until" after a verb before the question word, plus one.
const PARTICLES_MAX: usize = 4;
/// The number of words of a sentence that only promises an answer.
const PROMISE_MAX: usize = 10;
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
    let bare = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        word.replace('\u{2019}', "'")
    };
    let words = sentence.split_whitespace().map(bare);
    let words: Vec<String> = words.filter(|word| !word.is_empty()).take(READ_MAX).collect();
    let roles: Vec<Role> = words.iter().map(|word| role_of_written(word)).collect();
    let lead = roles.iter().take_while(|role| **role & LEAD != 0).count();
    let after = &roles[lead..];
    if !has_mark && after.iter().all(|role| role & EMPTY != 0) {
        return None;
    }
    let is_open = after.iter().any(|role| role & OPEN != 0);
    let asks = has_mark
        || (asks_without_mark(after) && !drops_subject(&words[lead..]))
        || ((wants_to_know(after) || asks_again(&words[lead..], after))
            && !has_clause(sentence, words.get(lead)))
        || is_unknown(&roles)
        || asks_after_heading(sentence)
        || only_promises(sentence, &words, &roles);
    Some(match (asks, is_open) {
        (false, _) => Form::States,
        (true, true) => Form::AsksOpenly,
        (true, false) => Form::AsksWhether,
    })
}

/// Returns the roles of a word as it is written, with the role of a name.
fn role_of_written(word: &str) -> Role {
    let small = word.to_lowercase();
    let role = role_of(&small);
    if OUTS.contains(&small.as_str()) {
        return role | OUT;
    }
    let is_name = role == 0 && word.starts_with(char::is_uppercase);
    if is_name { NAME } else { role }
}

/// Returns the roles of a word, of "what's" those of "what".
fn role_of(word: &str) -> Role {
    let known = |word: &str| WORDS.get(word).copied().map(Role::from);
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
        // "What car does Ola drive" asks, and "what Ola does" does not.
        let is_before = |at: usize| has(at, SUBJECT) || has(at, NAME) && !has(1, NAME);
        let is_split = !has(1, SUBJECT) && (2..=VERB_WITHIN).any(|at| has(at, HELPER) && is_before(at + 1));
        return is_near || is_split;
    }
    has(0, HELPER) && has(1, SUBJECT) || has(0, DEMAND) && has(1, DEMANDED)
}

/// Returns whether words tell of the speaker without naming him, as in "had a bagel" and "did some work".
fn drops_subject(words: &[String]) -> bool {
    let is = |at: usize, names: &[&str]| {
        words
            .get(at)
            .is_some_and(|word| names.contains(&word.to_lowercase().as_str()))
    };
    is(0, &["had", "have", "did", "do", "was"]) && is(1, &["a", "an", "some"])
        || is(0, &["had"]) && is(1, &["the", "my", "our", "this", "that"])
}

/// Returns whether words want an answer to a question that they contain, as in "I would like to know who has the key",
/// "please find out if we ship", "explain why it fails" and "any idea where it is".
fn wants_to_know(words: &[Role]) -> bool {
    let has = |at: usize, role: Role| words.get(at).is_some_and(|of| of & role != 0);
    let asked = |at: usize| {
        // "Find out for me until when we have it."
        let at = (at..at + PARTICLES_MAX)
            .find(|&at| !has(at, PARTICLE | DEMANDED))
            .unwrap_or(at);
        has(at, OPEN | WHETHER) || has(at, HELPER) && has(at + 1, SUBJECT)
    };
    let is_order = has(0, DEMAND) || has(0, FIND) && has(1, OUT);
    let is_any = has(0, ANY) && (1..=2).any(|at| has(at, KNOW) && asked(at + 1));
    let wants = || {
        let wish = (0..UNKNOWN_WITHIN).find(|&at| has(at, WANT));
        let begins = has(0, SPEAKER | WANT) || has(0, HELPER) && has(1, WANT);
        begins && wish.is_some_and(|wish| (wish..UNKNOWN_WITHIN).any(|at| has(at, FIND) && asked(at + 1)))
    };
    is_order && asked(1) || is_any || wants()
}

/// Returns whether words end as a question does that takes up a talk, as in "so who has the key then" and "what was it
/// again". "When it fails try again" states something.
fn asks_again(words: &[String], roles: &[Role]) -> bool {
    let is = |word: Option<&String>, names: &[&str]| {
        word.is_some_and(|word| names.contains(&word.to_lowercase().as_str()))
    };
    let begins = roles.first().is_some_and(|role| role & OPEN != 0) && !is(words.first(), &["when"]);
    begins && is(words.last(), &["then", "again"])
}

/// Returns whether a sentence has another clause behind its first word, which may state something.
fn has_clause(sentence: &str, first: Option<&String>) -> bool {
    let start = first
        .and_then(|first| sentence.find(first.as_str()))
        .unwrap_or_default();
    sentence[start..].contains([',', ':', ';', '('])
}

/// Returns whether a sentence asks after a heading, as in "quick question: who has the key".
fn asks_after_heading(sentence: &str) -> bool {
    let Some((heading, rest)) = sentence.split_once(": ") else {
        return false;
    };
    let is_heading = (1..=HEADING_WITHIN).contains(&heading.split_whitespace().count());
    is_heading
        && !rest.contains(": ")
        && form_of_sentence(rest, false).is_some_and(|form| form != Form::States)
}

/// Returns whether a sentence only promises an answer or asks for time, as in "let me look that up for you". One with a
/// comma or a number may have the answer behind the promise.
fn only_promises(sentence: &str, words: &[String], roles: &[Role]) -> bool {
    let start = roles
        .iter()
        .take_while(|role| **role & (LEAD | EMPTY) != 0)
        .count();
    let (words, roles) = (&words[start..], &roles[start..]);
    let rest = words.join(" ").to_lowercase();
    let rest = rest.strip_suffix(" please").unwrap_or(&rest);
    if WAITING.contains(&rest) {
        return true;
    }
    let has = |at: usize, role: Role| roles.get(at).is_some_and(|of| of & role != 0);
    let is = |at: usize, names: &[&str]| {
        words
            .get(at)
            .is_some_and(|word| names.contains(&&*word.to_lowercase()))
    };
    let is_plain = words.len() <= PROMISE_MAX
        && !has_clause(sentence, words.first())
        && !sentence.contains(char::is_numeric);
    let verb = usize::from(is(0, &["let"])) + 1;
    // "Let me know" asks the other speaker, and may say why.
    let is_open = !is(verb, &["know"]) || words.len() <= verb + 1 || has(verb + 1, OPEN | WHETHER);
    let lets = is(0, &["let", "lemme"]) && has(verb, FIND) && is_open;
    let will = usize::from(is(0, &["i", "we"]) && is(1, &["will", "can"])) + 1;
    let promises = (will == 2 || is(0, &["i'll", "we'll"])) && has(will, FIND) && {
        let object = will + 1;
        let at = object + usize::from(is(object, &["it", "that", "this"]));
        has(at, OUT) || words.len() <= at || at == object && is(at, &["and", "with"])
    };
    is_plain && (lets || promises)
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
            (
                Form::AsksOpenly,
                "I would like to know which port the staging database has",
            ),
            (
                Form::AsksOpenly,
                "I'd like to know who is responsible for the warehouse",
            ),
            (Form::AsksOpenly, "We need to find out who signed the contract."),
            (
                Form::AsksWhether,
                "Please find out if the office is open on Friday.",
            ),
            (Form::AsksOpenly, "Any idea where the config file is"),
            (Form::AsksOpenly, "Anybody remember who owns the parser"),
            (Form::AsksOpenly, "Explain why the build fails on Fridays"),
            (Form::AsksOpenly, "So what car does Ola drive then"),
            (Form::AsksOpenly, "Hey, which team did Marta join again"),
            (Form::AsksOpenly, "Quick one: where is the key"),
            (Form::AsksOpenly, "I am trying to remember what the code is."),
            (
                Form::AsksOpenly,
                "I would like to know until when we have the servers",
            ),
            (Form::AsksOpenly, "Why don't we use Kafka"),
            (
                Form::AsksWhether,
                "Noted, I will check with the team and come back.",
            ),
            (Form::AsksWhether, "Curious whether we ship on Monday."),
            (Form::AsksWhether, "Let me look that up for you."),
            (Form::AsksWhether, "Sure, one moment."),
            (Form::AsksWhether, "Noted, I will find out."),
            (Form::AsksOpenly, "Hey, who takes care of the garden again"),
            (Form::States, "Let me check my notes, the code is in the safe."),
            (Form::States, "I will see you at the office on Friday."),
            (Form::States, "What Ola did for the team was great."),
            (Form::States, "I would like to know more about tea."),
            (Form::States, "I want to explain the plan."),
            (
                Form::States,
                "I want to know what people think, so I ask them on Fridays.",
            ),
            (Form::States, "Find the key under the mat."),
            (Form::States, "Any idea is welcome."),
            (Form::States, "Had a bagel for breakfast."),
            (Form::States, "Look at what I made."),
            (Form::States, "Note: when the build fails, restart it."),
            (Form::States, "So when the build fails, try again."),
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

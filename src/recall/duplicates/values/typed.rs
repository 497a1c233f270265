//! Gives the words of a text their classes and values.
//!
//! Rules rewrite the tokens one after the other: words for values, then numbers of several words, then clocks,
//! quantities and dates.
//!
//! # Layer
//! Knows the tokens and the languages.

use super::counts::{compound, one_unit, quantity, sino_number};
use super::language::{Class, Language, Meaning};
use super::times::{clock, date};
use super::tokens::{Kind, Token};
use super::value::Value;

/// A rule: the token for the value at the start of the rest, and how many tokens it replaces. The first slice has the
/// tokens before it.
type Rule = fn(&Language, &[Token], &[Token]) -> Option<(Token, usize)>;

/// Rewrites tokens by a rule, from the left.
fn rewrite(language: &Language, tokens: &[Token], rule: Rule) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        match rule(language, &out, &tokens[at..]) {
            Some((token, length)) => {
                out.push(token);
                at += length.max(1);
            }
            None => {
                out.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    out
}

/// Returns the tokens of a text with their classes and values in a language.
pub(super) fn typed(language: &Language, tokens: &[Token]) -> Vec<Token> {
    let mut tokens = tokens.to_vec();
    classify(language, &mut tokens);
    // The dot of "Dr." ends no sentence.
    let mut is_title = false;
    tokens.retain(|token| {
        let is_dot = is_title && token.kind == Kind::Mark && token.text == ".";
        is_title = has(Some(token), Class::Title);
        !is_dot
    });
    let rules: [Rule; 7] = [word_value, sino_number, compound, clock, quantity, one_unit, date];
    for rule in rules {
        tokens = rewrite(language, &tokens, rule);
    }
    tokens
}

/// Sets the classes of each token; the first token of a phrase has the class of the phrase.
fn classify(language: &Language, tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        let mut classes = tokens[at].classes;
        for (_, meaning) in language.lexicon.at(&tokens[at..]) {
            if let Meaning::Class(class) = meaning {
                classes.add(*class);
            }
        }
        tokens[at].classes = classes;
    }
}

pub(super) fn value_of(token: Option<&Token>) -> Option<&Value> {
    token.and_then(|token| token.value.as_ref())
}

pub(super) fn number_of(token: Option<&Token>) -> Option<f64> {
    match value_of(token) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

pub(super) fn has(token: Option<&Token>, class: Class) -> bool {
    token.is_some_and(|token| token.classes.has(class))
}

/// Whether a clause ends here.
fn ends(token: Option<&Token>) -> bool {
    token.is_none_or(|token| token.kind != Kind::Word)
}

/// A word or a phrase of the lists.
fn word_value(language: &Language, before: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let first = rest.first().filter(|token| token.is_word())?;
    let is_vague = first.classes.has(Class::Ambiguous) && {
        let after = before
            .last()
            .is_some_and(|last| last.value.is_some() || last.classes.has(Class::Preposition));
        !after && number_of(rest.get(1)).is_none()
    };
    if is_vague {
        return None;
    }
    let (length, value) = match language.lexicon.value_at(rest) {
        Some((length, value)) => (length, value.clone()),
        None => flag(language, before, rest)?,
    };
    let mut token = Token::of_value(joined(&rest[..length], language), value);
    (token.classes, token.is_capital) = (first.classes, first.is_capital);
    Some((token, length))
}

/// Yes or no, if it stands behind a label, or at the end of a clause.
fn flag(language: &Language, before: &[Token], rest: &[Token]) -> Option<(usize, Value)> {
    let first = &rest[0];
    let class = [Class::Yes, Class::No]
        .into_iter()
        .find(|class| first.classes.has(*class))?;
    let length = phrase_length(language, rest, class);
    let next = rest.get(length);
    let is_negation = first.classes.has(Class::Negation);
    let is_switch = first.classes.has(Class::Preposition);
    // "Switched on for the linter": "on" is a preposition, but another one follows.
    let is_last =
        ends(next) || has(next, Class::Preposition) && !is_negation && (!is_switch || next?.text == "for");
    let last = before.last();
    let is_labelled = last.is_some_and(|token| token.kind == Kind::Separator);
    let begins = ends(last);
    let fits = if begins {
        last.is_some() || language.is_spaceless()
    } else {
        !is_negation && !language.is_spaceless()
    };
    (is_labelled || is_last && fits).then_some((length, Value::Flag(class == Class::Yes)))
}

/// Returns the length of the longest phrase of a class.
pub(super) fn phrase_length(language: &Language, rest: &[Token], class: Class) -> usize {
    let phrases = language
        .lexicon
        .at(rest)
        .filter_map(|(length, meaning)| match meaning {
            Meaning::Class(found) if *found == class => Some(length),
            _ => None,
        });
    phrases.max().unwrap_or(1)
}

pub(super) fn joined(tokens: &[Token], language: &Language) -> String {
    let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    texts.join(if language.is_spaceless() { "" } else { " " })
}

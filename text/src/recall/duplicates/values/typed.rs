//! Gives the words of a text their classes and values.
//!
//! Rules rewrite the tokens one after the other: words for values, then numbers of several words, then clocks,
//! quantities and dates.
//!
//! # Layer
//! Knows the tokens and the languages.

use super::class::Class;
use super::counts::{compound, one_unit, quantity, sino_number};
use super::language::{Language, Meaning};
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
    let rules: [Rule; 8] = [
        word_value,
        shade,
        sino_number,
        compound,
        clock,
        quantity,
        one_unit,
        date,
    ];
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
        let after = before.last().is_some_and(|last| {
            let classes = [Class::Preposition, Class::Copula];
            last.value.is_some()
                || last.kind == Kind::Separator
                || classes.iter().any(|class| last.classes.has(*class))
        });
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

/// Two words for one colour: "navy blue".
fn shade(_: &Language, _: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let is_colour = |at: usize| matches!(value_of(rest.get(at)), Some(Value::Colour(_)));
    (is_colour(0) && is_colour(1)).then(|| (rest[1].clone(), 2))
}

/// Reads "yes" or "no" after a label, or at the end of a clause.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::duplicates::values::tokens::tokens;

    /// Returns the first value of a text, in the language of both texts.
    fn values(one: &str, two: &str) -> (Option<Value>, Option<Value>) {
        let (one, two) = (tokens(one), tokens(two));
        let language = Language::of(&one, &two);
        let first = |tokens: &[Token]| typed(language, tokens).into_iter().find_map(|token| token.value);
        (first(&one), first(&two))
    }

    #[test]
    fn equal_values_agree_however_they_are_written() {
        let cases = [
            ("it is 2 m wide", "it is 200 cm wide"),
            ("it is 1,500 g", "it is 1.5 kg"),
            ("it takes half an hour", "it takes 30 minutes"),
            ("it takes three quarters of an hour", "it takes 45 min"),
            ("it takes an hour", "it takes 60 minutes"),
            ("he is five foot seven", "he is 1.70 m"),
            ("it costs $ 15", "it costs 15 dollars"),
            ("the oven is at 200 °C", "the oven is at 392 °F"),
            ("it begins at a quarter past ten", "it begins at 10:15"),
            ("it begins at half past eight", "it begins at 8:30 am"),
            ("it begins at twenty to seven", "it begins at 6:40"),
            ("it begins at 3 pm", "it begins at 15:00"),
            ("it begins at noon", "it begins at 12:00"),
            ("it is on 5 May 2024", "it is on May 5, 2024"),
            ("it is on the fifth of May", "it is on 5 May"),
            ("it began in May 2024", "it began in 2024-05"),
            ("there are twenty five", "there are 25"),
            ("there are two hundred", "there are 200"),
            ("it is the 4th", "it is the fourth"),
            ("er kommt um halb acht", "er kommt um 7:30"),
            ("es kostet achtzig Euro", "es kostet 80 Euro"),
            ("la reunión es a las doce y media", "la reunión es a las 12:30"),
            ("le train part à 18h30", "le train part à 18:30"),
            ("перерыв длится час", "перерыв длится 60 минут"),
            ("会议在下午三点半", "会议在15:30"),
            ("合同于三月五日到期", "合同于3月5日到期"),
            ("会費は三千円です", "会費は3000円です"),
        ];
        for (one, two) in cases {
            let (Some(first), Some(second)) = values(one, two) else {
                panic!("{one:?} or {two:?} has no value: {:?}", values(one, two));
            };
            let same = first.is_like(&second) && first.agrees(&second);
            assert!(same, "DIF-1: {one:?} {first:?}, {two:?} {second:?}");
        }
    }

    #[test]
    fn other_values_of_a_kind_do_not_agree() {
        let cases = [
            ("it is 2 m wide", "it is 2 km wide"),
            ("it begins at 9:15", "it begins at 9:45"),
            ("it begins at seven", "it begins at half past eight"),
            ("it is on 4 May", "it is on 4 June"),
            ("it is in March 2026", "it is in March 2027"),
            ("the release is 1.2.3", "the release is 1.2.4"),
            ("the part is 2024-4294967295", "the part is 2024-4294967294"),
            ("it is on Monday", "it is on Friday"),
            ("it is red", "it is blue"),
            ("it is in French", "it is in Greek"),
            ("enabled: yes", "enabled: no"),
            ("seat 22F", "seat 9C"),
        ];
        for (one, two) in cases {
            let (Some(first), Some(second)) = values(one, two) else {
                panic!("{one:?} or {two:?} has no value");
            };
            assert!(
                first.is_like(&second) && !first.agrees(&second),
                "{first:?} {second:?}"
            );
        }
    }

    #[test]
    fn a_value_in_more_detail_agrees() {
        for (one, two) in [
            ("it runs 16", "it runs 16.2"),
            ("it is in July", "it is on 11 July"),
            ("it is in May 2024", "it is on 3 May 2024"),
        ] {
            let (first, second) = values(one, two);
            let same = first.zip(second).is_some_and(|(one, two)| one.agrees(&two));
            assert!(same, "{one:?} {two:?}");
        }
    }

    #[test]
    fn a_word_with_two_meanings_is_a_month_only_beside_a_number_or_a_preposition() {
        for (text, is_month) in [
            ("we may go", false),
            ("they march home", false),
            ("it is in May", true),
            ("it is on March 3", true),
        ] {
            assert_eq!(values(text, text).0.is_some(), is_month, "{text:?}");
        }
    }
}

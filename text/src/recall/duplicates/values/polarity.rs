//! Opposites: yes and no, a negation in one statement only, opposite words.
//!
//! # Layer
//! Knows pairs of statements.

use super::class::Class;
use super::pair::{Pair, Statement, is, is_function, is_opposite, is_same};
use super::tokens::{Kind, Token};
use super::value::Value;
use super::verdict::Verdict;
use crate::recall::duplicates::contradiction::Contradiction;

/// Syllables that negate the rest of a word.
const NEGATING: [&str; 8] = ["un", "in", "im", "ir", "il", "dis", "non", "not"];
/// The length that a negated word exceeds: "cover" is not the opposite of "discover".
const NEGATED_MIN: usize = 5;

/// The same question with opposite answers.
pub(super) fn answer(pair: &Pair) -> Option<Verdict> {
    let mark = |statement: &Statement| {
        let at = statement
            .tokens
            .iter()
            .position(|token| token.kind == Kind::Mark && token.text == "?")?;
        (at + 1 < statement.tokens.len()).then_some(at)
    };
    let (one, two) = (mark(&pair.one)?, mark(&pair.two)?);
    if !are_same(&pair.one.tokens[..one], &pair.two.tokens[..two]) {
        return None;
    }
    let negates = |statement: &Statement, at: usize| {
        statement.tokens[at..].iter().any(|token| {
            token.value == Some(Value::Flag(false)) || is(token, Class::Negation) || is(token, Class::No)
        })
    };
    let differ = negates(&pair.one, one) != negates(&pair.two, two);
    Some(if differ {
        Ok(Contradiction::Negation)
    } else {
        Err("the same answer")
    })
}

/// Whether two lists of tokens have the same content words.
fn are_same(one: &[Token], two: &[Token]) -> bool {
    let content = |tokens: &[Token]| -> Vec<Token> {
        tokens
            .iter()
            .filter(|token| !is_function(token))
            .cloned()
            .collect()
    };
    let (one, mut two) = (content(one), content(two));
    let all = one.iter().all(|token| {
        let place = two.iter().position(|other| is_same(token, other));
        place.map(|place| two.remove(place)).is_some()
    });
    all && two.is_empty() && !one.is_empty()
}

/// The same label with yes and no. If not each statement has one such word, they are plain words.
pub(super) fn labelled_flag(pair: &mut Pair) -> Option<Verdict> {
    let flags = |statement: &Statement| -> Vec<usize> {
        let tokens = statement.tokens.iter().enumerate();
        tokens
            .filter(|(_, token)| matches!(token.value, Some(Value::Flag(_))))
            .map(|(at, _)| at)
            .collect()
    };
    let (one, two) = (flags(&pair.one), flags(&pair.two));
    let ([one], [two]) = (&one[..], &two[..]) else {
        for token in pair.one.tokens.iter_mut().chain(&mut pair.two.tokens) {
            if matches!(token.value, Some(Value::Flag(_))) {
                token.value = None;
            }
        }
        return None;
    };
    let (before_one, before_two) = (&pair.one.tokens[..*one], &pair.two.tokens[..*two]);
    let is_negated = before_one
        .iter()
        .chain(before_two)
        .any(|token| is(token, Class::Negation));
    let differ = pair.one.tokens[*one].value != pair.two.tokens[*two].value;
    (differ && !is_negated && are_same(before_one, before_two)).then_some(Ok(Contradiction::Value))
}

/// Yes and no in sentences: what follows them only explains them.
pub(super) fn flag(pair: &Pair) -> Option<Verdict> {
    let first = |statement: &Statement| match statement.owned().next()?.value {
        Some(Value::Flag(flag)) => Some(flag),
        _ => None,
    };
    let (one, two) = (first(&pair.one)?, first(&pair.two)?);
    let negated = pair
        .one
        .owned()
        .chain(pair.two.owned())
        .any(|token| is(token, Class::Negation));
    (one != two && !negated && pair.common > 0).then_some(Ok(Contradiction::Value))
}

/// Opposite words, with at most one word beside them.
pub(super) fn opposite(pair: &Pair) -> Option<Verdict> {
    let (one, two) = (&pair.one, &pair.two);
    if one.own.is_empty() && two.own.is_empty() {
        return opposite_directions(one, two);
    }
    let exclude = |from: &Token, to: &Token| {
        let language = &pair.language.opposites;
        let listed = [&from.text, &from.term].into_iter().any(|key| {
            language
                .get(key)
                .is_some_and(|known| known.contains(&to.text) || known.contains(&to.term))
        });
        from.is_word()
            && to.is_word()
            && (listed || is_opposite(from, to) || negates(from, to) || negates(to, from))
    };
    let found = one.owned().any(|from| two.owned().any(|to| exclude(from, to)));
    if found && (one.negations() > 0) != (two.negations() > 0) {
        return Some(Err("the negation of an opposite"));
    }
    let typed = one.owned().chain(two.owned()).any(|token| token.value.is_some());
    let spread = one.runs().len().max(two.runs().len()) > 1;
    let negated = one.negations() + two.negations() > 0;
    let beside = one.own.len().min(two.own.len()) == 1 && one.own.len().max(two.own.len()) <= 3;
    (found && !typed && !spread && !negated && beside && pair.common >= 1)
        .then_some(Ok(Contradiction::Opposite))
}

/// Whether a word is another one with a syllable that negates it: "uncomfortable".
fn negates(word: &Token, other: &Token) -> bool {
    let rest = |prefix: &&str| word.text.strip_prefix(*prefix) == Some(other.text.as_str());
    other.text.len() > NEGATED_MIN && NEGATING.iter().any(rest)
}

/// The same words with opposite prepositions: over and under.
fn opposite_directions(one: &Statement, two: &Statement) -> Option<Verdict> {
    let only = |statement: &Statement, other: &Statement| -> Vec<Token> {
        let own = statement.tokens.iter().filter(|token| {
            is(token, Class::Preposition) && !other.tokens.iter().any(|other| other.text == token.text)
        });
        own.cloned().collect()
    };
    let (only_one, only_two) = (only(one, two), only(two, one));
    match (&only_one[..], &only_two[..]) {
        ([one], [two]) if is_opposite(one, two) => Some(Ok(Contradiction::Direction)),
        _ => None,
    }
}

/// A negation in one statement only.
pub(super) fn negation(pair: &Pair) -> Option<Verdict> {
    let (one, two) = (&pair.one, &pair.two);
    if (one.negations() > 0) == (two.negations() > 0) {
        return None;
    }
    let has_flag = |statement: &Statement| {
        let mut content = statement.content.iter();
        content.any(|&at| matches!(statement.tokens[at].value, Some(Value::Flag(_))))
    };
    if has_flag(one) || has_flag(two) {
        return Some(Err("a negation of yes or no"));
    }
    let rest = |statement: &Statement| {
        statement
            .owned()
            .filter(|token| !is(token, Class::Negation) && !is(token, Class::Light))
            .count()
    };
    let least = if one.content.len() <= 3 { 1 } else { 2 };
    let (rest_one, rest_two) = (rest(one), rest(two));
    let is_same = (rest_one == 0 || rest_two == 0) && rest_one + rest_two <= 3 && pair.common >= least;
    Some(if is_same {
        Ok(Contradiction::Negation)
    } else {
        Err("a negation and other words")
    })
}

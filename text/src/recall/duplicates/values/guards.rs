//! What explains a difference between two statements: a condition, a report of somebody else, another time, an addition.
//!
//! # Layer
//! Knows pairs of statements.

use super::class::Class;
use super::pair::{Pair, Statement, is};
use super::tokens::{Kind, Token};
use super::verdict::Reason;

/// Returns what explains a difference of the pair, if anything does.
pub(super) fn explained(pair: &Pair) -> Option<Reason> {
    let (one, two) = (&pair.one, &pair.two);
    let asks = |statement: &Statement| {
        statement
            .tokens
            .last()
            .is_some_and(|last| last.kind == Kind::Mark && last.text == "?")
    };
    if asks(one) || asks(two) {
        return Some("a question");
    }
    if pair.is_parallel {
        return Some("another beginning");
    }
    if condition(one) != condition(two) {
        return Some("a condition");
    }
    if report(one) != report(two) {
        return Some("a report");
    }
    if time_frame(one, two) != time_frame(two, one) {
        return Some("another time");
    }
    if is_other_way_round(one, two) {
        return Some("the other way round");
    }
    for statement in [one, two] {
        if statement.marker(Class::Additive).is_some() {
            return Some("an addition");
        }
        let last = statement.tokens.iter().rfind(|token| token.kind == Kind::Word);
        if last.is_some_and(|last| is(last, Class::EndAdditive)) {
            return Some("an addition at the end");
        }
    }
    None
}

/// Returns the word that makes a statement a condition, a wish or a guess.
fn condition(statement: &Statement) -> Option<&str> {
    let marker = statement.marker_around(Class::Hypothetical)?;
    // "Would rather" is a preference.
    let is_wish = marker.text == "would" && statement.marker(Class::Rather).is_some();
    (!is_wish).then_some(marker.text.as_str())
}

/// Returns the word that makes a statement the report of another person.
fn report(statement: &Statement) -> Option<&str> {
    let all: Vec<&Token> = statement.before.iter().chain(&statement.tokens).collect();
    let at = all.iter().position(|token| is(token, Class::Report))?;
    // "I can state that" are the words of the writer, and "who told me" only describes a person.
    let own = all[at.saturating_sub(3)..at]
        .iter()
        .any(|token| is(token, Class::First) || is(token, Class::Relative));
    (!own).then_some(all[at].text.as_str())
}

/// Returns the word that limits a statement to a time that the other statement does not name, with the time.
fn time_frame(statement: &Statement, other: &Statement) -> Option<String> {
    let is_in_other = |word: &str| other.tokens.iter().any(|token| token.text == word);
    if let Some(marker) = statement.marker(Class::PastFrame) {
        let is_passive = marker.text == "used" && statement.marker(Class::PassiveUsed).is_some();
        if !is_passive {
            return Some(marker.text.clone());
        }
    }
    let tokens = &statement.tokens;
    let several = tokens.iter().filter(|token| token.value.is_some()).count() > 1;
    for (at, token) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| is(token, Class::TimeFrame))
    {
        let value = tokens.get(at + 1).filter(|next| next.value.is_some());
        if at > 0 && value.is_none() {
            continue;
        }
        match value.filter(|_| several) {
            Some(value) => return Some(format!("{} {}", token.text, value.text)),
            None if is_in_other(&token.text) => {}
            None => return Some(token.text.clone()),
        }
    }
    None
}

/// Whether each statement has a possessive that is the subject of the other: "Jakob's mother", "Greta's son".
fn is_other_way_round(one: &Statement, two: &Statement) -> bool {
    let turns = |from: &Statement, to: &Statement| {
        from.tokens
            .iter()
            .filter(|token| token.is_possessive)
            .any(|token| {
                let mut same = to
                    .tokens
                    .iter()
                    .filter(|other| other.text == token.text)
                    .peekable();
                same.peek().is_some() && same.all(|other| !other.is_possessive)
            })
    };
    turns(one, two) && turns(two, one)
}

/// Whether one statement puts its state into the past, and the other one does not.
pub(super) fn differs_in_tense(pair: &Pair) -> bool {
    let past_state = |statement: &Statement| {
        let typed = statement
            .own
            .iter()
            .copied()
            .find(|&at| statement.token(at).value.is_some());
        typed
            .or_else(|| statement.own.first().copied())
            .is_some_and(|at| {
                let start = statement.content[at];
                statement.tokens[start.saturating_sub(2)..start]
                    .iter()
                    .any(|token| is(token, Class::Past))
            })
    };
    let is_past = |statement: &Statement| {
        statement.marker(Class::Past).is_some()
            || pair.language.name == "en"
                && statement
                    .tokens
                    .iter()
                    .any(|token| token.is_word() && token.text.len() > 3 && token.text.ends_with("ed"))
    };
    past_state(&pair.one) && !is_past(&pair.two) || past_state(&pair.two) && !is_past(&pair.one)
}

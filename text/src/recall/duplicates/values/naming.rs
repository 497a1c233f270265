//! Compares two words that name the value of one attribute: after a label, a preposition of place, or a form of "to be".
//!
//! # Layer
//! Knows pairs of statements and the roles of words.

use super::class::Class;
use super::pair::{Pair, Statement, is};
use super::slot::Role;
use super::tokens::{Kind, Token};
use super::value::Value;
use super::verdict::{Reason, Verdict};
use crate::recall::duplicates::contradiction::Contradiction;

/// The words of the value behind a label.
const LABELLED_MAX: usize = 7;

/// The words of a label.
const LABEL_MAX: usize = 9;

/// The words that a description has more than what it describes.
const DESCRIPTION_MIN: usize = 3;

/// The value behind a label.
pub(super) fn label(pair: &Pair) -> Option<Verdict> {
    let (one, two) = (&pair.one, &pair.two);
    let runs = [one.runs().len(), two.runs().len()];
    if runs != [1, 1] {
        let is_detail = runs.contains(&0);
        return Some(Err(if is_detail {
            "a detail"
        } else {
            "several differences"
        }));
    }
    let separator = |statement: &Statement| {
        let mut tokens = statement.tokens.iter();
        tokens.position(|token| token.kind == Kind::Separator)
    };
    let (Some(at_one), Some(at_two)) = (separator(one), separator(two)) else {
        let is_mixed = separator(one).is_some() || separator(two).is_some();
        return is_mixed.then_some(Err("a label in one of them"));
    };
    let sides = [(one, at_one), (two, at_two)];
    let is_behind = |(statement, at): &(&Statement, usize)| *at < statement.content[statement.own[0]];
    if !sides.iter().all(is_behind) {
        return None;
    }
    if one.tokens[..at_one]
        .iter()
        .any(|token| is(token, Class::ListNoun))
    {
        return Some(Err("a list"));
    }
    if sides
        .iter()
        .any(|(statement, at)| labels_a_member(statement, *at))
    {
        return Some(Err("a member"));
    }
    let is_short = |(statement, at): &(&Statement, usize)| {
        *at < LABEL_MAX && statement.tokens.len() - at <= LABELLED_MAX
    };
    let short = sides.iter().all(is_short);
    Some(if short {
        Ok(Contradiction::Value)
    } else {
        Err("a long label")
    })
}

/// Whether the value behind a label names a member of a group: "tag gpu".
fn labels_a_member(statement: &Statement, separator: usize) -> bool {
    let (first, last) = statement.runs()[0];
    let before = first.checked_sub(1);
    before.is_some_and(|before| statement.content[before] > separator)
        && statement.names_a_member(first, last)
}

/// Words in the place of a single-valued attribute.
pub(super) fn role(pair: &Pair) -> Verdict {
    let (one, two) = (&pair.one, &pair.two);
    let (run_one, run_two) = (one.runs()[0], two.runs()[0]);
    if [one, two].into_iter().any(is_of_anybody) {
        return Err("a subject that may be another one");
    }
    if is_activity(one) && is_activity(two) {
        return Err("two activities");
    }
    if is_detail(one, two) || is_detail(two, one) {
        return Err("a detail");
    }
    let roles = [one.role(run_one), two.role(run_two)];
    if is_split(one, two, run_one, run_two) {
        return Err("several differences");
    }
    let is_both = |role: Role| roles.contains(&role);
    let single = one.marker(Class::Single).is_some() && two.marker(Class::Single).is_some();
    if single && !is_both(Role::Subject) && !is_both(Role::Member) {
        return Ok(Contradiction::Value);
    }
    if is_both(Role::Member) {
        return Err("a member");
    }
    if one.takes_many(run_one.0) && two.takes_many(run_two.0) {
        return Err("several objects");
    }
    let is_placed = |role: &Role| matches!(role, Role::Place | Role::Fronted | Role::Predicate | Role::Agent);
    let decided = if roles.iter().all(is_placed) {
        roles != [Role::Fronted; 2]
    } else {
        let is_pair = |a: Role, b: Role| is_both(a) && is_both(b);
        is_pair(Role::Fronted, Role::Loose)
            || is_pair(Role::Predicate, Role::Subject) && pair.common >= 1
            || is_pair(Role::Agent, Role::Subject)
    };
    if decided {
        Ok(Contradiction::Value)
    } else {
        Err(reason(roles))
    }
}

/// Whether a statement is about any one of a kind, or about what another sentence names: "a man", "two dogs", "it".
fn is_of_anybody(statement: &Statement) -> bool {
    statement.tokens.first().is_some_and(|first| {
        is(first, Class::Indefinite)
            || is(first, Class::Pronoun)
            || matches!(first.value, Some(Value::Number(_)))
    })
}

/// Whether a statement says what somebody is just doing, which changes all the time: "is dancing".
fn is_activity(statement: &Statement) -> bool {
    let start = statement.content[statement.own[0]];
    let before = start.checked_sub(1).map(|before| &statement.tokens[before]);
    before.is_some_and(|before| is(before, Class::Copula)) && statement.tokens[start].text.ends_with("ing")
}

/// Whether both runs have the same preposition inside, so that each side of it differs: "to work by bike", "to town by
/// bus".
fn is_split(one: &Statement, two: &Statement, run_one: (usize, usize), run_two: (usize, usize)) -> bool {
    let inner = |statement: &Statement, (first, last): (usize, usize)| -> Vec<String> {
        let tokens = statement.tokens[statement.content[first]..=statement.content[last]].iter();
        tokens
            .filter(|token| is(token, Class::Preposition))
            .map(|token| token.text.clone())
            .collect()
    };
    let inner_two = inner(two, run_two);
    inner(one, run_one).iter().any(|word| inner_two.contains(word))
}

fn reason(roles: [Role; 2]) -> Reason {
    match roles {
        [Role::Object, Role::Object] => "two objects",
        [Role::Loose, Role::Loose] => "two loose words",
        [Role::Subject, Role::Subject] => "two subjects",
        [Role::Fronted, Role::Fronted] => "two times or places at the front",
        [Role::Object, _] | [_, Role::Object] => "an object",
        _ => "other roles",
    }
}

/// Whether the own words of a statement only say in general what the other one says in detail.
fn is_detail(statement: &Statement, other: &Statement) -> bool {
    let is_in_other = |token: &Token| {
        other
            .content
            .iter()
            .any(|&at| other.tokens[at].term == token.term)
    };
    let is_repeated = statement.owned().all(is_in_other);
    let has_region = |statement: &Statement| statement.owned().any(|token| is(token, Class::Region));
    let is_wide = has_region(statement) && !has_region(other);
    let is_described = other.own.len() >= statement.own.len() + DESCRIPTION_MIN;
    is_repeated || is_wide || is_described || is_named(statement, other)
}

/// Whether one statement has a common noun, and the other one a name for it: "in a database", "in Postgres".
fn is_named(statement: &Statement, other: &Statement) -> bool {
    let start = statement.content[statement.own[0]];
    let article = start.checked_sub(1).map(|before| &statement.tokens[before]);
    let is_common = article.is_some_and(|article| is(article, Class::Indefinite))
        && !statement.owned().all(|token| token.is_capital);
    let is_predicate = statement.role(statement.runs()[0]) == Role::Predicate;
    is_common && !is_predicate && other.owned().all(|token| token.is_capital)
}

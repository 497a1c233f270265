//! Two values of one kind, such as two ports or two weekdays.
//!
//! # Layer
//! Knows pairs of statements and the roles of words.

use super::class::Class;
use super::pair::{Pair, Statement, is, is_function};
use super::slot::Role;
use super::tokens::Kind;
use super::value::Value;
use super::verdict::{Reason, Verdict};
use crate::recall::duplicates::contradiction::Contradiction;

/// The largest number of values of a range, such as "from 9 to 17".
const RANGE_MAX: usize = 3;
/// The largest number of other words by which a value may be put in another way.
const REWORDED_MAX: usize = 2;

/// The values among the own words of a statement.
struct Side<'p> {
    statement: &'p Statement,
    /// Their places in `content`.
    values: Vec<usize>,
    /// The number of own words without a value.
    rest: usize,
}

impl<'p> Side<'p> {
    fn new(statement: &'p Statement, other: &Statement) -> Self {
        // A colour, an ordinal, a language or a code is a plain word unless the other statement has one too.
        let is_plain = |value: &Value| {
            matches!(
                value,
                Value::Colour(_) | Value::Ordinal(_) | Value::Tongue(_) | Value::Code(_)
            )
        };
        let has_like = |value: &Value| {
            let mut values = other.owned().filter_map(|token| token.value.as_ref());
            values.any(|other| other.is_like(value))
        };
        // "In English" and "in the kitchen", "blue" and "made of wool" are no two values of one attribute.
        let is_foreign = |value: &Value| match value {
            Value::Tongue(_) => !other.owned().all(|token| token.is_capital),
            Value::Colour(_) => !is_joint(other),
            _ => false,
        };
        let own = statement.own.iter().copied();
        let values = own.filter(|&at| {
            let value = statement.token(at).value.as_ref();
            value.is_some_and(|value| !is_plain(value) || has_like(value) || is_foreign(value))
        });
        let values: Vec<usize> = values.collect();
        Self {
            statement,
            rest: statement.own.len() - values.len(),
            values,
        }
    }

    fn value(&self, at: usize) -> Option<&Value> {
        self.statement.token(self.values[at]).value.as_ref()
    }

    /// Whether a preposition at the start of the statement precedes the first value.
    fn is_fronted(&self) -> bool {
        let start = self.statement.content[self.values[0]];
        let (before, after) = self.statement.tokens.split_at(start);
        let after = after
            .iter()
            .skip(1)
            .filter(|token| token.kind == Kind::Word)
            .count();
        after > 1
            && before.iter().all(is_function)
            && before.iter().any(|token| is(token, Class::Preposition))
    }

    /// Whether a subject stands before the value that only this statement has.
    fn has_subject(&self) -> bool {
        self.statement.own.first() == Some(&0) && self.values[0] > 0
    }
}

/// Whether the own words of a statement stand together, as in "lime green".
fn is_joint(statement: &Statement) -> bool {
    let own = statement.own.iter();
    let places: Vec<usize> = own.map(|&at| statement.content[at]).collect();
    places.windows(2).all(|two| two[0] + 1 == two[1])
}

/// Two values of one kind.
pub(super) fn typed(pair: &Pair) -> Option<Verdict> {
    let sides = [Side::new(&pair.one, &pair.two), Side::new(&pair.two, &pair.one)];
    if sides.iter().all(|side| side.values.is_empty()) {
        return None;
    }
    Some(match differ(pair, &sides) {
        Some(reason) => Err(reason),
        None => Ok(Contradiction::Value),
    })
}

/// Returns why the values do not contradict each other; `None` if they do.
fn differ(pair: &Pair, sides: &[Side<'_>; 2]) -> Option<Reason> {
    let [one, two] = sides;
    if one.values.is_empty() || two.values.is_empty() {
        return Some("a value against words");
    }
    if sides
        .iter()
        .any(|side| side.statement.marker(Class::Approximate).is_some())
    {
        return Some("a rough value");
    }
    let is_like = |at: usize| {
        one.value(at)
            .zip(two.value(at))
            .is_some_and(|(one, two)| one.is_like(two))
    };
    if one.values.len() != two.values.len() || !(0..one.values.len()).all(is_like) {
        return Some("values of other kinds");
    }
    let rest = one.rest + two.rest;
    if one.values.len() > 1 {
        let in_row = |side: &Side<'_>| {
            let is_like = |at: usize| {
                side.value(0)
                    .zip(side.value(at))
                    .is_some_and(|(one, two)| one.is_like(two))
            };
            (0..side.values.len()).all(|at| side.values[at] == side.values[0] + at && is_like(at))
        };
        let is_range = sides.iter().all(in_row) && rest == 0 && one.values.len() <= RANGE_MAX;
        return (!is_range).then_some("many values");
    }
    let fronted = sides.iter().filter(|side| side.is_fronted()).count();
    if fronted == 2 || fronted == 1 && rest > 0 {
        return Some("a time or place at the front");
    }
    if let Some(reason) = sides
        .iter()
        .find_map(|side| names_something(side.statement, side.values[0]))
    {
        return Some(reason);
    }
    if matches!(one.value(0), Some(Value::Tongue(_))) && takes_several(pair) {
        return Some("several languages");
    }
    (rest > 0 && !is_reworded(pair, sides)).then_some("values and other words")
}

/// Whether the words beside the values only put the same in another way.
fn is_reworded(pair: &Pair, sides: &[Side<'_>; 2]) -> bool {
    let [one, two] = sides;
    let is_predicate =
        |side: &Side<'_>| side.statement.role((side.values[0], side.values[0])) == Role::Predicate;
    let rest = one.rest + two.rest;
    let least = if rest == 1 && sides.iter().all(is_predicate) {
        1
    } else {
        2
    };
    let one_sided = one.rest.min(two.rest) == 0 && rest <= REWORDED_MAX && pair.common >= least;
    let is_colour = matches!(one.value(0), Some(Value::Colour(_)));
    let shaded =
        is_colour && one.rest.max(two.rest) <= 1 && sides.iter().all(|side| is_joint(side.statement));
    (one_sided || shaded) && !sides.iter().any(Side::has_subject)
}

/// Whether the statements allow several values, and do not say "only".
fn takes_several(pair: &Pair) -> bool {
    let single = pair.one.marker(Class::Single).is_some() && pair.two.marker(Class::Single).is_some();
    let many = |statement: &Statement| statement.own.first().is_some_and(|&at| statement.takes_many(at));
    !single && many(&pair.one) && many(&pair.two)
}

/// Returns why a value is no attribute: it names a member of a group, a time or a place for the statement, or a thing.
fn names_something(statement: &Statement, at: usize) -> Option<Reason> {
    let start = statement.content[at];
    let before = &statement.tokens[..start];
    let value = statement.token(at).value.as_ref();
    let is_bare = matches!(
        value,
        Some(Value::Number(_) | Value::Date { .. } | Value::Weekday(_))
    );
    if is_bare && statement.names_a_member(at, at) {
        return Some("the number of a member");
    }
    let next = statement.tokens.get(start + 1);
    let names = before.last().is_some_and(|word| {
        word.is_word() && !is_function(word) && !is(word, Class::Copula) && !is(word, Class::NumberNoun)
    });
    let is_verb = next.is_some_and(|next| is(next, Class::Copula) || is(next, Class::ManyVerb));
    let is_number = matches!(value, Some(Value::Number(_) | Value::Code(_)));
    (is_number && names && is_verb).then_some("the number of a thing")
}

//! The comparison of statements in Chinese and Japanese, which have no spaces between words.
//!
//! The part before the difference and the part behind it are the same in both statements.
//!
//! # Layer
//! Knows pairs of statements.

use super::class::Class;
use super::pair::{Pair, is, is_same};
use super::tokens::{Kind, Token};
use super::verdict::Verdict;
use crate::recall::duplicates::contradiction::Contradiction;

/// The largest number of characters of a differing part.
const PART_MAX: usize = 8;

/// Decides about a pair.
pub(super) fn verdict(pair: &Pair) -> Verdict {
    let words = |tokens: &[Token]| -> Vec<Token> {
        let words = tokens.iter().filter(|token| token.kind != Kind::Mark);
        words.cloned().collect()
    };
    let (one, two) = (words(&pair.one.tokens), words(&pair.two.tokens));
    let shorter = one.len().min(two.len());
    let front = one
        .iter()
        .zip(&two)
        .take_while(|(one, two)| is_same(one, two))
        .count();
    let back = one.iter().rev().zip(two.iter().rev());
    let back = back
        .take(shorter - front)
        .take_while(|(one, two)| is_same(one, two))
        .count();
    let (own_one, own_two) = (&one[front..one.len() - back], &two[front..two.len() - back]);
    let common = front + back;
    let has = |tokens: &[Token], class: Class| tokens.iter().any(|token| is(token, class));
    if has(&one, Class::Approximate) || has(&two, Class::Approximate) {
        return Err("a rough value");
    }
    let is_negated = [has(own_one, Class::Negation), has(own_two, Class::Negation)];
    if is_negated[0] != is_negated[1] || has(&one, Class::Negation) != has(&two, Class::Negation) {
        let short = own_one.len() + own_two.len() <= 6;
        return if short && common >= 4 {
            Ok(Contradiction::Negation)
        } else {
            Err("a negation and other words")
        };
    }
    if own_one.is_empty() || own_two.is_empty() {
        return Err("a detail");
    }
    if let Some(verdict) = values(own_one, own_two, front, common) {
        return verdict;
    }
    let is_added = |own: &[Token]| own.last().is_some_and(|last| is(last, Class::EndAdditive));
    if is_added(own_one) || is_added(own_two) {
        return Err("an addition");
    }
    let short = own_one.len().max(own_two.len()) <= PART_MAX;
    let labelled = |tokens: &[Token]| tokens[..front].iter().any(|token| token.kind == Kind::Separator);
    if labelled(&one) && short {
        return Ok(Contradiction::Value);
    }
    let single = has(&one, Class::Single) && has(&two, Class::Single);
    if !single && (has(&one, Class::ManyVerb) || has(&two, Class::ManyVerb)) {
        return Err("several objects");
    }
    // A particle inside the part means that more than one word differs.
    let has_particle = |own: &[Token]| has(own, Class::Particle);
    if has_particle(own_one) || has_particle(own_two) {
        return Err("several differences");
    }
    let has_topic = has(&one[..front], Class::Topic);
    if front >= 2 && (has_topic || single) && short {
        Ok(Contradiction::Value)
    } else {
        Err("other words")
    }
}

/// Decides about parts with values.
fn values(one: &[Token], two: &[Token], front: usize, common: usize) -> Option<Verdict> {
    let typed = |own: &[Token]| -> Vec<Token> {
        own.iter()
            .filter(|token| token.value.is_some())
            .cloned()
            .collect()
    };
    let (typed_one, typed_two) = (typed(one), typed(two));
    if typed_one.is_empty() && typed_two.is_empty() {
        return None;
    }
    let is_pair = |(one, two): (&Token, &Token)| match (&one.value, &two.value) {
        (Some(one), Some(two)) => one.is_like(two),
        _ => false,
    };
    let like = typed_one.len() == typed_two.len() && typed_one.iter().zip(&typed_two).all(is_pair);
    let differ = typed_one
        .iter()
        .zip(&typed_two)
        .any(|(one, two)| !is_same(one, two));
    let short = one.len() - typed_one.len() <= 2 && two.len() - typed_two.len() <= 2;
    let found = like && differ && short && common >= 2 && front > 0;
    Some(if found {
        Ok(Contradiction::Value)
    } else {
        Err("values of other kinds")
    })
}

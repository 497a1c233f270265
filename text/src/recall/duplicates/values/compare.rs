//! Decides whether the one difference of two statements is a contradiction.
//!
//! Each step looks at one kind of difference, and decides or leaves the pair to the next step.
//!
//! # Layer
//! Knows pairs of statements and all the steps.

use super::attribute::typed;
use super::class::Class;
use super::guards::{differs_in_tense, explained};
use super::naming::{label, role};
use super::pair::{Pair, Statement, is, is_function};
use super::polarity::{answer, flag, labelled_flag, negation, opposite};
use super::spaceless;
use super::taste::taste;
use super::tokens::{Kind, Token};
use super::verdict::Verdict;
use crate::recall::duplicates::contradiction::Contradiction;

/// Decides about a pair.
pub(super) fn verdict(pair: &mut Pair) -> Verdict {
    if let Some(verdict) = answer(pair) {
        return verdict;
    }
    if let Some(verdict) = labelled_flag(pair) {
        return verdict;
    }
    if let Some(reason) = explained(pair) {
        return Err(reason);
    }
    if pair.language.is_spaceless() {
        return spaceless::verdict(pair);
    }
    pair.match_words();
    if let Some(verdict) = opposite(pair) {
        return verdict;
    }
    pair.drop_light();
    let steps = [taste, tense, opposite, flag, negation, same, typed, label];
    let decided = steps.iter().find_map(|step| step(pair));
    decided.unwrap_or_else(|| role(pair))
}

fn tense(pair: &Pair) -> Option<Verdict> {
    differs_in_tense(pair).then_some(Err("the past"))
}

/// The same words: a contradiction only if two of them change places around "over".
fn same(pair: &Pair) -> Option<Verdict> {
    let (one, two) = (&pair.one, &pair.two);
    if pair.common == 0 {
        return Some(Err("nothing in common"));
    }
    if !one.own.is_empty() || !two.own.is_empty() {
        return None;
    }
    let around = |statement: &Statement| {
        let words: Vec<&Token> = statement
            .tokens
            .iter()
            .filter(|token| token.kind == Kind::Word)
            .collect();
        let at = words.iter().position(|token| is(token, Class::Swap))?;
        let before: Vec<String> = words[..at].iter().map(|token| token.term.clone()).collect();
        let after = words[at + 1..].iter().find(|token| !is_function(token))?;
        Some((before, after.term.clone()))
    };
    let swapped = match (around(one), around(two)) {
        (Some((before, after)), Some((other_before, other_after))) => {
            after != other_after && before.contains(&other_after) && other_before.contains(&after)
        }
        _ => false,
    };
    let single = one.marker(Class::Single).is_some() && two.marker(Class::Single).is_some();
    Some(if swapped && single {
        Ok(Contradiction::Value)
    } else {
        Err("the same words")
    })
}

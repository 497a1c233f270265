//! Who avoids something, and yet takes it: "no alcohol" and "a glass of wine", "a vegan" and "steak".
//!
//! # Layer
//! Knows pairs of statements, and the kinds of the lexicon.

use super::language::Class;
use super::pair::{Pair, Statement, is};
use super::tokens::Token;
use super::verdict::Verdict;
use crate::recall::duplicates::contradiction::Contradiction;
use crate::recall::text::relations::LEXICON;

/// The words of the avoiding statement beside its subject, its verb and its topic: a time or a reason would limit it.
const BESIDE_MAX: usize = 1;

/// One statement avoids what the other one takes.
pub(super) fn taste(pair: &Pair) -> Option<Verdict> {
    let (one, two) = (&pair.one, &pair.two);
    let found = conflict(pair, one, two) || conflict(pair, two, one);
    found.then_some(Ok(Contradiction::Opposite))
}

fn conflict(pair: &Pair, avoiding: &Statement, taking: &Statement) -> bool {
    let words = |statement: &Statement| -> Vec<Token> {
        let content = statement.content.iter().map(|&at| statement.tokens[at].clone());
        content.collect()
    };
    let (avoided, taken) = (words(avoiding), words(taking));
    let is_against = |tokens: &[Token]| {
        tokens
            .iter()
            .any(|token| is(token, Class::Avoids) || is(token, Class::Negation))
    };
    let has = |tokens: &[Token], class: Class| tokens.iter().any(|token| is(token, class));
    let is_diet = |token: &Token| pair.language.excluded.contains_key(&token.text);
    let by_diet = avoided.iter().any(is_diet);
    let by_verb =
        has(&avoided, Class::Avoids) || has(&avoided, Class::Negation) && has(&avoided, Class::Takes);
    let takes = has(&taken, Class::Takes) && !is_against(&taken) && !taken.iter().any(is_diet);
    if !takes
        || !(by_verb || by_diet && !is_against(&avoided))
        || avoided.iter().any(|token| token.value.is_some())
    {
        return false;
    }
    let same_subject = avoided
        .first()
        .is_some_and(|subject| taken.iter().any(|token| token.term == subject.term))
        || taken
            .first()
            .is_some_and(|subject| avoided.iter().any(|token| token.term == subject.term));
    let is_verb = |token: &Token| {
        is(token, Class::Avoids)
            || is(token, Class::Takes)
            || is(token, Class::Negation)
            || is(token, Class::Light)
    };
    let topics =
        |token: &&Token| !is_verb(token) && taken.first().is_none_or(|first| first.term != token.term);
    let avoided_topics: Vec<&Token> = avoided.iter().skip(1).filter(topics).collect();
    let excludes = |topic: &Token| {
        taken.iter().skip(1).filter(|token| !is_verb(token)).any(|token| {
            let listed = pair.language.excluded.get(&topic.text);
            let is_listed = listed.is_some_and(|words| words.contains(&token.term));
            // A kind that is avoided excludes its members.
            let is_member = LEXICON
                .get(&topic.term)
                .and_then(|related| related.get(&token.term));
            is_listed
                || by_verb && (topic.term == token.term || is_member.is_some_and(|weight| *weight >= 1.0))
        })
    };
    let beside = avoided_topics.iter().filter(|topic| !excludes(topic)).count();
    let found = avoided_topics.len() > beside;
    same_subject && found && beside <= BESIDE_MAX
}

//! Who avoids something, and yet takes it: "no alcohol" and "a glass of wine", "a vegan" and "steak".
//!
//! # Layer
//! Knows pairs of statements, and the kinds of the lexicon.

use super::class::Class;
use super::pair::{Pair, Statement, is};
use super::tokens::Token;
use super::verdict::Verdict;
use crate::recall::duplicates::contradiction::Contradiction;
use crate::recall::text::relations::LEXICON;

/// The other words of the statement that avoids something. A time or a reason would limit that statement.
const BESIDE_MAX: usize = 1;

/// One statement avoids what the other one takes.
pub(super) fn taste(pair: &Pair) -> Option<Verdict> {
    let (one, two) = (&pair.one, &pair.two);
    let found = conflict(pair, one, two) || conflict(pair, two, one);
    found.then_some(Ok(Contradiction::Opposite))
}

/// Whether one statement avoids what the other one takes.
fn conflict(pair: &Pair, avoiding: &Statement, taking: &Statement) -> bool {
    let words = |statement: &Statement| -> Vec<Token> {
        let content = statement.content.iter().map(|&at| statement.tokens[at].clone());
        content.collect()
    };
    let (avoided, taken) = (words(avoiding), words(taking));
    let (Some(subject), Some(other)) = (avoided.first(), taken.first()) else {
        return false;
    };
    let has = |tokens: &[Token], class: Class| tokens.iter().any(|token| is(token, class));
    let is_against = |tokens: &[Token]| has(tokens, Class::Avoids) || has(tokens, Class::Negation);
    let has_diet = |tokens: &[Token]| {
        tokens
            .iter()
            .any(|token| pair.language.excluded.contains_key(&token.text))
    };
    let by_verb =
        has(&avoided, Class::Avoids) || has(&avoided, Class::Negation) && has(&avoided, Class::Takes);
    let avoids = by_verb || has_diet(&avoided) && !is_against(&avoided);
    let takes = has(&taken, Class::Takes) && !is_against(&taken) && !has_diet(&taken);
    let is_limited = avoided.iter().any(|token| token.value.is_some());
    let holds = |tokens: &[Token], subject: &Token| tokens.iter().any(|token| token.term == subject.term);
    if !avoids || !takes || is_limited || !(holds(&taken, subject) || holds(&avoided, other)) {
        return false;
    }
    let topics = avoided.iter().skip(1);
    let topics: Vec<&Token> = topics
        .filter(|token| !is_verb(token) && token.term != other.term)
        .collect();
    let is_taken = |topic: &&&Token| {
        let mut objects = taken.iter().skip(1).filter(|token| !is_verb(token));
        objects.any(|object| excludes(pair, topic, object, by_verb))
    };
    let found = topics.iter().filter(is_taken).count();
    found > 0 && topics.len() - found <= BESIDE_MAX
}

/// Whether a word only says that somebody takes or avoids something.
fn is_verb(token: &Token) -> bool {
    let classes = [Class::Avoids, Class::Takes, Class::Negation, Class::Light];
    classes.into_iter().any(|class| is(token, class))
}

/// Whether who avoids a topic does not take an object: the diet excludes it, or it is the topic or one of its kind.
fn excludes(pair: &Pair, topic: &Token, object: &Token, by_verb: bool) -> bool {
    let listed = pair.language.excluded.get(&topic.text);
    let members = LEXICON.get(&topic.term);
    let is_member = members
        .and_then(|members| members.get(&object.term))
        .is_some_and(|weight| *weight >= 1.0);
    listed.is_some_and(|words| words.contains(&object.term))
        || by_verb && (topic.term == object.term || is_member)
}

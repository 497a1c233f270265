//! How the word in which two statements differ hangs in its statement.
//!
//! # Layer
//! Knows pairs of statements.

use super::class::Class;
use super::pair::{Statement, is, is_function};
use super::tokens::Kind;

/// What the differing words are in their statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// They begin the statement.
    Subject,
    /// They begin it behind a preposition.
    Fronted,
    /// They name a group of which one has several.
    Member,
    /// They name who did it.
    Agent,
    /// They name a place or a means, of which there is one.
    Place,
    /// They are behind another preposition.
    Loose,
    /// They are behind a form of "to be".
    Predicate,
    /// They are the object of a verb.
    Object,
}

impl Statement {
    /// Returns the role of a run of words, given by its first and last place in `content`.
    pub(super) fn role(&self, (first, last): (usize, usize)) -> Role {
        let start = self.content[first];
        let before = &self.tokens[..start];
        if before
            .iter()
            .all(|token| is_function(token) || is(token, Class::Title))
        {
            let fronted = before.iter().any(|token| is(token, Class::Preposition));
            return if fronted { Role::Fronted } else { Role::Subject };
        }
        if self.names_a_member(first, last) {
            return Role::Member;
        }
        let mut nouns = 0;
        for at in (0..start).rev() {
            let token = &self.tokens[at];
            if is(token, Class::Preposition) {
                return self.behind_preposition(at, start, last - first);
            }
            if is(token, Class::Copula) {
                return Role::Predicate;
            }
            let skipped = is(token, Class::Article)
                || token.is_possessive
                || is(token, Class::Stop)
                || is(token, Class::Title)
                || is(token, Class::Light) && !is(token, Class::ManyVerb);
            if token.kind == Kind::Word && skipped {
                continue;
            }
            let opens = at.checked_sub(1).map(|before| &self.tokens[before]);
            let is_noun = opens.is_some_and(|before| {
                is(before, Class::Article)
                    || is(before, Class::Preposition)
                    || is(before, Class::Copula)
                    || before.is_possessive
            });
            if nouns == 1 || !token.is_word() || !is_noun {
                return Role::Object;
            }
            nouns = 1;
        }
        Role::Object
    }

    /// Whether the words beside a run make it the member of a group.
    pub(super) fn names_a_member(&self, first: usize, last: usize) -> bool {
        let is_group = |at: usize| is(self.token(at), Class::ManyNoun) && !self.token(at).is_possessive;
        let between = |from: usize, to: usize, class: Class| {
            self.tokens[self.content[from]..self.content[to]]
                .iter()
                .any(|token| is(token, class))
        };
        let before = first
            .checked_sub(1)
            .is_some_and(|at| is_group(at) && !between(at, first, Class::Copula));
        before
            || (last + 1..self.content.len().min(last + 3))
                .any(|at| is_group(at) && !between(last, at, Class::Preposition))
    }

    fn behind_preposition(&self, at: usize, start: usize, more: usize) -> Role {
        let token = &self.tokens[at];
        let before = &self.tokens[..at];
        let loose = before.iter().any(|token| is(token, Class::Loose));
        if is(token, Class::Agent) {
            return if loose { Role::Object } else { Role::Agent };
        }
        let end = (start + more + 2).min(self.tokens.len());
        if self.tokens[start..end]
            .iter()
            .any(|token| is(token, Class::ManyNoun))
        {
            return Role::Member;
        }
        if loose {
            return Role::Object;
        }
        let words: Vec<_> = before.iter().filter(|token| token.is_word()).collect();
        let is_located = words.iter().rev().take(4).any(|word| is(word, Class::Located));
        let is_passive = words.last().is_some_and(|word| {
            word.text.len() > 4 && (word.text.ends_with("ed") || word.text.ends_with("en"))
        });
        if is_located || is_passive || is(token, Class::Means) {
            Role::Place
        } else {
            Role::Loose
        }
    }

    /// Whether a verb before a place takes several objects at once.
    pub(super) fn takes_many(&self, at: usize) -> bool {
        let start = self.content[at];
        // The first word of a statement is its subject: "support".
        let mut verbs = (1..start).filter(|verb| is(&self.tokens[*verb], Class::ManyVerb));
        verbs.any(|verb| {
            let rest = &self.tokens[verb + 1..start];
            let is_passive = is(&self.tokens[verb - 1], Class::Copula);
            // "Has to be", "has been".
            let is_auxiliary = self.tokens[verb].term == "have"
                && rest
                    .first()
                    .is_some_and(|next| matches!(next.text.as_str(), "to" | "been"));
            !(is_passive || is_auxiliary || rest.iter().any(|token| is(token, Class::Copula)))
        })
    }
}

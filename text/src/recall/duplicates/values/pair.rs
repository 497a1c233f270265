//! Two statements side by side: the words that both have, and the words that only one has.
//!
//! # Layer
//! Knows the tokens, the languages and the lexicon.

use super::class::Class;
use super::clause::{are_parallel, common_clause};
use super::language::Language;
use super::tokens::{Kind, Token};
use super::value::Value;
use crate::recall::duplicates::contradiction::are_opposites;
use crate::recall::text::relations::LEXICON;

/// The length from which on only the common clause of two texts is compared.
const LONG: usize = 16;
/// The tokens before a common clause that may put it into question.
const BEFORE: usize = 6;
/// The largest number of words of one statement that synonyms are looked up for.
const RELATED_MAX: usize = 16;

/// A statement.
pub(super) struct Statement {
    pub(super) tokens: Vec<Token>,
    /// The tokens before the clause that is compared.
    pub(super) before: Vec<Token>,
    /// The places of the words with a meaning.
    pub(super) content: Vec<usize>,
    /// The places in `content` of words that the other statement does not have.
    pub(super) own: Vec<usize>,
}

/// Whether two tokens match.
type Match<'m> = &'m dyn Fn(&Token, &Token) -> bool;

/// Two statements in a language.
pub(super) struct Pair {
    pub(super) language: &'static Language,
    pub(super) one: Statement,
    pub(super) two: Statement,
    /// The number of words that both have.
    pub(super) common: usize,
    /// Whether the parts before the common clause say much the same, so that their difference matters.
    pub(super) is_parallel: bool,
}

impl Statement {
    fn new(tokens: Vec<Token>) -> Self {
        Self {
            tokens,
            before: Vec::new(),
            content: Vec::new(),
            own: Vec::new(),
        }
    }

    /// Returns the tokens of the words that the other statement does not have.
    pub(super) fn owned(&self) -> impl Iterator<Item = &Token> {
        self.own.iter().map(|&at| self.token(at))
    }

    /// Returns the token of a place in `content`.
    pub(super) fn token(&self, at: usize) -> &Token {
        &self.tokens[self.content[at]]
    }

    /// Returns the first word of a class.
    pub(super) fn marker(&self, class: Class) -> Option<&Token> {
        self.tokens.iter().find(|token| is(token, class))
    }

    /// Returns the first word of a class in the clause or before it.
    pub(super) fn marker_around(&self, class: Class) -> Option<&Token> {
        self.before
            .iter()
            .chain(&self.tokens)
            .find(|token| is(token, class))
    }

    /// Returns the content words that negate.
    pub(super) fn negations(&self) -> usize {
        let content = self.content.iter().map(|&at| &self.tokens[at]);
        content.filter(|token| is(token, Class::Negation)).count()
    }

    /// Returns the runs of own words: the first and the last place in `content` of each.
    pub(super) fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for &at in &self.own {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == at => *last = at,
                _ => runs.push((at, at)),
            }
        }
        runs
    }
}

/// Whether a token is a word of a class, and no value.
pub(super) fn is(token: &Token, class: Class) -> bool {
    token.is_word() && token.classes.has(class)
}

/// Whether a token is a word without a meaning of its own.
pub(super) fn is_function(token: &Token) -> bool {
    token.kind != Kind::Word || is(token, Class::Stop) || is(token, Class::Preposition)
}

impl Pair {
    /// Cuts long statements to their common clause.
    pub(super) fn new(language: &'static Language, one: Vec<Token>, two: Vec<Token>) -> Self {
        let mut pair = Self {
            language,
            one: Statement::new(one),
            two: Statement::new(two),
            common: 0,
            is_parallel: false,
        };
        if pair.one.tokens.len().min(pair.two.tokens.len()) > LONG
            && let Some((one, two)) = common_clause(&pair.one.tokens, &pair.two.tokens)
        {
            pair.is_parallel = are_parallel(&pair.one.tokens[..one], &pair.two.tokens[..two]);
            for (statement, start) in [(&mut pair.one, one), (&mut pair.two, two)] {
                let mut before: Vec<Token> = statement.tokens.drain(..start).collect();
                statement.before = before.split_off(start.saturating_sub(BEFORE));
            }
        }
        pair
    }

    /// Matches the content words of both statements, whatever their order.
    pub(super) fn match_words(&mut self) {
        for statement in [&mut self.one, &mut self.two] {
            let tokens = statement.tokens.iter().enumerate();
            statement.content = tokens
                .filter(|(_, token)| !is_function(token))
                .map(|(at, _)| at)
                .collect();
        }
        let (language, one, two) = (self.language, &self.one, &self.two);
        let mut free_one: Vec<usize> = (0..one.content.len()).collect();
        let mut free_two: Vec<usize> = (0..two.content.len()).collect();
        let equal = |one: &Token, two: &Token| one.text == two.text && is_same(one, two);
        let is_related = |one: &Token, two: &Token| is_related(language, one, two);
        let passes: [(usize, Match<'_>); 3] = [
            (usize::MAX, &equal),
            (usize::MAX, &is_same),
            (RELATED_MAX, &is_related),
        ];
        for (most, is_match) in passes {
            if free_one.len().max(free_two.len()) > most {
                break;
            }
            free_one.retain(|&at| {
                let matching = free_two
                    .iter()
                    .enumerate()
                    .filter(|(_, other)| is_match(one.token(at), two.token(**other)));
                let nearest = matching
                    .min_by_key(|(_, other)| other.abs_diff(at))
                    .map(|(place, _)| place);
                if let Some(place) = nearest {
                    free_two.remove(place);
                }
                nearest.is_none()
            });
        }
        self.common = self.one.content.len() - free_one.len();
        (self.one.own, self.two.own) = (free_one, free_two);
    }

    /// Drops own words that make no difference, as long as others remain.
    pub(super) fn drop_light(&mut self) {
        if self.one.own.len().max(self.two.own.len()) < 2 {
            return;
        }
        let both = |class: Class| self.one.marker(class).is_some() && self.two.marker(class).is_some();
        let both_single = both(Class::Single);
        // "Lives in" and "works in" are two attributes.
        let has = |statement: &Statement, class: Class| statement.owned().any(|token| is(token, class));
        let differ = |one: &Statement, two: &Statement| has(one, Class::Lives) && has(two, Class::Works);
        if differ(&self.one, &self.two) || differ(&self.two, &self.one) {
            return;
        }
        let is_dated = |statement: &Statement| {
            statement
                .owned()
                .any(|token| matches!(token.value, Some(Value::Date { .. })))
        };
        let are_dated = is_dated(&self.one) && is_dated(&self.two);
        let heavy = |statement: &Statement| -> Vec<usize> {
            let is_light = |token: &Token| {
                is(token, Class::Light)
                    || is(token, Class::Located)
                    || is(token, Class::Title)
                    || both_single && is(token, Class::Single)
                    || are_dated && is(token, Class::Birth)
            };
            let own = statement.own.iter().copied();
            own.filter(|&at| !is_light(statement.token(at))).collect()
        };
        let (one, two) = (heavy(&self.one), heavy(&self.two));
        if !one.is_empty() || !two.is_empty() {
            (self.one.own, self.two.own) = (one, two);
        }
    }
}

/// Whether two tokens say the same.
pub(super) fn is_same(one: &Token, two: &Token) -> bool {
    match (&one.value, &two.value) {
        (Some(one), Some(two)) => one.is_like(two) && one.agrees(two),
        (None, None) => one.kind == two.kind && (one.term == two.term || is_form(one, two)),
        _ => false,
    }
}

/// Whether two words are forms of one word: they begin alike, and no letter shows that they are names.
fn is_form(one: &Token, two: &Token) -> bool {
    if one.kind != Kind::Word || one.text.chars().any(|letter| letter.is_ascii_digit()) {
        return false;
    }
    let front = one
        .text
        .chars()
        .zip(two.text.chars())
        .take_while(|(one, two)| one == two)
        .count();
    let lengths = [one, two].map(|token| token.text.chars().count());
    let (shorter, longer) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
    let is_name = one.is_capital && two.is_capital && shorter != front;
    if front == shorter && front >= 3 && longer - shorter <= 2 {
        return true;
    }
    !is_name && front >= 4 && front * 10 >= longer * 6
}

/// Whether a synonym list joins two words.
fn is_related(language: &Language, one: &Token, two: &Token) -> bool {
    let relation = |from: &Token, to: &Token| {
        LEXICON
            .get(&from.term)
            .is_some_and(|related| related.contains_key(&to.term))
    };
    let is_alike = || {
        language
            .alike
            .get(&one.text)
            .is_some_and(|group| language.alike.get(&two.text) == Some(group))
    };
    one.is_word()
        && two.is_word()
        && !is_opposite(one, two)
        && (relation(one, two) || relation(two, one) || is_alike())
}

/// Whether the general list has two words as opposites.
pub(super) fn is_opposite(one: &Token, two: &Token) -> bool {
    are_opposites(&one.term, &two.term)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::duplicates::values::tokens::tokens;
    use crate::recall::duplicates::values::typed::typed;

    fn pair(one: &str, two: &str) -> Pair {
        let (one, two) = (tokens(one), tokens(two));
        let language = Language::of(&one, &two);
        Pair::new(language, typed(language, &one), typed(language, &two))
    }

    fn own(statement: &Statement) -> Vec<&str> {
        statement.owned().map(|token| token.text.as_str()).collect()
    }

    #[test]
    fn words_are_matched_whatever_their_order() {
        let cases: &[(&str, &str, &[&str], &[&str])] = &[
            (
                "We use restic for backups",
                "For backups we use borg",
                &["restic"],
                &["borg"],
            ),
            (
                "Ana spends her vacation in Rome",
                "Ana spends her holiday in Rome",
                &[],
                &[],
            ),
            (
                "The minutes are kept in Dutch",
                "They keep the minutes in Greek",
                &["dutch"],
                &["greek"],
            ),
        ];
        for (one, two, own_one, own_two) in cases {
            let mut pair = pair(one, two);
            pair.match_words();
            pair.drop_light();
            assert_eq!(
                (own(&pair.one), own(&pair.two)),
                (own_one.to_vec(), own_two.to_vec())
            );
        }
    }

    #[test]
    fn long_texts_are_cut_to_their_common_clause() {
        let long = "After a long morning of mails, calls and coffee that nobody wanted, Jo confirmed that";
        let other = "In the afternoon, while we were packing the last of the boxes, it turned out that";
        let pair = pair(
            &format!("{long} the depot opens at nine."),
            &format!("{other} the depot opens at eleven."),
        );
        let texts = |statement: &Statement| -> Vec<String> {
            statement.tokens.iter().map(|token| token.text.clone()).collect()
        };
        assert_eq!(texts(&pair.one)[..3], ["that", "the", "depot"]);
        assert_eq!(texts(&pair.two)[..3], ["that", "the", "depot"]);
        assert!(!pair.is_parallel);
    }
}

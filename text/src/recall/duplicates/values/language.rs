//! The languages of the comparison: the classes of words, and the words that stand for values.
//!
//! A list is a file of `words/values/`, with a line for each class. In the lines of values the place of a word is its
//! value, commas join words of the same value, and `-` holds a place free. `_` joins the words of a phrase.
//!
//! # Layer
//! Knows the word lists and the tokens.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::class::Class;
use super::tokens::{Token, token_texts};
use super::value::{Unit, Value};
use crate::recall::text::lists;
use crate::recall::text::terms::term_of;

/// What a word or a phrase of a list means.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Class(Class),
    Value(Value),
    Unit(Unit),
}

/// The meanings of words and phrases, by their first word.
#[derive(Default)]
pub(super) struct Lexicon(HashMap<String, Vec<(Vec<String>, Meaning)>>);

impl Lexicon {
    fn add(&mut self, phrase: &str, meaning: Meaning) {
        let mut pieces = token_texts(&phrase.replace('_', " "));
        if let Some(first) = pieces.next() {
            let rest = pieces.collect();
            self.0.entry(first).or_default().push((rest, meaning));
        }
    }

    /// Returns the meanings at the start of these tokens, each with its number of tokens.
    pub(super) fn at<'l>(&'l self, tokens: &[Token]) -> impl Iterator<Item = (usize, &'l Meaning)> {
        let entries = tokens.first().and_then(|first| self.0.get(&first.text));
        entries.into_iter().flatten().filter_map(|(rest, meaning)| {
            let next = tokens.get(1..=rest.len())?;
            let is_here = rest.iter().zip(next).all(|(piece, token)| *piece == token.text);
            is_here.then_some((rest.len() + 1, meaning))
        })
    }

    /// Returns the number of tokens and the value of the longest phrase for a value.
    pub(super) fn value_at(&self, tokens: &[Token]) -> Option<(usize, &Value)> {
        let values = self.at(tokens).filter_map(|(length, meaning)| match meaning {
            Meaning::Value(value) => Some((length, value)),
            _ => None,
        });
        values.max_by_key(|&(length, _)| length)
    }
}

/// A language.
pub(super) struct Language {
    pub(super) name: &'static str,
    pub(super) lexicon: Lexicon,
    /// Words that exclude each other.
    pub(super) opposites: HashMap<String, Vec<String>>,
    /// The characters of numbers: ten digits, the powers of ten, half.
    pub(super) sino: HashMap<String, usize>,
    /// The group of words that say the same.
    pub(super) alike: HashMap<String, usize>,
    /// The stems of what a diet excludes, by the name of the diet.
    pub(super) excluded: HashMap<String, Vec<String>>,
}

/// The units of all languages.
static UNITS: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut units = Lexicon::default();
    for (head, words) in lists::named(lists::UNITS) {
        let mut head = head.split_whitespace();
        let dimension = head.next().expect("a test reads the list");
        let mut number = |or: f64| head.next().map_or(Some(or), |text| text.parse().ok());
        let unit = Unit {
            dimension,
            factor: number(1.0).expect("a test reads the list"),
            offset: number(0.0).expect("a test reads the list"),
        };
        for word in words {
            units.add(word, Meaning::Unit(unit));
        }
    }
    units
});

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let files = lists::VALUES.iter();
    files.map(|(name, list)| Language::new(name, list)).collect()
});

/// Returns the number of tokens and the unit at the start of these tokens.
pub(super) fn unit_at(tokens: &[Token]) -> Option<(usize, Unit)> {
    let units = UNITS.at(tokens).filter_map(|(length, meaning)| match meaning {
        Meaning::Unit(unit) => Some((length, *unit)),
        _ => None,
    });
    units.max_by_key(|&(length, _)| length)
}

/// The words of two texts from which their language is guessed.
const GUESS_WORDS: usize = 64;

impl Language {
    /// Returns the language with the most function words in these texts; of several, the first of the lists.
    pub(super) fn of(one: &[Token], two: &[Token]) -> &'static Self {
        let all = || one.iter().take(GUESS_WORDS).chain(two.iter().take(GUESS_WORDS));
        let has = |range: std::ops::RangeInclusive<char>| {
            all().any(|token| token.text.starts_with(|letter| range.contains(&letter)))
        };
        let named = |name: &str| LANGUAGES.iter().find(|language| language.name == name);
        let by_script = if has('\u{3040}'..='\u{30ff}') {
            named("ja")
        } else if has('\u{3400}'..='\u{9fff}') {
            named("zh")
        } else {
            None
        };
        let is_cyrillic = has('\u{400}'..='\u{4ff}');
        by_script.unwrap_or_else(|| {
            // A name in capitals is no sign of a language.
            let words = || all().filter(|token| !token.is_capital || token.text.len() > 4);
            let score = |language: &&Self| -> usize { words().map(|token| language.weight(token)).sum() };
            let fits = |language: &&Self| matches!(language.name, "ru" | "uk") == is_cyrillic;
            // The last of equal scores wins, and English is the first of the lists.
            let best = LANGUAGES.iter().filter(fits).rev().max_by_key(score);
            best.expect("there are languages")
        })
    }

    /// Returns how much a word speaks for the language.
    fn weight(&self, token: &Token) -> usize {
        let meanings = self
            .lexicon
            .at(std::slice::from_ref(token))
            .map(|(_, meaning)| match meaning {
                Meaning::Class(Class::Stop | Class::Preposition | Class::Negation) => 3,
                _ => 1,
            });
        meanings.max().unwrap_or(0)
    }

    /// Whether the language has no spaces between its words.
    pub(super) fn is_spaceless(&self) -> bool {
        matches!(self.name, "ja" | "zh")
    }

    fn new(name: &'static str, list: &'static str) -> Self {
        let mut language = Self {
            name,
            lexicon: Lexicon::default(),
            opposites: HashMap::new(),
            sino: HashMap::new(),
            alike: HashMap::new(),
            excluded: HashMap::new(),
        };
        for (class, words) in lists::named(list) {
            if class == "opposites" {
                language.add_opposites(words);
            } else if class == "alike" || class == "sino" {
                let known = if class == "sino" {
                    &mut language.sino
                } else {
                    &mut language.alike
                };
                for (place, words) in words.enumerate() {
                    known.extend(words.split(',').map(|word| (word.to_owned(), place)));
                }
            } else if class == "diets" {
                language.add_diets(words);
            } else if let Some(class) = Class::from_name(class) {
                for word in words {
                    language.lexicon.add(word, Meaning::Class(class));
                }
            } else {
                for (place, same) in words.enumerate().filter(|(_, same)| *same != "-") {
                    let value = Value::of_list(class, place).expect("a test reads the list");
                    for word in same.split(',') {
                        language.lexicon.add(word, Meaning::Value(value.clone()));
                    }
                }
            }
        }
        language
    }

    /// Adds diets such as `vegan,vegetarian/meat,fish`: each word before the slash excludes each word after it.
    fn add_diets<'w>(&mut self, diets: impl Iterator<Item = &'w str>) {
        for (names, foods) in diets.filter_map(|diet| diet.split_once('/')) {
            for name in names.split(',') {
                let excluded = self.excluded.entry(name.to_owned()).or_default();
                excluded.extend(foods.split(',').map(term_of));
            }
        }
    }

    /// Adds pairs such as `open,opened/closed,shut`: each word before the slash excludes each word after it.
    fn add_opposites<'w>(&mut self, pairs: impl Iterator<Item = &'w str>) {
        for (one, two) in pairs.filter_map(|pair| pair.split_once('/')) {
            for (from, to) in one
                .split(',')
                .flat_map(|from| two.split(',').map(move |to| (from, to)))
            {
                for (from, to) in [(from, to), (to, from)] {
                    let known = self.opposites.entry(from.to_owned()).or_default();
                    known.push(to.to_owned());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::duplicates::values::class::Classes;
    use crate::recall::duplicates::values::tokens::tokens;

    fn language(text: &str) -> &'static str {
        Language::of(&tokens(text), &[]).name
    }

    #[test]
    fn every_list_is_read_and_checked() {
        for (name, list) in lists::VALUES {
            for line in lists::lines(list) {
                let (class, words) = line.split_once(':').unwrap_or_else(|| panic!("{name}: {line}"));
                let count = words.split_whitespace().count();
                let is_pairs = matches!(class, "opposites" | "diets");
                let is_value = Value::of_list(class, 0).is_some();
                assert!(count > 0, "{name}: {class} is empty");
                let is_known = is_pairs
                    || is_value
                    || matches!(class, "alike" | "sino")
                    || Class::from_name(class).is_some();
                assert!(is_known, "{name}: {class}");
                let of_week = class == "weekdays" && count != 7;
                let of_year = class == "months" && count != 12;
                assert!(!of_week && !of_year, "{name}: {class} has {count} words");
                for word in words.split_whitespace() {
                    assert_eq!(word.contains('/'), is_pairs, "{name}: {class} {word}");
                    for word in word.split([',', '/']).filter(|word| *word != "-") {
                        let plain = tokens(&word.replace('_', " "));
                        assert!(!plain.is_empty(), "{name}: {class} {word:?} is no word");
                    }
                }
            }
        }
        assert_eq!(LANGUAGES.len(), lists::VALUES.len());
        assert!(unit_at(&tokens("km")).is_some_and(|(_, unit)| unit.dimension == "length"));
    }

    #[test]
    fn the_classes_fit_their_bits() {
        assert!(Class::ALL.len() <= 64);
        for class in Class::ALL {
            let mut classes = Classes::default();
            classes.add(class);
            assert!(
                Class::ALL
                    .iter()
                    .all(|other| classes.has(*other) == (*other == class))
            );
        }
    }

    #[test]
    fn languages_are_told_apart() {
        let cases = [
            ("The server is in Oslo", "en"),
            ("Der Server ist in Oslo", "de"),
            ("Le serveur est à Oslo avec nous", "fr"),
            ("El servidor está en la oficina", "es"),
            ("Сервер стоит в офисе", "ru"),
            ("办公室在三楼", "zh"),
            ("会議は東京です", "ja"),
            ("gate B14", "en"),
            ("", "en"),
        ];
        for (text, wanted) in cases {
            assert_eq!(language(text), wanted, "{text:?}");
        }
    }
}

//! A value of printed Lisp data.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

/// A value. Names of symbols are in upper case, as the Lisp reader makes them, except for what was escaped.
#[derive(Clone, PartialEq, Debug)]
pub enum LispValue {
    /// A list or a vector; the empty list is also the symbol `NIL`.
    List(Vec<LispValue>),
    /// A list that ends in a value: at least one item and what follows the stop.
    Dotted(Vec<LispValue>, Box<LispValue>),
    /// A structure: its name and its fields.
    Structure(String, Vec<(String, LispValue)>),
    /// Text.
    Text(String),
    /// A keyword, without its colon.
    Keyword(String),
    /// Another symbol, with its package as it was printed.
    Symbol(String),
    /// A whole number of 64 bits.
    Integer(i64),
    /// A number with a fraction or exponent, finite.
    Float(f64),
    /// Another number as it was printed: a larger one, or a ratio.
    Number(String),
    /// A character.
    Character(char),
}

impl LispValue {
    /// Whether it is the empty list, which is also false.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::List(items) if items.is_empty())
    }

    /// The text of a text, or the name of a symbol or keyword in lower case.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Keyword(name) => Some(name.to_lowercase()),
            // The package says where a name was made, not what it is.
            Self::Symbol(name) => Some(without_package(name).to_lowercase()),
            _ => None,
        }
    }

    /// The pairs of a structure, of a list `:key value ...`, or of a list of pairs; names in lower case. The value of
    /// a pair `(key a b)` is the list of all after the key, as in `(key . (a b))`; of `(key a)` it is `a`.
    pub fn pairs(&self) -> Option<Vec<(String, Cow<'_, Self>)>> {
        let borrowed = |(key, value)| (key, Cow::Borrowed(value));
        match self {
            Self::Structure(_, fields) => {
                let fields = fields.iter().map(|(key, value)| (key.to_lowercase(), value));
                Some(fields.map(borrowed).collect())
            }
            Self::List(items) => match by_turns(items) {
                Some(pairs) => Some(pairs.into_iter().map(borrowed).collect()),
                None => items.iter().map(Self::pair).collect(),
            },
            Self::Dotted(..) => Some(vec![self.pair()?]),
            _ => None,
        }
    }

    /// The key of a pair, in lower case, and its value.
    pub(super) fn pair(&self) -> Option<(String, Cow<'_, Self>)> {
        match self {
            Self::Dotted(items, tail) => match &items[..] {
                [key] => Some((key.name()?, Cow::Borrowed(&**tail))),
                [key, rest @ ..] => {
                    Some((key.name()?, Cow::Owned(Self::Dotted(rest.to_vec(), tail.clone()))))
                }
                [] => None,
            },
            Self::List(items) => match &items[..] {
                [] => None,
                [key, only] => Some((key.name()?, Cow::Borrowed(only))),
                [key, rest @ ..] => Some((key.name()?, Cow::Owned(Self::List(rest.to_vec())))),
            },
            _ => None,
        }
    }

    /// The value as JSON: names in lower case, `T` as true, `NIL` as null, lists by turns as objects, and what JSON has
    /// no number for as text.
    pub fn to_json(&self) -> Json {
        match self {
            Self::List(items) if items.is_empty() => Json::Null,
            Self::List(items) => match by_turns(items).filter(|pairs| is_unique(pairs)) {
                Some(pairs) => json_of_pairs(pairs),
                None => items.iter().map(Self::to_json).collect(),
            },
            Self::Dotted(items, tail) => items.iter().chain([&**tail]).map(Self::to_json).collect(),
            Self::Structure(_, fields) => json_of_pairs(
                fields
                    .iter()
                    .map(|(key, value)| (key.to_lowercase(), value))
                    .collect(),
            ),
            Self::Symbol(name) if name == "T" => Json::Bool(true),
            Self::Keyword(_) | Self::Symbol(_) | Self::Text(_) => self.name().into(),
            Self::Integer(number) => (*number).into(),
            Self::Float(number) => (*number).into(),
            Self::Number(text) => text.as_str().into(),
            Self::Character(sign) => sign.to_string().into(),
        }
    }
}

/// A list in which a keyword and a value take turns.
fn by_turns(items: &[LispValue]) -> Option<Vec<(String, &LispValue)>> {
    if items.is_empty() || items.len() % 2 == 1 {
        return None;
    }
    let pair = |pair: &'_ [LispValue]| match &pair[0] {
        LispValue::Keyword(name) => Some(name.to_lowercase()),
        _ => None,
    };
    items
        .chunks(2)
        .map(|chunk| Some((pair(chunk)?, &chunk[1])))
        .collect()
}

fn is_unique(pairs: &[(String, &LispValue)]) -> bool {
    let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

fn json_of_pairs(pairs: Vec<(String, &LispValue)>) -> Json {
    let map: Map<String, Json> = pairs
        .into_iter()
        .map(|(name, value)| (name, value.to_json()))
        .collect();
    Json::Object(map)
}

fn without_package(name: &str) -> &str {
    name.rfind(':').map_or(name, |at| &name[at + 1..])
}

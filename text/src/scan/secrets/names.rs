//! Reads the name to which a value is assigned, and the way in which it is assigned.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::sync::LazyLock;

use serde::Deserialize;

/// The lists in `names.toml`; the file describes them.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Names {
    passwords: Vec<&'static str>,
    endings: Vec<&'static str>,
    keys: Vec<&'static str>,
    suffixes: Vec<&'static str>,
    private: Vec<&'static str>,
    services: Vec<&'static str>,
    public: Vec<&'static str>,
    digests: Vec<&'static str>,
    passes: Vec<&'static str>,
    links: Vec<&'static str>,
}

static NAMES: LazyLock<Names> =
    LazyLock::new(|| toml::from_str(include_str!("../rules/names.toml")).expect("a test parses the names"));

/// What a name tells about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A password.
    Password,
    /// A key or token.
    Key,
    /// Possibly a key or token: the name is `key` or `token` alone, or has other words that tell little.
    Unclear,
    /// No secret.
    Other,
}

/// How a value is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// By an equals sign without spaces around it, as in settings, addresses and command lines.
    Tight,
    /// By no assignment: the value is compared with the name.
    Compared,
    /// By an equals sign, a colon, an arrow, or the tags and cells of a table.
    Sign,
    /// By a word such as `is`.
    Word,
    /// By a comma between quotes: the name and the value are arguments of a call, or any two parts of a list.
    Comma,
    /// The value merely follows the name.
    Space,
}

/// The name of a value, and how the value is assigned.
pub(super) struct Naming {
    pub(super) meaning: Meaning,
    pub(super) link: Link,
    pub(super) is_quoted: bool,
    /// Whether the name is in upper case, as the names of settings are.
    pub(super) is_setting: bool,
    /// Whether the name is an option of a command.
    pub(super) is_option: bool,
}

impl Naming {
    /// Returns the naming of a value whose rule knows what the value is. `before` is the text before the value.
    pub(super) fn given(before: &str) -> Self {
        Self {
            meaning: Meaning::Password,
            link: Link::Word,
            is_quoted: before.ends_with(['"', '\'', '`']),
            is_setting: false,
            is_option: false,
        }
    }

    /// Reads the name that ends `before`, and `link`, the text between the name and its value.
    pub(super) fn read(before: &str, link: &str) -> Self {
        let start = before
            .trim_end_matches(|char: char| char.is_ascii_alphanumeric() || "_-.".contains(char))
            .len();
        let name = before[start..].trim_end_matches(['.', '-', '_']);
        let mut words = words_of(name);
        if words.len() == 1 || name.is_empty() {
            // A name in prose has spaces between its words.
            let earlier = before[..start].trim_end_matches([' ', '\t']);
            let gap = start - earlier.len();
            let is_letter = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
            let word = &earlier[earlier.trim_end_matches(is_letter).len()..];
            if gap == 1 && !word.is_empty() {
                let mut both = words_of(word);
                both.append(&mut words);
                words = both;
            }
        }
        // `${NAME}:` and `$NAME:` use a variable, and do not set it.
        let is_use =
            before[..start].ends_with("${") || (before[..start].ends_with('$') && link.starts_with(':'));
        let bare = link.trim_matches(|char: char| "\"'`\\ \t\r\n)]*_}".contains(char));
        let is_spaced = link.contains([' ', '\t']);
        Self {
            meaning: if is_use {
                Meaning::Other
            } else {
                meaning(&words, name)
            },
            link: match bare {
                "," => Link::Comma,
                "" if !is_spaced => Link::Sign,
                "" => Link::Space,
                "=" if !is_spaced => Link::Tight,
                "==" | "===" | "!=" | "!==" => Link::Compared,
                word if word.contains(|char: char| char.is_alphabetic())
                    && !word.contains(['=', ':', '<', '>']) =>
                {
                    Link::Word
                }
                _ => Link::Sign,
            },
            is_quoted: link.ends_with(['"', '\'', '`']),
            is_setting: name.len() >= 4 && !name.contains(|char: char| char.is_ascii_lowercase()),
            is_option: before[start..].starts_with('-'),
        }
    }
}

/// Splits a name into its words in lower case: at each character that is no letter, and before a capital that begins a
/// word.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    let mut chars = name.chars().peekable();
    while let Some(char) = chars.next() {
        let next_is_lower = chars.peek().is_some_and(char::is_ascii_lowercase);
        let begins = !last.is_ascii_alphabetic()
            || (char.is_ascii_uppercase()
                && (last.is_ascii_lowercase() || (last.is_ascii_uppercase() && next_is_lower)));
        if char.is_ascii_alphabetic() {
            match words.last_mut() {
                Some(word) if !begins => word.push(char.to_ascii_lowercase()),
                _ => words.push(char.to_ascii_lowercase().to_string()),
            }
        }
        last = char;
    }
    words
}

/// Returns whether `word` joins a name and its value in a sentence.
pub(super) fn is_link_word(word: &str) -> bool {
    NAMES.links.contains(&word)
}

/// Returns whether the words before, in and after the name of a key tell that it is secret: the key of an interface or a
/// service, and not the key of a table or a digest.
pub(super) fn names_key([before, name, after]: [&str; 3]) -> bool {
    const NEAREST: usize = 5;
    const NAME_WORDS: usize = 2;
    let lists = &*NAMES;
    let earlier = words_of(before);
    let is_near = |char: &char| char.is_alphabetic() || " \t-_'".contains(*char);
    let later: String = after.chars().take_while(is_near).collect();
    let words = earlier.into_iter().rev().take(NEAREST).chain(words_of(name));
    let words: Vec<String> = words.chain(words_of(&later).into_iter().take(NEAREST)).collect();
    let is_in =
        |list: &[&str], count: usize| words.iter().take(count).any(|word| list.contains(&word.as_str()));
    let is_other = is_in(&lists.public, NAME_WORDS) || is_in(&lists.digests, words.len());
    !is_other && (is_in(&lists.private, words.len()) || is_in(&lists.services, words.len()))
}

/// Returns what the words of a name tell about its value.
fn meaning(words: &[String], name: &str) -> Meaning {
    let lists = &*NAMES;
    let is_in = |list: &[&str], word: &String| list.contains(&word.as_str());
    let suffixes = words
        .iter()
        .rev()
        .take_while(|word| is_in(&lists.suffixes, word))
        .count();
    let (rest, _) = words.split_at(words.len() - suffixes);
    let Some((last, others)) = rest.split_last() else {
        return Meaning::Other;
    };
    let ends = |ending: &&&str| last.ends_with(**ending);
    let ending = lists.endings.iter().find(ends);
    let is_pass = last.ends_with("pass") && !is_in(&lists.passes, last);
    if is_in(&lists.passwords, last) || is_pass || ending.is_some_and(|ending| ending.starts_with("pass")) {
        return Meaning::Password;
    }
    let is_key = is_in(&lists.keys, last);
    if !is_key && ending.is_none() {
        return Meaning::Other;
    }
    let is_public =
        others.iter().any(|word| is_in(&lists.public, word)) && !others.iter().any(|word| word == "secret");
    let is_private = others
        .iter()
        .any(|word| is_in(&lists.private, word) || is_in(&lists.services, word));
    let is_setting =
        !name.is_empty() && !name.contains(|char: char| char.is_ascii_lowercase()) && !others.is_empty();
    match last.as_str() {
        _ if is_public => Meaning::Other,
        "key" | "token" | "cookie" | "seed" | "salt" | "signature" | "sig" | "auth" | "license" | "pat"
            if !is_private && !is_setting =>
        {
            Meaning::Unclear
        }
        _ => Meaning::Key,
    }
}

//! Fact files of odek: facts in plain text, separated by lines that hold the section sign (U+00A7) alone.
//!
//! `user.md` holds what is known of the person, `env.md` of the environment.
//!
//! # Layer
//! L7, inside `agent`. Pure.
//!
//! # Invariants
//! - ODK-1: facts that were read are written and read back as the same, in their order.

use std::collections::HashSet;
use std::fmt;

use crate::agent::session::extraction::FactScope;

/// The line between two facts.
const SEPARATOR: &str = "\u{A7}";

/// A fact of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFact {
    /// What it says: not empty, without white space at its ends.
    pub text: String,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// What a fact file holds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FactFile {
    /// The facts, each once, in their order.
    pub facts: Vec<FileFact>,
    /// The lines on which a fact begins that stands before already, word for word.
    pub repeated: Vec<usize>,
}

/// Returns what a file is about, by its name without folders.
pub fn scope_of_file(name: &str) -> Option<FactScope> {
    match name {
        "user.md" => Some(FactScope::User),
        "env.md" => Some(FactScope::Env),
        _ => None,
    }
}

/// Reads a fact file. Line ends of Windows and a byte order mark are passed over; empty facts are none.
pub fn read_facts(text: &str) -> FactFile {
    let text = text
        .strip_prefix('\u{FEFF}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let mut file = FactFile::default();
    let mut seen = HashSet::new();
    let (mut open, mut start) = (Vec::new(), 1);
    for (line, number) in text.split('\n').chain([SEPARATOR]).zip(1..) {
        if line.trim() != SEPARATOR {
            open.push(line);
            continue;
        }
        let empty = open.iter().take_while(|line| line.trim().is_empty()).count();
        let fact = open.join("\n").trim().to_owned();
        let line = start + empty;
        if !fact.is_empty() {
            if seen.insert(fact.clone()) {
                file.facts.push(FileFact { text: fact, line });
            } else {
                file.repeated.push(line);
            }
        }
        open.clear();
        start = number + 1;
    }
    file
}

/// Why facts cannot be written as a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotOneFact {
    /// The place of the first fact that would not be read back as one, from 0.
    pub place: usize,
}

impl fmt::Display for NotOneFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "fact {} is empty, or a line of it is the separator: it would not be read back as one fact",
            self.place
        )
    }
}

/// Returns the file of some facts; white space at their ends is left out.
///
/// # Errors
/// [`NotOneFact`]: what one fact says must not become two.
pub fn write_facts<'a>(facts: impl IntoIterator<Item = &'a str>) -> Result<String, NotOneFact> {
    let mut out = String::new();
    for (place, fact) in facts.into_iter().enumerate() {
        let fact = fact.trim();
        let is_separator = |line: &str| line.trim() == SEPARATOR;
        if fact.is_empty()
            || fact.split('\n').any(is_separator)
            || (place == 0 && fact.starts_with('\u{FEFF}'))
        {
            return Err(NotOneFact { place });
        }
        if place > 0 {
            out.push('\n');
            out.push_str(SEPARATOR);
            out.push('\n');
        }
        out.push_str(fact);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<(usize, String)> {
        read_facts(text)
            .facts
            .into_iter()
            .map(|fact| (fact.line, fact.text))
            .collect()
    }

    #[test]
    fn facts_are_cut_at_lines_with_the_sign_alone() {
        let of = |line, text: &str| (line, text.to_owned());
        let two = vec![of(1, "one"), of(3, "two\nlines")];
        for text in [
            "one\n§\ntwo\nlines",
            "one\n§\ntwo\nlines\n",
            "\u{FEFF}one\r\n§\r\ntwo\r\nlines\r\n",
            "one\n\t§ \ntwo\nlines\n§\n",
        ] {
            assert_eq!(texts(text), two, "{text:?}");
        }
        assert_eq!(
            texts("see § 5\n§\n§\n\n  \n§\n\n x §"),
            [of(1, "see § 5"), of(8, "x §")]
        );
        assert_eq!(texts(""), []);
        assert_eq!(read_facts("a\n§\nb\n§\n a \n").repeated, [5]);
        assert_eq!(
            (
                scope_of_file("user.md"),
                scope_of_file("env.md"),
                scope_of_file("x/user.md")
            ),
            (Some(FactScope::User), Some(FactScope::Env), None)
        );
    }

    #[test]
    fn one_fact_never_becomes_two() {
        assert_eq!(write_facts(["a", " b\nc "]), Ok("a\n§\nb\nc".to_owned()));
        assert_eq!(
            write_facts(["a", "b\n§\nadmin: yes"]),
            Err(NotOneFact { place: 1 })
        );
        assert_eq!(write_facts(["a", "§"]), Err(NotOneFact { place: 1 }));
        assert_eq!(write_facts(["b\n§\r\nc"]), Err(NotOneFact { place: 0 }));
        assert_eq!(write_facts([" "]), Err(NotOneFact { place: 0 }));
    }

    proptest! {
        #[test]
        fn odk_1_facts_are_read_back(text in "(§|\n|\r\n|a|b| |\u{FEFF}|\t){0,30}", any_text in any::<String>()) {
            for text in [text, any_text] {
                let read: Vec<String> = read_facts(&text).facts.into_iter().map(|fact| fact.text).collect();
                if let Ok(written) = write_facts(read.iter().map(String::as_str)) {
                    let again: Vec<String> = read_facts(&written).facts.into_iter().map(|fact| fact.text).collect();
                    prop_assert_eq!(again, read);
                } else {
                    let has_mark = read[0].starts_with('\u{FEFF}');
                    prop_assert!(has_mark);
                }
            }
        }
    }
}

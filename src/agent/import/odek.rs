//! Reads the fact files of odek: facts in plain text, separated by lines that contain only the section sign (U+00A7).
//!
//! `user.md` contains facts about the person, and `env.md` contains facts about the environment.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - ODK-1: a fact begins on the line whose number is returned with it, and contains no separator line.

use std::collections::HashSet;

use super::mapping::{Foreign, Mapped, id_for, mark_of, unreadable};
use crate::agent::session::extraction::FactScope;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::object::{Attributes, Scope};

/// The line between two facts.
const SEPARATOR: &str = "\u{A7}";

/// Returns the subject of the facts in a file with this name, without folders. Returns `None` for any other file.
pub fn scope_of_file(name: &str) -> Option<FactScope> {
    match name {
        "user.md" => Some(FactScope::User),
        "env.md" => Some(FactScope::Env),
        _ => None,
    }
}

/// Returns the number of the first line (from 1) and the trimmed text of each fact. Ignores Windows line ends, a byte
/// order mark, and empty facts.
fn read_facts(text: &str) -> Vec<(usize, String)> {
    let text = text
        .strip_prefix('\u{FEFF}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let mut facts = Vec::new();
    let (mut open, mut start) = (Vec::new(), 1);
    for (line, number) in text.split('\n').chain([SEPARATOR]).zip(1..) {
        if line.trim() != SEPARATOR {
            open.push(line);
            continue;
        }
        let empty = open.iter().take_while(|line| line.trim().is_empty()).count();
        let fact = open.join("\n").trim().to_owned();
        if !fact.is_empty() {
            facts.push((start + empty, fact));
        }
        open.clear();
        start = number + 1;
    }
    facts
}

/// Maps a fact file to objects.
pub(super) fn map(foreign: &Foreign<'_>, about: FactScope, key: &[u8; 32]) -> Result<Mapped> {
    let scope = match (&foreign.scope, about) {
        (None, FactScope::User) => Scope::default(),
        _ => foreign.usual_scope()?,
    };
    let text = std::str::from_utf8(foreign.bytes).map_err(|error| {
        let byte = error.valid_up_to();
        unreadable(format!("the file is not UTF-8 text: byte {byte} is invalid"))
    })?;
    let (mut mapped, mut seen) = (Mapped::default(), HashSet::new());
    let folder = format!("{}/{}", kind::FACT, about.name());
    for (line, fact) in read_facts(text) {
        let at = format!("line {line}");
        if !seen.insert(fact.clone()) {
            mapped.say(at, "the fact repeats an earlier one and is ignored");
            continue;
        }
        let mut attributes = Attributes::new();
        drop(attributes.insert(attribute::SUBJECT, about.name()));
        let id = id_for(key, &scope, &folder, &mark_of(key, &fact));
        mapped.push(at, id, kind::FACT, &scope, fact, attributes);
    }
    Ok(mapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            assert_eq!(read_facts(text), two, "{text:?}");
        }
        assert_eq!(
            read_facts("see § 5\n§\n§\n\n  \n§\n\n x §"),
            [of(1, "see § 5"), of(8, "x §")]
        );
        assert_eq!(read_facts(""), []);
        assert_eq!(
            (
                scope_of_file("user.md"),
                scope_of_file("env.md"),
                scope_of_file("x/user.md")
            ),
            (Some(FactScope::User), Some(FactScope::Env), None)
        );
    }

    proptest! {
        #[test]
        fn odk_1_a_fact_stands_on_its_line(text in "(§|\n|\r\n|a|b| |\u{FEFF}|\t){0,30}", any_text in any::<String>()) {
            for text in [text, any_text] {
                let lines: Vec<&str> = text.split('\n').collect();
                for (line, fact) in read_facts(&text) {
                    let first = fact.split('\n').next().unwrap_or_default();
                    prop_assert!(lines[line - 1].contains(first.trim_end_matches('\r')), "{:?}", fact);
                    prop_assert!(fact.split('\n').all(|line| line.trim() != SEPARATOR));
                }
            }
        }
    }
}

//! The table of commands: the one truth that help, completion, hints and docs/debug.md are made from.
//!
//! A command that is a verb of the program too is that verb: its arguments and what it does are read from
//! the definition of the command line, and its code runs. The other commands are defined where they are
//! carried out, a file for each group.
//!
//! # Layer
//! L9, part of cli.

use std::sync::LazyLock;

use super::arguments::Arguments;
use super::shell::Shell;
use super::{changes, files, history, objects, settings, state};
use crate::cli::args::HEADING;
use crate::cli::commands::GROUPS as VERBS;
use crate::cli::errors::Done;
use crate::cli::parse;

/// What an argument names, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completes {
    Nothing,
    Id,
    Revision,
    Digest,
    Command,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// How a command is carried out.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// By the verb of the same name.
    Verb,
    /// By this function.
    Own(fn(&mut Shell<'_>, &Arguments) -> Done),
}

/// One command.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// As [`Arguments`] reads it; empty for verbs.
    arguments: &'static str,
    /// One line; empty for verbs.
    says: &'static str,
    /// A line as typed, and what it asks.
    pub(super) examples: &'static [(&'static str, &'static str)],
    pub(super) completes: Completes,
    pub(super) writes: bool,
    /// It answers until it is stopped.
    pub(super) endless: bool,
    pub(super) run: Run,
}

impl Command {
    /// A command of the shell alone.
    pub(super) const fn own(
        name: &'static str,
        arguments: &'static str,
        says: &'static str,
        run: fn(&mut Shell<'_>, &Arguments) -> Done,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            arguments,
            says,
            examples: &[],
            completes: Completes::Nothing,
            writes: false,
            endless: false,
            run: Run::Own(run),
        }
    }

    /// A verb of the program.
    pub(super) const fn verb(name: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            arguments: "",
            says: "",
            examples: &[],
            completes: Completes::Nothing,
            writes: false,
            endless: false,
            run: Run::Verb,
        }
    }

    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) const fn examples(mut self, examples: &'static [(&'static str, &'static str)]) -> Self {
        self.examples = examples;
        self
    }

    pub(super) const fn completes(mut self, completes: Completes) -> Self {
        self.completes = completes;
        self
    }

    /// It changes the store: refused without `--write`.
    pub(super) const fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    /// It answers until it is stopped, so nothing is held back for a pager.
    pub(super) const fn endless(mut self) -> Self {
        self.endless = true;
        self
    }

    /// The arguments as a person reads them.
    pub(super) fn arguments(&self) -> String {
        match self.run {
            Run::Own(_) => self.arguments.to_owned(),
            Run::Verb => arguments_of_verb(self.name),
        }
    }

    /// What it does, in a line.
    pub(super) fn says(&self) -> String {
        match self.run {
            Run::Own(_) => self.says.to_owned(),
            Run::Verb => definition(self.name, |verb| verb.get_about().map(ToString::to_string)),
        }
    }
}

/// The groups, in the order of help.
pub(super) static GROUPS: [(&str, &[Command]); 7] = [
    ("Objects: what is known", objects::COMMANDS),
    ("History: since when, and from whom", history::COMMANDS),
    ("Changes: what happened, and what would", changes::COMMANDS),
    ("Engine: roots, trie, digests", state::COMMANDS),
    ("Files: where the bytes are", files::COMMANDS),
    ("Writing: only with treering debug --write", changes::WRITING),
    ("Shell", settings::COMMANDS),
];

/// Every command.
pub(super) fn all() -> impl Iterator<Item = &'static Command> {
    GROUPS.iter().flat_map(|(_, commands)| commands.iter())
}

/// The command of this name; a dot before it, the habit of another shell, is fine.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    let name = name
        .strip_prefix('.')
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name);
    all().find(|command| command.name == name || command.aliases.contains(&name))
}

/// The name that was perhaps meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches('.');
    if name.len() > TYPED_MAX {
        return None;
    }
    let names: Vec<&'static str> = all()
        .flat_map(|command| std::iter::once(&command.name).chain(command.aliases))
        .copied()
        .collect();
    let started = |known: &&&'static str| {
        name.len() > 1 && (known.starts_with(name) || known.len() > 2 && name.starts_with(**known))
    };
    if let Some(found) = names.iter().find(started) {
        return Some(found);
    }
    // One slip turns any short name into another.
    let long = names.iter().filter(|known| known.len() > 2);
    let (distance, found) = long.map(|known| (distance(known, name), known)).min()?;
    (distance <= name.len() / 3).then_some(*found)
}

/// Whether the program has a verb of this name, for people.
pub(super) fn is_verb(name: &str) -> bool {
    DEFINITION
        .find_subcommand(name)
        .is_some_and(|verb| !verb.is_hide_set())
}

/// The longest name, in bytes, that may be a slip of the hand.
const TYPED_MAX: usize = 64;

/// How many characters must be put in, left out, changed or swapped with the next to make one of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut rows: [Vec<usize>; 2] = [Vec::new(), (0..=other.len()).collect()];
    let mut last = None;
    for (index, character) in one.chars().enumerate() {
        let above = &rows[1];
        let mut row = vec![index + 1];
        for (at, candidate) in other.iter().enumerate() {
            let changed = above[at] + usize::from(*candidate != character);
            let mut best = changed.min(row[at] + 1).min(above[at + 1] + 1);
            if at > 0 && last == Some(*candidate) && other[at - 1] == character {
                best = best.min(rows[0][at - 1] + 1);
            }
            row.push(best);
        }
        last = Some(character);
        rows = [std::mem::take(&mut rows[1]), row];
    }
    rows[1].last().copied().unwrap_or_default()
}

/// The definition of the command line, made once.
static DEFINITION: LazyLock<clap::Command> = LazyLock::new(|| parse::definition(VERBS));

fn definition(name: &str, read: impl Fn(&clap::Command) -> Option<String>) -> String {
    DEFINITION
        .find_subcommand(name)
        .and_then(read)
        .unwrap_or_default()
}

/// The own arguments of a verb, in the way in which the shell describes its commands.
fn arguments_of_verb(name: &str) -> String {
    definition(name, |verb| {
        let own = verb.get_arguments().filter(|argument| {
            let shared = argument
                .get_help_heading()
                .is_some_and(|heading| heading == HEADING);
            !shared && !argument.is_global_set() && !matches!(argument.get_id().as_str(), "help" | "version")
        });
        Some(own.map(argument_of_verb).collect::<Vec<_>>().join(" "))
    })
}

fn argument_of_verb(argument: &clap::Arg) -> String {
    let value = argument
        .get_value_names()
        .and_then(|names| names.first())
        .filter(|_| argument.get_action().takes_values())
        .map(ToString::to_string);
    let text = match (argument.get_long(), value) {
        (Some(option), Some(value)) => format!("--{option} {value}"),
        (Some(option), None) => format!("--{option}"),
        (None, value) => value.unwrap_or_default(),
    };
    if argument.is_required_set() {
        text
    } else {
        format!("[{text}]")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_found_by_its_names_and_by_no_other() {
        let mut seen = BTreeSet::new();
        for command in all() {
            for name in std::iter::once(&command.name).chain(command.aliases) {
                assert!(seen.insert(*name), "{name} stands twice");
                assert_eq!(find(name).unwrap().name, command.name);
                assert_eq!(find(&format!(".{name}")).unwrap().name, command.name);
            }
            assert!(!command.says().is_empty(), "{} says nothing", command.name);
            assert!(!command.examples.is_empty(), "{} has no example", command.name);
        }
        assert!(find("gett").is_none() && find(".").is_none());
    }

    #[test]
    fn a_verb_is_described_by_the_command_line() {
        let get = find("get").unwrap();
        assert_eq!(
            (get.arguments(), get.says()),
            ("ID".into(), "Show one object".into())
        );
        assert!(find("diff").unwrap().arguments().starts_with("REV [REV2]"));
        assert!(find("log").unwrap().arguments().contains("[--limit N]"));
        assert!(!find("log").unwrap().arguments().contains("--store"));
    }

    #[test]
    fn a_slip_finds_its_command_and_nonsense_none() {
        for (typed, meant) in [
            ("snaphots", "snapshots"),
            ("hlep", "help"),
            ("difff", "diff"),
            ("hist", "history"),
        ] {
            assert_eq!(nearest(typed), Some(meant), "{typed}");
        }
        for typed in ["xyzzyplugh", "h", "init", "zz", &"list".repeat(1 << 20)] {
            assert_eq!(nearest(typed), None, "{}", typed.len());
        }
        assert!(is_verb("ingest") && !is_verb("xyzzyplugh"));
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}

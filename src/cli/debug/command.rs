//! A parsed line of the shell: a verb of the program, or a command of the shell itself.
//!
//! # Layer
//! Layer 10, part of cli.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use super::dot::Dot;
use super::words;
use crate::cli::errors::Failure;
use crate::cli::parse::{self, Parsed};
use crate::cli::verb::Groups;

/// A parsed line.
pub(super) enum Command {
    Dot(Dot),
    Verb(Box<Parsed>),
    /// The text of a page of help.
    Help(String),
}

impl Command {
    /// Parses a line by the definition of the command line; `None` for an empty line or a comment.
    ///
    /// # Errors
    /// A usage failure if the line is not a valid command.
    pub(super) fn parse(
        verbs: Groups,
        definition: &mut clap::Command,
        line: &str,
    ) -> Result<Option<Self>, Failure> {
        let words = words::split(line)?;
        match words.first() {
            None => Ok(None),
            Some(first) if first.starts_with('.') => Self::dot(&words).map(Some),
            Some(bare) if matches!(bare.as_str(), "quit" | "exit" | "help") => {
                let dotted = [&[format!(".{bare}")], &words[1..]].concat();
                Self::dot(&dotted).map(Some)
            }
            Some(_) => Self::verb(verbs, definition, &words).map(Some),
        }
    }

    /// Parses a command of the shell.
    pub(super) fn dot(words: &[String]) -> Result<Self, Failure> {
        match Dot::try_parse_from(words) {
            Ok(dot) => Ok(Self::Dot(dot)),
            Err(error) if !error.use_stderr() => Ok(Self::Help(error.render().to_string())),
            Err(error) => Err(Failure::of_clap(&error, ".help lists all commands")),
        }
    }

    /// Parses a verb as the program does.
    pub(super) fn verb(
        verbs: Groups,
        definition: &mut clap::Command,
        words: &[String],
    ) -> Result<Self, Failure> {
        let program = std::iter::once(OsString::from("treering"));
        let arguments: Vec<OsString> = program.chain(words.iter().map(OsString::from)).collect();
        match Parsed::read(verbs, definition, arguments.iter().cloned()) {
            Ok(parsed) => Ok(Self::Verb(Box::new(parsed?))),
            Err(error) if !error.use_stderr() => Ok(Self::Help(error.render().to_string())),
            Err(error) => Err(parse::in_our_words(verbs, &error, &arguments)
                .unwrap_or_else(|| Failure::of_clap(&error, &hint(words)))),
        }
    }
}

/// Returns the hint if clap has none: the shell command with its dot, or the list of commands.
fn hint(words: &[String]) -> String {
    let dotted = words.first().map(|word| format!(".{word}")).unwrap_or_default();
    match Dot::command().find_subcommand(&dotted) {
        Some(_) => format!("did you mean {dotted}?"),
        None => ".help lists all commands".to_owned(),
    }
}

//! Help, and the page of the manual, from the table of commands.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use super::table::{self, Command, GROUPS};
use crate::cli::errors::Failure;
use crate::cli::human;
use crate::cli::output::{Meaning, Output};

/// Shows all commands, or one with its examples.
pub(super) fn help(output: &mut Output, about: Option<&str>) -> Result<(), Failure> {
    let commands: Vec<&Command> = match about {
        None => table::all().collect(),
        Some(name) => vec![table::find(name).ok_or_else(|| super::shell::unknown(name))?],
    };
    if output.is_json() {
        return commands
            .iter()
            .try_for_each(|command| output.document(&document(command)));
    }
    match (about, commands.as_slice()) {
        (Some(_), [command]) => one(output, command),
        _ => overview(output),
    }
}

fn document(command: &Command) -> serde_json::Value {
    let examples = command
        .examples
        .iter()
        .map(|(line, what)| json!({ "line": line, "what": what }));
    json!({
        "command": command.name,
        "aliases": command.aliases,
        "arguments": command.arguments(),
        "says": command.says(),
        "examples": examples.collect::<Vec<_>>(),
        "writes": command.writes,
    })
}

fn overview(output: &mut Output) -> Result<(), Failure> {
    let width = table::all()
        .map(|command| command.name.len())
        .max()
        .unwrap_or_default();
    let room = output.width().unwrap_or(usize::MAX).saturating_sub(width + 4);
    for (title, commands) in &GROUPS {
        let title = output.paint(Meaning::Heading, title);
        output.line(title)?;
        for command in *commands {
            let padded = format!("{:<width$}", command.name);
            let name = output.paint(Meaning::Name, padded);
            let says = command.says();
            output.line(format_args!("  {name}  {}", human::cut(&says, room)))?;
        }
    }
    output.line("")?;
    output.line("help COMMAND shows one with examples. REV is @, @-3, snap:0, a snapshot's name, seq:7,")?;
    output.line("8 or more digits of a commit or root, or a time such as 2026-11-21T09:00:00Z.")
}

fn one(output: &mut Output, command: &Command) -> Result<(), Failure> {
    let usage = format!("{} {}", command.name, command.arguments());
    let usage = output.paint(Meaning::Heading, usage.trim_end());
    output.line(usage)?;
    output.line(format_args!("  {}", command.says()))?;
    if command.writes {
        output.line("  Changes the store: only with treering debug --write.")?;
    }
    if !command.aliases.is_empty() {
        output.line(format_args!("  Also: {}", command.aliases.join(", ")))?;
    }
    let width = command
        .examples
        .iter()
        .map(|(line, _)| line.chars().count())
        .max();
    let width = width.unwrap_or_default();
    for (line, what) in command.examples {
        let line = output.paint(Meaning::Name, format_args!("{line:<width$}"));
        let what = output.paint(Meaning::Quiet, format_args!("# {what}"));
        output.line(format_args!("  {line}  {what}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The list of commands for the manual.
    fn page() -> String {
        let mut page = String::new();
        for (title, commands) in &GROUPS {
            let _ = writeln!(
                page,
                "### {title}\n\n| command | what it does | example |\n|---|---|---|"
            );
            for command in *commands {
                let usage = format!("{} {}", command.name, command.arguments());
                let examples: Vec<String> = command
                    .examples
                    .iter()
                    .map(|(line, _)| format!("`{line}`"))
                    .collect();
                let _ = writeln!(
                    page,
                    "| `{}` | {} | {} |",
                    usage.trim_end(),
                    command.says(),
                    examples.join(", ")
                );
            }
            page.push('\n');
        }
        page.truncate(page.trim_end().len());
        page + "\n"
    }

    #[test]
    fn the_manual_lists_the_commands_as_they_are() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/debug.md");
        let manual = std::fs::read_to_string(path).unwrap();
        let (before, after) = manual.split_once("## Commands\n\n").unwrap();
        if std::env::var_os("TREERING_WRITE_DOCS").is_some() {
            std::fs::write(path, format!("{before}## Commands\n\n{}", page())).unwrap();
            return;
        }
        assert_eq!(after, page(), "write it anew with TREERING_WRITE_DOCS=1");
    }
}

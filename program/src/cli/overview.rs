//! The page of `treering --help`, laid out for the width of the terminal.
//!
//! # Layer
//! Layer 10, part of cli. Pure.

use clap::Command;

use super::human::wrapped;
use super::verb::{Entry, Groups};

/// The shared options. A tab separates an option from its meaning.
const OPTIONS: &str = include_str!("options.txt");
const START: &str = include_str!("start.txt");

/// The smallest width of a page with two verbs side by side.
const TWO_COLUMNS: usize = 92;
/// The width of the column with the name of a group.
const GROUP: usize = 7;
/// The width of the column with the name of a verb.
const VERB: usize = 12;
/// The width of the column with the summary of a verb.
const ABOUT: usize = 35;

/// Returns the page with lines of at most `width` characters.
pub(crate) fn overview(verbs: Groups, width: usize) -> String {
    let mut lines = Vec::new();
    let title = concat!(
        "treering ",
        env!("CARGO_PKG_VERSION"),
        ": the memory of a long-running agent, with snapshots and rollback"
    );
    lines.extend(wrapped(title, width));
    lines.extend(["", "Usage: treering [OPTIONS] VERB ...", ""].map(String::from));
    let side_by_side = if width >= TWO_COLUMNS { 2 } else { 1 };
    for (group, verbs) in verbs {
        let verbs: Vec<Command> = verbs.iter().map(Entry::definition).collect();
        let shown: Vec<&Command> = verbs.iter().filter(|verb| !verb.is_hide_set()).collect();
        for (index, row) in shown.chunks(side_by_side).enumerate() {
            let group = if index == 0 { group } else { "" };
            let mut line = format!("{group:<GROUP$}");
            for verb in row {
                let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
                line = format!("{line}{:<VERB$}{about:<ABOUT$}", verb.get_name());
            }
            lines.extend(hanging(line.trim_end(), GROUP + VERB, width));
        }
    }
    lines.push(String::new());
    lines.extend(hanging(
        "Options, before or after the verb (-h and -V: help, version):",
        2,
        width,
    ));
    for (option, about) in OPTIONS.lines().filter_map(|line| line.split_once('\t')) {
        let line = format!(
            "  {option:<15}{}{about}",
            if option.len() < 15 { "" } else { "  " }
        );
        lines.extend(hanging(&line, 17, width));
    }
    lines.extend(["", "Start here, or with treering tour:"].map(String::from));
    for line in START.lines() {
        lines.extend(hanging(&format!("  {line}"), 4, width));
    }
    lines.join("\n") + "\n"
}

/// Wraps a line and indents its continuation lines.
fn hanging(line: &str, indent: usize, width: usize) -> Vec<String> {
    let indent = indent.min(width / 2);
    let mut parts = wrapped(line, width).into_iter();
    let mut lines: Vec<String> = parts.next().into_iter().collect();
    let rest = parts.collect::<Vec<_>>().join(" ");
    if !rest.is_empty() {
        let further = wrapped(&rest, width - indent);
        lines.extend(further.iter().map(|part| format!("{:indent$}{part}", "")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::GROUPS;
    use crate::cli::verb;

    #[test]
    fn it_fits_every_width_and_loses_nothing() {
        for width in [40, 60, 80, 100, 200] {
            let page = overview(GROUPS, width);
            assert!(
                page.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{page}"
            );
            let words: Vec<&str> = page.split_whitespace().collect();
            for verb in verb::all(GROUPS)
                .map(Entry::definition)
                .filter(|verb| !verb.is_hide_set())
            {
                let about = verb.get_about().unwrap().to_string();
                assert!(about.len() < ABOUT, "{about}");
                let last = about.split_whitespace().last().unwrap();
                let name = verb.get_name();
                assert!(words.contains(&name) && words.contains(&last), "{width}: {name}");
            }
        }
        assert!(
            overview(GROUPS, 100).lines().count() <= 60,
            "it fits a large screen"
        );
    }
}

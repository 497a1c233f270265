//! Completion and hints at the prompt. Candidates are commands, ids, revisions and digests.
//!
//! # Layer
//! Layer 10, part of cli. A key press reads no object and does not block. A background thread indexes the ids,
//! and completion offers an id once the thread has indexed that id.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::thread::{self, JoinHandle};

use clap::{Arg, Command, CommandFactory as _};
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::dot::Dot;
use super::words;
use crate::answers::history::SnapshotLine;
use crate::cli::commands::prelude::*;
use crate::cli::context::quoted;
use crate::cli::output::paint;
use crate::cli::parse;
use crate::cli::verb::Groups;

/// The largest number of candidates for one completion.
const CANDIDATES_MAX: usize = 200;
/// The number of newest commits whose digests are candidates.
const COMMITS_MAX: usize = 10_000;

/// The source of completion candidates: the commands and the state of the store.
pub(super) struct Completion {
    /// All commands: the verbs, and the commands of the shell.
    commands: Command,
    state: Option<(Memory, View)>,
    /// The thread that indexes ids.
    indexing: Option<JoinHandle<()>>,
    coloured: bool,
}

impl Completion {
    pub(super) fn new(verbs: Groups, coloured: bool) -> Self {
        let mut commands = parse::definition(verbs).subcommands(Dot::command().get_subcommands().cloned());
        commands.build();
        Self {
            commands,
            state: None,
            indexing: None,
            coloured,
        }
    }

    /// Sets the state that supplies the candidates.
    pub(super) fn look_at(&mut self, memory: Memory, view: View) {
        self.state = Some((memory, view.clone()));
        let is_free = self.indexing.as_ref().is_none_or(JoinHandle::is_finished);
        if is_free && view.indexed_ids("").is_none() {
            let thread = thread::Builder::new().name("treering-ids".to_owned());
            // This thread ignores an unreadable object, because the command that reads the object reports
            // the error.
            self.indexing = thread.spawn(move || drop(view.index_ids())).ok();
        }
    }

    /// Returns the candidates that begin with `start` and can follow the words `before`.
    fn candidates(&self, before: &[String], start: &str) -> Vec<String> {
        let at = Place::behind(&self.commands, before);
        let mut found: Vec<String> = match at.argument {
            Some(argument) if !start.starts_with('-') => self.values(argument, start),
            _ if start.starts_with('-') => {
                let shown = at.command.get_arguments().filter(|option| !option.is_hide_set());
                let options = shown.filter_map(Arg::get_long);
                options.map(|option| format!("--{option}")).collect()
            }
            _ => {
                let shown = at.command.get_subcommands().filter(|verb| !verb.is_hide_set());
                shown.map(|verb| verb.get_name().to_owned()).collect()
            }
        };
        found.retain(|candidate| candidate.starts_with(start));
        found.truncate(CANDIDATES_MAX);
        found
    }

    /// Returns candidates for the value of an argument: its possible values, or values that the value's name implies,
    /// such as ids for `ID`.
    fn values(&self, argument: &Arg, start: &str) -> Vec<String> {
        let possible = argument.get_possible_values();
        if !possible.is_empty() {
            return possible.iter().map(|value| value.get_name().to_owned()).collect();
        }
        let Some((memory, view)) = &self.state else {
            return Vec::new();
        };
        let name = argument.get_value_names().and_then(|names| names.first());
        match name.map(clap::builder::Str::as_str) {
            Some("ID" | "ID|DIGEST") => {
                let ids = view.indexed_ids(start).into_iter().flatten().take(CANDIDATES_MAX);
                ids.map(|id| id.as_str().to_owned()).collect()
            }
            Some("REV" | "REV2") => revisions(memory, start),
            Some("DIGEST" | "DIGITS") => digests(memory, start),
            _ => Vec::new(),
        }
    }
}

fn revisions(memory: &Memory, start: &str) -> Vec<String> {
    let snapshots = memory.snapshots().into_iter().flatten();
    let names = snapshots.map(|info| SnapshotLine::from(info).revision());
    let named: BTreeSet<String> = names.chain(["@", "@-1"].map(str::to_owned)).collect();
    let mut found = Vec::from_iter(named);
    if !start.is_empty() {
        found.extend(digests(memory, start));
    }
    found
}

fn digests(memory: &Memory, start: &str) -> Vec<String> {
    let commits = memory.commits().take(COMMITS_MAX).flatten();
    let digests = commits.flat_map(|info| [*info.digest.as_bytes(), *info.commit.root.as_bytes()]);
    let found = digests.filter(|digest| to_hex(digest).starts_with(start));
    let found: BTreeSet<String> = found.map(|digest| short(&digest)).take(CANDIDATES_MAX).collect();
    Vec::from_iter(found)
}

/// The command and the argument at the cursor.
struct Place<'a> {
    /// The innermost command before the cursor.
    command: &'a Command,
    /// The argument whose value is at the cursor. `None` if a command is at the cursor.
    argument: Option<&'a Arg>,
}

impl<'a> Place<'a> {
    fn behind(commands: &'a Command, before: &[String]) -> Self {
        let mut command = commands;
        let mut option: Option<&Arg> = None;
        let mut values = 0;
        for word in before {
            if option.take().is_some() {
                continue;
            }
            if let Some(name) = word.strip_prefix("--") {
                option = command.get_arguments().find(|argument| {
                    argument.get_long() == Some(name) && argument.get_action().takes_values()
                });
            } else if let Some(found) = command.find_subcommand(word) {
                (command, values) = (found, 0);
            } else {
                values += 1;
            }
        }
        let last = command.get_positionals().last();
        let repeated = last.filter(|argument| {
            argument
                .get_num_args()
                .is_some_and(|count| count.max_values() > 1)
        });
        let positional = command.get_positionals().nth(values).or(repeated);
        Self {
            command,
            argument: option.or(positional.filter(|_| !command.has_subcommands())),
        }
    }
}

/// Returns the complete words before the cursor, and the offset at which the word at the cursor starts.
fn at_cursor(line: &str) -> Option<(Vec<String>, usize)> {
    let start = line
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
    // Splitting fails inside quotes, where completion offers no candidates.
    let before = words::split(&line[..start]).ok()?;
    Some((before, start))
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Some((before, start)) = line.get(..at).and_then(at_cursor) else {
            return Ok((at, Vec::new()));
        };
        let found = self.candidates(&before, &line[start..at]);
        let pairs = found.into_iter().map(|found| Pair {
            replacement: format!("{} ", quoted(Path::new(&found))),
            display: printable(&found),
        });
        Ok((start, pairs.collect()))
    }
}

impl Hinter for Completion {
    type Hint = String;

    /// Returns the names of a command's arguments, if the line contains only the command.
    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<String> {
        if at < line.len() {
            return None;
        }
        let command = self.commands.find_subcommand(line.trim())?;
        let usage = command.clone().render_usage().to_string();
        let (_, arguments) = usage.split_once(command.get_name())?;
        let gap = if line.ends_with(' ') { "" } else { " " };
        Some(format!("{gap}{}", arguments.trim_start()))
    }
}

impl Highlighter for Completion {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(paint(self.coloured, Meaning::Quiet, hint))
    }
}

impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::Writer;
    use treering::{Id, Kind, NewObject};

    fn completion() -> Completion {
        let memory = Memory::in_memory().unwrap();
        for id in ["tea", "tea pot", "coffee"] {
            let object = NewObject::new(Id::new(id).unwrap(), Kind::new("fact").unwrap());
            memory.put(object, &Writer::user()).unwrap();
        }
        memory.snapshot(Some("good"), &Writer::user()).unwrap();
        memory.snapshot(None, &Writer::user()).unwrap();
        let mut completion = Completion::new(crate::cli::commands::GROUPS, false);
        completion.state = Some((memory.clone(), memory.view()));
        completion
    }

    fn offered(completion: &Completion, line: &str) -> (usize, Vec<String>) {
        let history = rustyline::history::DefaultHistory::new();
        let context = Context::new(&history);
        let (start, pairs) = completion.complete(line, line.len(), &context).unwrap();
        (start, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn commands_ids_revisions_and_options_are_offered() {
        let completion = completion();
        assert_eq!(offered(&completion, "get te"), (4, Vec::new()), "not indexed yet");
        completion.state.as_ref().unwrap().1.index_ids().unwrap();
        assert_eq!(
            offered(&completion, "get te"),
            (4, vec!["tea ".into(), "'tea pot' ".into()])
        );
        assert_eq!(offered(&completion, "hist").1, ["history "]);
        assert_eq!(offered(&completion, ".mo").1, [".mode "]);
        assert_eq!(offered(&completion, "diff g").1, ["good "]);
        assert_eq!(offered(&completion, "diff @ snap").1, ["snap:0 "]);
        assert_eq!(offered(&completion, ".at goo").1, ["good "]);
        assert_eq!(offered(&completion, "list --at goo").1, ["good "]);
        assert_eq!(offered(&completion, "list --ki").1, ["--kind "]);
        assert_eq!(offered(&completion, "list --kind ").1, Vec::<String>::new());
        assert_eq!(offered(&completion, "inspect fra").1, ["frames "]);
        assert_eq!(offered(&completion, ".mode j").1, ["json "]);
        assert!(offered(&completion, "get 'te").1.is_empty());
        let root = completion.state.as_ref().unwrap().1.root().to_hex();
        assert_eq!(
            offered(&completion, &format!("contains {}", &root[..6])).1,
            [format!("{} ", &root[..12])]
        );
    }

    #[test]
    fn a_thread_indexes_the_ids_of_another_state() {
        let mut completion = completion();
        let (memory, first) = completion.state.clone().unwrap();
        first.index_ids().unwrap();
        let later = NewObject::new(Id::new("teal").unwrap(), Kind::new("fact").unwrap());
        memory.put(later, &Writer::user()).unwrap();
        completion.look_at(memory.clone(), memory.view());
        let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while offered(&completion, "get tea").1.len() < 3 {
            assert!(std::time::Instant::now() < until, "it is never indexed");
            thread::yield_now();
        }
        completion.look_at(memory, first);
        assert_eq!(offered(&completion, "get tea").1.len(), 2);
    }

    #[test]
    fn a_hint_shows_the_arguments() {
        let history = rustyline::history::DefaultHistory::new();
        let context = Context::new(&history);
        let hint = |line: &str| completion().hint(line, line.len(), &context);
        assert!(hint("get").unwrap().starts_with(" [OPTIONS] [ID]"));
        assert!(hint("get ").unwrap().starts_with("[OPTIONS] [ID]"));
        assert_eq!(hint("get a"), None);
        assert_eq!(hint("nothing"), None);
    }
}

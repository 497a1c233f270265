//! Completion and hints while a line is typed: commands, options, ids, revisions, digests.
//!
//! # Layer
//! L9, part of cli. A key press reads no object and waits for nothing: ids are offered once they are indexed, which
//! happens on a thread of its own, beside the prompt.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::arguments::options_of;
use super::table::{self, Command, Completes};
use super::words;
use crate::cli::human::short;
use crate::digest::to_hex;
use crate::engine::{Memory, View};

/// Candidates that are offered at most.
const OFFERED: usize = 200;
/// Commits that digests are taken from.
const COMMITS: usize = 10_000;

/// What completion reads.
pub(super) struct Completion {
    known: Option<(Memory, View)>,
    /// Set while ids are indexed.
    indexing: Arc<AtomicBool>,
    coloured: bool,
}

impl Completion {
    pub(super) fn new(coloured: bool) -> Self {
        Self {
            known: None,
            indexing: Arc::default(),
            coloured,
        }
    }

    /// From now on completes from this state.
    pub(super) fn look_at(&mut self, memory: Memory, view: View) {
        self.known = Some((memory, view.clone()));
        if view.indexed_ids("").is_none() && !self.indexing.swap(true, Ordering::AcqRel) {
            self.index_ids(view);
        }
    }

    /// Indexes ids beside the prompt, so that neither a completion nor the first list waits.
    fn index_ids(&self, view: View) {
        let indexing = Arc::clone(&self.indexing);
        let work = move || {
            // What cannot be read is told by the command that needs it.
            drop(view.index_ids());
            indexing.store(false, Ordering::Release);
        };
        let started = std::thread::Builder::new()
            .name("treering-ids".to_owned())
            .spawn(work);
        if started.is_err() {
            self.indexing.store(false, Ordering::Release);
        }
    }

    fn ids(&self, start: &str) -> Vec<String> {
        let found = self
            .known
            .iter()
            .filter_map(|(_, view)| view.indexed_ids(start))
            .flatten();
        found.take(OFFERED).map(|id| id.as_str().to_owned()).collect()
    }

    fn revisions(&self, start: &str) -> Vec<String> {
        let Some((memory, _)) = &self.known else {
            return Vec::new();
        };
        let snapshots = memory.snapshots().unwrap_or_default();
        let mut found: Vec<String> = ["@", "@-1"].map(str::to_owned).into();
        found.extend(
            snapshots
                .iter()
                .filter_map(|info| info.index)
                .map(|index| format!("snap:{index}")),
        );
        found.extend(
            snapshots
                .iter()
                .filter(|info| info.index.is_none())
                .map(|info| info.name.clone()),
        );
        found.sort_unstable();
        found.dedup();
        found.retain(|revision| revision.starts_with(start));
        if !start.is_empty() {
            found.extend(self.digests(start));
        }
        found
    }

    fn digests(&self, start: &str) -> Vec<String> {
        let Some((memory, _)) = &self.known else {
            return Vec::new();
        };
        let digests = memory
            .commits()
            .take(COMMITS)
            .flatten()
            .flat_map(|info| [*info.digest.as_bytes(), *info.commit.root.as_bytes()]);
        let mut found: Vec<String> = digests
            .filter(|digest| to_hex(digest).starts_with(start))
            .map(|digest| short(&digest))
            .take(OFFERED)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn candidates(&self, before: &[String], start: &str) -> Vec<String> {
        let Some(typed) = before.first() else {
            let dot = if start.starts_with('.') { "." } else { "" };
            let names = table::all().map(|command| format!("{dot}{}", command.name));
            return names.filter(|name| name.starts_with(start)).collect();
        };
        let Some(command) = table::find(typed) else {
            return Vec::new();
        };
        let arguments = command.arguments();
        if start.starts_with('-') {
            let options = options_of(&arguments)
                .into_iter()
                .map(|(option, _)| option.to_owned());
            return options.filter(|option| option.starts_with(start)).collect();
        }
        let completes = match before.last().map(String::as_str) {
            // `would rollback` wants a revision next.
            Some("--at" | "--since" | "--until" | "rollback") => Completes::Revision,
            Some("--parent") => Completes::Id,
            _ => command.completes,
        };
        match completes {
            Completes::Nothing => Vec::new(),
            Completes::Id => self.ids(start),
            Completes::Revision => self.revisions(start),
            Completes::Digest => self.digests(start),
            Completes::Command => {
                let names = table::all().map(|command| command.name.to_owned());
                names.filter(|name| name.starts_with(start)).collect()
            }
            Completes::Words(words) => {
                let words = words.iter().filter(|word| word.starts_with(start));
                words.map(|word| (*word).to_owned()).collect()
            }
        }
    }
}

/// The whole words before the cursor, and where the one at the cursor begins.
fn at_cursor(line: &str) -> Option<(Vec<String>, usize)> {
    let start = line
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
    // Within quotes nothing is offered.
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
            replacement: format!("{} ", words::quote(&found)),
            display: crate::cli::output::printable(&found),
        });
        Ok((start, pairs.collect()))
    }
}

impl Hinter for Completion {
    type Hint = String;

    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<String> {
        if at < line.len() || line.is_empty() {
            return None;
        }
        let name = line.trim_start();
        let (name, typed) = name.split_once(' ').unwrap_or((name, ""));
        let command: &Command = table::find(name)?;
        let arguments = command.arguments();
        // Once an argument is there, the person knows how it goes.
        if arguments.is_empty() || !typed.trim().is_empty() {
            return None;
        }
        let gap = if line.ends_with(' ') { "" } else { " " };
        Some(format!("{gap}{arguments}"))
    }
}

impl Highlighter for Completion {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if self.coloured {
            let quiet = anstyle::Style::new().dimmed();
            Cow::Owned(format!("{quiet}{hint}{quiet:#}"))
        } else {
            Cow::Borrowed(hint)
        }
    }
}

impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Writer;
    use crate::object::{Id, Kind, NewObject};

    fn completion() -> Completion {
        let memory = Memory::in_memory().unwrap();
        for id in ["tea", "tea pot", "coffee"] {
            let object = NewObject::new(Id::new(id).unwrap(), Kind::new("fact").unwrap());
            memory.put(object, Writer::new()).unwrap();
        }
        memory.snapshot(Some("good"), &Writer::new()).unwrap();
        memory.snapshot(None, &Writer::new()).unwrap();
        let mut completion = Completion::new(false);
        completion.known = Some((memory.clone(), memory.view()));
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
        completion.known.as_ref().unwrap().1.index_ids().unwrap();
        assert_eq!(
            offered(&completion, "get te"),
            (4, vec!["tea ".into(), "'tea pot' ".into()])
        );
        assert_eq!(offered(&completion, "hist").1, ["history "]);
        assert_eq!(offered(&completion, ".hist").1, [".history "]);
        assert_eq!(offered(&completion, "diff g").1, ["good "]);
        assert_eq!(offered(&completion, "diff snap").1, ["snap:0 "]);
        assert_eq!(offered(&completion, "would rollback goo").1, ["good "]);
        assert_eq!(offered(&completion, "list --ki").1, ["--kind "]);
        assert_eq!(offered(&completion, "mode j").1, ["json "]);
        assert_eq!(offered(&completion, "help snapshots").1, ["snapshots "]);
        assert!(offered(&completion, "get 'te").1.is_empty());
        let root = completion.known.as_ref().unwrap().1.root().to_hex();
        assert_eq!(
            offered(&completion, &format!("contains {}", &root[..6])).1,
            [format!("{} ", &root[..12])]
        );
    }

    #[test]
    fn another_state_is_indexed_beside_the_prompt() {
        let mut completion = completion();
        let (memory, first) = completion.known.clone().unwrap();
        first.index_ids().unwrap();
        let later = NewObject::new(Id::new("teal").unwrap(), Kind::new("fact").unwrap());
        memory.put(later, Writer::new()).unwrap();
        completion.look_at(memory.clone(), memory.view());
        let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while offered(&completion, "get tea").1.len() < 3 {
            assert!(std::time::Instant::now() < until, "it is never indexed");
            std::thread::yield_now();
        }
        completion.look_at(memory, first);
        assert_eq!(offered(&completion, "get tea").1.len(), 2);
    }

    #[test]
    fn a_hint_shows_what_may_follow() {
        let history = rustyline::history::DefaultHistory::new();
        let context = Context::new(&history);
        let hint = |line: &str| completion().hint(line, line.len(), &context);
        assert_eq!(hint("get").as_deref(), Some(" ID"));
        assert_eq!(hint("get ").as_deref(), Some("ID"));
        assert_eq!(hint("get a"), None);
        assert_eq!(hint("nothing"), None);
    }
}

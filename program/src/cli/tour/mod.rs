//! The tour: a script of the program's verbs, on real input that the program contains.
//!
//! The tour ingests an agent's notes, a transcript and pages of this project. A bad turn of the agent rewrites many
//! objects. The tour shows the changes and rolls them back. Then it kills a second process during a write, and verifies
//! the store. Each step prints its purpose, its commands, their answers and its duration.
//!
//! # Layer
//! Layer 10, part of cli.

mod crash;

use std::collections::HashMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::absolute;
use std::time::Instant;

use clap::Command;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::agent_context::is_switched_off;
use super::errors::{exit_code, output_error};
use super::output::Capture;
use super::parse::{self, Parsed};
use crate::cli::commands::prelude::*;

pub(super) use crash::CrashTest;

/// The steps, one paragraph per step: a line with the name, a line with the purpose, and the commands. A command must
/// exit with code 0, or with the code after [`ENDS_WITH`]. A line that begins with [`SAME_ROOT`] names an earlier step
/// that must have the same root.
const STEPS: &str = include_str!("steps.txt");
/// The separator between a command and its exit code, if the code is not 0.
const ENDS_WITH: &str = " # ends with ";
/// The text before the name of an earlier step with the same root.
const SAME_ROOT: &str = "the root equals the root after ";

/// The input files of the commands: path and text.
const FILES: [(&str, &str); 9] = [
    (
        "docs/tour/agent-notes.org",
        include_str!("../../../docs/tour/agent-notes.org"),
    ),
    (
        "docs/tour/transcript.jsonl",
        include_str!("../../../docs/tour/transcript.jsonl"),
    ),
    ("docs/durability.md", include_str!("../../../docs/durability.md")),
    ("docs/format.md", include_str!("../../../docs/format.md")),
    ("docs/glossary.md", include_str!("../../../docs/glossary.md")),
    ("docs/proofs.md", include_str!("../../../docs/proofs.md")),
    ("tidied.jsonl", include_str!("tidied.jsonl")),
    ("start-afresh.jsonl", include_str!("start-afresh.jsonl")),
    ("policy.toml", include_str!("policy.toml")),
];

/// See a demo on real input
///
/// The demo shows snapshot, diff, rollback and verify.
///
/// # Examples
/// ```text
/// treering tour
/// treering tour --keep ./my-first-store
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Tour {
    /// Keep the store of the tour in DIR, which must be empty or absent
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

impl Verb for Tour {
    const ANSWERS: &'static [Form] = &[form::<Map<String, Value>>(
        "the last answer of each step, by the name of the step",
    )];

    fn run(self, context: &mut Context) -> Done {
        if is_switched_off() {
            return Err(Error::denied(ErrorCode::Disabled, "the memory is disabled")
                .with_hint("unset TREERING_DISABLE for the tour"));
        }
        let keep = self.keep.or_else(|| context.options.store.clone());
        let started = Instant::now();
        let folder = TourFolder::new(keep.as_deref())?;
        let mut guide = Guide::new(context, &folder.store);
        let (place, end) = match &keep {
            Some(keep) => (keep, "It is kept."),
            None => (&folder.store, "It is removed at the end."),
        };
        let title = "Treering in a few seconds: an agent's memory, damaged and restored";
        guide.print(Meaning::Heading, title)?;
        let place = format!("The store of this tour is {}. {end}", shown(place));
        guide.print(Meaning::Quiet, &place)?;
        STEPS.split("\n\n").try_for_each(|step| guide.step(step))?;
        if keep.is_some() {
            guide.context.register(&folder.store);
        }
        guide.finish(keep.as_deref(), started)
    }
}

/// Runs the steps, and prints their answers or collects them for programs.
struct Guide<'a> {
    context: &'a mut Context,
    definition: Command,
    store: &'a Path,
    /// The last answer of each step.
    document: Map<String, Value>,
    steps: Vec<Value>,
    /// The root after each step.
    roots: HashMap<String, Value>,
}

impl<'a> Guide<'a> {
    fn new(context: &'a mut Context, store: &'a Path) -> Self {
        Self {
            definition: parse::definition(context.verbs),
            context,
            store,
            document: Map::new(),
            steps: Vec::new(),
            roots: HashMap::new(),
        }
    }

    /// Runs the commands of a step, and checks their exit codes and the resulting root.
    fn step(&mut self, step: &str) -> Result<()> {
        let mut lines = step.lines();
        let (name, about) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let (same, commands): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with(SAME_ROOT));
        let is_known = |command: &&str| {
            let verb = command.split(' ').nth(1);
            verb.is_some_and(|verb| self.definition.find_subcommand(verb).is_some())
        };
        if !commands.iter().all(is_known) {
            // Skips the step: it uses a verb of an agent, and this build has no such verbs.
            return Ok(());
        }
        let number = self.steps.len() + 1;
        self.context.output.line_for_people("")?;
        let heading = format!("{number:>2}  {}", name.replace('_', " "));
        self.print(Meaning::Heading, &heading)?;
        self.say(None, about)?;
        let started = Instant::now();
        for command in &commands {
            self.print(Meaning::Name, &format!("$ {command}"))?;
            let place = format!("the step {name}, {command}");
            let answer = self.answer(command).map_err(|failure| failure.context(&place))?;
            if self.context.options.json {
                self.document.insert(name.to_owned(), last_document(&answer)?);
            } else {
                for line in answer.lines() {
                    self.context.output.line_for_people(line)?;
                }
            }
        }
        let ms = started.elapsed().as_micros() as f64 / 1000.0;
        self.steps
            .push(json!({ "step": number, "name": name, "command": commands.join(" && "), "ms": ms }));
        let root = last_document(&self.answer("treering head --json")?)?["root"].take();
        for earlier in same.iter().filter_map(|line| line.strip_prefix(SAME_ROOT)) {
            if self.roots.get(earlier) != Some(&root) {
                let text = format!("the root after the step {name} differs from the step {earlier}");
                return Err(Error::internal(text));
            }
            self.print(Meaning::Good, &format!("{SAME_ROOT}{earlier}"))?;
        }
        self.roots.insert(name.to_owned(), root);
        self.print(Meaning::Quiet, &format!("{ms:.2} ms"))?;
        self.context.output.flush()
    }

    /// Runs a command, checks its exit code and returns its output. If the command ends with ` > FILE`, writes the
    /// output to the file.
    fn answer(&mut self, command: &str) -> Result<String> {
        let (command, stated) = command.split_once(ENDS_WITH).unwrap_or((command, "0"));
        let (command, file) = match command.split_once(" > ") {
            Some((command, file)) => (command, Some(file)),
            None => (command, None),
        };
        let words: Vec<_> = command.split(' ').map(OsString::from).collect();
        let parsed = Parsed::read(self.context.verbs, &mut self.definition, &words);
        let parsed = parsed.map_err(|unparsed| unparsed.into_error(""))?;
        let mut options = parsed.options.clone();
        options.store = Some(self.store.to_owned());
        options.json |= self.context.options.json;
        let mut context = Context::new(self.context.verbs, options);
        context.is_temporary = true;
        context.forget_at();
        let capture = Capture::default();
        context.output.redirect(Some(Box::new(capture.clone())))?;
        let done = parsed.run(&mut context);
        let code = done.as_ref().map_or_else(exit_code, |code| *code);
        match done {
            Err(failure) if code.to_string() != stated => return Err(failure),
            Err(refused) => context.output.line_for_people(refused.message())?,
            Ok(_) if code.to_string() == stated => {}
            Ok(_) => {
                return Err(Error::internal(format!(
                    "the exit code is {code} instead of {stated}"
                )));
            }
        }
        context.output.flush()?;
        let Some(file) = file else {
            return Ok(capture.text());
        };
        let written = fs::write(file, capture.text());
        written.map_err(|error| Error::io(format_args!("writing {file}"), error))?;
        Ok(String::new())
    }

    /// Prints the next commands for people, or the JSON document for programs.
    fn finish(mut self, keep: Option<&Path>, started: Instant) -> Done {
        let ms = started.elapsed().as_micros() as f64 / 1000.0;
        let count = self.steps.len();
        self.document.insert("steps".to_owned(), Value::Array(self.steps));
        self.document.insert("store".to_owned(), keep.map(shown).into());
        self.document.insert("ms".to_owned(), ms.into());
        let output = &mut self.context.output;
        if !output.json(&self.document)? {
            output.line(format_args!("\n{count} steps in {:.1} seconds.", ms / 1000.0))?;
            output.line(match keep.map(shown) {
                Some(store) => format!("Explore it: treering --store {store} log, ... list, ... snapshots"),
                None => "To keep the store and explore it: treering tour --keep DIR".to_owned(),
            })?;
        }
        Ok(DONE)
    }

    fn print(&mut self, meaning: Meaning, text: &str) -> Result<()> {
        self.say(Some(meaning), text)
    }

    /// Prints a text for people, broken at spaces where the terminal is narrower.
    fn say(&mut self, meaning: Option<Meaning>, text: &str) -> Result<()> {
        let output = &mut self.context.output;
        for line in human::wrapped(text, output.style().width.unwrap_or(usize::MAX)) {
            output.line_for_people(
                meaning.map_or_else(|| line.clone(), |meaning| output.paint(meaning, &line)),
            )?;
        }
        Ok(())
    }
}

/// Returns the last document of an answer with `--json`.
fn last_document(answer: &str) -> Result<Value> {
    let last = answer.lines().last().unwrap_or("{}");
    serde_json::from_str(last).map_err(|error| output_error(error.into()))
}

/// A temporary folder with the input files. This folder is the current folder during the tour.
struct TourFolder {
    store: PathBuf,
    /// The current folder before the tour.
    before: PathBuf,
    /// Removes the folder after the tour has left it.
    _folder: TempDir,
}

impl TourFolder {
    /// Creates the temporary folder. The store is inside, or is the folder `keep`, which must be empty or absent.
    fn new(keep: Option<&Path>) -> Result<Self> {
        keep.map(check_empty).transpose()?;
        let failed = |error| Error::io("preparing the folder of the tour", error);
        // Other users can neither create nor read the folder of the tour.
        let mut private = tempfile::Builder::new();
        private
            .prefix("treering-tour-")
            .permissions(Permissions::from_mode(0o700));
        let folder = private.tempdir().map_err(failed)?;
        let path = folder.path().to_owned();
        let store = keep.map_or_else(|| Ok(path.join("store")), absolute);
        let folder = Self {
            store: store.map_err(failed)?,
            before: env::current_dir().map_err(failed)?,
            _folder: folder,
        };
        fs::create_dir_all(path.join("docs/tour")).map_err(failed)?;
        for (name, text) in FILES {
            fs::write(path.join(name), text).map_err(failed)?;
        }
        env::set_current_dir(&path).map_err(failed)?;
        Ok(folder)
    }
}

impl Drop for TourFolder {
    fn drop(&mut self) {
        // Returns to the earlier folder. An error is ignored, because the tour is complete.
        drop(env::set_current_dir(&self.before));
    }
}

/// Refuses a folder that is not empty.
fn check_empty(path: &Path) -> Result<()> {
    match fs::read_dir(path).and_then(|mut entries| entries.next().transpose()) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(Error::invalid(format!("{} is not empty", shown(path)))
            .with_code(ErrorCode::NotEmpty)
            .with_hint("the tour creates its own store: name a new folder with --keep")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io(format_args!("reading {}", shown(path)), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::SharedOptions;
    use crate::cli::commands::GROUPS;

    /// Runs steps in a new store, and returns the exit code and message of the first failure.
    fn failure_of(steps: &[&str]) -> Option<(u8, String)> {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let mut context = Context::new(GROUPS, SharedOptions::default());
        let capture = Box::new(Capture::default());
        context.output.redirect(Some(capture)).unwrap();
        let mut guide = Guide::new(&mut context, &store);
        guide.step("create\nA store.\ntreering init").unwrap();
        let failure = steps.iter().find_map(|step| guide.step(step).err())?;
        Some((exit_code(&failure), failure.message().to_owned()))
    }

    #[test]
    fn a_command_that_ends_with_another_exit_code_fails_the_tour() {
        let ask = format!("ask\nNo.\ntreering contains {}", "0".repeat(64));
        assert_eq!(failure_of(&[&format!("{ask} # ends with 1")]), None);
        for (step, code) in [
            // The actual exit codes are 1, 0, 1 and 1.
            (ask.as_str(), 70),
            ("look\nRefused.\ntreering head # ends with 5", 70),
            ("look\nThere.\ntreering get tea", 1),
            ("look\nThere.\ntreering get tea # ends with 5", 1),
        ] {
            let (found, message) = failure_of(&[step]).unwrap();
            assert_eq!(found, code, "{message}");
            let name = step.split('\n').next().unwrap();
            assert!(
                message.contains(&format!("the step {name}, treering ")),
                "{message}"
            );
        }
    }

    #[test]
    fn another_root_than_stated_fails_the_tour() {
        let put = "put\nAn object.\ntreering put tea --kind note";
        let undo = "undo\nBack.\ntreering undo\nthe root equals the root after create";
        assert_eq!(failure_of(&[put, undo]), None);
        let wrong = undo.replace("after create", "after put");
        assert_eq!(failure_of(&[put, &wrong]).unwrap().0, 70);
        let unknown = undo.replace("after create", "after lunch");
        assert_eq!(failure_of(&[put, &unknown]).unwrap().0, 70);
    }
}

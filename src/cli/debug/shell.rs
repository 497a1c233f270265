//! The shell: one open store, the settings of the moment, and how one line is carried out.
//!
//! # Layer
//! L9, part of cli.
//!
//! # Invariants
//! - DBG-1: without `--write` the store is opened read-only, whatever is typed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::arguments::Arguments;
use super::table::{self, Command, Run};
use super::words;
use crate::cli::args::{LaneOptions, SharedOptions};
use crate::cli::context::{Context, explain, looks_like_store, shown};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human;
use crate::cli::output::Mode;
use crate::cli::parse::{self, Parsed};
use crate::engine::{CommitInfo, Memory, View};
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// Characters of an unknown name that a message repeats.
const TYPED_SHOWN: usize = 60;

/// A running shell.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each a command or an option"
)]
pub(super) struct Shell<'a> {
    pub(super) context: &'a mut Context,
    /// Whether commands may change the store.
    pub(super) writable: bool,
    /// Whether each command says how long it took.
    pub(super) timer: bool,
    /// Whether each command is shown before its answer.
    pub(super) echo: bool,
    /// Whether long answers go through a pager, where somebody looks on.
    pub(super) pager: bool,
    /// Whether a person types the commands: then indexes are worth building.
    interactive: bool,
    /// Whether the shell was told to end.
    pub(super) ended: bool,
    /// The folder of the store.
    pub(super) path: PathBuf,
    /// Which folder that was when it was opened; `None` if it could not be asked.
    folder: Option<(u64, u64)>,
    /// Why no state can be read, if so.
    unreadable: Option<Error>,
}

impl<'a> Shell<'a> {
    /// Opens the store of the context, as far as it can be.
    ///
    /// # Errors
    /// If there is no store, or it cannot be written to and shall be.
    pub(super) fn open(context: &'a mut Context, writable: bool, interactive: bool) -> Result<Self> {
        let path = context.store()?;
        let mut shell = Self {
            context,
            writable,
            timer: false,
            echo: false,
            pager: true,
            interactive,
            ended: false,
            folder: identity(&path),
            path,
            unreadable: None,
        };
        let asked = shell.context.options.degraded;
        if let Some(memory) = shell.open_memory()? {
            shell.context.keep(memory);
        }
        // Damage that was not expected is told already.
        if asked == shell.context.options.degraded {
            shell.context.print_kept_warnings();
        }
        Ok(shell)
    }

    fn open_memory(&mut self) -> Result<Option<Memory>> {
        if self.writable {
            let options = self.context.engine_options().indexes(self.interactive);
            let opened = options.open(&self.path);
            return opened.map(Some).map_err(|error| explain(error, &self.path));
        }
        // INVARIANT DBG-1.
        let open = |context: &Context| {
            context
                .reading_options()
                .indexes(self.interactive)
                .open(&self.path)
        };
        let error = match open(self.context) {
            Ok(memory) => return Ok(Some(memory)),
            Err(error) => error,
        };
        let is_damaged =
            error.is_corruption() || error.code() == ErrorCode::NoStore && looks_like_store(&self.path);
        if !is_damaged {
            return Err(explain(error, &self.path));
        }
        self.context.options.degraded = true;
        match open(self.context) {
            Ok(memory) => {
                let commit = memory.view().commit().commit;
                let told = format!(
                    "damaged: {}\nserved is the state of seq:{} of {}\nnot served is what was committed after it: see verify, recovery",
                    error.message(),
                    commit.seq,
                    commit.time
                );
                self.context.output.note("degraded", told);
                Ok(Some(memory))
            }
            Err(error) => {
                let told = format!(
                    "damaged: {}\nno state can be read, but files, manifest, live, segments, frames and verify answer",
                    error.message()
                );
                self.context.output.note("unreadable", told);
                self.unreadable = Some(error);
                Ok(None)
            }
        }
    }

    /// The open memory.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn memory(&self) -> Result<Memory> {
        match (self.context.kept(), &self.unreadable) {
            (Some(memory), _) => Ok(memory.clone()),
            (None, Some(error)) => Err(error.again()),
            (None, None) => Err(Error::internal("a shell without a store")),
        }
    }

    /// The state that is looked at: the head, or what `at` says.
    pub(super) fn view(&self) -> Result<View> {
        self.context.view(&self.memory()?)
    }

    /// The state that a typed revision names.
    pub(super) fn view_of(&self, revision: &str) -> Result<View> {
        self.context.view_of(&self.memory()?, revision)
    }

    /// The commits up to the state that is looked at, newest first.
    pub(super) fn commits(&self) -> Result<impl Iterator<Item = Result<CommitInfo>> + use<>> {
        let newest = self.view()?.commit().commit.seq;
        let commits = self.memory()?.commits();
        Ok(commits.filter(move |info| info.as_ref().map_or(true, |info| info.commit.seq <= newest)))
    }

    /// Carries out one line.
    pub(super) fn run(&mut self, line: &str) -> Done {
        let words = words::split(line)?;
        let Some(typed) = words.first() else {
            return Ok(DONE);
        };
        let command = table::find(typed).ok_or_else(|| unknown(typed))?;
        if command.writes && !self.writable {
            return Err(
                Error::new(ErrorKind::Denied, format!("{} changes the store", command.name))
                    .with_code(ErrorCode::ReadOnly)
                    .with_hint("this shell only reads; start it with treering debug --write")
                    .into(),
            );
        }
        self.context.output.set_awaited(true);
        self.catch_up();
        if self.echo && !self.context.output.is_json() {
            self.context
                .output
                .line(format_args!("> {}", human::one_line(line.trim())))?;
        }
        let begun = Instant::now();
        let done = self.carry_out(command, &words);
        self.context.output.set_awaited(false);
        let ended = self.context.output.end_command();
        if self.timer {
            let took = begun.elapsed().as_secs_f64();
            self.context.output.note("timer", format!("took {took:.3} s"));
        }
        done.and_then(|code| ended.map(|()| code))
    }

    /// Reads what others committed meanwhile.
    fn catch_up(&mut self) {
        let Some(memory) = self.context.kept().cloned() else {
            return;
        };
        if let Err(error) = self.check_folder().and_then(|()| memory.refresh()) {
            let seq = memory.view().commit().commit.seq;
            let told = format!("cannot read beyond seq:{seq}: {error}");
            self.context.output.note("stale", told);
        }
    }

    /// Whether the store is still where it was opened. What was opened can be read on, but nobody writes to it.
    ///
    /// # Errors
    /// `NotFound` if its folder was moved, removed or replaced.
    pub(super) fn check_folder(&self) -> Result<()> {
        let now = identity(&self.path);
        if now == self.folder {
            return Ok(());
        }
        let path = shown(&self.path);
        let told = if now.is_some() {
            format!("{path} is another folder than the one that was opened")
        } else {
            format!("{path} is no longer there")
        };
        Err(Error::not_found(told)
            .with_code(ErrorCode::StoreMoved)
            .with_hint("start treering debug again, on the folder that holds the store now"))
    }

    fn carry_out(&mut self, command: &Command, words: &[String]) -> Done {
        let words = words.get(1..).unwrap_or_default();
        match command.run {
            Run::Own(run) => run(
                self,
                &Arguments::parse(command.name, &command.arguments(), words)?,
            ),
            Run::Verb => self.run_verb(command.name, words),
        }
    }

    /// Runs a verb as another command words it.
    pub(super) fn run_as(&mut self, verb: &str, words: &[&str]) -> Done {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        self.run_verb(verb, &words)
    }

    /// Runs a verb of the program on the open store.
    fn run_verb(&mut self, name: &str, words: &[String]) -> Done {
        let line = ["treering", name]
            .into_iter()
            .chain(words.iter().map(String::as_str));
        let verb = match Parsed::read(
            self.context.verbs,
            &mut parse::definition(self.context.verbs),
            line.map(OsString::from),
        ) {
            Ok(parsed) => parsed?,
            Err(error) => return self.answer_of_clap(name, &error),
        };
        let mut typed = verb.options.clone();
        if typed.store.is_some() {
            return Err(Failure::usage(
                "the shell has its store open",
                "start another one for another store",
            ));
        }
        self.require_state(name)?;
        if let Some(at) = &typed.at {
            // Rings are counted in the shell's lane.
            let seq = self.view_of(at)?.commit().commit.seq;
            typed.at = Some(format!("seq:{seq}"));
        }
        let json = typed.json;
        // For this line alone, and what it says itself counts.
        let options = self.context.options.clone();
        let shared = self.shared_with(&verb);
        self.context.options = shared.overlaid_by(typed);
        let mode = self.context.output.mode();
        if json {
            self.context.output.set_mode(Mode::Json);
        }
        let done = verb.run(self.context);
        let ended = self.context.output.end_command();
        self.context.output.set_mode(mode);
        self.context.options = options;
        done.and_then(|code| ended.map(|()| code))
    }

    /// The settings of the shell that mean the same for a verb.
    fn shared_with(&self, verb: &Parsed) -> SharedOptions {
        let mut options = self.context.options.clone();
        match verb.name() {
            // Two revisions say all about where to look.
            "diff" if verb.gives("to") => options.at = None,
            // The lane decides what snap:0 is; which commits are listed is asked for with the command.
            "log" => options.lane = LaneOptions::default(),
            _ => {}
        }
        options
    }

    /// Only `verify` and `check-proof` have an answer where no state can be read.
    fn require_state(&self, verb: &str) -> Result<()> {
        if matches!(verb, "verify" | "check-proof") {
            return Ok(());
        }
        self.memory().map(drop)
    }

    fn answer_of_clap(&mut self, name: &str, error: &clap::Error) -> Done {
        if error.use_stderr() {
            return Err(Failure::of_clap(error, &format!("see help {name}")));
        }
        self.context.output.line(error.render().to_string().trim_end())?;
        Ok(DONE)
    }
}

/// What tells a folder from any other that has its name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Whether a line asks for an answer that ends only when somebody stops it.
pub(super) fn is_endless(line: &str) -> bool {
    let words = words::split(line).unwrap_or_default();
    words
        .first()
        .and_then(|name| table::find(name))
        .is_some_and(|command| command.endless)
}

pub(super) fn unknown(typed: &str) -> Failure {
    let hint = match table::nearest(typed) {
        _ if table::is_verb(typed) => format!("that is a verb of the program: treering {typed}"),
        Some(meant) => format!("did you mean {meant}? help lists all commands"),
        None => "help lists all commands".to_owned(),
    };
    let typed = human::one_line(&human::cut(typed, TYPED_SHOWN));
    Failure::usage(format!("there is no command '{typed}'"), hint)
}

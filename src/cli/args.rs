//! The command line: the verbs of the table, and the options that all of them share.
//!
//! A shared option stands before the verb, after it, or between a verb and a verb within it. The definition of a verb
//! says which of them it takes: [`reads`], [`writes`] and [`waits`] show these in its help, and an option that the verb
//! does not take is refused by name instead of being ignored.
//!
//! # Layer
//! L10, part of cli.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches as _, ValueEnum};

use super::commands;
use super::context::Context;
use super::errors::{Done, Failure};
use super::human;
use super::time;
use super::verb::Entry;
use crate::engine::Writer;
use crate::error::Error;
use crate::object::Origin;

/// The heading of the shared options in the help of a verb.
pub(crate) const HEADING: &str = "Options that may also stand before the verb";

/// The shared options that only some verbs take, and which.
const TAKEN_BY_SOME: [(&str, &str); 6] = [
    ("at", "only verbs that read a store take it"),
    ("degraded", "only verbs that read a store take it"),
    ("source", "only verbs that commit take it"),
    ("trust", "only verbs that commit take it"),
    ("reason", "only verbs that commit take it"),
    ("wait", "only verbs that write take it"),
];

/// The options that verbs share.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub(crate) struct SharedOptions {
    /// The folder of the store
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Print JSON: one document, or a line each for streams
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print for a language model: few tokens, no colours, columns that stay
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) agent: bool,
    /// Read the past: @-3, snap:0, a snapshot's name, seq:7, a digest, a time
    #[arg(long, global = true, value_name = "REV")]
    pub(crate) at: Option<String>,
    /// Read a damaged store at the newest state before the damage
    #[arg(long, global = true)]
    pub(crate) degraded: bool,
    /// What the verbs of an agent are allowed; without it, a file beside the store
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub(crate) settings: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) lane: LaneOptions,
    #[command(flatten)]
    pub(crate) commit: CommitOptions,
}

/// Who is at work: the lane of snapshots and undo.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LaneOptions {
    /// Who is at work: the lane where no session is named
    #[arg(long, global = true, value_name = "A")]
    pub(crate) actor: Option<String>,
    /// The session at work; it, else the actor, is the lane that undo and snap:N count in
    #[arg(long, global = true, value_name = "S")]
    pub(crate) session: Option<String>,
}

/// What a commit records about itself.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CommitOptions {
    /// Where this comes from
    #[arg(long, global = true, value_name = "SRC")]
    pub(crate) source: Option<String>,
    /// Mark what is written as not to be trusted; nothing here raises trust
    #[arg(long, global = true, value_name = "untrusted", hide_possible_values = true)]
    pub(crate) trust: Option<Trust>,
    /// How long to wait for another writer: 30s, 500ms, 0 [default: 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = time::duration)]
    pub(crate) wait: Option<Duration>,
    /// Why
    #[arg(short = 'm', long, global = true, value_name = "REASON")]
    pub(crate) reason: Option<String>,
}

/// What `--trust` takes: it can only lower, to the class of an outside tool's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trust {
    Untrusted,
}

/// The shared options of a verb that reads a store.
pub(crate) fn reads() -> Vec<Arg> {
    shared(&["at", "degraded"])
}

/// The shared options of a verb that commits.
pub(crate) fn writes() -> Vec<Arg> {
    shared(&["source", "trust", "wait", "reason"])
}

/// The shared options of a verb that writes without a commit.
pub(crate) fn waits() -> Vec<Arg> {
    shared(&["wait"])
}

/// The shared options of a verb that reads, and commits if it is allowed to.
pub(crate) fn reads_and_writes() -> Vec<Arg> {
    shared(&["at", "degraded", "source", "trust", "wait", "reason"])
}

fn shared(names: &[&str]) -> Vec<Arg> {
    let all = SharedOptions::augment_args(Command::new("shared"));
    let taken = all
        .get_arguments()
        .filter(|option| names.contains(&option.get_id().as_str()));
    taken.cloned().collect()
}

/// The definition of the command line.
pub(crate) fn definition() -> Command {
    let options = SharedOptions::augment_args(Command::new("treering"));
    let refused: Vec<Arg> = TAKEN_BY_SOME
        .iter()
        .filter_map(|(name, _)| options.get_arguments().find(|option| option.get_id() == *name))
        .map(|option| option.clone().hide(true))
        .collect();
    let verbs = commands::all().map(|verb| without(&refused, verb.definition()));
    options
        .bin_name("treering")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        // An alias may give an option already; what stands last counts.
        .args_override_self(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(verbs)
}

/// The verb, and the verbs within it, with each option hidden that it does not take.
fn without(refused: &[Arg], verb: Command) -> Command {
    let missing = refused.iter().filter(|option| {
        verb.get_arguments()
            .all(|taken| taken.get_id() != option.get_id())
    });
    let missing: Vec<Arg> = missing.cloned().collect();
    let names: Vec<String> = verb
        .get_subcommands()
        .map(|inner| inner.get_name().to_owned())
        .collect();
    let verb = verb.args(missing);
    names.iter().fold(verb, |verb, name| {
        verb.mut_subcommand(name, |inner| without(refused, inner))
    })
}

/// The definition without the verbs that are not for people.
pub(crate) fn definition_shown() -> Command {
    let whole = definition();
    let verbs = whole.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs: Vec<Command> = verbs.cloned().collect();
    Command::new("treering")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .args(whole.get_arguments().cloned())
        .subcommands(verbs)
}

/// A command line that was understood.
pub(crate) struct Parsed {
    pub(crate) options: SharedOptions,
    verb: &'static Entry,
    matches: ArgMatches,
    commits: bool,
}

impl Parsed {
    /// Reads a command line, the first argument being the program's name, by a definition.
    ///
    /// # Errors
    /// What clap has to show: a refusal, the help of a verb, or the version.
    pub(crate) fn read(
        definition: &mut Command,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Result<Self, Failure>, clap::Error> {
        let matches = definition.try_get_matches_from_mut(arguments)?;
        let options = SharedOptions::from_arg_matches(&matches)?;
        Ok(Self::of(definition, options, &matches))
    }

    /// The verb that was typed, unless an option has no meaning for it.
    fn of(definition: &Command, options: SharedOptions, matches: &ArgMatches) -> Result<Self, Failure> {
        let missing = || Failure::usage("the verb is missing", "see treering --help");
        let (name, typed) = matches.subcommand().ok_or_else(missing)?;
        let (mut command, mut innermost) = (definition, matches);
        while let Some((inner, matches)) = innermost.subcommand() {
            command = command.find_subcommand(inner).ok_or_else(missing)?;
            innermost = matches;
        }
        let is_taken = |option: &str| {
            let defined = command.get_arguments().find(|taken| taken.get_id() == option);
            defined.is_some_and(|defined| !defined.is_hide_set())
        };
        for (option, who) in TAKEN_BY_SOME {
            if innermost.value_source(option) == Some(ValueSource::CommandLine) && !is_taken(option) {
                let option = if option == "reason" {
                    "-m".to_owned()
                } else {
                    format!("--{option}")
                };
                return Err(Failure::usage(
                    format!("{option} has no meaning for '{name}': {who}"),
                    format!("see treering {name} --help"),
                ));
            }
        }
        // Where both stand on one side of the verb, clap refuses them.
        if options.json && options.agent {
            return Err(two_modes("--agent"));
        }
        Ok(Self {
            verb: commands::find(name).ok_or_else(missing)?,
            commits: is_taken("reason"),
            matches: typed.clone(),
            options,
        })
    }

    /// The name of the verb.
    pub(crate) fn name(&self) -> &'static str {
        self.verb.name
    }

    /// Whether an argument of the verb was typed.
    pub(crate) fn gives(&self, argument: &str) -> bool {
        self.matches.contains_id(argument)
    }

    /// Whether the verb commits.
    pub(crate) fn commits(&self) -> bool {
        self.commits
    }

    /// Does what the verb says.
    pub(crate) fn run(&self, context: &mut Context) -> Done {
        self.verb.run(&self.matches, context)
    }
}

/// The refusal of two ways to write one answer.
pub(crate) fn two_modes(other: &str) -> Failure {
    Failure::usage(
        format!("--json and {other} say how to write the same answer"),
        "give one of them",
    )
}

/// A refusal of clap's said in our words.
pub(crate) fn in_our_words(error: &clap::Error, arguments: &[OsString]) -> Option<Failure> {
    if let Some(failure) = dashed(error).or_else(|| shortened(error)) {
        return Some(failure);
    }
    if error.kind() == ErrorKind::MissingSubcommand {
        return Some(Failure::usage("the verb is missing", "see treering --help"));
    }
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let verb = arguments
        .iter()
        .filter_map(|argument| argument.to_str())
        .find(|argument| commands::find(argument).is_some());
    let help = match verb {
        Some(verb) => format!("see treering {verb} --help"),
        None => "see treering --help".to_owned(),
    };
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<Error>());
    Some(Failure::of_clap(
        error,
        source.and_then(Error::hint).unwrap_or(&help),
    ))
}

/// The refusal of a text that begins with a dash, such as an item of a list; the message does not repeat the text.
fn dashed(error: &clap::Error) -> Option<Failure> {
    let unknown = (error.kind() == ErrorKind::UnknownArgument)
        .then(|| error.get(ContextKind::InvalidArg))
        .flatten();
    match unknown {
        Some(ContextValue::String(text)) if text.starts_with('-') && text.contains(char::is_whitespace) => {
            Some(Failure::usage(
                "a text that begins with a dash is taken for an option",
                "say -- before it, or give it on standard input where a lone - is taken",
            ))
        }
        _ => None,
    }
}

/// The refusal of a very long word, of which the message repeats the start only.
fn shortened(error: &clap::Error) -> Option<Failure> {
    const CHARACTERS: usize = 100;
    let kinds = [
        ContextKind::InvalidSubcommand,
        ContextKind::InvalidArg,
        ContextKind::InvalidValue,
    ];
    let mut named = kinds.iter().filter_map(|kind| error.get(*kind));
    let long = named.find_map(|named| match named {
        ContextValue::String(word) if word.chars().count() > CHARACTERS => Some(word),
        _ => None,
    })?;
    let Failure::Usage { message, .. } = Failure::of_clap(error, "") else {
        return None;
    };
    let message = message.replace(long, &human::cut(long, CHARACTERS));
    Some(Failure::usage(message, "see treering --help"))
}

impl SharedOptions {
    /// These options where `after` says nothing else.
    pub(crate) fn overlaid_by(self, after: Self) -> Self {
        Self {
            store: after.store.or(self.store),
            json: after.json || self.json,
            agent: after.agent || self.agent,
            at: after.at.or(self.at),
            degraded: after.degraded || self.degraded,
            settings: after.settings.or(self.settings),
            lane: LaneOptions {
                actor: after.lane.actor.or(self.lane.actor),
                session: after.lane.session.or(self.lane.session),
            },
            commit: CommitOptions {
                source: after.commit.source.or(self.commit.source),
                trust: after.commit.trust.or(self.commit.trust),
                wait: after.commit.wait.or(self.commit.wait),
                reason: after.commit.reason.or(self.commit.reason),
            },
        }
    }

    /// Who writes, as the engine wants to know it.
    pub(crate) fn writer(&self) -> Writer {
        Writer {
            actor: self.lane.actor.clone(),
            session: self.lane.session.clone(),
            source: self.commit.source.clone(),
            trust: match self.commit.trust {
                Some(Trust::Untrusted) => Origin::ToolExternal,
                None => Origin::DirectUser,
            },
            reason: self.commit.reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests;

//! The command line: what can be typed, and nothing about what it does.
//!
//! The options that every verb knows may stand before the verb or after it. They are declared in both places
//! and laid over each other by [`Cli::into_parts`], so that an option a verb has no use for is refused by
//! name instead of being ignored.
//!
//! # Layer
//! L9, part of cli.

mod nested;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, ValueEnum};

use super::errors::Failure;
use super::human;
use super::overview::overview;
use super::time;
use super::verbs::Verb;
use crate::engine::Writer;
use crate::error::Error;
use crate::object::Origin;

pub(crate) const HEADING: &str = "Options that may also stand before the verb";

/// The whole command line.
#[derive(Debug, Parser)]
// An alias may give an option already; what stands last counts.
#[command(
    name = "treering",
    bin_name = "treering",
    version,
    about,
    args_override_self = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    before: AnyOptions,
    #[command(subcommand)]
    verb: Verb,
}

/// Every option that may stand before the verb.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AnyOptions {
    /// The folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Print JSON: one document, or a line each for streams
    #[arg(long)]
    pub(crate) json: bool,
    /// Print for a language model: few tokens, no colours, columns that stay
    #[arg(long, conflicts_with = "json")]
    pub(crate) agent: bool,
    /// Read the state at REV
    #[arg(long, value_name = "REV")]
    pub(crate) at: Option<String>,
    /// Read a damaged store at the newest state before the damage
    #[arg(long)]
    pub(crate) degraded: bool,
    /// What the verbs of an agent are allowed; without it, a file beside the store
    #[arg(long, value_name = "FILE")]
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
    #[arg(long, value_name = "A", help_heading = HEADING)]
    pub(crate) actor: Option<String>,
    /// The session at work; it, else the actor, is the lane that undo and snap:N count in
    #[arg(long, value_name = "S", help_heading = HEADING)]
    pub(crate) session: Option<String>,
}

/// What a commit says about itself.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CommitOptions {
    /// Where this comes from
    #[arg(long, value_name = "SRC", help_heading = HEADING)]
    pub(crate) source: Option<String>,
    /// Mark what is written as not to be trusted; nothing here raises trust
    #[arg(long, value_name = "untrusted", hide_possible_values = true, help_heading = HEADING)]
    pub(crate) trust: Option<Trust>,
    /// How long to wait for another writer: 30s, 500ms, 0 [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = time::duration, help_heading = HEADING)]
    pub(crate) wait: Option<Duration>,
    /// Why
    #[arg(short = 'm', long, value_name = "REASON", help_heading = HEADING)]
    pub(crate) reason: Option<String>,
}

/// What `--trust` takes: it can only lower, to the class of an outside tool's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trust {
    Untrusted,
}

/// The options of a verb that reads a store.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReadOptions {
    #[command(flatten)]
    plain: PlainOptions,
    /// Read the past: @-3, snap:0, a snapshot's name, seq:7, a digest, a time
    #[arg(long, value_name = "REV", help_heading = HEADING)]
    at: Option<String>,
    /// Read a damaged store at the newest state before the damage
    #[arg(long, help_heading = HEADING)]
    degraded: bool,
    /// What the verbs of an agent are allowed
    #[arg(long, value_name = "FILE", hide = true, help_heading = HEADING)]
    settings: Option<PathBuf>,
    #[command(flatten)]
    lane: LaneOptions,
}

/// The options of a verb that writes to a store.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    #[command(flatten)]
    plain: PlainOptions,
    /// What the verbs of an agent are allowed
    #[arg(long, value_name = "FILE", hide = true, help_heading = HEADING)]
    settings: Option<PathBuf>,
    #[command(flatten)]
    lane: LaneOptions,
    #[command(flatten)]
    commit: CommitOptions,
}

/// The options of a verb that keeps the store in order and makes no commit.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct UpkeepOptions {
    #[command(flatten)]
    plain: PlainOptions,
    /// How long to wait for another writer: 30s, 500ms, 0 [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = time::duration, help_heading = HEADING)]
    wait: Option<Duration>,
}

/// The options of the shell, which reads and, if it is told so, writes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ShellOptions {
    #[command(flatten)]
    read: ReadOptions,
    #[command(flatten)]
    commit: CommitOptions,
}

/// The options of a verb that works on no store, or makes its own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PlainOptions {
    /// The folder of the store
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    store: Option<PathBuf>,
    /// Print JSON: one document, or a line each for streams
    #[arg(long, help_heading = HEADING)]
    json: bool,
    /// Print for a language model: few tokens, no colours, columns that stay
    #[arg(long, conflicts_with = "json", help_heading = HEADING)]
    agent: bool,
}

/// The options of a verb, whatever it does.
pub(crate) enum VerbOptions<'a> {
    Read(&'a ReadOptions),
    Write(&'a WriteOptions),
    Upkeep(&'a UpkeepOptions),
    Plain(&'a PlainOptions),
    Shell(&'a ShellOptions),
}

impl Cli {
    /// The verb, and the options that stood before it and after it as one. Where both say something, what
    /// stands after the verb counts.
    ///
    /// # Errors
    /// A usage failure when an option stands before a verb that has no use for it.
    pub(crate) fn into_parts(self) -> Result<(AnyOptions, Verb), Failure> {
        let Self { before, verb } = self;
        let after = match verb.options() {
            VerbOptions::Read(read) => {
                refuse(&verb, "a verb that only reads", &before.commit.named())?;
                read.as_any(CommitOptions::default())
            }
            VerbOptions::Shell(shell) => shell.read.as_any(shell.commit.clone()),
            VerbOptions::Write(write) => {
                refuse(&verb, "a verb that writes", &before.reading_named())?;
                AnyOptions {
                    settings: write.settings.clone(),
                    lane: write.lane.clone(),
                    commit: write.commit.clone(),
                    ..write.plain.as_any()
                }
            }
            VerbOptions::Upkeep(upkeep) => {
                let named = [before.reading_named(), before.commit.said_of_a_commit()].concat();
                refuse(&verb, "a verb that makes no commit", &named)?;
                let mut options = upkeep.plain.as_any();
                options.commit.wait = upkeep.wait;
                options
            }
            VerbOptions::Plain(plain) => {
                refuse(&verb, "a verb that opens no store", &before.reading_named())?;
                plain.as_any()
            }
        };
        let options = before.overlaid_by(after);
        options.refuse_two_modes(&verb)?;
        Ok((options, verb))
    }

    /// The definition, with the help page for lines of this width.
    pub(crate) fn definition(width: usize) -> clap::Command {
        <Self as clap::CommandFactory>::command().override_help(overview(width))
    }

    /// The definition without the verbs that are not for people.
    pub(crate) fn definition_shown() -> clap::Command {
        let whole = <Self as clap::CommandFactory>::command();
        let verbs = whole
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .cloned();
        clap::Command::new("treering")
            .version(env!("CARGO_PKG_VERSION"))
            .about(env!("CARGO_PKG_DESCRIPTION"))
            .args(whole.get_arguments().cloned())
            .subcommands(verbs)
    }

    /// Reads a command line, the first argument being the program's name.
    pub(crate) fn read(arguments: &[OsString], width: usize) -> Result<Self, clap::Error> {
        let definition = Self::definition(width);
        let arguments = nested::in_order(&definition, arguments);
        let matches = definition.try_get_matches_from(arguments)?;
        <Self as clap::FromArgMatches>::from_arg_matches(&matches)
    }
}

/// A refusal of clap's said in our words: an option that other verbs take, or no verb at all.
pub(crate) fn in_our_words(error: &clap::Error, arguments: &[OsString]) -> Option<Failure> {
    if let Some(text) = dashed(error) {
        return Some(text);
    }
    if let Some(shortened) = shortened(error) {
        return Some(shortened);
    }
    if error.kind() == clap::error::ErrorKind::MissingSubcommand {
        return Some(Failure::usage("the verb is missing", "see treering --help"));
    }
    let definition = <Cli as clap::CommandFactory>::command();
    let verb = arguments
        .iter()
        .filter_map(|argument| argument.to_str())
        .find(|argument| definition.find_subcommand(argument).is_some());
    let help = match verb {
        Some(verb) => format!("see treering {verb} --help"),
        None => "see treering --help".to_owned(),
    };
    if error.kind() == clap::error::ErrorKind::ValueValidation {
        let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<Error>());
        let hint = source.and_then(Error::hint).unwrap_or(&help);
        return Some(Failure::of_clap(error, hint));
    }
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == clap::error::ErrorKind::UnknownArgument => {
            option
        }
        _ => return None,
    };
    let who = match option.as_str() {
        "--at" | "--degraded" => "only verbs that read a store take it",
        "--source" | "--trust" | "--reason" | "-m" => "only verbs that commit take it",
        "--wait" => "only verbs that write take it",
        "--actor" | "--session" => "only verbs that ask who is at work take it",
        _ => return None,
    };
    Some(Failure::usage(
        format!("{option} has no meaning for '{}': {who}", verb?),
        help,
    ))
}

/// The refusal of a text that begins with a dash, such as an item of a list; what it says is not repeated.
fn dashed(error: &clap::Error) -> Option<Failure> {
    let unknown = (error.kind() == clap::error::ErrorKind::UnknownArgument)
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

fn refuse(verb: &Verb, what: &str, named: &[&str]) -> Result<(), Failure> {
    match named.first() {
        None => Ok(()),
        Some(option) => Err(Failure::usage(
            format!("{option} has no meaning for '{}', {what}", verb.name()),
            format!("see treering {} --help", verb.name()),
        )),
    }
}

impl PlainOptions {
    fn as_any(&self) -> AnyOptions {
        AnyOptions {
            store: self.store.clone(),
            json: self.json,
            agent: self.agent,
            ..AnyOptions::default()
        }
    }
}

impl ReadOptions {
    fn as_any(&self, commit: CommitOptions) -> AnyOptions {
        AnyOptions {
            at: self.at.clone(),
            degraded: self.degraded,
            settings: self.settings.clone(),
            lane: self.lane.clone(),
            commit,
            ..self.plain.as_any()
        }
    }
}

impl AnyOptions {
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

    /// Refuses to write one answer in two ways; where both stand on one side of the verb clap does.
    fn refuse_two_modes(&self, verb: &Verb) -> Result<(), Failure> {
        let mode = match verb {
            Verb::Debug(debug) if debug.mode.is_some() => Some("--mode"),
            _ => self.agent.then_some("--agent"),
        };
        match mode {
            Some(mode) if self.json => Err(Failure::usage(
                format!("--json and {mode} say how to write the same answer"),
                "give one of them",
            )),
            _ => Ok(()),
        }
    }

    fn reading_named(&self) -> Vec<&'static str> {
        let given = [(self.at.is_some(), "--at"), (self.degraded, "--degraded")];
        given
            .iter()
            .filter(|(is_given, _)| *is_given)
            .map(|(_, name)| *name)
            .collect()
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

impl CommitOptions {
    fn named(&self) -> Vec<&'static str> {
        let mut named = self.said_of_a_commit();
        named.extend(self.wait.map(|_| "--wait"));
        named
    }

    fn said_of_a_commit(&self) -> Vec<&'static str> {
        let given = [
            (self.source.is_some(), "--source"),
            (self.trust.is_some(), "--trust"),
            (self.reason.is_some(), "-m"),
        ];
        given
            .iter()
            .filter(|(is_given, _)| *is_given)
            .map(|(_, name)| *name)
            .collect()
    }
}

#[cfg(test)]
mod tests;

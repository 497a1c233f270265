//! The options that verbs share.
//!
//! A shared option may precede the verb, follow it, or separate a verb from its subcommand. Every verb accepts the
//! options for the store, the output mode and the writer. A verb declares further shared options with [`reads`],
//! [`writes`] or [`waits`].
//!
//! # Layer
//! Layer 10, part of cli.

use std::env;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches as _};

use super::errors::usage_error;
pub(crate) use super::hints::in_quotes;
use super::time;
use treering::{Error, ErrorCode, Origin, Result, Writer};

/// The heading of the shared options in the help of a verb.
pub(crate) const HEADING: &str = "Options that may also precede the verb";

/// The help of `--trust`.
const TRUST_HELP: &str = "The class of the writer: direct_user, host, model, tool_internal, tool_external, document, \
                          import, or untrusted [default: TREERING_TRUST, else direct_user at a terminal, else model]";

/// The options that verbs share.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct SharedOptions {
    /// The folder of the store
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Print JSON: one document, or one line for each answer of a stream
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print for a language model: few tokens, no colours, fixed columns
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) agent: bool,
    /// Read the past: @-3, snap:0, a snapshot's name, seq:7, a digest, a time
    #[arg(long, global = true, value_name = "REV")]
    pub(crate) at: Option<String>,
    /// Read and write this fork [default: `TREERING_FORK`]
    #[arg(long = "fork", id = "in_fork", global = true, value_name = "NAME")]
    pub(crate) in_fork: Option<String>,
    /// Read a damaged store at the newest state before the damage
    #[arg(long, global = true)]
    pub(crate) degraded: bool,
    /// Read a store that somebody else made: read-only, with every object untrusted
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) untrusted_store: bool,
    /// The settings file of an agent's verbs [default: treering.toml in the parent folder of the store]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub(crate) settings: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) lane: LaneOptions,
    /// The source of the written objects
    #[arg(long, global = true, value_name = "SRC")]
    pub(crate) source: Option<String>,
    /// The class of the writer.
    #[arg(long, global = true, value_name = "CLASS", value_parser = Origin::from_text, help = TRUST_HELP)]
    pub(crate) trust: Option<Origin>,
    /// The time to wait for another writer: 30s, 500ms, 0 [default: 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = time::duration)]
    pub(crate) wait: Option<Duration>,
    /// The reason for the change
    #[arg(short = 'm', long, global = true, value_name = "REASON")]
    pub(crate) reason: Option<String>,
}

/// The options that select the lane of snapshots and undo.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LaneOptions {
    /// The actor, which names the lane if no session is given
    #[arg(long, global = true, value_name = "A")]
    pub(crate) actor: Option<String>,
    /// The session, which names the lane of undo and snap:N; without a session, the actor names the lane
    #[arg(long, global = true, value_name = "S")]
    pub(crate) session: Option<String>,
}

impl LaneOptions {
    /// Returns a command with the options that select this lane.
    pub(crate) fn command(&self, command: &str) -> String {
        let mut command = format!("treering {command}");
        for (option, value) in [(" --session", &self.session), (" --actor", &self.actor)] {
            let Some(name) = value else { continue };
            // clap takes a separate word that begins with a hyphen for another option.
            let sign = if name.starts_with('-') { "=" } else { " " };
            command.extend([option, sign, &in_quotes(name)]);
        }
        command
    }
}

/// Returns a clap parser that accepts the names of an enum's values and returns the value.
pub(crate) fn one_of<T, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Clone + Copy + Send + Sync + 'static,
{
    let known = move |typed: &String| all.into_iter().find(|one| name(*one) == typed);
    PossibleValuesParser::new(all.map(name))
        .map(move |typed| known(&typed).expect("clap refuses other names"))
}

/// Returns the shared options of a verb that reads a store.
pub(crate) fn reads() -> Vec<Arg> {
    shared(&["at", "degraded"])
}

/// Returns the shared options of a verb that reads a store and lists only what certain writers wrote.
pub(crate) fn reads_by_writer() -> Vec<Arg> {
    let options = shared(&["at", "degraded", "actor", "session", "source"]);
    let described = options.into_iter().map(|option| match option.get_id().as_str() {
        "actor" => option.help("Only what this actor wrote"),
        "session" => option.help("Only what this session wrote; its lane also names snap:N"),
        "source" => option.help("Only what was written from this source"),
        _ => option,
    });
    described.collect()
}

/// Returns the shared options of a verb that commits.
pub(crate) fn writes() -> Vec<Arg> {
    shared(&["source", "trust", "wait", "reason"])
}

/// Returns the shared options of a verb that commits, and declares `--session`, `--actor` and `--source` itself to select
/// the work of others.
pub(crate) fn selects_and_writes() -> Vec<Arg> {
    shared(&["trust", "wait", "reason"])
}

/// Returns the shared options of a verb that describes a client of a server.
#[cfg(feature = "http")]
pub(crate) fn describes_client() -> Vec<Arg> {
    let described = shared(&["actor", "in_fork"]).into_iter();
    let described = described.map(|option| match option.get_id().as_str() {
        "actor" => option.help("The actor of what it writes [default: its name]"),
        _ => option.help("The fork that it works on [default: the line of the server]"),
    });
    described.collect()
}

/// Returns the shared options of a verb that writes without a commit.
pub(crate) fn waits() -> Vec<Arg> {
    shared(&["wait"])
}

/// Returns the shared options of a verb that signs, which needs no reason.
#[cfg(feature = "signed")]
pub(crate) fn signs() -> Vec<Arg> {
    shared(&["trust", "wait"])
}

/// Returns the shared options of a verb that reads and, with some arguments, commits.
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

/// The variables that programs set for the commands that their agent runs. `AI_AGENT` is common to several programs. Copilot
/// in VS Code sets it and `COPILOT_AGENT` (microsoft/vscode, pull requests 316267 and 320129), in a terminal of its own.
const AGENT_VARIABLES: [&str; 13] = [
    "AI_AGENT",
    "AMP_CURRENT_THREAD_ID",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "COPILOT_AGENT",
    "COPILOT_CLI",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
];

/// Returns the class that `TREERING_TRUST` names, or `None` if the variable is unset or empty.
///
/// # Errors
/// A usage error if the variable names no class.
pub(crate) fn named_class() -> Result<Option<Origin>> {
    let Some(name) = env::var_os("TREERING_TRUST").filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let class = Origin::from_text(&name.to_string_lossy()).map(Some);
    class.map_err(|error| {
        let hint = error.hint().unwrap_or_default().to_owned();
        usage_error(format!("TREERING_TRUST: {}", error.message()), hint)
    })
}

/// Returns the class of a writer who names none. Only a person who types has the class of the person. A command that an
/// agent runs, or that reads its input from a file or a program, has the class of a model.
fn usual_class() -> Origin {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if io::stdin().is_terminal() && !AGENT_VARIABLES.iter().any(is_set) {
        Origin::DirectUser
    } else {
        Origin::Model
    }
}

impl SharedOptions {
    /// Returns these options, overridden by the options that the user typed.
    pub(crate) fn overlaid_by(&self, typed: &ArgMatches) -> clap::error::Result<Self> {
        let mut all = self.clone();
        all.update_from_arg_matches(typed)?;
        // A flag that the user did not type must not reset a flag that is set.
        all.json |= self.json;
        all.agent |= self.agent;
        all.degraded |= self.degraded;
        all.untrusted_store |= self.untrusted_store;
        Ok(all)
    }

    /// Refuses to write with `--untrusted-store` (TST-1).
    pub(crate) fn check_may_write(&self) -> Result<()> {
        if !self.untrusted_store {
            return Ok(());
        }
        let text = "--untrusted-store reads a store and never writes it";
        Err(Error::denied(ErrorCode::UntrustedStore, text)
            .with_hint("if you trust whoever made the store, treering trust-store makes it yours"))
    }

    /// Returns the class of the writer: of `--trust`, else of `TREERING_TRUST`, else [`usual_class`].
    fn trust(&self) -> Origin {
        // `Parsed::of` refuses a bad variable before the verb runs.
        let named = || named_class().unwrap_or(Some(Origin::ToolExternal));
        self.trust.or_else(named).unwrap_or_else(usual_class)
    }

    /// Returns the writer that the engine records.
    pub(crate) fn writer(&self) -> Writer {
        let mut writer = Writer::of(self.trust());
        writer.actor.clone_from(&self.lane.actor);
        writer.session.clone_from(&self.lane.session);
        writer.source.clone_from(&self.source);
        writer.reason.clone_from(&self.reason);
        writer
    }
}

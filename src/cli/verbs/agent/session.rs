//! The arguments of `session`.
//!
//! # Layer
//! L9, part of cli.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::scopes::ScopeOptions;
use crate::cli::args::{ReadOptions, VerbOptions, WriteOptions};
use crate::cli::time;

/// `session`
#[derive(Args, Debug)]
pub(crate) struct Session {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

/// What is done with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Append to the transcript of a session
    #[command(
        after_help = "A line of --jsonl is {\"text\",\"speaker\"?,\"time\"?,\"order\"?,\"origin\"?}. What nobody, user or --user says is the \
                      person's, the roles assistant and system are trusted less, and any other name is a tool's that brings in what \
                      others wrote, unless the line says an origin. Nothing is trusted more than --trust.\n\n\
                      Examples:\n  treering session append 'green tea, please' --speaker user --session s1\n  \
                      treering session append --jsonl turns.jsonl --session s2 --parent s1"
    )]
    Append(SessionAppend),
    /// End a session: the prompt for a model, or what becomes of its reply
    #[command(
        after_help = "Without --reply, --command or --no-model it prints the prompt and writes nothing. Facts are taken only if the settings \
                      or --learn say so, and pass the gates; what a gate holds back is quarantined.\n\n\
                      Examples:\n  treering session end --session s1 > prompt.txt\n  \
                      treering session end --session s1 --learn --reply reply.json\n  \
                      treering session end --session s1 --learn --command llm -m small"
    )]
    End(SessionEnd),
    /// Show the summaries of a session in order of time, or what is to be summarised
    #[command(after_help = "Examples:\n  treering session summaries --session s1\n  \
                      treering session summaries --session s1 --when 2026-04-21T00:00:00Z\n  \
                      treering session summaries --session s1 --due --json")]
    Summaries(SessionSummaries),
    /// Write the summaries of days, weeks and months that are over
    #[command(
        after_help = "A line of --texts is {\"bucket\",\"text\"}, with a bucket as `session summaries --due` names it. What has no text there is \
                      summarised by its own sentences.\n\n\
                      Examples:\n  treering session summarise --session s1\n  \
                      treering session summarise --session s1 --texts summaries.jsonl"
    )]
    Summarise(SessionSummarise),
    /// List the sessions of the project
    #[command(after_help = "Examples:\n  treering session list\n  treering session list --all-scopes --json")]
    List(SessionList),
}

/// `session append`
#[derive(Args, Debug)]
pub(crate) struct SessionAppend {
    /// The text; - reads it from standard input
    #[arg(value_name = "TEXT", required_unless_present = "jsonl")]
    pub(crate) text: Option<String>,
    /// Who said it: user, assistant, tool, system, or a name
    #[arg(long, value_name = "WHO", conflicts_with = "jsonl")]
    pub(crate) speaker: Option<String>,
    /// The name under which the person speaks in this session, from now on
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// When it was said: a date, a time, or how long ago (3d)
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) time: Option<String>,
    /// The session that this one was started from
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// The scope of the session [default: its own, that of its parent, else the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Append a line each of this file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Lines of a commit
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) batch: u64,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `session end`
#[derive(Args, Debug)]
pub(crate) struct SessionEnd {
    /// What a model replied; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) reply: Option<PathBuf>,
    /// End it without a model: the episode is made of sentences of the session
    #[arg(long, conflicts_with_all = ["reply", "command"])]
    pub(crate) no_model: bool,
    /// Extract facts from the reply
    #[arg(long)]
    pub(crate) learn: bool,
    /// How long the command may take: 60s, 5m
    #[arg(long, value_name = "DURATION", value_parser = time::duration, default_value = "120s")]
    pub(crate) time_limit: Duration,
    /// A command that reads the prompt on its standard input and prints the reply; it is run without a shell, and takes the
    /// rest of the line
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true, conflicts_with = "reply")]
    pub(crate) command: Vec<String>,
    /// The scope of the session, if it is none of those at work here
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `session summaries`
#[derive(Args, Debug)]
pub(crate) struct SessionSummaries {
    /// Only summaries with these words
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub(crate) query: String,
    /// Only what lies around this time: before, then, after
    #[arg(long, value_name = "TIME")]
    pub(crate) when: Option<String>,
    /// What is to be summarised instead
    #[arg(long, conflicts_with_all = ["query", "when"])]
    pub(crate) due: bool,
    /// The scope of the session, if it is none of those at work here
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `session summarise`
#[derive(Args, Debug)]
pub(crate) struct SessionSummarise {
    /// Texts of summaries, a line each; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) texts: Option<PathBuf>,
    /// The scope of the session, if it is none of those at work here
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `session list`
#[derive(Args, Debug)]
pub(crate) struct SessionList {
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

impl Session {
    /// Its share of the options that may also stand before it.
    pub(super) fn options(&self) -> VerbOptions<'_> {
        match &self.verb {
            SessionVerb::Append(verb) => VerbOptions::Write(&verb.options),
            SessionVerb::End(verb) => VerbOptions::Write(&verb.options),
            SessionVerb::Summaries(verb) => VerbOptions::Read(&verb.options),
            SessionVerb::Summarise(verb) => VerbOptions::Write(&verb.options),
            SessionVerb::List(verb) => VerbOptions::Read(&verb.options),
        }
    }

    /// Whether it would read standard input.
    pub(super) fn reads_standard_input(&self) -> bool {
        let is_dash = |file: &Option<PathBuf>| file.as_deref() == Some(Path::new("-"));
        match &self.verb {
            SessionVerb::Append(verb) => verb.text.as_deref() == Some("-") || is_dash(&verb.jsonl),
            SessionVerb::End(verb) => is_dash(&verb.reply),
            SessionVerb::Summarise(verb) => is_dash(&verb.texts),
            SessionVerb::Summaries(_) | SessionVerb::List(_) => false,
        }
    }
}

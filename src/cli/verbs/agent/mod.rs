//! The verbs of an agent, and which of the shared options each takes.
//!
//! # Layer
//! L9, part of cli.

mod audit;
mod decay;
mod envelope;
mod forget;
mod guard;
mod import;
mod note;
mod promote;
mod quarantine;
mod recall;
mod remember;
mod scopes;
mod session;

use std::path::Path;

use clap::Subcommand;

use crate::cli::args::VerbOptions;
pub(crate) use audit::Audit;
pub(crate) use decay::Decay;
pub(crate) use envelope::Envelope;
pub(crate) use forget::{Expire, Forget, Forgotten, Unforget};
use guard::Guard;
pub(crate) use guard::{GuardRecall, GuardStage, GuardVerb, GuardWith};
pub(crate) use import::{FactsAbout, Import, ImportFormat};
pub(crate) use note::{Note, NoteDelete, NoteList, NoteRead, NoteSearch, NoteVerb, NoteWrite};
pub(crate) use promote::Promote;
pub(crate) use quarantine::Quarantine;
pub(crate) use recall::Recall;
pub(crate) use remember::Remember;
pub(crate) use scopes::ScopeOptions;
pub(crate) use session::{
    Session, SessionAppend, SessionEnd, SessionList, SessionSummaries, SessionSummarise, SessionVerb,
};

/// What an agent does with its memory.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Remember a text, or many from JSON Lines
    #[command(
        after_help = "The answer names items of the same scope and kind that say the same or contradict it. Secrets are stored as markers; \
                      what the scan holds back is kept under rejected/ for a person.\n\n\
                      Examples:\n  treering remember 'Ada drinks green tea' --tag tea --speaker Ada\n  \
                      git log -1 | treering remember - --kind note --ttl 30d\n  \
                      treering remember 'The office moved to Bergen' --supersedes facts/office --cite mail.txt:12\n  \
                      treering remember --jsonl memories.jsonl --scope project"
    )]
    Remember(Remember),
    /// Find what fits a question, best first; in any scope, at any past state
    #[command(
        after_help = "Searched are global, the project of this folder, and the session and actor that are named; --scope and \
                      --all-scopes choose others. What is shown counts as used, which keeps decay away.\n\n\
                      Examples:\n  treering recall who owns the parser\n  \
                      treering recall 'what did Ada say about tea?' --budget 500 --explain\n  \
                      treering recall tea --at snap:0 --json\n  \
                      treering recall --when 2026-03-01\n  \
                      treering recall --queries questions.jsonl --limit 20"
    )]
    Recall(Recall),
    /// Take items out of memory; `unforget` brings them back
    #[command(
        after_help = "What meets all conditions goes, in one commit; of ids and of scopes, one has to fit. A pinned item goes only by its id. \
                      History keeps what was forgotten: `forgotten` lists it, `gc` leaves it for 30 days, and only `erase` takes it for good.\n\n\
                      Examples:\n  treering forget facts/office -m 'they moved'\n  treering forget --tag draft --older-than 30d --dry-run\n  \
                      treering forget --in-session night-run"
    )]
    Forget(Forget),
    /// Bring back what was forgotten or shortened, byte for byte
    #[command(
        after_help = "Examples:\n  treering unforget facts/office\n  treering unforget --last --dry-run"
    )]
    Unforget(Unforget),
    /// List what was forgotten, newest first: when, by whom, and why
    #[command(
        after_help = "Examples:\n  treering forgotten\n  treering forgotten --all-scopes --limit 10 --json"
    )]
    Forgotten(Forgotten),
    /// Say from when on an item is no longer shown
    #[command(
        after_help = "Examples:\n  treering expire facts/office --at 2027-01-01\n  treering expire facts/office --in 30d\n  \
                      treering expire facts/office --never"
    )]
    Expire(Expire),
    /// Shorten what nobody used for long: to a summary, to keywords, out of memory
    #[command(
        after_help = "After 24 hours without use a text becomes a summary, after 7 days keywords, after 30 days it is forgotten: one level a pass. \
                      What is pinned stays. `unforget` brings back the full text.\n\n\
                      Examples:\n  treering decay --dry-run\n  treering decay --now 2027-01-01"
    )]
    Decay(Decay),
    /// Render what a prompt should know into one text
    #[command(
        after_help = "Rules, decisions, facts and summaries, each escaped and with its trust; the root it was made from stands at \
                      the end. With a QUERY the facts are those that answer it. Notes are for --compaction of their own session \
                      only; entries of transcripts are never shown. Never give it the role of the system.\n\n\
                      Examples:\n  treering envelope\n  treering envelope 'which database' --budget 1000 --json\n  \
                      treering envelope --compaction --session s1\n  treering envelope --scrub prompt.txt"
    )]
    Envelope(Envelope),
    /// Stage, check, commit or drop a change under a name
    #[command(
        after_help = "A change is staged from JSON Lines, checked by a policy, and committed whole with a snapshot before, or not \
                      at all. The policy is guard.toml beside the store's folder, or --policy FILE, or the standard one. Exit code 4: \
                      a check refuses it.\n\n\
                      Examples:\n  treering guard stage turn-7 --jsonl changes.jsonl\n  treering guard check turn-7 --json\n  \
                      treering guard commit turn-7 -m 'turn 7'\n  treering guard drop turn-7"
    )]
    Guard(Guard),
    /// Trust an item as a person does who looked at it
    #[command(
        after_help = "It becomes a new version that names the one that was looked at. At a terminal it is shown, and you are asked; \
                      elsewhere --yes is needed. A program must not do it for a person.\n\n\
                      Examples:\n  treering promote facts/office\n  \
                      treering promote facts/office --digest 5f0c... --yes -m 'I checked it'"
    )]
    Promote(Promote),
    /// List what was held back, and let it go or drop it
    #[command(
        after_help = "The same change is kept once. There is room for 200; then the oldest goes of who has most, and the reason of the \
                      newest names it. gc drops what is older than 7 days. What is released stays as little trusted as it \
                      was; promote raises it.\n\n\
                      Examples:\n  treering quarantine\n  treering quarantine --release 17 --yes\n  treering quarantine --discard 17"
    )]
    Quarantine(Quarantine),
    /// Tell who did what, when, why and to what: the chain of commits, newest first
    #[command(
        after_help = "Examples:\n  treering audit --limit 10\n  treering audit --session night-run --kind fact --json\n  \
                      treering audit --id facts/office --since 2d"
    )]
    Audit(Audit),
    /// Notes of sessions, which last: write, read, list, delete, search
    #[command(
        after_help = "Examples:\n  treering note write 'the build needs Rust 1.95' --session s1\n  treering note search build\n  \
                      treering note list --json"
    )]
    Note(Note),
    /// Transcripts of sessions, their summaries, and what is learned at the end
    #[command(
        after_help = "Examples:\n  treering session append 'Which Rust do we need?' --speaker user --session s1\n  \
                      treering session summaries --session s1\n  treering session end --session s1 --no-model"
    )]
    Session(Session),
    /// Take edited blocks back, or the memories of another system
    #[command(
        after_help = "What is imported is trusted as a document or import at most, and goes through the scan. Files that nobody edited \
                      change nothing.\n\n\
                      Examples:\n  treering import blocks/\n  treering import blocks/ --prune\n  \
                      treering import --format server-memory memory.jsonl\n  treering import --format odek user.md\n  \
                      treering import --format snap memory.snap"
    )]
    Import(Import),
}

impl AgentVerb {
    /// The name as typed.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Remember(_) => "remember",
            Self::Recall(_) => "recall",
            Self::Forget(_) => "forget",
            Self::Unforget(_) => "unforget",
            Self::Forgotten(_) => "forgotten",
            Self::Expire(_) => "expire",
            Self::Decay(_) => "decay",
            Self::Envelope(_) => "envelope",
            Self::Guard(_) => "guard",
            Self::Promote(_) => "promote",
            Self::Quarantine(_) => "quarantine",
            Self::Audit(_) => "audit",
            Self::Note(_) => "note",
            Self::Session(_) => "session",
            Self::Import(_) => "import",
        }
    }

    /// Its share of the options that may also stand before it.
    pub(crate) fn options(&self) -> VerbOptions<'_> {
        match self {
            Self::Remember(verb) => VerbOptions::Write(&verb.options),
            Self::Recall(verb) => VerbOptions::Read(&verb.options),
            Self::Forget(verb) => VerbOptions::Write(&verb.options),
            Self::Unforget(verb) => VerbOptions::Write(&verb.options),
            Self::Forgotten(verb) => VerbOptions::Read(&verb.options),
            Self::Expire(verb) => VerbOptions::Write(&verb.options),
            Self::Decay(verb) => VerbOptions::Write(&verb.options),
            Self::Envelope(verb) => VerbOptions::Read(&verb.options),
            Self::Guard(verb) => verb.verb.options(),
            Self::Promote(verb) => VerbOptions::Write(&verb.options),
            Self::Quarantine(verb) => VerbOptions::Write(&verb.options),
            Self::Audit(verb) => VerbOptions::Read(&verb.options),
            Self::Note(verb) => verb.options(),
            Self::Session(verb) => verb.options(),
            Self::Import(verb) => VerbOptions::Write(&verb.options),
        }
    }

    /// Whether it would read standard input.
    pub(super) fn reads_standard_input(&self) -> bool {
        match self {
            Self::Recall(verb) => verb.queries.as_deref() == Some("-"),
            Self::Remember(verb) => {
                verb.text.as_deref() == Some("-") || verb.jsonl.as_deref() == Some(Path::new("-"))
            }
            Self::Envelope(verb) => verb.scrub.as_deref() == Some(Path::new("-")),
            Self::Guard(verb) => verb.verb.reads_standard_input(),
            Self::Note(verb) => verb.reads_standard_input(),
            Self::Session(verb) => verb.reads_standard_input(),
            Self::Import(verb) => verb.reads_standard_input(),
            _ => false,
        }
    }
}

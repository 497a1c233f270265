//! The verbs, and which of the shared options each takes. Their own arguments are in the files below.
//!
//! # Layer
//! L9, part of cli.

#[cfg(feature = "agent")]
mod agent;
mod history;
mod objects;
mod program;
mod store;

use std::path::PathBuf;

use clap::Subcommand;

use super::args::VerbOptions;
#[cfg(feature = "agent")]
pub(crate) use agent::*;
pub(crate) use history::{
    CheckProof, Contains, Diff, Head, History, Log, Prove, Redo, Restore, Rollback, Snapshot, Snapshots, Undo,
};
pub(crate) use objects::{DocumentFormat, Export, ExportFormat, Get, Ingest, List, PictureOf, Put, Remove};
pub(crate) use program::{Completions, Debug, Man, Schema, Tour, TourWriter};
pub(crate) use store::{Doctor, Erase, Gc, HashName, Init, Salvage, Stats, Verify};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a store
    #[command(after_help = "Examples:\n  treering init\n  treering init --store /srv/agent --hash sha256")]
    Init(Init),
    /// Turn Org, Markdown and JSON Lines documents into objects
    #[command(
        after_help = "A folder gives every .org, .md and .jsonl file below it. Ingesting again updates what changed \
                      and removes what left the document; unchanged input makes no commit. All of it is one \
                      commit, and a snapshot of the state before goes into the ring of your lane (snap:0).\n\n\
                      Examples:\n  treering ingest notes/ README.md\n  treering ingest --scope work journal.org\n  \
                      treering ingest notes/ --prune notes/old.org"
    )]
    Ingest(Ingest),
    /// Store one object, or many from JSON Lines; replaces the whole object
    #[command(
        after_help = "Examples:\n  treering put tea --kind fact --content 'Ada drinks green tea'\n  \
                      treering put task/7 --kind task --attr state=open --attr 'tags:=[\"a\",\"b\"]'\n  \
                      git log -1 | treering put last-commit --kind note --content -\n  \
                      treering export | treering --store copy put --jsonl - --batch 1000"
    )]
    Put(Put),
    /// Show one object
    #[command(after_help = "Examples:\n  treering get tea\n  treering get tea --at snap:0 --json")]
    Get(Get),
    /// List the objects that match
    #[command(after_help = "Examples:\n  treering list --kind task --attr state=open\n  \
                      treering list --prefix notes/ --limit 20 --json\n  \
                      treering list --at 2026-11-21T09:00:00Z")]
    List(List),
    /// Remove an object from the state; history keeps it
    #[command(
        after_help = "Examples:\n  treering remove tea -m 'no longer true'\n  treering remove notes/old --recursive"
    )]
    Remove(Remove),
    /// Show the head: the root that names the whole state
    #[command(after_help = "Examples:\n  treering head\n  treering head --at @-3 --json")]
    Head(Head),
    /// Take a snapshot of the present state
    #[command(
        after_help = "Without a name it goes into the ring of your lane, which keeps the newest 20 (snap:0 is the \
                      newest). A named one stays until it is deleted.\n\n\
                      Examples:\n  treering snapshot -m 'before the refactoring'\n  treering snapshot release-1\n  \
                      treering snapshot --delete release-1"
    )]
    Snapshot(Snapshot),
    /// List the snapshots, newest first
    #[command(after_help = "Examples:\n  treering snapshots\n  treering snapshots --limit 5 --json")]
    Snapshots(Snapshots),
    /// Bring back an earlier state, as a new commit that can be undone
    #[command(
        after_help = "Examples:\n  treering rollback snap:0 --dry-run\n  treering rollback snap:0\n  \
                      treering rollback @-5 -m 'the plan was wrong'"
    )]
    Rollback(Rollback),
    /// Bring back single objects as an earlier state had them
    #[command(
        after_help = "One commit for all of them: what else was written since stays. An object that was not there at REV is removed.\n\n\
                      Examples:\n  treering restore seq:3 facts/office\n  treering restore snap:0 notes/plan --recursive --dry-run\n  \
                      treering restore @-1 facts/office facts/hours -m 'the page was wrong'"
    )]
    Restore(Restore),
    /// Reverse the last change of your lane
    #[command(after_help = "Examples:\n  treering undo\n  treering undo --session night-run")]
    Undo(Undo),
    /// Bring back what undo reversed
    #[command(after_help = "Examples:\n  treering redo\n  treering redo --session night-run")]
    Redo(Redo),
    /// List the commits, newest first
    #[command(
        after_help = "--actor A and --session S show only what that actor did, or was done in that session.\n\n\
                      Examples:\n  treering log --limit 10\n  treering log --session night-run --since 2h\n  \
                      treering log --at snap:0 --op rollback --json\n  treering log --refs"
    )]
    Log(Log),
    /// List the changes of one object, newest first
    #[command(after_help = "Examples:\n  treering history tea\n  treering history tea --limit 3 --json")]
    History(History),
    /// Show what changed between two states
    #[command(
        after_help = "Examples:\n  treering diff snap:0\n  treering diff @-5 @-2 --json\n  \
                      treering diff release-1 --exit-code"
    )]
    Diff(Diff),
    /// Prove that an object is, or is not, in the state of a root
    #[command(
        after_help = "Examples:\n  treering prove tea --json > tea.proof\n  treering prove tea --at release-1 --json"
    )]
    Prove(Prove),
    /// Check a proof; needs no store
    #[command(after_help = "Exit code 0: the proof holds. 5: it does not.\n\n\
                      Examples:\n  treering check-proof tea.proof --root 5f0c...\n  \
                      treering prove tea --json | treering check-proof -")]
    CheckProof(CheckProof),
    /// Say whether a commit or root is kept here
    #[command(
        after_help = "Exit code 0: kept or thinned. 1: absent.\n\nExamples:\n  treering contains 5f0c81d2\n  \
                      treering contains 5f0c81d2 --json"
    )]
    Contains(Contains),
    /// Check every byte, digest and commit of the store
    #[command(
        after_help = "Works on a store that does not open, too, and writes nothing. Each place is corrupt, missing, cut, older or \
                      foreign; what is harmless is listed and costs nothing. Exit code 5: damage.\n\n\
                      Examples:\n  treering verify\n  treering verify --quick --json"
    )]
    Verify(Verify),
    /// Name each problem of the store, with the command that mends it
    #[command(
        after_help = "Damage needs the command that is named, a warning something to be done, a notice nothing. \
                      Exit code 5: damage.\n\nExamples:\n  treering doctor\n  treering doctor --json"
    )]
    Doctor(Doctor),
    /// Write a new store with everything that still verifies in a damaged one
    #[command(
        after_help = "FROM is only read, and TO must not be there; --store means nothing here. An object whose newest version is \
                      lost has that of the newest kept commit (older), or is gone (lost). Exit code 5: something is lost.\n\nExamples:\n  treering salvage .treering saved"
    )]
    Salvage(Salvage),
    /// Write out every object, one a line, as `put --jsonl` reads it, or draw a picture
    #[command(
        after_help = "The page of --format html needs no network and no other file; open it in a browser.\n\n\
                      Examples:\n  treering export > memory.jsonl\n  treering export memory.jsonl --at release-1\n  \
                      treering export --format html memory.html\n  treering export --format svg --picture trie --from snap:0 turn.svg\n  \
                      treering export --format dot --under notes/plan | dot -Tpng > plan.png"
    )]
    Export(Export),
    /// Thin history by a policy, and give back the space of what nobody needs
    #[command(
        after_help = "Snapshots, drafts, erasures, and what a rollback, undo or redo went back to keep their commits, whatever \
                      the policy. A thinned commit's digest stays in the chain; its state is gone for good, so a policy that \
                      keeps less than the standard one, or another moment than now, asks for --yes. It holds for this run: a \
                      writer that closes the store may collect by itself, with the standard policy, but nothing younger than 7 days. Ages are judged by \
                      the newest commit where the clock is more than a day ahead of it. Others may read and write meanwhile. \
                      A duration is 12h, 30d, 8w, 2y, 0 or forever.\n\n\
                      Examples:\n  treering gc --dry-run\n  treering gc\n  treering gc --keep-all 2d --hourly 0 --weekly 2y --yes"
    )]
    Gc(Gc),
    /// Take objects, versions, contents or reasons out of every file, for good
    #[command(
        after_help = "An ID leaves the state, and every version of it goes, wherever history, drafts or snapshots keep it. A \
                      DIGEST (8 digits or more) is one earlier version, a content, a reason or a source. Roots and digests of \
                      commits stay, and the history still verifies; who asks for what is gone is told who erased it, and why. \
                      Backups, and blocks that the file system or the device still holds, are beyond its reach.\n\n\
                      Examples:\n  treering erase facts/password --dry-run\n  treering erase facts/password -m 'a secret' --yes\n  \
                      treering erase 5f0c81d2 --yes"
    )]
    Erase(Erase),
    /// Count and measure the store
    #[command(after_help = "Examples:\n  treering stats\n  treering stats --space --json")]
    Stats(Stats),
    /// Ask the store anything, in a shell that writes nothing
    #[command(
        after_help = "At a terminal it reads commands with completion and history; otherwise it runs the commands of -f and \
                      -c, or those on standard input, a line each, and stops at the first that fails. Opens damaged \
                      stores too, and says what of them is served.\n\n\
                      Examples:\n  treering debug\n  treering debug -c 'changes' -c 'would rollback snap:0'\n  \
                      treering debug --mode markdown -f questions.txt\n  echo 'where tea' | treering debug --json"
    )]
    Debug(Debug),
    /// See all of it on real input: snapshot, diff, rollback, verify
    #[command(after_help = "Examples:\n  treering tour\n  treering tour --keep ./my-first-store")]
    Tour(Tour),
    /// Print the completions of a shell
    #[command(
        after_help = "Examples:\n  treering completions bash > ~/.local/share/bash-completion/completions/treering\n  \
                      treering completions zsh > ~/.zfunc/_treering\n  \
                      treering completions fish > ~/.config/fish/completions/treering.fish"
    )]
    Completions(Completions),
    /// Print the man page, or write that of each verb into a folder
    #[command(after_help = "Examples:\n  treering man | man -l -\n  treering man ~/.local/share/man/man1")]
    Man(Man),
    /// Print the JSON Schema of what a verb answers with --json
    #[command(
        after_help = "Without a verb it is one document with the schema of each, and of errors and notes on standard error.\n\n\
                      Examples:\n  treering schema log\n  treering schema --json > treering.schemas.json"
    )]
    Schema(Schema),
    #[cfg(feature = "agent")]
    #[command(flatten)]
    Agent(Box<AgentVerb>),
    /// Write objects until killed, saying after each commit what is acknowledged (for the tour)
    #[command(hide = true)]
    TourWriter(TourWriter),
}

impl Verb {
    /// The name as typed.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Init(_) => "init",
            Self::Ingest(_) => "ingest",
            Self::Put(_) => "put",
            Self::Get(_) => "get",
            Self::List(_) => "list",
            Self::Remove(_) => "remove",
            Self::Head(_) => "head",
            Self::Snapshot(_) => "snapshot",
            Self::Snapshots(_) => "snapshots",
            Self::Rollback(_) => "rollback",
            Self::Restore(_) => "restore",
            Self::Undo(_) => "undo",
            Self::Redo(_) => "redo",
            Self::Log(_) => "log",
            Self::History(_) => "history",
            Self::Diff(_) => "diff",
            Self::Prove(_) => "prove",
            Self::CheckProof(_) => "check-proof",
            Self::Contains(_) => "contains",
            Self::Verify(_) => "verify",
            Self::Doctor(_) => "doctor",
            Self::Salvage(_) => "salvage",
            Self::Export(_) => "export",
            Self::Gc(_) => "gc",
            Self::Erase(_) => "erase",
            Self::Stats(_) => "stats",
            Self::Debug(_) => "debug",
            Self::Tour(_) => "tour",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            Self::Schema(_) => "schema",
            #[cfg(feature = "agent")]
            Self::Agent(verb) => verb.name(),
            Self::TourWriter(_) => "tour-writer",
        }
    }

    /// Its share of the options that may also stand before it.
    pub(crate) fn options(&self) -> VerbOptions<'_> {
        match self {
            Self::Init(verb) => VerbOptions::Write(&verb.options),
            Self::Ingest(verb) => VerbOptions::Write(&verb.options),
            Self::Put(verb) => VerbOptions::Write(&verb.options),
            Self::Get(verb) => VerbOptions::Read(&verb.options),
            Self::List(verb) => VerbOptions::Read(&verb.options),
            Self::Remove(verb) => VerbOptions::Write(&verb.options),
            Self::Head(verb) => VerbOptions::Read(&verb.options),
            Self::Snapshot(verb) => VerbOptions::Write(&verb.options),
            Self::Snapshots(verb) => VerbOptions::Read(&verb.options),
            Self::Rollback(verb) => VerbOptions::Write(&verb.options),
            Self::Restore(verb) => VerbOptions::Write(&verb.options),
            Self::Undo(verb) => VerbOptions::Write(&verb.options),
            Self::Redo(verb) => VerbOptions::Write(&verb.options),
            Self::Log(verb) => VerbOptions::Read(&verb.options),
            Self::History(verb) => VerbOptions::Read(&verb.options),
            Self::Diff(verb) => VerbOptions::Read(&verb.options),
            Self::Prove(verb) => VerbOptions::Read(&verb.options),
            Self::CheckProof(verb) => VerbOptions::Plain(&verb.options),
            Self::Contains(verb) => VerbOptions::Read(&verb.options),
            Self::Verify(verb) => VerbOptions::Read(&verb.options),
            Self::Doctor(verb) => VerbOptions::Plain(&verb.options),
            Self::Salvage(verb) => VerbOptions::Plain(&verb.options),
            Self::Export(verb) => VerbOptions::Read(&verb.options),
            Self::Gc(verb) => VerbOptions::Upkeep(&verb.options),
            Self::Erase(verb) => VerbOptions::Write(&verb.options),
            Self::Stats(verb) => VerbOptions::Read(&verb.options),
            Self::Debug(verb) => VerbOptions::Shell(&verb.options),
            Self::Tour(verb) => VerbOptions::Plain(&verb.options),
            Self::Completions(verb) => VerbOptions::Plain(&verb.options),
            Self::Man(verb) => VerbOptions::Plain(&verb.options),
            Self::Schema(verb) => VerbOptions::Plain(&verb.options),
            #[cfg(feature = "agent")]
            Self::Agent(verb) => verb.options(),
            Self::TourWriter(verb) => VerbOptions::Write(&verb.options),
        }
    }

    /// Whether it would read standard input.
    pub(crate) fn reads_standard_input(&self) -> bool {
        let is_dash = |file: &PathBuf| file.as_os_str() == "-";
        match self {
            Self::Put(verb) => {
                verb.content.as_deref() == Some("-") || verb.jsonl.as_ref().is_some_and(is_dash)
            }
            Self::CheckProof(verb) => is_dash(&verb.file),
            #[cfg(feature = "agent")]
            Self::Agent(verb) => verb.reads_standard_input(),
            _ => false,
        }
    }
}

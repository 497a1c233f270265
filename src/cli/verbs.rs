//! The verbs and their own arguments.
//!
//! # Layer
//! L9, part of cli.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::args::{PlainOptions, ReadOptions, ShellOptions, VerbOptions, WriteOptions};
use super::output::Mode;
use super::time;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a store
    #[command(after_help = "Examples:\n  treering init\n  treering init --store /srv/agent --hash sha256")]
    Init(Init),
    /// Turn Org, Markdown and JSON Lines documents into objects
    #[command(
        after_help = "A folder gives every .org, .md and .jsonl file below it. Ingesting again updates what changed\n\
                      and removes what left the document; unchanged input makes no commit. All of it is one\n\
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
        after_help = "Without a name it goes into the ring of your lane, which keeps the newest 20 (snap:0 is the\n\
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
        after_help = "Works on a store that does not open, too, and writes nothing. Exit code 5: damage.\n\n\
                      Examples:\n  treering verify\n  treering verify --quick --json"
    )]
    Verify(Verify),
    /// Name each problem of the store, with the command that mends it
    #[command(after_help = "Exit code 5: damage.\n\nExamples:\n  treering doctor\n  treering doctor --json")]
    Doctor(Doctor),
    /// Write a new store with everything that still verifies in a damaged one
    #[command(
        after_help = "Exit code 5: something is lost.\n\nExamples:\n  treering salvage .treering saved"
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
        after_help = "Snapshots, drafts and what a rollback went back to keep their commits, whatever the policy. A thinned\n\
                      commit's digest stays in the chain; its state cannot be read any more. Others may read and write\n\
                      meanwhile. A duration is 12h, 30d, 8w, 2y, 0 or forever.\n\n\
                      Examples:\n  treering gc --dry-run\n  treering gc\n  treering gc --keep-all 2d --hourly 0 --weekly 2y"
    )]
    Gc(Gc),
    /// Take objects, versions, contents or reasons out of every file, for good
    #[command(
        after_help = "An ID leaves the state, and every version of it goes, wherever history, drafts or snapshots keep it. A\n\
                      DIGEST (8 digits or more) is one earlier version, a content, a reason or a source. Roots and digests of\n\
                      commits stay, and the history still verifies; who asks for what is gone is told who erased it, and why.\n\
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
        after_help = "At a terminal it reads commands with completion and history; otherwise it runs the commands of -f and\n\
                      -c, or those on standard input, a line each, and stops at the first that fails. Opens damaged\n\
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
    /// Write objects until killed, saying after each commit what is acknowledged (for the tour)
    #[command(hide = true)]
    TourWriter(TourWriter),
}

/// The hash of a new store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HashName {
    #[default]
    Blake3,
    Sha256,
}

/// The form of a document to read; `auto` goes by the ending of the file's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    #[default]
    Auto,
    Org,
    Markdown,
    Jsonl,
}

/// The form to export in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    #[default]
    Jsonl,
    Org,
    Markdown,
    /// A picture, for Graphviz
    Dot,
    /// A picture
    Svg,
    /// A page with all pictures, to look around in
    Html,
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureOf {
    /// The tree of objects
    Tree,
    /// Commits, snapshots and ways back
    History,
    /// The trie nodes that two states share and do not share
    Trie,
}

/// `init`
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// The hash that names everything in the store
    #[arg(long, value_name = "HASH", default_value = "blake3")]
    pub(crate) hash: HashName,
    #[command(flatten)]
    options: WriteOptions,
}

/// `ingest`
#[derive(Args, Debug)]
pub(crate) struct Ingest {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The form of the documents
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: DocumentFormat,
    /// Leave out, and name, files that cannot be read; without it one of them refuses all
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// The scope of the objects
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Remove this document, or those below this folder, if the files are gone; may be given again
    #[arg(long, value_name = "PATH")]
    pub(crate) prune: Vec<PathBuf>,
    #[command(flatten)]
    options: WriteOptions,
}

/// `put`
#[derive(Args, Debug)]
pub(crate) struct Put {
    /// The name of the object, for ever
    #[arg(required_unless_present = "jsonl", value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What kind of object it is
    #[arg(long, required_unless_present = "jsonl", value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// An attribute: k=text, or k:=JSON (null: absent); may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    pub(crate) attributes: Vec<String>,
    /// The scope [default: global]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// The object that this one belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<String>,
    /// The order key among the children of its parent
    #[arg(long, value_name = "KEY")]
    pub(crate) position: Option<String>,
    /// The text; - reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) content: Option<String>,
    /// Read objects from FILE, one a line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "kind", "attributes", "scope", "parent", "position", "content"])]
    pub(crate) jsonl: Option<PathBuf>,
    /// Commit after every N lines [default: one commit for all]
    #[arg(long, value_name = "N", requires = "jsonl", conflicts_with = "id", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch: Option<u64>,
    #[command(flatten)]
    options: WriteOptions,
}

/// `get`
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    options: ReadOptions,
}

/// `list`
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only this scope
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Only ids that start with this
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Only the children of this object
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<String>,
    /// Only where the attribute has this value: k=text, or k:=JSON; may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    pub(crate) attributes: Vec<String>,
    /// Only what was written in or after this commit, or at or after this time
    #[arg(long, value_name = "REV")]
    pub(crate) since: Option<String>,
    /// Only what was last written in or before this commit, or at or before this time
    #[arg(long, value_name = "REV")]
    pub(crate) until: Option<String>,
    /// Also what has expired
    #[arg(long)]
    pub(crate) include_expired: bool,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    options: ReadOptions,
}

/// `remove`
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Also everything below it
    #[arg(long)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    options: WriteOptions,
}

/// `head`
#[derive(Args, Debug)]
pub(crate) struct Head {
    #[command(flatten)]
    options: ReadOptions,
}

/// `snapshot`
#[derive(Args, Debug)]
pub(crate) struct Snapshot {
    /// A name that stays; without it, the ring of your lane
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Delete the snapshot NAME; the state it names stays in the history
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    pub(crate) delete: Option<String>,
    #[command(flatten)]
    options: WriteOptions,
}

/// `snapshots`
#[derive(Args, Debug)]
pub(crate) struct Snapshots {
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    options: ReadOptions,
}

/// `rollback`
#[derive(Args, Debug)]
pub(crate) struct Rollback {
    /// The state to bring back
    #[arg(value_name = "REV")]
    pub(crate) revision: String,
    /// Also over commits of other lanes
    #[arg(long)]
    pub(crate) all: bool,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    options: WriteOptions,
}

/// `restore`
#[derive(Args, Debug)]
pub(crate) struct Restore {
    /// The state to take them from
    #[arg(value_name = "REV")]
    pub(crate) revision: String,
    /// The objects
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Everything below them too
    #[arg(long)]
    pub(crate) recursive: bool,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    options: WriteOptions,
}

/// `undo`
#[derive(Args, Debug)]
pub(crate) struct Undo {
    #[command(flatten)]
    options: WriteOptions,
}

/// `redo`
#[derive(Args, Debug)]
pub(crate) struct Redo {
    #[command(flatten)]
    options: WriteOptions,
}

/// `log`
#[derive(Args, Debug)]
pub(crate) struct Log {
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// List the references instead: snapshots, drafts, rejected
    #[arg(long, conflicts_with = "op")]
    pub(crate) refs: bool,
    /// Only this operation: put, ingest, remove, rollback, undo, ...
    #[arg(long, value_name = "OP")]
    pub(crate) op: Option<String>,
    /// Only from this time on: an RFC 3339 time, a date, or how long ago (90s, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    #[command(flatten)]
    options: ReadOptions,
}

/// `history`
#[derive(Args, Debug)]
pub(crate) struct History {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    options: ReadOptions,
}

/// `diff`
#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// From this state
    #[arg(value_name = "REV")]
    pub(crate) from: String,
    /// To this one [default: @]
    #[arg(value_name = "REV2")]
    pub(crate) to: Option<String>,
    /// Exit with 1 where they differ
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    options: ReadOptions,
}

/// `prove`
#[derive(Args, Debug)]
pub(crate) struct Prove {
    /// The object, present or not
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    options: ReadOptions,
}

/// `check-proof`
#[derive(Args, Debug)]
pub(crate) struct CheckProof {
    /// The proof document; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The root that it must be a proof against, all 64 digits
    #[arg(long, value_name = "ROOT")]
    pub(crate) root: Option<String>,
    #[command(flatten)]
    options: PlainOptions,
}

/// `contains`
#[derive(Args, Debug)]
pub(crate) struct Contains {
    /// A commit's or root's digest, or 8 or more digits of it
    #[arg(value_name = "DIGEST")]
    pub(crate) digest: String,
    #[command(flatten)]
    options: ReadOptions,
}

/// `verify`
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Check frames and seals only, no digest of an object
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    options: ReadOptions,
}

/// `doctor`
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    #[command(flatten)]
    options: PlainOptions,
}

/// `salvage`
#[derive(Args, Debug)]
pub(crate) struct Salvage {
    /// The folder of the damaged store
    pub(crate) from: PathBuf,
    /// The folder of the new store
    pub(crate) to: PathBuf,
    #[command(flatten)]
    options: PlainOptions,
}

/// `export`
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// The file to write, or for Org and Markdown a folder [default: standard output]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// The form to write
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Write over files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// What a picture shows; a page shows all three [default: tree]
    #[arg(long, value_name = "WHAT")]
    pub(crate) picture: Option<PictureOf>,
    /// The older of the two states whose trie nodes are drawn [default: the newest snapshot before]
    #[arg(long, value_name = "REV")]
    pub(crate) from: Option<String>,
    /// Draw only this object and what is below it
    #[arg(long, value_name = "ID")]
    pub(crate) under: Option<String>,
    /// The most rows of a picture [default: 2000]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    #[command(flatten)]
    options: ReadOptions,
}

/// `gc`
#[derive(Args, Debug)]
pub(crate) struct Gc {
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep every commit younger than this [default: 7d]
    #[arg(long, value_name = "DURATION", value_parser = time::span)]
    pub(crate) keep_all: Option<Duration>,
    /// But no more than the N newest because of --keep-all [default: 5000]
    #[arg(long, value_name = "N")]
    pub(crate) newest: Option<u64>,
    /// Keep the last commit of each hour younger than this [default: 30d]
    #[arg(long, value_name = "DURATION", value_parser = time::span)]
    pub(crate) hourly: Option<Duration>,
    /// Keep the last commit of each day younger than this [default: 365d]
    #[arg(long, value_name = "DURATION", value_parser = time::span)]
    pub(crate) daily: Option<Duration>,
    /// Keep the last commit of each week younger than this [default: forever]
    #[arg(long, value_name = "DURATION", value_parser = time::span)]
    pub(crate) weekly: Option<Duration>,
    /// The moment that ages are judged at: an RFC 3339 time [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    #[command(flatten)]
    options: WriteOptions,
}

/// `erase`
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Erase {
    /// Objects, and digests of versions, contents, reasons or sources
    #[arg(value_name = "ID|DIGEST", required = true)]
    pub(crate) targets: Vec<String>,
    /// Also contents that other objects share, and earlier versions that name an erased parent
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Also every version that was derived from an erased one
    #[arg(long)]
    pub(crate) derived: bool,
    /// Say what would go, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do it: nothing brings it back
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    options: WriteOptions,
}

/// `stats`
#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// Also what takes the space of the log, and what gc would free: reads all of it
    #[arg(long)]
    pub(crate) space: bool,
    #[command(flatten)]
    options: ReadOptions,
}

/// `debug`
#[derive(Args, Debug)]
pub(crate) struct Debug {
    /// Run this command and leave; may be repeated
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,
    /// Run the commands in FILE (- is standard input), a line each, and leave; may be repeated, and comes before -c
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Allow snapshot, rollback, undo, redo, put, remove, gc and erase
    #[arg(long)]
    pub(crate) write: bool,
    /// How answers are written
    #[arg(long, value_name = "MODE", conflicts_with = "json")]
    pub(crate) mode: Option<Mode>,
    /// Go on after a command that failed; the exit code is still that of the first failure
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    options: ShellOptions,
}

/// `tour`
#[derive(Args, Debug)]
pub(crate) struct Tour {
    /// Keep the store of the tour in DIR, which must be empty or absent
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    options: PlainOptions,
}

/// `completions`
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    options: PlainOptions,
}

/// `man`
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder to write treering.1, treering-put.1 and so on into
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    options: PlainOptions,
}

/// `schema`
#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The verb, or `error` or `note`
    #[arg(value_name = "VERB")]
    pub(crate) verb: Option<String>,
    #[command(flatten)]
    options: PlainOptions,
}

/// The hidden verb that the tour kills.
#[derive(Args, Debug)]
pub(crate) struct TourWriter {
    #[command(flatten)]
    options: WriteOptions,
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
            Self::Gc(verb) => VerbOptions::Write(&verb.options),
            Self::Erase(verb) => VerbOptions::Write(&verb.options),
            Self::Stats(verb) => VerbOptions::Read(&verb.options),
            Self::Debug(verb) => VerbOptions::Shell(&verb.options),
            Self::Tour(verb) => VerbOptions::Plain(&verb.options),
            Self::Completions(verb) => VerbOptions::Plain(&verb.options),
            Self::Man(verb) => VerbOptions::Plain(&verb.options),
            Self::Schema(verb) => VerbOptions::Plain(&verb.options),
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
            _ => false,
        }
    }
}

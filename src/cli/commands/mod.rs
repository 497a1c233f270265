//! The verbs, one file for each.
//!
//! The file of a verb has everything about it: a struct with its arguments, whose comments are its help; [`Verb`] for that struct,
//! which names the forms of its answer and runs it; and the output for people. To add a verb, write its file and
//! add one line to [`GROUPS`]: the help, the overview, completions, man pages and `schema` follow from there.
//!
//! ```text
//! /// Show the present root                                  <- a line for the overview and `-h`
//! ///
//! /// # Examples                                             <- behind the options, as is a section `# Notes`
//! #[derive(Args, Debug)]
//! #[command(args = args::reads(), verbatim_doc_comment)]     <- the shared options that it takes
//! pub(crate) struct Head {}
//!
//! impl Verb for Head {
//!     const NAME: &'static str = "head";
//!     const ANSWERS: &'static [Form] = &[form::<answers::Head>("")];
//!
//!     fn run(self, context: &mut Context) -> Done {
//!         let memory = context.open_to_read()?;          <- the run closes it
//!         let view = context.view(&memory)?;
//!         context.answer(&answers::Head::of(&memory, &view), show_head)
//!     }
//! }
//!
//! fn show_head(answer: &answers::Head, context: &mut Context) -> Result<(), Failure> {   <- what people read
//!     ...                                                                                <- JSON is the struct itself
//! }
//! ```
//!
//! A verb with many answers passes an iterator of them to [`Context::rows`], with a function that returns the columns of
//! each. The types of answers are in `crate::answers`, where servers also find them. A verb never checks whether the
//! output is JSON.
//!
//! # Layer
//! Layer 10, part of cli.

mod absent;
#[cfg(feature = "agent")]
mod agent;
mod attributes;
mod check_proof;
mod completions;
mod contains;
mod diagrams;
mod diff;
mod doctor;
mod erase;
mod export;
mod find;
mod findings;
#[cfg(feature = "agent")]
mod flags;
mod follow;
mod gc;
mod get;
mod head;
mod history;
mod ingest;
mod init;
mod inspect;
mod lanes;
mod lineage;
mod list;
mod log;
mod man;
mod prelude;
mod progress;
mod prove;
mod put;
mod redo;
mod remove;
mod restore;
mod reversal;
mod rollback;
mod salvage;
mod schema;
mod show;
mod snapshot;
mod snapshots;
mod stats;
mod tally;
mod tree;
mod undo;
mod verify;

use inspect::Inspect;

use super::context::Context;
use super::debug;
use super::errors::Failure;
use super::output::Meaning;
use super::tour;
use super::verb::{Groups, entry};
use crate::engine::CommitInfo;
use crate::store::ChangeCounts;

/// The verbs in groups by purpose.
pub(super) const GROUPS: Groups = &[
    (
        "Write",
        &[
            entry::<init::Init>(),
            entry::<ingest::Ingest>(),
            entry::<put::Put>(),
            entry::<remove::Remove>(),
        ],
    ),
    (
        "Read",
        &[
            entry::<get::Get>(),
            entry::<list::List>(),
            entry::<tree::Tree>(),
            entry::<find::Find>(),
            entry::<history::History>(),
            entry::<lineage::Lineage>(),
            entry::<export::Export>(),
        ],
    ),
    (
        "Time",
        &[
            entry::<snapshot::Snapshot>(),
            entry::<snapshots::Snapshots>(),
            entry::<rollback::Rollback>(),
            entry::<restore::Restore>(),
            entry::<log::Log>(),
            entry::<show::Show>(),
            entry::<lanes::Lanes>(),
            entry::<undo::Undo>(),
            entry::<redo::Redo>(),
            entry::<diff::Diff>(),
        ],
    ),
    (
        "Trust",
        &[
            entry::<verify::Verify>(),
            entry::<doctor::Doctor>(),
            entry::<salvage::Salvage>(),
            entry::<head::Head>(),
            entry::<prove::Prove>(),
            entry::<contains::Contains>(),
            entry::<check_proof::CheckProof>(),
            entry::<stats::Stats>(),
        ],
    ),
    #[cfg(feature = "agent")]
    ("Agent", agent::VERBS),
    ("Keep", &[entry::<gc::Gc>(), entry::<erase::Erase>()]),
    (
        "Learn",
        &[
            entry::<debug::Debug>(),
            entry::<tour::Tour>(),
            entry::<schema::Schema>(),
            entry::<man::Man>(),
            entry::<completions::Completions>(),
        ],
    ),
    ("Hidden", &[entry::<Inspect>(), entry::<tour::CrashTest>()]),
];

impl Context {
    /// Prints a note with the command that reverses the last change.
    fn note_way_back(&mut self, what: &str) {
        let command = self.lane_options().way_back("undo");
        self.output.note("undo", format!("{what}: {command}"));
    }

    /// Shows the change, the new head, and the command that reverses a new commit.
    fn show_commit(&mut self, what: &str, commit: &CommitInfo, is_new: bool) -> Result<(), Failure> {
        let head = self.head_line(commit);
        self.output.line(format_args!("{what}; {head}"))?;
        if is_new {
            self.note_way_back("reverse it with");
        }
        Ok(())
    }

    /// Describes the head in one line.
    fn head_line(&self, head: &CommitInfo) -> String {
        self.state_line(head.commit.seq, head.commit.root)
    }

    /// Formats the counts, for example `3 added, 1 changed, 0 removed`.
    fn counts_line(&self, counts: ChangeCounts) -> String {
        let output = &self.output;
        format!(
            "{}, {}, {}",
            output.paint(Meaning::Good, format_args!("{} added", counts.added)),
            output.paint(Meaning::Changed, format_args!("{} changed", counts.changed)),
            output.paint(Meaning::Bad, format_args!("{} removed", counts.removed)),
        )
    }
}

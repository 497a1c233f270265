//! The verbs, one file for each.
//!
//! The file of a verb contains three parts. A struct declares the arguments, and the comments of the struct
//! are the help. The struct's [`Verb`](super::verb::Verb) implementation lists the forms of the answer and runs the
//! verb. The last part prints the output for people. To add a verb, write its file and add one line to [`GROUPS`]. The
//! help, the overview, completions, man pages and `schema` use [`GROUPS`].
//!
//! ```text
//! /// Show the present root                                  <- the summary in the overview and in `-h`
//! ///
//! /// # Examples                                             <- printed after the options, like a section `# Notes`
//! #[derive(Args, Debug)]
//! #[command(args = args::reads(), verbatim_doc_comment)]     <- the shared options that the verb accepts
//! pub(crate) struct Head {}
//!
//! impl Verb for Head {
//!     const ANSWERS: &'static [Form] = &[form::<answers::Head>("")];
//!
//!     fn run(self, context: &mut Context) -> Done {
//!         let memory = context.open_to_read()?;          <- `Parsed::run` closes the memory
//!         let view = context.view(&memory)?;
//!         let answer = answers::Head::of(&memory, &view);
//!         context.answer(&answer, |answer, context| {    <- the struct is the JSON answer
//!             ...                                        <- the output for people
//!         })
//!     }
//! }
//! ```
//!
//! [`Context::say`] prints an answer that is one line for people. A verb with many answers passes an iterator of
//! answers to [`Context::table`], with the fields to print as columns for people, or to [`Context::rows`], with a
//! function that returns the columns. `crate::answers` contains the types of answers, because servers also use them. A
//! verb never checks whether the output is JSON.
//!
//! # Layer
//! Layer 10, part of cli.

mod absent;
mod agent;
mod attributes;
#[cfg(feature = "remote")]
mod backup;
mod bisect;
mod blame;
mod by_hand;
mod cells;
mod check_proof;
mod completions;
mod contains;
mod diagrams;
mod diff;
mod doctor;
#[cfg(feature = "mcp")]
mod doctor_clients;
mod document_review;
mod erase;
mod export;
mod find;
mod findings;
mod follow;
mod fork;
mod gc;
mod get;
mod gists;
mod head;
mod history;
mod hook;
mod ingest;
mod ingest_notes;
mod ingest_seen;
mod init;
mod inspect;
#[cfg(feature = "mcp")]
mod install;
mod lanes;
mod left_out;
mod lineage;
mod list;
mod log;
mod log_graph;
mod man;
mod marks;
#[cfg(feature = "mcp")]
mod mcp;
mod merge;
#[cfg(feature = "semantic")]
mod model;
pub(super) mod prelude;
mod progress;
mod prove;
mod put;
#[cfg(feature = "remote")]
mod remote;
mod remove;
mod restore;
mod revert;
mod rollback;
mod salvage;
mod schema;
#[cfg(feature = "mcp")]
mod serve;
mod show;
#[cfg(feature = "signed")]
mod signed;
mod snapshot;
mod stats;
#[cfg(feature = "remote")]
mod sync;
mod tainting;
mod tally;
#[cfg(feature = "http")]
mod token;
mod tree;
mod trust_store;
mod undo;
mod verify;
mod written_by;

use std::fmt::Display;

use serde::Serialize;

use super::context::Context;
use super::debug;
use super::errors::{DONE, Done};
use super::output::Meaning;
use super::tour;
use super::verb::{Groups, entry};
use treering::{ChangeCounts, CommitInfo};

/// The verbs in groups by purpose.
pub(super) const GROUPS: Groups = &[
    (
        "Write",
        &[
            entry::<init::Init>("init"),
            entry::<ingest::Ingest>("ingest"),
            entry::<put::Put>("put"),
            entry::<remove::Remove>("remove"),
        ],
    ),
    (
        "Read",
        &[
            entry::<get::Get>("get"),
            entry::<list::List>("list"),
            entry::<tree::Tree>("tree"),
            entry::<find::Find>("find"),
            entry::<history::History>("history"),
            entry::<lineage::Lineage>("lineage"),
            entry::<export::Export>("export"),
            entry::<stats::Stats>("stats"),
        ],
    ),
    (
        "Time",
        &[
            entry::<snapshot::Snapshot>("snapshot"),
            entry::<snapshot::Snapshots>("snapshots"),
            entry::<rollback::Rollback>("rollback"),
            entry::<restore::Restore>("restore"),
            entry::<revert::Revert>("revert"),
            entry::<log::Log>("log"),
            entry::<show::Show>("show"),
            entry::<lanes::Lanes>("lanes"),
            entry::<undo::Undo>("undo"),
            entry::<undo::Redo>("redo"),
            entry::<diff::Diff>("diff"),
            entry::<blame::Blame>("blame"),
            entry::<bisect::Bisect>("bisect"),
            entry::<fork::Fork>("fork"),
            entry::<fork::Forks>("forks"),
            entry::<merge::Merge>("merge"),
            entry::<merge::Conflicts>("conflicts"),
            entry::<merge::Resolve>("resolve"),
        ],
    ),
    #[cfg(feature = "remote")]
    (
        "Share",
        &[
            entry::<remote::Remote>("remote"),
            entry::<sync::Sync>("sync"),
            entry::<remote::Push>("push"),
            entry::<remote::Pull>("pull"),
            entry::<remote::Fetch>("fetch"),
            entry::<backup::Clone>("clone"),
            entry::<backup::Backup>("backup"),
        ],
    ),
    (
        "Trust",
        &[
            entry::<verify::Verify>("verify"),
            entry::<doctor::Doctor>("doctor"),
            entry::<salvage::Salvage>("salvage"),
            entry::<head::Head>("head"),
            entry::<prove::Prove>("prove"),
            entry::<contains::Contains>("contains"),
            entry::<check_proof::CheckProof>("check-proof"),
            entry::<trust_store::TrustStore>("trust-store"),
            #[cfg(feature = "signed")]
            entry::<signed::keygen::Keygen>("keygen"),
            #[cfg(feature = "signed")]
            entry::<signed::sign::Sign>("sign"),
            #[cfg(feature = "signed")]
            entry::<signed::check_head::CheckHead>("check-head"),
            #[cfg(feature = "signed")]
            entry::<signed::prove_head::ProveHead>("prove-head"),
            #[cfg(feature = "signed")]
            entry::<signed::witness::Witness>("witness"),
        ],
    ),
    ("Agent", agent::VERBS),
    #[cfg(feature = "mcp")]
    (
        "Serve",
        &[
            entry::<serve::Serve>("serve"),
            entry::<mcp::Mcp>("mcp"),
            #[cfg(feature = "http")]
            entry::<token::TokenVerb>("token"),
        ],
    ),
    ("Keep", &[entry::<gc::Gc>("gc"), entry::<erase::Erase>("erase")]),
    (
        "Set up",
        &[
            #[cfg(feature = "semantic")]
            entry::<model::Model>("model"),
            entry::<agent::Project>("project").switchable(),
            #[cfg(feature = "mcp")]
            entry::<install::Install>("install"),
            #[cfg(feature = "mcp")]
            entry::<install::Uninstall>("uninstall"),
        ],
    ),
    (
        "Learn",
        &[
            entry::<debug::Debug>("debug"),
            entry::<tour::Tour>("tour"),
            entry::<schema::Schema>("schema"),
            entry::<man::Man>("man"),
            entry::<completions::Completions>("completions"),
        ],
    ),
    // Only clients, tests and those who look into files call them.
    (
        "Hidden",
        &[
            entry::<hook::Hook>("hook"),
            entry::<inspect::Inspect>("inspect"),
            entry::<tour::CrashTest>("crash-test"),
        ],
    ),
];

impl Context {
    /// Prints an answer: as JSON from its fields, or as one line for people.
    fn say(&mut self, answer: &impl Serialize, text: impl Display) -> Done {
        self.answer(answer, |_, context| context.line(text))
    }

    /// Prints an answer as [`Self::say`] does. Also prints a note for people, such as the next step.
    fn say_with_note(
        &mut self,
        answer: &impl Serialize,
        text: impl Display,
        code: &'static str,
        note: impl Into<String>,
    ) -> Done {
        self.say(answer, text)?;
        self.output.note_for_people(code, note);
        Ok(DONE)
    }

    /// Prints a note.
    fn note(&mut self, code: &'static str, text: impl Into<String>) {
        self.output.note(code, text);
    }

    /// Prints a note that programs do not need.
    fn note_for_people(&mut self, code: &'static str, text: impl Into<String>) {
        self.output.note_for_people(code, text);
    }

    /// Prints a note with the command that reverses the last change, for people.
    fn note_way_back(&mut self, what: &str) {
        let command = self.lane_command("undo");
        self.note_for_people("undo", format!("{what}: {command}"));
    }

    /// Prints the answer of a verb that commits. The output for people contains the change, the new head, and the
    /// command that reverses a new commit.
    fn say_commit(&mut self, answer: &impl Serialize, what: &str, commit: &CommitInfo, is_new: bool) -> Done {
        let head = self.head_line(commit);
        self.say(answer, format_args!("{what}; {head}"))?;
        if is_new {
            self.note_way_back("reverse the change with");
        }
        Ok(DONE)
    }

    /// Describes the head in one line.
    fn head_line(&self, head: &CommitInfo) -> String {
        self.state_line(head.commit.seq, head.commit.root)
    }

    /// Formats the counts, for example `3 added, 1 changed, 0 removed`.
    fn counts_line(&self, counts: ChangeCounts) -> String {
        let output = &self.output;
        let added = output.paint(Meaning::Good, format_args!("{} added", counts.added));
        let changed = output.paint(Meaning::Changed, format_args!("{} changed", counts.changed));
        let removed = output.paint(Meaning::Bad, format_args!("{} removed", counts.removed));
        format!("{added}, {changed}, {removed}")
    }
}

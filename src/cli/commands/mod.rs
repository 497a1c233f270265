//! The verbs, a file each.
//!
//! The file of a verb has everything about it: a struct with its arguments, whose comments are its help; [`Verb`] for that struct,
//! which names the forms of its answer and runs it; and what people read of an answer. To add a verb, write its file and
//! add one line to [`GROUPS`]: the help, the overview, completions, man pages and `schema` follow from there.
//!
//! ```text
//! /// Show the present root                                  <- a line for the overview and `-h`
//! #[derive(Args, Debug)]
//! #[command(args = args::reads(), after_help = "Examples: ...")]  <- the shared options that it takes
//! pub(crate) struct Head {}
//!
//! impl Verb for Head {
//!     const NAME: &'static str = "head";
//!     const ANSWERS: &'static [Form] = &[form::<answers::Head>("")];
//!
//!     fn run(self, context: &mut Context) -> Done {
//!         let memory = context.open_to_read()?;          <- the run closes it
//!         let view = context.view(&memory)?;
//!         context.answer(&answers::Head::of(&memory, &view))?;
//!         Ok(DONE)
//!     }
//! }
//!
//! impl Answer for answers::Head {                        <- what people read; JSON is the struct itself
//!     fn show(&self, context: &mut Context) -> Result<(), Failure> { ... }
//! }
//! ```
//!
//! A verb with many answers passes an iterator of them to [`Context::rows`]; each is a [`Row`] of a table. The types of
//! answers are in `crate::answers`, where servers find them too. A verb never asks whether the output is JSON.
//!
//! [`Row`]: super::answer::Row
//!
//! # Layer
//! L10, part of cli.

#[cfg(feature = "agent")]
mod agent;
mod attributes;
mod export;
#[cfg(feature = "agent")]
mod flags;
mod get;
mod ingest;
mod input;
mod list;
mod log;
mod objects;
mod pictures;
mod proof;
mod put;
mod reference;
mod restore;
mod retention;
mod rollback;
mod salvage;
mod sent;
mod snapshots;
mod store;

pub(super) use input::input_error;
pub(super) use log::show_changes;
pub(super) use proof::{check as check_proof_document, document as proof_document};

use super::args::{Parsed, SharedOptions};
use super::context::Context;
use super::debug;
use super::errors::Done;
use super::tour;
use super::verb::{Entry, entry};

/// The verbs by what they are for.
pub(super) static GROUPS: &[(&str, &[Entry])] = &[
    (
        "Write",
        &[
            entry::<store::Init>(),
            entry::<ingest::Ingest>(),
            entry::<put::Put>(),
            entry::<objects::Remove>(),
        ],
    ),
    (
        "Read",
        &[
            entry::<get::Get>(),
            entry::<list::List>(),
            entry::<objects::History>(),
            entry::<export::Export>(),
        ],
    ),
    (
        "Time",
        &[
            entry::<snapshots::Snapshot>(),
            entry::<snapshots::Snapshots>(),
            entry::<rollback::Rollback>(),
            entry::<restore::Restore>(),
            entry::<log::Log>(),
            entry::<snapshots::Undo>(),
            entry::<snapshots::Redo>(),
            entry::<log::Diff>(),
        ],
    ),
    (
        "Trust",
        &[
            entry::<store::Verify>(),
            entry::<salvage::Doctor>(),
            entry::<salvage::Salvage>(),
            entry::<store::Head>(),
            entry::<proof::Prove>(),
            entry::<proof::Contains>(),
            entry::<proof::CheckProof>(),
            entry::<store::Stats>(),
        ],
    ),
    #[cfg(feature = "agent")]
    ("Agent", agent::VERBS),
    ("Keep", &[entry::<retention::Gc>(), entry::<retention::Erase>()]),
    (
        "Learn",
        &[
            entry::<debug::Debug>(),
            entry::<tour::Tour>(),
            entry::<reference::Schema>(),
            entry::<reference::Man>(),
            entry::<reference::Completions>(),
        ],
    ),
    ("Hidden", &[entry::<tour::TourWriter>()]),
];

/// Every verb.
pub(super) fn all() -> impl Iterator<Item = &'static Entry> {
    GROUPS.iter().flat_map(|(_, verbs)| verbs.iter())
}

/// The verb of this name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    all().find(|verb| verb.name == name)
}

/// Does what the command line says, and closes what it wrote to.
pub(super) fn run(context: &mut Context, parsed: &Parsed) -> Done {
    #[cfg(feature = "agent")]
    if agent::is_switched_off(parsed) {
        return agent::answer_disabled(context);
    }
    let code = parsed.run(context)?;
    context.close()?;
    Ok(code)
}

/// The command that reverses what was just done.
fn undo_command(options: &SharedOptions) -> String {
    let mut command = String::from("treering undo");
    for (option, value) in [
        ("--session", &options.lane.session),
        ("--actor", &options.lane.actor),
    ] {
        if let Some(value) = value {
            command = format!("{command} {option} '{}'", value.replace('\'', r"'\''"));
        }
    }
    command
}

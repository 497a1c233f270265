//! The tour: a demonstration of the program on real input that it contains.
//!
//! An agent's notes, a transcript and this project's own pages become a memory; a bad turn damages it; the
//! tour shows the damage and rolls it back; it kills a second process during a write; and it verifies the store.
//! Every step prints its purpose, the equivalent command, the result and the cost.
//!
//! # Layer
//! L10, part of cli.

mod folder;
mod guide;
mod killed;
mod steps;

use crate::cli::args;
use crate::cli::verb::{Form, Verb, form};
use clap::Args;
use serde_json::{Map, Value};
use std::path::PathBuf;

use super::context::Context;
use super::errors::{DONE, Done};

pub(super) use killed::write_until_killed;

/// See a demo on real input
///
/// The tour shows snapshot, diff, rollback and verify.
///
/// # Examples
/// ```text
/// treering tour
/// treering tour --keep ./my-first-store
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Tour {
    /// Keep the store of the tour in DIR, which must be empty or absent
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

impl Verb for Tour {
    const NAME: &'static str = "tour";
    const ANSWERS: &'static [Form] = &[form::<Map<String, Value>>(
        "the steps, each with what it measured",
    )];

    fn run(self, context: &mut Context) -> Done {
        tour(context, self.keep)
    }
}

/// Write objects until killed, and acknowledge each commit (for the tour)
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    hide = true
)]
pub(crate) struct TourWriter {}

impl Verb for TourWriter {
    const NAME: &'static str = "tour-writer";

    fn run(self, context: &mut Context) -> Done {
        write_until_killed(context)
    }
}

/// Runs the tour in a temporary store, or in the folder to keep.
pub(super) fn tour(context: &mut Context, keep: Option<PathBuf>) -> Done {
    let keep = keep.or_else(|| context.options.store.clone());
    let folder = folder::TourFolder::new(keep)?;
    let mut guide = guide::Guide::new(context, &folder);
    guide.welcome()?;
    steps::walk(&mut guide)?;
    guide.farewell()?;
    Ok(DONE)
}

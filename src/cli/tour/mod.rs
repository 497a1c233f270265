//! The tour: the main job, told on real input that the program carries.
//!
//! An agent's notes, a transcript and this project's own pages become a memory; a bad turn damages it; the
//! damage is looked at and taken back; a second process is killed while it writes; and all of it is verified.
//! Every step says what is done, the command that does the same, what came out and what it cost.
//!
//! # Layer
//! L9, part of cli.

mod folder;
mod guide;
mod killed;
mod steps;

use std::path::PathBuf;

use super::context::Context;
use super::errors::{DONE, Done};

pub(super) use killed::write_until_killed;

/// Gives the tour in a temporary store, or in the one that is to be kept.
pub(super) fn tour(context: &mut Context, keep: Option<PathBuf>) -> Done {
    let keep = keep.or_else(|| context.options.store.clone());
    let folder = folder::TourFolder::new(keep)?;
    let mut guide = guide::Guide::new(context, &folder);
    guide.welcome()?;
    steps::walk(&mut guide)?;
    guide.farewell()?;
    Ok(DONE)
}

//! What the file of nearly every verb uses.
//!
//! # Layer
//! L10, part of cli.

pub(super) use clap::Args;

pub(super) use crate::cli::answer::{Answer, Row};
pub(super) use crate::cli::args;
pub(super) use crate::cli::context::{Context, shown};
pub(super) use crate::cli::errors::{DAMAGED, DONE, Done, Failure, NO};
pub(super) use crate::cli::human::{self, Cell, bytes, coloured, counted, number, one_line, plain, short};
pub(super) use crate::cli::output::Meaning;
pub(super) use crate::cli::time;
pub(super) use crate::cli::verb::{Form, Verb, form};

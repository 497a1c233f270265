//! The imports of almost every verb's file.
//!
//! # Layer
//! Layer 10, part of cli.

pub(super) use std::path::{Path, PathBuf};

pub(super) use clap::{Args, Subcommand, ValueEnum};
pub(super) use schemars::JsonSchema;
pub(super) use serde::Serialize;

pub(super) use super::absent::no_object;
pub(super) use super::cells::{columns, count_columns, named, optional};
#[cfg(feature = "agent")]
pub(super) use crate::cli::agent_context::ScopeOptions;
pub(super) use crate::cli::args;
pub(super) use crate::cli::context::{Context, shown};
pub(super) use crate::cli::errors::{DAMAGED, DENIED, DONE, Done, NO, refused, usage_error};
pub(super) use crate::cli::human::{
    self, Columns, Table, bytes, coloured, counted, cut, gist, minor, number, one_line, plain, right, short,
};
pub(super) use crate::cli::input::{Lines, open_input, read_input};
pub(super) use crate::cli::output::{Meaning, Output, printable};
pub(super) use crate::cli::time;
pub(super) use crate::cli::verb::{Form, Verb, form};
pub(super) use crate::digest::{CommitDigest, ObjectDigest, to_hex};
pub(super) use crate::engine::{CommitInfo, Memory, Revision, View};
pub(super) use crate::error::{Error, ErrorCode, ErrorKind, Result};
pub(super) use crate::object::{Id, Kind, Object, Op, Origin, Scope, Time};
pub(super) use crate::store::ChangeCounts;

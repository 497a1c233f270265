//! The imports of almost every verb's file.
//!
//! # Layer
//! Layer 10, part of cli.

pub(in crate::cli) use std::path::{Path, PathBuf};

pub(in crate::cli) use clap::{Args, Subcommand, ValueEnum};
pub(in crate::cli) use schemars::JsonSchema;
pub(in crate::cli) use serde::Serialize;

pub(super) use super::absent::no_object;
pub(super) use super::cells::{columns, count_columns, named, optional};
pub(in crate::cli) use crate::cli::agent_context::{ScopeOptions, UntrustedOption, text_cells};
pub(in crate::cli) use crate::cli::args;
pub(in crate::cli) use crate::cli::context::{Context, shown};
pub(in crate::cli) use crate::cli::errors::{DAMAGED, DONE, Done, NO, refused, usage_error};
pub(in crate::cli) use crate::cli::human::{
    self, Columns, GIST_CHARS, Table, bytes, coloured, counted, cut, gist, minor, number, one_line, plain,
    right, short,
};
pub(in crate::cli) use crate::cli::input::{Lines, open_input, read_input};
pub(in crate::cli) use crate::cli::output::{Meaning, Output, printable};
pub(in crate::cli) use crate::cli::time;
pub(in crate::cli) use crate::cli::verb::{Form, Verb, form};
pub(in crate::cli) use treering::ChangeCounts;
pub(in crate::cli) use treering::inspect::digest::to_hex;
pub(in crate::cli) use treering::inspect::object::Op;
pub(in crate::cli) use treering::{
    CommitDigest, CommitInfo, Error, ErrorCode, ErrorKind, Id, Kind, Memory, Object, ObjectDigest, Origin,
    Result, Revision, Scope, Time, View,
};

//! The settings of clients: the one table of clients, and the one editor of their files, for `install`, `uninstall`,
//! `mcp install` and `doctor`.
//!
//! # Layer
//! Layer 10, part of cli.

mod clients;
mod commands;
mod entries;
mod files;
mod record;
mod server;

pub(crate) use self::clients::{Client, ServerPlace, Wanted, changes, places_of_install};
pub(crate) use self::commands::program_of;
pub(crate) use self::files::{FileChange, Planned, Standing};
pub(crate) use self::record::remove_folders;
pub(crate) use self::server::{SERVER, Start, program_file};

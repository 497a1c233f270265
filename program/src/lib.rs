//! The program `treering`: the memory of an agent on the command line, over MCP and over HTTP.
//!
//! The library `treering` does the work. This package reads arguments and requests, and writes answers for people
//! and programs. It is a package of its own, so that a change to a verb builds only this package again.
//!
//! # Layer
//! Above the packages `treering` and `treering-text`. Inside: `answers` and `hook`,
//! then `serve`, then `cli`.

// Without the servers, some answers have no reader.
#![cfg_attr(
    not(feature = "mcp"),
    allow(dead_code, reason = "checked with the feature `mcp`")
)]

/// Declares an enum of plain variants with names; see [`treering_text::named`]. This package always writes JSON.
macro_rules! named {
    ($($item:tt)*) => {
        treering_text::named! { [all()] $($item)* }
    };
}

mod answers;
pub mod cli;
mod hook;
#[cfg(any(feature = "http", feature = "remote", feature = "signed"))]
mod private_file;
#[cfg(feature = "mcp")]
mod serve;
mod verified;

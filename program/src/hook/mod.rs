//! Events of coding agents: reads the JSON that a client gives its hooks, and writes the JSON that the client expects.
//!
//! Each client has a module, which translates its events into [`Event`] and back. Everything behind an event is done once,
//! for all clients, in `cli/capture`.
//!
//! # Layer
//! Layer 8. Knows no store.

mod claude;
mod client;
mod codex;
mod cursor;
mod event;
mod fields;
mod gemini;
mod json;
mod opencode;
mod outside;
mod shell;
mod transcript;
mod vscode;
mod workspace;

pub(crate) use client::HookClient;
pub(crate) use event::{Call, Event, Happened};
pub(crate) use json::json_of;
#[cfg(all(test, feature = "mcp"))]
pub(crate) use outside::OWN_TOOLS;
pub(crate) use outside::source_of;
pub(crate) use transcript::{Open, Read, Said, Spoken, messages_of, read_from, read_messages};
pub(crate) use workspace::Workspace;

#[cfg(test)]
mod tests;

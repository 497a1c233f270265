//! Servers: the verbs of an agent as operations that a client calls.
//!
//! [`Service`] is an agent and its caller: who writes, in which session and scopes, how trusted, and how long an answer
//! may be. `operations` is the one table of what a client may call. A [`Server`] runs them for all of its clients. `mcp`
//! offers the table as tools of the Model Context Protocol, and `http` as routes of a JSON API. `ui` is what the page of a
//! person reads, which `http` serves, too.
//!
//! # Layer
//! Layer 9. Knows the agent, the engine and the answers. Does not know the terminal: the program passes the streams.
//!
//! # Invariants
//! - SRV-1: the session, the actor, the class of trust and the scopes of a call come from the caller, never from the
//!   arguments of the call. An argument can only lower a class or choose among the caller's scopes.
//! - SRV-2: an answer has at most the caller's number of tokens, and says if it leaves something out.
//! - SRV-3: an answer contains no item and no id of a scope outside the caller's reach, and no call changes one. An
//!   answer contains no untrusted text and no untrusted id, unless the call asks for what is not trusted; then the session
//!   is tainted. Undo, forget, unforget and notes also name the untrusted items that they change or list. The page of a
//!   person is no operation: it shows everything, to whoever has its own token.

mod client;
#[cfg(feature = "http")]
mod counts;
pub(crate) mod errors;
mod forks;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod mcp;
mod naming;
pub(crate) mod operations;
pub(crate) mod server;
pub(crate) mod service;
mod stop;
#[cfg(feature = "http")]
pub(crate) mod ui;

pub(crate) use client::Client;
pub(crate) use forks::MadeForks;
pub(crate) use server::Server;
pub(crate) use service::{Caller, Follows, Service};

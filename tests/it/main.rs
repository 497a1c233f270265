//! Tests of the interfaces on which programs and other implementations rely. All tests are modules of one binary.
#![expect(
    clippy::unwrap_used,
    reason = "this is test code, in which a panic is a test failure"
)]

#[cfg(all(feature = "cli", feature = "agent"))]
mod classes;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_agent_trust;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_bisect;
#[cfg(feature = "cli")]
mod cli_doctor;
#[cfg(feature = "cli")]
mod cli_errors;
#[cfg(feature = "cli")]
mod cli_files;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_forget;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_hints;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_import;
#[cfg(feature = "cli")]
mod cli_ingest;
#[cfg(feature = "cli")]
mod cli_lines;
#[cfg(feature = "cli")]
mod cli_objects;
#[cfg(feature = "cli")]
mod cli_output;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_paths;
#[cfg(feature = "cli")]
mod cli_pictures;
#[cfg(feature = "cli")]
mod cli_proof;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_recall;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_remember;
#[cfg(feature = "cli")]
mod cli_retention;
#[cfg(feature = "cli")]
mod cli_revert;
#[cfg(feature = "cli")]
mod cli_salvage;
#[cfg(feature = "cli")]
mod cli_schema;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_sent;
#[cfg(feature = "cli")]
mod cli_store;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_stored_text;
#[cfg(feature = "cli")]
mod cli_system;
#[cfg(feature = "cli")]
mod cli_time;
#[cfg(feature = "cli")]
mod cli_tour;
#[cfg(all(feature = "cli", feature = "agent"))]
mod cli_writers;
#[cfg(feature = "agent")]
mod contradictions;
#[cfg(feature = "cli")]
mod debug;
mod format_page;
#[cfg(feature = "cli")]
mod golden;
#[cfg(feature = "cli")]
mod guide;
#[cfg(feature = "http")]
mod http;
mod instructions;
#[cfg(feature = "mcp")]
mod mcp;
mod mutants;
mod named_tests;
mod processes;
#[cfg(feature = "cli")]
mod program;
#[cfg(all(feature = "cli", feature = "agent"))]
mod stories;
mod tidy;
#[cfg(feature = "tracing")]
mod trace;
#[cfg(all(feature = "cli", feature = "agent"))]
mod trusted_stores;
mod vectors;

//! Tests of the interfaces on which programs and other implementations rely. All tests are modules of one binary.
#![expect(
    clippy::unwrap_used,
    reason = "this is test code, in which a panic is a test failure"
)]

mod bundles;
mod classes;
mod cli_agent_trust;
mod cli_bisect;
mod cli_by_hand;
mod cli_doctor;
mod cli_errors;
mod cli_facts;
mod cli_files;
mod cli_forget;
mod cli_forks;
mod cli_hints;
mod cli_import;
mod cli_ingest;
mod cli_interrupted;
mod cli_lines;
#[cfg(feature = "semantic")]
mod cli_meaning;
mod cli_merge;
mod cli_model;
mod cli_objects;
mod cli_output;
mod cli_paths;
mod cli_pictures;
mod cli_proof;
mod cli_real_files;
mod cli_recall;
mod cli_remember;
#[cfg(feature = "remote")]
mod cli_remote_faults;
#[cfg(feature = "remote")]
mod cli_remotes;
mod cli_retention;
mod cli_revert;
mod cli_salvage;
mod cli_schema;
mod cli_sent;
#[cfg(feature = "signed")]
mod cli_signed;
mod cli_store;
#[cfg(feature = "remote")]
mod cli_store_url;
mod cli_stored_text;
mod cli_system;
mod cli_taint;
mod cli_time;
mod cli_tour;
#[cfg(feature = "semantic")]
mod cli_vectors;
mod cli_writers;
mod contradictions;
mod debug;
mod format_page;
mod golden;
mod guide;
#[cfg(all(feature = "http", feature = "remote"))]
mod guide_server;
mod hooks;
#[cfg(feature = "http")]
mod http;
mod instructions;
#[cfg(feature = "mcp")]
mod mcp;
mod mutants;
mod named_tests;
mod processes;
mod program;
mod projects;
mod stories;
mod tidy;
mod trace;
mod trusted_stores;
mod vectors;

/// The root of the repository, the parent of this package.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

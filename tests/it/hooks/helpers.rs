//! What several tests of hooks need: events, numbers, other programs, and a server as a client starts it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::*;

/// A generator of numbers, which gives the same ones in each run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    #[cfg(feature = "mcp")]
    pub(super) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Returns an event with further fields.
#[expect(clippy::needless_pass_by_value, reason = "the events are written in place")]
pub(super) fn with(mut event: Value, more: Value) -> Value {
    event
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    event
}

/// Returns a command of another program, which has the environment of the folder and works in the project.
#[cfg(feature = "mcp")]
pub(super) fn other_program(folder: &Folder, program: impl AsRef<OsStr>) -> Command {
    let like = folder.command(&["--version"]);
    let environment = like.get_envs();
    let environment = environment.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(environment)
        .current_dir(folder.path("shop"));
    command
}

/// Copies a program into the folder. Another process does it: an open file of this one could be busy in a child of another
/// test.
#[cfg(feature = "mcp")]
pub(super) fn copied(folder: &Folder, program: impl AsRef<OsStr>, name: &str) -> PathBuf {
    let copy = folder.path(name);
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let done = Command::new("cp").arg(program).arg(&copy).status().unwrap();
    assert!(done.success());
    copy
}

/// Returns the lines with which a client lets the server remember a text.
#[cfg(feature = "mcp")]
pub(super) fn lines_of_client(client: &str, text: &str) -> String {
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": { "name": client, "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "memory_remember",
            "arguments": { "text": text } } }),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Starts the server as a client does, lets it remember a text, and returns the commit.
#[cfg(feature = "mcp")]
pub(super) fn remembered_by(folder: &Folder, client: &str, text: &str) -> Value {
    folder.write("lines", lines_of_client(client, text));
    let mut command = folder.command(&["serve", "--mcp", "--client", client]);
    let command = command
        .env_remove("TREERING_TRUST")
        .current_dir(folder.path("shop"))
        .stdin(fs::File::open(folder.path("lines")).unwrap());
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    folder.stream(&["log", "--op", "remember", "--limit", "1"])[0].clone()
}

//! Two windows of one client in one project, and two conversations in one window.

use std::process::{Command, Stdio};

use serde_json::json;

use super::helpers::{copied, lines_of_client, other_program, remembered_by, with};
use super::*;

fn start(folder: &Folder, session: &str) -> String {
    json!({ "session_id": session, "cwd": folder.path("shop"), "hook_event_name": "SessionStart" })
        .to_string()
}

/// A process that stands for a window of a client: it starts hooks and servers, and is no shell by its name.
#[cfg(target_os = "linux")]
fn window(folder: &Folder, name: &str, script: &str) -> Command {
    let shell = copied(folder, fs::canonicalize("/bin/sh").unwrap(), name);
    let mut command = other_program(folder, shell);
    command.args(["-c", script]);
    command
        .env("T", env!("CARGO_BIN_EXE_treering"))
        .env("F", folder.path(""))
        .stdin(Stdio::null());
    command
}

/// INVARIANT HKS-1: a server follows the session that the hooks of its own client process noted.
#[cfg(target_os = "linux")]
#[test]
fn each_window_has_the_session_of_its_own_hooks() {
    let folder = workplace();
    folder.write("one.json", start(&folder, "one"));
    folder.write("two.json", start(&folder, "two"));
    folder.write(
        "lines",
        lines_of_client("claude-code", "The office is in Bremen."),
    );
    let hook = "\"$T\" hook --client claude-code";
    let one = format!(
        "{hook} < $F/one.json; : > $F/ready; while [ ! -e $F/go ]; do sleep 0.02; done;
         \"$T\" serve --mcp --client claude-code < $F/lines > $F/answers; :"
    );
    let mut one = window(&folder, "window-one", &one).spawn().unwrap();
    while !folder.path("ready").exists() {
        assert!(one.try_wait().unwrap().is_none(), "the window ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // The other window begins later, in the same project.
    let two = window(&folder, "window-two", &format!("{hook} < $F/two.json; :"))
        .status()
        .unwrap();
    folder.write("go", "");
    assert!(two.success() && one.wait().unwrap().success());
    let newest = folder.stream(&["log", "--op", "remember", "--limit", "1"])[0].clone();
    assert_eq!(
        newest["session"],
        "one",
        "{}",
        fs::read_to_string(folder.path("answers")).unwrap()
    );
}

/// Cursor has one server for all conversations of a window, and tells it no session.
#[test]
fn a_conversation_that_read_a_page_lowers_what_its_window_remembers() {
    let folder = workplace();
    let send = |session: &str, more: Value| {
        let event = with(
            json!({ "conversation_id": session, "workspace_roots": [folder.path("shop")] }),
            more,
        );
        let ran = folder.feed(&["hook", "--client", "cursor"], event.to_string());
        assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    };
    let prompt = |text: &str| json!({ "hook_event_name": "beforeSubmitPrompt", "prompt": text, "generation_id": text });
    let remember = |words: &str| {
        let newest = remembered_by(&folder, "cursor", words);
        (text(&newest["session"]), text(&newest["trust"]))
    };
    send("a", prompt("Read the page."));
    send("b", prompt("Go on."));
    assert_eq!(
        remember("The kettle leaks."),
        ("b".to_owned(), "model".to_owned())
    );
    let page = json!({ "hook_event_name": "postToolUse", "tool_name": "WebFetch",
        "tool_input": { "url": "https://example.com" }, "tool_output": POISON });
    send("a", page);
    assert_eq!(
        remember("Mallory is cheap."),
        ("b".to_owned(), "tool_external".to_owned())
    );
    send("a", json!({ "hook_event_name": "sessionEnd" }));
    send("c", prompt("A new one."));
    let mut end = json!({ "hook_event_name": "sessionEnd" });
    end["conversation_id"] = "b".into();
    send("b", end);
    assert_eq!(remember("The office is in Oslo.").0, "c");
}

//! A hook never stops the agent: any fault is one line, and the exit code is 0.

use serde_json::json;

use super::*;

/// Checks that an event failed as a hook may fail.
fn check_fault(ran: &Ran) {
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.lines().count()),
        (0, "", 1),
        "{ran:?}"
    );
    assert!(ran.err.starts_with("treering hook: "), "{ran:?}");
}

/// INVARIANT CLI-11: a hook never stops the agent of a client.
#[test]
fn every_fault_is_one_line_and_success() {
    let folder = workplace();
    folder.write("plain", "a file");
    let stop =
        json!({ "session_id": "s1", "hook_event_name": "Stop", "last_assistant_message": "x" }).to_string();
    for (arguments, input) in [
        (&["hook", "--client", "claude-code"][..], "no json"),
        (&["hook", "--client", "claude-code"], ""),
        (&["hook", "--client", "claude-code"], "[]"),
        (
            &["hook", "--client", "claude-code"],
            "{\"hook_event_name\":\"Stop\"}",
        ),
        (&["hook", "--client", "nobody"], &stop),
        (&["hook", "--client", "claude-code", "--nothing"], &stop),
        (&["hook", "--client", "claude-code", "--budget", "many"], &stop),
        (&["hook", "--client", "claude-code", "--store", "plain"], &stop),
        (&["--json", "hook", "--client", "claude-code"], "no json"),
    ] {
        check_fault(&folder.feed(arguments, input));
    }
    let long =
        json!({ "session_id": "s".repeat(300), "hook_event_name": "Stop", "last_assistant_message": "x" });
    check_fault(&folder.feed(&["hook", "--client", "claude-code"], long.to_string()));
    // A damaged store.
    for (file, _) in crate::program::bytes_below(&folder.store()) {
        fs::write(file, "damage").unwrap();
    }
    check_fault(&folder.feed(&["hook", "--client", "claude-code"], stop));
}

#[test]
fn an_unreadable_transcript_costs_the_transcript_only() {
    let folder = workplace();
    folder.make_pipe("pipe.jsonl");
    folder.write("noise.jsonl", [0xff, 0xfe, b'\n', b'{', b'\n', 0, b'\n']);
    for name in ["pipe.jsonl", "noise.jsonl", "missing.jsonl", "shop"] {
        let event =
            json!({ "session_id": "s1", "hook_event_name": "Stop", "transcript_path": folder.path(name) });
        let ran = folder.feed(&["hook", "--client", "claude-code"], event.to_string());
        assert!(
            ran.code == 0 && ran.out.is_empty() && ran.err.is_empty(),
            "{name}: {ran:?}"
        );
    }
}

#[test]
fn a_variable_switches_hooks_off() {
    for client in CLIENTS {
        let folder = workplace();
        let stream = Stream::of(client, &folder);
        let before = folder.root();
        let file = folder.path("event.json");
        fs::write(&file, stream.event(1).to_string()).unwrap();
        let mut command = folder.command(&["hook", "--client", client]);
        let output = command
            .env("TREERING_DISABLE", "1")
            .stdin(fs::File::open(file).unwrap())
            .output()
            .unwrap();
        let ran = Ran::of(&output);
        assert!(
            ran.code == 0 && ran.err.is_empty() && ["", "{}\n"].contains(&ran.out.as_str()),
            "{ran:?}"
        );
        assert_eq!(folder.root(), before);
    }
}

#[test]
fn a_hook_without_a_client_is_a_fault_too() {
    let folder = workplace();
    for arguments in [
        &["hook"][..],
        &["--json", "hook", "--client"],
        &["hook", "--client", "nobody"],
    ] {
        let ran = folder.feed(arguments, "{}");
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.lines().count()),
            (0, "", 1),
            "{arguments:?}: {ran:?}"
        );
    }
    // Of another verb it is a value.
    assert_ne!(
        folder
            .run(&["list", "--session", "hook", "--no-such-option"])
            .code,
        0
    );
}

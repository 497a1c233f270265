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

/// A line may name any session, and the lines after it are kept.
#[test]
fn a_line_of_a_session_with_an_odd_name_stops_no_other() {
    let folder = workplace();
    let line = |role: &str, session: &str, text: &str| {
        let message = json!({ "role": role, "content": text });
        json!({ "type": role, "uuid": text, "sessionId": session, "message": message }).to_string() + "\n"
    };
    let long = "s".repeat(300);
    let names = [&long, "a\u{0}b", "", "s2"];
    let lines = names
        .iter()
        .map(|name| line("user", name, &format!("from {}", name.len())));
    let text = lines.collect::<String>() + &line("assistant", "s1", "done");
    folder.write("t.jsonl", text);
    let event =
        json!({ "session_id": "s1", "hook_event_name": "Stop", "transcript_path": folder.path("t.jsonl") });
    let ran = folder.feed(&["hook", "--client", "claude-code"], event.to_string());
    assert!(
        ran.code == 0 && ran.out.is_empty() && ran.err.is_empty(),
        "{ran:?}"
    );
    assert_eq!(entries(&folder, "s1").len(), names.len() + 1);
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

/// INVARIANT HKC-4: an event ends at its deadline, whatever it waits for. What it did not keep then, the next event keeps.
#[test]
fn an_event_that_waits_for_another_writer_ends_and_the_next_one_keeps_its_text() {
    let folder = workplace();
    let stop = json!({ "session_id": "s1", "cwd": folder.path("shop"), "hook_event_name": "Stop",
        "transcript_path": folder.path("transcript.jsonl") });
    let line =
        json!({ "type": "assistant", "uuid": "1", "message": { "role": "assistant", "content": "Done." } });
    folder.write("transcript.jsonl", format!("{line}\n"));
    let lock = fs::File::options()
        .write(true)
        .open(folder.store().join("lock"))
        .unwrap();
    lock.lock().unwrap();
    check_fault(&folder.feed(&["hook", "--client", "claude-code"], stop.to_string()));
    drop(lock);
    assert_eq!(entries(&folder, "s1"), []);
    let ran = folder.feed(&["hook", "--client", "claude-code"], stop.to_string());
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    assert_eq!(entries(&folder, "s1").len(), 1);
}

/// An input that never ends keeps nobody waiting.
#[test]
fn an_input_that_does_not_end_is_left() {
    let folder = workplace();
    let mut command = folder.command(&["hook", "--client", "claude-code"]);
    let child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    check_fault(&Ran::of(&output));
}

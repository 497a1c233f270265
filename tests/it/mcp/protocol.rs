//! The revisions of the protocol, the end of a connection, resources, prompts and completions.

use std::fs;
use std::io::Read as _;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Client, Folder};
use crate::program::text;

/// The metadata of a request in the revision of July 2026, which has no handshake.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "Tea Client", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    let folder = Folder::with_store();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::spawn(&folder, &[]);
        assert_eq!(client.greet(revision)["protocolVersion"], revision);
        let id = client.remember(&format!("The revision {revision} has a handshake."));
        assert_eq!(client.recall(&format!("revision {revision}")).1[0], id);
        assert_eq!(client.end().0, Some(0));
    }
    // An unknown revision is answered by one that the server speaks.
    let mut client = Client::spawn(&folder, &[]);
    assert_eq!(client.greet("1999-01-01")["protocolVersion"], "2025-11-25");
}

#[test]
fn the_revision_without_a_handshake_is_spoken() {
    let folder = Folder::with_store();
    let mut client = Client::spawn(&folder, &[]);
    let found = client.ask("server/discover", json!({ "_meta": meta() }))["result"].clone();
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(
        versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")),
        "{found}"
    );
    assert_eq!(
        found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "treering"
    );
    assert!(text(&found["instructions"]).contains("memory_recall"));

    let list = client.ask("tools/list", json!({ "_meta": meta() }))["result"].clone();
    assert_eq!(list["tools"].as_array().unwrap().len(), 8);
    assert_eq!(list["resultType"], "complete");
    let call =
        json!({ "name": "memory_remember", "arguments": { "text": "Tea is in the tin." }, "_meta": meta() });
    let stored = client.ask("tools/call", call)["result"].clone();
    assert_eq!(stored["resultType"], "complete");
    assert_eq!(stored["structuredContent"]["status"], "created");
    // The client's name is in the session and is the actor.
    let status =
        client.ask("tools/call", json!({ "name": "memory_status", "_meta": meta() }))["result"].clone();
    assert_eq!(status["structuredContent"]["actor"], "tea-client");
    assert!(text(&status["structuredContent"]["session"]).starts_with("tea-client-"));
    // Each request names its client. The session stays.
    let mut other = meta();
    other["io.modelcontextprotocol/clientInfo"]["name"] = json!("Coffee Client");
    let params = json!({ "name": "memory_status", "_meta": other });
    let later = client.ask("tools/call", params)["result"]["structuredContent"].clone();
    assert_eq!(
        (&later["actor"], &later["session"]),
        (&json!("coffee-client"), &status["structuredContent"]["session"])
    );
    // A request of this revision without its metadata is refused, not answered wrongly.
    let bad = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(client.ask("tools/list", bad)["error"]["code"], -32602);
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn the_end_of_the_input_answers_what_was_read_and_exits_cleanly() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    for number in 0..20 {
        let arguments = json!({ "text": format!("Fact number {number}.") });
        let params = json!({ "name": "memory_remember", "arguments": arguments });
        client.send(
            &json!({ "jsonrpc": "2.0", "id": 100 + number, "method": "tools/call", "params": params })
                .to_string(),
        );
    }
    let (code, answers) = client.end();
    assert_eq!((code, answers.len()), (Some(0), 20));
    assert_eq!(folder.stream(&["list"]).len(), 20);
}

/// INVARIANT MCT-5: after the end of the input, or a signal to stop, each request that was read is answered.
#[test]
fn the_last_request_is_answered_after_a_wait_for_the_lock() {
    let folder = Folder::with_store();
    let mut clients = [false, true].map(|is_stopped| (Client::start(&folder, &[]), is_stopped));
    for (client, _) in &mut clients {
        client.remember("The store is open.");
    }
    let lock = fs::File::open(folder.path(".treering/lock")).unwrap();
    lock.lock().unwrap();
    for (client, is_stopped) in &mut clients {
        let params = json!({ "name": "memory_remember", "arguments": { "text": "The last words." } });
        let request = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params });
        client.send(&request.to_string());
        // The thread reads the line before the signal.
        thread::sleep(Duration::from_millis(500));
        end(client, *is_stopped);
    }
    // Longer than the 5 seconds that rmcp waits.
    thread::sleep(Duration::from_secs(6));
    lock.unlock().unwrap();
    for (client, is_stopped) in clients {
        let (code, rest) = client.end();
        assert_eq!((code, rest.len()), (Some(0), 1), "{is_stopped}: {rest:?}");
        assert!(rest[0].contains("\"id\":77"), "{rest:?}");
    }
}

#[test]
fn a_signal_to_stop_ends_the_server_cleanly() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    client.remember("Stop me.");
    let pid = client.server.id().to_string();
    let killed = std::process::Command::new("kill").args(["-TERM", &pid]).status();
    assert!(killed.unwrap().success());
    assert_eq!(client.server.wait().unwrap().code(), Some(0));
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

/// INVARIANT MCT-5: after the end of the input, or a signal to stop, answers are dropped once the output takes no line.
#[test]
fn a_client_that_does_not_read_does_not_keep_the_server() {
    let folder = Folder::with_store();
    // More than a pipe holds.
    folder.put("facts/long", &"Every word counts. ".repeat(5_000));
    let mut clients = [false, true].map(|is_stopped| {
        let mut client = Client::start(&folder, &["--max-tokens", "200000"]);
        client.remember("The store is open.");
        let params = json!({ "name": "memory_get", "arguments": { "id": "facts/long" } });
        client.send(
            &json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params }).to_string(),
        );
        // The first byte shows that the server writes the answer, which it cannot end.
        client.output.read_exact(&mut [0]).unwrap();
        (client, is_stopped)
    });
    for (client, is_stopped) in &mut clients {
        end(client, *is_stopped);
    }
    for (mut client, is_stopped) in clients {
        // Not a limit on the server, but on this test if the server never ends.
        let pid = client.server.id().to_string();
        let (ended, waits) = std::sync::mpsc::channel::<()>();
        let guard = thread::spawn(move || {
            if waits
                .recv_timeout(Duration::from_mins(5))
                .is_err_and(|error| error == RecvTimeoutError::Timeout)
            {
                drop(std::process::Command::new("kill").args(["-KILL", &pid]).status());
            }
        });
        assert_eq!(client.server.wait().unwrap().code(), Some(0), "{is_stopped}");
        drop(ended);
        guard.join().unwrap();
    }
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

#[test]
fn a_missing_store_is_created_and_a_bad_option_is_refused_before_the_first_line() {
    let folder = Folder::new();
    folder.write(".git/x", "");
    let store = folder.path(".treering").display().to_string();
    let mut client = Client::start(&folder, &["--store", &store]);
    client.remember("The store is new.");
    assert_eq!(folder.stream(&["list"]).len(), 1);
    drop(client);
    for bad in [
        &["--max-tokens", "10"][..],
        &["--profile", "huge"],
        &["--trust", "queen"],
    ] {
        let ran = folder.run(&[&["serve", "--mcp"], bad].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{bad:?}: {ran:?}");
    }
}

#[test]
fn resources_are_read_by_their_uri() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    client.call("memory_snapshot", json!({ "name": "before" }));
    client.call(
        "memory_remember",
        json!({ "text": "Vera drinks green tea.", "id": "facts/tea pot" }),
    );
    let mut read = |uri: &str| {
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        let content = answer["result"]["contents"][0].clone();
        assert_eq!(content["uri"], uri, "{answer}");
        text(&content["text"])
    };
    assert!(read("memory://object/facts%2Ftea%20pot").contains("green tea"));
    assert!(read("memory://object/facts/tea pot").contains("green tea"));
    assert!(!read("memory://snapshot/before").contains("green tea"));
    assert!(read("memory://snapshot/@").contains("green tea"));
    assert!(read("memory://diff/before..@").contains("added"));
    assert!(read("memory://envelope").starts_with("<memory version=\"2\""));
    assert!(read("memory://envelope/tea").contains("green tea"));
    assert!(read("memory://status").contains("\"objects\":1"));
    for bad in [
        "memory://objects/x",
        "file:///etc/passwd",
        "memory://object/none",
        "memory://",
        "memory://diff/x",
    ] {
        let answer = client.ask("resources/read", json!({ "uri": bad }));
        assert!(
            answer["error"]["code"].is_i64() && answer["error"]["data"]["hint"].is_string(),
            "{bad}: {answer}"
        );
    }
}

#[test]
fn prompts_and_completions() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    client.call(
        "memory_remember",
        json!({ "text": "Vera drinks tea.", "id": "facts/tea" }),
    );
    for name in ["release-1", "lunch"] {
        client.call("memory_snapshot", json!({ "name": name }));
    }
    for (name, arguments) in [
        ("recall-first", json!({ "question": "Which tea?" })),
        ("recall-first", json!({})),
        ("end-of-session", json!({})),
        ("review-memory", json!({ "topic": "tea" })),
    ] {
        let answer = client.ask("prompts/get", json!({ "name": name, "arguments": arguments }));
        let shown = text(&answer["result"]["messages"][0]["content"]["text"]);
        assert!(shown.contains("memory_") && !shown.contains("{}"), "{shown}");
    }
    for bad in [
        json!({ "name": "recall-last" }),
        json!({ "name": "end-of-session", "arguments": { "x": "y" } }),
    ] {
        let answer = client.ask("prompts/get", bad);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let mut complete = |uri: &str, argument: Value| {
        let params = json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": argument });
        client.ask("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    assert_eq!(
        complete("memory://object/{id}", json!({ "name": "id", "value": "facts/" })),
        json!(["facts/tea"])
    );
    let found = complete(
        "memory://snapshot/{revision}",
        json!({ "name": "revision", "value": "rel" }),
    );
    assert_eq!(found, json!(["release-1"]));
}

/// A build without the HTTP server says what it lacks, and shows none of its options.
#[cfg(not(feature = "http"))]
#[test]
fn a_build_without_http_says_so() {
    let folder = Folder::with_store();
    let serve = ["serve", "--http", "127.0.0.1:0"];
    for arguments in [&serve[..], &[&serve[..], &["--token-file", "x"]].concat()] {
        let refused = folder.refused(2, arguments);
        assert_eq!(refused["code"], "usage");
        assert!(text(&refused["message"]).contains("no HTTP server"), "{refused}");
        assert!(text(&refused["hint"]).contains("--features http"), "{refused}");
    }
    assert!(!folder.run(&["serve", "--help"]).out.contains("\n      --http"));
}

/// Ends a server by a signal, or by the end of its input.
fn end(client: &mut Client, by_signal: bool) {
    if by_signal {
        let pid = client.server.id().to_string();
        let killed = std::process::Command::new("kill").args(["-TERM", &pid]).status();
        assert!(killed.unwrap().success());
    } else {
        drop(client.input.take());
    }
}

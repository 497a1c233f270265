//! Each operation gives the same answer over the JSON API, over MCP on HTTP, over MCP on standard input, and as the
//! program gives it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Folder, Server};
use crate::mcp::Client;
use crate::program::text;

/// The calls of every operation of the full profile, in an order in which each finds what it needs.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("memory_status", json!({})),
        (
            "memory_remember",
            json!({ "text": "The office is in Oslo.", "id": "facts/office", "tags": ["office"] }),
        ),
        (
            "memory_remember",
            json!({ "text": "The tea is green.", "id": "facts/tea", "scope": "global", "subject": "tea" }),
        ),
        (
            "memory_remember",
            json!({ "text": "The office is in Bergen.", "id": "facts/office" }),
        ),
        ("memory_snapshot", json!({ "name": "before" })),
        ("memory_note", json!({ "text": "Ask about the lease." })),
        ("memory_note", json!({ "action": "list" })),
        (
            "memory_append",
            json!({ "entries": [{ "text": "Where is the office?", "speaker": "user" }] }),
        ),
        ("memory_recall", json!({ "query": "Bergen", "limit": 1 })),
        (
            "memory_recall",
            json!({ "query": "tea", "full": true, "limit": 1 }),
        ),
        ("memory_inbox", json!({ "since": "2026-01-01" })),
        ("memory_get", json!({ "id": "facts/tea" })),
        ("memory_get", json!({ "prefix": "facts/", "limit": 1 })),
        ("memory_history", json!({ "id": "facts/office" })),
        ("memory_blame", json!({ "id": "facts/office" })),
        ("memory_envelope", json!({})),
        (
            "memory_forget",
            json!({ "ids": ["facts/tea"], "reason": "they moved" }),
        ),
        ("memory_unforget", json!({ "ids": ["facts/tea"] })),
        ("memory_snapshot", json!({ "action": "diff", "from": "before" })),
        ("memory_snapshot", json!({ "action": "list" })),
        ("memory_undo", json!({})),
        ("memory_undo", json!({ "action": "redo" })),
        ("memory_quarantine", json!({})),
        ("memory_fork", json!({ "name": "task-7" })),
        ("memory_merge", json!({ "name": "task-7", "dry_run": true })),
        ("memory_merge", json!({ "name": "task-7" })),
    ]
}

/// Removes what differs between two stores: digests, times, random ids, and what depends on them. Whether weak matches follow
/// a hit depends on the times, too.
fn normal(value: &Value) -> Value {
    const OWN: [&str; 16] = [
        "truncated",
        "root",
        "tokens",
        "cursor",
        "commit",
        "time",
        "digest",
        "created",
        "updated",
        "store",
        "confidence",
        "score",
        "batch",
        "from",
        "to",
        "text_hash",
    ];
    match value {
        Value::Array(list) => list.iter().map(normal).collect(),
        Value::Object(map) => {
            let own = map.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
            own.map(|(name, value)| (name.clone(), normal(value))).collect()
        }
        // An envelope has times and the root in its text.
        Value::String(text) if text.starts_with("<memory") => {
            let ids = text
                .split(" id=\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next());
            ids.collect()
        }
        // An id that the engine made.
        Value::String(text) if text.contains("/01") => json!("made"),
        value => value.clone(),
    }
}

fn contents(folder: &Folder) -> BTreeSet<String> {
    let lines = folder.stream(&["export"]);
    let kept = |line: &Value| {
        let fields = ["id", "kind", "content", "scope", "origin"].map(|name| line[name].clone());
        normal(&json!(fields)).to_string()
    };
    lines.iter().map(kept).collect()
}

#[test]
fn every_operation_answers_alike_in_each_protocol() {
    // The project is named after the folder, so each store is in one of the same name.
    let options = [
        "--profile",
        "full",
        "--session",
        "same",
        "--actor",
        "vera",
        "--scope",
        "project:same",
    ];
    let folders = [Folder::with_store(), Folder::with_store(), Folder::with_store()];
    let api = Server::start(&folders[0], &options);
    let over_http = Server::start(&folders[1], &options);
    let mut lines = Client::start(&folders[2], &options);
    let mut seen = BTreeSet::new();
    for (operation, arguments) in calls() {
        let mut arguments = arguments;
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.remove("scope");
        }
        let answer = normal(&api.call(operation, &arguments));
        let params = json!({ "name": operation, "arguments": arguments });
        let result = over_http.mcp("tools/call", params);
        assert_ne!(result["isError"], true, "{operation} {arguments}: {result}");
        assert_eq!(
            normal(&result["structuredContent"]),
            answer,
            "{operation} {arguments}"
        );
        let result = lines.result(operation, arguments.clone());
        assert_eq!(
            normal(&result["structuredContent"]),
            answer,
            "{operation} {arguments}"
        );
        seen.insert(operation);
    }
    let tools = over_http.mcp("tools/list", json!({}))["tools"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(seen.len() + 1, tools, "every tool but the memory tool was called");
    let stored = contents(&folders[0]);
    assert_eq!(contents(&folders[1]), stored);
    assert_eq!(contents(&folders[2]), stored);
    for folder in &folders {
        assert_eq!(folder.json(&["verify"])["ok"], true);
    }
}

#[test]
fn the_answers_are_those_of_the_program() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &["--profile", "full", "--session", "same"]);
    for number in 0..30 {
        server.call(
            "memory_remember",
            &json!({ "text": format!("Cup {number} is blue."), "id": format!("cups/{number}") }),
        );
    }
    server.call(
        "memory_remember",
        &json!({ "text": "Cup 7 is red.", "id": "cups/7" }),
    );
    server.call("memory_snapshot", &json!({ "name": "cups" }));
    let ids = |list: &Value| -> Vec<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|one| text(&one["id"]))
            .collect()
    };

    let hits = server.call("memory_recall", &json!({ "query": "blue cup 12", "limit": 5 }));
    let own = folder.json(&["recall", "blue cup 12", "--limit", "5"]);
    assert_eq!(ids(&hits["hits"]), ids(&own["hits"]));
    let by_query = server.get("/v1/memory_recall?query=blue%20cup+12&limit=5").json();
    assert_eq!(ids(&by_query["hits"]), ids(&own["hits"]));
    assert_eq!(by_query["root"], own["root"]);

    let item = server.call("memory_get", &json!({ "id": "cups/7" }))["items"][0].clone();
    let own = folder.json(&["get", "cups/7"]);
    assert_eq!((&item["text"], &item["trust"]), (&own["content"], &own["origin"]));
    let head = folder.json(&["head"]);
    let status = server.get("/v1/memory_status").json();
    assert_eq!(
        (&status["root"], &status["seq"], &status["objects"]),
        (&head["root"], &head["seq"], &head["objects"])
    );
    let changes = server.call("memory_history", &json!({ "id": "cups/7" }));
    let own = folder.stream(&["history", "cups/7"]);
    let seqs = |list: &[Value]| -> Vec<Value> { list.iter().map(|one| one["seq"].clone()).collect() };
    assert_eq!(seqs(changes["changes"].as_array().unwrap()), seqs(&own));
    let parts = server.call("memory_blame", &json!({ "id": "cups/7" }));
    let own = folder.stream(&["blame", "cups/7"]);
    assert_eq!(seqs(parts["parts"].as_array().unwrap()), seqs(&own));

    // The pages of a list are those of one state, and together they are the list of the program.
    let mut listed = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = server.call(
            "memory_get",
            &json!({ "prefix": "cups/", "limit": 7, "cursor": cursor }),
        );
        listed.extend(ids(&page["items"]));
        server.call(
            "memory_remember",
            &json!({ "text": format!("Pot {}.", listed.len()), "id": format!("cups/pot{}", listed.len()) }),
        );
        match page["cursor"].as_str() {
            Some(next) => cursor = json!(next),
            None => break,
        }
    }
    let own = folder.stream(&["list", "--prefix", "cups/", "--at", "cups"]);
    assert_eq!(
        listed,
        own.iter().map(|line| text(&line["id"])).collect::<Vec<_>>()
    );
}

#[test]
fn a_query_names_the_same_arguments_as_a_body() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    for (id, kind) in [("a", "fact"), ("b", "decision"), ("c", "preference")] {
        server.call(
            "memory_remember",
            &json!({ "text": format!("The pot {id} is blue."), "id": id, "kind": kind }),
        );
    }
    let body = server.call(
        "memory_recall",
        &json!({ "query": "pot", "kinds": ["fact", "decision"], "full": true }),
    );
    let reply = server.get("/v1/memory_recall?query=pot&kinds=fact&kinds=decision&full=true");
    assert_eq!(normal(&reply.json()), normal(&body));
    for bad in [
        "query=pot&query=pan",
        "query=pot&limit=many",
        "query=pot&full=null",
        "query=pot&limit=-1",
        "limit=3",
        "query=pot&more=1",
        "query=%ff%fe",
        "query=pot%c3&scope=global",
    ] {
        let reply = server.get(&format!("/v1/memory_recall?{bad}"));
        assert_eq!(reply.status, 400, "{bad}: {reply:?}");
        reply.refusal();
    }
}

/// The codes are those of the page, and no sentence is that of a library.
#[test]
fn a_body_of_another_form_is_refused_with_the_code_of_the_page() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let post = |body: &str| {
        let more = format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        server.raw(&(server.head("POST", "/v1/memory_remember", &more) + body))
    };
    for body in [
        "[]",
        "\"tea\"",
        "null",
        "",
        "{",
        "{\"text\":\"a\"} x",
        r#"{"text":"a","text":"b"}"#,
        r#"{"text":"a","te\u0078t":"b"}"#,
    ] {
        let reply = post(body);
        assert_eq!(reply.refusal(), (400, "usage".to_owned()), "{body}: {reply:?}");
        assert!(
            !reply.body.contains("Failed to") && !reply.body.contains("deserialize"),
            "{reply:?}"
        );
    }
    assert_eq!(folder.json(&["log", "--limit", "1"])["seq"], 0);
    let large = post(&format!(r#"{{"text":"{}"}}"#, "a".repeat(1 << 20)));
    assert_eq!(large.refusal(), (413, "too_large".to_owned()));
    assert!(!large.body.contains("length limit"), "{large:?}");
    let page = std::fs::read_to_string(format!("{}/docs/http.md", crate::ROOT)).unwrap();
    for code in ["bad_request", "bad_method", "no_route", "not_acceptable"] {
        assert!(page.contains(&format!("`{code}`")), "{code}");
    }
}

const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

/// Returns the first message of a client of an older revision.
fn greeting() -> Value {
    let client = json!({ "name": "Tea Client", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// INVARIANT MPS-1: at most 256 sessions are open. A new one ends the one that was idle for the longest time.
#[test]
fn the_number_of_sessions_of_the_protocol_is_limited() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let begin = || {
        let reply = server.post_with("/mcp", ACCEPT, &greeting());
        assert_eq!(reply.status, 200, "{reply:?}");
        let session = reply.value("mcp-session-id").unwrap();
        format!("{ACCEPT}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-06-18\r\n")
    };
    let sessions: Vec<_> = (0..256).map(|_| begin()).collect();
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let ask = |session: &String| server.post_with("/mcp", session, &message).status;
    assert_eq!(ask(&sessions[0]), 200);
    let new = begin();
    assert_eq!([&new, &sessions[0], &sessions[2]].map(ask), [200; 3]);
    assert_eq!(ask(&sessions[1]), 404, "it was idle for the longest time");
    // A client of the newest revision needs no session.
    assert!(server.mcp("tools/list", json!({}))["tools"].is_array());
}

/// A client of an older revision gets a session of the protocol, and a lane that no other connection has.
#[test]
fn an_older_client_has_a_session_of_its_own() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let connect = || {
        let reply = server.post_with("/mcp", ACCEPT, &greeting());
        assert_eq!(
            reply.json()["result"]["protocolVersion"],
            "2025-06-18",
            "{reply:?}"
        );
        let session = reply.value("mcp-session-id").unwrap().to_owned();
        let more = format!("{ACCEPT}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(server.post_with("/mcp", &more, &ready).status, 202);
        more
    };
    let call = |more: &str, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        server.post_with("/mcp", more, &message).json()["result"]["structuredContent"].clone()
    };
    let (one, two) = (connect(), connect());
    let session = |more: &str| text(&call(more, "memory_status", json!({}))["session"]);
    assert!(session(&one).starts_with("tea-client-"), "{}", session(&one));
    assert_ne!(session(&one), session(&two));
    call(
        &one,
        "memory_remember",
        json!({ "text": "The tea is green.", "id": "facts/tea" }),
    );
    assert!(
        call(&two, "memory_undo", json!({})).is_null(),
        "an undo of another connection"
    );
    let last = folder.json(&["log", "--limit", "1"]);
    assert_eq!(
        (&last["actor"], &last["session"]),
        (&json!("tea-client"), &json!(session(&one)))
    );
    assert!(call(&one, "memory_undo", json!({}))["root"].is_string());
    // The settings of a client may choose the session.
    let chosen = format!("{one}Treering-Session: night-run\r\n");
    assert_eq!(session(&chosen), "night-run");
    let gone = server.raw(&(server.head("DELETE", "/mcp", &one) + "\r\n"));
    assert!(gone.status < 300, "{gone:?}");
    let message = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    assert_eq!(
        server.post_with("/mcp", &one, &message).refusal(),
        (404, "no_route".to_owned())
    );
}

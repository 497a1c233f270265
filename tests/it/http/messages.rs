//! Messages at `/mcp` and arguments as models and clients really send them.

use serde_json::{Value, json};

use super::{Folder, Reply, Server};
use crate::program::text;

const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

/// Posts a body as it is to `/mcp`.
fn post(server: &Server, more: &str, body: &str) -> Reply {
    let length = body.len();
    let more = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n");
    server.raw(&(server.head("POST", "/mcp", &more) + body))
}

/// INVARIANT HTP-2: what is no valid message of `/mcp` gets an error of JSON-RPC, with the id of the message if it can be
/// read.
#[test]
fn what_is_no_message_is_answered_as_json_rpc() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let ping = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let batch = |count: usize| Value::Array((0..count).map(|id| ping(json!(id))).collect());
    for (body, code, id) in [
        (batch(101).to_string(), -32_600, None),
        (batch(2).to_string(), -32_600, None),
        ("[]".to_owned(), -32_600, None),
        (ping(json!({ "a": 1 })).to_string(), -32_600, None),
        (ping(json!(1.5)).to_string(), -32_600, None),
        (ping(json!([1])).to_string(), -32_600, None),
        ("7".to_owned(), -32_600, None),
        (
            json!({ "id": 4, "method": "ping" }).to_string(),
            -32_600,
            Some(json!(4)),
        ),
        (
            json!({ "jsonrpc": "2.0", "id": "a" }).to_string(),
            -32_600,
            Some(json!("a")),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",}".to_owned(),
            -32_700,
            Some(json!(9)),
        ),
        ("{\"id\":8,\"text\":\"\\x\"}".to_owned(), -32_700, Some(json!(8))),
        ("hello".to_owned(), -32_700, None),
        (String::new(), -32_700, None),
    ] {
        let reply = post(&server, ACCEPT, &body);
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
        let answer = reply.json();
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        assert_eq!(answer.get("id"), id.as_ref(), "{body}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    // A message that is whole but needs a session, too.
    let odd = post(
        &server,
        ACCEPT,
        &ping(json!(6))
            .to_string()
            .replace('6', "6,\"params\":{\"a\":\"\\ud83d\"}"),
    );
    assert_eq!((odd.status, &odd.json()["id"]), (400, &json!(6)), "{odd:?}");
}

/// JavaScript writes half an emoji if it cuts a text within one. The rest of the text is kept.
#[test]
fn half_an_emoji_does_not_lose_the_text() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    for (number, half) in ["tea \\ud83d", "\\ude00 tea", "tea \\uD83D\\ud83d!"]
        .into_iter()
        .enumerate()
    {
        let id = format!("facts/{number}");
        let body = format!("{{\"text\":\"{half}\",\"id\":\"{id}\"}}");
        let more = format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let reply = server.raw(&(server.head("POST", "/v1/memory_remember", &more) + &body));
        assert_eq!(reply.status, 200, "{reply:?}");
        let stored = text(&folder.json(&["get", &id])["content"]);
        assert!(
            stored.contains("tea") && stored.contains('\u{FFFD}'),
            "{stored:?}"
        );
    }
    let request = server.mcp_request(
        "tools/call",
        json!({ "name": "memory_recall", "arguments": { "query": "tea HALF" } }),
    );
    let reply = server.raw(&request.replace("HALF", "\\ud8"));
    assert_eq!(
        (reply.status, reply.json()["error"]["code"].as_i64()),
        (400, Some(-32_700)),
        "{reply:?}"
    );
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "HALF", "version": "1" },
    } });
    let reply = post(
        &server,
        ACCEPT,
        &message.to_string().replace("HALF", "half \\ud83d"),
    );
    assert_eq!((reply.status, &reply.json()["id"]), (200, &json!(7)), "{reply:?}");
}

#[test]
fn a_client_may_accept_types_by_wildcards() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" },
    } });
    for (accept, status) in [
        ("Accept: */*\r\n", 200),
        ("Accept: application/*, text/*;q=0.5\r\n", 200),
        ("Accept: application/json\r\nAccept: text/event-stream\r\n", 200),
        ("", 200),
        ("Accept: text/html\r\n", 406),
        ("Accept: */*, text/event-stream;q=0\r\n", 406),
    ] {
        let reply = server.post_with("/mcp", accept, &greeting);
        assert_eq!(reply.status, status, "{accept}: {reply:?}");
    }
}

#[test]
fn whole_numbers_are_integers_and_other_types_are_named() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &["--profile", "full"]);
    server.call(
        "memory_remember",
        &json!({ "text": "The tea is green.", "id": "facts/tea" }),
    );
    let found = server.call("memory_recall", &json!({ "query": "tea", "limit": 1.0 }));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    let listed = server.call("memory_get", &json!({ "prefix": "facts/", "limit": 5e0 }));
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(server.get("/v1/memory_recall?query=tea&limit=1.0").status, 200);
    for (operation, arguments, name) in [
        (
            "memory_recall",
            json!({ "query": "tea", "limit": 1.5 }),
            "'limit'",
        ),
        (
            "memory_recall",
            json!({ "query": "tea", "limit": "1" }),
            "'limit'",
        ),
        (
            "memory_recall",
            json!({ "query": "tea", "full": "true" }),
            "'full'",
        ),
        ("memory_recall", json!({ "query": ["tea"] }), "'query'"),
        (
            "memory_remember",
            json!({ "text": "x", "tags": "[\"a\"]" }),
            "'tags'",
        ),
        ("memory_forget", json!({ "ids": "[\"facts/tea\"]" }), "'ids'"),
        ("memory_append", json!({ "entries": "[]" }), "'entries'"),
        (
            "memory_append",
            json!({ "entries": [{ "text": 5, "speaker": "user" }] }),
            "'entries[0].text'",
        ),
    ] {
        let reply = server.post_with(&format!("/v1/{operation}"), "", &arguments);
        assert_eq!(reply.refusal(), (400, "usage".to_owned()), "{arguments}");
        let message = text(&reply.json()["error"]["message"]);
        assert!(message.contains(name), "{arguments}: {message}");
        let params = json!({ "name": operation, "arguments": arguments });
        let failed = server.mcp("tools/call", params);
        assert_eq!(failed["isError"], true);
        assert!(text(&failed["content"][0]["text"]).contains(name), "{failed}");
    }
    for file in [json!([1.0, 2.0]), json!([1, -1.0])] {
        server.mcp(
            "tools/call",
            json!({ "name": "memory", "arguments": {
            "command": "create", "path": "/memories/a", "file_text": "one\ntwo" } }),
        );
        let view = json!({ "command": "view", "path": "/memories/a", "view_range": file });
        let seen = server.mcp("tools/call", json!({ "name": "memory", "arguments": view }));
        assert!(
            seen["isError"] != true && seen.to_string().contains("two"),
            "{seen}"
        );
    }
    let request = server.mcp_request(
        "tools/call",
        json!({ "name": "memory_recall", "arguments": "{\"query\":\"tea\"}" }),
    );
    let error = server.raw(&request).json()["error"].clone();
    assert!(
        error["code"] == -32_602 && text(&error["message"]).contains("arguments"),
        "{error}"
    );
}

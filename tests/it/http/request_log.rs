//! The log of requests: a line for each, without texts and tokens.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use super::{Folder, Server};

/// INVARIANT RQL-1: a line has no query, header or body of a request but the name of the session, and a path only if it is
/// one of the server's.
#[test]
fn each_request_is_a_line_without_texts_and_tokens() {
    let folder = Folder::with_store();
    let mut server = Server::start(&folder, &["--log-requests"]);
    let lines = BufReader::new(server.child.stderr.take().unwrap()).lines();
    let body = json!({ "text": "The tea is green.", "id": "facts/tea" });
    assert_eq!(
        server
            .post_with("/v1/memory_remember", "Treering-Session: night\r\n", &body)
            .status,
        200
    );
    let (token, port) = (server.token.clone(), server.port);
    server.get(&format!("/v1/memory_recall?query=green&token={token}"));
    server.get(&format!("/{token}/green"));
    server.raw(&format!(
        "GET /v1/memory_status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nTreering-Session: green\r\nX-Request-Id: green {token}\r\n\r\n"
    ));
    server.mcp(
        "tools/call",
        json!({ "name": "memory_recall", "arguments": { "query": "green" } }),
    );
    let lines: Vec<String> = lines.map(Result::unwrap).take(5).collect();
    for line in &lines {
        assert!(!line.contains(&token) && !line.contains("green"), "{line}");
    }
    let lines: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shown = |line: &Value| json!([line["method"], line["path"], line["status"], line["session"]]);
    let shown: Vec<_> = lines.iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            json!(["POST", "/v1/memory_remember", 200, "night"]),
            json!(["GET", "/v1/memory_recall", 400, null]),
            json!(["GET", null, 404, null]),
            json!(["GET", "/v1/memory_status", 401, null]),
            json!(["POST", "/mcp", 200, null]),
        ]
    );
    for line in &lines {
        assert!(
            line["time"].is_string() && line["ms"].is_u64() && line["bytes"].as_u64() > Some(0),
            "{line}"
        );
    }
    assert!(lines[0]["id"].is_string() && lines[3]["id"].is_null());
}

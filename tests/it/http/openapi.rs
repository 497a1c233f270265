//! The document of the JSON API: it names every operation of the table and nothing else.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Folder, Server};
use crate::program::text;

/// Returns every `$ref` in a document.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|one| references(one, found)),
        Value::Object(map) => {
            found.extend(map.get("$ref").map(text));
            map.values().for_each(|one| references(one, found));
        }
        _ => {}
    }
}

#[test]
fn the_document_has_each_operation_of_the_profile() {
    let folder = Folder::with_store();
    for (profile, count) in [("minimal", 4), ("default", 8), ("full", 17)] {
        let server = Server::start(&folder, &["--profile", profile]);
        let document = server.get("/openapi.json").json();
        assert_eq!(document["openapi"], "3.1.0");
        let paths = document["paths"].as_object().unwrap();
        let operations: BTreeSet<&str> = paths
            .keys()
            .filter_map(|path| path.strip_prefix("/v1/"))
            .collect();
        assert_eq!((operations.len(), paths.len()), (count, count + 3));
        // Only MCP offers the memory tool, whose answers are texts for one kind of model.
        let tools = server.mcp("tools/list", json!({}))["tools"]
            .as_array()
            .unwrap()
            .clone();
        let tools: BTreeSet<String> = tools
            .iter()
            .map(|tool| text(&tool["name"]))
            .filter(|name| name != "memory")
            .collect();
        assert_eq!(operations, tools.iter().map(String::as_str).collect());
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() >= 3);
        for reference in found {
            assert!(
                document.pointer(reference.trim_start_matches('#')).is_some(),
                "{reference}"
            );
        }
        for (path, methods) in paths {
            for (method, about) in methods.as_object().unwrap() {
                let reply = server.raw(
                    &(server.head(
                        &method.to_uppercase(),
                        path,
                        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n",
                    ) + "{}"),
                );
                assert!(
                    !matches!(reply.status, 405 | 415 | 500) && !reply.body.contains("no_route"),
                    "{method} {path}: {reply:?}"
                );
                assert!(
                    about["responses"][reply.status.to_string()].is_object(),
                    "{method} {path}: {reply:?}"
                );
            }
        }
    }
}

#[test]
fn a_request_body_says_what_is_allowed() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let document = server.get("/openapi.json").json();
    let schema = &document["paths"]["/v1/memory_recall"]["post"]["requestBody"]["content"]["application/json"]
        ["schema"];
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], json!(["query"]));
    assert_eq!(schema["properties"]["limit"]["type"], json!(["integer", "null"]));
    let undo =
        &document["paths"]["/v1/memory_undo"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(
        undo["properties"]["action"]["anyOf"][1],
        json!({ "type": "null" })
    );
    assert_eq!(
        server.refused("memory_undo", &json!({ "action": null })).1,
        "nothing_to_undo"
    );
    // What the schema allows and forbids, the operation does.
    for (arguments, status) in [
        (json!({ "query": "tea", "limit": null, "cursor": null }), 200),
        (json!({ "query": "tea", "limit": u64::MAX }), 200),
        (json!({ "query": "tea", "limit": -1 }), 400),
        (json!({ "query": "tea", "limit": "3" }), 400),
        (json!({ "query": "tea", "more": 1 }), 400),
        (json!({ "query": "tea", "more": null }), 400),
        (json!({ "query": null }), 400),
        (json!({ "limit": 3 }), 400),
        (json!({ "query": "tea", "scope": "project:other" }), 400),
        (json!({ "query": "tea", "cursor": 5 }), 400),
        (json!({ "query": "tea", "at": "snap:5" }), 404),
        (json!({ "query": "tea", "since": "yesterdayish" }), 422),
        (json!([]), 400),
        (json!("tea"), 400),
    ] {
        let reply = server.post_with("/v1/memory_recall", "", &arguments);
        assert_eq!(reply.status, status, "{arguments}: {reply:?}");
    }
}

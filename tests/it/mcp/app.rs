//! The inbox as an app: clients that show apps get its page and its tool, and others do not.

use serde_json::{Value, json};

use super::Client;
use crate::program::{Folder, text};

const URI: &str = "ui://treering/inbox";
const MIME: &str = "text/html;profile=mcp-app";

/// Starts a server, and greets it as a client with these extensions.
fn greeted(folder: &Folder, options: &[&str], extensions: &Value) -> Client {
    let mut client = Client::spawn_for_model(folder, options);
    let about = json!({ "name": "Chat", "version": "1" });
    let capabilities = json!({ "extensions": extensions });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": about });
    client.ask("initialize", params);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    client
}

fn shows_apps() -> Value {
    json!({ "io.modelcontextprotocol/ui": { "mimeTypes": [MIME] } })
}

fn tool(client: &mut Client) -> Option<Value> {
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let mut found = tools.into_iter().filter(|tool| tool["name"] == "memory_inbox");
    let first = found.next();
    assert_eq!(found.next(), None);
    first
}

fn is_listed(client: &mut Client) -> bool {
    let listed = client.ask("resources/list", json!({}));
    let resources = listed["result"]["resources"].as_array().unwrap().clone();
    resources.iter().any(|resource| resource["uri"] == URI)
}

/// INVARIANT UIA-1: the policy of the page allows its own script and style only, and no request.
#[test]
fn a_client_that_shows_apps_gets_the_inbox() {
    let folder = Folder::with_store();
    for options in [&[][..], &["--profile", "full"]] {
        let mut client = greeted(&folder, options, &shows_apps());
        let tool = tool(&mut client).unwrap();
        assert_eq!(tool["_meta"]["ui"]["resourceUri"], URI, "{tool}");
        assert!(is_listed(&mut client));
        let read = client.ask("resources/read", json!({ "uri": URI }));
        let page = read["result"]["contents"][0].clone();
        assert_eq!((&page["uri"], &page["mimeType"]), (&json!(URI), &json!(MIME)));
        let rules = &page["_meta"]["ui"]["csp"];
        assert_eq!(
            (&rules["connectDomains"], &rules["resourceDomains"]),
            (&json!([]), &json!([]))
        );
        let html = text(&page["text"]);
        assert!(
            html.contains("default-src 'none'") && !html.contains("http://") && !html.contains("https://")
        );
        client.told("memory_remember", json!({ "text": "The office is in Bergen." }));
        let inbox = client.call("memory_inbox", json!({}));
        assert_eq!(
            inbox["learned"]["items"][0]["text"], "The office is in Bergen.",
            "{inbox}"
        );
        // The page marks its requests, and gets structured content.
        let asked =
            json!({ "name": "memory_status", "arguments": {}, "_meta": { "treering/structured": true } });
        let answer = client.ask("tools/call", asked);
        assert!(answer["result"]["structuredContent"].is_object(), "{answer}");
        let answer = client.result("memory_status", json!({}));
        assert!(answer["structuredContent"].is_null(), "{answer}");
    }
}

#[test]
fn other_clients_get_no_app() {
    let folder = Folder::with_store();
    for extensions in [
        json!({}),
        json!({ "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html"] } }),
    ] {
        let mut client = greeted(&folder, &[], &extensions);
        assert_eq!(tool(&mut client), None);
        assert!(!is_listed(&mut client));
        let refused = client.ask("tools/call", json!({ "name": "memory_inbox", "arguments": {} }));
        assert!(refused["error"].is_object(), "{refused}");
    }
}

//! Several servers on one store, and servers that are killed.

use std::collections::BTreeSet;
use std::thread;

use serde_json::json;

use super::{Client, Folder};
use crate::program::text;

const SERVERS: usize = 8;
const ROUNDS: usize = 6;

/// Returns the number of texts that each server stores. `TREERING_MCP_REMEMBERS` sets it for a long run.
fn remembers() -> usize {
    let wanted = std::env::var("TREERING_MCP_REMEMBERS").ok();
    wanted.map_or(50, |wanted| wanted.parse().unwrap())
}

#[test]
fn eight_servers_share_a_store_and_lose_nothing() {
    let folder = Folder::with_store();
    let each = remembers();
    let store = |server: usize| {
        let mut client = Client::start(&folder, &[]);
        for number in 0..each {
            client.remember(&format!("Server {server} stores its fact number {number}."));
        }
        client
    };
    let mut clients: Vec<Client> = thread::scope(|scope| {
        let running: Vec<_> = (0..SERVERS)
            .map(|server| scope.spawn(move || store(server)))
            .collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let sessions: BTreeSet<String> = clients
        .iter_mut()
        .map(|client| {
            let status = client.call("memory_status", json!({}));
            assert_eq!(status["objects"], SERVERS * each);
            text(&status["session"])
        })
        .collect();
    assert_eq!(
        sessions.len(),
        SERVERS,
        "each connection has a session of its own"
    );
    // Each server finds the last fact of every other.
    for client in &mut clients {
        for server in 0..SERVERS {
            let (shown, _) = client.recall(&format!("server {server} fact number {}", each - 1));
            assert!(
                shown.contains(&format!("Server {server} stores its fact number {}.", each - 1)),
                "{shown}"
            );
        }
    }
    for client in clients {
        assert_eq!(client.end().0, Some(0));
    }
    let texts: BTreeSet<String> = folder
        .stream(&["export"])
        .iter()
        .map(|line| text(&line["content"]))
        .collect();
    assert_eq!(texts.len(), SERVERS * each);
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

#[test]
fn a_killed_server_has_stored_every_text_that_it_acknowledged() {
    let folder = Folder::with_store();
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let mut client = Client::start(&folder, &[]);
        for number in 0..40 {
            let arguments = json!({ "text": format!("Round {round} fact {number}."), "id": format!("r{round}/{number}") });
            let params = json!({ "name": "memory_remember", "arguments": arguments });
            client.send(
                &json!({ "jsonrpc": "2.0", "id": 500 + number, "method": "tools/call", "params": params })
                    .to_string(),
            );
        }
        for _ in 0..3 + round * 5 {
            let answer = client.receive();
            acknowledged.insert(text(&answer["result"]["structuredContent"]["id"]));
        }
        client.kill();
    }
    let stored: BTreeSet<String> = folder
        .stream(&["list"])
        .iter()
        .map(|line| text(&line["id"]))
        .collect();
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(acknowledged.len() >= ROUNDS * 3);
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

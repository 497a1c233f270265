//! A server with a token for each client: who writes as whom, within which scopes, and what each takes back.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::super::program::text;
use super::{Folder, Reply, Server};

/// Adds a client to the file `team.json`, and returns its token.
fn add(folder: &Folder, name: &str, options: &[&str]) -> String {
    let arguments = [&["token", "add", "team.json", name], options].concat();
    text(&folder.json(&arguments)["token"])
}

/// Calls an operation as the client of a token.
fn call(server: &mut Server, token: &str, operation: &str, arguments: &Value) -> Reply {
    token.clone_into(&mut server.token);
    server.post_with(&format!("/v1/{operation}"), "", arguments)
}

fn done(server: &mut Server, token: &str, operation: &str, arguments: &Value) -> Value {
    let reply = call(server, token, operation, arguments);
    assert_eq!(reply.status, 200, "{operation} {arguments}: {reply:?}");
    reply.json()
}

#[test]
fn each_client_writes_as_its_actor_and_takes_back_its_own_work() {
    let folder = Folder::with_store();
    let vera = add(&folder, "vera", &["--trust-cap", "model"]);
    let bob = add(
        &folder,
        "bob",
        &["--actor", "robert", "--trust-cap", "tool_external"],
    );
    let boss = add(&folder, "boss", &["--takes-back", "all"]);
    let server = &mut Server::start(&folder, &["--tokens", "team.json", "--profile", "full"]);
    assert!(server.listens["token"].is_null());
    // INVARIANT CLI-1: the actor, the session and the class are those of the token.
    let remember = |id: &str| json!({ "text": format!("The {id} opens at nine."), "id": id });
    done(server, &vera, "memory_remember", &remember("library"));
    done(server, &bob, "memory_remember", &remember("harbour"));
    let commits = folder.stream(&["log", "--limit", "2"]);
    let who = |commit: &Value| [text(&commit["actor"]), text(&commit["trust"])];
    assert_eq!(who(&commits[1]), ["vera", "model"]);
    assert_eq!(who(&commits[0]), ["robert", "tool_external"]);
    let session = text(&commits[1]["session"]);
    assert!(session.starts_with("vera/"), "{session}");
    // Nobody gets into the session of another client by its name.
    server.token.clone_from(&bob);
    let other = server.post_with("/v1/memory_undo", "Treering-Session: x\r\n", &json!({}));
    assert_eq!(other.refusal().0, 404, "{other:?}");
    // INVARIANT CLI-2.
    let revert = json!({ "action": "revert", "session": session });
    assert_ne!(call(server, &bob, "memory_undo", &revert).status, 200);
    let back = json!({ "action": "rollback", "to": "seq:0", "others": true });
    for token in [&vera, &bob] {
        let refused = call(server, token, "memory_undo", &back).refusal();
        assert_eq!(refused.1, "other_lanes");
    }
    assert_eq!(folder.json(&["head"])["objects"], 2);
    let own = done(server, &vera, "memory_undo", &json!({ "action": "revert" }));
    assert_eq!(own["reverted"][0]["id"], "library");
    done(server, &boss, "memory_undo", &back);
    assert_eq!(folder.json(&["head"])["objects"], 0);
}

#[test]
fn a_client_stays_in_its_scopes_on_its_fork_and_reads_only_if_its_token_says_so() {
    let folder = Folder::with_store();
    folder.json(&["fork", "draft"]);
    let tea = add(
        &folder,
        "tea",
        &["--scope", "project:tea", "--scope", "project:cups"],
    );
    let board = add(&folder, "board", &["--read-only"]);
    let writer = add(&folder, "writer", &["--fork", "draft"]);
    let server = &mut Server::start(&folder, &["--tokens", "team.json", "--profile", "full"]);
    done(
        server,
        &tea,
        "memory_remember",
        &json!({ "text": "Tea is green.", "id": "tea" }),
    );
    done(
        server,
        &writer,
        "memory_remember",
        &json!({ "text": "A draft of the plan.", "id": "plan" }),
    );
    assert_eq!(folder.json(&["get", "tea"])["scope"], "project:tea");
    assert_eq!(folder.json(&["get", "plan", "--fork", "draft"])["id"], "plan");
    assert_eq!(folder.run(&["get", "plan"]).code, 1);
    // INVARIANT CLI-3.
    let root = folder.root();
    for (operation, arguments) in [
        ("memory_remember", json!({ "text": "Written." })),
        ("memory_undo", json!({})),
        ("memory_fork", json!({ "name": "mine" })),
        ("memory_snapshot", json!({ "name": "mine" })),
    ] {
        let refused = call(server, &board, operation, &arguments).refusal();
        assert_eq!(refused, (403, "read_only".to_owned()), "{operation}");
    }
    let seen = done(server, &board, "memory_recall", &json!({ "query": "tea" }));
    assert!(seen["hits"].is_array(), "{seen}");
    assert_eq!(folder.root(), root);
    // The metrics name the clients, and only a client of the whole store reads them.
    server.token.clone_from(&tea);
    assert_eq!(server.get("/metrics").status, 403);
    server.token.clone_from(&board);
    let metrics = server.get("/metrics").body;
    for line in [
        "treering_requests_total{operation=\"memory_remember\",code=\"ok\",client=\"tea\"} 1",
        "treering_requests_total{operation=\"memory_undo\",code=\"read_only\",client=\"board\"} 1",
        "treering_request_duration_seconds_count{operation=\"memory_recall\"} 1",
        "treering_quarantine_waiting 0",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[test]
fn the_file_holds_no_token_and_a_revoked_one_opens_nothing() {
    let folder = Folder::with_store();
    let token = add(&folder, "vera", &[]);
    let file = folder.path("team.json");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(!written.contains(&token));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let twice = folder.run(&["token", "add", "team.json", "vera", "--json"]);
    assert_eq!(twice.code, 1, "{twice:?}");
    let bad = folder.run(&["token", "add", "team.json", "a/b", "--json"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    let server = &mut Server::start(&folder, &["--tokens", "team.json"]);
    done(server, &token, "memory_status", &json!({}));
    assert_eq!(call(server, "0000", "memory_status", &json!({})).status, 401);
    // The running server follows the file.
    let late = add(&folder, "late", &[]);
    done(server, &late, "memory_status", &json!({}));
    assert_eq!(
        folder.json(&["token", "revoke", "team.json", "vera"])["revoked"],
        "vera"
    );
    assert_eq!(call(server, &token, "memory_status", &json!({})).status, 401);
    assert_eq!(folder.stream(&["token", "list", "team.json"]).len(), 1);
    // INVARIANT TKC-1, TKC-3: a file that others can write admits nobody.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(call(server, &late, "memory_status", &json!({})).status, 401);
    let refused = folder.run(&["token", "list", "team.json", "--json"]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.err.contains("\"refused\""), "{refused:?}");
}

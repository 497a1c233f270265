//! A server with a token for each client: who writes as whom, within which scopes, and what each takes back.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::super::program::{column, text};
use super::{Folder, Reply, Server};

/// The lines of the head that a client of MCP sends.
const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

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
fn the_list_of_clients_is_in_words() {
    let folder = Folder::with_store();
    let scopes = ["--scope", "project:tea", "--scope", "global", "--read-only"];
    add(&folder, "vera", &scopes);
    let listed = folder.run(&["token", "list", "team.json"]).out;
    assert!(
        listed.contains("  project:tea, global  model  read-only  "),
        "{listed}"
    );
    for arguments in [
        &["serve", "--http", "127.0.0.1:0", "--tokens", "none.json"][..],
        &["token", "list", "none.json"],
        &["token", "revoke", "none.json", "vera"],
    ] {
        let refused = folder.refused(1, arguments);
        assert_eq!(refused["code"], "not_found");
        assert!(
            text(&refused["message"]).starts_with("the file of tokens none.json"),
            "{refused}"
        );
    }
    assert!(!folder.path("none.json.lock").exists());
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
    // INVARIANT TMC-1: the actor, the session and the class are those of the token.
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
    // INVARIANT TMC-2.
    let revert = json!({ "action": "revert", "session": session });
    assert_ne!(call(server, &bob, "memory_undo", &revert).status, 200);
    let back = json!({ "action": "rollback", "to": "seq:0", "others": true });
    for token in [&vera, &bob] {
        let refused = call(server, token, "memory_undo", &back).refusal();
        assert_eq!(refused.1, "other_lanes");
    }
    // The hint names only what this token permits, and no session of another client.
    for (more, status) in [(json!({}), 403), (json!({ "dry_run": true }), 200)] {
        let mut asked = json!({ "action": "rollback", "to": "seq:0" });
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let reply = call(server, &vera, "memory_undo", &asked);
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(
            !reply.body.contains("bob") && !reply.body.contains("others: true"),
            "{reply:?}"
        );
    }
    assert_eq!(folder.json(&["head"])["objects"], 2);
    let own = done(server, &vera, "memory_undo", &json!({ "action": "revert" }));
    assert_eq!(own["reverted"][0]["id"], "library");
    done(server, &boss, "memory_undo", &back);
    assert_eq!(folder.json(&["head"])["objects"], 0);
}

/// INVARIANT TMC-2: a client brings back only what its own actor forgot.
#[test]
fn a_client_brings_back_what_its_own_actor_forgot() {
    let folder = Folder::with_store();
    let tokens = ["vera", "bob"].map(|name| add(&folder, name, &[]));
    let boss = add(&folder, "boss", &["--takes-back", "all"]);
    let server = &mut Server::start(&folder, &["--tokens", "team.json", "--profile", "full"]);
    let forget = |server: &mut Server, token: &str, id: &str| {
        let item = json!({ "text": format!("The {id} opens at nine."), "id": id });
        done(server, token, "memory_remember", &item);
        done(server, token, "memory_forget", &json!({ "ids": [id] }));
    };
    let [vera, bob] = &tokens;
    forget(server, vera, "library");
    forget(server, bob, "harbour");
    forget(server, bob, "museum");
    let refused = call(server, bob, "memory_unforget", &json!({ "ids": ["library"] })).refusal();
    assert_eq!(refused, (403, "other_lanes".to_owned()));
    let back = |server: &mut Server, token: &str| {
        let back = done(server, token, "memory_unforget", &json!({}));
        text(&back["restored"][0]["id"])
    };
    assert_eq!(back(server, vera), "library");
    let refused = call(server, vera, "memory_unforget", &json!({})).refusal();
    assert_eq!(refused, (403, "other_lanes".to_owned()));
    let own = done(server, bob, "memory_unforget", &json!({ "ids": ["harbour"] }));
    assert_eq!(own["restored"][0]["id"], "harbour");
    assert_eq!(back(server, &boss), "museum");
    // What was undone is done again.
    done(server, bob, "memory_undo", &json!({}));
    assert_eq!(folder.run(&["get", "harbour"]).code, 1);
    done(server, bob, "memory_undo", &json!({ "action": "redo" }));
    assert_eq!(folder.run(&["get", "harbour"]).code, 0);
}

/// INVARIANT TMC-1: no two clients have a session in common, also those of one actor.
#[test]
fn two_tokens_of_an_actor_have_sessions_of_their_own() {
    let folder = Folder::with_store();
    let writer = add(&folder, "writer", &["--actor", "vera"]);
    let reader = add(&folder, "reader", &["--actor", "vera", "--read-only"]);
    let server = &mut Server::start(&folder, &["--tokens", "team.json"]);
    for (token, session) in [(&writer, "writer/shared"), (&reader, "reader/shared")] {
        server.token.clone_from(token);
        let status = server.post_with("/v1/memory_status", "Treering-Session: shared\r\n", &json!({}));
        assert_eq!(status.json()["session"], session, "{status:?}");
    }
    done(
        server,
        &writer,
        "memory_remember",
        &json!({ "text": "Tea is green." }),
    );
    let commit = &folder.stream(&["log", "--limit", "1"])[0];
    assert_eq!(commit["actor"], "vera");
    assert!(text(&commit["session"]).starts_with("writer/"), "{commit}");
}

/// INVARIANT TMC-3: a client that only reads lists, searches and previews, and changes no reference either.
#[test]
fn a_client_that_only_reads_may_ask_what_would_happen() {
    let folder = Folder::with_store();
    folder.json(&["fork", "draft"]);
    let vera = add(&folder, "vera", &[]);
    let options = ["--read-only", "--trust-cap", "tool_external"];
    let board = add(&folder, "board", &options);
    let plain = add(&folder, "plain", &["--read-only"]);
    let branch = add(&folder, "branch", &[&options[..], &["--fork", "draft"]].concat());
    let server = &mut Server::start(&folder, &["--tokens", "team.json", "--profile", "full"]);
    done(server, &vera, "memory_note", &json!({ "text": "Buy tea." }));
    let item = json!({ "text": "The library opens at nine.", "id": "library" });
    done(server, &vera, "memory_remember", &item);
    let state = || (folder.root(), folder.stream(&["log", "--refs"]));
    let before = state();
    for (token, operation, arguments) in [
        (&board, "memory_note", json!({ "action": "list" })),
        (
            &board,
            "memory_note",
            json!({ "action": "search", "text": "tea" }),
        ),
        (
            &board,
            "memory_undo",
            json!({ "action": "rollback", "to": "seq:0", "dry_run": true }),
        ),
        (
            &board,
            "memory_undo",
            json!({ "action": "revert", "session": "x", "dry_run": true }),
        ),
        (
            &board,
            "memory_forget",
            json!({ "tags": ["tea"], "dry_run": true }),
        ),
        (
            &branch,
            "memory_merge",
            json!({ "name": "main", "dry_run": true }),
        ),
    ] {
        let reply = call(server, token, operation, &arguments);
        let is_refused = reply.status == 403 && reply.refusal().1 != "less_trusted";
        assert!(!is_refused, "{operation} {arguments}: {reply:?}");
    }
    let gone = json!({ "ids": ["library"], "dry_run": true });
    let gone = done(server, &plain, "memory_forget", &gone);
    assert_eq!(gone["forgotten"][0]["id"], "library");
    let noted = done(server, &board, "memory_note", &json!({ "action": "list" }));
    assert_eq!(noted["notes"].as_array().unwrap().len(), 1);
    for (operation, arguments) in [
        ("memory_note", json!({ "text": "Written." })),
        (
            "memory_note",
            json!({ "action": "delete", "id": noted["notes"][0]["id"] }),
        ),
        ("memory_forget", json!({ "ids": ["library"] })),
        ("memory_merge", json!({ "name": "main" })),
        ("memory_unforget", json!({})),
    ] {
        let refused = call(server, &board, operation, &arguments).refusal();
        assert_eq!(refused, (403, "read_only".to_owned()), "{operation}");
    }
    assert_eq!(state(), before);
}

/// A token opens the fork of its first call, and none that gets its name later.
#[test]
fn a_token_opens_no_later_fork_of_the_name() {
    let folder = Folder::with_store();
    folder.json(&["fork", "draft"]);
    let writer = add(&folder, "writer", &["--fork", "draft"]);
    let server = &mut Server::start(&folder, &["--tokens", "team.json"]);
    done(
        server,
        &writer,
        "memory_remember",
        &json!({ "text": "Tea is green." }),
    );
    folder.json(&["fork", "--drop", "draft", "--unmerged"]);
    folder.json(&["fork", "draft"]);
    for operation in ["memory_status", "memory_recall"] {
        let arguments = json!({ "query": "tea" });
        let arguments = if operation == "memory_status" {
            json!({})
        } else {
            arguments
        };
        let refused = call(server, &writer, operation, &arguments).refusal();
        assert_eq!(refused, (404, "no_fork".to_owned()));
    }
    folder.json(&["token", "revoke", "team.json", "writer"]);
    let writer = add(&folder, "writer", &["--fork", "draft"]);
    done(
        server,
        &writer,
        "memory_remember",
        &json!({ "text": "Coffee is black.", "id": "coffee" }),
    );
    assert_eq!(folder.json(&["get", "coffee", "--fork", "draft"])["id"], "coffee");
    assert_eq!(folder.run(&["get", "coffee"]).code, 1);
}

/// A store that takes the place of another one is used on the forks of clients, too.
#[test]
fn the_fork_of_a_client_is_that_of_the_store_in_its_place() {
    let folder = Folder::with_store();
    folder.json(&["fork", "draft"]);
    let writer = add(&folder, "writer", &["--fork", "draft"]);
    let server = &mut Server::start(&folder, &["--tokens", "team.json"]);
    let remember = |id: &str| json!({ "text": format!("The {id} opens at nine."), "id": id });
    done(server, &writer, "memory_remember", &remember("library"));
    let (store, copy) = (folder.store(), folder.path("copy"));
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([&store, &copy])
        .status();
    assert!(copied.unwrap().success());
    std::fs::rename(&store, folder.path("old")).unwrap();
    std::fs::rename(&copy, &store).unwrap();
    done(server, &writer, "memory_remember", &remember("harbour"));
    for id in ["library", "harbour"] {
        assert_eq!(folder.json(&["get", id, "--fork", "draft"])["id"], id);
    }
}

/// Over MCP, a token says who writes, too, and each message of a session of the protocol has its own.
#[test]
fn a_token_says_over_mcp_who_writes() {
    let folder = Folder::with_store();
    folder.json(&["fork", "draft"]);
    let vera = add(&folder, "vera", &[]);
    let bob = add(
        &folder,
        "bob",
        &["--fork", "draft", "--trust-cap", "tool_external"],
    );
    let board = add(&folder, "board", &["--read-only"]);
    let server = &mut Server::start(&folder, &["--tokens", "team.json"]);
    let told = |server: &mut Server, token: &str, tool: &str, arguments: &Value| {
        token.clone_into(&mut server.token);
        server.mcp("tools/call", json!({ "name": tool, "arguments": arguments }))
    };
    let item = |id: &str| json!({ "text": format!("The {id} opens at nine."), "id": id });
    told(server, &vera, "memory_remember", &item("library"));
    told(server, &bob, "memory_remember", &item("harbour"));
    let refused = told(server, &board, "memory_remember", &item("museum"));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().contains("read_only"), "{refused}");
    let newest = |options: &[&str]| folder.stream(&[&["log", "--limit", "1"], options].concat())[0].clone();
    for (commit, actor, trust) in [
        (newest(&[]), "vera", "model"),
        (newest(&["--fork", "draft"]), "bob", "tool_external"),
    ] {
        assert_eq!(
            (text(&commit["actor"]), text(&commit["trust"])),
            (actor.to_owned(), trust.to_owned())
        );
        assert!(
            text(&commit["session"]).starts_with(&format!("{actor}/")),
            "{commit}"
        );
    }
    assert_eq!(folder.run(&["get", "harbour"]).code, 1);
    // A session of an older revision belongs to nobody: each message has the lane of its token.
    server.token.clone_from(&vera);
    let client = json!({ "name": "Tea Client", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let hello = server.post_with("/mcp", ACCEPT, &hello);
    let id = hello.value("mcp-session-id").unwrap();
    let more = format!("{ACCEPT}Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.post_with("/mcp", &more, &ready).status, 202);
    let params = json!({ "name": "memory_status", "arguments": {} });
    let ask = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    for (token, lane, fork) in [
        (&vera, "vera/tea-client-", Value::Null),
        (&bob, "bob/tea-client-", json!("draft")),
    ] {
        server.token.clone_from(token);
        let status = server.post_with("/mcp", &more, &ask).json();
        let status = &status["result"]["structuredContent"];
        assert!(text(&status["session"]).starts_with(lane), "{status}");
        assert_eq!(status["fork"], fork);
    }
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
    // INVARIANT TMC-3.
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
    // Standard output has nothing but the token, so a shell can take it.
    let plain = folder.run(&["token", "add", "team.json", "plain"]);
    let shown = plain.out.trim_end();
    assert!(
        shown.len() == 64 && plain.err.contains("added plain"),
        "{plain:?}"
    );
    folder.json(&["token", "revoke", "team.json", "plain"]);
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

/// INVARIANT TKC-4: no change of the file is lost to another one at the same time.
#[test]
fn clients_are_added_and_removed_at_the_same_time() {
    let folder = Folder::with_store();
    let names = |kind: &str| (0..6).map(|number| format!("{kind}{number}")).collect::<Vec<_>>();
    for name in names("old") {
        add(&folder, &name, &[]);
    }
    let start = |arguments: &[&str]| {
        let mut command = folder.command(&[&["token"], arguments].concat());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let added: Vec<_> = names("new")
        .iter()
        .map(|name| start(&["add", "team.json", name]))
        .collect();
    let revoked = names("old");
    let revoked = revoked.iter().map(|name| start(&["revoke", "team.json", name]));
    let revoked: Vec<_> = revoked.collect();
    for mut child in added.into_iter().chain(revoked) {
        assert!(child.wait().unwrap().success());
    }
    let mut left = column(&folder.stream(&["token", "list", "team.json"]), "name");
    left.sort();
    assert_eq!(left, names("new"));
}

/// INVARIANT TKC-3: a file that cannot be read admits nobody, and the person is told why, once.
#[test]
fn a_file_that_cannot_be_read_is_told_once() {
    let folder = Folder::with_store();
    let token = add(&folder, "vera", &[]);
    let file = folder.path("team.json");
    let good = std::fs::read(&file).unwrap();
    let server = &mut Server::start(&folder, &["--tokens", "team.json"]);
    for bad in ["{", "[]"] {
        std::fs::write(&file, bad).unwrap();
        for _ in 0..3 {
            assert_eq!(call(server, &token, "memory_status", &json!({})).status, 401);
        }
    }
    std::fs::write(&file, good).unwrap();
    done(server, &token, "memory_status", &json!({}));
    server.signal("-TERM");
    let mut told = String::new();
    std::io::Read::read_to_string(server.child.stderr.as_mut().unwrap(), &mut told).unwrap();
    assert_eq!(told.matches("\"warning\"").count(), 2, "{told}");
}

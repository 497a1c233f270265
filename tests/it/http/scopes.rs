//! Sessions of one server with different scopes.

use serde_json::{Value, json};

use super::{Folder, Reply, Server};

fn post(server: &Server, session: &str, operation: &str, arguments: &Value) -> Reply {
    let more = format!("Treering-Session: {session}\r\n");
    server.post_with(&format!("/v1/{operation}"), &more, arguments)
}

/// INVARIANT STN-5: the undo, redo, rollback, restore and revert of a writer that is confined to scopes change no object
/// of another scope.
#[test]
fn each_session_takes_back_in_its_own_scope_and_in_no_other() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &["--scope", "session", "--profile", "full"]);
    // Whoever calls first decides nothing for the other one.
    for session in ["ann", "bob"] {
        let id = format!("{session}/tea");
        let done = |operation: &str, arguments: Value| {
            let reply = post(&server, session, operation, &arguments);
            assert_eq!(reply.status, 200, "{session} {operation} {arguments}: {reply:?}");
            reply.json()
        };
        done(
            "memory_remember",
            json!({ "text": format!("Tea of {session}."), "id": id }),
        );
        assert_eq!(done("memory_undo", json!({}))["removed"], 1);
        assert_eq!(done("memory_undo", json!({ "action": "redo" }))["added"], 1);
        done("memory_forget", json!({ "ids": [id] }));
        assert_eq!(
            done("memory_unforget", json!({ "ids": [id] }))["restored"][0]["id"],
            id
        );
    }
    let root = folder.root();
    for (session, other) in [("ann", "bob"), ("bob", "ann")] {
        for arguments in [
            json!({ "action": "revert", "session": other }),
            json!({ "action": "rollback", "to": "seq:0", "others": true }),
        ] {
            let reply = post(&server, session, "memory_undo", &arguments);
            assert_eq!(
                reply.refusal(),
                (403, "other_scope".to_owned()),
                "{session}: {reply:?}"
            );
            assert!(!reply.body.contains("/tea"), "{reply:?}");
        }
    }
    assert_eq!(folder.root(), root);
    for session in ["bob", "ann"] {
        let reply = post(&server, session, "memory_undo", &json!({ "action": "revert" }));
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["reverted"][0]["id"], format!("{session}/tea"));
    }
}

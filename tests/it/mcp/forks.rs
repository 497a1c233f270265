//! Forks and merges for a client: the host chooses the fork of a server, and a model makes and merges forks.

use serde_json::{Value, json};

use super::{Client, Folder};
use crate::program::text;

fn orchestrator(folder: &Folder) -> Client {
    Client::start(folder, &["--profile", "full"])
}

#[test]
fn a_sub_agent_works_in_the_fork_that_the_host_chose() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    main.remember("The office is in Oslo.");
    let made = main.call("memory_fork", json!({ "name": "task-7" }));
    assert_eq!(
        (text(&made["name"]), text(&made["trust_cap"])),
        ("task-7".into(), "model".into())
    );
    assert_eq!(
        main.refused("memory_fork", json!({ "name": "task-7" }))["code"],
        "name_taken"
    );

    let mut agent = Client::start(&folder, &["--fork", "task-7", "--session", "task-7"]);
    assert_eq!(agent.call("memory_status", json!({}))["fork"], "task-7");
    assert!(main.call("memory_status", json!({}))["fork"].is_null());
    let id = agent.remember("The harbour is in Bergen.");
    assert_eq!(agent.recall("where is the office").1.len(), 1);
    assert_eq!(agent.recall("where is the harbour").1, [id.as_str()]);
    assert!(!main.recall("where is the harbour").1.contains(&id));

    let root = main.call("memory_status", json!({}))["root"].clone();
    let preview = main.call("memory_merge", json!({ "name": "task-7", "dry_run": true }));
    assert_eq!(
        (
            &preview["added"],
            &preview["dry_run"],
            &preview["changes"][0]["id"]
        ),
        (&json!(1), &json!(true), &json!(id))
    );
    assert_eq!(main.call("memory_status", json!({}))["root"], root);
    let merged = main.call("memory_merge", json!({ "name": "task-7" }));
    assert_eq!(
        (&merged["added"], &merged["changes"][0]["trust"]),
        (&json!(1), &json!("model"))
    );
    assert!(main.recall("where is the harbour").1.contains(&id));
    let again = main.call("memory_merge", json!({ "name": "task-7" }));
    assert_eq!(again["seq"], merged["seq"]);
    main.call("memory_undo", json!({}));
    assert!(!main.recall("where is the harbour").1.contains(&id));
}

#[test]
fn a_model_cannot_choose_its_fork() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    main.call("memory_fork", json!({ "name": "task-7" }));
    for tool in ["memory_recall", "memory_remember", "memory_merge"] {
        let refused = main.refused(tool, json!({ "fork": "task-7", "text": "x", "query": "x" }));
        assert_eq!(refused["code"], "usage", "{tool}");
    }
    // A sub-agent takes in what the main line got meanwhile.
    main.remember("The office is in Oslo.");
    let mut agent = Client::start(&folder, &["--profile", "full", "--fork", "task-7"]);
    assert!(agent.recall("office").1.is_empty());
    assert_eq!(agent.call("memory_merge", json!({ "name": "main" }))["added"], 1);
    assert_eq!(agent.recall("office").1.len(), 1);
    assert_eq!(
        agent.refused("memory_merge", json!({ "name": "none" }))["code"],
        "no_fork"
    );
    assert_eq!(
        agent.refused("memory_merge", json!({ "name": "task-7" }))["code"],
        "invalid_input"
    );
}

/// INVARIANT SRV-6: a call reads, merges and goes back to no line but that of the server, and the forks of its session.
#[test]
fn a_model_names_no_fork_but_its_own() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    main.remember("The office is in Oslo.");
    for name in ["hosts", "own"] {
        if name == "hosts" {
            folder.json(&["fork", "hosts"]);
        } else {
            main.call("memory_fork", json!({ "name": "own" }));
        }
        folder.json(&[
            "put",
            "harbour",
            "--kind",
            "fact",
            "--content",
            "Bergen",
            "--fork",
            name,
            "--trust",
            "model",
        ]);
        folder.json(&["snapshot", &format!("in-{name}"), "--fork", name]);
    }
    let uses = |revision: &str| {
        [
            ("memory_get", json!({ "at": revision })),
            ("memory_recall", json!({ "query": "harbour", "at": revision })),
            ("memory_snapshot", json!({ "action": "diff", "from": revision })),
            (
                "memory_snapshot",
                json!({ "action": "diff", "from": "@", "to": revision }),
            ),
            (
                "memory_undo",
                json!({ "action": "rollback", "to": revision, "dry_run": true }),
            ),
            (
                "memory_undo",
                json!({ "action": "rollback", "to": revision, "others": true }),
            ),
        ]
    };
    let root = folder.root();
    for (revision, code) in [
        ("fork:hosts", "no_fork"),
        ("fork:none", "no_fork"),
        ("in-hosts", "no_revision"),
        ("in-own", "no_revision"),
    ] {
        for (tool, arguments) in uses(revision) {
            assert_eq!(main.refused(tool, arguments)["code"], code, "{tool} {revision}");
        }
    }
    for uri in [
        "memory://snapshot/fork%3Ahosts",
        "memory://diff/@..fork%3Ahosts",
        "memory://snapshot/in-hosts",
    ] {
        let read = main.ask("resources/read", json!({ "uri": uri }));
        assert!(read["error"].is_object(), "{uri}: {read}");
    }
    for dry_run in [true, false] {
        let refused = main.refused("memory_merge", json!({ "name": "hosts", "dry_run": dry_run }));
        assert_eq!(refused["code"], "no_fork");
    }
    assert_eq!(folder.root(), root);
    // Its own fork is open to the session, and to no other one.
    for (tool, arguments) in &uses("fork:own")[..5] {
        main.call(tool, arguments.clone());
    }
    let mut other = orchestrator(&folder);
    assert_eq!(
        other.refused("memory_get", json!({ "at": "fork:own" }))["code"],
        "no_fork"
    );
    assert_eq!(
        other.refused("memory_merge", json!({ "name": "own" }))["code"],
        "no_fork"
    );
    // A sub-agent may name its own line, and its snapshots; the main line has another one.
    let mut agent = Client::start(&folder, &["--profile", "full", "--fork", "hosts"]);
    for revision in ["fork:hosts", "in-hosts"] {
        assert!(
            agent.call("memory_get", json!({ "at": revision }))["items"]
                .to_string()
                .contains("harbour")
        );
    }
    assert_eq!(
        agent.refused("memory_get", json!({ "at": "fork:own" }))["code"],
        "no_fork"
    );
    // The host makes another fork of the name.
    folder.json(&["fork", "--drop", "own", "--unmerged"]);
    folder.json(&["fork", "own"]);
    assert_eq!(
        main.refused("memory_get", json!({ "at": "fork:own" }))["code"],
        "no_fork"
    );
}

/// Forks that models make fill no store.
#[test]
fn a_store_has_a_limit_of_forks() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    for name in [
        "main",
        "at-1",
        "a b",
        "",
        "x\u{202e}",
        "fork:x",
        "\n",
        "snap:0",
        "12345678",
    ] {
        let refused = main.refused("memory_fork", json!({ "name": name }));
        assert_eq!(refused["code"], "invalid_input", "{name}");
    }
    for number in 0..1_000 {
        main.call("memory_fork", json!({ "name": format!("task-{number}") }));
    }
    assert_eq!(
        main.refused("memory_fork", json!({ "name": "more" }))["code"],
        "over_limit"
    );
    folder.json(&["fork", "--drop", "task-7"]);
    main.call("memory_fork", json!({ "name": "more" }));
}

#[test]
fn a_conflict_is_left_to_a_person_unless_a_rule_decides() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    let put = |client: &mut Client, id: &str, words: &str| {
        client.call("memory_remember", json!({ "text": words, "id": id }))
    };
    put(&mut main, "office", "The office is in Oslo.");
    main.call("memory_fork", json!({ "name": "task-7" }));
    let mut agent = Client::start(&folder, &["--fork", "task-7"]);
    let id = text(&put(&mut agent, "office", "The office is in Bergen.")["id"]);
    put(&mut main, "office", "The office is in Paris.");
    let by_rule = json!({ "name": "task-7", "strategy": "theirs", "dry_run": true });
    assert!(main.call("memory_merge", by_rule)["conflicts"].is_null_or_empty());
    let merged = main.call("memory_merge", json!({ "name": "task-7" }));
    assert_eq!(merged["conflicts"][0]["id"], id.as_str(), "{merged}");
    let shown = folder.stream(&["conflicts"]);
    assert_eq!(shown[0]["id"], id.as_str());
    // A model does not decide by way of the conflict object, and makes none.
    let key = text(&folder.stream(&["list", "--kind", "merge-conflict"])[0]["id"]);
    for (tool, arguments) in [
        ("memory_forget", json!({ "ids": [key] })),
        ("memory_remember", json!({ "text": "Decided.", "id": key })),
        (
            "memory_remember",
            json!({ "text": "Decided.", "id": "merge-conflict/x" }),
        ),
        (
            "memory_remember",
            json!({ "text": "Decided.", "kind": "merge-conflict" }),
        ),
    ] {
        assert_eq!(main.refused(tool, arguments)["code"], "not_owner", "{tool}");
    }
    assert_eq!(folder.stream(&["conflicts"]), shown);
    folder.json(&["forget", "--kind", "merge-conflict", "--scope", "global"]);
    assert_eq!(folder.stream(&["conflicts"]), shown);
    let wrong = json!({ "name": "task-7", "strategy": "mine" });
    assert_eq!(main.refused("memory_merge", wrong)["code"], "usage");
}

/// INVARIANT SRV-3: an answer names no untrusted id.
#[test]
fn a_merge_names_nothing_untrusted_and_a_tainted_session_makes_untrusted_forks() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    main.call("memory_fork", json!({ "name": "task-7" }));
    let mut agent = Client::start(&folder, &["--fork", "task-7"]);
    let page = json!({ "text": "The office is in Bergen.", "read_from": "https://example.org" });
    let id = text(&agent.call("memory_remember", page)["id"]);
    for dry_run in [true, false] {
        let merged = main.call("memory_merge", json!({ "name": "task-7", "dry_run": dry_run }));
        assert_eq!(merged["left_out"]["untrusted"], 1, "{merged}");
        assert!(!merged.to_string().contains(&id), "{merged}");
    }
    let mut tainted = Client::start(&folder, &["--profile", "full", "--session", "reader"]);
    tainted.call("memory_recall", json!({ "query": "office", "untrusted": true }));
    let made = tainted.call("memory_fork", json!({ "name": "task-8" }));
    assert_eq!(made["trust_cap"], "tool_external");
}

trait Emptiness {
    fn is_null_or_empty(&self) -> bool;
}

impl Emptiness for Value {
    fn is_null_or_empty(&self) -> bool {
        self.as_array().is_none_or(Vec::is_empty)
    }
}

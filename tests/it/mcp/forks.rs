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

/// Returns the calls that read a revision, and then one that goes back to it.
fn uses(revision: &str) -> [(&'static str, Value); 6] {
    let rollback = |more: &str| json!({ "action": "rollback", "to": revision, more: true });
    [
        ("memory_get", json!({ "at": revision })),
        ("memory_recall", json!({ "query": "harbour", "at": revision })),
        ("memory_snapshot", json!({ "action": "diff", "from": revision })),
        (
            "memory_snapshot",
            json!({ "action": "diff", "from": "@", "to": revision }),
        ),
        ("memory_undo", rollback("dry_run")),
        ("memory_undo", rollback("others")),
    ]
}

/// Makes a fork of the host and one of the client, and writes a fact and a snapshot in each.
fn two_forks(folder: &Folder, main: &mut Client) {
    folder.json(&["fork", "hosts"]);
    main.call("memory_fork", json!({ "name": "own" }));
    let fact = json!({ "id": "harbour", "kind": "fact", "content": "Bergen" });
    folder.write("fact", format!("{fact}\n"));
    for name in ["hosts", "own"] {
        folder.json(&["put", "--jsonl", "fact", "--fork", name, "--trust", "model"]);
        folder.json(&["snapshot", &format!("in-{name}"), "--fork", name]);
    }
}

/// INVARIANT SRV-6: a call reads, merges and goes back to no line but that of the server, and the forks of its session.
#[test]
fn a_model_names_no_fork_but_its_own() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    main.remember("The office is in Oslo.");
    two_forks(&folder, &mut main);
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
    for place in [
        "snapshot/fork%3Ahosts",
        "diff/@..fork%3Ahosts",
        "snapshot/in-hosts",
    ] {
        let read = main.ask("resources/read", json!({ "uri": format!("memory://{place}") }));
        assert!(read["error"].is_object(), "{place}: {read}");
    }
    for dry_run in [true, false] {
        let refused = main.refused("memory_merge", json!({ "name": "hosts", "dry_run": dry_run }));
        assert_eq!(refused["code"], "no_fork");
    }
    assert_eq!(folder.root(), root);
}

/// INVARIANT SRV-6: the fork that a session made is open to it, and to no other session.
#[test]
fn a_fork_is_open_to_the_session_that_made_it() {
    let folder = Folder::with_store();
    let mut main = orchestrator(&folder);
    two_forks(&folder, &mut main);
    let is_closed = |client: &mut Client, tool: &str, arguments: Value| {
        assert_eq!(client.refused(tool, arguments)["code"], "no_fork", "{tool}");
    };
    for (tool, arguments) in &uses("fork:own")[..5] {
        main.call(tool, arguments.clone());
    }
    let mut other = orchestrator(&folder);
    is_closed(&mut other, "memory_get", json!({ "at": "fork:own" }));
    is_closed(&mut other, "memory_merge", json!({ "name": "own" }));
    // A sub-agent may name its own line, and its snapshots; the main line has another one.
    let mut agent = Client::start(&folder, &["--profile", "full", "--fork", "hosts"]);
    for revision in ["fork:hosts", "in-hosts"] {
        let read = agent.call("memory_get", json!({ "at": revision }));
        assert_eq!(read["items"][0]["id"], "harbour", "{read}");
    }
    is_closed(&mut agent, "memory_get", json!({ "at": "fork:own" }));
    // The host makes another fork of the name.
    folder.json(&["fork", "--drop", "own", "--unmerged"]);
    folder.json(&["fork", "own"]);
    is_closed(&mut main, "memory_get", json!({ "at": "fork:own" }));
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
    let waits = main.call("memory_inbox", json!({}));
    assert_eq!(waits["merge_conflicts"]["total"], 1, "{waits}");
    let open = &waits["merge_conflicts"]["items"][0];
    assert_eq!(
        (&open["id"], &open["fields"]),
        (&json!(id), &merged["conflicts"][0]["fields"])
    );
    assert!(waits["waiting"].as_u64().unwrap() > 0, "{waits}");
    assert!(
        main.told("memory_inbox", json!({}))
            .contains("in conflict after a merge")
    );
    let item = main.call("memory_get", json!({ "id": id }))["items"][0].clone();
    assert_eq!(item["conflict"], merged["conflicts"][0]["fields"], "{item}");
    assert!(
        main.told("memory_get", json!({ "id": id }))
            .contains("conflict open about content")
    );
    assert_eq!(main.call("memory_status", json!({}))["merge_conflicts"], 1);
    assert!(
        main.told("memory_status", json!({}))
            .contains("conflicts after merges: 1")
    );
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
    folder.json(&["forget", "--kind", "merge-conflict"]);
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

/// INVARIANT SRV-6: a server knows the forks that it made itself, and says so. A person merges an earlier one.
#[test]
fn a_restarted_server_says_that_it_does_not_know_earlier_forks() {
    let folder = Folder::with_store();
    let start = || Client::start(&folder, &["--profile", "full", "--session", "lead"]);
    let mut lead = start();
    lead.call("memory_fork", json!({ "name": "w1" }));
    lead.call("memory_merge", json!({ "name": "w1" }));
    drop(lead);
    let refused = start().refused("memory_merge", json!({ "name": "w1" }));
    assert_eq!(refused["code"], "no_fork");
    assert!(
        text(&refused["message"]).contains("since it started"),
        "{refused}"
    );
    assert!(
        text(&refused["hint"]).contains("treering merge NAME"),
        "{refused}"
    );
    folder.json(&["merge", "w1"]);
}

trait Emptiness {
    fn is_null_or_empty(&self) -> bool;
}

impl Emptiness for Value {
    fn is_null_or_empty(&self) -> bool {
        self.as_array().is_none_or(Vec::is_empty)
    }
}

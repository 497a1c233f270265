//! Features of the memory core of Passepartout: objects with Merkle hashes, history, snapshots, rollback, and Org
//! trees. A separate test covers each of its latent defects.

use serde_json::Value;

use crate::program::{Folder, text};

const PLAN: &str = "* Plan\n:PROPERTIES:\n:ID: plan\n:END:\nWhat to do.\n** Tea\n:PROPERTIES:\n:ID: tea\n:END:\nBuy green tea.\n** No id here\nText.\n** No id here either\nText.\n";

fn digest(folder: &Folder, id: &str, field: &str) -> String {
    text(&folder.json(&["get", id])[field])
}

#[test]
fn the_same_tree_has_the_same_hash_and_another_one_another() {
    let (one, two) = (Folder::with_store(), Folder::with_store());
    for folder in [&one, &two] {
        folder.write("plan.org", PLAN);
        folder.json(&["ingest", "plan.org"]);
    }
    assert_eq!(one.root(), two.root());
    assert_eq!(
        digest(&one, "plan", "subtree_digest"),
        digest(&two, "plan", "subtree_digest")
    );
    two.write("plan.org", PLAN.replace("green", "black"));
    two.json(&["ingest", "plan.org"]);
    assert_ne!(one.root(), two.root());
}

#[test]
fn an_ingested_tree_is_found_by_the_ids_in_it() {
    let folder = Folder::with_store();
    folder.write("plan.org", PLAN);
    let told = folder.json(&["ingest", "plan.org"]);
    assert_eq!(told["roots"][0], "plan.org");
    let tea = folder.json(&["get", "tea"]);
    assert_eq!(
        (text(&tea["parent"]), text(&tea["content"]).trim().to_owned()),
        ("plan".into(), "Buy green tea.".into())
    );
    // Each node without an id gets a unique id, even if many nodes arrive in the same second. Ingesting them again
    // yields the same ids.
    let objects = folder.json(&["head"])["objects"].clone();
    assert_eq!(objects, told["objects"]);
    assert_eq!(objects, 5);
    assert_eq!(folder.json(&["ingest", "plan.org"])["unchanged"], 5);
    assert_eq!(folder.seq(), 1);
}

#[test]
fn snapshot_then_another_tree_then_rollback() {
    let folder = Folder::with_store();
    folder.write("plan.org", PLAN);
    folder.json(&["ingest", "plan.org"]);
    folder.json(&["snapshot", "good"]);
    let root = folder.root();
    folder.json(&["remove", "plan.org", "--recursive"]);
    folder.write("other.org", "* Other\n:PROPERTIES:\n:ID: other\n:END:\n");
    folder.json(&["ingest", "other.org"]);
    folder.json(&["rollback", "good"]);
    assert_eq!(folder.root(), root);
    assert_eq!(folder.json(&["get", "tea"])["id"], "tea");
    folder.refused(1, &["get", "other"]);
    // The same rollback works again later, because a rollback never changes its target.
    folder.json(&["put", "later", "--kind", "note"]);
    folder.json(&["rollback", "good"]);
    assert_eq!(folder.root(), root);
    folder.refused(1, &["rollback", "snap:17"]);
    assert_eq!(
        folder.root(),
        root,
        "a rollback to a missing snapshot changes nothing"
    );
}

#[test]
fn a_changed_child_changes_every_hash_above_it() {
    let folder = Folder::with_store();
    folder.write("plan.org", PLAN);
    folder.json(&["ingest", "plan.org"]);
    let (plan, own) = (
        digest(&folder, "plan", "subtree_digest"),
        digest(&folder, "plan", "digest"),
    );
    let root = folder.root();
    folder.json(&[
        "put",
        "tea",
        "--kind",
        "headline",
        "--parent",
        "plan",
        "--content",
        "Buy coffee.",
    ]);
    assert_ne!(digest(&folder, "plan", "subtree_digest"), plan);
    assert_eq!(digest(&folder, "plan", "digest"), own);
    assert_ne!(folder.root(), root);
}

#[test]
fn parent_and_scope_are_part_of_what_is_hashed() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    folder.put("b", "x");
    let digests = [
        &["put", "c", "--kind", "note", "--content", "x"][..],
        &["put", "c", "--kind", "note", "--content", "x", "--parent", "a"],
        &["put", "c", "--kind", "note", "--content", "x", "--parent", "b"],
        &[
            "put",
            "c",
            "--kind",
            "note",
            "--content",
            "x",
            "--parent",
            "b",
            "--scope",
            "session:1",
        ],
        // Length prefixes prevent ambiguity: the text of one field cannot be read as another field.
        &["put", "c", "--kind", "note", "--content", "x|CHILDREN:"],
        &["put", "c", "--kind", "note", "--content", "\u{fc}\u{f1}\u{ee}"],
    ]
    .map(|arguments| text(&folder.json(arguments)["digest"]));
    for (place, digest) in digests.iter().enumerate() {
        assert!(!digests[..place].contains(digest));
    }
    assert_eq!(folder.json(&["get", "c"])["scope"], "global");
}

#[test]
fn history_never_changes_and_survives_the_process() {
    let folder = Folder::with_store();
    let first = text(&folder.put("a", "one")["digest"]);
    folder.put("a", "two");
    folder.json(&["snapshot"]);
    let versions: Vec<Value> = folder.stream(&["history", "a"]);
    let digests: Vec<String> = versions.iter().map(|line| text(&line["digest"])).collect();
    assert_eq!((digests.len(), &digests[1]), (2, &first));
    assert_eq!(folder.json(&["get", "a", "--at", "seq:1"])["content"], "one");
    assert_eq!(folder.stream(&["snapshots"]).len(), 1, "snapshots are on disk");
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

#[test]
fn a_file_that_does_not_load_is_an_error_and_not_an_empty_memory() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    std::fs::write(folder.store().join("format"), "garbage").unwrap();
    let run = folder.run(&["get", "a", "--json"]);
    assert_ne!(run.code, 0);
    assert!(
        folder.run(&["put", "b", "--kind", "k"]).code != 0,
        "the existing file is not overwritten"
    );
}

/// The import never evaluates code in a file.
#[test]
fn memory_snap_is_taken_in_as_data() {
    let folder = super::project();
    let file = "(:memory ((\"plan\" . (:id \"plan\" :type :headline :content \"Plan\" :children (\"tea\")))\n (\"tea\" . (:id \"tea\" :type :headline :content \"Tea\" :parent-id \"plan\"))) :history-store nil)";
    folder.write("memory.snap", file);
    let told = folder.json(&["import", "--format", "snap", "memory.snap"]);
    assert_eq!(
        (told["created"].as_u64(), told["refused"].as_u64()),
        (Some(2), Some(0))
    );
    let tea = folder.json(&["get", "tea"]);
    assert_eq!(
        (text(&tea["parent"]), text(&tea["origin"])),
        ("plan".into(), "import".into())
    );
    folder.write("bad.snap", "(:memory #.(sb-ext:run-program \"/bin/sh\" nil))");
    let refused = folder.refused(1, &["import", "--format", "snap", "bad.snap"]);
    assert!(text(&refused["message"]).contains("a reader macro"), "{refused}");
}

//! Tests of `backup`, `clone`, `remote`, `push`, `fetch` and `pull` with the built program.

use std::fs;

use serde_json::Value;

use crate::program::{Folder, check_fields, text};

/// Two stores, `a` and `b`, of one user, and a place for a remote.
struct Two {
    folder: Folder,
}

impl Two {
    fn new() -> Self {
        let folder = Folder::new();
        folder.json(&["--store", "a", "init"]);
        Self { folder }
    }

    fn url(&self, name: &str) -> String {
        format!("file://{}", self.folder.path(name).display())
    }

    fn on(&self, store: &str, call: &[&str]) -> Value {
        self.folder.json(&[&["--store", store], call].concat())
    }

    fn refused(&self, exit: i32, store: &str, call: &[&str]) -> String {
        text(&self.folder.refused(exit, &[&["--store", store], call].concat())["code"])
    }

    fn put(&self, store: &str, id: &str, content: &str) {
        self.on(
            store,
            &[
                "put",
                id,
                "--kind",
                "note",
                "--content",
                content,
                "--trust",
                "direct_user",
            ],
        );
    }

    fn content(&self, store: &str, id: &str) -> String {
        text(&self.on(store, &["get", id])["content"])
    }

    /// Shares the store `a` and clones it to `b`.
    fn shared(&self, cap: &str) {
        let url = self.url("shared");
        let added = self.on(
            "a",
            &["remote", "add", "origin", &url, "--trust-cap", "direct_user"],
        );
        check_fields(
            &added,
            &[
                ("name", "string"),
                ("url", "string"),
                ("trust_cap", "string"),
                ("ahead", "number"),
                ("behind", "number"),
            ],
        );
        self.on("a", &["push"]);
        self.folder.json(&["clone", &url, "b", "--trust-cap", cap]);
    }
}

#[test]
fn a_backup_is_restored_by_a_clone() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.on("a", &["fork", "task-7"]);
    let url = two.url("disk/agent");
    let done = two.on("a", &["backup", &url]);
    check_fields(
        &done,
        &[
            ("url", "string"),
            ("commits", "number"),
            ("objects", "number"),
            ("bytes", "number"),
            ("requests", "number"),
        ],
    );
    assert_eq!(
        (done["commits"].as_u64(), done["objects"].as_u64()),
        (Some(2), Some(1))
    );
    two.put("a", "plan", "two");
    assert_eq!(two.on("a", &["backup", &url])["commits"], 1);
    let cloned = two
        .folder
        .json(&["clone", &url, "b", "--trust-cap", "direct_user"]);
    assert_eq!(cloned["root"], two.on("a", &["head"])["root"]);
    assert_eq!(
        (cloned["objects"].as_u64(), cloned["commits"].as_u64()),
        (Some(1), Some(3))
    );
    assert_eq!(two.content("b", "plan"), "two");
    assert_eq!(two.folder.stream(&["--store", "b", "forks"]).len(), 1);
    assert_eq!(two.on("b", &["verify"])["ok"], true);
    // Without a terminal and an option, everything gets the class import.
    two.folder.json(&["clone", &url, "c"]);
    assert_eq!(text(&two.on("c", &["get", "plan"])["origin"]), "import");
    assert_eq!(two.refused(1, "a", &["clone", &url, "b"]), "store_exists");
    assert_eq!(two.refused(1, "a", &["backup", &two.url("b")]), "not_a_remote");
    assert_eq!(two.refused(1, "a", &["backup", "b"]), "invalid_input");
    assert_eq!(
        two.refused(1, "a", &["clone", &two.url("nowhere"), "d"]),
        "not_found"
    );
    let file = fs::read_dir(two.folder.path("disk/agent/log"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
    assert_eq!(two.refused(5, "a", &["clone", &url, "d"]), "corrupt");
    assert!(
        !two.folder.path("d/format").exists(),
        "no store is made of damaged bytes"
    );
}

#[test]
fn two_stores_share_a_memory() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    two.put("a", "of a", "1");
    two.put("b", "of b", "2");
    let pushed = two.on("a", &["push", "origin"]);
    check_fields(
        &pushed,
        &[
            ("remote", "string"),
            ("commits", "number"),
            ("bytes", "number"),
            ("requests", "number"),
        ],
    );
    assert!(pushed["bytes"].as_u64().unwrap() < 64 << 10);
    let behind = two.folder.refused(3, &["--store", "b", "push"]);
    assert_eq!(text(&behind["code"]), "remote_ahead");
    assert!(text(&behind["hint"]).contains("treering pull"));
    let fetched = two.on("b", &["fetch"]);
    assert_eq!(
        (fetched["commits"].as_u64(), text(&fetched["remote"])),
        (Some(1), "origin".to_owned())
    );
    assert_eq!(
        text(&two.on("b", &["get", "of a", "--at", "remote:origin/main"])["content"]),
        "1"
    );
    let listed = two.folder.stream(&["--store", "b", "remote", "list"]);
    assert_eq!(
        (listed[0]["ahead"].as_u64(), listed[0]["behind"].as_u64()),
        (Some(1), Some(1))
    );
    let seen = two.on("b", &["pull", "--dry-run"]);
    assert_eq!(
        (seen["added"].as_u64(), seen["dry_run"].as_bool()),
        (Some(1), Some(true))
    );
    let pulled = two.on("b", &["pull"]);
    assert_eq!(
        (pulled["added"].as_u64(), pulled["fetched"]["commits"].as_u64()),
        (Some(1), Some(0))
    );
    two.on("b", &["push"]);
    two.on("a", &["pull"]);
    assert_eq!(two.content("a", "of b"), "2");
    let root = |store: &str| text(&two.on(store, &["head"])["root"]);
    assert_eq!(root("a"), root("b"));
    // A pull is in a lane of its own, so it is not what `undo` takes back.
    two.on("b", &["undo", "--session", "remote/origin"]);
    assert_eq!(two.refused(1, "b", &["get", "of a"]), "not_found");
    for store in ["a", "b"] {
        assert_eq!(two.on(store, &["verify"])["ok"], true);
    }
    let removed = two.on("a", &["remote", "remove", "origin"]);
    assert_eq!(text(&removed["name"]), "origin");
    assert_eq!(two.refused(1, "a", &["push"]), "no_remote");
    assert_eq!(
        two.refused(1, "a", &["get", "plan", "--at", "remote:origin/main"]),
        "no_revision"
    );
}

#[test]
fn what_comes_from_a_remote_is_capped() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("model");
    let class = |id: &str| text(&two.on("b", &["get", id])["origin"]);
    assert_eq!(class("plan"), "model");
    two.put("a", "of a", "1");
    two.on("a", &["push"]);
    two.on("b", &["pull"]);
    assert_eq!(class("of a"), "model");
    for call in [
        &["rollback", "remote:origin/main", "--all"][..],
        &["restore", "remote:origin/main", "of a"],
        &["fork", "x", "--at", "remote:origin/main"],
    ] {
        two.put("a", "of a", call[0]);
        two.on("a", &["push"]);
        two.on("b", &["fetch"]);
        assert_eq!(two.refused(1, "b", call), "invalid_input", "{call:?}");
    }
    // What was fetched and not merged is read with the cap, too.
    let found = two.on("b", &["recall", "plan", "--at", "remote:origin/main"]);
    let found = found["items"].as_array().unwrap();
    assert!(!found.is_empty() && found.iter().all(|item| item["trust"] == "model"));
    let exported = two.on("b", &["get", "plan", "--at", "remote:origin/main"]);
    assert_eq!(text(&exported["origin"]), "model");
}

#[test]
fn a_remote_is_listed_for_its_store_alone_and_tested_first() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.folder.json(&["--store", "other", "init"]);
    let url = two.url("shared");
    two.on("a", &["remote", "add", "origin", &url]);
    assert_eq!(
        two.refused(1, "a", &["remote", "add", "origin", &url]),
        "name_taken"
    );
    assert!(
        two.folder
            .stream(&["--store", "other", "remote", "list"])
            .is_empty()
    );
    two.on("a", &["push"]);
    assert_eq!(
        two.refused(1, "other", &["remote", "add", "origin", &url]),
        "unrelated"
    );
    assert_eq!(
        two.refused(1, "a", &["remote", "add", "x", "ftp://host"]),
        "unsupported_remote"
    );
    assert_eq!(
        two.refused(1, "a", &["remote", "add", "a/b", &url]),
        "invalid_input"
    );
    let own = two.url("other");
    assert_eq!(two.refused(1, "a", &["remote", "add", "x", &own]), "not_a_remote");
    // A remote that went back is refused, and what was known stays.
    let manifest = two.folder.path("shared/manifest");
    let old = fs::read(&manifest).unwrap();
    two.put("a", "plan", "two");
    two.on("a", &["push"]);
    fs::write(&manifest, old).unwrap();
    assert_eq!(two.refused(5, "a", &["pull"]), "remote_went_back");
}

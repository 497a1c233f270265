//! Tests of `backup`, `clone`, `remote`, `push`, `fetch` and `pull` with the built program.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use crate::program::{Folder, Ran, check_fields, text};

/// Two stores, `a` and `b`, of one user, and a place for a remote.
pub(super) struct Two {
    pub(super) folder: Folder,
}

impl Two {
    pub(super) fn new() -> Self {
        let folder = Folder::new();
        folder.json(&["--store", "a", "init"]);
        Self { folder }
    }

    pub(super) fn url(&self, name: &str) -> String {
        format!("file://{}", self.folder.path(name).display())
    }

    pub(super) fn on(&self, store: &str, call: &[&str]) -> Value {
        self.folder.json(&[&["--store", store], call].concat())
    }

    pub(super) fn refused(&self, exit: i32, store: &str, call: &[&str]) -> String {
        text(&self.folder.refused(exit, &[&["--store", store], call].concat())["code"])
    }

    pub(super) fn put(&self, store: &str, id: &str, content: &str) {
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

    pub(super) fn content(&self, store: &str, id: &str) -> String {
        text(&self.on(store, &["get", id])["content"])
    }

    /// Shares the store `a` and clones it to `b`.
    pub(super) fn shared(&self, cap: &str) {
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
    // The disk is not mounted.
    assert_eq!(two.refused(6, "a", &["backup", &url]), "remote_unreachable");
    fs::create_dir(two.folder.path("disk")).unwrap();
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
    let checked = two.folder.json(&["remote", "verify", &url]);
    assert_eq!(
        (&checked["ok"], &checked["commits"]),
        (&Value::from(true), &Value::from(3))
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
    let ran = two.folder.run(&["--json", "remote", "verify", &url]);
    assert_eq!(text(&ran.refusal(5)["code"]), "damaged");
    let damaged = &ran.documents()[0];
    let found = damaged["damage"].as_array().unwrap();
    assert_eq!((&damaged["ok"], found.len()), (&Value::from(false), 1));
    assert!(text(&found[0]["file"]).starts_with("log/"), "{damaged}");
    assert!(
        !two.folder.path("d/format").exists(),
        "no store is made of damaged bytes"
    );
}

/// CLE-3: a clone that cannot be registered makes no store, and goes on later.
#[test]
fn a_clone_is_registered_before_it_is_a_store() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    let url = two.url("shared");
    let clone = ["clone", &url, "c", "--trust-cap", "direct_user"];
    let mut blind = two.folder.command(&clone);
    let ran = Ran::of(&blind.env_remove("HOME").output().unwrap());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!two.folder.path("c/format").exists());
    two.folder.json(&clone);
    two.put("c", "plan", "two");
    assert_eq!(two.on("c", &["push"])["commits"], 1);
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
    assert_eq!(pulled["changes"][0]["change"], "added");
    assert_eq!(pulled["changes"], seen["changes"]);
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
    let found = two.on("b", &["recall", "one", "--at", "remote:origin/main"]);
    let found = found["hits"].as_array().unwrap();
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
    for (revision, named) in [
        ("remote:orign/main", "'origin/main'"),
        ("origin/main", "'remote:origin/main'"),
    ] {
        let error = two
            .folder
            .refused(1, &["--store", "a", "get", "plan", "--at", revision]);
        assert!(text(&error["hint"]).ends_with(named), "{error}");
    }
    assert_eq!(
        two.refused(1, "a", &["remote", "add", "x", "/mnt/x"]),
        "invalid_input"
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
    assert_eq!(
        two.refused(5, "a", &["remote", "verify", "origin"]),
        "remote_went_back"
    );
}

#[test]
fn a_sync_pulls_and_pushes_whoever_was_first() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    two.put("a", "plan", "of a");
    let sent = two.on("a", &["sync", "origin"]);
    check_fields(
        &sent,
        &[
            ("commit", "string"),
            ("seq", "number"),
            ("root", "string"),
            ("added", "number"),
            ("lost", "number"),
        ],
    );
    two.put("b", "plan", "of b");
    let synced = two.on("b", &["sync"]);
    assert_eq!(
        (
            synced["fetched"]["commits"].as_u64(),
            text(&synced["conflicts"][0]["id"])
        ),
        (Some(1), "plan".to_owned())
    );
    assert!(synced["pushed"]["commits"].as_u64().unwrap() > 0);
    two.on("a", &["sync"]);
    assert_eq!(two.content("a", "plan"), two.content("b", "plan"));
    let said = two.folder.run(&["--store", "a", "sync"]).out;
    assert!(said.starts_with("origin has nothing new"), "{said}");
    for (verb, id) in [("sync", "first"), ("pull", "second")] {
        two.put("a", id, "new");
        assert_eq!(two.on("a", &["sync"])["changes"], Value::Array(Vec::new()));
        let said = two.folder.run(&["--store", "b", verb]).out;
        assert!(said.lines().any(|line| line == format!("+ {id}")), "{said}");
    }
}

#[cfg(feature = "signed")]
#[test]
fn a_remote_may_demand_signatures() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    let vera = text(&two.folder.json(&["keygen", "vera"])["public"]);
    two.on("b", &["remote", "remove", "origin"]);
    let url = two.url("shared");
    let call = ["remote", "add", "origin", &url, "--trust-cap", "direct_user"];
    let added = two.on("b", &[&call[..], &["--signed-by", &vera]].concat());
    assert_eq!(text(&added["signed_by"][0]), vera);
    assert_eq!(two.refused(4, "b", &["pull"]), "unsigned_remote");
    two.put("a", "plan", "two");
    two.on("a", &["push", "--sign"]);
    two.on("b", &["pull"]);
    assert_eq!(two.content("b", "plan"), "two");
    two.put("a", "plan", "three");
    two.on("a", &["push"]);
    for verb in ["fetch", "pull", "sync"] {
        assert_eq!(two.refused(4, "b", &[verb]), "unsigned_remote", "{verb}");
    }
    assert_eq!(two.content("b", "plan"), "two");
    // A remote that is added with a key signs each push of `sync` too.
    two.on("a", &["remote", "remove", "origin"]);
    two.on("a", &[&call[..], &["--sign-key", "vera"]].concat());
    two.put("a", "plan", "four");
    two.on("a", &["sync"]);
    two.on("b", &["sync"]);
    assert_eq!(two.content("b", "plan"), "four");
    // A push that was not signed is repaired by `push --sign`.
    two.on("a", &["remote", "remove", "origin"]);
    two.on("a", &call);
    two.put("a", "plan", "five");
    two.on("a", &["push"]);
    assert_eq!(two.refused(4, "b", &["pull"]), "unsigned_remote");
    let clone =
        |dir: &'static str| [&["clone", url.as_str(), dir], &call[4..], &["--signed-by", &vera]].concat();
    assert_eq!(two.folder.refused(4, &clone("c"))["code"], "unsigned_remote");
    assert!(!two.folder.path("c").exists());
    assert!(two.on("a", &["push", "--sign"])["bytes"].as_u64() > Some(0));
    assert_eq!(two.on("a", &["push", "--sign"])["bytes"], 0);
    two.on("b", &["pull"]);
    two.folder.json(&clone("c"));
    assert_eq!(two.content("c", "plan"), "five");
    // A reader trusts a push of a machine without the key once, and may sign it then.
    two.folder
        .json(&[&["clone", url.as_str(), "d"], &call[4..]].concat());
    two.put("d", "plan", "six");
    two.on("d", &["push"]);
    assert_eq!(two.refused(4, "c", &["pull"]), "unsigned_remote");
    two.on("c", &["pull", "--unsigned-once"]);
    assert_eq!(two.content("c", "plan"), "six");
    two.on("c", &["push", "--sign"]);
    two.on("b", &["pull"]);
    assert_eq!(
        two.refused(1, "a", &["push", "--sign", "--key", "nobody"]),
        "no_key"
    );
}

/// `sync --watch` of a store, and its lines.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn of(two: &Two, store: &str) -> Self {
        let call = [
            "--store",
            store,
            "sync",
            "--watch",
            "--interval",
            "200ms",
            "--json",
        ];
        let mut command = two.folder.command(&call);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Returns the next line for which `is_it` holds.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the watch ended");
            let line: Value = serde_json::from_str(&line).unwrap();
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Waits for the end, and returns the exit code and the rest of the lines.
    fn end(mut self) -> (i32, Vec<String>) {
        let rest = self.lines.by_ref().lines().map(Result::unwrap).collect();
        (self.child.wait().unwrap().code().unwrap(), rest)
    }

    fn interrupt(self) -> (i32, Vec<String>) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        self.end()
    }
}

/// SYW-1
#[test]
fn a_watch_exchanges_commits_survives_an_outage_and_ends_at_damage() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    let mut watch = Watch::of(&two, "b");
    watch.until(|line| line["pushed"].is_object());
    two.put("b", "of b", "1");
    watch.until(|line| line["pushed"]["commits"].as_u64() > Some(0));
    two.put("a", "of a", "1");
    two.on("a", &["sync"]);
    watch.until(|line| line["added"] == 1);
    assert_eq!(two.content("b", "of a"), "1");
    // A folder that is moved away is gone, although the process could still reach it.
    let (shared, gone) = (two.folder.path("shared"), two.folder.path("gone"));
    fs::rename(&shared, &gone).unwrap();
    let failed = watch.until(|line| line["error"].is_object());
    assert_eq!(text(&failed["error"]["code"]), "remote_unreachable");
    fs::rename(&gone, &shared).unwrap();
    assert!(watch.until(|_| true)["pushed"].is_object());
    // Ctrl-C ends the watch with exit code 0.
    let (code, _) = watch.interrupt();
    assert_eq!(code, 0);

    fs::rename(&shared, &gone).unwrap();
    fs::write(&shared, "the disk is not mounted").unwrap();
    let mut watch = Watch::of(&two, "b");
    let failed = watch.until(|_| true);
    assert_eq!(text(&failed["error"]["code"]), "remote_unreachable");
    two.put("b", "offline", "1");
    fs::remove_file(&shared).unwrap();
    fs::rename(&gone, &shared).unwrap();
    // The next line is of a round that succeeded: an outage is reported once.
    let online = watch.until(|_| true);
    assert!(online["pushed"]["commits"].as_u64() > Some(0), "{online}");

    let manifest = two.folder.path("shared/manifest");
    let mut bytes = fs::read(&manifest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&manifest, bytes).unwrap();
    assert_eq!(watch.end().0, 5);
}

#[test]
fn a_password_is_never_stored() {
    let two = Two::new();
    let url = "postgres://ann:geheim@localhost:1/db?schema=a";
    let refused = two
        .folder
        .refused(1, &["--store", "a", "remote", "add", "origin", url]);
    assert_eq!(text(&refused["code"]), "password_in_url");
    assert!(!refused.to_string().contains("geheim"));
    let refused = two.folder.refused(6, &["--store", "a", "backup", url]);
    assert!(!refused.to_string().contains("geheim"), "{refused}");
    assert!(two.folder.stream(&["--store", "a", "remote", "list"]).is_empty());
}

#[test]
fn a_remote_with_a_key_file_is_of_no_use_without_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let two = Two::new();
    two.put("a", "plan", "meet in Bergen");
    let (url, key) = (
        two.url("shared"),
        two.folder.path("memory.key").display().to_string(),
    );
    let add = [
        "remote",
        "add",
        "origin",
        &url,
        "--key-file",
        &key,
        "--trust-cap",
        "direct_user",
    ];
    assert_eq!(two.refused(1, "a", &add), "no_key");
    let made = two.on("a", &["remote", "keygen", &key]);
    check_fields(
        &made,
        &[("file", "string"), ("key", "string"), ("files", "number")],
    );
    assert_eq!(two.refused(1, "a", &["remote", "keygen", &key]), "file_exists");
    let mode = |mode| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    assert_eq!(two.refused(4, "a", &add), "refused");
    mode(0o600);
    let said = two.folder.run(&[&["--store", "a"], &add[..]].concat());
    assert!(
        said.err.contains("keep a copy of it in a safe place"),
        "{}",
        said.err
    );
    two.on("a", &["push"]);
    let clone = ["clone", &url, "b", "--trust-cap", "direct_user"];
    assert_eq!(two.refused(1, "a", &clone), "no_key");
    let with_key = [&clone[..], &["--key-file", &key]].concat();
    two.folder.json(&with_key);
    assert_eq!(two.content("b", "plan"), "meet in Bergen");
    // The other machine gets the new key with a copy of the file; here it is the same file.
    let old = fs::read(&key).unwrap();
    let rotated = two.on("a", &["remote", "rotate", "origin"]);
    assert_eq!(rotated["files"], 3);
    assert_ne!(rotated["key"], made["key"]);
    let new = fs::read(&key).unwrap();
    fs::write(&key, &old).unwrap();
    two.put("b", "plan", "meet in Oslo");
    assert_eq!(two.refused(1, "b", &["push"]), "wrong_key");
    fs::write(&key, &new).unwrap();
    two.on("b", &["push"]);
    two.on("a", &["pull"]);
    assert_eq!(two.content("a", "plan"), "meet in Oslo");
    // The URL as the store.
    assert_eq!(
        text(&two.folder.refused(1, &["--store", &url, "get", "plan"])["code"]),
        "no_key"
    );
    let mut get = two.folder.command(&["--store", &url, "--json", "get", "plan"]);
    let got = Ran::of(&get.env("TREERING_KEY_FILE", &key).output().unwrap()).documents();
    assert_eq!(text(&got[0]["content"]), "meet in Oslo");
    // A damaged file is exit 5.
    let segment = two.folder.path("shared/manifest");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[40] ^= 1;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(two.refused(5, "b", &["pull"]), "corrupt");
}

/// A revision of another line names the history of that line, and no commit of `main` with the same seq.
#[test]
fn the_history_of_a_revision_is_that_of_its_line() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    two.on("a", &["fork", "f"]);
    let in_fork = [
        "put",
        "plan",
        "--kind",
        "note",
        "--content",
        "of the fork",
        "--fork",
        "f",
        "--trust",
        "direct_user",
    ];
    two.on("a", &in_fork);
    two.put("b", "plan", "of b");
    two.on("b", &["push"]);
    two.put("a", "plan", "of main");
    two.on("a", &["fetch"]);
    let stream = |call: &[&str]| two.folder.stream(&[&["--store", "a"], call].concat());
    let main = stream(&["log"]);
    for revision in ["fork:f", "remote:origin/main"] {
        let newest = text(&two.on("a", &["show", revision])["commit"]);
        assert!(
            main.iter().all(|line| text(&line["commit"]) != newest),
            "{revision}"
        );
        let log = stream(&["log", "--at", revision]);
        assert_eq!(
            (text(&log[0]["commit"]), log.len()),
            (newest.clone(), main.len()),
            "{revision}"
        );
        let changes = stream(&["history", "plan", "--at", revision]);
        assert_eq!(
            (text(&changes[0]["commit"]), changes.len()),
            (newest.clone(), 2),
            "{revision}"
        );
        let found = two.on(
            "a",
            &["bisect", "--id", "plan", "--good", "seq:1", "--bad", revision],
        );
        assert_eq!(text(&found["first_bad"]["commit"]), newest, "{revision}");
        assert_eq!(
            two.refused(1, "a", &["revert", "--commit", revision]),
            "other_line"
        );
        let good = ["bisect", "--id", "plan", "--good", revision, "--bad", "@"];
        two.put("a", "other", revision);
        assert_eq!(two.refused(1, "a", &good), "other_line");
    }
}

/// A lost or damaged remote is named as such, and the words are not about the own store.
#[test]
fn a_remote_that_is_lost_is_not_begun_again() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    let shared = two.folder.path("shared");
    assert_eq!(two.on("a", &["push"])["commits"], 0);
    fs::rename(&shared, two.folder.path("moved")).unwrap();
    for verb in ["push", "pull", "fetch", "sync"] {
        let refused = two.folder.refused(6, &["--store", "a", verb]);
        assert_eq!(text(&refused["code"]), "remote_unreachable");
        assert!(
            text(&refused["hint"]).contains("mounted") && !shared.exists(),
            "{verb}"
        );
    }
    fs::create_dir(&shared).unwrap();
    for verb in ["push", "pull"] {
        assert_eq!(two.refused(5, "a", &[verb]), "remote_went_back");
    }
    assert_eq!(
        two.refused(5, "a", &["remote", "verify", "origin"]),
        "remote_went_back"
    );
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0, "nothing is begun");
    fs::remove_dir(&shared).unwrap();
    fs::rename(two.folder.path("moved"), &shared).unwrap();
    let format = fs::read(shared.join("format")).unwrap();
    fs::remove_file(shared.join("format")).unwrap();
    two.put("a", "plan", "two");
    let url = two.url("shared");
    // A store that knows the format does not read it.
    two.on("a", &["push"]);
    let refused = two.folder.refused(5, &["clone", &url, "d"]);
    assert_eq!(text(&refused["code"]), "corrupt");
    assert!(text(&refused["message"]).contains("shared"), "{refused}");
    assert!(!text(&refused["hint"]).contains("salvage"), "{refused}");
    fs::write(shared.join("format"), format).unwrap();
    two.on("a", &["push"]);
    // A refused name makes no folder.
    let new = two.url("new");
    assert_eq!(
        two.refused(1, "a", &["remote", "add", "a/b", &new]),
        "invalid_input"
    );
    assert_eq!(
        two.refused(1, "a", &["remote", "add", "origin", &new]),
        "name_taken"
    );
    assert!(!two.folder.path("new").exists());
}

/// A remote and a backup can be read as a store. No verb writes there, and `verify` knows what their manifest names.
#[test]
fn nobody_writes_a_closed_store_by_accident() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    assert_eq!(two.content("shared", "plan"), "one");
    let write = ["put", "x", "--kind", "note"];
    assert_eq!(two.refused(1, "shared", &write), "closed");
    two.put("b", "of b", "1");
    two.on("b", &["push"]);
    let backup = two.url("disk");
    two.on("b", &["backup", &backup]);
    // The store of the backup has a remote. The backup is none.
    two.folder
        .json(&["clone", &backup, "c", "--trust-cap", "direct_user"]);
    assert!(two.folder.stream(&["--store", "c", "remote", "list"]).is_empty());
    assert_eq!(two.on("disk", &["verify"])["ok"], true);
    let log = fs::read_dir(two.folder.path("disk/log")).unwrap();
    let newest = log.map(|entry| entry.unwrap().path()).max().unwrap();
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, &bytes[..bytes.len() - 32]).unwrap();
    assert_eq!(two.refused(5, "disk", &["verify"]), "damaged");
}

/// A push waits for the lock of a folder as long as it may, and then it is busy.
#[test]
fn a_push_waits_as_long_as_it_may() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    two.put("a", "plan", "two");
    let lock = fs::File::options()
        .write(true)
        .open(two.folder.path("shared/bucket.lock"));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    let started = std::time::Instant::now();
    assert_eq!(two.refused(3, "a", &["push", "--wait", "1s"]), "busy");
    assert!(started.elapsed().as_secs() < 20);
    lock.unlock().unwrap();
    assert_eq!(two.on("a", &["push"])["commits"], 1);
}

#[test]
fn what_a_person_does_next_names_the_remote() {
    let two = Two::new();
    two.put("a", "plan", "one");
    let add = |name: &str| {
        let url = two.url(name);
        two.folder.run(&["--store", "a", "remote", "add", name, &url])
    };
    assert!(add("safe").err.contains("push --store 'a' safe"));
    add("other");
    let refused = two.folder.refused(1, &["--store", "a", "push"]);
    assert!(text(&refused["hint"]).ends_with("other, safe"), "{refused}");
    let erased = two.folder.run(&["--store", "a", "erase", "plan", "--yes"]);
    assert!(erased.err.contains("push --store 'a' safe"), "{erased:?}");
    assert_eq!(
        two.refused(2, "a", &["sync", "safe", "--watch", "--interval", "0s"]),
        "usage"
    );
}

#[test]
fn each_side_of_a_conflict_is_named() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    two.put("a", "plan", "two");
    two.on("a", &["push"]);
    two.put("b", "plan", "three");
    let synced = two.folder.run(&["--store", "b", "sync"]);
    assert!(synced.err.contains("treering conflicts"), "{synced:?}");
    let shown = two.folder.run(&["--store", "b", "conflicts"]);
    assert!(
        shown.out.contains("  ours  ") && shown.out.contains("  theirs  "),
        "{shown:?}"
    );
}

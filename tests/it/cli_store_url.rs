//! Tests of `--store URL`, with the built program: a clone in the cache stands for the remote.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::program::{Folder, Ran, text};

/// A remote, and a store of another machine that shares it.
struct Shared {
    folder: Folder,
    url: String,
}

impl Shared {
    fn new() -> Self {
        let folder = Folder::new();
        let url = format!("file://{}", folder.path("shared").display());
        Self { folder, url }
    }

    /// Makes the store `desk` a clone of the remote.
    fn with_desk(self) -> Self {
        self.folder
            .json(&["clone", &self.url, "desk", "--trust-cap", "direct_user"]);
        self
    }

    fn run(&self, call: &[&str]) -> Ran {
        let mut command = self.folder.command(&[call, &["--json"]].concat());
        command
            .env("TREERING_STORE", &self.url)
            .env("TREERING_TRUST_CAP", "direct_user");
        Ran::of(&command.output().unwrap())
    }

    fn json(&self, call: &[&str]) -> Value {
        let ran = self.run(call);
        assert_eq!(ran.code, 0, "{call:?}: {ran:?}");
        ran.documents().remove(0)
    }

    fn put(&self, id: &str, content: &str) -> Ran {
        self.run(&["put", id, "--kind", "note", "--content", content])
    }

    fn on_desk(&self, call: &[&str]) -> Value {
        self.folder.json(&[&["--store", "desk"], call].concat())
    }

    /// Returns the folder of the only clone in the cache.
    fn cache(&self) -> PathBuf {
        let clones = fs::read_dir(self.folder.path("home/.cache/treering/remotes")).unwrap();
        let clones: Vec<_> = clones.map(|clone| clone.unwrap().path()).collect();
        assert_eq!(clones.len(), 1, "{clones:?}");
        clones[0].clone()
    }

    /// Makes the newest answer of the remote older than it is.
    fn age(&self) {
        let answered = fs::File::options()
            .append(true)
            .open(self.cache().join("answered"))
            .unwrap();
        answered
            .set_modified(SystemTime::now() - Duration::from_secs(6))
            .unwrap();
    }

    /// Takes the remote away, or brings it back.
    fn set_offline(&self, is_offline: bool) {
        let (shared, away) = (self.folder.path("shared"), self.folder.path("away"));
        if is_offline {
            fs::rename(&shared, &away).unwrap();
            fs::write(&shared, "not mounted").unwrap();
        } else {
            fs::remove_file(&shared).unwrap();
            fs::rename(&away, &shared).unwrap();
        }
    }
}

/// CRM-1, CRM-2
#[test]
fn a_remote_is_read_and_written_through_a_clone_in_the_cache() {
    let shared = Shared::new();
    assert_eq!(shared.run(&["get", "plan"]).refusal(1)["code"], "not_found");
    // A folder whose parent is missing is on a disk that is not mounted.
    let above = Shared {
        url: format!("{}/not/mounted", shared.url),
        ..Shared::new()
    };
    assert_eq!(above.put("plan", "one").refusal(1)["code"], "not_found");
    assert!(!above.folder.path("shared").exists());
    // The first write makes the remote, and success means that the remote has it.
    assert_eq!(shared.put("plan", "one").code, 0);
    let shared = shared.with_desk();
    assert_eq!(text(&shared.on_desk(&["get", "plan"])["content"]), "one");
    let mode = fs::metadata(shared.cache()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    shared.on_desk(&["put", "plan", "--kind", "note", "--content", "two"]);
    shared.on_desk(&["push"]);
    // What was asked a moment ago is not asked again.
    assert_eq!(text(&shared.json(&["get", "plan"])["content"]), "one");
    shared.age();
    assert_eq!(text(&shared.json(&["get", "plan"])["content"]), "two");

    // A push that came second merges, and then counts.
    shared.on_desk(&["put", "of the desk", "--kind", "note"]);
    shared.on_desk(&["push"]);
    assert_eq!(shared.put("of the url", "1").code, 0);
    shared.json(&["get", "of the desk"]);
    shared.on_desk(&["sync"]);
    assert_eq!(shared.on_desk(&["head"])["root"], shared.json(&["head"])["root"]);
}

/// CRM-1
#[test]
fn offline_a_change_is_kept_and_said_not_to_be_pushed() {
    let shared = Shared::new();
    assert_eq!(shared.put("plan", "one").code, 0);
    let shared = shared.with_desk();
    shared.set_offline(true);
    shared.age();
    let read = shared.run(&["get", "plan"]);
    assert_eq!(
        (read.code, text(&read.documents()[0]["content"])),
        (0, "one".to_owned())
    );
    assert!(read.err.contains(r#""code":"offline""#), "{}", read.err);
    let written = shared.put("plan", "offline");
    assert_eq!(written.refusal(6)["code"], "not_pushed");
    shared.set_offline(false);
    assert_eq!(text(&shared.json(&["get", "plan"])["content"]), "offline");
    // The next write brings both.
    assert_eq!(shared.put("more", "1").code, 0);
    shared.on_desk(&["pull"]);
    assert_eq!(text(&shared.on_desk(&["get", "plan"])["content"]), "offline");
    shared.on_desk(&["get", "more"]);

    let damaged = shared.folder.path("shared/manifest");
    let mut bytes = fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(damaged, bytes).unwrap();
    shared.age();
    assert_eq!(shared.run(&["get", "plan"]).code, 5);
}

#[test]
fn what_makes_no_sense_on_a_remote_is_refused_before_it_is_asked() {
    let shared = Shared::new();
    for call in [
        &["gc"][..],
        &["erase", "plan", "--yes"],
        &["init"],
        &["fork", "task"],
        &["merge", "task"],
        &["remote", "list"],
        &["get", "plan", "--fork", "task"],
    ] {
        let refused = shared.run(call).refusal(1);
        assert_eq!(refused["code"], "not_over_remote", "{call:?}");
    }
    assert!(!shared.folder.path("shared").exists());
}

#[test]
fn the_trust_cap_of_a_clone_is_what_the_user_set_first() {
    let shared = Shared::new();
    assert_eq!(shared.put("plan", "one").code, 0);
    let shared = shared.with_desk();
    shared.on_desk(&["put", "of the desk", "--kind", "note"]);
    shared.on_desk(&["push"]);
    shared.age();
    assert_eq!(
        text(&shared.json(&["get", "of the desk"])["origin"]),
        "direct_user"
    );
    // Another class needs another clone, also while the remote is not asked again.
    let call = ["--store", &shared.url, "get", "plan", "--json"];
    let mut command = shared.folder.command(&call);
    let refused = Ran::of(&command.env("TREERING_TRUST_CAP", "model").output().unwrap());
    assert_eq!(refused.refusal(1)["code"], "invalid_input");
    fs::remove_dir_all(shared.cache()).unwrap();
    // Without the variable and a terminal, it is `import`.
    let found = shared.folder.json(&call[..4]);
    assert_eq!(text(&found["origin"]), "import");
}

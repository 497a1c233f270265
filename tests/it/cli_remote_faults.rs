//! Messages about remotes that may not erase or sign here, and about remotes that are missing.

use std::fs;

use serde_json::json;

use crate::cli_remotes::Two;
use crate::program::text;

/// Rule 19: what others erased and this store keeps is named until it is erased here, too.
#[test]
fn what_others_erased_and_this_store_keeps_is_named() {
    let two = Two::new();
    two.put("a", "secret", "swordfish");
    two.shared("model");
    let erase = ["erase", "secret", "--yes", "--trust", "direct_user"];
    two.on("a", &erase);
    two.on("a", &["push"]);
    let shown = two.folder.run(&["--store", "b", "pull"]);
    assert!(shown.out.contains("may not erase here: secret;"), "{}", shown.out);
    let command = "treering erase --store 'b' 'secret'";
    assert!(shown.err.contains(command), "{}", shown.err);
    two.put("a", "other", "marlin");
    two.on("a", &["push"]);
    two.on("b", &["pull"]);
    two.on("a", &["erase", "other", "--yes", "--trust", "direct_user"]);
    two.on("a", &["push"]);
    let fetched = two.on("b", &["fetch"]);
    assert!(fetched["not_erased"].as_u64() > Some(0), "{fetched}");
    assert_eq!(fetched["kept"], json!(["other"]));
    assert_eq!(two.on("b", &["verify"])["erased"], 0);
    let found = |store: &str| two.folder.json(&["--store", store, "doctor"])["problems"].clone();
    let problems = found("b");
    assert_eq!(problems.as_array().map(Vec::len), Some(1), "{problems}");
    let problem = &problems[0];
    assert_eq!(
        (&problem["code"], &problem["targets"]),
        (&json!("kept_of_erased"), &json!(["other", "secret"]))
    );
    assert!(
        text(&problem["command"]).ends_with(" 'other' 'secret'"),
        "{problem}"
    );
    for id in ["other", "secret"] {
        two.on("b", &["erase", id, "--yes", "--trust", "direct_user"]);
    }
    assert!(two.on("b", &["verify"])["erased"].as_u64() >= Some(2));
    for store in ["a", "b"] {
        assert_eq!(found(store), json!([]), "{store}");
    }
}

/// RSG-3
#[cfg(feature = "signed")]
#[test]
fn a_store_that_demands_signatures_sends_nothing_unsigned_by_mistake() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    let vera = text(&two.folder.json(&["keygen", "vera"])["public"]);
    let url = two.url("shared");
    let cap = ["--trust-cap", "direct_user"];
    let clone =
        |dir: &'static str| [&["clone", url.as_str(), dir], &cap[..], &["--signed-by", &vera]].concat();
    let refused = two.folder.refused(4, &clone("c"));
    assert_eq!(refused["code"], "unsigned_remote");
    assert!(
        !text(&refused["hint"]).contains("unsigned-once"),
        "a clone has no such option"
    );
    // A sync signs what was sent without a signature.
    two.on("a", &["remote", "remove", "origin"]);
    let add = [
        &["remote", "add", "origin", url.as_str()],
        &cap[..],
        &["--sign-key", "vera"],
    ];
    two.on("a", &add.concat());
    assert!(two.on("a", &["sync"])["pushed"]["bytes"].as_u64() > Some(0));
    two.folder.json(&clone("c"));
    two.on("c", &["sync"]);
    two.put("c", "of c", "1");
    let before = fs::read(two.folder.path("shared/manifest")).unwrap();
    for verb in ["push", "sync"] {
        let refused = two.folder.refused(4, &["--store", "c", verb]);
        assert_eq!(refused["code"], "unsigned_remote", "{verb}");
        let hint = text(&refused["hint"]);
        assert!(
            hint.contains("--sign-key") && hint.contains("--unsigned-once"),
            "{hint}"
        );
    }
    assert_eq!(fs::read(two.folder.path("shared/manifest")).unwrap(), before);
    let pushed = two.on("c", &["push", "--unsigned-once"]);
    assert!(pushed["commits"].as_u64() > Some(0));
    assert_eq!(pushed["unsigned"], true);
    two.on("a", &["sync"]);
    two.on("c", &["sync"]);
}

#[test]
fn a_fork_is_merged_before_it_is_sent() {
    let two = Two::new();
    two.shared("direct_user");
    two.on("a", &["fork", "task"]);
    for verb in ["push", "sync"] {
        let refused = two.folder.refused(1, &["--store", "a", verb, "--fork", "task"]);
        assert_eq!(refused["code"], "whole_store");
        let hint = text(&refused["hint"]);
        assert!(hint.contains("treering merge --store 'a' 'task'"), "{hint}");
    }
}

#[test]
fn a_missing_segment_has_one_cause() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    let kept = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().path();
    let log = || fs::read_dir(two.folder.path("shared/log")).unwrap().map(kept);
    let before: Vec<_> = log().collect();
    two.put("a", "plan", "two");
    two.on("a", &["push"]);
    for new in log().filter(|file| !before.contains(file)).collect::<Vec<_>>() {
        fs::remove_file(new).unwrap();
    }
    let refused = two.folder.refused(5, &["--store", "b", "pull"]);
    let checked = two
        .folder
        .run(&["--json", "--store", "b", "remote", "verify", "origin"]);
    let found = &checked.documents()[0]["damage"][0];
    let missing = format!("{} is missing", text(&found["file"]));
    assert!(text(&refused["message"]).ends_with(&missing), "{refused} {found}");
}

/// A dry run leaves no conflict, so it names no verb that would show it. What it fetched is not new to the pull.
#[test]
fn a_dry_run_of_pull_promises_no_conflict_to_show() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    two.put("b", "plan", "by b");
    two.put("a", "plan", "by a");
    two.put("a", "other", "new");
    two.on("a", &["push"]);
    let pull = |options: &[&str]| two.folder.run(&[&["--store", "b", "pull"], options].concat());
    let planned = pull(&["--dry-run"]);
    assert!(planned.out.contains("conflict"), "{planned:?}");
    assert!(!planned.err.contains("treering conflicts"), "{planned:?}");
    let pulled = pull(&[]);
    assert!(pulled.err.contains("treering conflicts"), "{pulled:?}");
    assert!(pulled.out.contains("since the last fetch"), "{pulled:?}");
}

/// The id of an erased object is in no record, so its key path stands for it.
#[test]
fn a_pull_shows_an_erased_object_in_short() {
    let two = Two::new();
    two.put("a", "secret", "swordfish");
    two.shared("direct_user");
    two.on("a", &["erase", "secret", "--yes", "--trust", "direct_user"]);
    two.on("a", &["push"]);
    let pulled = two.folder.run(&["--store", "b", "pull"]);
    assert!(pulled.out.contains("? (erased)"), "{pulled:?}");
    let is_digit = |c: char| c.is_ascii_hexdigit();
    assert!(
        pulled.out.split(|c| !is_digit(c)).all(|word| word.len() < 64),
        "{pulled:?}"
    );
}

#[test]
fn the_check_of_an_encrypted_place_names_its_option() {
    let two = Two::new();
    two.on("a", &["remote", "keygen", "key"]);
    let url = two.url("safe");
    two.on("a", &["backup", &url, "--key-file", "key"]);
    let refused = two.folder.refused(1, &["remote", "verify", &url]);
    assert!(text(&refused["hint"]).contains("remote verify"), "{refused}");
    assert_eq!(
        two.folder.json(&["remote", "verify", &url, "--key-file", "key"])["ok"],
        true
    );
}

/// TST-3: a damaged line of the register of remotes is named, stays in the file, and stops no other remote.
#[test]
fn a_damaged_line_of_the_register_is_named_and_stays() {
    let two = Two::new();
    two.put("a", "plan", "one");
    two.shared("direct_user");
    let file = two.folder.path("home/.local/state/treering/remotes");
    let register = || fs::read_to_string(&file).unwrap();
    let before = register();
    let damaged = before.replacen(r#""name":"origin""#, r#""name:"origin""#, 1);
    let line = damaged.lines().find(|line| line.contains(r#""name:"#)).unwrap();
    fs::write(&file, &damaged).unwrap();
    // The remote of the other store is whole.
    two.on("b", &["push"]);
    assert_eq!(two.refused(1, "a", &["push"]), "unreadable");
    two.on(
        "a",
        &[
            "remote",
            "add",
            "second",
            &two.url("second"),
            "--trust-cap",
            "import",
        ],
    );
    assert!(register().contains(line), "{}", register());
    assert_eq!(
        two.refused(1, "a", &["push"]),
        "unreadable",
        "no other remote takes its place"
    );
    two.on("a", &["push", "second"]);
    for call in [&["remote", "list"][..], &["doctor"]] {
        let shown = two.folder.run(&[&["--store", "a"], call].concat());
        assert!(
            shown.err.contains("remotes is damaged: line 1 of"),
            "{}",
            shown.err
        );
    }
    two.on("a", &["remote", "remove", "second"]);
    fs::write(
        &file,
        register().replacen(r#""name:"origin""#, r#""name":"origin""#, 1),
    )
    .unwrap();
    two.on("a", &["push"]);
}

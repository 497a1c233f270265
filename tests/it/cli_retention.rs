//! `gc` and `erase`: which data they remove and keep, and their answers.

use serde_json::Value;

use crate::program::{Folder, check_fields};

/// Options of `gc` that keep no commit because of its age.
pub(crate) const THIN: [&str; 8] = [
    "--keep-all",
    "0",
    "--hourly",
    "0",
    "--daily",
    "0",
    "--weekly",
    "0",
];

fn names(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect()
}

/// Returns whether any file of the store contains a text.
fn stands_in_files(folder: &Folder, text: &str) -> bool {
    let mut folders = vec![folder.path(".treering")];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read(&path)
                .unwrap()
                .windows(text.len())
                .any(|at| at == text.as_bytes())
            {
                return true;
            }
        }
    }
    false
}

#[test]
fn erase_asks_first_and_leaves_nothing() {
    let folder = Folder::with_store();
    folder.put("a", "the password is swordfish");
    folder.put("b", "other");
    folder.json(&["snapshot", "before"]);
    folder.put("a", "the password is gone");

    let asked = folder.run(&["erase", "a"]);
    assert_eq!(asked.code, 2, "{asked:?}");
    assert!(asked.out.contains("would erase: 2 versions"), "{asked:?}");
    assert!(
        asked.out.contains("would be removed from the state: a\n"),
        "{asked:?}"
    );
    assert!(!asked.out.contains("\nremoved from the state"), "{asked:?}");
    assert!(asked.err.contains("--yes"), "{asked:?}");
    let preview = folder.json(&["erase", "a", "--dry-run"]);
    assert_eq!(
        (preview["erased"].as_u64(), &preview["dry_run"]),
        (Some(2), &Value::Bool(true))
    );
    assert!(stands_in_files(&folder, "swordfish"));

    let erased = folder.json(&["erase", "a", "--yes", "-m", "it leaked", "--actor", "ada"]);
    let fields = [
        ("erased", "n"),
        ("bytes", "n"),
        ("commit", "d"),
        ("seq", "n"),
        ("root", "d"),
    ];
    check_fields(&erased, &fields);
    assert_eq!(
        (erased["erased"].as_u64(), names(&erased["unlinked"])),
        (Some(2), vec!["a"])
    );
    assert_eq!(names(&erased["digests"]), names(&preview["digests"]));
    assert!(!stands_in_files(&folder, "swordfish") && !stands_in_files(&folder, "the password"));

    assert_eq!(folder.refused(1, &["get", "a"])["code"], "not_found");
    let refused = folder.refused(1, &["get", "a", "--at", "before"]);
    assert_eq!(refused["code"], "erased");
    let hint = refused["hint"].as_str().unwrap();
    assert!(
        hint.contains("ada") && hint.contains("it leaked") && hint.contains("seq:"),
        "{hint}"
    );
    let verified = folder.json(&["verify"]);
    assert_eq!(
        (&verified["ok"], verified["erased"].as_u64()),
        (&Value::Bool(true), Some(2))
    );
    assert_eq!(folder.json(&["stats"])["erased"], 2);
    let again = folder.refused(1, &["erase", "a", "--yes"]);
    assert_eq!(
        (&again["code"], again["hint"].as_str()),
        (&"erased".into(), Some(hint))
    );

    folder.put("b", "later");
    folder.json(&[&["gc", "--yes"], &THIN[..]].concat());
    let refused = folder.refused(1, &["get", "a", "--at", "before"]);
    assert_eq!(
        refused["hint"], hint,
        "the commit of the erasure is kept, so the hint is unchanged"
    );
}

#[test]
fn every_verb_that_reads_the_past_says_that_something_was_erased() {
    let folder = Folder::with_store();
    folder.put("a", "the password is swordfish");
    folder.put("b", "other");
    folder.json(&["snapshot", "before"]);
    folder.put("a", "the password is gone");
    let root = folder.json(&["head"])["root"].clone();
    let erased = folder.json(&["erase", "a", "--yes"]);
    assert_eq!(folder.json(&["head", "--at", "@-1"])["root"], root);
    let listed = folder.run(&["list", "--at", "before"]);
    assert!(
        listed.out.contains('b') && !listed.out.contains("erased:"),
        "{listed:?}"
    );
    assert!(
        listed
            .err
            .contains("not listed, because erased or lost: 1 object of this state"),
        "{listed:?}"
    );
    let version = names(&erased["digests"])[0].to_owned();
    assert_eq!(
        folder.refused(1, &["get", "--digest", &version])["code"],
        "erased"
    );
    for digits in [&version[..], &version[..12]] {
        let what = folder.run(&["inspect", "digest", digits]).out;
        assert!(what.contains("erased by commit "), "{what}");
        assert!(!what.contains("version"), "{what}");
    }
    let history = folder.stream(&["history", "a"]);
    assert_eq!(
        history
            .iter()
            .map(|line| line["erased"] == true)
            .collect::<Vec<_>>(),
        [false, true, true]
    );
    assert!(folder.run(&["history", "a"]).out.contains("(erased)"));
    let exported = folder.run(&["export", "--at", "before"]);
    assert_eq!(exported.out.lines().count(), 1);
    assert!(exported.err.contains("omitted"), "{exported:?}");
    for format in ["markdown", "org", "svg", "html"] {
        let exported = folder.run(&["export", "--at", "before", "--format", format]);
        assert!(
            exported.code == 0 && !exported.out.contains("swordfish"),
            "{exported:?}"
        );
    }
    let diff = folder.stream(&["diff", "before"]);
    assert_eq!(diff.len(), 1);
    let key = diff[0]["id"]
        .as_str()
        .unwrap()
        .strip_prefix("erased:")
        .unwrap()
        .to_owned();
    assert_eq!(diff[0]["erased"], true);
    let stand_in = format!("- {}? (erased)", &key[..8]);
    let told = folder.run(&["diff", "before"]);
    assert!(told.code == 0 && told.out.contains(&stand_in), "{told:?}");
    let told = folder.run(&[
        "debug",
        "-c",
        ".at before",
        "-c",
        &format!("inspect digest {key}"),
    ]);
    assert!(
        told.out.contains("? (erased)") && !told.out.contains("erased:"),
        "{told:?}"
    );
    assert_eq!(folder.refused(1, &["restore", "before", "a"])["code"], "erased");
}

#[test]
fn a_reason_is_erased_by_the_digest_that_log_tells() {
    let folder = Folder::with_store();
    folder.json(&["put", "a", "--kind", "k", "-m", "because of swordfish"]);
    let log = folder.stream(&["log", "--limit", "1"]);
    let digest = log[0]["reason_digest"].as_str().unwrap();
    assert!(log[0]["source_digest"].is_null());
    let erased = folder.json(&["erase", &digest[..10], "--yes"]);
    assert_eq!(
        (erased["erased"].as_u64(), names(&erased["digests"])),
        (Some(1), vec![digest])
    );
    assert!(!stands_in_files(&folder, "swordfish"));
    let log = folder.stream(&["log"]);
    assert!(log[1]["reason"].is_null() && log[1]["reason_digest"] == digest);
    assert!(folder.run(&["log"]).out.contains("(erased)"));
}

#[test]
fn what_others_hold_is_named() {
    let folder = Folder::with_store();
    let long = "swordfish ".repeat(1000);
    folder.put("one", &long);
    folder.put("two", &long);
    let refused = folder.refused(1, &["erase", "one", "--yes"]);
    assert_eq!(
        (&refused["code"], names(&refused["ids"])),
        (&Value::from("shared"), vec!["two"])
    );
    let erased = folder.json(&["erase", "one", "--everywhere", "--yes"]);
    assert_eq!(names(&erased["holders"]), ["two"]);
    let two = folder.json(&["get", "two"]);
    assert!(two["content"].is_null() && two["content_erased_by"] == erased["commit"]);
    assert!(folder.run(&["get", "two"]).out.contains("the content was erased"));
    let exported = folder.run(&["export"]);
    assert!(
        exported.code == 0 && exported.err.contains("written without content"),
        "{exported:?}"
    );
    assert!(!stands_in_files(&folder, "swordfish"));
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

#[test]
fn gc_thins_by_the_policy_and_says_what_it_frees() {
    let folder = Folder::with_store();
    for number in 0..30 {
        folder.put("a", &format!("text {number}"));
    }
    folder.json(&["snapshot", "kept"]);
    folder.put("a", "after");
    let preview = folder.json(&[&["gc", "--dry-run", "--yes"], &THIN[..]].concat());
    let told = folder.run(&[&["gc", "--dry-run", "--yes"], &THIN[..]].concat());
    assert!(
        told.out.contains("2 of 32 commits: 30 would be thinned"),
        "{told:?}"
    );
    let report = folder.json(&[&["gc", "--yes"], &THIN[..]].concat());
    let counts = |report: &Value| {
        [
            "kept",
            "thinned",
            "versions_before",
            "versions",
            "bytes_before",
            "bytes",
        ]
        .map(|name| report[name].as_u64().unwrap())
    };
    assert_eq!(counts(&preview), counts(&report));
    let [kept, thinned, versions_before, versions, bytes_before, bytes] = counts(&report);
    assert_eq!((kept, thinned, versions_before, versions), (2, 30, 31, 2));
    assert!(bytes < bytes_before);
    let log = folder.run(&["log"]);
    assert!(
        log.out.contains("... 30 thinned ...") || log.out.contains("thinned"),
        "{log:?}"
    );
    assert_eq!(folder.stream(&["log"]).len(), 2);
    let stats = folder.json(&["stats", "--space"]);
    assert_eq!(
        (stats["thinned"].as_u64(), stats["gaps"].as_u64()),
        (Some(30), Some(1))
    );
    assert!(stats["disk_bytes"].as_u64() > stats["log_bytes"].as_u64());
    assert!(
        stats["space"]
            .as_array()
            .unwrap()
            .iter()
            .any(|kind| kind["kind"] == "gap")
    );
    assert!(
        folder
            .run(&["stats", "--space"])
            .out
            .contains("30 of them thinned in 1 gap")
    );
    assert_eq!(
        folder.refused(1, &["get", "a", "--at", "seq:3"])["code"],
        "thinned"
    );
    assert_eq!(folder.json(&["verify"])["thinned"], 30);
    let refused = folder.refused(1, &["list", "--at", "2020-01-01T00:00:00Z"]);
    assert_eq!(refused["code"], "thinned", "{refused}");
    let told = folder.run(&["show", "kept"]);
    assert!(told.err.contains("the previous commit was thinned"), "{told:?}");
    assert_eq!(folder.json(&["gc"])["thinned"], 0);
    for wrong in ["soon", "1x", "-1d"] {
        let refused = folder.refused(2, &["gc", "--hourly", wrong]);
        assert!(
            refused["hint"].as_str().unwrap().contains("12h, 30d"),
            "{refused}"
        );
        assert!(
            refused["message"].as_str().unwrap().contains("is not a duration"),
            "{refused}"
        );
    }
}

#[test]
fn stats_says_what_the_log_is_kept_for() {
    let folder = Folder::with_store();
    for number in 0..30 {
        folder.put("a", &format!("text {number}"));
    }
    folder.json(&["snapshot", "kept"]);
    folder.put("a", "after");
    let report = folder.json(&["gc"]);
    let stats = folder.json(&["stats", "--space"]);
    let bytes = |name: &str| stats[name].as_u64().unwrap();
    let kept_for = ["present_bytes", "named_bytes", "policy_bytes", "dead_bytes"].map(bytes);
    let within = kept_for.iter().sum::<u64>().abs_diff(bytes("log_bytes"));
    assert!(within < 200, "rewritten records may be a little longer: {stats}");
    assert!(bytes("named_bytes") > 0, "the snapshot keeps some bytes: {stats}");
    assert!(
        bytes("policy_bytes") > bytes("named_bytes"),
        "30 young versions: {stats}"
    );
    assert_eq!(
        bytes("log_bytes"),
        report["bytes"].as_u64().unwrap(),
        "gc and stats count alike"
    );
    assert!(bytes("set_aside_bytes") + bytes("log_bytes") < bytes("disk_bytes"));
    let past = folder.json(&["stats", "--space", "--at", "@"]);
    assert!(
        past["dead_bytes"].is_null() && past.get("space").is_none(),
        "{past}"
    );
}

#[test]
fn gc_asks_before_a_policy_that_keeps_less_than_the_standard_one() {
    let folder = Folder::with_store();
    for number in 0..5 {
        folder.put("a", &format!("text {number}"));
    }
    let log = || folder.stream(&["log"]).len();
    for strict in [
        &THIN[..],
        &["--newest", "1", "--hourly", "0", "--daily", "0", "--weekly", "0"],
        &["--now", "2099-01-01"],
    ] {
        let ran = folder.run(&[&["gc", "--json"], strict].concat());
        assert_eq!(ran.refusal(2)["code"], "usage");
        assert!(
            ran.documents()[0]["thinned"].as_u64() > Some(0),
            "the answer reports the commits that would be thinned: {ran:?}"
        );
        assert_eq!(log(), 6);
    }
    // A policy that keeps at least as much as the default, or that thins no commit, needs no --yes.
    for harmless in [
        &["gc"][..],
        &["gc", "--keep-all", "forever"],
        &["gc", "--newest", "100"],
    ] {
        assert_eq!(folder.json(harmless)["thinned"], 0);
    }
    let dry = folder.json(&["gc", "--newest", "1", "--hourly", "0", "--yes", "--dry-run"]);
    assert_eq!((&dry["dry_run"], log()), (&Value::Bool(true), 6));
    assert!(folder.json(&["gc", "--newest", "1", "--hourly", "0", "--yes"])["thinned"].as_u64() > Some(0));
    assert!(log() < 6);
    for nothing_to_say in ["--source", "-m", "--trust"] {
        folder.refused(2, &["gc", nothing_to_say, "untrusted"]);
    }
    folder.refused(2, &["--source", "x", "gc"]);
    folder.json(&["gc", "--wait", "1s"]);
}

#[test]
fn what_erase_would_take_is_told_before_and_what_it_took_afterwards() {
    let folder = Folder::with_store();
    let long = "swordfish ".repeat(1000);
    folder.put("one", &long);
    folder.put("two", &long);
    folder.json(&["put", "one/a", "--kind", "k", "--parent", "one", "-m", "because"]);
    let refused = folder.refused(1, &["erase", "one", "--yes"]);
    let hint = refused["hint"].as_str().unwrap();
    assert!(
        refused["code"] == "has_children" && hint.contains("one/a"),
        "{refused}"
    );
    let targets = ["one", "one/a"];
    let ran = folder.run(&[&["erase", "--json"], &targets[..]].concat());
    assert_eq!(ran.refusal(2)["code"], "usage");
    let told = ran.documents()[0].clone();
    assert_eq!(
        (told["erased"].as_u64(), &told["dry_run"]),
        (Some(2), &Value::Bool(true))
    );
    assert!(told["needs"].as_str().unwrap().contains("--everywhere"), "{told}");
    assert_eq!(names(&told["holders"]), ["two"]);
    let kinds = |told: &Value| {
        let records = told["records"].as_array().unwrap().iter();
        records
            .map(|record| (record["kind"].clone(), record["id"].clone()))
            .collect::<Vec<_>>()
    };
    let expected = [
        ("version", "one".into()),
        ("version", "one/a".into()),
        ("content", Value::Null),
    ];
    assert_eq!(kinds(&told), expected.map(|(kind, id)| (kind.into(), id)));
    let dry = folder.json(&[&["erase", "--dry-run", "--yes"], &targets[..]].concat());
    assert_eq!((kinds(&dry), folder.seq()), (kinds(&told), 3));

    let erased = folder.json(
        &[
            &["erase", "--everywhere", "--yes", "-m", "a secret"],
            &targets[..],
        ]
        .concat(),
    );
    let digest = names(&erased["digests"])[0].to_owned();
    let again = folder.refused(1, &["erase", &digest, "--yes"]);
    assert!(
        again["code"] == "erased" && again["hint"].as_str().unwrap().contains("a secret"),
        "{again}"
    );
    let commit = folder.json(&["show"]);
    let mut listed = names(&commit["erased"]);
    let mut digests = names(&erased["digests"]);
    listed.sort_unstable();
    digests.sort_unstable();
    assert_eq!(listed, digests);

    let because = folder.stream(&["log"])[1]["reason_digest"]
        .as_str()
        .unwrap()
        .to_owned();
    folder.json(&["erase", &because, "--yes"]);
    let log = folder.stream(&["log"]);
    assert_eq!(
        (&log[2]["reason_erased"], &log[1]["reason_erased"]),
        (&Value::Bool(true), &Value::Bool(false))
    );
    assert!(folder.run(&["show", "seq:3"]).out.contains("(erased)"));
}

#[test]
fn what_should_be_nowhere_is_found_wherever_history_has_it() {
    let folder = Folder::with_store();
    let long = format!("{} swordfish", "word ".repeat(1000));
    folder.json(&["put", "a", "--kind", "k", "--attr", "password=Swordfish"]);
    folder.put("a", "nothing");
    folder.put("long", &long);
    folder.put("long", "nothing");
    folder.json(&[
        "put",
        "b",
        "--kind",
        "k",
        "-m",
        "the swordfish",
        "--source",
        "swordfish.txt",
    ]);
    folder.json(&[
        "put",
        "c",
        "--kind",
        "k",
        "--session",
        "swordfish",
        "--actor",
        "swordfish",
    ]);
    folder.json(&["snapshot", "swordfish-1", "-m", "after swordfish"]);
    // The word also occurs in other fields than attributes, in versions that no state contains any more.
    folder.json(&["put", "swordfish", "--kind", "k"]);
    for (field, value) in [
        ("kind", "swordfish"),
        ("scope", "swordfish"),
        ("position", "swordfish"),
    ] {
        folder.json(&["put", field, "--kind", "k", &format!("--{field}"), value]);
    }
    folder.json(&["put", "parent", "--kind", "k", "--parent", "swordfish"]);
    assert_eq!(folder.stream(&["find", "swordfish"]).len(), 5);
    for id in ["kind", "scope", "position", "parent", "swordfish"] {
        folder.json(&["remove", id]);
    }
    let found = || {
        let found = folder.stream(&["find", "swordfish", "--history"]);
        let text = |hit: &Value, field: &str| hit[field].as_str().unwrap().to_owned();
        let mut found: Vec<_> = found
            .iter()
            .map(|hit| format!("{} {} {}", text(hit, "is_a"), text(hit, "of"), text(hit, "where")))
            .collect();
        found.sort_unstable();
        found
    };
    let all = [
        "commit seq:6 actor",
        "commit seq:6 session",
        "content long content",
        "reference snapshots/swordfish-1 name",
        "text seq:5 reason",
        "text seq:5 source",
        "text snapshots/swordfish-1 reason",
        "version a password",
        "version kind kind",
        "version parent parent",
        "version position position",
        "version scope scope",
        "version swordfish id",
    ];
    assert_eq!(found(), all);
    assert!(
        folder.stream(&["find", "swordfish"]).is_empty(),
        "the present state does not contain the word"
    );
    let digests = folder.stream(&["find", "swordfish", "--history"]);
    let digests = digests.iter().filter(|hit| hit["is_a"] != "commit");
    let digests: Vec<_> = digests.filter_map(|hit| hit["digest"].as_str()).collect();
    folder.json(&[&["erase", "--everywhere", "--yes"], &digests[..]].concat());
    assert_eq!(
        found(),
        [
            "commit seq:6 actor",
            "commit seq:6 session",
            "reference snapshots/swordfish-1 name"
        ]
    );
    // Deleting the snapshot removes its name from the log. Thinning the commit removes its actor and session.
    folder.json(&["snapshot", "--delete", "swordfish-1"]);
    folder.put("d", "later");
    folder.json(&[
        "gc", "--newest", "1", "--hourly", "0", "--daily", "0", "--weekly", "0", "--yes",
    ]);
    assert!(found().is_empty());
    assert!(!stands_in_files(&folder, "swordfish"));
}

#[test]
fn an_undo_to_what_somebody_else_erased_says_so() {
    let folder = Folder::with_store();
    for text in ["one", "two"] {
        folder.json(&["put", "a", "--kind", "k", "--content", text, "--session", "one"]);
    }
    let history = folder.stream(&["history", "a"]);
    let first = history[1]["digest"].as_str().unwrap();
    folder.json(&["erase", first, "--yes", "--session", "two", "-m", "a secret"]);
    let refused = folder.refused(1, &["undo", "--session", "one"]);
    let hint = refused["hint"].as_str().unwrap();
    assert!(
        refused["code"] == "erased" && hint.contains("two erased it") && hint.contains("`restore REV ID`"),
        "{refused}"
    );
    // If another lane changed the object too, the undo fails with a conflict that names the object.
    folder.json(&[
        "put",
        "a",
        "--kind",
        "k",
        "--content",
        "three",
        "--session",
        "two",
    ]);
    let refused = folder.refused(3, &["undo", "--session", "one"]);
    assert_eq!(names(&refused["ids"]), ["a"]);
    // Undoing the first version of an id removes the id. After an erasure the id is already absent, so the undo changes
    // nothing.
    folder.json(&["put", "b", "--kind", "k", "--session", "one"]);
    folder.json(&["erase", "b", "--yes", "--session", "two"]);
    assert_eq!(folder.json(&["undo", "--session", "one"])["removed"], 0);
}

#[test]
fn a_shell_reads_a_store_with_gaps_and_erased_objects() {
    let folder = Folder::with_store();
    folder.put("top", "x");
    folder.json(&[
        "put",
        "top/a",
        "--kind",
        "k",
        "--parent",
        "top",
        "--content",
        "swordfish",
    ]);
    folder.json(&["remove", "top/a"]);
    for number in 0..5 {
        folder.put("b", &format!("text {number}"));
    }
    folder.json(&["erase", "top/a", "--yes"]);
    folder.json(&["rollback", "seq:2", "--all"]);
    folder.json(&[&["gc", "--yes"], &THIN[..]].concat());
    for command in [
        "history top",
        "list",
        "tree",
        "find swordfish",
        "list --recent",
        "lineage top",
        "stats --by kind",
        "log",
        "history top/a",
        "snapshots",
        "lanes",
        "log --refs",
        "show",
        "undo --dry-run",
        "stats",
        "head",
        "verify",
        "inspect trie --path top",
        "inspect trie",
        "inspect frames --of top",
        "inspect files",
        "inspect frames --kind seal",
        "inspect frames",
        "inspect recovery",
    ] {
        let ran = folder.run(&["debug", "-c", command]);
        assert!(ran.code < 2, "{command}: {ran:?}");
        assert!(!ran.out.contains("swordfish"), "{command}: {ran:?}");
    }
    let ran = folder.run(&[
        "debug",
        "--write",
        "-c",
        "erase b --dry-run",
        "-c",
        "gc --dry-run",
    ]);
    assert!(ran.code == 0 && ran.out.contains("would erase"), "{ran:?}");
    assert_ne!(folder.run(&["debug", "-c", "gc"]).code, 0);
}

//! `keygen`, `sign`, `check-head`, `prove-head`, `witness`: heads are signed, checked, proven and witnessed, also by a
//! verifier in another language.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::program::{Folder, check_fields, column, text};

/// The verifier key that the specification of signed notes has as its example.
const EXAMPLE_KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";

/// Returns a store with two commits, a key `vera`, and its verifier key.
fn with_key() -> (Folder, String) {
    let folder = Folder::with_store();
    folder.put("a", "first");
    let public = text(&folder.json(&["keygen", "vera"])["public"]);
    (folder, public)
}

/// Signs the head, and keeps the note in a file. Returns the note.
fn sign(folder: &Folder, file: &str) -> String {
    let note = text(&folder.json(&["sign"])["note"]);
    folder.write(file, &note);
    note
}

fn state(folder: &Folder, call: &[&str]) -> String {
    text(&folder.json(call)["state"])
}

/// Returns the code of the error and the answer of a check that fails.
fn failed(folder: &Folder, call: &[&str]) -> (String, Value) {
    let ran = folder.run(&[call, &["--json"]].concat());
    let code = text(&ran.refusal(5)["code"]);
    (code, ran.documents().first().cloned().unwrap_or_default())
}

/// Copies the store of a folder, as a backup tool does.
fn copy_store(from: &Folder, to: &Folder) {
    let copied = Command::new("cp")
        .arg("-a")
        .arg(from.store())
        .arg(to.path(""))
        .status()
        .unwrap();
    assert!(copied.success());
    to.json(&["trust-store"]);
}

#[test]
fn a_key_is_private_and_named_once() {
    let folder = Folder::with_store();
    assert_eq!(folder.refused(1, &["sign"])["code"], "no_key");
    assert_eq!(folder.refused(1, &["sign", "--key", "vera"])["code"], "no_key");
    let made = folder.json(&["keygen", "vera"]);
    check_fields(&made, &[("name", "s"), ("public", "s"), ("file", "s")]);
    let file = folder.path("home/.config/treering/keys/vera");
    assert_eq!(text(&made["file"]), file.display().to_string());
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let private = fs::read_to_string(&file).unwrap();
    assert!(
        private.starts_with("PRIVATE+KEY+vera+"),
        "the form of other programs"
    );
    let trusted = fs::read_to_string(folder.path("home/.config/treering/trusted-keys")).unwrap();
    assert_eq!(trusted, format!("{}\n", text(&made["public"])));
    assert_eq!(folder.refused(1, &["keygen", "vera"])["code"], "file_exists");
    assert_eq!(fs::read_to_string(&file).unwrap(), private);
    for name in ["", "a/b", "..", ".a", "a b", "a+b", "-a", &"x".repeat(65)] {
        let refused = folder.run(&["keygen", "--json", "--", name]).refusal(1);
        assert_eq!(refused["code"], "bad_key", "{name:?}");
    }
    folder.json(&["keygen", "ada"]);
    assert_eq!(folder.refused(1, &["sign"])["code"], "ambiguous");
    let note = text(&folder.json(&["sign", "--key", "vera", "--key", "ada"])["note"]);
    assert_eq!(note.lines().count(), 6, "{note}");
    // A file that others can read is no private key any more.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(folder.refused(4, &["sign", "--key", "vera"])["code"], "refused");
    folder.write("home/.config/treering/keys/eve", private.replace("vera", "eve"));
    let eve = folder.path("home/.config/treering/keys/eve");
    fs::set_permissions(eve, fs::Permissions::from_mode(0o600)).unwrap();
    let refused = folder.refused(1, &["sign", "--key", "eve"]);
    assert_eq!(refused["code"], "bad_key");
    let secret = private.trim_end().splitn(5, '+').last().unwrap();
    assert!(secret.len() == 44 && !refused.to_string().contains(secret));
}

#[test]
fn a_head_is_same_then_extended_and_every_other_history_is_named() {
    let (folder, public) = with_key();
    let signed = folder.json(&["sign"]);
    check_fields(
        &signed,
        &[("origin", "s"), ("size", "n"), ("root", "d"), ("note", "s")],
    );
    assert_eq!(signed["size"].as_u64(), Some(folder.seq() + 1));
    folder.write("old", text(&signed["note"]));
    assert_eq!(state(&folder, &["check-head", "old"]), "same");
    let backup = Folder::new();
    copy_store(&folder, &backup);
    folder.put("b", "second");
    let checked = folder.json(&["check-head", "old", "--key", &public]);
    assert_eq!(
        (checked["ok"].as_bool(), text(&checked["state"]).as_str()),
        (Some(true), "extends")
    );
    assert_eq!(
        (checked["size"].as_u64(), checked["history"].as_u64()),
        (Some(2), Some(3))
    );
    assert_eq!(checked["signers"], json!([{"key": "vera", "time": null}]));
    let newer = sign(&folder, "new");
    // The backup lacks a commit, then it has another one.
    backup.write("new", &newer);
    let (code, answer) = failed(&backup, &["check-head", "new", "--key", &public]);
    assert_eq!(
        (code.as_str(), &answer["ok"], &answer["state"]),
        ("history_shorter", &json!(false), &json!("shorter"))
    );
    backup.put("x", "another");
    let (code, answer) = failed(&backup, &["check-head", "new", "--key", &public]);
    assert_eq!(
        (code.as_str(), &answer["state"]),
        ("history_rewritten", &json!("rewritten"))
    );
    assert_eq!(
        answer["rewritten"],
        json!({"from": 2, "to": 2}),
        "the kept head narrows it down"
    );
    let stranger = Folder::with_store();
    stranger.write("new", &newer);
    let (code, answer) = failed(&stranger, &["check-head", "new", "--key", &public]);
    assert_eq!(
        (code.as_str(), &answer["state"]),
        ("other_origin", &json!("other"))
    );
    let (code, _) = failed(
        &stranger,
        &["check-head", "new", "--key", &public, "--any-origin"],
    );
    assert_eq!(code, "history_shorter");
    assert_eq!(stranger.refused(1, &["check-head", "new"])["code"], "no_key");
    assert_eq!(
        stranger.refused(1, &["check-head", "nowhere", "--key", &public])["code"],
        "no_file"
    );
    assert_eq!(
        stranger.refused(2, &["check-head", "new", "--key", "x"])["code"],
        "usage"
    );
    let (code, _) = failed(&stranger, &["check-head", "new", "--key", EXAMPLE_KEY]);
    assert_eq!(code, "not_signed");
}

#[test]
fn the_head_of_a_fork_is_compared_with_the_fork() {
    let (folder, _) = with_key();
    sign(&folder, "main");
    folder.json(&["fork", "task-7"]);
    folder.json(&["put", "b", "--kind", "note", "--fork", "task-7"]);
    let signed = folder.json(&["sign", "--fork", "task-7"]);
    assert!(text(&signed["origin"]).ends_with("/task-7"));
    folder.write("fork", text(&signed["note"]));
    folder.put("c", "on main");
    assert_eq!(state(&folder, &["check-head", "fork"]), "same");
    assert_eq!(state(&folder, &["check-head", "main"]), "extends");
    let names = column(&folder.stream(&["log", "--refs"]), "name");
    assert!(names.contains(&"signatures/task-7/vera".to_owned()), "{names:?}");
    folder.json(&["fork", "--drop", "task-7", "--unmerged"]);
    assert_eq!(failed(&folder, &["check-head", "fork"]).0, "other_origin");
    folder.json(&["fork", "task-7"]);
    folder.json(&["put", "d", "--kind", "note", "--fork", "task-7"]);
    assert_eq!(failed(&folder, &["check-head", "fork"]).0, "history_rewritten");
    assert_eq!(
        folder.refused(5, &["sign", "--fork", "task-7"])["code"],
        "history_rewritten"
    );
    folder.json(&["verify"]);
    let collected = folder.json(&["gc", "--newest", "1", "--keep-all", "0s", "--yes"]);
    assert!(collected.is_object());
    assert_eq!(state(&folder, &["check-head", "main"]), "extends");
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

#[test]
fn every_byte_of_a_signed_head_counts() {
    let (folder, _) = with_key();
    let note = sign(&folder, "head");
    assert_eq!(folder.run(&["check-head", "head"]).code, 0);
    for at in (0..note.len()).step_by(3) {
        let mut bytes = note.clone().into_bytes();
        bytes[at] ^= 1;
        folder.write("head", &bytes);
        assert_eq!(folder.run(&["check-head", "head"]).code, 5, "byte {at} of {note}");
    }
    for garbage in ["", "{}", "\u{0}", "old 3", "\n\n\n"] {
        folder.write("head", garbage);
        let (code, answer) = failed(&folder, &["check-head", "head"]);
        assert_eq!(
            (code.as_str(), &answer["ok"]),
            ("bad_note", &json!(false)),
            "{garbage:?}"
        );
    }
}

#[test]
fn a_witness_signs_one_history_and_refuses_a_second() {
    let (folder, public) = with_key();
    let auditor = Folder::new();
    assert_eq!(folder.refused(1, &["prove-head", "0"])["code"], "not_signed");
    let first = sign(&folder, "first");
    let copy = Folder::new();
    copy_store(&folder, &copy);
    let request = text(&folder.json(&["prove-head", "0"])["request"]);
    auditor.write("request", &request);
    let witness = ["witness", "request", "--state", "heads", "--key", &public];
    assert_eq!(auditor.refused(1, &witness[..4])["code"], "no_key");
    let seen = auditor.json(&witness);
    check_fields(
        &seen,
        &[
            ("origin", "s"),
            ("size", "n"),
            ("root", "d"),
            ("cosignature", "s"),
            ("public", "s"),
        ],
    );
    let root = first.lines().nth(2).unwrap();
    let line = format!("{} 2 {root}\n", text(&seen["origin"]));
    assert_eq!(fs::read_to_string(auditor.path("heads")).unwrap(), line);
    assert_eq!(
        auditor.refused(3, &witness)["code"],
        "conflict",
        "the witness knows that head already"
    );
    // The line of the witness belongs behind the head.
    folder.write("first", format!("{first}{}", text(&seen["cosignature"])));
    let cosigner = text(&seen["public"]);
    let checked = folder.json(&["check-head", "first", "--key", &public, "--key", &cosigner]);
    assert_eq!(
        column(checked["signers"].as_array().unwrap(), "key"),
        ["vera", "witness"]
    );
    check_fields(&checked["signers"][1], &[("time", "t")]);
    // The history goes on.
    folder.put("b", "second");
    folder.put("c", "third");
    sign(&folder, "second");
    let request = folder.json(&["prove-head", "first"]);
    check_fields(
        &request,
        &[
            ("origin", "s"),
            ("old", "n"),
            ("size", "n"),
            ("root", "d"),
            ("request", "s"),
        ],
    );
    auditor.write("request", text(&request["request"]));
    assert_eq!(auditor.json(&witness)["size"], 4);
    folder.write("request", text(&request["request"]));
    assert_eq!(state(&folder, &["check-head", "request"]), "same");
    let elsewhere = ["check-head", "request", "--old", "first", "--key", &public];
    auditor.write("first", &first);
    assert_eq!(state(&auditor, &elsewhere), "extends", "no store is needed");
    // A copy that went another way.
    copy.put("x", "another");
    copy.put("y", "another");
    copy.write(
        "key",
        fs::read(folder.path("home/.config/treering/keys/vera")).unwrap(),
    );
    fs::create_dir_all(copy.path("home/.config/treering/keys")).unwrap();
    fs::rename(copy.path("key"), copy.path("home/.config/treering/keys/vera")).unwrap();
    let private = copy.path("home/.config/treering/keys/vera");
    fs::set_permissions(private, fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::read(auditor.path("heads")).unwrap();
    copy.json(&["sign"]);
    auditor.write("request", text(&copy.json(&["prove-head", "4"])["request"]));
    assert_eq!(
        auditor.refused(5, &witness)["code"],
        "history_rewritten",
        "the same size"
    );
    copy.put("z", "another");
    copy.json(&["sign"]);
    auditor.write("request", text(&copy.json(&["prove-head", "4"])["request"]));
    assert_eq!(auditor.refused(5, &witness)["code"], "proof_failed");
    assert_eq!(
        auditor.refused(1, &["witness", "request", "--state", "heads"])["code"],
        "no_key"
    );
    assert_eq!(fs::read(auditor.path("heads")).unwrap(), before);
    copy.write("second", fs::read(folder.path("second")).unwrap());
    assert_eq!(
        copy.refused(5, &["prove-head", "second"])["code"],
        "history_rewritten"
    );
    auditor.write("heads", "nonsense\n");
    assert_eq!(auditor.refused(5, &witness)["code"], "bad_note");
}

/// WIT-2: a key that is trusted for one origin signs no other. No error repeats a private key.
#[test]
fn a_key_is_trusted_for_its_origin_and_never_printed() {
    let (folder, vera) = with_key();
    let private = fs::read_to_string(folder.path("home/.config/treering/keys/vera")).unwrap();
    let private = private.trim_end();
    let ada = text(&folder.json(&["keygen", "ada"])["public"]);
    folder.write("old", text(&folder.json(&["sign", "--key", "vera"])["note"]));
    for call in [
        &["check-head", "old", "--key", private][..],
        &["witness", "old", "--state", "heads", "--key", private],
        &["sign", "--key", private],
        &["keygen", private],
    ] {
        let ran = folder.run(call);
        assert!(
            !ran.err.contains(private) && !ran.out.contains(private),
            "{call:?}"
        );
        assert!([1, 2].contains(&ran.code), "{call:?}");
    }
    // The first key binds the origin, until a head is signed by both.
    let witness = |auditor: &Folder, keys: &[&str], old: &str| {
        let mut call = vec!["sign"];
        for key in keys {
            call.extend(["--key", key]);
        }
        folder.write("new", text(&folder.json(&call)["note"]));
        auditor.write("request", text(&folder.json(&["prove-head", old])["request"]));
        folder.write("old", text(&folder.json(&call)["note"]));
        auditor.run(&[
            "witness", "request", "--state", "heads", "--json", "--key", &vera, "--key", &ada,
        ])
    };
    let auditor = Folder::new();
    let first = witness(&auditor, &["vera"], "0");
    assert!(
        first.code == 0 && first.err.contains("heads"),
        "it says that the state is new"
    );
    folder.put("b", "second");
    let other = witness(&auditor, &["ada"], "old");
    assert_eq!(other.refusal(5)["code"], "not_signed");
    // `trusted-keys` may name the origin of a key.
    let origin = text(&folder.json(&["sign", "--key", "ada"])["origin"]);
    let list = "home/.config/treering/trusted-keys";
    folder.write(list, format!("{vera}\n{origin} {ada}\n"));
    assert_eq!(state(&folder, &["check-head", "old"]), "same");
    folder.write(list, format!("{ada}\n{origin} {vera}\n"));
    assert_eq!(failed(&folder, &["check-head", "old"]).0, "not_signed");
    folder.write("huge", vec![b'x'; 2 << 20]);
    let (code, answer) = failed(&folder, &["check-head", "huge"]);
    assert_eq!((code.as_str(), &answer["state"]), ("bad_note", &json!("other")));
    assert_eq!(answer["code"], "bad_note");
}

/// Runs the verifier in Python. Returns a line for each case, or `None` if there is no Python here.
fn in_python(cases: &[Value]) -> Option<Vec<String>> {
    let script = format!("{}/tests/clients/signed_head.py", crate::ROOT);
    let started = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    // Without Python, only a run outside of CI passes.
    let Ok(mut child) = started else {
        assert!(std::env::var_os("CI").is_none(), "python3 is missing");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = Value::from(cases.to_vec()).to_string();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn a_verifier_in_python_accepts_every_note_and_request_and_no_changed_one() {
    let (folder, public) = with_key();
    folder.json(&["keygen", "ada"]);
    folder.json(&["fork", "side"]);
    let keys = fs::read_to_string(folder.path("home/.config/treering/trusted-keys")).unwrap();
    let keys: Vec<&str> = keys.lines().collect();
    assert_eq!(keys[0], public);
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    let mut old = json!([]);
    for number in 0..12 {
        let line: &[&str] = if number % 3 == 2 { &["--fork", "side"] } else { &[] };
        let id = format!("n/{number}");
        folder.json(&[&["put", &id, "--kind", "note"], line].concat());
        let signed = folder.json(&[&["sign", "--key", "ada", "--key", "vera"], line].concat());
        let mut commits = column(&folder.stream(&[&["log"], line].concat()), "commit");
        commits.reverse();
        cases.push(json!({"keys": keys, "text": signed["note"], "commits": commits}));
        expected.push("ada vera");
        if line.is_empty() {
            let size = old[0].as_u64().unwrap_or(0).to_string();
            let request = text(&folder.json(&["prove-head", &size])["request"]);
            cases.push(json!({"keys": [keys[1]], "text": request, "commits": commits, "old": old[1]}));
            expected.push("ada");
            old = json!([signed["size"], text(&signed["note"]).lines().nth(2)]);
        }
    }
    folder.write("request", text(&folder.json(&["prove-head", "0"])["request"]));
    let seen = folder.json(&["witness", "request", "--state", "heads"]);
    let note = text(&folder.json(&["sign", "--key", "vera"])["note"]);
    let cosigned = format!("{note}{}", text(&seen["cosignature"]));
    cases.push(json!({"keys": [keys[0], seen["public"]], "text": cosigned}));
    expected.push("vera witness");
    for at in (0..note.len()).step_by(2) {
        let mut bytes = note.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else {
            continue;
        };
        cases.push(json!({"keys": [keys[0]], "text": changed}));
        expected.push("refused");
    }
    let Some(answers) = in_python(&cases) else { return };
    assert_eq!(answers.len(), cases.len());
    for ((answer, expected), case) in answers.iter().zip(expected).zip(&cases) {
        // A witness states a time.
        assert_eq!(answer.split('@').next(), Some(expected), "{case}");
    }
}

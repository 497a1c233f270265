//! Every exit code: wrong usage, conflict, damage, an error of the operating system, and a store with a newer format.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::program::{Folder, Ran, bytes_below, check_fields, text};

#[test]
fn what_cannot_be_understood_is_usage() {
    let folder = Folder::with_store();
    for (arguments, wanted) in [
        (&["snapshoot"][..], "snapshot"),
        (&["get", "a", "--limt", "3"], "--limt"),
        (&["get"], "<ID>"),
        (&["get", "a", "b"], "b"),
        (&["list", "--limit", "many"], "many"),
        (
            &["put", "a", "--kind", "k", "--attr", "no-equals-sign"],
            "no-equals-sign",
        ),
        (&["undo", "--wait", "soon"], "soon"),
        (&["remote", "show", "origin"], "see treering remote --help"),
        (&["remote", "rm", "origin"], "'remove'"),
        (&["remote", "lst"], "'list'"),
        (&["init", "--hash", "md5"], "md5"),
        (&["--at", "@", "undo"], "--at"),
    ] {
        let error = folder.refused(2, arguments);
        assert_eq!(error["code"], "usage");
        let said = error.to_string();
        assert!(said.contains(wanted), "{arguments:?}: {said}");
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.starts_with("error: "), "{ran:?}");
    }
    assert!(
        folder.refused(2, &["verfy"])["hint"]
            .as_str()
            .unwrap()
            .contains("verify")
    );
}

/// A wrong command line has one error and one hint, for people too.
#[test]
fn an_error_of_usage_has_the_form_of_every_error() {
    let folder = Folder::with_store();
    for (arguments, hint) in [
        (&["remember"][..], "see treering remember --help"),
        (&["get"], "see treering get --help"),
        (&["recall", "--foo"], "'--fork'"),
        (&["rember", "x"], "the nearest verbs are 'remember'"),
        (&["verfy"], "the nearest verbs are 'verify'"),
        (&["note", "foo"], "see treering note --help"),
        (&["forget", "x", "--kept"], ""),
    ] {
        let ran = folder.run(arguments);
        let lines: Vec<&str> = ran.err.lines().collect();
        assert_eq!((ran.code, lines.len()), (2, 2), "{ran:?}");
        assert!(
            lines[0].starts_with("error: ") && lines[1].starts_with("hint: "),
            "{ran:?}"
        );
        assert!(lines[1].contains(hint), "{ran:?}");
        for word in ["subcommand", "Usage:", "For more", "use '-- "] {
            assert!(!ran.err.contains(word), "{word}: {ran:?}");
        }
        assert!(lines[1].matches('\'').count() <= 6, "{ran:?}");
    }
    // The help of the program and of a verb with verbs stays.
    for arguments in [&[][..], &["note"]] {
        let ran = folder.run(arguments);
        assert!(ran.code == 2 && ran.err.contains("Usage:"), "{ran:?}");
    }
}

/// A person who says no did what the hint of a missing person asks for.
#[test]
fn the_answer_no_is_not_a_missing_person() {
    let folder = Folder::with_store();
    let ran = folder.at_terminal(&["mcp", "install", "--client", "cursor"], "n\n");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.err.contains("the answer was no") && !ran.err.contains("hint:"),
        "{ran:?}"
    );
}

/// `remember` names the duration of an item `--ttl`, so `expire` takes this word, too.
#[test]
fn an_expiry_takes_the_word_of_remember() {
    let folder = Folder::with_store();
    folder.json(&["remember", "Tea is green.", "--id", "facts/tea"]);
    let expires = folder.json(&["expire", "facts/tea", "--ttl", "1d"]);
    assert!(expires["expires"].is_string(), "{expires}");
}

#[test]
fn a_refusal_is_short_and_says_what_to_write() {
    let folder = Folder::with_store();
    let refused = folder.refused(2, &["list", "--limit", "many"]);
    assert!(!refused.to_string().contains("For more information"), "{refused}");
    let refused = folder.refused(1, &["put", "a", "--kind", "k", "--attr", "k:=nope"]);
    let message = text(&refused["message"]);
    assert!(
        message.ends_with(r#"expected JSON, such as "text", 5, true or null"#),
        "{message}"
    );
    let long = "verb".repeat(1_000);
    for arguments in [
        &[long.as_str()][..],
        &["list", "--limit", &long],
        &["get", "a", &format!("--{long}")],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 2);
        assert!(
            ran.err.contains("...'") && ran.err.contains("verbverb") && ran.err.len() < 400,
            "{ran:?}"
        );
    }
}

#[test]
fn a_text_that_begins_with_a_dash_is_told_how_to_be_given_and_not_repeated() {
    let folder = Folder::with_store();
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE";
    for said in ["- buy milk", key] {
        for verb in [&["remember"][..], &["note", "write"], &["session", "append"]] {
            let refused = folder.refused(2, &[verb, &[said, "--session", "s"]].concat());
            assert!(text(&refused["hint"]).contains("write -- before"), "{refused}");
            assert!(!refused.to_string().contains("MIIE"), "{refused}");
        }
    }
    folder.json(&["remember", "--", "- buy milk"]);
}

#[test]
fn an_option_may_be_given_again_and_the_last_counts() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    folder.put("b", "x");
    folder.json(&["--json", "head", "--json"]);
    assert_eq!(folder.stream(&["list", "--limit", "1", "--limit", "2"]).len(), 2);
    let twice = [
        "put", "c", "--kind", "k", "--attr", "x=1", "--attr", "y=2", "--json",
    ];
    folder.json(&twice);
    assert_eq!(
        folder.json(&["get", "c"])["attributes"],
        serde_json::json!({"x": "1", "y": "2"})
    );
}

#[test]
fn nothing_at_all_shows_the_help() {
    let ran = Folder::new().run::<&str>(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("treering tour"), "{ran:?}");
}

/// Holds the lock of the store as another process would. Ending the child process releases the lock.
pub(crate) struct Holder(std::process::Child);

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) fn hold_lock(folder: &Folder) -> Option<Holder> {
    let lock = folder.store().join("lock");
    let mut command = std::process::Command::new("flock");
    let child = command
        .arg(lock)
        .args(["sh", "-c", "echo held; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.ok()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "held\n");
    Some(Holder(child))
}

#[test]
fn a_held_lock_is_busy_for_writers_and_nothing_for_readers() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    let Some(_holder) = hold_lock(&folder) else {
        println!("skipped: this machine has no program flock");
        return;
    };
    let refused = folder.refused(3, &["put", "b", "--kind", "k", "--wait", "50ms"]);
    assert_eq!(refused["code"], "busy");
    let message = text(&refused["message"]);
    assert!(
        message.contains("written by another process;"),
        "the lock file names a process that has ended, so the message must not name it: {message}"
    );
    assert_eq!(folder.refused(3, &["--wait", "0", "undo"])["code"], "busy");
    assert_eq!(folder.json(&["get", "a"])["content"], "x");
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

/// Flips a bit in the body of an object's record.
fn damage(store: &Path, content: &str) {
    let find = |bytes: &[u8]| {
        bytes
            .windows(content.len())
            .position(|window| window == content.as_bytes())
    };
    let files = bytes_below(&store.join("log"));
    let found = files
        .iter()
        .find_map(|(path, bytes)| Some((path, bytes, find(bytes)?)));
    let (segment, bytes, at) = found.unwrap();
    let mut file = OpenOptions::new().write(true).open(segment).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[bytes[at] ^ 1]).unwrap();
}

#[test]
fn damage_exits_with_5_and_is_listed_with_its_place() {
    let folder = Folder::with_store();
    folder.put("a", "first of all");
    folder.put("b", "second in line");
    folder.put("c", "third and last");
    damage(&folder.store(), "second in line");
    let before = bytes_below(&folder.store());
    let ran = folder.run(&["verify", "--json"]);
    assert_eq!(ran.refusal(5)["code"], "damaged");
    let report = &ran.documents()[0];
    assert_eq!(report["ok"], false);
    let damage = report["damage"].as_array().unwrap();
    assert!(!damage.is_empty());
    check_fields(&damage[0], &[("file", "s"), ("offset", "n"), ("what", "s")]);
    assert_eq!(damage[0]["file"], "log/00000001.seg");
    let ran = folder.run(&["verify"]);
    assert!(ran.code == 5 && ran.out.contains("00000001.seg"), "{ran:?}");
    folder.refused(5, &["put", "d", "--kind", "k"]);
    folder.refused(5, &["list"]);
    assert_eq!(
        folder.json(&["get", "a", "--degraded"])["content"],
        "first of all"
    );
    assert_eq!(
        bytes_below(&folder.store()),
        before,
        "a verb must not repair a damaged store without being asked"
    );
}

#[test]
fn a_damaged_store_is_read_at_its_last_good_root() {
    let folder = Folder::with_store();
    let line = |number: usize| {
        let content = format!("content {number:02} ").repeat(300);
        format!("{{\"id\":\"o/{number:02}\",\"kind\":\"k\",\"content\":\"{content}\"}}\n")
    };
    let lines: String = (0..70).map(line).collect();
    let ran = folder.feed(&["put", "--jsonl", "-", "--batch", "1"], lines);
    assert_eq!(ran.code, 0, "{ran:?}");
    // With a checkpoint, degraded reading also knows the state after the damage.
    fs::remove_dir_all(folder.store().join("checkpoint")).unwrap();
    damage(&folder.store(), "content 30 content 30");
    folder.refused(5, &["list"]);
    let seen = folder.stream(&["list", "--degraded"]);
    assert_eq!(
        seen.len(),
        30,
        "--degraded shows everything that was committed before the damage"
    );
    assert!(
        folder.json(&["get", "o/29", "--degraded"])["content"]
            .as_str()
            .is_some_and(|content| content.starts_with("content 29 "))
    );
    folder.refused(5, &["get", "o/30", "--degraded"]);
    assert_eq!(folder.stream(&["export", "--degraded"]).len(), 30);
    let ran = folder.run(&["head", "--degraded"]);
    assert!(
        ran.err.contains("seq 30"),
        "the message names the last readable seq: {ran:?}"
    );
}

#[test]
fn what_can_be_read_of_a_damaged_store_is_exported_in_every_form() {
    // The first case damages the parent object, and the second case the child object.
    for (broken, whole) in [(30, 31), (31, 30)] {
        export_without(broken, whole);
    }
}

/// Exports a store in which one object is damaged; object 31 is a child of object 30.
fn export_without(broken: usize, whole: usize) {
    let folder = Folder::with_store();
    let content = |number: usize| format!("content {number:02} ").repeat(900);
    let line = |number: usize| {
        let parent = if number == 31 { r#","parent":"o/30""# } else { "" };
        let content = content(number);
        format!("{{\"id\":\"o/{number}\",\"kind\":\"k\"{parent},\"content\":\"{content}\"}}\n")
    };
    let lines: String = (10..70).map(line).collect();
    assert_eq!(
        folder.feed(&["put", "--jsonl", "-", "--batch", "1"], lines).code,
        0
    );
    assert!(
        folder.store().join("checkpoint").exists(),
        "the state is known by it"
    );
    damage(&folder.store(), &format!("content {broken} content {broken}"));
    let ran = folder.run(&["export", "--degraded"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 59), "{ran:?}");
    assert!(ran.err.contains("omitted: 1 object"), "{}", ran.err);
    assert!(ran.out.contains(&content(whole)), "the other is there");
    for (form, file) in [("org", "all.org"), ("markdown", "all.md")] {
        let ran = folder.run(&["export", "--degraded", "--format", form, file]);
        assert_eq!(ran.code, 0, "{form}: {}", ran.err);
        assert!(ran.err.contains("omitted: 1 object"), "{form}: {}", ran.err);
        let written = fs::read_to_string(folder.path(file)).unwrap();
        assert!(written.contains(content(whole).trim()), "{form}");
        assert!(!written.contains(&format!("content {broken}")), "{form}");
    }
}

#[test]
fn a_hint_promises_only_what_degraded_reading_can_do() {
    for file in ["manifest", "format"] {
        let folder = Folder::with_store();
        folder.put("a", "x");
        fs::remove_file(folder.store().join(file)).unwrap();
        for arguments in [&["head"][..], &["verify"], &["put", "b", "--kind", "k"]] {
            let error = folder.refused(5, arguments);
            let hint = error["hint"].as_str().unwrap();
            assert!(
                hint.contains("treering salvage") && hint.contains("--degraded"),
                "{error}"
            );
        }
        assert_eq!(folder.json(&["get", "a", "--degraded"])["content"], "x");
    }
    let folder = Folder::with_store();
    folder.put("a", "first of all");
    folder.put("b", "second in line");
    damage(&folder.store(), "first of all");
    for arguments in [&["head"][..], &["verify"]] {
        let error = folder.refused(5, arguments);
        let hint = error["hint"].as_str().unwrap();
        assert!(
            hint.contains("--degraded") && hint.contains("newest state before"),
            "{error}"
        );
    }
    let error = folder.refused(1, &["init"]);
    assert!(!error["hint"].as_str().unwrap().contains("ready"), "{error}");
}

#[test]
fn a_refused_first_write_makes_no_store() {
    let folder = Folder::new();
    folder.write(
        "bad.jsonl",
        "{\"id\":\"a\",\"kind\":\"k\"}\n{\"id\":\"b\",\"kind\":\"k\",\"parent\":\"nobody\"}\n",
    );
    for arguments in [
        &["put", "a", "--kind", "k", "--parent", "nobody"][..],
        &["put", "--jsonl", "bad.jsonl"],
        &["ingest", "bad.jsonl"],
        &["put", "a", "--kind", "k", "--actor", ""],
    ] {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--store", "new"]);
        folder.refused(1, &arguments);
        assert!(!folder.path("new").exists(), "{arguments:?}");
    }
    assert_eq!(
        folder.json(&["put", "a", "--kind", "k", "--store", "new"])["seq"],
        1
    );
}

#[test]
fn hints_lead_on_and_not_in_circles() {
    let folder = Folder::with_store();
    let hint = |arguments: &[&str]| text(&folder.refused(1, arguments)["hint"]);
    for arguments in [&["history", "nobody"][..], &["get", "nobody"]] {
        assert!(!hint(arguments).contains("treering history"));
    }
    folder.put("a", "x");
    folder.json(&["remove", "a"]);
    assert!(hint(&["get", "a"]).contains("seq:2 removed the object"));
    folder.put("b", "x");
    assert!(hint(&["get", "b", "--at", "seq:1"]).contains("seq:3 stored the object"));
    assert!(hint(&["history", "b", "--at", "seq:1"]).contains("seq:3 stored the object"));
    let error = folder.refused(2, &["put", "a", "--kind", "k", "--at", "@"]);
    assert!(
        error["message"]
            .to_string()
            .contains("'put' does not accept --at"),
        "{error}"
    );
    assert!(
        !folder.refused(2, &[])["message"]
            .to_string()
            .contains("crash-test")
    );
    let long = "x".repeat(257);
    assert_eq!(
        folder.refused(1, &["put", &long, "--kind", "k"])["code"],
        "over_limit"
    );
}

#[test]
fn verify_works_on_stores_that_do_not_open() {
    for (file, bytes) in [
        ("manifest", &b"garbage"[..]),
        ("format", b"TREERING garbage"),
        ("log/00000001.seg", b""),
    ] {
        let folder = Folder::with_store();
        folder.put("a", "x");
        fs::write(folder.store().join(file), bytes).unwrap();
        let ran = folder.run(&["verify", "--json"]);
        assert_eq!(ran.code, 5, "{file}: {ran:?}");
        ran.refusal(5);
        assert_eq!(ran.documents()[0]["ok"], false, "{file}");
        folder.refused(5, &["get", "a"]);
    }
}

#[test]
fn a_store_of_the_future_is_refused_and_not_touched() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    let path = folder.store().join("format");
    let mut format = fs::read(&path).unwrap();
    assert_eq!(format.len(), 128);
    // `min_reader` follows the magic number and the format. The checksum covers all bytes before it.
    format[12..16].copy_from_slice(&2_u32.to_le_bytes());
    let checksum = crc32c::crc32c(&format[..124]);
    format[124..].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&path, format).unwrap();
    let before = bytes_below(&folder.store());
    for arguments in [
        &["get", "a"][..],
        &["put", "b", "--kind", "k"],
        &["head", "--degraded"],
        &["verify"],
    ] {
        assert_eq!(
            folder.refused(1, arguments)["code"],
            "unsupported_format",
            "{arguments:?}"
        );
    }
    assert_eq!(bytes_below(&folder.store()), before);
}

#[test]
fn a_full_device_is_an_output_error_and_a_closed_pipe_is_none() {
    let folder = Folder::with_store();
    let lines: String = (0..5_000)
        .map(|number| format!("{{\"id\":\"o/{number:05}\",\"kind\":\"k\"}}\n"))
        .collect();
    assert_eq!(
        folder.feed(&["put", "--jsonl", "-", "--batch", "1"], lines).code,
        0
    );
    if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
        let output = folder.command(&["list", "--json"]).stdout(full).output().unwrap();
        let ran = Ran {
            code: output.status.code().unwrap(),
            out: String::new(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert_eq!(ran.refusal(6)["code"], "answer_lost");
    } else {
        println!("skipped: this machine has no /dev/full");
    }
    // CLI-3: the program exits with 0 if the reader closes the pipe.
    for arguments in [
        &["list", "--json"][..],
        &["list"],
        &["export"],
        &["log"],
        &["help"],
        &["--help"],
        &["get", "o/00001"],
    ] {
        let mut child = folder
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (Some(0), None), "{arguments:?}");
        assert!(
            !said.contains("error") && !said.contains("panic"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn a_read_only_store_can_be_read_and_not_written() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    let read_only = |on: bool| {
        let mode = if on { 0o500 } else { 0o700 };
        for path in [folder.store(), folder.store().join("log")] {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        }
        for (path, _) in bytes_below(&folder.store()) {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode & 0o600)).unwrap();
        }
    };
    read_only(true);
    if File::create(folder.store().join("probe.tmp")).is_ok() {
        read_only(false);
        println!("skipped: permissions do not restrict this user");
        return;
    }
    let read = folder.run(&["get", "a", "--json"]);
    let written = folder.run(&["put", "b", "--kind", "k", "--json"]);
    read_only(false);
    assert_eq!(read.code, 0, "{read:?}");
    assert_eq!(written.refusal(6)["code"], "io");
}

#[test]
fn an_error_for_people_has_a_hint_and_no_debris() {
    let folder = Folder::with_store();
    let ran = folder.run(&["get", "nobody"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.starts_with("error: ") && ran.err.contains("\nhint: "),
        "{ran:?}"
    );
    let ran = folder.run(&["get", "red\u{1b}[31m"]);
    assert!(!ran.err.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn a_number_that_is_too_large_is_refused_with_the_bound() {
    let folder = Folder::with_store();
    for limit in ["99999999999999999999", "18446744073709551616"] {
        let refused = folder.refused(2, &["list", "--limit", limit]);
        let message = text(&refused["message"]);
        assert!(message.contains("18446744073709551615"), "{refused}");
    }
    folder.json(&["put", "a", "--kind", "k"]);
    assert_eq!(
        folder.stream(&["list", "--limit", "18446744073709551615"]).len(),
        1
    );
}

#[test]
fn a_bad_command_line_names_the_help_of_its_verb() {
    let folder = Folder::with_store();
    for (arguments, verb) in [
        (&["guard", "check"][..], "guard check"),
        (&["get"], "get"),
        (&["--store", "s", "remote", "add", "origin"], "remote add"),
    ] {
        let hint = text(&folder.refused(2, arguments)["hint"]);
        assert_eq!(hint, format!("see treering {verb} --help"));
    }
}

#[test]
fn a_hint_quotes_the_path_of_a_store() {
    let folder = Folder::new();
    folder.json(&["init", "--store", "it's here/.treering"]);
    let hint = text(&folder.refused(1, &["--store", "it's here", "get", "a"])["hint"]);
    assert!(hint.contains(r"--store 'it'\''s here/.treering'"), "{hint}");
}

#[test]
fn a_device_or_a_file_is_no_store() {
    let folder = Folder::new();
    for path in ["/dev/null", "/etc/passwd"] {
        for verb in [&["get", "a"][..], &["put", "a", "--kind", "k"]] {
            let arguments = [&["--store", path], verb].concat();
            let refused = folder.refused(1, &arguments);
            assert_eq!(refused["code"], "no_store", "{refused}");
        }
    }
}

//! Tests of commands from `-c`, `-f` and standard input: their output, and the messages and exit codes of failures.

use super::story;
use crate::program::{Folder, bytes_below, text};

fn with_two_commits() -> Folder {
    let folder = Folder::with_store();
    folder.put("tea", "Ada drinks green tea");
    folder.put("tea", "Ada drinks black tea");
    folder
}

#[test]
fn commands_come_from_options_files_and_standard_input() {
    let folder = with_two_commits();
    let ran = folder.run(&["debug", "-c", "treering get tea", "-c", "history tea"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.out.contains("Ada drinks black tea") && ran.out.contains("seq  version"),
        "{ran:?}"
    );
    folder.write(
        "questions",
        "# two of them\n\nget tea\n.at @-1\nget tea\nexit\nnever reached\n",
    );
    for ran in [
        folder.run(&["debug", "-f", "questions"]),
        folder.feed(&["debug", "-f", "-"], "get tea\n.at @-1\nget tea\n"),
        folder.feed(&["debug"], "get tea\n.at @-1\nget tea\n.quit\nnever reached\n"),
    ] {
        assert_eq!(ran.code, 0, "{ran:?}");
        let (black, green) = (ran.out.find("black").unwrap(), ran.out.find("green").unwrap());
        assert!(black < green && ran.err.is_empty(), "{ran:?}");
        assert!(!ran.out.contains('>') && !ran.out.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn the_shell_reads_and_writes_the_fork_that_it_is_told() {
    let folder = with_two_commits();
    folder.json(&["fork", "task-7"]);
    let put = "put tea --kind fact --content 'Ada drinks coffee'";
    let script = format!(".forks\n.fork\n.fork task-7\n{put}\nget tea\nforks\n.fork\n.fork main\nget tea\n");
    let ran = folder.feed(&["debug", "--write"], &script);
    assert_eq!(ran.code, 0, "{ran:?}");
    let (main, fork) = (
        ran.out.find("fork main").unwrap(),
        ran.out.find("fork task-7\n").unwrap(),
    );
    let (coffee, black) = (
        ran.out.find("coffee").unwrap(),
        ran.out.find("black tea").unwrap(),
    );
    assert!(main < fork && fork < coffee && coffee < black, "{ran:?}");
    for call in [
        &["debug", "--fork", "task-7", "-c", "get tea"][..],
        &["debug", "-c", "get tea --fork task-7"],
    ] {
        assert!(folder.run(call).out.contains("coffee"), "{call:?}");
    }
    // A pinned state is one of its line.
    let ran = folder.run(&["debug", "-c", ".at @-1", "-c", ".fork task-7", "-c", "get tea"]);
    assert!(ran.out.contains("coffee"), "{ran:?}");
    for call in [
        &["debug", "-c", ".fork none"][..],
        &["debug", "--fork", "none", "-c", "head"],
    ] {
        assert_eq!(text(&folder.refused(1, call)["code"]), "no_fork");
    }
}

#[test]
fn a_failure_names_its_line_and_ends_the_script_unless_told_otherwise() {
    let folder = with_two_commits();
    let script = "head\nget none\nhead\ndiff\n";
    let ran = folder.feed(&["debug"], script);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("line 2: there is no object 'none'"), "{ran:?}");
    assert_eq!(ran.out.matches("commit").count(), 1, "{ran:?}");
    let ran = folder.feed(&["debug", "--keep-going"], script);
    assert_eq!((ran.code, ran.out.matches("commit").count()), (1, 2), "{ran:?}");
    assert!(ran.err.contains("line 4:"), "{ran:?}");
    let refused = folder.refused(2, &["debug", "-c", "head", "-c", "snaphots"]);
    assert!(text(&refused["message"]).starts_with("-c 2: "), "{refused}");
    assert!(text(&refused["hint"]).contains("snapshots"), "{refused}");
    folder.write("broken", "get 'tea\n");
    let refused = folder.refused(2, &["debug", "-f", "broken"]);
    assert!(text(&refused["message"]).starts_with("broken:1: "), "{refused}");
    folder.refused(1, &["debug", "-f", "missing"]);
}

#[test]
fn json_is_a_document_a_line_for_each_answer() {
    let folder = with_two_commits();
    let lines = folder.stream(&[
        "debug",
        "-c",
        "head",
        "-c",
        "list",
        "-c",
        "log --limit 2",
        "-c",
        "lanes",
    ]);
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert_eq!(lines[0], folder.json(&["head"]));
    assert_eq!(lines[1], folder.json(&["list"]));
    assert_eq!(lines[2..4], folder.stream(&["log", "--limit", "2"]));
    assert_eq!(lines[4]["lane"], "default");
    let lines = folder.stream(&["debug", "-c", ".mode table", "-c", ".mode json", "-c", "head"]);
    assert_eq!(lines.len(), 1);
}

#[test]
fn a_long_lineage_ends_where_the_limit_is() {
    let folder = story::told();
    let whole = folder.stream(&["lineage", "notes/summary"]);
    assert!(whole.len() > 1, "{whole:?}");
    let ids = |rows: &[serde_json::Value]| rows.iter().map(|row| text(&row["version"])).collect::<Vec<_>>();
    let all = format!("lineage notes/summary --limit {}", whole.len());
    let ran = folder.run(&["debug", "-c", &all]);
    assert!(ran.code == 0 && !ran.err.contains("others"), "{ran:?}");
    let fewer = format!("lineage notes/summary --limit {}", whole.len() - 1);
    assert_eq!(
        ids(&folder.stream(&["debug", "-c", &fewer])),
        ids(&whole[..whole.len() - 1])
    );
    let ran = folder.run(&["debug", "-c", &fewer]);
    assert!(ran.err.contains("a larger --limit shows more"), "{ran:?}");
}

#[test]
fn nothing_is_written_unless_that_is_allowed() {
    let folder = with_two_commits();
    let before = bytes_below(&folder.store());
    for command in [
        "put x --kind y",
        "undo",
        "redo",
        "rollback @-1",
        "snapshot",
        "remove tea",
    ] {
        let refused = folder.refused(4, &["debug", "-c", command]);
        assert!(text(&refused["hint"]).contains("--write"), "{refused}");
    }
    for command in [
        "undo --dry-run",
        "rollback @-1 --dry-run",
        "show",
        "verify",
        "help",
    ] {
        assert_eq!(folder.run(&["debug", "-c", command]).code, 0, "{command}");
    }
    assert_eq!(bytes_below(&folder.store()), before);
    let ran = folder.feed(
        &["debug", "--write", "--session", "s", "-m", "why"],
        "snapshot\nput x --kind y\nundo\nlog --limit 1 --json\n.at @-1\nget x\n",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let log = folder.stream(&["log", "--limit", "2"]);
    assert_eq!(
        (text(&log[0]["op"]), text(&log[1]["op"])),
        ("undo".into(), "put".into())
    );
    assert_eq!(
        (text(&log[1]["session"]), text(&log[1]["reason"])),
        ("s".into(), "why".into())
    );
}

#[test]
fn standard_input_stays_with_the_shell_whatever_a_verb_is_told() {
    let folder = with_two_commits();
    for line in [
        "put x --kind y --content -",
        "put x --kind y --content=-",
        "put --jsonl -",
        "put --jsonl=-",
        "check-proof -",
    ] {
        for ran in [
            folder.run(&["debug", "--write", "-c", line]),
            folder.feed(&["debug", "--write"], format!("{line}\n")),
        ] {
            assert!(
                ran.code == 2 && ran.err.contains("standard input"),
                "{line}: {ran:?}"
            );
        }
    }
    // A dash at any other position is an ordinary word.
    let ran = folder.run(&["debug", "--write", "-c", "put - --kind y", "-c", "get -"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let folder = Folder::new();
    folder.refused(1, &["debug", "-c", "head"]);
    folder.refused(1, &["debug", "--write", "-c", "put x --kind y"]);
    assert!(!folder.store().exists());
}

#[test]
fn a_damaged_store_is_served_as_far_as_it_stands() {
    let folder = with_two_commits();
    folder.put("tea", "damaged");
    folder.put("tea", "behind it");
    let segment = folder.store().join("log/00000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(7).position(|window| window == b"damaged").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let before = bytes_below(&folder.store());
    let ran = folder.run(&["debug", "-c", "get tea", "-c", "log"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.err.contains("damaged: ") && ran.err.contains("the shell reads the state at seq:2"),
        "{ran:?}"
    );
    assert!(ran.out.contains("black"), "{ran:?}");
    assert_eq!(folder.run(&["debug", "-c", "verify"]).code, 5);
    folder.refused(5, &["debug", "--write", "-c", "head"]);
    // Without the manifest, the shell reads what `salvage` would save.
    let manifest = folder.store().join("manifest");
    std::fs::remove_file(&manifest).unwrap();
    let ran = folder.run(&["debug", "-c", "get tea"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("manifest is missing"), "{ran:?}");
    // Without the log too, the shell opens, but cannot read any state.
    std::fs::remove_file(&segment).unwrap();
    let refused = folder.run(&["debug", "-c", "help", "-c", "get tea"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    assert!(refused.err.contains("no state can be read"), "{refused:?}");
    assert!(refused.out.contains("Shell"), "{refused:?}");
    for path in [manifest, segment] {
        let (_, bytes) = before.iter().find(|(known, _)| path.ends_with(known)).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(bytes_below(&folder.store()), before);
}

#[test]
fn a_script_is_text_in_lines_of_bounded_length() {
    let folder = with_two_commits();
    let ran = folder.feed(&["debug"], "\u{feff}get tea\r\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let long = folder.feed(&["debug"], "x".repeat(3 << 20));
    assert_eq!(long.code, 1);
    assert!(
        long.err.contains("line 1: the line has more than 1048576 bytes"),
        "{}",
        long.err
    );
    let known = folder.feed(&["debug"], "x".repeat(1 << 20));
    assert_eq!(known.code, 2);
    assert!(known.err.len() < 400, "{} bytes", known.err.len());
    folder.write("script", b"head\nget \xff\n");
    let refused = folder.refused(1, &["debug", "-f", "script"]);
    assert!(
        text(&refused["message"]).starts_with("script:2: the byte 0xff at byte offset 4"),
        "{refused}"
    );
    assert!(refused["hint"].is_string(), "{refused}");
    for (line, shown) in [
        ("he\0ad", "'he\\u{0}ad'"),
        ("\0", "'\\u{0}'"),
        ("head --\x01at", "'--\\u{1}at'"),
    ] {
        folder.write("script", line);
        let refused = folder.run(&["debug", "-f", "script"]);
        assert!(refused.code == 2 && refused.err.contains(shown), "{refused:?}");
    }
    let endless = folder.refused(1, &["debug", "-f", "/dev/zero"]);
    assert_eq!(endless["code"], "over_limit");
}

#[test]
fn nothing_in_an_answer_ends_its_fence_or_steers_the_terminal() {
    let folder = Folder::with_store();
    let object = r#"{"id":"a","kind":"note","content":"see\n```\n# not a heading","attributes":{"l":["\u009b31mRED","\u202eRTL"]}}"#;
    folder.write("a.jsonl", object);
    folder.json(&["put", "--jsonl", "a.jsonl"]);
    let ran = folder.run(&["debug", "--mode", "markdown", "-c", "get a", "-c", "head"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.out.matches("````text\n").count(), 1, "{}", ran.out);
    assert_eq!(ran.out.matches("\n````\n").count(), 1, "{}", ran.out);
    assert_eq!(ran.out.matches("\n```text\n").count(), 1, "{}", ran.out);
    for ran in [
        ran,
        folder.run(&["get", "a"]),
        folder.run(&["debug", "-c", "get a"]),
    ] {
        assert!(
            ran.out.contains(r"\u{9b}31mRED") && ran.out.contains(r"\u{202e}RTL"),
            "{ran:?}"
        );
        assert!(!ran.out.contains(['\u{9b}', '\u{202e}']), "{ran:?}");
    }
}

#[test]
fn one_answer_is_written_in_one_way() {
    let folder = with_two_commits();
    for arguments in [
        &["--json", "debug", "--mode", "table", "-c", "head"][..],
        &["debug", "--json", "--mode", "table", "-c", "head"],
        &["--json", "head", "--agent"],
    ] {
        let refused = folder.run(arguments).refusal(2);
        assert_eq!(refused["code"], "usage", "{arguments:?}");
    }
}

#[test]
fn an_unknown_command_has_a_hint() {
    let folder = with_two_commits();
    let hint = |command: &str| text(&folder.refused(2, &["debug", "-c", command])["hint"]);
    assert_eq!(hint("xyzzyplugh"), ".help lists all commands");
    assert_eq!(hint("at seq:1"), "did you mean .at?");
    assert!(hint("snaphots").contains("snapshots"));
    assert!(hint(".tmer").contains(".timer"));
    assert!(hint("debug").contains("another"));
    assert!(hint("head --store elsewhere").contains("another"));
}

#[test]
fn a_lane_has_the_name_that_a_commit_takes() {
    let folder = with_two_commits();
    let long = format!(".lane {}", "x".repeat(300));
    for command in [".lane ''", &long] {
        let refused = folder.refused(1, &["debug", "-c", command]);
        assert!(text(&refused["message"]).contains("1 to 256 bytes"), "{refused}");
    }
}

#[test]
fn the_lane_of_the_shell_counts_for_undo_and_leaves_the_log_whole() {
    let folder = with_two_commits();
    folder.json(&["put", "x", "--kind", "y", "--session", "other"]);
    let lines = folder.stream(&["debug", "-c", ".lane other", "-c", "log", "-c", "undo --dry-run"]);
    assert_eq!(lines[0]["lane"], "other");
    assert_eq!(lines[1..5].iter().filter(|line| line["seq"].is_u64()).count(), 4);
    assert_eq!(lines[5]["changes"][0]["id"], "x");
    let log = folder.stream(&["debug", "--session", "other", "-c", "log"]);
    assert_eq!(log.len(), 4);
    folder.refused(1, &["debug", "-c", "undo --session nobody --dry-run"]);
}

#[test]
fn the_state_of_the_shell_is_the_default_of_every_reading_verb() {
    let folder = with_two_commits();
    let lines = folder.stream(&[
        "debug",
        "-c",
        ".at @-1",
        "-c",
        "get tea",
        "-c",
        "get tea --at @",
        "-c",
        "diff seq:1 seq:2",
    ]);
    assert_eq!((&lines[0]["at"], &lines[0]["seq"]), (&"seq:1".into(), &1.into()));
    assert_eq!(lines[1]["content"], "Ada drinks green tea");
    assert_eq!(lines[2]["content"], "Ada drinks black tea");
    assert_eq!(lines[3]["id"], "tea");
    let lines = folder.stream(&["debug", "--at", "@-1", "-c", "head", "-c", ".at @", "-c", "head"]);
    assert_eq!((&lines[0]["seq"], &lines[2]["seq"]), (&1.into(), &2.into()));
    assert!(lines[1]["at"].is_null());
    folder.refused(1, &["debug", "--at", "nothing", "-c", ".mode"]);
}

#[test]
fn an_undo_that_is_only_shown_names_each_change() {
    let folder = with_two_commits();
    let shown = folder.json(&["undo", "--dry-run"]);
    let head = folder.json(&["head"]);
    assert_eq!(
        (&shown["op"], &shown["target"]),
        (&"undo".into(), &head["commit"])
    );
    assert_eq!((&shown["changed"], &shown["dry_run"]), (&1.into(), &true.into()));
    assert_eq!(shown["changes"][0]["id"], "tea");
    assert!(
        folder
            .run(&["undo", "--dry-run"])
            .out
            .contains("+Ada drinks green tea")
    );
    folder.refused(1, &["redo", "--dry-run"]);
    assert_eq!(folder.seq(), 2);
    folder.json(&["undo"]);
    assert_eq!(folder.json(&["redo", "--dry-run"])["changes"][0]["id"], "tea");
}

#[test]
fn an_offset_behind_a_segment_is_refused() {
    let folder = with_two_commits();
    for line in [
        "inspect frames 1 --from 18446744073709551615",
        "inspect hex 1:18446744073709551600",
    ] {
        let refused = folder.refused(1, &["debug", "-c", line]);
        assert!(
            text(&refused["message"]).contains("segment 1 ends at"),
            "{refused}"
        );
    }
}

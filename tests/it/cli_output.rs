//! Output for people: help, colours and tables, which the program prints only to a terminal.

use crate::program::{Folder, Ran};

#[test]
fn the_version_is_told() {
    let ran = Folder::new().run(&["--version"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, concat!("treering ", env!("CARGO_PKG_VERSION"), "\n"))
    );
}

#[test]
fn the_version_is_a_document_for_programs() {
    for arguments in [&["--version"][..], &["-V"]] {
        let version = Folder::new().json(arguments);
        assert_eq!(
            (&version["name"], &version["version"], &version["format"]),
            (&"treering".into(), &env!("CARGO_PKG_VERSION").into(), &1.into())
        );
    }
}

#[test]
fn what_expired_is_told_from_what_never_was() {
    let folder = Folder::with_store();
    let line = "{\"id\":\"old\",\"kind\":\"k\",\"expires\":\"2001-01-01T00:00:00Z\"}\n";
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], line).code, 0);
    assert!(
        folder
            .run(&["list", "--kind", "k"])
            .err
            .contains("--include-expired")
    );
    assert_eq!(folder.run(&["list", "--kind", "none"]).err, "nothing found\n");
}

#[test]
fn help_fits_a_screen() {
    let folder = Folder::new();
    for arguments in [&["help"][..], &["--help"], &["-h"]] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 0);
        assert!(ran.out.lines().count() <= 60, "{}", ran.out);
        assert!(
            ran.out.lines().all(|line| line.chars().count() <= 100),
            "{}",
            ran.out
        );
    }
    let ran = folder.run(&["help", "rollback"]);
    assert!(ran.out.contains("treering rollback snap:0"), "{ran:?}");
}

fn run_with(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = folder.command(arguments);
    command.envs(variables.iter().copied());
    Ran::of(&command.output().unwrap())
}

#[test]
fn colours_are_there_only_when_wanted() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    let coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let ran = run_with(&folder, arguments, variables);
        (ran.out.contains('\u{1b}'), ran.err.contains('\u{1b}'))
    };
    for arguments in [&["log"][..], &["get", "nobody"], &["list"]] {
        assert_eq!(coloured(arguments, &[]), (false, false), "a pipe: {arguments:?}");
        let no = [("NO_COLOR", "1"), ("TERM", "xterm")];
        assert_eq!(coloured(arguments, &no), (false, false), "{arguments:?}");
    }
    let forced = [("CLICOLOR_FORCE", "1"), ("TERM", "xterm")];
    assert_eq!(coloured(&["log"], &forced), (true, false));
    assert_eq!(coloured(&["get", "nobody"], &forced), (false, true));
    assert_eq!(
        coloured(&["log", "--json"], &forced),
        (false, false),
        "never in JSON"
    );
}

#[test]
fn tables_are_aligned() {
    let folder = Folder::with_store();
    folder.put("a", "short");
    folder.put("a-much-longer-id", "text");
    let ran = folder.run(&["list"]);
    let columns: Vec<_> = ran.out.lines().map(|line| line.find("note").unwrap()).collect();
    assert_eq!(columns, [18, 18], "{}", ran.out);
}

/// Returns the output on a terminal with this number of columns. Returns `None` if the program `script` is missing.
fn on_terminal(folder: &Folder, columns: usize, arguments: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_treering");
    let line = format!("stty cols {columns}; {program} {arguments}");
    let mut command = std::process::Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(folder.path("."));
    command
        .env_clear()
        .env("HOME", folder.path("home"))
        .env("PATH", "/usr/bin:/bin")
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null());
    let output = command.output().ok()?;
    assert!(output.status.success(), "{arguments}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap().replace('\r', ""))
}

#[test]
fn answers_fit_the_terminal() {
    let folder = Folder::with_store();
    folder.put(&"long-id-".repeat(30), &"text ".repeat(100));
    folder.put("b", "line\n");
    folder.json(&["snapshot", "good"]);
    folder.json(&[
        "put",
        "b",
        "--kind",
        "k",
        "--session",
        "a-rather-long-name-of-a-session",
    ]);
    folder.json(&["rollback", "good", "--all", "-m", &"because ".repeat(20)]);
    for columns in [40, 80, 200] {
        for arguments in [
            "log",
            "list",
            "snapshots",
            "history b",
            "diff seq:1 seq:3",
            "log --refs",
            "audit",
            "lanes",
            "tree",
            "debug -c log",
            "--help",
        ] {
            let Some(seen) = on_terminal(&folder, columns, arguments) else {
                println!("skipped: this machine has no program `script`");
                return;
            };
            for line in seen.lines() {
                assert!(
                    line.chars().count() <= columns,
                    "{arguments} at {columns}: {line}"
                );
            }
        }
    }
    let seen = on_terminal(&folder, 80, "log").unwrap();
    let has_age = seen.contains("now") || seen.contains("ago");
    assert!(has_age && seen.contains("good"), "{seen}");
    let piped = folder.run(&["log"]).out;
    assert!(
        piped.contains('Z') && !piped.contains("ago"),
        "output to a file contains absolute times, not ages: {piped}"
    );
}

#[test]
fn a_narrow_table_keeps_what_changed_and_who() {
    let folder = Folder::with_store();
    let writer = [
        "--session",
        "night-run",
        "--actor",
        "vera",
        "--source",
        "https://wiki.example/page",
    ];
    let reason = "because ".repeat(20);
    let put = [
        "put",
        "web",
        "--kind",
        "fact",
        "--content",
        "text",
        "--trust",
        "untrusted",
        "-m",
        &reason,
    ];
    folder.json(&[&put[..], &writer].concat());
    let seen = |columns: usize, arguments: &str| on_terminal(&folder, columns, arguments);
    for arguments in [
        "log --limit 1",
        "audit --limit 1",
        "debug -c 'log --limit 1'",
        "debug -c 'audit --limit 1'",
    ] {
        let Some(narrow) = seen(80, arguments) else {
            println!("skipped: this machine has no program `script`");
            return;
        };
        let row = narrow.lines().find(|line| line.contains("put")).unwrap();
        for part in ["+1", "~0", "-0", " ! ", "night-run", "now", "..."] {
            assert!(row.contains(part), "{arguments} lacks {part} at 80: {narrow}");
        }
        assert!(row.chars().count() <= 80 && !row.contains("wiki"), "{narrow}");
        let agent = seen(80, &format!("{arguments} --agent")).unwrap();
        assert!(
            agent.contains("https://wiki.example/page") && agent.contains(reason.trim_end()),
            "{agent}"
        );
        let wide = seen(200, arguments).unwrap();
        assert!(
            wide.contains("vera") && wide.contains("https://wiki.example"),
            "{wide}"
        );
    }
}

#[test]
fn a_table_marks_what_is_untrusted_and_says_so() {
    let folder = Folder::with_store();
    folder.put("own", "mine");
    folder.json(&[
        "put",
        "web",
        "--kind",
        "note",
        "--content",
        "theirs",
        "--trust",
        "untrusted",
    ]);
    for arguments in [
        "list",
        "list --recent",
        "tree",
        "find e",
        "log",
        "audit",
        "history web",
        "diff seq:1",
    ] {
        let ran = folder.run(&arguments.split(' ').collect::<Vec<_>>());
        let marked: Vec<&str> = ran
            .out
            .lines()
            .filter(|line| line.split(' ').any(|word| word == "!"))
            .collect();
        assert_eq!(marked.len(), 1, "{arguments}: {ran:?}");
        assert!(
            !marked[0].contains("mine") && ran.err.contains("! marks what is untrusted"),
            "{ran:?}"
        );
        let agent = folder.run(&[arguments, "--agent"].join(" ").split(' ').collect::<Vec<_>>());
        assert!(!agent.err.contains("untrusted"), "{agent:?}");
    }
    let own = folder.run(&["list", "--at", "seq:1"]);
    assert!(
        !own.out.contains('!') && !own.err.contains("untrusted"),
        "{own:?}"
    );
    let agent = folder.run(&["list", "--agent"]).out;
    assert!(
        agent.contains("\ntool_external\tweb\t"),
        "a model reads the name of the class: {agent}"
    );
}

#[test]
fn the_tour_breaks_no_word() {
    let Some(narrow) = on_terminal(&Folder::new(), 60, "tour") else {
        println!("skipped: this machine has no program `script`");
        return;
    };
    let sentences = include_str!("../../program/src/cli/tour/steps.txt").lines();
    let told = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in sentences.filter(|line| line.ends_with('.')) {
        assert!(told.contains(sentence), "{sentence} is broken in {narrow}");
        let last = sentence.rsplit(' ').next().unwrap();
        let line = narrow.lines().find(|line| line.ends_with(last)).unwrap();
        assert!(line.chars().count() <= 60, "{line}");
    }
}

#[test]
fn the_first_commands_of_the_help_work_in_an_empty_folder() {
    let folder = Folder::new();
    let help = run_with(&folder, &["--help"], &[("COLUMNS", "200")]).out;
    let (_, start) = help.split_once("Start here, or with treering tour:\n").unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_treering"))
        .parent()
        .unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    assert_eq!(start.lines().count(), 2, "{start}");
    for line in start.lines() {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-ec", line]).current_dir(folder.path("."));
        shell
            .env_clear()
            .env("PATH", &path)
            .env("HOME", folder.path("home"));
        let ran = Ran::of(&shell.output().unwrap());
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
    let recalled = folder.run(&["recall", "where", "is", "the", "office"]);
    assert!(recalled.out.contains("the office is in Oslo"), "{recalled:?}");
}

#[test]
fn init_names_the_verb_of_an_agent_as_the_next_step() {
    let ran = Folder::new().run(&["init"]);
    assert!(ran.err.contains("treering remember TEXT"), "{ran:?}");
}

#[test]
fn a_model_reads_few_tokens() {
    let folder = Folder::with_store();
    folder.put("a", "one\ntwo");
    folder.json(&["snapshot", "good"]);
    folder.put("long-id", "text");
    folder.json(&["rollback", "good"]);
    let lines = |arguments: &[&str]| -> Vec<String> {
        let ran = run_with(&folder, arguments, &[("CLICOLOR_FORCE", "1"), ("TERM", "xterm")]);
        assert_eq!((ran.code, ran.out.contains('\u{1b}')), (0, false), "{ran:?}");
        ran.out.lines().map(str::to_owned).collect()
    };
    let log = lines(&["log", "--agent"]);
    assert_eq!(
        log[0],
        "seq\tcommit\top\t+\t~\t-\ttrust\tlane\tactor\tsource\twhen\tsnapshots\treason\ttext"
    );
    assert!(
        log[1].starts_with("3\t") && log[1].contains("\trollback to 1\t+0\t~0\t-1\tdirect_user\tdefault\t"),
        "{log:?}"
    );
    assert!(log[3].ends_with("Z\tgood\t\tone two"), "{log:?}");
    assert_eq!(
        lines(&["--agent", "list"]),
        [
            "trust\tid\tkind\tscope\tgist",
            "direct_user\ta\tnote\tglobal\tone two"
        ]
    );
    assert!(lines(&["get", "a", "--agent"]).contains(&"kind: note".to_owned()));
    assert!(lines(&["head", "--agent"])[1].len() < 24, "a digest is short");
    assert!(lines(&["stats", "--agent"]).contains(&"commits: 4".to_owned()));
    let ran = folder.run(&["put", "b", "--kind", "k", "--agent"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(folder.run(&["get", "nobody", "--agent"]).err.contains("hint: "));
    folder.refused(2, &["list", "--agent"]);
}

#[test]
fn the_log_draws_a_rollback_back_to_its_target() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.json(&["snapshot", "good"]);
    folder.put("a", "two");
    folder.json(&["rollback", "good"]);
    let drawn: Vec<String> = folder
        .run(&["log"])
        .out
        .lines()
        .map(|line| line[..5].trim_end().to_owned())
        .collect();
    assert_eq!(drawn, ["o-.", "o |", "*<'", "o"]);
    assert!(folder.run(&["log"]).out.contains("rollback to 1"));
}

#[test]
fn every_writing_verb_tells_how_to_take_it_back() {
    let folder = Folder::with_store();
    folder.write("notes.org", "* Tea\nGreen.\n");
    for arguments in [
        &["put", "a", "--kind", "k"][..],
        &["put", "a", "--kind", "other"],
        &["ingest", "notes.org"],
        &["remove", "a"],
        &["rollback", "@-1"],
        &["undo"],
        &["redo"],
        &["snapshot"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(
            ran.err.contains("treering undo")
                || ran.err.contains("treering redo")
                || ran.err.contains("treering rollback"),
            "{ran:?}"
        );
        assert!(ran.out.contains("root "), "{ran:?}");
    }
    let ran = folder.run(&["put", "b", "--kind", "k", "--session", "it's mine"]);
    assert!(
        ran.err.contains(r"treering undo --session 'it'\''s mine'"),
        "{ran:?}"
    );
    // The command repeats `--store`, because another store may be the default of this folder.
    let named = [&["--store", "treering"][..], &["put", "c", "--kind", "k"]].concat();
    let ran = folder.run(&named);
    assert!(ran.err.contains("treering undo --store 'treering'"), "{ran:?}");
    let ran = folder.run(&["put", "b", "--kind", "k"]);
    assert!(
        ran.out.contains("unchanged") && !ran.err.contains("undo"),
        "{ran:?}"
    );
}

#[test]
fn stored_text_cannot_steer_a_terminal() {
    let folder = Folder::with_store();
    folder.put("a", "\u{1b}]0;title\u{7} \u{1b}[2J \u{202e}gnp.exe");
    for arguments in [&["get", "a"][..], &["list"], &["diff", "@-1"]] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{ran:?}");
    }
}

#[test]
fn a_diff_for_people_shows_the_fields() {
    let folder = Folder::with_store();
    folder.json(&[
        "put",
        "a",
        "--kind",
        "k",
        "--attr",
        "state=open",
        "--content",
        "one two",
    ]);
    folder.json(&[
        "put",
        "a",
        "--kind",
        "k",
        "--attr",
        "state=done",
        "--content",
        "one three",
    ]);
    let ran = folder.run(&["diff", "@-1"]);
    assert!(
        ran.out
            .contains("~ a\n    state: open -> done\n    @@ -1 +1 @@\n    -one two\n    +one three\n"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("0 added, 1 changed, 0 removed"));
    let ran = folder.run(&["diff", "@"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "no difference\n"));
}

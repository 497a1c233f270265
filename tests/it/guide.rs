//! Runs every command of the pages in docs/guide and compares its output with the page.
//!
//! In a `console` block, a line `$ ...` is a command, the lines `> ...` after it continue the command, and all other
//! lines are its output. The blocks of a page run in order in one folder. Digests, times and sizes are masked in the
//! page and in the real output. `TREERING_WRITE_GUIDE=1` rewrites the outputs in the pages.
//!
//! A command `cargo run ... --example NAME` runs the example that this build made: `cargo test` builds all examples, and
//! `cargo test --test it` does not. The blocks of code on the pages about examples are excerpts of the examples.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::Folder;

struct Step {
    command: String,
    /// The lines of output in the page.
    shown: Vec<String>,
}

/// A part of a page: a step, or the text between steps.
enum Part {
    Text(String),
    Step(Step),
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        let was_in_block = in_block;
        if line.starts_with("```") {
            in_block = line == "```console";
        }
        match parts.last_mut() {
            _ if !was_in_block || !in_block => parts.push(Part::Text(line.to_owned())),
            Some(Part::Step(step)) if line.starts_with("> ") => {
                step.command.push('\n');
                step.command.push_str(&line[2..]);
            }
            _ if line.starts_with("$ ") => parts.push(Part::Step(Step {
                command: line[2..].to_owned(),
                shown: Vec::new(),
            })),
            Some(Part::Step(step)) => step.shown.push(line.to_owned()),
            _ => panic!("output without a command: {line}"),
        }
    }
    parts
}

/// Returns the text of the page with the real outputs.
fn page_of(parts: &[Part]) -> String {
    let mut page = String::new();
    for part in parts {
        match part {
            Part::Text(line) => page.push_str(line),
            Part::Step(step) => {
                page.push_str("$ ");
                page.push_str(&step.command.replace('\n', "\n> "));
                for line in &step.shown {
                    page.push('\n');
                    page.push_str(line);
                }
            }
        }
        page.push('\n');
    }
    page
}

/// Masks the parts of a line that differ between runs: digests, times, ages and sizes.
fn masked(line: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let core = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_digest = core.len() >= 8
            && core
                .chars()
                .all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
        let is_time = core.len() >= 20 && core.starts_with("20") && core.contains('T');
        let is_size = core.parse::<f64>().is_ok() && line.contains("KiB");
        // The fields of an event that differ between runs.
        let field = word.split_once('=').map(|(name, _)| name);
        if let Some(name @ ("micros" | "path" | "root")) = field {
            out.push(format!("{name}=MASKED"));
            continue;
        }
        let mask = if is_digest {
            "DIGEST"
        } else if is_time {
            "TIME"
        } else if is_size {
            "SIZE"
        } else {
            core
        };
        let word = if core.is_empty() {
            word.to_owned()
        } else {
            word.replacen(core, mask, 1)
        };
        // Ages such as "now" and "5 seconds ago" differ between runs.
        match core {
            "now" => out.push(word.replace("now", "AGE")),
            "ago" => {
                let number = out.len().saturating_sub(2);
                let opening = out.get(number).is_some_and(|first| first.starts_with('('));
                out.truncate(number);
                out.push(if opening { "(" } else { "" }.to_owned() + &word.replace("ago", "AGE"));
            }
            _ => out.push(word),
        }
    }
    out.join(" ")
}

/// Replaces `cargo run ... --example NAME --` at the start of a command by the path of the built example.
fn with_built_example(command: &str) -> String {
    let Some((name, rest)) = command
        .strip_prefix("cargo run -q --release ")
        .and_then(|rest| rest.split_once("--example "))
        .map(|(_, rest)| rest.split_once(" -- ").unwrap_or((rest, "")))
    else {
        return command.to_owned();
    };
    let built = Path::new(env!("CARGO_BIN_EXE_treering"))
        .with_file_name("examples")
        .join(name);
    let sources = Path::new(crate::ROOT).join("examples");
    let sources = [
        sources.join(format!("{name}.rs")),
        sources.join(name).join("main.rs"),
    ];
    let changed = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    let source = sources.iter().find_map(|path| changed(path)).unwrap();
    assert!(
        changed(&built).is_some_and(|built| built >= source),
        "{} is missing or older than its source; `cargo build --release --examples`, with the features of this test, builds it",
        built.display()
    );
    format!("{} {rest}", built.display())
}

fn run(folder: &Folder, command: &str) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_treering")).parent().unwrap();
    // The page shows the usual port of a server that a test starts.
    let port = fs::read_to_string(folder.path("server/port")).unwrap_or_else(|_| "5432".to_owned());
    let [shown, real] = ["localhost:5432", &format!("localhost:{}", port.trim())];
    let command = &with_built_example(command).replace(shown, real);
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder.path("."))
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .env("HOME", folder.path("home"))
        // The pages show what a person types at a terminal.
        .env("TREERING_TRUST", "direct_user")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let here = folder.path("x");
    let text = text.replace(&here.parent().unwrap().display().to_string(), "/home/you/agent");
    assert!(output.status.success(), "{command}: {}\n{text}", output.status);
    let text = text.replace(real, shown);
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn check(name: &str) {
    check_page(&format!("docs/guide/{name}"), 10);
}

/// Runs the commands of a page and compares their outputs with the page. The page must have more than `least` commands.
fn check_page(name: &str, least: usize) {
    check_page_in(&Folder::new(), name, least);
}

/// Does what [`check_page`] does, in a folder that may contain files.
fn check_page_in(folder: &Folder, name: &str, least: usize) {
    let path = Path::new(crate::ROOT).join(name);
    let mut parts = parts(&fs::read_to_string(&path).unwrap());
    let (mut steps, mut wrong) = (0, Vec::new());
    for part in &mut parts {
        let Part::Step(step) = part else { continue };
        steps += 1;
        let printed = run(folder, &step.command);
        let same = |lines: &[String]| lines.iter().map(|line| masked(line)).collect::<Vec<_>>();
        if same(&printed) != same(&step.shown) {
            wrong.push(format!(
                "$ {}\nshown:\n{}\nprinted:\n{}",
                step.command,
                step.shown.join("\n"),
                printed.join("\n")
            ));
            step.shown = printed;
        }
    }
    assert!(steps > least, "{name} has too few commands");
    if std::env::var_os("TREERING_WRITE_GUIDE").is_some() {
        fs::write(&path, page_of(&parts)).unwrap();
    } else {
        assert!(
            wrong.is_empty(),
            "{name} differs from the real output; TREERING_WRITE_GUIDE=1 rewrites the page\n{}",
            wrong.join("\n\n")
        );
    }
}

#[test]
fn the_first_hour_goes_as_told() {
    check("first-hour.md");
}

#[test]
fn what_went_wrong_is_found_as_told() {
    check("what-went-wrong.md");
}

#[test]
fn forks_and_merges_go_as_told() {
    check("forks.md");
}

#[cfg(feature = "remote")]
#[test]
fn two_machines_go_as_told() {
    check("two-machines.md");
}

#[cfg(feature = "remote-postgres")]
#[test]
fn a_memory_in_postgresql_goes_as_told() {
    let folder = Folder::new();
    let script = |what: &str| {
        let path = Path::new(crate::ROOT).join("tests/remote/postgres.sh");
        let mut script = Command::new(path);
        script.args([what, &folder.path("server").display().to_string()]);
        script.stdout(Stdio::null()).status().unwrap().code()
    };
    match script("start") {
        Some(0) => {}
        Some(77) if std::env::var_os("CI").is_none() => return,
        code => panic!("PostgreSQL did not start: {code:?}"),
    }
    fs::create_dir_all(folder.path("home")).unwrap();
    let checked = std::panic::catch_unwind(|| check_page_in(&folder, "docs/guide/postgresql.md", 10));
    script("stop");
    checked.unwrap();
}

#[test]
fn keeping_it_small() {
    check("keeping-it-small.md");
}

#[test]
fn when_a_store_is_damaged() {
    check("when-a-store-is-damaged.md");
}

#[test]
fn running_it() {
    check("running-it.md");
}

/// Checks that each block of code of a page, in one of the `languages`, is an excerpt of one of the `sources`. Indents do
/// not count.
fn check_excerpts(page: &str, languages: &[&str], sources: &[&str]) {
    let read = |path: &str| fs::read_to_string(Path::new(crate::ROOT).join(path)).unwrap();
    let bare = |text: &str| {
        text.lines()
            .map(|line| line.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let texts: Vec<Vec<String>> = sources.iter().map(|path| bare(&read(path))).collect();
    let page_text = read(page);
    let mut blocks = 0;
    for block in page_text.split("\n```").skip(1).step_by(2) {
        let (language, code) = block.split_once('\n').unwrap_or_default();
        if !languages.contains(&language) {
            continue;
        }
        let code = bare(code);
        assert!(!code.is_empty(), "{page} has an empty block");
        let has = |text: &Vec<String>| text.windows(code.len()).any(|part| part == code);
        assert!(
            texts.iter().any(has),
            "{page}: no source has this block:\n{}",
            code.join("\n")
        );
        blocks += 1;
    }
    assert!(blocks > 0, "{page} has no block of code");
}

#[test]
fn the_agent_loop_goes_as_told() {
    check_page("docs/guide/agent-loop.md", 1);
    let sources = ["examples/agent_loop/turn.rs", "examples/agent_loop/main.rs"];
    check_excerpts("docs/guide/agent-loop.md", &["rust"], &sources);
}

#[cfg(all(feature = "http", feature = "remote"))]
#[test]
fn a_server_is_set_up_as_told() {
    check_page("docs/guide/server.md", 5);
}

#[test]
fn many_agents_go_as_told() {
    check_page("docs/guide/many-agents.md", 0);
    check_excerpts(
        "docs/guide/many-agents.md",
        &["rust"],
        &["examples/many_agents.rs"],
    );
}

#[test]
fn tracing_prints_what_its_page_shows() {
    check_page("docs/guide/tracing.md", 0);
}

#[test]
fn the_pages_show_the_examples() {
    check_excerpts("docs/guide/tracing.md", &["rust"], &["examples/traced.rs"]);
    let sources = ["examples/mcp/python/main.py", "examples/mcp/typescript/main.ts"];
    check_excerpts("docs/guide/mcp-sdks.md", &["python", "ts"], &sources);
}

#[test]
fn coming_from_another_memory() {
    let folder = Folder::new();
    let fixtures = Path::new(crate::ROOT).join("tests/fixtures/imports");
    for (file, name) in [
        ("server-memory.jsonl", "memory.jsonl"),
        ("mem0.json", "mem0.json"),
        ("letta-agent.af", "agent.af"),
        ("letta-passages.json", "passages.json"),
        ("odek-user.md", "user.md"),
        ("memory.snap", "memory.snap"),
        ("basic-memory/drinks/Green Tea.md", "notes/drinks/Green Tea.md"),
        ("basic-memory/people/Vera.md", "notes/people/Vera.md"),
        (
            "basic-memory/places/Oslo Office.md",
            "notes/places/Oslo Office.md",
        ),
    ] {
        folder.write(name, fs::read(fixtures.join(file)).unwrap());
    }
    check_page_in(&folder, "docs/guide/coming-from.md", 10);
}

#[test]
fn forgetting_goes_as_told() {
    check_page("docs/agent/forget.md", 5);
    check_page("docs/agent/decay.md", 5);
}

#[test]
fn recall_finds_what_its_page_says() {
    check_page("docs/agent/recall.md", 10);
}

/// The commands of the pages that show no output succeed in the memory at the end of the guide.
#[test]
fn blame_and_bisect_go_on_where_the_guide_ends() {
    let folder = Folder::new();
    for (page, least) in [
        ("docs/guide/what-went-wrong.md", 20),
        ("docs/blame-and-bisect.md", 6),
    ] {
        let path = Path::new(crate::ROOT).join(page);
        let parts = parts(&fs::read_to_string(path).unwrap());
        let steps = parts.iter().filter_map(|part| match part {
            Part::Step(step) => Some(step),
            Part::Text(_) => None,
        });
        let ran: Vec<_> = steps.map(|step| run(&folder, &step.command)).collect();
        assert!(ran.len() >= least, "{page} has too few commands");
    }
}

#[test]
fn only_what_changes_from_run_to_run_is_masked() {
    assert_eq!(
        masked("put: seq 3, root 6c091edf (2026-03-01T10:00:00.123456Z) in session tuesday"),
        "put: seq 3, root DIGEST (TIME) in session tuesday"
    );
    assert_eq!(
        masked("ok: 5 commits, 47.9 KiB read"),
        "ok: SIZE commits, SIZE KiB read"
    );
    assert_eq!(masked("1 added, 2 changed"), "1 added, 2 changed");
    assert_eq!(masked("a  now  b"), masked("a  5 seconds ago  b"));
    assert_eq!(
        masked("seq=3 micros=12 path=\"/x\""),
        "seq=3 micros=MASKED path=MASKED"
    );
}

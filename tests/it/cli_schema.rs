//! Validates real output against the schemas, and tests shell completions and man pages.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::{Folder, text};

/// Returns the violations of a schema by a document. Supports only the keywords that the schemas use.
fn wrong(schema: &Value, found: &Value, at: &str) -> Vec<String> {
    let known = [
        "$schema",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "anyOf",
        "oneOf",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "const",
    ];
    let keywords = schema.as_object().unwrap();
    assert!(
        keywords.keys().all(|keyword| known.contains(&keyword.as_str())),
        "{schema}"
    );
    let mut said = Vec::new();
    let fits = |kind: &str| match kind {
        "object" => found.is_object(),
        "array" => found.is_array(),
        "string" => found.is_string(),
        "integer" => found.is_u64(),
        "number" => found.is_number(),
        "boolean" => found.is_boolean(),
        "null" => found.is_null(),
        other => panic!("{other} is no type"),
    };
    let fits_type = |kind: &Value| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| fits(kind.as_str().unwrap())),
        kind => fits(kind.as_str().unwrap()),
    };
    if keywords.get("type").is_some_and(|kind| !fits_type(kind)) {
        said.push(format!("{at} is no {}: {found}", keywords["type"]));
    }
    if keywords.get("const").is_some_and(|word| word != found) {
        said.push(format!("{at} is {found}"));
    }
    for (several, right) in [("anyOf", None), ("oneOf", Some(1))] {
        let Some(choices) = keywords.get(several).and_then(Value::as_array) else {
            continue;
        };
        let count = choices
            .iter()
            .filter(|choice| wrong(choice, found, at).is_empty())
            .count();
        if right.map_or(count == 0, |right| count != right) {
            said.push(format!("{at} is {count} of {}: {found}", choices.len()));
        }
    }
    if keywords
        .get("enum")
        .is_some_and(|words| !words.as_array().unwrap().contains(found))
    {
        said.push(format!("{at} is {found}"));
    }
    if keywords.contains_key("pattern") && found.is_string() {
        let text = found.as_str().unwrap_or_default();
        if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            said.push(format!("{at} is not a digest: {found}"));
        }
    }
    if let (Some(items), Some(list)) = (keywords.get("items"), found.as_array()) {
        said.extend(
            list.iter()
                .flat_map(|item| wrong(items, item, &format!("{at}[]"))),
        );
    }
    if let (Some(properties), Some(map)) = (keywords.get("properties"), found.as_object()) {
        for name in keywords["required"].as_array().unwrap() {
            if !map.contains_key(name.as_str().unwrap()) {
                said.push(format!("{at}.{name} is missing"));
            }
        }
        for (name, value) in map {
            match properties.get(name) {
                Some(schema) => said.extend(wrong(schema, value, &format!("{at}.{name}"))),
                None => said.push(format!("{at}.{name} is not in the schema")),
            }
        }
    }
    said
}

/// The command lines that produce the output. They run in this order in one folder.
const LINES: &[&str] = &[
    "init",
    "put a --kind k --content x --session s",
    "put --jsonl lines.jsonl",
    "ingest notes --skip-bad",
    "put b --kind k --parent a -m why --source here",
    "get a",
    "get l",
    "list",
    "head",
    "snapshot",
    "inspect hex 1:4096",
    "snapshot good -m why",
    "snapshots",
    "log",
    "log --refs",
    "lanes",
    "fork task-7 --trust-cap model",
    "forks",
    "fork --drop task-7",
    "history a",
    "recall x --explain --full",
    "recall --queries queries.jsonl",
    "diff seq:0",
    "blame l",
    "bisect --query x --good seq:0",
    "bisect --id a --good seq:0",
    "restore seq:1 a --dry-run",
    "restore seq:1 a",
    "rollback seq:1 --all --dry-run",
    "rollback seq:1 --all",
    "rollback @",
    "undo",
    "redo",
    "put z --kind k",
    "remove z",
    "revert --commit @ --dry-run",
    "revert --commit @",
    "undo",
    "diff seq:2",
    "history l",
    "remember tea-is-green --tag tea --scope global",
    "remember the-server-is-reachable --scope global",
    "remember the-server-is-not-reachable --scope global",
    "remember --jsonl memories.jsonl",
    "stats --at seq:1",
    "stats --space",
    "trust-store --list",
    "trust-store",
    "erase z --dry-run",
    "erase z --yes",
    "put fact --kind fact --content words",
    "expire fact --in 30d",
    "decay --dry-run --now 2100-01-01",
    "forget fact -m why",
    "forgotten",
    "unforget --last",
    "gc",
    "verify",
    "verify --at good",
    "doctor",
    "model list",
    "token add team.json vera",
    "token list team.json",
    "token revoke team.json vera",
    "salvage .treering saved",
    "prove a",
    "prove nobody",
    "contains 00000000",
    "history a --long",
    "find tea",
    "find tea --history",
    "lineage a",
    "tree",
    "lanes",
    "show",
    "show seq:0",
    "undo --dry-run",
    "list --recent",
    "stats --by kind",
    "inspect files",
    "inspect frames",
    "inspect hex manifest",
    "inspect trie",
    "inspect trie --path a",
    "inspect recovery",
    "export",
    "export all.jsonl",
    "export --format org all.org",
    "export --format svg all.svg",
    "note write buy-tea --session s1",
    "note write gone --replace mine --session s1",
    "note read mine",
    "note list",
    "note search tea",
    "note delete mine",
    "session append --jsonl turns.jsonl --session s1",
    "session append more --session s2 --parent s1",
    "session end --session s1",
    "session end --session s1 --learn --reply reply.json",
    "session summaries --due --session s1",
    "session summarise --session s1",
    "session summaries --session s1",
    "session list",
    "put block --kind block --content x",
    "export --format blocks blocks",
    "import blocks",
    "import --format server-memory graph.jsonl",
    "project",
    "project list",
    "project move global --dry-run",
    "snapshot --delete good",
    "completions bash",
    "man",
    "man pages",
    "schema",
    "put r --kind k",
    "guard stage turn --jsonl changes.jsonl",
    "guard list",
    "guard show turn",
    "guard check turn",
    "guard commit turn",
    "put r --kind k",
    "guard stage other --jsonl changes.jsonl -m again",
    "guard drop other",
    "guard recall seq:0 @ --query tea",
    "promote a --yes",
    "put both --kind k --content x",
    "fork work",
    "put both --kind k --content y --fork work",
    "put both --kind k --content z",
    "merge work --dry-run",
    "merge work",
    "conflicts",
    "get both",
    "resolve both --content done",
    "history both",
    "envelope",
    "envelope --scrub changes.jsonl",
    "audit",
    "tour",
];

#[test]
fn every_verb_answers_as_its_schema_says() {
    let folder = Folder::new();
    let schemas = folder.json(&["schema"]);
    let mut seen = BTreeSet::new();
    let mut check = |verb: &str, documents: &[Value]| {
        assert!(!documents.is_empty(), "{verb} says nothing after {seen:?}");
        for document in documents {
            let said = wrong(&schemas[verb], document, verb);
            assert!(said.is_empty(), "{said:#?}");
        }
        seen.insert(verb.to_owned());
    };
    folder.write(
        "lines.jsonl",
        "{\"id\":\"l\",\"kind\":\"k\",\"attributes\":{\"n\":1},\"expires\":\"2100-01-01T00:00:00Z\"}\n",
    );
    folder.write("memories.jsonl", "{\"text\":\"tea\"}\nno json\n");
    folder.write("queries.jsonl", "{\"qid\":\"1\",\"query\":\"x\"}\n");
    folder.write(
        "turns.jsonl",
        "{\"text\":\"I drink tea.\",\"speaker\":\"user\",\"time\":\"2020-01-01T00:00:00Z\"}\n",
    );
    folder.write("reply.json", "[{\"scope\":\"user\",\"fact\":\"Drinks tea.\"},{}]");
    folder.write(
        "graph.jsonl",
        "{\"type\":\"entity\",\"name\":\"Ada\",\"observations\":[]}\n",
    );
    folder.write("notes/a.org", "* Tea\nGreen.\n");
    folder.write("notes/bad.jsonl", "no json\n");
    folder.write(
        "changes.jsonl",
        "{\"id\":\"g\",\"kind\":\"fact\",\"content\":\"tea\"}\n{\"remove\":\"r\"}\n",
    );
    for (verb, documents) in of_servers(&folder) {
        check(verb, &documents);
    }
    for line in LINES {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = folder.run(&[&words[..], &["--json"]].concat());
        assert!(ran.code == 0 || words[0] == "contains", "{line}: {ran:?}");
        check(words[0], &ran.documents());
        let notes: Vec<Value> = ran
            .err
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        if !notes.is_empty() {
            check("note", &notes);
        }
    }
    let newest = folder.run(&["log", "--limit", "1", "--json"]).documents();
    let prefix = &newest[0]["commit"].as_str().unwrap()[..8];
    check(
        "inspect",
        &folder.run(&["inspect", "digest", prefix, "--json"]).documents(),
    );
    let held = hold_back_twice(&folder);
    for arguments in [
        &["quarantine"][..],
        &["quarantine", "--release", &held[0], "--yes"],
        &["quarantine", "--discard", &held[1]],
    ] {
        check(
            "quarantine",
            &folder.run(&[arguments, &["--json"]].concat()).documents(),
        );
    }
    let mut switched_off = folder.command(&["forget", "a", "--json"]);
    let answer = switched_off.env("TREERING_DISABLE", "1").output().unwrap().stdout;
    check("disabled", &[serde_json::from_slice(&answer).unwrap()]);
    check("version", &[folder.json(&["--version"])]);
    #[cfg(feature = "signed")]
    for (verb, documents) in of_signed(&folder) {
        check(verb, &documents);
    }
    let proof = folder.json(&["prove", "a"]).to_string();
    check(
        "check-proof",
        &folder.feed(&["check-proof", "-", "--json"], &proof).documents(),
    );
    let refused = folder.feed(&["check-proof", "-", "--json"], proof.replace("\"a\"", "\"b\""));
    check("check-proof", &refused.documents());
    for arguments in [
        &["get", "nobody"][..],
        &["frobnicate"],
        &["ingest", "notes"],
        &["undo", "--session", "t"],
    ] {
        let ran = folder.run(&[arguments, &["--json"]].concat());
        check("error", &[serde_json::from_str(&ran.err).unwrap()]);
    }
    let stated: BTreeSet<String> = schemas.as_object().unwrap().keys().cloned().collect();
    assert_eq!(seen, stated, "some schemas were not compared with real output");
}

/// Returns the answers of the verbs of signed heads.
#[cfg(feature = "signed")]
fn of_signed(folder: &Folder) -> Vec<(&'static str, Vec<Value>)> {
    let (made, signed) = (folder.json(&["keygen", "vera"]), folder.json(&["sign"]));
    folder.write("head", text(&signed["note"]));
    let proved = folder.json(&["prove-head", "0"]);
    folder.write("request", text(&proved["request"]));
    let mut checked = folder.stream(&["check-head", "head"]);
    checked.extend(folder.run(&["check-head", "lines.jsonl", "--json"]).documents());
    vec![
        ("keygen", vec![made]),
        ("sign", vec![signed]),
        ("prove-head", vec![proved]),
        ("check-head", checked),
        (
            "witness",
            folder.stream(&["witness", "request", "--state", "heads"]),
        ),
    ]
}

/// Returns the answers of the verbs for servers.
fn of_servers(folder: &Folder) -> Vec<(&'static str, Vec<Value>)> {
    #[cfg(feature = "remote")]
    let (url, on) = (
        |name: &str| format!("file://{}", folder.path(name).display()),
        |call: &[&str]| vec![folder.json(&[&["--store", "sent"], call].concat())],
    );
    #[cfg(feature = "remote")]
    on(&["init"]);
    vec![
        #[cfg(feature = "remote")]
        ("backup", on(&["backup", &url("backup")])),
        #[cfg(feature = "remote")]
        ("clone", on(&["clone", &url("backup"), "cloned"])),
        #[cfg(feature = "remote")]
        ("remote", on(&["remote", "add", "origin", &url("shared")])),
        #[cfg(feature = "remote")]
        ("push", on(&["push"])),
        #[cfg(feature = "remote")]
        ("fetch", on(&["fetch"])),
        #[cfg(feature = "remote")]
        ("pull", on(&["pull"])),
        #[cfg(feature = "remote")]
        ("sync", on(&["sync"])),
        #[cfg(feature = "semantic")]
        ("model", folder.stream(&["model", "list"])),
        #[cfg(feature = "mcp")]
        ("install", folder.stream(&["install", "gemini", "--dry-run"])),
        #[cfg(feature = "mcp")]
        ("uninstall", folder.stream(&["uninstall", "gemini", "--dry-run"])),
        #[cfg(feature = "mcp")]
        (
            "mcp",
            folder.stream(&[
                "--store",
                ".treering",
                "mcp",
                "install",
                "--client",
                "claude-code",
                "--yes",
            ]),
        ),
        #[cfg(feature = "http")]
        (
            "serve",
            vec![crate::http::Server::start(folder, &[]).listens.clone()],
        ),
    ]
}

/// Quarantines two facts, as a gate does. Returns the names of the quarantined changes.
fn hold_back_twice(folder: &Folder) -> Vec<String> {
    let memory = treering::Memory::open(folder.path(".treering")).unwrap();
    let hold = |name: &str| {
        let mut draft = memory.draft(&treering::Writer::user());
        let kind = treering::Kind::new("fact").unwrap();
        draft
            .put(treering::NewObject::new(treering::Id::new(name).unwrap(), kind))
            .unwrap();
        memory.quarantine(&draft, "a gate").unwrap().unwrap()
    };
    let names = ["held-1", "held-2"].map(hold);
    memory.close().unwrap();
    names.to_vec()
}

#[test]
fn a_wrong_document_is_seen() {
    let schema = Folder::new().json(&["schema", "remove"]);
    let good =
        serde_json::json!({ "removed": 1, "commit": "0".repeat(64), "seq": 1, "root": "0".repeat(64) });
    assert!(wrong(&schema, &good, "").is_empty());
    for (name, value) in [
        ("removed", "1".into()),
        ("seq", Value::Null),
        ("root", "00".into()),
        ("more", 1.into()),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert_eq!(wrong(&schema, &bad, "").len(), 1, "{name}");
    }
    let mut bad = good;
    bad.as_object_mut().unwrap().remove("seq");
    assert_eq!(wrong(&schema, &bad, "").len(), 1);
}

#[test]
fn completions_and_man_pages_know_every_verb() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.run(&["completions", shell]).out;
        assert!(
            script.contains("check-proof") && script.contains("skip-bad"),
            "{shell}"
        );
    }
    let page = folder.run(&["man"]).out;
    assert!(page.contains(".TH") && page.contains("check"), "{page}");
    let told = folder.json(&["man", "pages"]);
    let written = std::fs::read_dir(folder.path("pages")).unwrap().count() as u64;
    assert_eq!(told["pages"].as_u64(), Some(written));
    let put = std::fs::read_to_string(folder.path("pages/treering-put.1")).unwrap();
    assert!(put.contains("jsonl"), "{put}");
    assert_eq!(folder.refused(1, &["schema", "nothing"])["code"], "not_found");
    assert_eq!(text(&folder.json(&["schema", "log"])["title"]), "treering log");
}

#[test]
fn every_verb_is_listed_once_among_those_that_have_schemas() {
    let refused = Folder::new().refused(1, &["schema", "nothing"]);
    let hint = text(&refused["hint"]);
    let listed: Vec<&str> = hint
        .strip_prefix("these verbs have schemas: ")
        .unwrap()
        .split(", ")
        .collect();
    let distinct: BTreeSet<&str> = listed.iter().copied().collect();
    assert!(
        distinct.contains("rollback") && distinct.len() == listed.len(),
        "{hint}"
    );
}

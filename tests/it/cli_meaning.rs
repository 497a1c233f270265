//! Recall by meaning, with the model that the program contains.

use std::process::Command;

use serde_json::Value;

use super::program::{Folder, Ran, text};

const DEPLOYS: &str = "Deploys happen on Friday at 15:00";

/// Returns a command with the bundled model.
fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.command(arguments);
    command.env_remove("TREERING_MODEL");
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    let ran = Ran::of(&command(folder, arguments).output().unwrap());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
    ran
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let ran = run(folder, &[arguments, &["--json"]].concat());
    serde_json::from_str(&ran.out).unwrap()
}

fn remember_some(folder: &Folder) {
    for fact in [
        DEPLOYS,
        "The cat is called Minka",
        "The boiler was serviced in May",
    ] {
        run(folder, &["remember", fact, "--scope", "global"]);
    }
}

#[test]
fn another_process_finds_a_fact_in_other_words() {
    let folder = Folder::with_store();
    remember_some(&folder);
    let found = json(&folder, &["recall", "When do we ship?"]);
    let first = &found["hits"][0];
    assert_eq!(first["snippet"], DEPLOYS);
    assert_eq!(first["weak"], false);
    let vectors = &found["vectors"];
    assert_eq!(
        (&vectors["embedded"], &vectors["pending"]),
        (&3.into(), &0.into()),
        "{vectors}"
    );
    // Words alone find nothing.
    let by_words = folder.json(&["recall", "When do we ship?"]);
    assert_eq!(by_words["hits"].as_array().map(Vec::len), Some(0));
    assert_eq!(by_words["vectors"], Value::Null);
}

#[test]
fn what_is_not_stored_is_no_good_match() {
    let folder = Folder::with_store();
    remember_some(&folder);
    let found = json(&folder, &["recall", "What is the capital of Mongolia?"]);
    assert_eq!(found["no_good_match"], true, "{found}");
}

#[test]
fn a_past_state_is_searched_by_meaning() {
    let folder = Folder::with_store();
    remember_some(&folder);
    let seq = folder.stream(&["log", "--limit", "1"])[0]["seq"].to_string();
    let seq = format!("seq:{seq}");
    run(
        &folder,
        &["remember", "Releases go out on Monday now", "--scope", "global"],
    );
    let found = json(&folder, &["recall", "When do we ship?", "--at", &seq]);
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits[0]["snippet"], DEPLOYS);
    assert!(
        hits.iter()
            .all(|hit| hit["snippet"] != "Releases go out on Monday now")
    );
}

#[test]
fn documents_are_embedded_after_they_are_ingested() {
    let folder = Folder::with_store();
    folder.write(
        "notes.md",
        "# Kitchen\n\nThe oven needs twenty minutes to heat up.\n\n# Garden\n\nWater the roses.\n",
    );
    run(&folder, &["ingest", "notes.md", "--as-me"]);
    let found = json(&folder, &["recall", "How long until I can bake?", "--all-scopes"]);
    assert_eq!(found["vectors"]["pending"], 0);
    let first = text(&found["hits"][0]["snippet"]);
    assert!(first.contains("oven"), "{first}");
}

/// A missing model is a note, and words still work.
#[test]
fn a_missing_model_leaves_words() {
    let folder = Folder::with_store();
    remember_some(&folder);
    let mut asked = command(&folder, &["recall", "boiler"]);
    let ran = Ran::of(&asked.env("TREERING_MODEL", "e5").output().unwrap());
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("boiler"));
    assert!(ran.err.contains("no model e5 is installed"), "{}", ran.err);
}

/// INVARIANT MEA-1: a model whose damage shows only when it is used is a note, too.
#[test]
fn a_model_that_fails_when_it_is_used_is_a_note() {
    let folder = Folder::with_store();
    remember_some(&folder);
    let settings = "[meaning]\ncommand = [\"sh\", \"-c\", \"exit 1\", \"k3y\"]\n";
    folder.write("settings.toml", settings);
    let arguments = ["recall", "boiler", "--settings", "settings.toml"];
    let ran = run(&folder, &arguments);
    assert!(ran.out.contains("boiler"), "{}", ran.out);
    assert!(ran.err.contains("gives no vectors"), "{}", ran.err);
    let ran = run(&folder, &[&arguments[..], &["--json"]].concat());
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains("command:sh@") && !all.contains("k3y"), "{all}");
}

/// Returns the file of a model whose header is whole, and whose weights are damaged.
fn damaged_model() -> Vec<u8> {
    let header = serde_json::json!({
        "card": {
            "name": "tiny", "id": "tiny@1", "languages": ["en"], "licence": "", "source_sha256": "",
            "config": {
                "layers": 1, "heads": 2, "width": 64, "inner_width": 128, "positions": 16, "activation": "gelu",
                "pooling": "mean", "epsilon": 1e-6, "question_prefix": "", "text_prefix": "",
            },
        },
        "tokenizer": { "unigram": { "ends": { "start": 0, "end": 1, "unknown": 2 } } },
        "word_bits": 8,
        "word_rows": 0,
    });
    let header = serde_json::to_vec(&header).unwrap();
    let body = b"no weights";
    let numbers = [header.len() as u32, crc32c::crc32c(&header), body.len() as u32, 7];
    let mut file = b"TRMODEL1".to_vec();
    file.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    file.extend(header);
    file.extend(body);
    file
}

/// INVARIANT MEA-1: choosing a model reads only its header. Recall tells damage of the weights when it reads them.
#[test]
fn a_model_with_damaged_weights_is_a_note() {
    let folder = Folder::with_store();
    remember_some(&folder);
    folder.write("home/.local/share/treering/models/tiny.model", damaged_model());
    let ran = run(&folder, &["recall", "boiler"]);
    assert!(ran.out.contains("boiler"), "{}", ran.out);
    assert!(ran.err.contains("the model is damaged"), "{}", ran.err);
    let rows = run(&folder, &["model", "list", "--json"]).documents();
    let row = rows.iter().find(|row| row["name"] == "tiny").unwrap();
    assert_eq!(
        (&row["state"], &row["used"]),
        (&"damaged".into(), &false.into()),
        "{row}"
    );
}

/// INVARIANT VCT-1: an erased text leaves no vector.
#[test]
fn an_erased_text_is_not_found_by_meaning() {
    let folder = Folder::with_store();
    remember_some(&folder);
    let found = json(&folder, &["recall", "When do we ship?"]);
    let id = text(&found["hits"][0]["id"]);
    run(&folder, &["erase", &id, "--yes"]);
    let found = json(&folder, &["recall", "When do we ship?"]);
    let hits = found["hits"].as_array().unwrap();
    assert!(hits.iter().all(|hit| hit["snippet"] != DEPLOYS), "{hits:?}");
}

/// Sixty questions in other words than their facts, which stand among sixty other facts. The bounds are below what was
/// measured (45 first, 55 in three): a change of the order that helps elsewhere may lose a few of so few questions.
/// `tests/recall/run.py` prints the figures.
#[test]
fn everyday_questions_find_their_facts_at_the_present_and_at_a_past_state() {
    let folder = Folder::with_store();
    let lines: Vec<Value> = include_str!("../recall/everyday.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let remember = |text: &dyn Fn(&Value) -> String| {
        let facts = lines.iter().map(|line| {
            let id = format!("everyday/{}", line["id"].as_str().unwrap());
            serde_json::json!({ "id": id, "text": text(line), "scope": "global" }).to_string()
        });
        folder.write("facts.jsonl", facts.collect::<Vec<_>>().join("\n"));
        run(&folder, &["remember", "--jsonl", "facts.jsonl"]);
    };
    let asked: Vec<&Value> = lines.iter().filter(|line| !line["question"].is_null()).collect();
    let questions = asked.iter().map(|line| {
        serde_json::json!({ "qid": line["id"], "query": line["question"], "scope": "global" }).to_string()
    });
    folder.write("questions.jsonl", questions.collect::<Vec<_>>().join("\n"));
    let ranks = |more: &[&str]| -> Vec<Option<usize>> {
        let query = ["recall", "--queries", "questions.jsonl", "--limit", "3", "--json"];
        let ran = run(&folder, &[&query[..], more].concat());
        let answers = ran.out.lines().zip(&asked).map(|(answer, line)| {
            let answer: Value = serde_json::from_str(answer).unwrap();
            let wanted = format!("everyday/{}", line["id"].as_str().unwrap());
            let hits = answer["hits"].as_array().unwrap();
            hits.iter().position(|hit| hit["id"] == wanted.as_str())
        });
        answers.collect()
    };
    remember(&|line| text(&line["fact"]));
    let present = ranks(&[]);
    let in_three = present.iter().flatten().count();
    let first = present.iter().filter(|rank| **rank == Some(0)).count();
    assert_eq!(present.len(), 60);
    assert!(
        in_three >= 50 && first >= 40,
        "in three {in_three}, first {first}"
    );
    run(&folder, &["snapshot", "then"]);
    remember(&|line| format!("Nothing is known about {}.", line["id"]));
    assert_eq!(ranks(&["--at", "then"]), present);
}

//! Facts beside conversations about them: 30 facts, 206 turns, and questions that only a turn answers.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::program::{Folder, Ran, text};

/// How the program answers the questions of the set.
struct Answered {
    /// How many facts are the first hit of their question.
    first: usize,
    /// How many turns that alone answer a question are among its first five hits.
    in_five: usize,
    /// How many questions are a hit of themselves.
    itself: usize,
}

/// Runs the program by words, or with the bundled model.
fn run(folder: &Folder, arguments: &[&str], by_meaning: bool) -> Ran {
    let mut command = folder.command(arguments);
    if by_meaning {
        command.env_remove("TREERING_MODEL");
    }
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
    ran
}

fn store_lines(folder: &Folder, lines: &[Value], arguments: &[&str], by_meaning: bool) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    folder.write("lines.jsonl", lines.join("\n"));
    run(
        folder,
        &[arguments, &["--scope", "global", "--jsonl", "lines.jsonl"]].concat(),
        by_meaning,
    );
}

/// Stores the set: the first wording of each fact, the conversations, and then the last wording.
fn store(folder: &Folder, lines: &[Value], by_meaning: bool) {
    let remember = |field: &str| {
        let facts = lines.iter().filter(|line| !line["fact"].is_null());
        let facts = facts.map(|line| {
            let wording = line.get(field).unwrap_or(&line["fact"]);
            let kind = line.get("kind").map_or("fact".to_owned(), text);
            json!({ "id": format!("facts/{}", text(&line["id"])), "text": wording, "kind": kind })
        });
        store_lines(folder, &facts.collect::<Vec<_>>(), &["remember"], by_meaning);
    };
    remember("before");
    for session in 1..=5 {
        let session = format!("talk-{session}");
        let turns = lines.iter().filter(|line| line["session"] == session.as_str());
        let turns =
            turns.map(|turn| json!({ "id": turn["id"], "speaker": turn["speaker"], "text": turn["text"] }));
        let append = ["session", "append", "--session", &session];
        store_lines(folder, &turns.collect::<Vec<_>>(), &append, by_meaning);
    }
    remember("fact");
}

fn answered(by_meaning: bool) -> Answered {
    let folder = Folder::with_store();
    let lines: Vec<Value> = include_str!("../recall/facts.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    store(&folder, &lines, by_meaning);
    let asked = |line: &Value| {
        let question = line.get("question").or(line.get("answers"));
        question.map(|question| (text(question), line.clone()))
    };
    let asked: Vec<(String, Value)> = lines.iter().filter_map(asked).collect();
    let mut questions = String::new();
    for (question, line) in &asked {
        let question = json!({ "qid": line["id"], "query": question, "scope": "global" });
        writeln!(questions, "{question}").unwrap();
    }
    folder.write("questions.jsonl", questions);
    let ran = run(
        &folder,
        &["recall", "--queries", "questions.jsonl", "--json"],
        by_meaning,
    );
    let mut answered = Answered {
        first: 0,
        in_five: 0,
        itself: 0,
    };
    for (answer, (question, line)) in ran.out.lines().zip(&asked) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let hits = answer["hits"].as_array().unwrap();
        answered.itself += usize::from(hits.iter().any(|hit| hit["snippet"] == question.as_str()));
        if line["fact"].is_null() {
            let in_five = hits.iter().take(5).any(|hit| hit["snippet"] == line["text"]);
            answered.in_five += usize::from(in_five);
        } else {
            let id = format!("facts/{}", text(&line["id"]));
            let is_first = hits.first().is_some_and(|hit| hit["id"] == id.as_str());
            answered.first += usize::from(is_first);
        }
    }
    answered
}

/// The bounds are those of the goal: 27 of 30 facts first. `tests/recall/run.py --sets facts` prints the figures.
fn check(answered: &Answered) {
    let Answered {
        first,
        in_five,
        itself,
    } = answered;
    assert!(*first >= 27 && *in_five >= 10, "first {first}, in five {in_five}");
    assert_eq!(*itself, 0);
}

#[test]
fn by_words_a_fact_comes_before_the_conversation_about_it() {
    check(&answered(false));
}

#[test]
fn by_meaning_a_fact_comes_before_the_conversation_about_it() {
    check(&answered(true));
}

/// Stores turns of one session, and returns the ids of a recall. A turn without an id has none in the answer.
fn recalled(folder: &Folder, turns: &[(&str, &str)], recall: &[&str]) -> Vec<String> {
    let turns = turns
        .iter()
        .map(|(speaker, said)| json!({ "speaker": speaker, "text": said }));
    store_lines(
        folder,
        &turns.collect::<Vec<_>>(),
        &["session", "append", "--session", "s1"],
        false,
    );
    let found = folder.json(&[&["recall", "--scope", "global"], recall].concat());
    let hits = found["hits"].as_array().unwrap();
    hits.iter().map(|hit| text(&hit["snippet"])).collect()
}

/// Without a fact, the turn that answers is the first hit, and no earlier prompt in about the same words.
#[test]
fn an_answer_comes_before_the_prompts_that_ask_for_it() {
    let folder = Folder::with_store();
    let answer = "The vault is where the keys of the shop are kept.";
    let turns = [
        ("user", "Where are the keys of the shop?"),
        ("assistant", answer),
        ("user", "hey, where are the keys of the shop again"),
        (
            "assistant",
            "You asked: where are the keys of the shop? I will look.",
        ),
        ("user", "The shop closes at six."),
    ];
    let hits = recalled(&folder, &turns, &["Where are the keys of the shop?"]);
    assert_eq!(hits[0], answer, "{hits:?}");
    assert!(!hits.contains(&turns[0].1.to_owned()), "{hits:?}");
}

/// Who looks for turns finds a question, and a statement in its own words is a hit.
#[test]
fn a_filter_by_kind_and_a_statement_find_what_was_said() {
    let folder = Folder::with_store();
    let question = "Where are the keys of the shop?";
    let turns = [
        ("user", question),
        ("assistant", "The keys of the shop are in the vault."),
    ];
    let hits = recalled(&folder, &turns, &[question, "--kind", "entry"]);
    assert_eq!(hits.len(), 2, "{hits:?}");
    let hits = recalled(&folder, &[], &[turns[1].1]);
    assert_eq!(hits[0], turns[1].1);
}

/// INVARIANT ASK-7: an untrusted text does not rise above a turn for being called a fact.
#[test]
fn an_untrusted_fact_does_not_rise() {
    let folder = Folder::with_store();
    let fact = "The keys of the shop hang outside.";
    let remember = ["remember", fact, "--scope", "global", "--trust", "untrusted"];
    assert_eq!(folder.run(&remember).code, 0);
    let turns = [
        ("user", "Where are the spare keys of the shop?"),
        ("assistant", "The spare keys of the shop are in the vault."),
    ];
    let hits = recalled(
        &folder,
        &turns,
        &["Where are the spare keys of the shop?", "--with-untrusted"],
    );
    assert_eq!((hits[0].as_str(), hits.len()), (turns[1].1, 2), "{hits:?}");
    assert_eq!(hits[1], fact);
}

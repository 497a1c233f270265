//! Features of the context memory of distill: duplicate checks on write, recall by relevance and freshness within a
//! budget, decay, forgetting and superseding.

use serde_json::Value;

use super::project;
use crate::program::{Folder, text};

fn remember(folder: &Folder, text: &str, more: &[&str]) -> Value {
    folder.json(&[&["remember", text], more].concat())
}

fn hits(folder: &Folder, query: &str, more: &[&str]) -> Vec<String> {
    let found = folder.json(&[&["recall", query], more].concat());
    found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| text(&hit["id"]))
        .collect()
}

#[test]
fn what_is_said_twice_is_stored_once() {
    let folder = project();
    let first = remember(&folder, "The billing service is written in Go", &[]);
    assert_eq!(first["status"], "created");
    let again = remember(&folder, "The billing  service is written in Go", &[]);
    assert_eq!(
        (text(&again["status"]), &again["duplicates"][0]["id"]),
        ("duplicate".into(), &first["id"])
    );
    assert_eq!(folder.json(&["head"])["objects"], 1);
}

/// In distill, a new fact was dropped as a duplicate of an expired fact, so recall could not find it.
#[test]
fn what_expired_swallows_nothing() {
    let folder = project();
    let id = text(&remember(&folder, "The demo is at noon", &["--ttl", "1d"])["id"]);
    folder.json(&["expire", &id, "--at", "2020-01-01"]);
    assert!(hits(&folder, "when is the demo", &[]).is_empty());
    let again = remember(&folder, "The demo is at noon", &[]);
    assert_eq!(again["status"], "created");
    assert_eq!(hits(&folder, "when is the demo", &[]), [text(&again["id"])]);
}

#[test]
fn a_superseded_fact_stands_below_its_successor() {
    let folder = project();
    let old = text(&remember(&folder, "The office is in Oslo", &[])["id"]);
    let new = remember(&folder, "The office is in Bergen now", &["--supersedes", &old]);
    let found = hits(&folder, "where is the office", &[]);
    let place = |id: &str| found.iter().position(|found| found == id).unwrap();
    assert!(place(&text(&new["id"])) < place(&old), "{found:?}");
    assert_eq!(
        folder.json(&["get", &old])["content"],
        "The office is in Oslo",
        "and stays as it was"
    );
}

/// In distill, recall stopped at the first text that did not fit into the budget.
#[test]
fn a_budget_passes_over_what_does_not_fit() {
    let folder = project();
    let long = format!(
        "The parser {}",
        "needs a very long explanation of its parser tables ".repeat(60)
    );
    remember(&folder, &long, &["--id", "long"]);
    remember(&folder, "The parser is owned by Ada", &["--id", "short"]);
    let found = folder.json(&["recall", "parser", "--budget", "60"]);
    let ids: Vec<String> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| text(&hit["id"]))
        .collect();
    assert!(ids.contains(&"short".to_owned()), "{found}");
    assert!(found["tokens"].as_u64().unwrap() <= 60);
}

#[test]
fn tags_are_filtered_and_forgetting_can_be_taken_back() {
    let folder = project();
    remember(
        &folder,
        "Deploys happen on Tuesday",
        &["--tag", "ops", "--id", "deploys"],
    );
    remember(
        &folder,
        "Ada likes tea on Tuesday",
        &["--tag", "people", "--id", "tea"],
    );
    assert_eq!(hits(&folder, "Tuesday", &["--tag", "ops"]), ["deploys"]);
    let before = folder.json(&["get", "deploys"]);
    // `forget` without a condition fails.
    assert_ne!(folder.run(&["forget"]).code, 0);
    folder.json(&["forget", "--tag", "ops"]);
    assert_eq!(hits(&folder, "Tuesday", &[]), ["tea"]);
    assert_eq!(folder.stream(&["forgotten"]).len(), 1);
    folder.json(&["unforget", "deploys"]);
    let after = folder.json(&["get", "deploys"]);
    assert_eq!(
        (&before["digest"], &before["content"]),
        (&after["digest"], &after["content"])
    );
}

/// In distill, decay destroyed the text.
#[test]
fn decay_goes_one_level_a_pass_and_back_to_the_very_bytes() {
    let folder = project();
    let story = "The migration began on Monday. It is important that every table must be copied twice. \
                 We took three days for the first run of it. Nobody liked the second one very much. \
                 The last step was to delete the old tables again.";
    let whole = remember(&folder, story, &["--id", "story"]);
    remember(&folder, story, &["--id", "pinned", "--pin"]);
    let length = |folder: &Folder, id: &str| text(&folder.json(&["get", id])["content"]).len();
    let full = length(&folder, "story");
    folder.json(&["decay", "--now", "2126-01-01"]);
    let summary = length(&folder, "story");
    assert!(summary < full && summary > 0);
    folder.json(&["decay", "--now", "2126-03-01"]);
    assert_eq!(folder.json(&["get", "story"])["attributes"]["level"], "keywords");
    assert_eq!(length(&folder, "pinned"), full);
    folder.json(&["unforget", "story"]);
    assert_eq!(folder.json(&["get", "story"])["digest"], whole["digest"]);
}

//! Contradictions by value, from end to end: `remember` names them, and the guard holds them back.
//!
//! The pairs are in tests/recall/contradictions.jsonl. A pair counts as named if the second text names the first one.

use serde_json::Value;
use treering::agent::{Agent, Checks, Guarded, NewItem, RememberOptions, Settings};
use treering::{Draft, Id, Memory, Writer};

const PAIRS: &str = include_str!("../recall/contradictions.jsonl");

/// A pair of texts, and whether they contradict each other.
struct Pair {
    a: String,
    b: String,
    is_contradiction: bool,
}

fn pairs() -> Vec<Pair> {
    let pair = |line: &str| {
        let pair: Value = serde_json::from_str(line).unwrap();
        Pair {
            a: text(&pair["a"]),
            b: text(&pair["b"]),
            is_contradiction: pair["label"] == "contradiction",
        }
    };
    PAIRS.lines().map(pair).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn agent() -> Agent {
    Agent::new(Memory::in_memory().unwrap(), Settings::default())
}

/// Returns the recall and the precision of a judgement on all pairs.
fn scored(is_named: impl Fn(&Pair) -> bool) -> (f64, f64) {
    let pairs = pairs();
    let named: Vec<&Pair> = pairs.iter().filter(|pair| is_named(pair)).collect();
    let right = named.iter().filter(|pair| pair.is_contradiction).count() as f64;
    let all = pairs.iter().filter(|pair| pair.is_contradiction).count() as f64;
    (right / all, right / named.len() as f64)
}

#[test]
fn remember_names_the_contradiction() {
    let (recall, precision) = scored(|pair| {
        let agent = agent();
        let remember = |text: &str| {
            let done = agent.remember(NewItem::new(text), &RememberOptions::default(), &Writer::user());
            done.unwrap()
        };
        let first = remember(&pair.a).id;
        remember(&pair.b).conflicts.iter().any(|one| one.id == first)
    });
    println!("remember: recall {recall:.3}, precision {precision:.3}");
    assert!(recall >= 0.85 && precision >= 0.95, "{recall:.3} {precision:.3}");
}

#[test]
fn the_guard_holds_back_what_contradicts_a_pinned_or_more_trusted_fact() {
    let held = |pair: &Pair, is_pinned: bool, writer: &Writer| {
        let agent = agent();
        let put = |draft: &mut Draft, id: &str, text: &str, is_pinned: bool| {
            let mut item = NewItem::new(text);
            item.is_pinned = is_pinned;
            draft.put(item.into_object(Id::new(id)?)?).map(drop)
        };
        let checks = Checks::default();
        let first = agent.attempt(
            &Writer::user(),
            |draft| put(draft, "a", &pair.a, is_pinned),
            &checks,
        );
        first.unwrap().into_result().unwrap();
        let second = agent
            .attempt(writer, |draft| put(draft, "b", &pair.b, false), &checks)
            .unwrap();
        let Guarded::Refused { report, .. } = second else {
            return false;
        };
        report
            .failed()
            .any(|checked| checked.check.ends_with("contradictions"))
    };
    for (name, is_pinned, writer) in [
        ("pinned", true, Writer::user()),
        ("more trusted", false, Writer::model("agent")),
    ] {
        let (recall, precision) = scored(|pair| held(pair, is_pinned, &writer));
        println!("guard, {name}: recall {recall:.3}, precision {precision:.3}");
        assert!(
            recall >= 0.85 && precision >= 0.95,
            "{name}: {recall:.3} {precision:.3}"
        );
    }
}
